/* SPDX-License-Identifier: MIT */
/*
 * observe/forward.h - packets that the host passes on for others.
 *
 * Input: a sound packet to somebody else. Output: a packet that leaves with a
 * foreign source. Only one device is seen, so that either half may be missing.
 */
#ifndef SP_OBSERVE_FORWARD_H
#define SP_OBSERVE_FORWARD_H

#include "observe/observer.h"

int forward_create(struct forward **ret_forward);
void forward_destroy(struct forward *forward);

/* @packet: trimmed to its total length; the fixed header was captured. */
void forward4_input(struct sp_observer *o, const struct packet *packet);
void forward6_input(struct sp_observer *o, const struct packet *packet);

/* A fragment with a foreign source leaves: did this host cut it? */
void forward4_fragment_output(struct sp_observer *o,
			      const struct packet *packet);

/* The host answered a packet with "no route". @quote: the quoted header. */
void forward4_no_route(struct sp_observer *o, const uint8_t *quote);
void forward6_no_route(struct sp_observer *o, const uint8_t *quote,
		       uint32_t quote_len);

/* An IPv6 packet that is not for this host and waits for an error. */
void forward6_foreign(struct sp_observer *o, const struct packet *packet);

#endif
