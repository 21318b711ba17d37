/* SPDX-License-Identifier: MIT */
/*
 * observe/tcp_input.c - what a socket does with a segment that came in.
 *
 * Rules: net/ipv4/tcp_input.c (tcp_rcv_established, tcp_rcv_state_process,
 * tcp_rcv_synsent_state_process, tcp_validate_incoming, tcp_data_queue,
 * tcp_data_queue_ofo, tcp_fin), net/ipv4/tcp_minisocks.c (tcp_check_req,
 * tcp_timewait_state_process).
 */
#include "observe/tcp.h"

#include <stddef.h>

#define PAWS_WINDOW    1
#define PAWS_EXPIRE_NS (24ull * 24 * 3600 * SECOND_NS)

static bool has_flag(const struct sp_tcp_segment *segment, uint8_t flag)
{
	return segment->flags & flag;
}

static bool is_empty(const struct sp_tcp_segment *segment)
{
	return segment->seq == segment->end_seq;
}

/* Where the sequence numbers of the segment are in the window. */
static bool is_in_window(const struct sp_tcp_segment *segment, uint32_t start,
			 uint32_t end)
{
	if (segment->seq == start)
		return true;
	if (sp_seq_after(segment->end_seq, start) &&
	    sp_seq_before(segment->seq, end))
		return true;
	return segment->seq == end && is_empty(segment);
}

/*
 * DSACKs that the host sends.
 */
static void set_dsack(struct sp_observer *o, struct conn *conn, uint32_t seq)
{
	if (!(conn->flags & CONN_SACK))
		return;
	if (sp_seq_before(seq, conn->rcv_nxt))
		NET_INC(o, tcpext, TCPDSACKOldSent);
	else
		NET_INC(o, tcpext, TCPDSACKOfoSent);
	conn->flags |= CONN_DSACK_PENDING;
}

static void extend_dsack(struct sp_observer *o, struct conn *conn, uint32_t seq)
{
	if (!(conn->flags & CONN_DSACK_PENDING))
		set_dsack(o, conn, seq);
}

/* The segment is not processed, but the old data in it is answered. */
static void answer_old_data(struct sp_observer *o, struct conn *conn,
			    const struct sp_tcp_segment *segment)
{
	if (is_empty(segment) || !sp_seq_before(segment->seq, conn->rcv_nxt))
		return;
	NET_INC(o, tcpext, DelayedACKLost);
	set_dsack(o, conn, segment->seq);
}

/*
 * Is it a segment to look at?
 */
enum paws {
	PAWS_GOOD,
	PAWS_BAD,
	PAWS_OLD_ACK, /* dropped in silence */
};

static bool is_stamped(const struct conn *conn,
		       const struct sp_tcp_segment *segment)
{
	return tcp_has(conn, CONN_TIMESTAMPS | CONN_HAS_TS_RECENT) &&
	       segment->options.has_timestamps;
}

static bool is_stamp_old(const struct sp_observer *o, const struct conn *conn,
			 const struct sp_tcp_segment *segment)
{
	return is_stamped(conn, segment) && conn->ts_recent &&
	       tcp_is_old_stamp(conn, segment->options.tsval, PAWS_WINDOW) &&
	       o->now_ns - conn->last_ns < PAWS_EXPIRE_NS;
}

static bool brings_window(const struct conn *conn,
			  const struct sp_tcp_segment *segment)
{
	uint32_t window = (uint32_t)segment->window << conn->snd_wscale;

	return sp_seq_after(segment->ack, conn->snd_una) ||
	       sp_seq_after(segment->seq, conn->snd_wl1) ||
	       (segment->seq == conn->snd_wl1 &&
		(window > conn->snd_wnd || !window));
}

/* RFC 7323 5. A pure duplicate ACK may have been overtaken: it passes if it is
 * not older than 1.2 RTO (tcp_disordered_ack_check). */
static enum paws check_paws(const struct sp_observer *o,
			    const struct conn *conn,
			    const struct sp_tcp_segment *segment)
{
	int32_t replay = (int32_t)(conn->rto_us / 1000 * 12 / 10);

	if (!is_stamp_old(o, conn, segment))
		return PAWS_GOOD;
	if (!has_flag(segment, SP_TCP_ACK) || !is_empty(segment))
		return PAWS_BAD;
	if (segment->seq != conn->rcv_nxt)
		return sp_seq_before(segment->seq, conn->rcv_nxt) ? PAWS_OLD_ACK
								  : PAWS_BAD;
	if (segment->ack != conn->snd_una || brings_window(conn, segment) ||
	    tcp_is_old_stamp(conn, segment->options.tsval, replay))
		return PAWS_BAD;
	return PAWS_GOOD;
}

