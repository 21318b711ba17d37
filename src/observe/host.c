/* SPDX-License-Identifier: MIT */
/*
 * observe/host.c - see host.h.
 *
 * One set for each family holds all that is known, as marks on addresses. Which
 * sources a reported group is wanted from stands in a list of its own; lists and
 * their heads come from pools of fixed size.
 *
 * Rules: net/ipv4/fib_frontend.c (which broadcast address an address brings with
 * it: the last one of its prefix, none for /31 and /32; the first one is an
 * ordinary address since Linux 5.14), net/ipv6/addrconf.c (solicited-node
 * groups, all-routers groups and subnet-router anycast addresses of a router),
 * net/ipv4/igmp.c, net/ipv6/mcast.c (source filters).
 */
#include "observe/host.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>

#define MAX_FILTER 64 /* sources of one group (mld_max_msf) */
#define NONE       UINT16_MAX

static struct addr_key key_of(const uint8_t *addr, bool ipv6)
{
	return ipv6 ? addr_key6(addr) : addr_key4(addr);
}

static void mark(struct host *host, const uint8_t *addr, bool ipv6,
		 enum host_mark mark)
{
	addr_set_mark(&host->addrs[ipv6], key_of(addr, ipv6), (uint8_t)mark);
}

/* The filter of a reported group; NULL if it is not reported. */
static struct host_filter *filter_of(struct host *host, struct addr_key group,
				     bool ipv6)
{
	struct addr_set *set = &host->addrs[ipv6];
	uint32_t slot = addr_set_find(set, group);

	if (!(set->marks[slot] & HOST_REPORTED))
		return NULL;
	return &host->filters[set->values[slot]];
}

/* The link that leads to a source of the list, or to its end. */
static uint16_t *source_link(struct host *host, struct host_filter *filter,
			     struct addr_key addr)
{
	uint16_t *link = &filter->first;

	while (*link != NONE && (host->sources[*link].addr.lo != addr.lo ||
				 host->sources[*link].addr.hi != addr.hi))
		link = &host->sources[*link].next;
	return link;
}

static bool source_add(struct host *host, struct host_filter *filter,
		       struct addr_key addr)
{
	uint16_t *link = source_link(host, filter, addr);
	uint16_t i = host->free_source;

	if (*link != NONE)
		return true;
	if (i == NONE || filter->nr == MAX_FILTER)
		return false;
	host->free_source = host->sources[i].next;
	host->sources[i] = (struct host_source){addr, NONE};
	*link = i;
	filter->nr++;
	return true;
}

static void source_remove(struct host *host, struct host_filter *filter,
			  struct addr_key addr)
{
	uint16_t *link = source_link(host, filter, addr);
	uint16_t i = *link;

	if (i == NONE)
		return;
	*link = host->sources[i].next;
	host->sources[i].next = host->free_source;
	host->free_source = i;
	filter->nr--;
}

static void filter_clear(struct host *host, struct host_filter *filter)
{
	while (filter->first != NONE)
		source_remove(host, filter, host->sources[filter->first].addr);
}

bool host_wants_source(const struct host *host, const uint8_t *group,
		       const uint8_t *source, bool ipv6)
{
	struct addr_key key = key_of(group, ipv6);
	struct host *table = (struct host *)host;
	struct host_filter *filter;
	bool listed;

	if (addr_set_marks(&host->addrs[ipv6], key) & HOST_TOLD)
		return true;
	filter = filter_of(table, key, ipv6);
	if (!filter)
		return false;
	listed = *source_link(table, filter, key_of(source, ipv6)) != NONE;
	return listed != filter->exclude;
}

/* Return: NULL if there is no room. */
static struct host_filter *join(struct host *host, struct addr_key group,
				bool ipv6)
{
	struct host_filter *filter = filter_of(host, group, ipv6);
	uint16_t i = host->free_filter;
	uint32_t slot;

	if (filter || i == NONE)
		return filter;
	filter = &host->filters[i];
	host->free_filter = filter->next;
	*filter = (struct host_filter){.first = NONE};
	slot = addr_set_mark(&host->addrs[ipv6], group, HOST_REPORTED);
	host->addrs[ipv6].values[slot] = i;
	return filter;
}

static void leave(struct host *host, struct addr_key group, bool ipv6)
{
	struct host_filter *filter = filter_of(host, group, ipv6);

	filter_clear(host, filter);
	filter->next = host->free_filter;
	host->free_filter = (uint16_t)(filter - host->filters);
	addr_set_unmark(&host->addrs[ipv6], group, HOST_REPORTED);
}

/* Into the list if @add, out of it otherwise. */
static bool change_sources(struct host *host, struct host_filter *filter,
			   bool add, const uint8_t *sources, uint32_t nr,
			   bool ipv6)
{
	bool done = true;

	for (uint32_t i = 0; i < nr; i++) {
		struct addr_key source =
			key_of(sources + i * (ipv6 ? 16 : 4), ipv6);

		if (add)
			done &= source_add(host, filter, source);
		else
			source_remove(host, filter, source);
	}
	return done;
}

