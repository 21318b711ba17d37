/* SPDX-License-Identifier: MIT */
/*
 * observe/host.c - see host.h.
 *
 * One table holds all that is known, each entry a set of marks on one address:
 * local, broadcast, group joined for good, group joined by report. The few
 * entries of a host lie in one or two cache lines that every packet touches.
 *
 * Rules: net/ipv4/fib_frontend.c (which broadcast addresses an address brings
 * with it: the last one of its prefix, none for /31 and /32; the first one is an
 * ordinary address since Linux 5.14), net/ipv6/addrconf.c (solicited-node
 * groups, all-routers groups and subnet-router anycast addresses of a router).
 */
#include "observe/host.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "observe/flow.h"

#define MAX_REPORTED 512  /* groups joined by report, both families */
#define MAX_SOURCES  1024 /* of all groups */
#define MAX_FILTER   64   /* sources of one group (mld_max_msf) */
#define NO_SOURCE    UINT16_MAX

enum {
	MARK_USED = 1,
	MARK_IPV6 = 2,
	MARK_LOCAL = 4,
	MARK_BROADCAST = 8,
	MARK_GROUP = 16,    /* joined all the time */
	MARK_REPORTED = 32, /* joined by a report */
};

/* Which sources of a reported group are wanted: all but those in the list, or
 * those in the list. */
struct filter {
	uint16_t first; /* of the list, NO_SOURCE at the end */
	uint8_t nr;
	bool exclude;
};

/* In the list of one group, or in the list of free ones. */
struct source {
	uint8_t addr[16];
	uint16_t next;
};

/*
 * Marks stand apart from addresses: most lookups, those of far ends, meet
 * a free slot and read nothing but one octet of a small array.
 */
struct host {
	uint64_t key;
	uint32_t mask;
	uint32_t nr_reported;
	uint8_t *marks;
	uint8_t (*addrs)[16];
	struct filter *filters; /* of slots with MARK_REPORTED */
	struct source sources[MAX_SOURCES];
	uint16_t free_source;
};

static uint32_t slot_of(const struct host *host, const uint8_t *addr, bool ipv6)
{
	uint64_t x = flow_load(addr, 4) ^ host->key;

	if (ipv6)
		x = (flow_load(addr, 8) ^ host->key) +
		    flow_load(addr + 8, 8) * 0x9e3779b97f4a7c15ull;
	x *= 0xff51afd7ed558ccdull;
	return (uint32_t)(x >> 32) & host->mask;
}

static bool is_at(const struct host *host, uint32_t slot, const uint8_t *addr,
		  bool ipv6)
{
	if (!!(host->marks[slot] & MARK_IPV6) != ipv6)
		return false;
	return !memcmp(host->addrs[slot], addr, ipv6 ? 16 : 4);
}

/* The slot of @addr, or the free one where it would go. */
static uint32_t find(const struct host *host, const uint8_t *addr, bool ipv6)
{
	uint32_t slot = slot_of(host, addr, ipv6);

	while (host->marks[slot] && !is_at(host, slot, addr, ipv6))
		slot = (slot + 1) & host->mask;
	return slot;
}

static uint8_t marks_of(const struct host *host, const uint8_t *addr, bool ipv6)
{
	return host->marks[find(host, addr, ipv6)];
}

static void mark(struct host *host, const uint8_t *addr, bool ipv6,
		 uint8_t marks)
{
	uint32_t slot = find(host, addr, ipv6);

	if (!host->marks[slot]) {
		memcpy(host->addrs[slot], addr, ipv6 ? 16 : 4);
		host->marks[slot] = MARK_USED | (ipv6 ? MARK_IPV6 : 0);
	}
	host->marks[slot] |= marks;
}

/* Free a slot and close the gap in the run of slots behind it. */
static void clear(struct host *host, uint32_t gap)
{
	uint32_t slot = gap;

	host->marks[gap] = 0;
	for (;;) {
		uint32_t home;

		slot = (slot + 1) & host->mask;
		if (!host->marks[slot])
			return;
		home = slot_of(host, host->addrs[slot],
			       host->marks[slot] & MARK_IPV6);
		if (((slot - home) & host->mask) < ((slot - gap) & host->mask))
			continue;
		host->marks[gap] = host->marks[slot];
		memcpy(host->addrs[gap], host->addrs[slot], 16);
		host->filters[gap] = host->filters[slot];
		host->marks[slot] = 0;
		gap = slot;
	}
}

bool is_zero(const uint8_t *addr, size_t len)
{
	uint8_t all = 0;

	for (size_t i = 0; i < len; i++)
		all |= addr[i];
	return !all;
}

bool is_loopback6(const uint8_t *addr)
{
	return addr[15] == 1 && is_zero(addr, 15);
}

bool host_is_local4(const struct host *host, const uint8_t *addr)
{
	return marks_of(host, addr, false) & MARK_LOCAL;
}

bool host_is_local6(const struct host *host, const uint8_t *addr)
{
	return marks_of(host, addr, true) & MARK_LOCAL;
}

