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

#include "observe/addr_set.h"

/* What an address is to the host. */
enum host_mark {
	HOST_LOCAL = 1,     /* its own; 127/8 and ::1 are so only if told */
	HOST_BROADCAST = 2, /* 255.255.255.255, or the last of its prefixes */
	HOST_TOLD = 4,      /* group that it is in all the time */
	HOST_REPORTED = 8,  /* group that it has reported */
};

#define HOST_GROUP (HOST_TOLD | HOST_REPORTED)

#define HOST_MAX_REPORTED 512  /* groups, both families */
#define HOST_MAX_SOURCES  1024 /* of all groups */

/* Which sources of a reported group are wanted: all but those in the list, or
 * those in the list. */
struct host_filter {
	uint16_t next;  /* free one */
	uint16_t first; /* source of the list */
	uint8_t nr;
	bool exclude;
};

/* In the list of one group, or in the list of free ones. */
struct host_source {
	struct addr_key addr;
	uint16_t next;
};

struct host {
	struct addr_set addrs[2]; /* IPv4, IPv6; value: filter of a group */
	uint16_t free_filter;
	uint16_t free_source;
	struct host_filter filters[HOST_MAX_REPORTED];
	struct host_source sources[HOST_MAX_SOURCES];
};

int host_create(const struct sp_observer_opts *opts, struct host **ret_host);
void host_destroy(struct host *host);

/* Return: a set of enum host_mark. */
static inline uint8_t host_marks4(const struct host *host, const uint8_t *addr)
{
	return addr_set_marks(&host->addrs[0], addr_key4(addr));
}

static inline uint8_t host_marks6(const struct host *host, const uint8_t *addr)
{
	return addr_set_marks(&host->addrs[1], addr_key6(addr));
}

static inline bool host_is_local4(const struct host *host, const uint8_t *addr)
{
	return host_marks4(host, addr) & HOST_LOCAL;
}

static inline bool host_is_local6(const struct host *host, const uint8_t *addr)
{
	return host_marks6(host, addr) & HOST_LOCAL;
}

/* 224.0.0.1 and what was joined; ff02::1, solicited-node and what was joined. */
static inline bool host_in_group4(const struct host *host, const uint8_t *group)
{
	return host_marks4(host, group) & HOST_GROUP;
}

static inline bool host_in_group6(const struct host *host, const uint8_t *group)
{
	return host_marks6(host, group) & HOST_GROUP;
}

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

static inline bool is_zero4(const uint8_t *addr)
{
	return !addr_key4(addr).lo;
}

static inline bool is_zero6(const uint8_t *addr)
{
	return !(addr_key6(addr).lo | addr_key6(addr).hi);
}

static inline bool is_loopback6(const uint8_t *addr)
{
	static const uint8_t loopback[16] = {[15] = 1};

	return !memcmp(addr, loopback, sizeof(loopback));
}

static inline bool is_all_ones4(const uint8_t *addr)
{
	return addr_key4(addr).lo == 0xffffffff;
}

#endif