/* tcp_sequence() */
static bool is_sequence_good(const struct conn *conn,
			     const struct sp_tcp_segment *segment)
{
	return !sp_seq_before(segment->end_seq, conn->rcv_wup) &&
	       !sp_seq_after(segment->seq,
			     conn->rcv_nxt + tcp_receive_window(conn));
}

/* The peer may not know yet that its FIN has come (tcp_reset_check). */
static bool is_reset_by_closed(const struct conn *conn,
			       const struct sp_tcp_segment *segment)
{
	return segment->seq == conn->rcv_nxt - 1 &&
	       (conn->state == SP_TCP_CLOSE_WAIT ||
		conn->state == SP_TCP_LAST_ACK ||
		conn->state == SP_TCP_CLOSING);
}

/* RFC 5961 3.2, and the right edge of what SACK reports. */
static bool is_reset_good(const struct sp_observer *o, const struct conn *conn,
			  const struct sp_tcp_segment *segment)
{
	uint32_t edge;

	if (segment->seq == conn->rcv_nxt || is_reset_by_closed(conn, segment))
		return true;
	return conn->flags & CONN_SACK &&
	       early_edge(&o->tcp->ranges, conn, &edge) && segment->seq == edge;
}

static void challenge_syn(struct sp_observer *o, const struct conn *conn)
{
	if (conn->state == SP_TCP_ESTABLISHED)
		NET_INC(o, tcp, InErrs);
	NET_INC(o, tcpext, TCPSYNChallenge);
}

static void reject_paws(struct sp_observer *o, struct conn *conn,
			const struct sp_tcp_segment *segment, enum paws paws)
{
	if (has_flag(segment, SP_TCP_SYN)) {
		challenge_syn(o, conn);
	} else if (paws == PAWS_OLD_ACK) {
		NET_INC(o, tcpext, PAWSOldAck);
	} else {
		NET_INC(o, tcpext, PAWSEstab);
		answer_old_data(o, conn, segment);
	}
}

/* Return: whether it was a RST that ended the connection; @conn is gone then. */
static bool reject_sequence(struct sp_observer *o, struct conn *conn,
			    const struct sp_tcp_segment *segment)
{
	if (has_flag(segment, SP_TCP_RST)) {
		if (!is_reset_by_closed(conn, segment))
			return false;
		tcp_done(o, conn);
		return true;
	}
	if (has_flag(segment, SP_TCP_SYN)) {
		challenge_syn(o, conn);
		return false;
	}
	if (!sp_seq_before(segment->end_seq, conn->rcv_wup))
		NET_INC(o, tcpext, BeyondWindow);
	answer_old_data(o, conn, segment);
	return false;
}

enum verdict {
	GO_ON,
	DISCARD,
	GONE, /* and the connection with it */
};

/* The SYN-ACK of somebody who sent his SYN at the same time. */
static bool is_crossed_synack(const struct conn *conn,
			      const struct sp_tcp_segment *segment)
{
	return conn->state == SP_TCP_SYN_RECV && conn->flags & CONN_CROSSED &&
	       has_flag(segment, SP_TCP_ACK) &&
	       segment->seq + 1 == segment->end_seq &&
	       segment->seq + 1 == conn->rcv_nxt &&
	       segment->ack == conn->snd_nxt;
}

/* tcp_validate_incoming() */
static enum verdict validate(struct sp_observer *o, struct conn *conn,
			     const struct sp_tcp_segment *segment)
{
	enum paws paws = check_paws(o, conn, segment);

	if (paws != PAWS_GOOD && !has_flag(segment, SP_TCP_RST)) {
		reject_paws(o, conn, segment, paws);
		return DISCARD;
	}
	if (!is_sequence_good(conn, segment))
		return reject_sequence(o, conn, segment) ? GONE : DISCARD;
	if (has_flag(segment, SP_TCP_RST)) {
		if (!is_reset_good(o, conn, segment))
			return DISCARD;
		tcp_done(o, conn);
		return GONE;
	}
	if (has_flag(segment, SP_TCP_SYN) &&
	    !is_crossed_synack(conn, segment)) {
		challenge_syn(o, conn);
		return DISCARD;
	}
	return GO_ON;
}

/*
 * Data.
 */