bool host_is_broadcast4(const struct host *host, const uint8_t *addr)
{
	return marks_of(host, addr, false) & MARK_BROADCAST;
}

bool host_in_group4(const struct host *host, const uint8_t *group)
{
	return marks_of(host, group, false) & (MARK_GROUP | MARK_REPORTED);
}

bool host_in_group6(const struct host *host, const uint8_t *group)
{
	return marks_of(host, group, true) & (MARK_GROUP | MARK_REPORTED);
}

/* The link that leads to a source of the list, or to its end. */
static uint16_t *source_link(struct host *host, struct filter *filter,
			     const uint8_t *addr, size_t len)
{
	uint16_t *link = &filter->first;

	while (*link != NO_SOURCE &&
	       memcmp(host->sources[*link].addr, addr, len) != 0)
		link = &host->sources[*link].next;
	return link;
}

static bool source_add(struct host *host, struct filter *filter,
		       const uint8_t *addr, size_t len)
{
	uint16_t *link = source_link(host, filter, addr, len);
	uint16_t i = host->free_source;

	if (*link != NO_SOURCE)
		return true;
	if (i == NO_SOURCE || filter->nr == MAX_FILTER)
		return false;
	host->free_source = host->sources[i].next;
	memcpy(host->sources[i].addr, addr, len);
	host->sources[i].next = NO_SOURCE;
	*link = i;
	filter->nr++;
	return true;
}

static void source_remove(struct host *host, struct filter *filter,
			  const uint8_t *addr, size_t len)
{
	uint16_t *link = source_link(host, filter, addr, len);
	uint16_t i = *link;

	if (i == NO_SOURCE)
		return;
	*link = host->sources[i].next;
	host->sources[i].next = host->free_source;
	host->free_source = i;
	filter->nr--;
}

static void filter_clear(struct host *host, struct filter *filter)
{
	while (filter->first != NO_SOURCE)
		source_remove(host, filter, host->sources[filter->first].addr,
			      16);
}

bool host_wants_source(const struct host *host, const uint8_t *group,
		       const uint8_t *source, bool ipv6)
{
	uint32_t slot = find(host, group, ipv6);
	struct filter *filter = &host->filters[slot];
	bool listed;

	if (host->marks[slot] & MARK_GROUP)
		return true;
	if (!(host->marks[slot] & MARK_REPORTED))
		return false;
	listed = *source_link((struct host *)host, filter, source,
			      ipv6 ? 16 : 4) != NO_SOURCE;
	return listed != filter->exclude;
}

/* Return: false if there is no room. */
static bool join(struct host *host, const uint8_t *group, bool ipv6)
{
	uint32_t slot = find(host, group, ipv6);

	if (host->marks[slot] & MARK_REPORTED)
		return true;
	if (host->nr_reported == MAX_REPORTED)
		return false;
	host->nr_reported++;
	mark(host, group, ipv6, MARK_REPORTED);
	host->filters[slot] = (struct filter){.first = NO_SOURCE};
	return true;
}

static void leave(struct host *host, const uint8_t *group, bool ipv6)
{
	uint32_t slot = find(host, group, ipv6);

	if (!(host->marks[slot] & MARK_REPORTED))
		return;
	filter_clear(host, &host->filters[slot]);
	host->nr_reported--;
	host->marks[slot] &= (uint8_t)~MARK_REPORTED;
	if (!(host->marks[slot] & (MARK_LOCAL | MARK_BROADCAST | MARK_GROUP)))
		clear(host, slot);
}

/* Into the list if @add, out of it otherwise. */
static bool change_sources(struct host *host, struct filter *filter, bool add,
			   const uint8_t *sources, uint32_t nr, size_t len)
{
	bool done = true;

	for (uint32_t i = 0; i < nr; i++) {
		if (add)
			done &= source_add(host, filter, sources + i * len,
					   len);
		else
			source_remove(host, filter, sources + i * len, len);
	}
	return done;
}

bool host_change_group(struct host *host, enum host_change change,
		       const uint8_t *group, const uint8_t *sources,
		       uint32_t nr_sources, bool ipv6)
{
	bool known = marks_of(host, group, ipv6) & MARK_REPORTED;
	bool replace = change == HOST_INCLUDE || change == HOST_EXCLUDE;
	struct filter *filter;
	bool done;

	if (change == HOST_BLOCK && !known)
		return true;
	if (!join(host, group, ipv6))
		return false;
	filter = &host->filters[find(host, group, ipv6)];
	if (replace) {
		filter_clear(host, filter);
		filter->exclude = change == HOST_EXCLUDE;
	}
	done = change_sources(host, filter,
			      replace ||
				      filter->exclude == (change == HOST_BLOCK),
			      sources, nr_sources, ipv6 ? 16 : 4);
	if (!filter->exclude && !filter->nr)
		leave(host, group, ipv6);
	return done;
}

