/* SPDX-License-Identifier: MIT */
/*
 * observe/pending.c - see pending.h.
 *
 * A ring in the order of arrival. Entry number n stands at n modulo the ring's
 * size; numbers below `tail` are gone. Entries of one hash bucket form a chain
 * from the newest to older numbers, which ends at the first number below `tail`,
 * so that leaving the ring needs no unlinking. A search takes decided entries
 * out of the chain as it passes them, so that it never passes one twice.
 */
#include "observe/pending.h"

#include <errno.h>
#include <stdlib.h>

#include "observe/flow.h"
#include "observe/observer.h"

#define RING_SIZE  4096u
#define NR_BUCKETS 4096u

struct pending {
	struct sp_hash_key key;
	uint64_t wait_ns;
	pending_settle *settle;
	uint64_t head; /* number of the next entry; starts at 1 */
	uint64_t tail; /* number of the oldest one */
	uint64_t newest[NR_BUCKETS];
	struct pending_entry ring[RING_SIZE];
};

int pending_create(uint64_t wait_ns, pending_settle *settle,
		   struct pending **ret_pending)
{
	struct pending *pending = calloc(1, sizeof(*pending));

	if (!pending)
		return -ENOMEM;
	sp_hash_key_init(&pending->key);
	pending->wait_ns = wait_ns;
	pending->settle = settle;
	pending->head = pending->tail = 1;
	*ret_pending = pending;
	return 0;
}

void pending_destroy(struct pending *pending)
{
	free(pending);
}

static struct pending_entry *entry_at(struct pending *pending, uint64_t number)
{
	return &pending->ring[number % RING_SIZE];
}

/* The oldest leaves the ring. */
static void settle_oldest(struct sp_observer *o, struct pending *pending)
{
	struct pending_entry *entry = entry_at(pending, pending->tail++);

	if (entry->flow)
		pending->settle(o, entry);
	entry->flow = 0;
}

uint64_t pending_flow(const struct pending *pending, const uint8_t *addrs,
		      bool ipv6, uint64_t tag)
{
	return flow_hash(&pending->key, addrs, addrs + (ipv6 ? 16 : 4), ipv6,
			 tag);
}

void pending_add(struct sp_observer *o, struct pending *pending,
		 const struct pending_entry *entry)
{
	uint64_t *newest = &pending->newest[entry->flow % NR_BUCKETS];
	struct pending_entry *slot;

	if (pending->head - pending->tail == RING_SIZE) {
		o->stats.nr_ports_evicted +=
			entry_at(pending, pending->tail)->flow != 0;
		settle_oldest(o, pending);
	}
	slot = entry_at(pending, pending->head);
	*slot = *entry;
	slot->time_ns = o->now_ns;
	slot->older = *newest;
	*newest = pending->head++;
	if (o->now_ns + pending->wait_ns < o->next_timer_ns)
		timers_update(o);
}

struct pending_entry *pending_find(struct pending *pending, uint64_t flow)
{
	uint64_t *link = &pending->newest[flow % NR_BUCKETS];

	while (*link >= pending->tail) {
		struct pending_entry *entry = entry_at(pending, *link);

		if (entry->flow == flow)
			return entry;
		if (entry->flow)
			link = &entry->older;
		else
			*link = entry->older;
	}
	return NULL;
}

void pending_expire(struct sp_observer *o, struct pending *pending)
{
	while (pending_next_ns(pending) <= o->now_ns)
		settle_oldest(o, pending);
}

void pending_flush(struct sp_observer *o, struct pending *pending)
{
	while (pending->tail != pending->head)
		settle_oldest(o, pending);
}

uint64_t pending_next_ns(const struct pending *pending)
{
	if (pending->tail == pending->head)
		return UINT64_MAX;
	return pending->ring[pending->tail % RING_SIZE].time_ns +
	       pending->wait_ns;
}
