/* SPDX-License-Identifier: MIT */
/*
 * observe/ranges.c - see ranges.h.
 */
#include "observe/ranges.h"

#include <errno.h>
#include <stdlib.h>

#include "conn/conn.h"
#include "packet/tcp.h"

#define MAX_EARLY 64u   /* ranges of one connection */
#define MAX_SENT  1024u /* of them, those that a SACK is looked up in */

int ranges_init(struct ranges *ranges, uint32_t nr)
{
	*ranges = (struct ranges){.nr = nr, .nr_fresh = 1};
	ranges->pool = calloc(nr + 1ull, sizeof(ranges->pool[0]));
	return ranges->pool ? 0 : -ENOMEM;
}

void ranges_fini(struct ranges *ranges)
{
	free(ranges->pool);
}

static struct range *at(const struct ranges *ranges, uint32_t i)
{
	return &ranges->pool[i];
}

/* Return: 0 if there is none. */
static uint32_t get(struct ranges *ranges, struct range value)
{
	uint32_t i = ranges->free;

	if (i)
		ranges->free = at(ranges, i)->next;
	else if (ranges->nr_fresh <= ranges->nr)
		i = ranges->nr_fresh++;
	else
		return 0;
	*at(ranges, i) = value;
	return i;
}

static void put(struct ranges *ranges, uint32_t i)
{
	at(ranges, i)->next = ranges->free;
	ranges->free = i;
}

static void clear(struct ranges *ranges, uint32_t *head)
{
	while (*head) {
		uint32_t i = *head;

		*head = at(ranges, i)->next;
		put(ranges, i);
	}
}

static uint32_t nr_in(const struct range *range)
{
	return (range->end - range->seq + range->size - 1) / range->size;
}

/* Whether segments that follow the range may be a part of it. */
static bool is_even(const struct range *range)
{
	return (range->end - range->seq) % range->size == 0;
}

/*
 * Segments sent.
 */
void sent_push(struct ranges *ranges, struct conn *conn, uint32_t seq,
	       uint32_t end, uint32_t size)
{
	struct range *tail =
		conn->sent_tail ? at(ranges, conn->sent_tail) : NULL;
	uint32_t i;

	if (!size || size > end - seq)
		size = end - seq;
	conn->nr_sent_out += (end - seq + size - 1) / size;
	if (tail && tail->end == seq && !tail->flags && is_even(tail) &&
	    (tail->size == size ||
	     (end - seq <= tail->size && size == end - seq))) {
		tail->end = end;
		return;
	}
	i = get(ranges, (struct range){seq, end, 0, size & 0xffffff, 0});
	if (!i) {
		ranges->nr_joined++;
		if (tail)
			tail->end = end;
		return;
	}
	if (tail)
		tail->next = i;
	else
		conn->sent_head = i;
	conn->sent_tail = i;
}

/* Cut a range in two before @seq, which is inside of it and the start of one of
 * its segments. Return: the number of the second one, 0 if there is no memory. */
static uint32_t split(struct ranges *ranges, struct conn *conn, uint32_t i,
		      uint32_t seq)
{
	struct range *range = at(ranges, i);
	struct range second = *range;
	uint32_t j;

	second.seq = seq;
	if (second.size > second.end - seq)
		second.size = (second.end - seq) & 0xffffff;
	j = get(ranges, second);
	if (!j) {
		ranges->nr_joined++;
		return 0;
	}
	range->end = seq;
	range->next = j;
	if (conn->sent_tail == i)
		conn->sent_tail = j;
	return j;
}

uint32_t sent_ack(struct ranges *ranges, struct conn *conn, uint32_t ack,
		  uint32_t *ret_fresh, bool *ret_retransmitted)
{
	uint32_t nr = 0, fresh = 0;
	bool again = false;

	while (conn->sent_head) {
		uint32_t i = conn->sent_head;
		struct range *range = at(ranges, i);
		uint32_t n;

		if (!sp_seq_after(ack, range->seq))
			break;
		if (sp_seq_before(ack, range->end)) {
			n = (ack - range->seq) / range->size;
			range->seq += n * range->size;
		} else {
			n = nr_in(range);
			conn->sent_head = range->next;
			if (!conn->sent_head)
				conn->sent_tail = 0;
		}
		nr += n;
		if (!(range->flags & RANGE_SACKED))
			fresh += n;
		again |= n && range->flags & RANGE_RETRANSMITTED;
		if (conn->sent_head == i)
			break;
		put(ranges, i);
	}
	conn->nr_sent_out -= nr < conn->nr_sent_out ? nr : conn->nr_sent_out;
	*ret_fresh = fresh;
	*ret_retransmitted = again;
	return nr;
}