/* The last address of the prefix, or with @last false the first one. */
static void prefix_end(uint8_t *addr, size_t len, unsigned prefix_len,
		       bool last)
{
	for (size_t i = 0; i < len; i++) {
		unsigned bits = prefix_len > 8 * i ? prefix_len - 8 * i : 0;
		uint8_t host_bits = bits >= 8 ? 0 : 0xff >> bits;

		addr[i] = (uint8_t)(last ? addr[i] | host_bits
					 : addr[i] & ~host_bits);
	}
}

static void add_local4(struct host *host, const struct sp_addr *addr)
{
	uint8_t broadcast[4];

	mark(host, addr->octets, false, MARK_LOCAL);
	if (addr->prefix_len >= 31)
		return;
	memcpy(broadcast, addr->octets, 4);
	prefix_end(broadcast, 4, addr->prefix_len, true);
	mark(host, broadcast, false, MARK_BROADCAST);
}

static void add_local6(struct host *host, const struct sp_addr *addr,
		       bool forwards)
{
	uint8_t solicited[16] = {0xff, 2, [11] = 1, [12] = 0xff};
	uint8_t anycast[16];

	mark(host, addr->octets, true, MARK_LOCAL);
	memcpy(solicited + 13, addr->octets + 13, 3);
	mark(host, solicited, true, MARK_GROUP);
	if (!forwards || addr->prefix_len >= 127)
		return;
	memcpy(anycast, addr->octets, 16);
	prefix_end(anycast, 16, addr->prefix_len, false);
	if (is_zero(anycast, 16))
		return;
	mark(host, anycast, true, MARK_LOCAL);
	memcpy(solicited + 13, anycast + 13, 3);
	mark(host, solicited, true, MARK_GROUP);
}

static void add_well_known(struct host *host, bool forwards)
{
	static const uint8_t all_ones[4] = {255, 255, 255, 255};
	static const uint8_t all_systems[4] = {224, 0, 0, 1};
	static const uint8_t all_nodes[16] = {0xff, 2, [15] = 1};
	static const uint8_t all_routers[16] = {0xff, 2, [15] = 2};
	static const uint8_t site_routers[16] = {0xff, 5, [15] = 2};

	mark(host, all_ones, false, MARK_BROADCAST);
	mark(host, all_systems, false, MARK_GROUP);
	mark(host, all_nodes, true, MARK_GROUP);
	if (forwards) {
		mark(host, all_routers, true, MARK_GROUP);
		mark(host, site_routers, true, MARK_GROUP);
	}
}

static bool is_valid(const struct sp_addr *addr)
{
	if (addr->family == AF_INET)
		return addr->prefix_len <= 32;
	return addr->family == AF_INET6 && addr->prefix_len <= 128;
}

static bool are_valid(const struct sp_addr *addrs, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (!is_valid(&addrs[i]))
			return false;
	return true;
}

/* At least twice what can ever be in it: four entries an address, one a group. */
static uint32_t table_slots(const struct sp_observer_opts *opts)
{
	size_t want =
		2 * (4 * opts->nr_addrs + opts->nr_groups + MAX_REPORTED + 8);
	uint32_t slots = 64;

	while (slots < want)
		slots *= 2;
	return slots;
}

static void fill(struct host *host, const struct sp_observer_opts *opts)
{
	add_well_known(host, opts->forward);
	for (size_t i = 0; i < opts->nr_addrs; i++) {
		if (opts->addrs[i].family == AF_INET)
			add_local4(host, &opts->addrs[i]);
		else
			add_local6(host, &opts->addrs[i], opts->forward);
	}
	for (size_t i = 0; i < opts->nr_groups; i++)
		mark(host, opts->groups[i].octets,
		     opts->groups[i].family == AF_INET6, MARK_GROUP);
}

int host_create(const struct sp_observer_opts *opts, struct host **ret_host)
{
	struct sp_hash_key key;
	struct host *host;
	uint32_t slots;

	if (opts->nr_addrs > 1 << 20 || opts->nr_groups > 1 << 20 ||
	    !are_valid(opts->addrs, opts->nr_addrs) ||
	    !are_valid(opts->groups, opts->nr_groups))
		return -EINVAL;
	slots = table_slots(opts);
	host = calloc(1, sizeof(*host));
	if (!host)
		return -ENOMEM;
	sp_hash_key_init(&key);
	host->key = key.k0;
	host->mask = slots - 1;
	host->marks = calloc(slots, sizeof(host->marks[0]));
	host->addrs = calloc(slots, sizeof(host->addrs[0]));
	host->filters = calloc(slots, sizeof(host->filters[0]));
	if (!host->marks || !host->addrs || !host->filters) {
		host_destroy(host);
		return -ENOMEM;
	}
	for (uint16_t i = 0; i < MAX_SOURCES; i++)
		host->sources[i].next =
			i + 1 < MAX_SOURCES ? (uint16_t)(i + 1) : NO_SOURCE;
	fill(host, opts);
	*ret_host = host;
	return 0;
}

void host_destroy(struct host *host)
{
	if (!host)
		return;
	free(host->marks);
	free(host->addrs);
	free(host->filters);
	free(host);
}
