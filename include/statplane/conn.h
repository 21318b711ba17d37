/* SPDX-License-Identifier: MIT */
/*
 * statplane/conn.h - connections and sockets of a namespace, as net/tcp and
 * ss(8) show them.
 *
 * A table holds the sockets of one namespace: TCP connections, listeners and UDP
 * sockets of both families. An observer fills one from packets
 * (statplane/observe.h); a user-space stack publishes its own sockets by
 * sp_conn_open(), sp_conn_set_state(), sp_conn_update() and sp_conn_close(), and
 * tools that read /proc/net work again. Readers, in any process, walk the rows
 * with sp_conn_walk_next().
 *
 * Rows stand in the plane. Their number is bounded; a full table refuses, or
 * gives up a row that matters less, and counts either.
 *
 * A table is written by one thread at a time; readers never wait for it and it
 * never waits for them. When not to use it: for sockets of the kernel itself,
 * which /proc/net has already.
 */
#ifndef STATPLANE_CONN_H
#define STATPLANE_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <statplane/export.h>
#include <statplane/net.h>
#include <statplane/reader.h>

SP_BEGIN_DECLS

/* The kernel's numbers (include/net/tcp_states.h). UDP sockets are in
 * SP_TCP_CLOSE, or in SP_TCP_ESTABLISHED when connected. */
enum sp_tcp_state {
	SP_TCP_ESTABLISHED = 1,
	SP_TCP_SYN_SENT,
	SP_TCP_SYN_RECV,
	SP_TCP_FIN_WAIT1,
	SP_TCP_FIN_WAIT2,
	SP_TCP_TIME_WAIT,
	SP_TCP_CLOSE,
	SP_TCP_CLOSE_WAIT,
	SP_TCP_LAST_ACK,
	SP_TCP_LISTEN,
	SP_TCP_CLOSING,
	SP_TCP_NEW_SYN_RECV, /* inside the kernel only; no row has it */
};

/* Column "tr" of net/tcp. */
enum sp_conn_timer {
	SP_CONN_TIMER_NONE,
	SP_CONN_TIMER_RETRANSMIT,
	SP_CONN_TIMER_KEEPALIVE,
	SP_CONN_TIMER_TIME_WAIT,
	SP_CONN_TIMER_PROBE, /* of a window that is closed */
};

/* What names a socket. Bytes that are not used are 0. */
struct sp_conn_key {
	uint8_t local[16]; /* network order; IPv4 in the first four */
	uint8_t remote[16];
	uint16_t local_port; /* host order */
	uint16_t remote_port;
	uint8_t family;   /* AF_INET, AF_INET6 */
	uint8_t protocol; /* IPPROTO_TCP, IPPROTO_UDP, IPPROTO_UDPLITE */
	uint16_t zero;
};

/* One row. */
struct sp_conn {
	struct sp_conn_key key;
	uint8_t state;       /* enum sp_tcp_state */
	uint8_t timer;       /* enum sp_conn_timer */
	uint8_t retransmits; /* of the oldest segment, not acknowledged yet */
	uint8_t probes;      /* sent without an answer */
	bool mini; /* a half-open one, or one that waits: the kernel keeps, and
		    * prints, less of it */
	uint8_t snd_wscale, rcv_wscale;
	uint32_t tx_queue; /* octets sent or queued, not acknowledged yet;
			    * listener: the longest accept queue */
	uint32_t rx_queue; /* octets received that the program has not read;
			    * listener: connections to accept */
	uint32_t uid;
	uint64_t inode;
	uint32_t rto_us; /* retransmission timeout */
	uint32_t ato_us; /* delayed ACK timeout */
	uint32_t cwnd;   /* segments */
	uint32_t ssthresh;
	uint32_t mss;
	uint32_t rtt_us; /* smoothed; 0: not known */
	uint32_t rttvar_us;
	uint32_t nr_retransmitted; /* segments, in all */
	uint32_t drops;            /* UDP: datagrams not delivered */
	uint64_t expires_ns; /* when the timer ends, on the table's clock */
	uint64_t first_ns;   /* since the epoch */
	uint64_t last_ns;    /* of the last packet */
	uint64_t packets_in, packets_out;
	uint64_t bytes_in, bytes_out; /* of payload */
};

/*
 * Writing.
 */
struct sp_conn_table;

/* A row of a table, as its writer names it; 0 is none. Never used twice. */
typedef uint64_t sp_conn_id;

/**
 * struct sp_conn_opts - how to make a table; zero means the default
 * @sz:           sizeof(struct sp_conn_opts) of the caller
 * @max_conns:    rows at most (default 65536, at most 2^24); memory is
 *                populated as they come
 * @idle_ns:      rows of established connections without a packet for so long
 *                go; 0: never. Of use to an observer, which may miss the end
 */
