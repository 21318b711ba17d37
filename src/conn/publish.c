/* SPDX-License-Identifier: MIT */
/*
 * conn/publish.c - what a program that has sockets of its own does with rows.
 *
 * An id is the number of the entry and its incarnation: it names nothing once the
 * row is gone.
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "conn/conn.h"

#define TIME_WAIT_NS 60000000000ull
#define HALF_OPEN_NS 63000000000ull
#define CONNECT_NS   131000000000ull

static sp_conn_id id_of(const struct sp_conn_table *table,
			const struct conn *conn)
{
	return (uint64_t)conn->head.incarnation << 32 |
	       conn_number(table, conn);
}

/* Return: NULL if the row is gone. */
static struct conn *row_of(const struct sp_conn_table *table, sp_conn_id id)
{
	uint32_t number = (uint32_t)id;
	struct conn *conn;

	if (!number || number > table->nr_rows)
		return NULL;
	conn = conn_at(table, number);
	return conn_is_alive(conn) && conn->head.incarnation == id >> 32 ? conn
									 : NULL;
}

static bool is_state_valid(unsigned state)
{
	return state >= SP_TCP_ESTABLISHED && state <= SP_TCP_CLOSING;
}

static bool is_key_valid(const struct sp_conn_key *key)
{
	static const uint8_t zeros[12];

	if (key->zero ||
	    (key->protocol != IPPROTO_TCP && key->protocol != IPPROTO_UDP &&
	     key->protocol != IPPROTO_UDPLITE))
		return false;
	return key->family == AF_INET6 ||
	       (key->family == AF_INET &&
		!memcmp(key->local + 4, zeros, sizeof(zeros)) &&
		!memcmp(key->remote + 4, zeros, sizeof(zeros)));
}

static enum conn_class class_of(uint8_t protocol, unsigned state)
{
	if (protocol != IPPROTO_TCP)
		return CONN_FIXED;
	switch (state) {
	case SP_TCP_LISTEN:
		return CONN_FIXED;
	case SP_TCP_SYN_SENT:
	case SP_TCP_SYN_RECV:
		return CONN_EMBRYONIC;
	case SP_TCP_TIME_WAIT:
		return CONN_WAITING;
	default:
		return CONN_FULL;
	}
}

/* Without a clock (nobody calls sp_conn_advance()) nothing expires. */
static uint64_t lifetime_ns(const struct sp_conn_table *table, unsigned state)
{
	switch (state) {
	case SP_TCP_TIME_WAIT:
	case SP_TCP_FIN_WAIT2:
		return TIME_WAIT_NS;
	case SP_TCP_SYN_RECV:
		return HALF_OPEN_NS;
	case SP_TCP_SYN_SENT:
		return CONNECT_NS;
	case SP_TCP_ESTABLISHED:
		return table->idle_ns;
	default:
		return 0;
	}
}

static void set_state(struct sp_conn_table *table, struct conn *conn,
		      unsigned state)
{
	bool is_tcp = conn->key.protocol == IPPROTO_TCP;

	if (conn->state == state)
		return;
	conn->state = (uint8_t)state;
	conn_set_class(table, conn, class_of(conn->key.protocol, state));
	conn_arm(table, conn, table->now_ns,
		 is_tcp ? lifetime_ns(table, state) : 0);
}

/* Everything but key, state and timers. */
static void fill(struct conn *conn, const struct sp_conn *from)
{
	conn->flags = from->mini ? CONN_MINI : 0;
	conn->timer = from->timer;
	conn->timer_ns = from->expires_ns;
	conn->retransmits = from->retransmits;
	conn->probes = from->probes;
	conn->snd_wscale = from->snd_wscale;
	conn->rcv_wscale = from->rcv_wscale;
	conn->tx_queue = from->tx_queue;
	conn->rx_queue = from->rx_queue;
	conn->uid = from->uid;
	conn->inode = from->inode;
	conn->rto_us = from->rto_us;
	conn->ato_us = from->ato_us;
	conn->cwnd = from->cwnd;
	conn->ssthresh = from->ssthresh;
	conn->own_mss = (uint16_t)(from->mss < 65535 ? from->mss : 65535);
	conn->srtt_us = from->rtt_us * 8;
	conn->rttvar_us = from->rttvar_us * 4;
	conn->nr_retransmitted = from->nr_retransmitted;
	conn->drops = from->drops;
	conn->first_ns = from->first_ns;
	conn->last_ns = from->last_ns;
	conn->packets_in = from->packets_in;
	conn->packets_out = from->packets_out;
	conn->bytes_in = from->bytes_in;
	conn->bytes_out = from->bytes_out;
}

int sp_conn_open(struct sp_conn_table *table, const struct sp_conn *conn,
		 sp_conn_id *ret_id)
{
	uint64_t hash = conn_hash(table, &conn->key);
	struct conn *row;

	if (!is_key_valid(&conn->key) || !is_state_valid(conn->state))
		return -EINVAL;
	sp_table_quiescent(table->table);
	if (conn_find(table, hash, &conn->key))
		return -EEXIST;
	row = conn_add(table, hash, &conn->key,
		       class_of(conn->key.protocol, conn->state));
	if (!row)
		return -ENOSPC;
	fill(row, conn);
	set_state(table, row, conn->state);
	conn_settle(table);
	*ret_id = id_of(table, row);
	return 0;
}

int sp_conn_set_state(struct sp_conn_table *table, sp_conn_id id,
		      enum sp_tcp_state state)
{
	struct conn *row = row_of(table, id);

	if (!is_state_valid(state))
		return -EINVAL;
	if (!row)
		return -ENOENT;
	conn_change(table, row);
	set_state(table, row, state);
	conn_settle(table);
	return 0;
}

int sp_conn_update(struct sp_conn_table *table, sp_conn_id id,
		   const struct sp_conn *conn)
{
	struct conn *row = row_of(table, id);

	if (!is_state_valid(conn->state))
		return -EINVAL;
	if (!row)
		return -ENOENT;
	conn_change(table, row);
	fill(row, conn);
	set_state(table, row, conn->state);
	conn_settle(table);
	return 0;
}

int sp_conn_close(struct sp_conn_table *table, sp_conn_id id)
{
	struct conn *row = row_of(table, id);

	if (!row)
		return -ENOENT;
	conn_remove(table, row);
	sp_table_quiescent(table->table);
	return 0;
}

sp_conn_id sp_conn_find(const struct sp_conn_table *table,
			const struct sp_conn_key *key)
{
	const struct conn *row = conn_find(table, conn_hash(table, key), key);

	return row ? id_of(table, row) : 0;
}

int sp_conn_read(const struct sp_conn_table *table, sp_conn_id id,
		 struct sp_conn *ret_conn)
{
	const struct conn *row = row_of(table, id);

	if (!row)
		return -ENOENT;
	conn_decode(row, ret_conn);
	return 0;
}