/* The start of the first segment of the range that begins at or after @seq. */
static uint32_t segment_from(const struct range *range, uint32_t seq)
{
	uint32_t n;

	if (!sp_seq_after(seq, range->seq))
		return range->seq;
	n = (seq - range->seq + range->size - 1) / range->size;
	return range->seq + n * range->size;
}

/* The end of the last segment of the range that ends at or before @seq; the
 * range's start if none does. */
static uint32_t segment_to(const struct range *range, uint32_t seq)
{
	if (!sp_seq_before(seq, range->end))
		return range->end;
	if (!sp_seq_after(seq, range->seq))
		return range->seq;
	return range->seq + (seq - range->seq) / range->size * range->size;
}

/* Runs of segments that arrived, one behind the other, become one. */
static void join_sacked(struct ranges *ranges, struct conn *conn)
{
	uint32_t i = conn->sent_head;

	while (i) {
		struct range *range = at(ranges, i);
		uint32_t j = range->next;
		struct range *next = j ? at(ranges, j) : NULL;

		if (next && range->flags == next->flags &&
		    range->flags & RANGE_SACKED && range->end == next->seq &&
		    is_even(range) &&
		    (range->size == next->size ||
		     (nr_in(next) == 1 && next->size < range->size))) {
			range->end = next->end;
			range->next = next->next;
			if (conn->sent_tail == j)
				conn->sent_tail = i;
			put(ranges, j);
			continue;
		}
		i = j;
	}
}

uint32_t sent_sack(struct ranges *ranges, struct conn *conn, uint32_t start,
		   uint32_t end)
{
	uint32_t nr = 0, nr_seen = 0;

	for (uint32_t i = conn->sent_head; i; i = at(ranges, i)->next) {
		struct range *range = at(ranges, i);
		uint32_t from, to;

		if (!sp_seq_after(end, range->seq) || nr_seen++ == MAX_SENT)
			break;
		if (range->flags & RANGE_SACKED ||
		    !sp_seq_before(start, range->end))
			continue;
		from = segment_from(range, start);
		to = segment_to(range, end);
		if (!sp_seq_before(from, to))
			continue;
		if (from != range->seq) {
			i = split(ranges, conn, i, from);
			if (!i)
				break;
			range = at(ranges, i);
		}
		if (to != range->end && !split(ranges, conn, i, to))
			break;
		range = at(ranges, i);
		range->flags |= RANGE_SACKED;
		nr += nr_in(range);
	}
	if (nr)
		join_sacked(ranges, conn);
	return nr;
}

/* Make @seq the start of a range, cutting a segment where it must be. */
static void cut_at(struct ranges *ranges, struct conn *conn, uint32_t seq)
{
	for (uint32_t i = conn->sent_head; i; i = at(ranges, i)->next) {
		struct range *range = at(ranges, i);
		uint32_t start;

		if (!sp_seq_after(range->end, seq))
			continue;
		if (!sp_seq_before(range->seq, seq))
			return;
		start = segment_to(range, seq);
		if (start != seq && start != range->seq) {
			i = split(ranges, conn, i, start);
			if (!i)
				return;
			range = at(ranges, i);
		}
		/* The segment [start, ...) is cut in two: the first part is a
		 * run of its own. */
		if (start != seq && nr_in(range) > 1 &&
		    !split(ranges, conn, i, start + range->size))
			return;
		if (!split(ranges, conn, i, seq))
			return;
		if (start != seq) {
			at(ranges, i)->size = (seq - start) & 0xffffff;
			conn->nr_sent_out++;
		}
		return;
	}
}

