/* SPDX-License-Identifier: MIT */
/*
 * observe/tcp.h - TCP connections, as the kernel of the host keeps them.
 *
 * A segment goes the kernel's way: tcp.c checks it and finds its connection,
 * tcp_input.c is what a socket does with one that came, tcp_ack.c what an
 * acknowledgement does to what was sent, tcp_output.c what a sent one tells. A
 * connection begins with a SYN, or in its middle with a segment that the host
 * sends; one that only comes in tells nothing, as the host may know it no more.
 *
 * What cannot be seen is taken for the most likely: programs read at once, the
 * host has no more to send than it sends, and a socket whose FIN has left has no
 * owner.
 */
#ifndef SP_OBSERVE_TCP_H
#define SP_OBSERVE_TCP_H

#include <stdbool.h>
#include <stdint.h>

#include "conn/conn.h"
#include "observe/ahead.h"
#include "observe/observer.h"
#include "observe/ranges.h"
#include "packet/tcp.h"

#define TIME_WAIT_NS (60 * SECOND_NS)
#define NEW_SYN_NS   (3 * SECOND_NS)  /* a SYN that gets no answer */
#define SYN_RECV_NS  (63 * SECOND_NS) /* tcp_synack_retries 5 */
#define SYN_SENT_NS                                                            \
	(131 * SECOND_NS) /* tcp_syn_retries 6, and
					     * tcp_syn_linear_timeouts 4 */
#define LAST_FIN_NS                                                            \
	(121 * SECOND_NS) /* RTO at its longest: nobody sends
					     * the FIN again any more */

/* Of the host's end. */
struct tcp_end {
	const uint8_t *local; /* address of the host */
	const uint8_t *remote;
	uint16_t local_port;
	uint16_t remote_port;
	bool ipv6;
};

struct tcp {
	struct sp_conn_table *conns;
	bool is_own; /* the table goes with the observer */
	struct ranges ranges;
	struct ahead ahead;
	uint64_t idle_ns;
	uint64_t clock_ns; /* that readers know */
};

int tcp_create(struct sp_observer *o, const struct sp_observer_opts *opts);
void tcp_destroy(struct sp_observer *o);
void tcp_read_stats(const struct sp_observer *o,
		    struct sp_observer_stats *stats);
void tcp_expire(struct sp_observer *o);
/* Between vectors: nobody holds a row. @now: tell readers the time at once. */
void tcp_settle(struct sp_observer *o, bool now);
uint64_t tcp_next_ns(const struct sp_observer *o);

/* Whether there is a connection, in whatever state, listeners apart. */
bool tcp_exists(const struct sp_observer *o, const struct tcp_end *end);

/**
 * tcp_error() - an ICMP error came that quotes a segment of the host
 * @seq: of the segment
 * @hard: fit to end an attempt to connect
 * @drops_half_open: fit to end a half-open connection of a listener
 */
void tcp_error(struct sp_observer *o, const struct tcp_end *end, uint32_t seq,
	       bool hard, bool drops_half_open);

/* Between the parts. */

/* A connection that was not known. Return: NULL if there is no room. */
struct conn *tcp_add(struct sp_observer *o, const struct sp_conn_key *key,
		     uint64_t hash, enum conn_class class, uint32_t flags);
/* States, with the gauges and counters that the kernel ties to them. */
void tcp_set_state(struct sp_observer *o, struct conn *conn,
		   enum sp_tcp_state state);
/* The row goes after this time, unless it is told another; 0: never. */
void tcp_arm(struct sp_observer *o, struct conn *conn, uint64_t lifetime_ns);
/* The connection ends, with what tcp_done() counts. @conn is gone. */
void tcp_done(struct sp_observer *o, struct conn *conn);
/* The connection is forgotten, without a count. @conn is gone. */
void tcp_forget(struct sp_observer *o, struct conn *conn);
/* It waits from now on. */
void tcp_time_wait(struct sp_observer *o, struct conn *conn);
/* What the two SYNs have agreed on. */
void tcp_negotiate(struct conn *conn);
/* The largest segment that the host sends on it; 0: not known. */
uint32_t tcp_mss(const struct conn *conn);

/* A sound segment came in; @conn NULL: of no known connection. */
void tcp_receive(struct sp_observer *o, struct conn *conn,
		 const struct sp_conn_key *key, uint64_t hash,
		 const struct sp_tcp_segment *segment);
void tcp_send(struct sp_observer *o, struct conn *conn,
	      const struct sp_conn_key *key, uint64_t hash,
	      const struct sp_tcp_segment *segment);

enum tcp_ack_verdict {
	TCP_ACK_GOOD,
	TCP_ACK_OLD,     /* the segment's data is looked at all the same */
	TCP_ACK_TOO_OLD, /* nothing of it is */
	TCP_ACK_TOO_NEW, /* acknowledges what was never sent */
};

/* tcp_ack() of the kernel. */
enum tcp_ack_verdict tcp_acknowledge(struct sp_observer *o, struct conn *conn,
				     const struct sp_tcp_segment *segment,
				     bool update_ts_recent);

/* Whether the two ends agreed on them, as far as is known. */
static inline bool tcp_has(const struct conn *conn, uint32_t flags)
{
	return (conn->flags & flags) == flags;
}

static inline bool tcp_is_old_stamp(const struct conn *conn, uint32_t tsval,
				    int32_t tolerance)
{
	return (int32_t)(conn->ts_recent - tsval) > tolerance;
}

/* The octets that the peer may still send. */
static inline uint32_t tcp_receive_window(const struct conn *conn)
{
	int32_t window =
		(int32_t)(conn->rcv_wup + conn->rcv_wnd - conn->rcv_nxt);

	return window < 0 ? 0 : (uint32_t)window;
}

#endif
