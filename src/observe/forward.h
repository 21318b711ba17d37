/* SPDX-License-Identifier: MIT */
/*
 * observe/forward.h - packets that the host passes on for others.
 *
 * Exists for routers only. Input: a sound packet to somebody else. Output: a
 * packet that leaves. Errors: what the host says of such a packet. Only one device is seen, so that either half may be missing.
 */
#ifndef SP_OBSERVE_FORWARD_H
#define SP_OBSERVE_FORWARD_H

#include "observe/observer.h"

int forward_create(struct forward **ret_forward);
void forward_destroy(struct forward *forward);

/* @packet: trimmed to its own length; the fixed header was captured. */
void forward4_input(struct sp_observer *o, const struct packet *packet);
void forward6_input(struct sp_observer *o, const struct packet *packet);

/* Return: false if @packet is the router's own; it is counted otherwise. */
bool forward4_output(struct sp_observer *o, const struct packet *packet);
bool forward6_output(struct sp_observer *o, const struct packet *packet);

/* The host sent an ICMP error; @quote: what it quotes, at least a header. */
void forward4_error(struct sp_observer *o, uint8_t type, uint8_t code,
		    const uint8_t *quote);
void forward6_error(struct sp_observer *o, uint8_t type, uint8_t code,
		    const uint8_t *quote, uint32_t quote_len);

void forward_expire(struct sp_observer *o);
void forward_flush(struct sp_observer *o);
uint64_t forward_next_ns(const struct forward *forward);

/* What tells an IPv6 packet from others between the same ends, and shows in an
 * error that quotes it: the header but for its hop limit, and what follows. */
uint64_t forward6_tag(const uint8_t *ip, uint32_t cap_len);

#endif