/* The peer's FIN is next. Return: false if the connection waits now. */
static void take_fin(struct sp_observer *o, struct conn *conn)
{
	early_clear(&o->tcp->ranges, conn);
	switch (conn->state) {
	case SP_TCP_SYN_RECV:
	case SP_TCP_ESTABLISHED:
		tcp_set_state(o, conn, SP_TCP_CLOSE_WAIT);
		break;
	case SP_TCP_FIN_WAIT1:
		tcp_set_state(o, conn, SP_TCP_CLOSING);
		break;
	case SP_TCP_FIN_WAIT2:
		tcp_time_wait(o, conn);
		break;
	}
}

static void take_early(struct sp_observer *o, struct conn *conn)
{
	uint32_t seen = conn->rcv_nxt;

	if (!conn->early_head)
		return;
	/* What the segment brought, and was there already. */
	if (early_take(&o->tcp->ranges, conn))
		extend_dsack(o, conn, seen - 1);
}

static void queue_next(struct sp_observer *o, struct conn *conn,
		       const struct sp_tcp_segment *segment)
{
	conn->rcv_nxt = segment->end_seq;
	if (has_flag(segment, SP_TCP_FIN)) {
		take_fin(o, conn);
		return;
	}
	take_early(o, conn);
	if (conn->flags & CONN_EARLY_FIN &&
	    !sp_seq_before(conn->rcv_nxt, conn->early_fin))
		take_fin(o, conn);
}

static void queue_early(struct sp_observer *o, struct conn *conn,
			const struct sp_tcp_segment *segment)
{
	bool all_there;

	NET_INC(o, tcpext, TCPOFOQueue);
	if (has_flag(segment, SP_TCP_FIN)) {
		conn->flags |= CONN_EARLY_FIN;
		conn->early_fin = segment->end_seq;
	}
	if (early_add(&o->tcp->ranges, conn, segment->seq, segment->end_seq,
		      &all_there))
		set_dsack(o, conn, segment->seq);
	if (all_there)
		NET_INC(o, tcpext, TCPOFOMerge);
}

/* tcp_data_queue() */
static void queue_data(struct sp_observer *o, struct conn *conn,
		       const struct sp_tcp_segment *segment)
{
	uint32_t window = tcp_receive_window(conn);

	if (is_empty(segment))
		return;
	if (segment->seq == conn->rcv_nxt) {
		if (window || (!segment->len && has_flag(segment, SP_TCP_FIN)))
			queue_next(o, conn, segment);
		else
			NET_INC(o, tcpext, TCPZeroWindowDrop);
		return;
	}
	if (!sp_seq_after(segment->end_seq, conn->rcv_nxt)) {
		NET_INC(o, tcpext, DelayedACKLost);
		set_dsack(o, conn, segment->seq);
		return;
	}
	if (!sp_seq_before(segment->seq, conn->rcv_nxt + window))
		return;
	if (sp_seq_before(segment->seq, conn->rcv_nxt)) {
		set_dsack(o, conn, segment->seq);
		if (window)
			queue_next(o, conn, segment);
		else
			NET_INC(o, tcpext, TCPZeroWindowDrop);
		return;
	}
	queue_early(o, conn, segment);
}

/*
 * States.
 */

/* The host's FIN has arrived, if all that was sent has. Return: whether the
 * connection goes on. */
static enum verdict close_acked(struct sp_observer *o, struct conn *conn)
{
	if (conn->snd_una != conn->snd_nxt || !(conn->flags & CONN_FIN_SENT))
		return GO_ON;
	switch (conn->state) {
	case SP_TCP_FIN_WAIT1:
		tcp_set_state(o, conn, SP_TCP_FIN_WAIT2);
		return GO_ON;
	case SP_TCP_CLOSING:
		tcp_time_wait(o, conn);
		return DISCARD;
	case SP_TCP_LAST_ACK:
		tcp_done(o, conn);
		return GONE;
	default:
		return GO_ON;
	}
}

/* After the peer's FIN nothing new can come. */
static bool takes_data(const struct conn *conn,
		       const struct sp_tcp_segment *segment)
{
	switch (conn->state) {
	case SP_TCP_CLOSE_WAIT:
	case SP_TCP_CLOSING:
	case SP_TCP_LAST_ACK:
		return sp_seq_before(segment->seq, conn->rcv_nxt);
	default:
		return true;
	}
}

/* A socket in any state from ESTABLISHED on. */
static void receive_full(struct sp_observer *o, struct conn *conn,
			 const struct sp_tcp_segment *segment)
{
	enum tcp_ack_verdict ack;

	if (validate(o, conn, segment) != GO_ON ||
	    !has_flag(segment, SP_TCP_ACK))
		return;
	ack = tcp_acknowledge(o, conn, segment, true);
	if (ack == TCP_ACK_TOO_OLD || ack == TCP_ACK_TOO_NEW) {
		NET_INC(o, tcpext, TCPChallengeACK);
		return;
	}
	if (close_acked(o, conn) == GO_ON && takes_data(conn, segment))
		queue_data(o, conn, segment);
}

