/* SPDX-License-Identifier: MIT */
/*
 * observe/tcp_output.c - what a segment tells that the host has sent.
 *
 * Rules: net/ipv4/tcp_output.c (__tcp_transmit_skb, __tcp_retransmit_skb,
 * tcp_select_window, tcp_write_wakeup, tcp_rtx_synack, tcp_send_active_reset),
 * net/ipv4/tcp_ipv4.c (tcp_v4_send_reset).
 */
#include "observe/tcp.h"

#include <stddef.h>

static bool has_flag(const struct sp_tcp_segment *segment, uint8_t flag)
{
	return segment->flags & flag;
}

/* What the SYN of the host offers. */
static void note_own_syn(struct conn *conn,
			 const struct sp_tcp_segment *segment)
{
	const struct sp_tcp_options *options = &segment->options;

	if (options->sack_permitted)
		conn->flags |= CONN_OWN_SACK;
	if (options->has_timestamps)
		conn->flags |= CONN_OWN_TIMESTAMPS;
	if (options->has_wscale)
		conn->flags |= CONN_OWN_WSCALE;
	conn->rcv_wscale = options->wscale;
	conn->own_mss = options->has_mss ? options->mss : 536;
	conn->rcv_wnd = segment->window;
	conn->snd_una = segment->seq;
	conn->snd_nxt = segment->seq + 1;
	conn->rto_us = 1000000;
}

static void start_rtt(const struct sp_observer *o, struct conn *conn,
		      uint32_t end_seq)
{
	if (conn->flags & CONN_RTT_RUNNING)
		return;
	conn->flags |= CONN_RTT_RUNNING;
	conn->rtt_seq = end_seq;
	conn->rtt_start_us = (uint32_t)(o->now_ns / 1000);
}

static void count_sent(const struct sp_observer *o, struct conn *conn,
		       const struct sp_tcp_segment *segment)
{
	conn->packets_out++;
	conn->bytes_out += segment->len;
	conn->last_ns = o->now_ns;
}

static void send_syn_again(struct sp_observer *o, struct conn *conn)
{
	NET_INC(o, tcp, RetransSegs);
	NET_INC(o, tcpext, TCPSynRetrans);
	conn->nr_retransmitted++;
	conn->retransmits++;
	conn->flags &= ~(uint32_t)CONN_RTT_RUNNING;
}

static void open_actively(struct sp_observer *o, const struct sp_conn_key *key,
			  uint64_t hash, const struct sp_tcp_segment *segment)
{
	struct conn *conn = tcp_add(o, key, hash, CONN_EMBRYONIC, 0);

	NET_INC(o, tcp, ActiveOpens);
	NET_INC(o, tcp, OutSegs);
	if (!conn)
		return;
	note_own_syn(conn, segment);
	count_sent(o, conn, segment);
	tcp_set_state(o, conn, SP_TCP_SYN_SENT);
	sent_push(&o->tcp->ranges, conn, segment->seq, segment->seq + 1, 1);
	start_rtt(o, conn, conn->snd_nxt);
	tcp_arm(o, conn, SYN_SENT_NS);
}

static void send_syn(struct sp_observer *o, struct conn *conn,
		     const struct sp_conn_key *key, uint64_t hash,
		     const struct sp_tcp_segment *segment)
{
	if (conn && conn->state == SP_TCP_SYN_SENT &&
	    conn->snd_una == segment->seq) {
		count_sent(o, conn, segment);
		send_syn_again(o, conn);
		return;
	}
	if (conn) /* the one that was there has ended unseen */
		tcp_forget(o, conn);
	open_actively(o, key, hash, segment);
}

/* The SYN-ACK of crossed SYNs is the SYN sent again, with an ACK. */
static void send_crossed_synack(struct sp_observer *o, struct conn *conn)
{
	if (conn->flags & CONN_SYNACK_SENT)
		send_syn_again(o, conn);
	conn->flags |= CONN_CROSSED | CONN_SYNACK_SENT;
}

static void answer_syn(struct sp_observer *o, struct conn *conn,
		       const struct sp_tcp_segment *segment)
{
	NET_INC(o, tcp, OutSegs);
	note_own_syn(conn, segment);
	conn->snd_una = conn->snd_nxt; /* a SYN-ACK is not on any queue */
	conn->rcv_nxt = conn->rcv_wup = segment->ack;
	conn->flags &= ~(uint32_t)CONN_HIDDEN;
	conn->flags |= CONN_MINI | CONN_SYNACK_SENT;
	tcp_negotiate(conn);
	count_sent(o, conn, segment);
	tcp_set_state(o, conn, SP_TCP_SYN_RECV);
	start_rtt(o, conn, conn->snd_nxt);
	tcp_arm(o, conn, SYN_RECV_NS);
}

