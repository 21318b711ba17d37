/* SPDX-License-Identifier: MIT */
/*
 * observe/pending.h - packets whose fate shows in what the host sends next.
 *
 * A UDP datagram reached a program or a closed port; a packet for somebody else
 * was passed on or found no route. The host shows which: an ICMP error right
 * behind it, the packet itself on its way out, or nothing. Until then the packet
 * waits in a ring and is counted nowhere, as no counter ever goes back. It is
 * decided by what the host sends, by time, by a full ring, or at the end.
 */
#ifndef SP_OBSERVE_PENDING_H
#define SP_OBSERVE_PENDING_H

#include <stdbool.h>
#include <stdint.h>

struct sp_observer;
struct pending;

/* One packet that waits. */
struct pending_entry {
	uint64_t flow;    /* its name, from flow_hash(); 0: decided */
	uint64_t time_ns; /* when it came */
	uint64_t older;   /* of the ring only */
	uint64_t note;    /* for whoever settles it */
	uint32_t len;
	uint8_t kind;
};

/**
 * typedef pending_settle - a packet goes that nothing has answered
 *
 * Must not touch the ring.
 */
typedef void pending_settle(struct sp_observer *o,
			    const struct pending_entry *entry);

/**
 * pending_create() - make a ring
 * @wait_ns: packet time after which silence is the answer
 *
 * Return: 0; -ENOMEM.
 */
int pending_create(uint64_t wait_ns, pending_settle *settle,
		   struct pending **ret_pending);
void pending_destroy(struct pending *pending);

/* Name a packet between @addrs, source and destination, in this ring. */
uint64_t pending_flow(const struct pending *pending, const uint8_t *addrs,
		      bool ipv6, uint64_t tag);

/* Let a packet wait; .time_ns and .older are set here. */
void pending_add(struct sp_observer *o, struct pending *pending,
		 const struct pending_entry *entry);

/* Return: the newest undecided packet of that name, or NULL. To decide it,
 * set its flow to 0. Valid until the next call. */
struct pending_entry *pending_find(struct pending *pending, uint64_t flow);

/* Settle what has waited long enough at o->now_ns. */
void pending_expire(struct sp_observer *o, struct pending *pending);
/* Settle everything. */
void pending_flush(struct sp_observer *o, struct pending *pending);
/* When the first one will have waited long enough; UINT64_MAX if none waits. */
uint64_t pending_next_ns(const struct pending *pending);

#endif