/* The handshake is done. */
static void establish(struct sp_observer *o, struct conn *conn,
		      const struct sp_tcp_segment *segment)
{
	conn->flags &= ~(uint32_t)CONN_MINI;
	conn->snd_una = segment->ack;
	conn->snd_wl1 = segment->seq;
	conn->snd_wnd = (uint32_t)segment->window << conn->snd_wscale;
	if (conn->snd_wnd > conn->max_window)
		conn->max_window = conn->snd_wnd;
	tcp_set_state(o, conn, SP_TCP_ESTABLISHED);
}

/* Crossed SYNs: a socket in SYN_RECV. */
static void receive_crossed(struct sp_observer *o, struct conn *conn,
			    const struct sp_tcp_segment *segment)
{
	enum tcp_ack_verdict ack;

	if (validate(o, conn, segment) != GO_ON ||
	    !has_flag(segment, SP_TCP_ACK))
		return;
	ack = tcp_acknowledge(o, conn, segment, true);
	if (ack != TCP_ACK_GOOD)
		return; /* a RST goes out */
	establish(o, conn, segment);
	queue_data(o, conn, segment);
}

/* What the SYN of the peer offers. */
static void note_syn(struct conn *conn, const struct sp_tcp_segment *segment)
{
	const struct sp_tcp_options *options = &segment->options;

	conn->flags &= ~(uint32_t)(CONN_PEER_SACK | CONN_PEER_TIMESTAMPS |
				   CONN_PEER_WSCALE | CONN_HAS_TS_RECENT);
	if (options->sack_permitted)
		conn->flags |= CONN_PEER_SACK;
	if (options->has_timestamps) {
		conn->flags |= CONN_PEER_TIMESTAMPS | CONN_HAS_TS_RECENT;
		conn->ts_recent = options->tsval;
	}
	if (options->has_wscale)
		conn->flags |= CONN_PEER_WSCALE;
	conn->snd_wscale = options->wscale;
	conn->peer_mss = options->has_mss ? options->mss : 536;
	conn->rcv_nxt = segment->seq + 1;
	conn->rcv_wup = conn->rcv_nxt;
	conn->snd_wnd = conn->max_window = segment->window;
	conn->snd_wl1 = segment->seq;
}

static void receive_syn_sent(struct sp_observer *o, struct conn *conn,
			     const struct sp_tcp_segment *segment)
{
	bool ack = has_flag(segment, SP_TCP_ACK);

	if (ack && (!sp_seq_after(segment->ack, conn->snd_una) ||
		    sp_seq_after(segment->ack, conn->snd_nxt)))
		return; /* a RST goes out, the attempt lives */
	if (has_flag(segment, SP_TCP_RST)) {
		if (ack)
			tcp_done(o, conn);
		return;
	}
	if (!has_flag(segment, SP_TCP_SYN))
		return;
	note_syn(conn, segment);
	tcp_negotiate(conn);
	if (!ack) {
		conn->flags |= CONN_CROSSED;
		tcp_set_state(o, conn, SP_TCP_SYN_RECV);
		return;
	}
	tcp_acknowledge(o, conn, segment, false);
	tcp_set_state(o, conn, SP_TCP_ESTABLISHED);
}

/* A SYN from nobody that is known: an answer will tell whether somebody listens.
 * Return: NULL if there is no room. */
static void receive_first_syn(struct sp_observer *o,
			      const struct sp_conn_key *key, uint64_t hash,
			      const struct sp_tcp_segment *segment)
{
	struct conn *conn =
		tcp_add(o, key, hash, CONN_EMBRYONIC, CONN_MINI | CONN_HIDDEN);

	if (!conn)
		return;
	conn->state = SP_TCP_NEW_SYN_RECV;
	conn->last_ns = o->now_ns;
	conn->packets_in = 1;
	note_syn(conn, segment);
	tcp_arm(o, conn, NEW_SYN_NS);
}

static bool is_pure_syn(const struct sp_tcp_segment *segment)
{
	return (segment->flags & (SP_TCP_SYN | SP_TCP_RST | SP_TCP_ACK |
				  SP_TCP_FIN)) == SP_TCP_SYN;
}

