/* SPDX-License-Identifier: MIT */
/*
 * observe/host.h - what the host calls its own: addresses, broadcast addresses,
 * multicast groups.
 *
 * Addresses are fixed when the observer is created; groups also come and go
 * with the reports that the host sends, up to a limit.
 */
#ifndef SP_OBSERVE_HOST_H
#define SP_OBSERVE_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <statplane/observe.h>

struct host;

int host_create(const struct sp_observer_opts *opts, struct host **ret_host);
void host_destroy(struct host *host);

/* One of the host's own unicast addresses; 127/8 and ::1 are not among them. */
bool host_is_local4(const struct host *host, const uint8_t *addr);
bool host_is_local6(const struct host *host, const uint8_t *addr);

/* 255.255.255.255, or the last address of a prefix that the host is on. */
bool host_is_broadcast4(const struct host *host, const uint8_t *addr);

/* 224.0.0.1 and what was joined; ff02::1, solicited-node and what was joined. */
bool host_in_group4(const struct host *host, const uint8_t *group);
bool host_in_group6(const struct host *host, const uint8_t *group);

/* Whether a group that the host is in is wanted from this source. */
bool host_wants_source(const struct host *host, const uint8_t *group,
		       const uint8_t *source, bool ipv6);

/* A change that a report of IGMPv3 or MLDv2 tells (RFC 3376 4.2.12, RFC 3810
 * 5.2.12), for a group that is wanted from, or not from, a list of sources. */
enum host_change {
	HOST_INCLUDE, /* wanted from these only; from none: the host leaves */
	HOST_EXCLUDE, /* wanted from all but these; from all: it joins */
	HOST_ALLOW,   /* from these too */
	HOST_BLOCK,   /* from these no longer */
};

/**
 * host_change_group() - the host reports what it wants of a group
 * @sources: @nr_sources addresses of the group's family, one after the other
 *
 * Return: false if a table is full; the group, or some sources, are not known
 * then.
 */
bool host_change_group(struct host *host, enum host_change change,
		       const uint8_t *group, const uint8_t *sources,
		       uint32_t nr_sources, bool ipv6);

static inline bool is_multicast4(const uint8_t *addr)
{
	return (addr[0] & 0xf0) == 0xe0;
}

static inline bool is_multicast6(const uint8_t *addr)
{
	return addr[0] == 0xff;
}

static inline bool is_loopback4(const uint8_t *addr)
{
	return addr[0] == 127;
}

bool is_loopback6(const uint8_t *addr);
bool is_zero(const uint8_t *addr, size_t len);

static inline bool is_all_ones4(const uint8_t *addr)
{
	return (addr[0] & addr[1] & addr[2] & addr[3]) == 0xff;
}

#endif