struct sp_conn_opts {
	size_t sz;
	uint32_t max_conns;
	uint64_t idle_ns;
};

/**
 * sp_conn_table_create() - make the table of a namespace
 * @net: must outlive the table; it has at most one
 * @opts: borrowed for the call; NULL for all defaults
 *
 * Return: 0; -EEXIST if the namespace has one; -EINVAL; -ENOSPC if the plane or
 * the file system has no room; -ENOMEM.
 */
SP_API int sp_conn_table_create(struct sp_net *net,
				const struct sp_conn_opts *opts,
				struct sp_conn_table **ret_table);
/* All rows go. NULL is fine. */
SP_API void sp_conn_table_destroy(struct sp_conn_table *table);

/**
 * sp_conn_open() - add a socket
 * @conn: key, state and all else of the row; borrowed
 * @ret_id: names the row from now on
 *
 * A full table gives up the half-open connection that is oldest, else the one
 * that waits for longest (TIME_WAIT), else, but not for a half-open newcomer,
 * one that has been silent for long.
 *
 * Return: 0; -EEXIST if the key is there; -EINVAL for a family, protocol or
 * state that cannot be; -ENOSPC if there is no room (counted).
 */
SP_API int sp_conn_open(struct sp_conn_table *table, const struct sp_conn *conn,
			sp_conn_id *ret_id);
/* Return: 0; -ENOENT if the row is gone (it was given up, or has expired);
 * -EINVAL. */
SP_API int sp_conn_set_state(struct sp_conn_table *table, sp_conn_id id,
			     enum sp_tcp_state state);
/* Everything but the key. Return: as above. */
SP_API int sp_conn_update(struct sp_conn_table *table, sp_conn_id id,
			  const struct sp_conn *conn);
SP_API int sp_conn_close(struct sp_conn_table *table, sp_conn_id id);
/* Return: 0 if there is none. */
SP_API sp_conn_id sp_conn_find(const struct sp_conn_table *table,
			       const struct sp_conn_key *key);
/* A copy of the row. Return: 0; -ENOENT. */
SP_API int sp_conn_read(const struct sp_conn_table *table, sp_conn_id id,
			struct sp_conn *ret_conn);

/**
 * sp_conn_advance() - move the table's clock
 *
 * Rows whose time is up go: TIME_WAIT and FIN_WAIT2 after 60 s, attempts that
 * nobody answered as the kernel gives them up, idle ones. A stack that closes its
 * sockets itself need not call it.
 */
SP_API void sp_conn_advance(struct sp_conn_table *table, uint64_t now_ns);

struct sp_conn_stats {
	uint64_t nr_rows;    /* now */
	uint64_t nr_opened;  /* rows that came */
	uint64_t nr_closed;  /* that went when their connection did */
	uint64_t nr_expired; /* that went when their time was up */
	uint64_t nr_evicted; /* that went for want of room */
	uint64_t nr_refused; /* that did not come for want of room */
};

SP_API void sp_conn_read_stats(const struct sp_conn_table *table,
			       struct sp_conn_stats *ret_stats);

/*
 * Reading, from any process.
 */
struct sp_conn_walk;

/**
 * sp_conn_walk_create() - the memory of a walk, for any number of walks
 *
 * Return: 0; -ENOMEM.
 */
SP_API int sp_conn_walk_create(struct sp_conn_walk **ret_walk);
/* NULL is fine. */
SP_API void sp_conn_walk_destroy(struct sp_conn_walk *walk);

/**
 * sp_conn_walk_begin() - walk the rows of a namespace from the start
 * @reader: must not go before the walk's last row
 * @netns: object of type SP_OBJECT_NETNS
 *
 * Return: 0, also without a table (the walk is at its end at once); -EINVAL for
 * another type; -EBADMSG if the table contradicts itself; -ESTALE.
 *
 * Context: allocates nothing.
 */
SP_API int sp_conn_walk_begin(struct sp_conn_walk *walk,
			      struct sp_reader *reader,
			      const struct sp_object *netns);

/**
 * sp_conn_walk_next() - the next row
 *
 * A row that lives through the whole walk is returned once; one that comes or
 * goes meanwhile, at most once. Rows come in no order. One that keeps changing is
 * skipped and counted (sp_plane_info.nr_unstable).
 *
 * Return: 0; -ENOENT at the end; -ESTALE if the table has gone.
 *
 * Context: allocates nothing.
 */
SP_API int sp_conn_walk_next(struct sp_conn_walk *walk,
			     struct sp_conn *ret_conn);

/* The table's clock: what expires_ns of a row is to be compared with. 0 if
 * nobody has set it. */
SP_API uint64_t sp_conn_walk_now_ns(const struct sp_conn_walk *walk);

SP_END_DECLS

#endif
