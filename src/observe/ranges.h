/* SPDX-License-Identifier: MIT */
/*
 * observe/ranges.h - runs of segments in sequence space, in memory of fixed size.
 *
 * A range is a run of segments of one size; the last one may be shorter. So a bulk
 * transfer needs one range, however many segments are on their way. Ranges of a
 * connection form a list, in order. All come from one pool; where that is empty, or
 * a connection has too many, ranges are joined, and what follows from their
 * segments is no longer exact, which is counted (nr_ranges_joined).
 *
 * Two lists use it: segments that the host has sent and the peer not acknowledged
 * (the kernel's tcp_rtx_queue), and data that came ahead of what was expected (the
 * out_of_order_queue).
 */
#ifndef SP_OBSERVE_RANGES_H
#define SP_OBSERVE_RANGES_H

#include <stdbool.h>
#include <stdint.h>

struct conn;

enum {
	RANGE_SACKED = 1,
	RANGE_RETRANSMITTED = 2,
};

struct range {
	uint32_t seq;
	uint32_t end;
	uint32_t next;      /* 0: the last one */
	uint32_t size : 24; /* octets of each segment but the last */
	uint32_t flags : 8;
};

struct ranges {
	struct range *pool; /* [0] is never used */
	uint32_t nr;
	uint32_t nr_fresh; /* those below were used before */
	uint32_t free;
	uint64_t nr_joined;
};

/* Return: 0; -ENOMEM. */
int ranges_init(struct ranges *ranges, uint32_t nr);
void ranges_fini(struct ranges *ranges);

/* A segment [@seq, @end) behind all others, cut into segments of @size. */
void sent_push(struct ranges *ranges, struct conn *conn, uint32_t seq,
	       uint32_t end, uint32_t size);
/**
 * sent_ack() - everything before @ack has arrived
 * @ret_fresh: of the segments, those that were not known to have arrived
 * @ret_retransmitted: whether one of them was sent more than once
 *
 * Return: how many segments leave the list.
 */
uint32_t sent_ack(struct ranges *ranges, struct conn *conn, uint32_t ack,
		  uint32_t *ret_fresh, bool *ret_retransmitted);
/* What lies within [@start, @end) has arrived. Return: how many segments that
 * was not known of. */
uint32_t sent_sack(struct ranges *ranges, struct conn *conn, uint32_t start,
		   uint32_t end);
/* [@seq, @end) was sent again as segments of @size, however it was cut before. */
void sent_again(struct ranges *ranges, struct conn *conn, uint32_t seq,
		uint32_t end, uint32_t size);
void sent_clear(struct ranges *ranges, struct conn *conn);

/* Data [@seq, @end) came early. Return: whether a part of it was there already. */
bool early_add(struct ranges *ranges, struct conn *conn, uint32_t seq,
	       uint32_t end, bool *ret_all_there);
/**
 * early_take() - rcv_nxt has moved: what is early no longer
 * @conn: rcv_nxt moves over data that joins it
 *
 * Return: whether some of it lay before rcv_nxt already.
 */
bool early_take(struct ranges *ranges, struct conn *conn);
/* The right edge of all that is early; false if nothing is. */
bool early_edge(const struct ranges *ranges, const struct conn *conn,
		uint32_t *ret_edge);
void early_clear(struct ranges *ranges, struct conn *conn);

#endif
