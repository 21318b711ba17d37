/* SPDX-License-Identifier: MIT */
/*
 * conn/decode.c - a row as readers see it, and walks of readers.
 *
 * A reader's rows are copies of bytes that nobody vouches for: any value is
 * possible, none leads anywhere.
 */
#include <errno.h>
#include <stdlib.h>

#include "conn/conn.h"
#include "table/reader.h"

#define NR_BUFFERED SP_TABLE_WALK_MIN

/* An observed connection: what its timer would be. */
static void decode_timer(const struct conn *conn, struct sp_conn *to)
{
	uint64_t rto_ns = conn->rto_us * 1000ull
			  << (conn->retransmits < 10 ? conn->retransmits : 10);

	to->expires_ns = conn->expires_ns;
	switch (conn->state) {
	case SP_TCP_TIME_WAIT:
		to->timer = SP_CONN_TIMER_TIME_WAIT;
		return;
	case SP_TCP_FIN_WAIT2:
		to->timer = SP_CONN_TIMER_KEEPALIVE;
		return;
	case SP_TCP_LISTEN:
	case SP_TCP_CLOSE:
		to->expires_ns = 0;
		return;
	}
	to->expires_ns = 0;
	if (conn->state != SP_TCP_SYN_RECV && conn->snd_una == conn->snd_nxt)
		return;
	to->timer = SP_CONN_TIMER_RETRANSMIT;
	to->expires_ns = conn->last_ns + rto_ns;
}

static void decode_observed(const struct conn *conn, struct sp_conn *to)
{
	uint32_t mss =
		conn->peer_mss < conn->own_mss ? conn->peer_mss : conn->own_mss;

	to->tx_queue =
		conn->state == SP_TCP_SYN_SENT || conn->state == SP_TCP_SYN_RECV
			? 0
			: conn->snd_nxt - conn->snd_una;
	to->mss = mss;
	to->mini = conn->flags & CONN_MINI || conn->state == SP_TCP_TIME_WAIT;
	to->cwnd = 10;
	to->ato_us = 40000;
	decode_timer(conn, to);
}

static void decode_published(const struct conn *conn, struct sp_conn *to)
{
	to->tx_queue = conn->tx_queue;
	to->rx_queue = conn->rx_queue;
	to->mss = conn->own_mss;
	to->mini = conn->flags & CONN_MINI;
	to->cwnd = conn->cwnd;
	to->ssthresh = conn->ssthresh;
	to->ato_us = conn->ato_us;
	to->timer = conn->timer;
	to->expires_ns = conn->timer_ns;
	to->drops = conn->drops;
}

void conn_decode(const struct conn *conn, struct sp_conn *ret_conn)
{
	*ret_conn = (struct sp_conn){
		.key = conn->key,
		.state = conn->state,
		.retransmits = conn->retransmits,
		.probes = conn->probes,
		.snd_wscale = conn->snd_wscale,
		.rcv_wscale = conn->rcv_wscale,
		.uid = conn->uid,
		.inode = conn->inode,
		.rto_us = conn->rto_us,
		.rtt_us = conn->srtt_us / 8,
		.rttvar_us = conn->rttvar_us / 4,
		.nr_retransmitted = conn->nr_retransmitted,
		.first_ns = conn->first_ns,
		.last_ns = conn->last_ns,
		.packets_in = conn->packets_in,
		.packets_out = conn->packets_out,
		.bytes_in = conn->bytes_in,
		.bytes_out = conn->bytes_out,
	};
	if (conn->flags & CONN_OBSERVED)
		decode_observed(conn, ret_conn);
	else
		decode_published(conn, ret_conn);
}

struct sp_conn_walk {
	struct sp_reader_table table;
	bool has_table;
	uint64_t cursor;
	uint64_t now_ns;
	unsigned nr;   /* rows in the buffer */
	unsigned next; /* of them */
	struct conn rows[NR_BUFFERED];
};

static bool is_ours(struct sp_reader_table *table)
{
	struct sp_table_figures figures;

	sp_reader_table_stats(table, &figures);
	return figures.kind == CONN_KIND &&
	       figures.key_bytes == sizeof(struct sp_conn_key) &&
	       figures.entry_bytes == sizeof(struct conn);
}

int sp_conn_walk_create(struct sp_conn_walk **ret_walk)
{
	struct sp_conn_walk *walk = calloc(1, sizeof(*walk));

	if (!walk)
		return -ENOMEM;
	*ret_walk = walk;
	return 0;
}

void sp_conn_walk_destroy(struct sp_conn_walk *walk)
{
	free(walk);
}

int sp_conn_walk_begin(struct sp_conn_walk *walk, struct sp_reader *reader,
		       const struct sp_object *netns)
{
	struct sp_object object;
	int err;

	walk->has_table = false;
	walk->now_ns = 0;
	walk->cursor = 0;
	walk->nr = walk->next = 0;
	if (netns->type != SP_OBJECT_NETNS)
		return -EINVAL;
	err = sp_reader_find(reader, SP_OBJECT_TABLE, netns->id, "conn",
			     &object);
	if (err)
		return err == -ENOENT ? 0 : err;
	err = sp_reader_table_aim(&walk->table, reader, &object);
	if (!err && !is_ours(&walk->table))
		err = -EBADMSG;
	if (err)
		return err;
	walk->now_ns = object.attr[CONN_ATTR_CLOCK];
	walk->has_table = true;
	return 0;
}

/* Return: 0; -ENOENT; -ESTALE. */
static int fill_buffer(struct sp_conn_walk *walk)
{
	int nr;

	if (!walk->has_table)
		return -ENOENT;
	nr = sp_reader_table_walk(&walk->table, &walk->cursor, walk->rows,
				  NR_BUFFERED);
	if (nr <= 0)
		return nr ? nr : -ENOENT;
	walk->nr = (unsigned)nr;
	walk->next = 0;
	return 0;
}

int sp_conn_walk_next(struct sp_conn_walk *walk, struct sp_conn *ret_conn)
{
	for (;;) {
		const struct conn *conn;

		if (walk->next == walk->nr) {
			int err = fill_buffer(walk);

			if (err)
				return err;
		}
		conn = &walk->rows[walk->next++];
		if (!conn->state || conn->flags & CONN_HIDDEN)
			continue;
		conn_decode(conn, ret_conn);
		return 0;
	}
}

uint64_t sp_conn_walk_now_ns(const struct sp_conn_walk *walk)
{
	return walk->now_ns;
}