/* The SYN that it answers was not seen. */
static struct conn *open_passively(struct sp_observer *o,
				   const struct sp_conn_key *key, uint64_t hash)
{
	struct conn *conn = tcp_add(o, key, hash, CONN_EMBRYONIC,
				    CONN_PEER_SACK | CONN_PEER_TIMESTAMPS |
					    CONN_PEER_WSCALE);

	if (!conn)
		return NULL;
	conn->snd_wscale = SP_TCP_MAX_WSCALE;
	conn->max_window = 65535u << SP_TCP_MAX_WSCALE;
	return conn;
}

static void send_synack(struct sp_observer *o, struct conn *conn,
			const struct sp_conn_key *key, uint64_t hash,
			const struct sp_tcp_segment *segment)
{
	if (conn && conn->flags & CONN_CROSSED &&
	    conn->state == SP_TCP_SYN_RECV) {
		count_sent(o, conn, segment);
		send_crossed_synack(o, conn);
		return;
	}
	if (conn && conn->state == SP_TCP_SYN_RECV &&
	    conn->snd_nxt == segment->seq + 1) {
		NET_INC(o, tcp, OutSegs);
		count_sent(o, conn, segment);
		send_syn_again(o, conn);
		return;
	}
	if (conn && conn->state != SP_TCP_NEW_SYN_RECV) {
		tcp_forget(o, conn);
		conn = NULL;
	}
	if (!conn)
		conn = open_passively(o, key, hash);
	if (conn)
		answer_syn(o, conn, segment);
	else
		NET_INC(o, tcp, OutSegs);
}

/* Without ACK it answers one segment that came, and ends the connection only if
 * no program owns it any more. */
static void send_reset(struct sp_observer *o, struct conn *conn,
		       const struct sp_tcp_segment *segment)
{
	NET_INC(o, tcp, OutSegs);
	if (!conn)
		return;
	count_sent(o, conn, segment);
	switch (conn->state) {
	case SP_TCP_FIN_WAIT1:
	case SP_TCP_FIN_WAIT2:
	case SP_TCP_CLOSING:
	case SP_TCP_LAST_ACK:
		tcp_done(o, conn);
		break;
	case SP_TCP_NEW_SYN_RECV:
		tcp_forget(o, conn);
		break;
	case SP_TCP_SYN_RECV:
		if (has_flag(segment, SP_TCP_ACK)) {
			if (conn->flags & CONN_MINI)
				tcp_forget(o, conn);
			else
				tcp_done(o, conn);
		}
		break;
	case SP_TCP_TIME_WAIT:
		break;
	default:
		if (has_flag(segment, SP_TCP_ACK))
			tcp_done(o, conn);
		break;
	}
}

/* tcp_select_window() */
static void note_window(struct sp_observer *o, struct conn *conn,
			const struct sp_tcp_segment *segment)
{
	bool closed = !segment->window;

	if (closed && !(conn->flags & CONN_WINDOW_CLOSED))
		NET_INC(o, tcpext, TCPToZeroWindowAdv);
	if (!closed && conn->flags & CONN_WINDOW_CLOSED)
		NET_INC(o, tcpext, TCPFromZeroWindowAdv);
	conn->flags &= ~(uint32_t)CONN_WINDOW_CLOSED;
	if (closed)
		conn->flags |= CONN_WINDOW_CLOSED;
	conn->rcv_wnd = (uint32_t)segment->window << conn->rcv_wscale;
}

/* What the host says that it has received, it has. */
static void note_ack(struct sp_observer *o, struct conn *conn,
		     const struct sp_tcp_segment *segment)
{
	if (!has_flag(segment, SP_TCP_ACK))
		return;
	conn->rcv_wup = segment->ack;
	conn->flags &= ~(uint32_t)CONN_DSACK_PENDING;
	if (sp_seq_after(segment->ack, conn->rcv_nxt)) {
		conn->rcv_nxt = segment->ack;
		early_take(&o->tcp->ranges, conn);
	}
}

/* Segments that a frame stands for: more than one if the device cuts it. */
static uint32_t nr_segments(const struct conn *conn,
			    const struct sp_tcp_segment *segment)
{
	uint32_t mss = tcp_mss(conn);

	return mss && segment->len > mss ? (segment->len + mss - 1) / mss : 1;
}