/* Not answered yet. */
static void receive_unanswered(struct sp_observer *o, struct conn *conn,
			       const struct sp_tcp_segment *segment)
{
	if (has_flag(segment, SP_TCP_RST))
		tcp_forget(o, conn);
	else if (is_pure_syn(segment))
		note_syn(conn, segment);
}

/* tcp_check_req(): half-open at a listener. */
static void receive_half_open(struct sp_observer *o, struct conn *conn,
			      const struct sp_tcp_segment *segment)
{
	uint32_t window = conn->rcv_wnd < 65535 ? conn->rcv_wnd : 65535;
	uint8_t flags = segment->flags;
	bool old = is_stamp_old(o, conn, segment);

	if (segment->seq == conn->rcv_nxt - 1 && is_pure_syn(segment) && !old)
		return; /* the SYN again: so is the answer */
	if (flags & SP_TCP_ACK && segment->ack != conn->snd_nxt)
		return; /* a RST goes out */
	if (old ||
	    !is_in_window(segment, conn->rcv_nxt, conn->rcv_nxt + window)) {
		if (old)
			NET_INC(o, tcpext, PAWSEstab);
		return;
	}
	if (is_stamped(conn, segment) &&
	    !sp_seq_after(segment->seq, conn->rcv_nxt))
		conn->ts_recent = segment->options.tsval;
	if (segment->seq == conn->rcv_nxt - 1)
		flags &= (uint8_t)~SP_TCP_SYN;
	if (flags & SP_TCP_RST && segment->seq != conn->rcv_nxt)
		return; /* RFC 5961: a challenge ACK goes out */
	if (flags & (SP_TCP_RST | SP_TCP_SYN)) {
		NET_INC(o, tcp, AttemptFails);
		NET_INC(o, tcpext, EmbryonicRsts);
		tcp_forget(o, conn);
		return;
	}
	if (!(flags & SP_TCP_ACK))
		return;
	NET_INC(o, tcp, PassiveOpens);
	establish(o, conn, segment);
	queue_data(o, conn, segment);
}

/* May a new connection take the place of one that waits? */
static bool is_reopening(const struct conn *conn,
			 const struct sp_tcp_segment *segment)
{
	if (!is_pure_syn(segment))
		return false;
	return sp_seq_after(segment->seq, conn->rcv_nxt) ||
	       (is_stamped(conn, segment) &&
		(int32_t)(conn->ts_recent - segment->options.tsval) < 0);
}

/* tcp_timewait_state_process() */
static void receive_time_wait(struct sp_observer *o, struct conn *conn,
			      const struct sp_tcp_segment *segment)
{
	bool old = is_stamp_old(o, conn, segment);
	bool rst = has_flag(segment, SP_TCP_RST);

	if (!old && segment->seq == conn->rcv_nxt &&
	    (is_empty(segment) || rst)) {
		if (rst) { /* RFC 1337 */
			tcp_forget(o, conn);
			return;
		}
		if (is_stamped(conn, segment))
			conn->ts_recent = segment->options.tsval;
		tcp_arm(o, conn, TIME_WAIT_NS);
		return;
	}
	if (!old && is_reopening(conn, segment)) {
		struct sp_conn_key key = conn->key;
		uint64_t hash = conn_hash(o->tcp->conns, &key);

		tcp_forget(o, conn);
		receive_first_syn(o, &key, hash, segment);
		return;
	}
	if (old)
		NET_INC(o, tcpext, PAWSTimewait);
	if (!rst && (old || has_flag(segment, SP_TCP_ACK)))
		tcp_arm(o, conn, TIME_WAIT_NS);
}

void tcp_receive(struct sp_observer *o, struct conn *conn,
		 const struct sp_conn_key *key, uint64_t hash,
		 const struct sp_tcp_segment *segment)
{
	if (!conn) {
		if (is_pure_syn(segment))
			receive_first_syn(o, key, hash, segment);
		return;
	}
	conn_change(o->tcp->conns, conn);
	conn->packets_in++;
	conn->bytes_in += segment->len;
	conn->last_ns = o->now_ns;
	switch (conn->state) {
	case SP_TCP_NEW_SYN_RECV:
		receive_unanswered(o, conn, segment);
		break;
	case SP_TCP_SYN_SENT:
		receive_syn_sent(o, conn, segment);
		break;
	case SP_TCP_SYN_RECV:
		if (conn->flags & CONN_MINI)
			receive_half_open(o, conn, segment);
		else
			receive_crossed(o, conn, segment);
		break;
	case SP_TCP_TIME_WAIT:
		receive_time_wait(o, conn, segment);
		break;
	default:
		receive_full(o, conn, segment);
		break;
	}
}
