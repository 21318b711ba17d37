// SPDX-License-Identifier: MIT
/*
 * cli/ss_rows.c - walk the sockets, choose those that are asked for, sort them.
 *
 * --top K keeps a heap whose root is the least of the K best: memory and the time
 * for each further socket depend on K alone.
 */
#include "cli/ss.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define NS_PER_S 1000000000ull

struct sp_ss_sort {
	const char *word;
	uint64_t (*figure)(const struct sp_conn *conn); /* the greatest first */
	size_t key_off; /* without a figure: in the key, the least first */
	size_t key_len;
};

uint64_t sp_ss_rate(const struct sp_conn *conn, uint64_t bytes)
{
	uint64_t ns = conn->last_ns - conn->first_ns;

	if (!conn->first_ns || conn->last_ns <= conn->first_ns)
		return 0;
	return (uint64_t)((double)bytes * 8 * NS_PER_S / (double)ns);
}

const char *sp_ss_netid(const struct sp_conn *conn)
{
	switch (conn->key.protocol) {
	case IPPROTO_TCP:
		return "tcp";
	case IPPROTO_UDPLITE:
		return "udplite";
	default:
		return "udp";
	}
}

enum sp_conn_timer sp_ss_timer(const struct sp_conn *conn)
{
	if (conn->key.protocol != IPPROTO_TCP)
		return SP_CONN_TIMER_NONE;
	if (conn->mini && conn->state == SP_TCP_SYN_RECV)
		return SP_CONN_TIMER_RETRANSMIT;
	if (conn->mini || conn->state == SP_TCP_TIME_WAIT)
		return SP_CONN_TIMER_TIME_WAIT;
	return (enum sp_conn_timer)conn->timer;
}

uint64_t sp_ss_timer_ms(const struct sp_conn *conn, uint64_t now_ns)
{
	if (sp_ss_timer(conn) == SP_CONN_TIMER_NONE ||
	    conn->expires_ns <= now_ns)
		return 0;
	return (conn->expires_ns - now_ns) / 1000000;
}

static uint64_t recv_queue(const struct sp_conn *c)
{
	return c->rx_queue;
}

static uint64_t send_queue(const struct sp_conn *c)
{
	return c->tx_queue;
}

static uint64_t bytes(const struct sp_conn *c)
{
	return c->bytes_in + c->bytes_out;
}

static uint64_t packets(const struct sp_conn *c)
{
	return c->packets_in + c->packets_out;
}

static uint64_t rate(const struct sp_conn *c)
{
	return sp_ss_rate(c, bytes(c));
}

static uint64_t retransmitted(const struct sp_conn *c)
{
	return c->nr_retransmitted;
}

static uint64_t round_trip(const struct sp_conn *c)
{
	return c->rtt_us;
}

static uint64_t drops(const struct sp_conn *c)
{
	return c->drops;
}

/* The oldest first; those of unknown age last. */
static uint64_t age(const struct sp_conn *c)
{
	return c->first_ns ? UINT64_MAX - c->first_ns : 0;
}

/* The states in the order of their numbers. */
static uint64_t state(const struct sp_conn *c)
{
	return UINT8_MAX - c->state;
}

#define KEY(member)                                                            \
	offsetof(struct sp_conn_key, member),                                  \
		sizeof(((struct sp_conn_key *)NULL)->member)

static const struct sp_ss_sort sorts[] = {
	{"recv-q", recv_queue, 0, 0}, {"send-q", send_queue, 0, 0},
	{"bytes", bytes, 0, 0},       {"packets", packets, 0, 0},
	{"rate", rate, 0, 0},         {"retrans", retransmitted, 0, 0},
	{"rtt", round_trip, 0, 0},    {"drops", drops, 0, 0},
	{"age", age, 0, 0},           {"state", state, 0, 0},
	{"local", NULL, KEY(local)},  {"peer", NULL, KEY(remote)},
};

const struct sp_ss_sort *sp_ss_sort_find(const char *word)
{
	for (size_t i = 0; i < sizeof(sorts) / sizeof(sorts[0]); i++)
		if (strcmp(word, sorts[i].word) == 0)
			return &sorts[i];
	return NULL;
}

/* Below 0 if @a comes first. Never 0 for two sockets: the order is the same
 * every time. */
static int compare(const void *a, const void *b, void *ctx)
{
	const struct sp_conn *x = a, *y = b;
	const struct sp_ss_sort *sort = ctx;
	int order;

	if (sort->figure) {
		uint64_t fx = sort->figure(x), fy = sort->figure(y);

		order = fx == fy ? 0 : fx > fy ? -1 : 1;
	} else {
		order = (int)x->key.family - (int)y->key.family;
		if (!order)
			order = memcmp((const char *)&x->key + sort->key_off,
				       (const char *)&y->key + sort->key_off,
				       sort->key_len);
	}
	return order ? order : memcmp(&x->key, &y->key, sizeof(x->key));
}