static void send_fin(struct sp_observer *o, struct conn *conn)
{
	conn->flags |= CONN_FIN_SENT;
	if (conn->state == SP_TCP_CLOSE_WAIT)
		tcp_set_state(o, conn, SP_TCP_LAST_ACK);
	else if (conn->state == SP_TCP_ESTABLISHED ||
		 conn->state == SP_TCP_SYN_RECV)
		tcp_set_state(o, conn, SP_TCP_FIN_WAIT1);
}

/* Data or FIN. */
static void send_data(struct sp_observer *o, struct conn *conn,
		      const struct sp_tcp_segment *segment)
{
	uint32_t nr = nr_segments(conn, segment);
	uint32_t size = nr > 1 ? tcp_mss(conn) : 0;

	if (!sp_seq_after(segment->end_seq, conn->snd_nxt)) {
		NET_ADD(o, tcp, RetransSegs, nr);
		conn->nr_retransmitted += nr;
		conn->retransmits++;
		conn->flags &= ~(uint32_t)CONN_RTT_RUNNING;
		sent_again(&o->tcp->ranges, conn, segment->seq,
			   segment->end_seq, size);
		return;
	}
	NET_ADD(o, tcp, OutSegs, nr);
	NET_ADD(o, tcpext, TCPOrigDataSent, nr);
	sent_push(&o->tcp->ranges, conn,
		  sp_seq_max(segment->seq, conn->snd_nxt), segment->end_seq,
		  size);
	conn->snd_nxt = segment->end_seq;
	start_rtt(o, conn, segment->end_seq);
	if (has_flag(segment, SP_TCP_FIN))
		send_fin(o, conn);
}

static void send_empty(struct sp_observer *o, struct conn *conn,
		       const struct sp_tcp_segment *segment)
{
	NET_INC(o, tcp, OutSegs);
	if (segment->seq != conn->snd_una - 1 ||
	    conn->state == SP_TCP_TIME_WAIT)
		return;
	conn->probes++;
	if (conn->snd_wnd)
		NET_INC(o, tcpext, TCPKeepAlive);
	else
		NET_INC(o, tcpext, TCPWinProbe);
}

/* The capture begins in the middle of it. */
static struct conn *open_midstream(struct sp_observer *o,
				   const struct sp_conn_key *key, uint64_t hash,
				   const struct sp_tcp_segment *segment)
{
	struct conn *conn =
		tcp_add(o, key, hash, CONN_FULL, CONN_MIDSTREAM | CONN_SACK);

	if (!conn)
		return NULL;
	if (segment->options.has_timestamps)
		conn->flags |= CONN_TIMESTAMPS;
	conn->snd_wscale = conn->rcv_wscale = SP_TCP_MAX_WSCALE;
	conn->snd_una = conn->snd_nxt = segment->seq;
	conn->snd_wnd = conn->max_window = 65535u << SP_TCP_MAX_WSCALE;
	conn->rcv_nxt = conn->rcv_wup = segment->ack;
	conn->snd_wl1 = segment->ack;
	conn->rto_us = 1000000;
	tcp_set_state(o, conn, SP_TCP_ESTABLISHED);
	return conn;
}

static void send_plain(struct sp_observer *o, struct conn *conn,
		       const struct sp_conn_key *key, uint64_t hash,
		       const struct sp_tcp_segment *segment)
{
	if (!conn && has_flag(segment, SP_TCP_ACK))
		conn = open_midstream(o, key, hash, segment);
	if (!conn) {
		NET_INC(o, tcp, OutSegs);
		if (segment->seq != segment->end_seq)
			NET_INC(o, tcpext, TCPOrigDataSent);
		return;
	}
	count_sent(o, conn, segment);
	note_ack(o, conn, segment);
	if (conn->state != SP_TCP_TIME_WAIT)
		note_window(o, conn, segment);
	if (segment->seq == segment->end_seq)
		send_empty(o, conn, segment);
	else
		send_data(o, conn, segment);
}

void tcp_send(struct sp_observer *o, struct conn *conn,
	      const struct sp_conn_key *key, uint64_t hash,
	      const struct sp_tcp_segment *segment)
{
	if (conn)
		conn_change(o->tcp->conns, conn);
	if (has_flag(segment, SP_TCP_RST)) {
		if (conn && has_flag(segment, SP_TCP_ACK) &&
		    conn->class == CONN_FULL)
			note_window(o, conn, segment);
		send_reset(o, conn, segment);
	} else if (!has_flag(segment, SP_TCP_SYN)) {
		send_plain(o, conn, key, hash, segment);
	} else if (has_flag(segment, SP_TCP_ACK)) {
		send_synack(o, conn, key, hash, segment);
	} else {
		send_syn(o, conn, key, hash, segment);
	}
}
