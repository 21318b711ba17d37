/* SPDX-License-Identifier: MIT */
/*
 * conn/conn.h - one connection as the plane holds it, and how rows are found,
 * made and given up.
 *
 * A row is an entry of a table (statplane/table.h) of 256 octets, four cache
 * lines: what finds it; the sequence space and the totals, which each packet
 * moves; losses and round trips; timers and the rest. An ordinary segment touches
 * the first three.
 *
 * Rows stand in lists by what they are worth when room is wanted (enum
 * conn_class), and in a wheel of timers. Both are the writer's alone.
 *
 * A row that readers may be looking at is changed between conn_change() and
 * conn_settle().
 */
#ifndef SP_CONN_CONN_H
#define SP_CONN_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <statplane/conn.h>
#include <statplane/table.h>

#include "conn/wheel.h"

/* sp_table_opts.kind: "CONN", and which layout of the row. */
#define CONN_KIND ((uint64_t)0x4e4e4f43 << 32 | 1)

/* In the order in which they go for want of room. */
enum conn_class {
	CONN_EMBRYONIC, /* no handshake yet */
	CONN_WAITING,   /* TIME_WAIT */
	CONN_FULL,      /* silent ones may go */
	CONN_FIXED,     /* listeners and the like: never go */
	CONN_NR_CLASSES,
};

enum conn_flag {
	CONN_SACK = 1 << 0,       /* both ends offered it */
	CONN_TIMESTAMPS = 1 << 1, /* both ends offered them */
	CONN_MINI = 1 << 2,       /* half-open at a listener: no socket yet */
	CONN_CROSSED = 1 << 3,    /* both ends sent a SYN first */
	CONN_SYNACK_SENT = 1 << 4,
	CONN_FIN_SENT = 1 << 5,
	CONN_MIDSTREAM = 1 << 6,     /* its SYNs were not seen */
	CONN_DSACK_PENDING = 1 << 7, /* set up, not sent yet */
	CONN_WINDOW_CLOSED = 1 << 8, /* advertised 0 last */
	CONN_PEER_SACK = 1 << 9,     /* the SYN that came offered it */
	CONN_PEER_TIMESTAMPS = 1 << 10,
	CONN_PEER_WSCALE = 1 << 11,
	CONN_OWN_SACK = 1 << 12, /* the SYN that was sent offered it */
	CONN_OWN_TIMESTAMPS = 1 << 13,
	CONN_OWN_WSCALE = 1 << 14,
	CONN_HAS_TS_RECENT = 1 << 15,
	CONN_RTT_RUNNING = 1 << 16,
	CONN_EARLY_FIN = 1 << 17, /* came ahead of data that is missing */
	CONN_HIDDEN = 1 << 18,    /* no row to a reader: a SYN without answer */
	CONN_OBSERVED = 1 << 19,  /* from packets, not published by a program */
};

struct conn {
	/* What finds it. */
	struct sp_table_head head;
	struct sp_conn_key key;
	uint8_t state;      /* enum sp_tcp_state */
	uint8_t class;      /* enum conn_class */
	uint8_t snd_wscale; /* of windows that come in */
	uint8_t rcv_wscale; /* of windows that go out */
	uint32_t flags;     /* enum conn_flag */

	/* What every segment moves. */
	union {
		struct {
			uint32_t snd_una;
			uint32_t snd_nxt;
		};
		uint64_t timer_ns; /* unless CONN_OBSERVED: when it ends */
	};
	uint32_t snd_wnd;
	uint32_t snd_wl1; /* sequence number of the last window update */
	uint32_t rcv_nxt;
	uint32_t rcv_wup; /* last ACK sent */
	uint32_t rcv_wnd; /* window sent with it */
	uint32_t ts_recent;
	uint64_t packets_in, packets_out;
	uint64_t bytes_in, bytes_out;

	uint64_t last_ns;   /* last packet */
	uint32_t sent_head; /* segments sent, not acknowledged: ranges.h */
	uint32_t sent_tail;

	/* Losses and round trips. */
	uint32_t early_head;  /* data ahead of rcv_nxt: ranges.h */
	uint32_t nr_sent_out; /* segments sent, not acknowledged */
	uint32_t nr_dupacks;  /* without SACK: taken for arrived segments */
	uint32_t nr_retransmitted;
	union {
		uint32_t nr_dsacked; /* TCP: segments that DSACKs reported */
		uint32_t drops;      /* UDP: datagrams not delivered */
	};
	uint32_t max_window; /* largest that the peer offered */
	uint16_t own_mss;
	uint16_t peer_mss;
	uint32_t srtt_us;   /* smoothed round trip, times 8 */
	uint32_t rttvar_us; /* times 4 */
	uint32_t rto_us;
	uint32_t rtt_seq;
	uint8_t retransmits;
	uint8_t timer; /* unless CONN_OBSERVED: enum sp_conn_timer */
	uint8_t probes;
	uint8_t zero;

