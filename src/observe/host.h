/* SPDX-License-Identifier: MIT */
/*
 * observe/host.h - what the host calls its own: addresses, broadcast addresses,
 * multicast groups.
 *
 * Addresses are fixed when the observer is created; groups also come and go
 * with the reports that the host sends. Both are open-addressed tables under a
 * random key; the groups' one is bounded, and joins beyond it are refused.
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

/* Return: false if the table is full. */
bool host_join(struct host *host, const uint8_t *group, bool ipv6);
void host_leave(struct host *host, const uint8_t *group, bool ipv6);

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