void sent_again(struct ranges *ranges, struct conn *conn, uint32_t seq,
		uint32_t end, uint32_t size)
{
	uint32_t *link = &conn->sent_head;
	uint32_t before = 0, first;

	if (!size || size > end - seq)
		size = end - seq;
	cut_at(ranges, conn, seq);
	cut_at(ranges, conn, end);
	while (*link && sp_seq_before(at(ranges, *link)->seq, seq)) {
		before = *link;
		link = &at(ranges, *link)->next;
	}
	first = *link;
	if (!first || !sp_seq_before(at(ranges, first)->seq, end))
		return; /* not known to have been sent */
	for (uint32_t i = first; i && sp_seq_before(at(ranges, i)->seq, end);
	     i = at(ranges, i)->next)
		if (at(ranges, i)->flags & RANGE_SACKED ||
		    sp_seq_after(at(ranges, i)->end, end))
			return; /* arrived already, or could not be cut */
	/* All that was there gives way to one run. */
	while (*link && !sp_seq_after(at(ranges, *link)->end, end)) {
		uint32_t i = *link;

		conn->nr_sent_out -= nr_in(at(ranges, i));
		*link = at(ranges, i)->next;
		if (conn->sent_tail == i)
			conn->sent_tail = before;
		put(ranges, i);
	}
	first = get(ranges, (struct range){seq, end, *link, size & 0xffffff,
					   RANGE_RETRANSMITTED});
	if (!first)
		return;
	conn->nr_sent_out += nr_in(at(ranges, first));
	if (!*link)
		conn->sent_tail = first;
	*link = first;
}

void sent_clear(struct ranges *ranges, struct conn *conn)
{
	clear(ranges, &conn->sent_head);
	conn->sent_tail = 0;
	conn->nr_sent_out = 0;
}

/*
 * Early data. Ranges do not touch each other.
 */
bool early_add(struct ranges *ranges, struct conn *conn, uint32_t seq,
	       uint32_t end, bool *ret_all_there)
{
	uint32_t *link = &conn->early_head;
	struct range new = {seq, end, 0, 1, 0};
	bool overlaps = false;
	uint32_t i, nr = 0;

	*ret_all_there = false;
	while (*link && sp_seq_before(at(ranges, *link)->end, seq)) {
		link = &at(ranges, *link)->next;
		nr++;
	}
	while (*link && !sp_seq_after(at(ranges, *link)->seq, end)) {
		struct range *old = at(ranges, *link);

		i = *link;
		overlaps |= sp_seq_before(old->seq, end) &&
			    sp_seq_before(seq, old->end);
		*ret_all_there |= !sp_seq_before(seq, old->seq) &&
				  !sp_seq_after(end, old->end);
		new.seq = sp_seq_min(new.seq, old->seq);
		new.end = sp_seq_max(new.end, old->end);
		*link = old->next;
		put(ranges, i);
	}
	new.next = *link;
	i = nr < MAX_EARLY ? get(ranges, new) : 0;
	if (i)
		*link = i;
	else
		ranges->nr_joined++;
	return overlaps;
}

bool early_take(struct ranges *ranges, struct conn *conn)
{
	uint32_t seen = conn->rcv_nxt;
	bool overlaps = false;

	while (conn->early_head) {
		uint32_t i = conn->early_head;
		struct range *range = at(ranges, i);

		if (sp_seq_after(range->seq, conn->rcv_nxt))
			break;
		overlaps |= sp_seq_before(range->seq, seen);
		conn->rcv_nxt = sp_seq_max(conn->rcv_nxt, range->end);
		conn->early_head = range->next;
		put(ranges, i);
	}
	return overlaps;
}

bool early_edge(const struct ranges *ranges, const struct conn *conn,
		uint32_t *ret_edge)
{
	uint32_t i = conn->early_head;

	if (!i)
		return false;
	while (at(ranges, i)->next)
		i = at(ranges, i)->next;
	*ret_edge = at(ranges, i)->end;
	return true;
}

void early_clear(struct ranges *ranges, struct conn *conn)
{
	clear(ranges, &conn->early_head);
}