/* --- choose --------------------------------------------------------------- */

static uint32_t states_of(const struct sp_ss *ss, bool is_tcp)
{
	if (ss->filter.has_states)
		return ss->filter.states;
	if (ss->all)
		return SP_SS_ALL;
	if (ss->listening)
		return is_tcp ? SP_SS_LISTENING : SP_SS_UNCONNECTED;
	return is_tcp ? SP_SS_CONNECTED & ~SP_SS_BUCKET
		      : SP_SS_BIT(ESTABLISHED);
}

static bool is_wanted(const struct sp_ss *ss, const struct sp_conn *conn)
{
	bool is_tcp = conn->key.protocol == IPPROTO_TCP;
	bool is_v6 = conn->key.family == AF_INET6;

	return (is_tcp ? ss->tcp : ss->udp) && (is_v6 ? ss->v6 : ss->v4) &&
	       conn->state <= SP_TCP_CLOSING &&
	       (states_of(ss, is_tcp) >> conn->state & 1) &&
	       sp_ss_filter_passes(&ss->filter, conn);
}

/* --- sort ----------------------------------------------------------------- */

struct pile {
	struct sp_conn *conns;
	size_t nr, cap;
};

static int make_room(struct pile *pile)
{
	size_t cap = pile->cap ? 2 * pile->cap : 64;
	struct sp_conn *conns;

	if (pile->nr < pile->cap)
		return 0;
	conns = reallocarray(pile->conns, cap, sizeof(*conns));
	if (!conns)
		return -ENOMEM;
	pile->conns = conns;
	pile->cap = cap;
	return 0;
}

/* conns[0] comes last of all; it is new: put it where it belongs. */
static void sink(struct pile *pile, const struct sp_ss_sort *sort)
{
	struct sp_conn moving = pile->conns[0];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < pile->nr) {
		struct sp_conn *c = &pile->conns[child];

		if (child + 1 < pile->nr &&
		    compare(c + 1, c, (void *)(uintptr_t)sort) > 0) {
			child++;
			c++;
		}
		if (compare(c, &moving, (void *)(uintptr_t)sort) <= 0)
			break;
		pile->conns[at] = *c;
		at = child;
	}
	pile->conns[at] = moving;
}

/* The new last one rises as long as it comes behind its parent. */
static void rise(struct pile *pile, const struct sp_ss_sort *sort)
{
	size_t at = pile->nr - 1;

	while (at) {
		struct sp_conn *child = &pile->conns[at];
		struct sp_conn *parent = &pile->conns[(at - 1) / 2];
		struct sp_conn kept = *parent;

		if (compare(child, parent, (void *)(uintptr_t)sort) <= 0)
			return;
		*parent = *child;
		*child = kept;
		at = (at - 1) / 2;
	}
}

static int keep(struct sp_ss *ss, struct pile *pile, const struct sp_conn *conn)
{
	void *sort = (void *)(uintptr_t)ss->sort;
	int r;

	if (ss->top && pile->nr == ss->top) {
		if (compare(conn, &pile->conns[0], sort) < 0) {
			pile->conns[0] = *conn;
			sink(pile, ss->sort);
		}
		return 0;
	}
	r = make_room(pile);
	if (r)
		return r;
	pile->conns[pile->nr++] = *conn;
	if (ss->top)
		rise(pile, ss->sort);
	return 0;
}

/* --- walk ----------------------------------------------------------------- */

int sp_ss_each(struct sp_ss *ss, sp_ss_row_fn *fn, void *ctx)
{
	struct pile pile = {NULL, 0, 0};
	struct sp_conn_walk *walk;
	struct sp_conn conn;
	int r = sp_conn_walk_create(&walk);

	if (r)
		return r;
	r = sp_conn_walk_begin(walk, ss->reader, &ss->net);
	if (r) {
		sp_conn_walk_destroy(walk);
		return r;
	}
	ss->now_ns = sp_conn_walk_now_ns(walk);
	while (!(r = sp_conn_walk_next(walk, &conn))) {
		if (!is_wanted(ss, &conn))
			continue;
		if (!ss->sort)
			fn(ctx, &conn);
		else if ((r = keep(ss, &pile, &conn)))
			break;
	}
	sp_conn_walk_destroy(walk);
	if (r == -ENOENT)
		r = 0;
	if (!r && pile.nr)
		qsort_r(pile.conns, pile.nr, sizeof(*pile.conns), compare,
			(void *)(uintptr_t)ss->sort);
	for (size_t i = 0; !r && i < pile.nr; i++)
		fn(ctx, &pile.conns[i]);
	free(pile.conns);
	return r;
}
