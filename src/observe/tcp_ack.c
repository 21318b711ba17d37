/* SPDX-License-Identifier: MIT */
/*
 * observe/tcp_ack.c - what an acknowledgement tells of the segments sent.
 *
 * Rules: net/ipv4/tcp_input.c (tcp_ack, tcp_ack_update_window,
 * tcp_sacktag_write_queue, tcp_check_dsack, tcp_dsack_seen,
 * tcp_clean_rtx_queue, tcp_add_reno_sack, tcp_remove_reno_sacks).
 */
#include "observe/tcp.h"

#define MIN_RTO_US 200000u
#define MAX_RTO_US 120000000u

/* RFC 6298, with the kernel's least and largest RTO. */
static void measure(struct conn *conn, uint32_t rtt_us)
{
	uint32_t rttvar;

	if (!conn->srtt_us) {
		conn->srtt_us = rtt_us * 8;
		conn->rttvar_us = rtt_us * 2;
	} else {
		int32_t delta = (int32_t)(rtt_us - conn->srtt_us / 8);

		conn->srtt_us += (uint32_t)delta;
		conn->rttvar_us += (uint32_t)(delta < 0 ? -delta : delta) -
				   conn->rttvar_us / 4;
	}
	rttvar = conn->rttvar_us < MIN_RTO_US ? MIN_RTO_US : conn->rttvar_us;
	conn->rto_us = conn->srtt_us / 8 + rttvar;
	if (conn->rto_us > MAX_RTO_US)
		conn->rto_us = MAX_RTO_US;
}

static void measure_ack(const struct sp_observer *o, struct conn *conn)
{
	uint32_t rtt_us = (uint32_t)(o->now_ns / 1000) - conn->rtt_start_us;

	if (!(conn->flags & CONN_RTT_RUNNING) ||
	    sp_seq_before(conn->snd_una, conn->rtt_seq))
		return;
	conn->flags &= ~(uint32_t)CONN_RTT_RUNNING;
	if (rtt_us < MAX_RTO_US)
		measure(conn, rtt_us);
}

static uint32_t window_of(const struct conn *conn,
			  const struct sp_tcp_segment *segment)
{
	return segment->flags & SP_TCP_SYN
		       ? segment->window
		       : (uint32_t)segment->window << conn->snd_wscale;
}

static bool may_update_window(const struct conn *conn,
			      const struct sp_tcp_segment *segment,
			      uint32_t window)
{
	return sp_seq_after(segment->ack, conn->snd_una) ||
	       sp_seq_after(segment->seq, conn->snd_wl1) ||
	       (segment->seq == conn->snd_wl1 &&
		(window > conn->snd_wnd || !window));
}

/* Return: whether it brought news of the window. */
static bool update_window(struct conn *conn,
			  const struct sp_tcp_segment *segment)
{
	uint32_t window = window_of(conn, segment);

	if (!may_update_window(conn, segment, window))
		return false;
	conn->snd_wl1 = segment->seq;
	conn->snd_wnd = window;
	if (window > conn->max_window)
		conn->max_window = window;
	return true;
}

/* Segments that a DSACK reports as received twice. Return: 0 for one that is not
 * believed. */
static uint32_t dsack_seen(struct conn *conn, uint32_t start, uint32_t end)
{
	uint32_t mss = tcp_mss(conn), nr = 1;

	if (!sp_seq_before(start, end) || end - start > conn->max_window)
		return 0;
	if (mss && end - start > mss)
		nr = (end - start + mss - 1) / mss;
	conn->nr_dsacked += nr;
	return conn->nr_dsacked > conn->nr_retransmitted ? 0 : nr;
}

/* RFC 2883. Return: whether the first block is a DSACK; its segments in
 * @ret_nr. */
static bool check_dsack(struct sp_observer *o, struct conn *conn,
			const struct sp_tcp_segment *segment, uint32_t *ret_nr)
{
	const struct sp_tcp_sack *sacks = segment->options.sacks;

	if (sp_seq_before(sacks[0].start, segment->ack)) {
		NET_INC(o, tcpext, TCPDSACKRecv);
	} else if (segment->options.nr_sacks > 1 &&
		   !sp_seq_after(sacks[0].end, sacks[1].end) &&
		   !sp_seq_before(sacks[0].start, sacks[1].start)) {
		NET_INC(o, tcpext, TCPDSACKOfoRecv);
	} else {
		return false;
	}
	*ret_nr = dsack_seen(conn, sacks[0].start, sacks[0].end);
	if (*ret_nr)
		NET_ADD(o, tcpext, TCPDSACKRecvSegs, *ret_nr);
	else
		NET_INC(o, tcpext, TCPDSACKIgnoredDubious);
	return true;
}

static bool is_block_valid(const struct conn *conn,
			   const struct sp_tcp_sack *sack)
{
	return sp_seq_before(sack->start, sack->end) &&
	       !sp_seq_after(sack->end, conn->snd_nxt) &&
	       sp_seq_after(sack->start, conn->snd_una);
}