bool host_change_group(struct host *host, enum host_change change,
		       const uint8_t *group, const uint8_t *sources,
		       uint32_t nr_sources, bool ipv6)
{
	bool replace = change == HOST_INCLUDE || change == HOST_EXCLUDE;
	struct addr_key key = key_of(group, ipv6);
	struct host_filter *filter = filter_of(host, key, ipv6);
	bool add, done;

	/* Leaving, or blocking sources of, a group that it is not in. */
	if (!filter &&
	    (change == HOST_BLOCK || (change == HOST_INCLUDE && !nr_sources)))
		return true;
	filter = join(host, key, ipv6);
	if (!filter)
		return false;
	if (replace) {
		filter_clear(host, filter);
		filter->exclude = change == HOST_EXCLUDE;
	}
	add = replace || filter->exclude == (change == HOST_BLOCK);
	done = change_sources(host, filter, add, sources, nr_sources, ipv6);
	if (!filter->exclude && !filter->nr)
		leave(host, key, ipv6);
	return done;
}

/* The last address of the prefix, or with @last false the first one. */
static void prefix_end(uint8_t *addr, unsigned len, unsigned prefix_len,
		       bool last)
{
	for (unsigned i = 0; i < len; i++) {
		unsigned bits = prefix_len > 8 * i ? prefix_len - 8 * i : 0;
		uint8_t host_bits = bits >= 8 ? 0 : 0xff >> bits;

		addr[i] = (uint8_t)(last ? addr[i] | host_bits
					 : addr[i] & ~host_bits);
	}
}

static void add_local4(struct host *host, const struct sp_addr *addr)
{
	uint8_t broadcast[4];

	mark(host, addr->octets, false, HOST_LOCAL);
	if (addr->prefix_len >= 31)
		return;
	memcpy(broadcast, addr->octets, 4);
	prefix_end(broadcast, 4, addr->prefix_len, true);
	mark(host, broadcast, false, HOST_BROADCAST);
}

static void add_local6(struct host *host, const struct sp_addr *addr,
		       bool forwards)
{
	uint8_t solicited[16] = {0xff, 2, [11] = 1, [12] = 0xff};
	uint8_t anycast[16];

	mark(host, addr->octets, true, HOST_LOCAL);
	memcpy(solicited + 13, addr->octets + 13, 3);
	mark(host, solicited, true, HOST_TOLD);
	if (!forwards || addr->prefix_len >= 127)
		return;
	memcpy(anycast, addr->octets, 16);
	prefix_end(anycast, 16, addr->prefix_len, false);
	if (is_zero6(anycast))
		return;
	mark(host, anycast, true, HOST_LOCAL);
	memcpy(solicited + 13, anycast + 13, 3);
	mark(host, solicited, true, HOST_TOLD);
}

static void add_well_known(struct host *host, bool forwards)
{
	static const uint8_t all_ones[4] = {255, 255, 255, 255};
	static const uint8_t all_systems[4] = {224, 0, 0, 1};
	static const uint8_t all_nodes[16] = {0xff, 2, [15] = 1};
	static const uint8_t all_routers[16] = {0xff, 2, [15] = 2};
	static const uint8_t site_routers[16] = {0xff, 5, [15] = 2};

	mark(host, all_ones, false, HOST_BROADCAST);
	mark(host, all_systems, false, HOST_TOLD);
	mark(host, all_nodes, true, HOST_TOLD);
	if (forwards) {
		mark(host, all_routers, true, HOST_TOLD);
		mark(host, site_routers, true, HOST_TOLD);
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
		     opts->groups[i].family == AF_INET6, HOST_TOLD);
}

/* All filters and sources are free. */
static void init_pools(struct host *host)
{
	for (uint16_t i = 0; i < HOST_MAX_REPORTED; i++)
		host->filters[i].next =
			i + 1 < HOST_MAX_REPORTED ? (uint16_t)(i + 1) : NONE;
	for (uint16_t i = 0; i < HOST_MAX_SOURCES; i++)
		host->sources[i].next =
			i + 1 < HOST_MAX_SOURCES ? (uint16_t)(i + 1) : NONE;
}

/* Return: what each set must hold: an address brings up to three others. */
static size_t max_entries(const struct sp_observer_opts *opts)
{
	return 4 * opts->nr_addrs + opts->nr_groups + HOST_MAX_REPORTED + 8;
}

int host_create(const struct sp_observer_opts *opts, struct host **ret_host)
{
	struct host *host;
	int err;

	if (opts->nr_addrs > 1 << 20 || opts->nr_groups > 1 << 20 ||
	    !are_valid(opts->addrs, opts->nr_addrs) ||
	    !are_valid(opts->groups, opts->nr_groups))
		return -EINVAL;
	host = calloc(1, sizeof(*host));
	if (!host)
		return -ENOMEM;
	err = addr_set_init(&host->addrs[0], max_entries(opts));
	if (!err)
		err = addr_set_init(&host->addrs[1], max_entries(opts));
	if (err) {
		host_destroy(host);
		return err;
	}
	init_pools(host);
	fill(host, opts);
	*ret_host = host;
	return 0;
}

void host_destroy(struct host *host)
{
	if (!host)
		return;
	addr_set_fini(&host->addrs[0]);
	addr_set_fini(&host->addrs[1]);
	free(host);
}