	/* Timers, lists, and what a program publishes. */
	uint64_t expires_ns; /* of the row; 0: never */
	uint32_t wheel_next, wheel_prev;
	uint32_t list_next, list_prev;
	uint32_t tx_queue; /* unless CONN_OBSERVED */
	union {
		uint32_t rx_queue;  /* unless CONN_OBSERVED */
		uint32_t early_fin; /* sequence number behind it */
	};
	uint32_t cwnd, ssthresh;
	uint64_t inode;
	uint64_t first_ns;
	uint32_t uid;
	union {
		uint32_t ato_us;       /* unless CONN_OBSERVED */
		uint32_t rtt_start_us; /* when rtt_seq was sent, mod 2^32 */
	};
};

_Static_assert(sizeof(struct sp_conn_key) == 40, "in the segment");
_Static_assert(sizeof(struct conn) == 256, "a row is four cache lines");

/* A row goes; @expired: its time was up, otherwise for want of room. It is still
 * whole. Return: whether one that is expired shall stay; its timer is set then. */
typedef bool conn_gone(void *ctx, struct conn *conn, bool expired);

struct conn_list {
	uint32_t head;
	uint32_t tail;
	uint32_t nr;
};

struct sp_conn_table {
	struct sp_plane *plane;
	struct sp_table *table;
	struct conn *rows;     /* entry 0 */
	struct conn *changing; /* or NULL */
	uint32_t max;
	uint32_t nr_rows; /* entries that were ever in use */
	uint32_t hand;    /* where the search for silent rows goes on */
	enum conn_class newcomer;
	struct conn_list lists[CONN_NR_CLASSES];
	struct wheel wheel;
	uint64_t now_ns;
	uint64_t idle_ns;
	conn_gone *gone;
	void *ctx;
	struct sp_conn_stats stats;
};

/* Rows by number: 1 and up. */
static inline struct conn *conn_at(const struct sp_conn_table *table,
				   uint32_t number)
{
	return &table->rows[number - 1];
}

static inline uint32_t conn_number(const struct sp_conn_table *table,
				   const struct conn *conn)
{
	return (uint32_t)(conn - table->rows) + 1;
}

static inline bool conn_is_alive(const struct conn *conn)
{
	return conn->head.incarnation % 2;
}

/* Called for each row that goes without being removed. */
void conn_on_gone(struct sp_conn_table *table, conn_gone *gone, void *ctx);

static inline uint64_t conn_hash(const struct sp_conn_table *table,
				 const struct sp_conn_key *key)
{
	return sp_table_hash(table->table, key);
}

static inline struct conn *conn_find(const struct sp_conn_table *table,
				     uint64_t hash,
				     const struct sp_conn_key *key)
{
	return (struct conn *)(void *)sp_table_lookup(table->table, key, hash);
}

/**
 * conn_add() - make a row
 * @key: that is in no row
 *
 * The row is zero but for key and class, and is being changed.
 *
 * Return: NULL if refused (counted).
 */
struct conn *conn_add(struct sp_conn_table *table, uint64_t hash,
		      const struct sp_conn_key *key, enum conn_class class);
/* The memory stays as it is until sp_table_quiescent(). */
void conn_remove(struct sp_conn_table *table, struct conn *conn);
void conn_set_class(struct sp_conn_table *table, struct conn *conn,
		    enum conn_class class);

/* The row is about to change: readers wait. One row at a time. */
void conn_change(struct sp_conn_table *table, struct conn *conn);
void conn_settle(struct sp_conn_table *table);

/* The row goes after this time; 0: never. */
void conn_arm(struct sp_conn_table *table, struct conn *conn, uint64_t now_ns,
	      uint64_t lifetime_ns);
/* When sp_conn_advance() has something to do. */
static inline uint64_t conn_next_ns(const struct sp_conn_table *table)
{
	return wheel_next_ns(&table->wheel);
}

/* Let readers know it: sp_conn_walk_now_ns(). */
void conn_set_clock(struct sp_conn_table *table, uint64_t now_ns);
#define CONN_ATTR_CLOCK 7 /* sp_object.attr of the table */

/* As readers see it. */
void conn_decode(const struct conn *conn, struct sp_conn *ret_conn);

#endif