/* Return: segments that are known to have arrived by it. @ret_dsacked: those of
 * a DSACK. */
static uint32_t tag_sacked(struct sp_observer *o, struct conn *conn,
			   const struct sp_tcp_segment *segment,
			   uint32_t prior_una, uint32_t *ret_dsacked)
{
	const struct sp_tcp_options *options = &segment->options;
	bool is_dsack = check_dsack(o, conn, segment, ret_dsacked);
	uint32_t nr = 0;

	if (sp_seq_before(segment->ack, prior_una - conn->max_window) ||
	    !conn->nr_sent_out)
		return 0;
	for (unsigned i = 0; i < options->nr_sacks; i++) {
		if (is_block_valid(conn, &options->sacks[i]))
			nr += sent_sack(&o->tcp->ranges, conn,
					options->sacks[i].start,
					options->sacks[i].end);
		else if (i || !is_dsack)
			NET_INC(o, tcpext, TCPSACKDiscard);
	}
	return nr;
}

/* Without SACK: @acked segments leave, of which duplicate ACKs have told some. */
static uint32_t remove_dupacks(struct conn *conn, uint32_t acked)
{
	uint32_t delivered = 1;

	if (!acked)
		return 0;
	if (acked > conn->nr_dupacks + 1)
		delivered = acked - conn->nr_dupacks;
	conn->nr_dupacks = 0;
	return delivered;
}

/* Without SACK: a segment behind a lost one has arrived. Return: 1, or 0 if all
 * that could have are told already. */
static uint32_t add_dupack(struct conn *conn)
{
	if (conn->nr_dupacks + 1 >= conn->nr_sent_out)
		return 0;
	conn->nr_dupacks++;
	return 1;
}

/* Return: segments that have newly arrived. */
static uint32_t clean_sent(struct sp_observer *o, struct conn *conn)
{
	uint32_t fresh, nr;
	bool again;

	nr = sent_ack(&o->tcp->ranges, conn, conn->snd_una, &fresh, &again);
	if (again)
		conn->flags &= ~(uint32_t)CONN_RTT_RUNNING;
	return conn->flags & CONN_SACK ? fresh : remove_dupacks(conn, nr);
}

static void update_ts_recent(struct conn *conn,
			     const struct sp_tcp_segment *segment)
{
	if (!tcp_has(conn, CONN_TIMESTAMPS) ||
	    !segment->options.has_timestamps ||
	    sp_seq_after(segment->seq, conn->rcv_wup) ||
	    ((conn->flags & CONN_HAS_TS_RECENT) &&
	     tcp_is_old_stamp(conn, segment->options.tsval, 0)))
		return;
	conn->ts_recent = segment->options.tsval;
	conn->flags |= CONN_HAS_TS_RECENT;
}

/* An ACK older than the last one: only its SACK blocks are news. */
static enum tcp_ack_verdict old_ack(struct sp_observer *o, struct conn *conn,
				    const struct sp_tcp_segment *segment)
{
	uint32_t dsacked;

	if (sp_seq_before(segment->ack, conn->snd_una - conn->max_window))
		return TCP_ACK_TOO_OLD;
	if (segment->options.nr_sacks && conn->flags & CONN_SACK)
		NET_ADD(o, tcpext, TCPDelivered,
			tag_sacked(o, conn, segment, conn->snd_una, &dsacked));
	return TCP_ACK_OLD;
}

/* A duplicate ACK in the sense of RFC 5681: nothing in it but the ACK. */
static bool is_dupack(const struct sp_tcp_segment *segment, uint32_t prior_una,
		      bool window_news, uint32_t dsacked)
{
	return segment->ack == prior_una && !window_news &&
	       segment->seq == segment->end_seq && !dsacked;
}

enum tcp_ack_verdict tcp_acknowledge(struct sp_observer *o, struct conn *conn,
				     const struct sp_tcp_segment *segment,
				     bool update_ts)
{
	uint32_t prior_una = conn->snd_una, delivered = 0, dsacked = 0;
	bool had_any = conn->nr_sent_out, window_news;

	if (sp_seq_before(segment->ack, prior_una))
		return old_ack(o, conn, segment);
	if (sp_seq_after(segment->ack, conn->snd_nxt))
		return TCP_ACK_TOO_NEW;
	if (update_ts)
		update_ts_recent(conn, segment);
	window_news = update_window(conn, segment);
	conn->snd_una = segment->ack;
	if (segment->options.nr_sacks && conn->flags & CONN_SACK)
		delivered += tag_sacked(o, conn, segment, prior_una, &dsacked);
	if (segment->ack != prior_una) {
		conn->retransmits = conn->probes = 0;
		delivered += clean_sent(o, conn);
		measure_ack(o, conn);
	} else if (had_any && !(conn->flags & CONN_SACK) &&
		   is_dupack(segment, prior_una, window_news, dsacked)) {
		delivered += add_dupack(conn);
	}
	if (delivered + dsacked)
		NET_ADD(o, tcpext, TCPDelivered, delivered + dsacked);
	return TCP_ACK_GOOD;
}
