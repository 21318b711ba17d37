/* SPDX-License-Identifier: MIT */
/*
 * observe/pending.h - packets whose fate shows in what the host sends next.
 *
 * A UDP datagram reached a program or a closed port; a packet for somebody else
 * found a route or none. The host says so with an ICMP error right behind it, or
 * says nothing. Until then the packet waits here and is counted nowhere, as no
 * counter ever goes back. It is decided by the error, by one second of packet
 * time, by a full ring (counted), or at the end.
 */
#ifndef SP_OBSERVE_PENDING_H
#define SP_OBSERVE_PENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "observe/observer.h"

enum pending_kind {
	/* answered: NoPorts; else InDatagrams. In the order of UDP_SPACE(). */
	PENDING_UDP,
	PENDING_UDP6,
	PENDING_UDPLITE,
	PENDING_UDPLITE6,
	/* answered: InNoRoutes; else forwarded */
	PENDING_FORWARD,
	PENDING_FORWARD6,
	/* to an address that is not the host's; answered: InNoRoutes; else
	 * InAddrErrors */
	PENDING_FOREIGN6,
};

int pending_create(struct pending **ret_pending);
void pending_destroy(struct pending *pending);

/**
 * pending_add() - let a packet wait
 * @addrs: source, then destination
 * @tag: what tells it from others between these two, as flow_tag() or the like;
 *       the error quotes it; below 2^56
 * @len: for pending_find()
 */
void pending_add(struct sp_observer *o, enum pending_kind kind,
		 const uint8_t *addrs, bool ipv6, uint64_t tag, uint32_t len);

/* Whether such a packet waits still, and its @len; the newest if several do. */
bool pending_find(struct sp_observer *o, enum pending_kind kind,
		  const uint8_t *addrs, bool ipv6, uint64_t tag,
		  uint32_t *ret_len);

/**
 * pending_answer() - an error for such a packet left
 *
 * Return: false if none waits.
 */
bool pending_answer(struct sp_observer *o, enum pending_kind kind,
		    const uint8_t *addrs, bool ipv6, uint64_t tag);

/* Decide what has waited long enough at o->now_ns. */
void pending_expire(struct sp_observer *o);
/* Decide everything. */
void pending_flush(struct sp_observer *o);
/* When the first one will have waited long enough; UINT64_MAX if none waits. */
uint64_t pending_next_ns(const struct pending *pending);

#endif
