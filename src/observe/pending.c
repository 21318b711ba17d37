/* SPDX-License-Identifier: MIT */
/*
 * observe/pending.c - see pending.h.
 *
 * A ring in the order of arrival. Entry number n stands at n modulo the ring's
 * size; numbers below `tail` are decided. Entries of one hash bucket form a
 * chain from the newest to older numbers, which ends at the first number below
 * `tail`, so that leaving the ring needs no unlinking. A search takes decided
 * entries out of the chain as it passes them, so that it never passes one twice.
 */
#include "observe/pending.h"

#include <errno.h>
#include <stdlib.h>

#include "observe/flow.h"

#define RING_SIZE  4096u
#define NR_BUCKETS 4096u
#define WAIT_NS    1000000000ull

struct entry {
	uint64_t flow; /* 0: decided */
	uint64_t time_ns;
	uint64_t older; /* the next one of its chain */
	uint32_t len;
	uint8_t kind;
};

struct pending {
	struct sp_hash_key key;
	uint64_t head; /* number of the next entry; starts at 1 */
	uint64_t tail; /* number of the oldest undecided one */
	uint64_t newest[NR_BUCKETS];
	struct entry ring[RING_SIZE];
};

int pending_create(struct pending **ret_pending)
{
	struct pending *pending = calloc(1, sizeof(*pending));

	if (!pending)
		return -ENOMEM;
	sp_hash_key_init(&pending->key);
	pending->head = pending->tail = 1;
	*ret_pending = pending;
	return 0;
}

void pending_destroy(struct pending *pending)
{
	free(pending);
}

static struct entry *entry_at(struct pending *pending, uint64_t number)
{
	return &pending->ring[number % RING_SIZE];
}

static void count_answered(struct sp_observer *o, enum pending_kind kind)
{
	switch (kind) {
	case PENDING_UDP:
		NET_INC(o, udp, NoPorts);
		break;
	case PENDING_UDP6:
		NET_INC(o, udp6, NoPorts);
		break;
	case PENDING_UDPLITE:
		NET_INC(o, udplite, NoPorts);
		break;
	case PENDING_UDPLITE6:
		NET_INC(o, udplite6, NoPorts);
		break;
	case PENDING_FORWARD:
		NET_INC(o, ipext, InNoRoutes);
		break;
	case PENDING_FORWARD6:
	case PENDING_FOREIGN6:
		NET6_INC(o, ip6, InNoRoutes);
		break;
	}
}

static void count_silent(struct sp_observer *o, enum pending_kind kind)
{
	switch (kind) {
	case PENDING_UDP:
		NET_INC(o, udp, InDatagrams);
		break;
	case PENDING_UDP6:
		NET_INC(o, udp6, InDatagrams);
		break;
	case PENDING_UDPLITE:
		NET_INC(o, udplite, InDatagrams);
		break;
	case PENDING_UDPLITE6:
		NET_INC(o, udplite6, InDatagrams);
		break;
	case PENDING_FORWARD:
		NET_INC(o, ip, ForwDatagrams);
		break;
	case PENDING_FORWARD6:
		NET6_INC(o, ip6, OutForwDatagrams);
		break;
	case PENDING_FOREIGN6:
		NET6_INC(o, ip6, InAddrErrors);
		break;
	}
}

/* The oldest leaves the ring; if nothing answered it, that was its fate. */
static void settle_oldest(struct sp_observer *o, struct pending *pending)
{
	struct entry *entry = entry_at(pending, pending->tail++);

	if (entry->flow)
		count_silent(o, (enum pending_kind)entry->kind);
	entry->flow = 0;
}

static uint64_t flow_of(const struct pending *pending, enum pending_kind kind,
			const uint8_t *addrs, bool ipv6, uint64_t tag)
{
	return flow_hash(&pending->key, addrs, addrs + (ipv6 ? 16 : 4), ipv6,
			 tag ^ (uint64_t)kind << 56);
}

void pending_add(struct sp_observer *o, enum pending_kind kind,
		 const uint8_t *addrs, bool ipv6, uint64_t tag, uint32_t len)
{
	struct pending *pending = o->pending;
	uint64_t flow = flow_of(pending, kind, addrs, ipv6, tag);
	uint64_t *newest = &pending->newest[flow % NR_BUCKETS];
	uint64_t number;

	if (pending->head - pending->tail == RING_SIZE) {
		o->stats.nr_ports_evicted +=
			entry_at(pending, pending->tail)->flow != 0;
		settle_oldest(o, pending);
	}
	number = pending->head++;
	*entry_at(pending, number) = (struct entry){
		.flow = flow,
		.time_ns = o->now_ns,
		.older = *newest,
		.len = len,
		.kind = (uint8_t)kind,
	};
	*newest = number;
	if (number == pending->tail)
		timers_update(o);
}

/* The newest undecided entry of a flow, and the link that leads to it. */
static struct entry *search(struct sp_observer *o, uint64_t flow,
			    uint64_t **ret_link)
{
	struct pending *pending = o->pending;
	uint64_t *link = &pending->newest[flow % NR_BUCKETS];

	while (*link >= pending->tail) {
		struct entry *entry = entry_at(pending, *link);

		if (entry->flow == flow) {
			*ret_link = link;
			return entry;
		}
		if (entry->flow)
			link = &entry->older;
		else
			*link = entry->older;
	}
	return NULL;
}

bool pending_find(struct sp_observer *o, enum pending_kind kind,
		  const uint8_t *addrs, bool ipv6, uint64_t tag,
		  uint32_t *ret_len)
{
	uint64_t flow = flow_of(o->pending, kind, addrs, ipv6, tag);
	uint64_t *link;
	struct entry *entry = search(o, flow, &link);

	if (entry)
		*ret_len = entry->len;
	return entry;
}

bool pending_answer(struct sp_observer *o, enum pending_kind kind,
		    const uint8_t *addrs, bool ipv6, uint64_t tag)
{
	uint64_t flow = flow_of(o->pending, kind, addrs, ipv6, tag);
	uint64_t *link;
	struct entry *entry = search(o, flow, &link);

	if (!entry)
		return false;
	count_answered(o, kind);
	entry->flow = 0;
	*link = entry->older;
	return true;
}

void pending_expire(struct sp_observer *o)
{
	struct pending *pending = o->pending;

	while (pending->tail != pending->head &&
	       o->now_ns - entry_at(pending, pending->tail)->time_ns >= WAIT_NS)
		settle_oldest(o, pending);
}

void pending_flush(struct sp_observer *o)
{
	while (o->pending->tail != o->pending->head)
		settle_oldest(o, o->pending);
}

uint64_t pending_next_ns(const struct pending *pending)
{
	if (pending->tail == pending->head)
		return UINT64_MAX;
	return pending->ring[pending->tail % RING_SIZE].time_ns + WAIT_NS;
}
