/* SPDX-License-Identifier: MIT */
/*
 * observe/connections.c - see connections.h.
 *
 * A connection is a name (flow.h) and a state. All stand in one pool: each in a
 * chain of its hash bucket, and in one of two lists in the order of their last
 * change, those in TIME-WAIT apart. Who goes when the pool is full depends on
 * that order alone and not on the hash, so that the same frames give the same
 * figures in every run.
 *
 * Data segments do not touch the table: only SYN, FIN and RST do, and the ACK
 * that ends a handshake, which is found by a small filter of names that are
 * half-open. A false hit there costs one look at the table.
 *
 * Rules: net/ipv4/tcp_minisocks.c (TIME-WAIT lasts 60 s), net/ipv4/tcp_input.c
 * (tcp_validate_incoming: SYN in ESTABLISHED).
 */
#include "observe/connections.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "observe/flow.h"

#define FILTER_SIZE  4096u
#define TIME_WAIT_NS 60000000000ull
#define DEFAULT_MAX  65536u
#define MAX_MAX      (1u << 26)

enum state {
	ABSENT,
	SYN_SENT,
	SYN_RECEIVED,
	ESTABLISHED,
	CLOSE_WAIT, /* the peer's FIN came */
	FIN_WAIT,   /* the host's FIN left */
	TIME_WAIT,
};

/* Places in the pool that head the two lists; the first also means "none". */
enum {
	LIST_LIVE,
	LIST_TIME_WAIT,
	NR_LISTS
};

struct connection {
	uint64_t flow;
	uint64_t time_ns; /* of its last change */
	uint32_t chain;   /* the next one of its bucket, or of the free ones */
	uint32_t older;   /* neighbours in its list */
	uint32_t newer;
	uint16_t filter; /* its place in half_open[] */
	uint8_t state;
};

struct connections {
	struct sp_hash_key key;
	uint32_t max;
	uint32_t bucket_mask;
	uint32_t free;    /* first of those that were given back */
	uint32_t nr_ever; /* places used at least once */
	uint32_t *buckets;
	struct connection *pool;
	uint8_t half_open[FILTER_SIZE]; /* names that fall here, up to 255 */
};

int connections_create(uint32_t max, struct connections **ret_connections)
{
	struct connections *c;
	uint32_t nr_buckets = 1;

	max = max ? max : DEFAULT_MAX;
	if (max > MAX_MAX)
		return -EINVAL;
	while (nr_buckets < max)
		nr_buckets *= 2;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	sp_hash_key_init(&c->key);
	c->max = max;
	c->bucket_mask = nr_buckets - 1;
	c->nr_ever = NR_LISTS;
	c->buckets = calloc(nr_buckets, sizeof(c->buckets[0]));
	c->pool = calloc((size_t)max + NR_LISTS, sizeof(c->pool[0]));
	if (!c->buckets || !c->pool) {
		connections_destroy(c);
		return -ENOMEM;
	}
	for (uint32_t list = 0; list < NR_LISTS; list++)
		c->pool[list].older = c->pool[list].newer = list;
	*ret_connections = c;
	return 0;
}

void connections_destroy(struct connections *connections)
{
	if (!connections)
		return;
	free(connections->pool);
	free(connections->buckets);
	free(connections);
}

static uint64_t name_of(const struct connections *c, const struct tcp_end *end)
{
	return flow_hash(
		&c->key, end->local, end->remote, end->ipv6,
		flow_tag(end->local_port, end->remote_port, IPPROTO_TCP));
}

static uint16_t filter_of(const struct connections *c,
			  const struct tcp_end *end)
{
	uint64_t x = flow_load(end->remote + (end->ipv6 ? 12 : 0), 4) << 32 |
		     (uint64_t)end->remote_port << 16 | end->local_port;

	x = (x ^ c->key.k0) * 0xff51afd7ed558ccdull;
	return (x >> 40) % FILTER_SIZE;
}

/* A count that reached 255 stays there: a false hit is harmless, a lost one
 * is not. */
static void filter_add(uint8_t *count)
{
	*count = (uint8_t)(*count + (*count < 255));
}

static void filter_remove(uint8_t *count)
{
	*count = (uint8_t)(*count - (*count > 0 && *count < 255));
}

static void list_remove(struct connections *c, uint32_t i)
{
	struct connection *connection = &c->pool[i];

	c->pool[connection->older].newer = connection->newer;
	c->pool[connection->newer].older = connection->older;
}

/* As its newest. */
static void list_add(struct connections *c, uint32_t list, uint32_t i)
{
	uint32_t newest = c->pool[list].older;

	c->pool[i].older = newest;
	c->pool[i].newer = list;
	c->pool[newest].newer = i;
	c->pool[list].older = i;
}

static uint32_t *bucket_of(struct connections *c, uint64_t flow)
{
	return &c->buckets[flow & c->bucket_mask];
}

static void set_state(struct sp_observer *o, uint32_t i, enum state state)
{
	struct connections *c = o->connections;
	struct connection *connection = &c->pool[i];
	uint8_t *half_open = &c->half_open[connection->filter];

	if (connection->state == SYN_RECEIVED && state != SYN_RECEIVED)
		filter_remove(half_open);
	if (connection->state != SYN_RECEIVED && state == SYN_RECEIVED)
		filter_add(half_open);
	connection->state = (uint8_t)state;
	connection->time_ns = o->now_ns;
	list_remove(c, i);
	list_add(c, state == TIME_WAIT ? LIST_TIME_WAIT : LIST_LIVE, i);
}

static void forget(struct sp_observer *o, uint32_t i)
{
	struct connections *c = o->connections;
	uint32_t *link = bucket_of(c, c->pool[i].flow);

	set_state(o, i, ABSENT);
	list_remove(c, i);
	while (*link != i)
		link = &c->pool[*link].chain;
	*link = c->pool[i].chain;
	c->pool[i].chain = c->free;
	c->free = i;
}

static bool is_over(const struct sp_observer *o, uint32_t i)
{
	const struct connection *connection = &o->connections->pool[i];

	return connection->state == TIME_WAIT &&
	       o->now_ns - connection->time_ns >= TIME_WAIT_NS;
}

/* Return: its place, 0 if there is none. */
static uint32_t find(struct sp_observer *o, uint64_t flow)
{
	struct connections *c = o->connections;
	uint32_t i = *bucket_of(c, flow);

	while (i && c->pool[i].flow != flow)
		i = c->pool[i].chain;
	if (!i || !is_over(o, i))
		return i;
	forget(o, i);
	return 0;
}

static void make_room(struct sp_observer *o)
{
	struct connections *c = o->connections;
	uint32_t oldest = c->pool[LIST_TIME_WAIT].newer;

	if (oldest == LIST_TIME_WAIT)
		oldest = c->pool[LIST_LIVE].newer;
	o->stats.nr_sockets_evicted += !is_over(o, oldest);
	forget(o, oldest);
}

static uint32_t add(struct sp_observer *o, const struct tcp_end *end,
		    uint64_t flow)
{
	struct connections *c = o->connections;
	uint32_t *bucket = bucket_of(c, flow);
	uint32_t i = c->nr_ever;

	if (!c->free && c->nr_ever == c->max + NR_LISTS)
		make_room(o);
	if (c->free) {
		i = c->free;
		c->free = c->pool[i].chain;
	} else {
		c->nr_ever++;
	}
	c->pool[i] = (struct connection){
		.flow = flow,
		.chain = *bucket,
		.filter = filter_of(c, end),
	};
	*bucket = i;
	list_add(c, LIST_LIVE, i);
	return i;
}

/* State after the host sent FIN or RST. */
static enum state state_after_sent(enum state state, uint8_t flags)
{
	if (!(flags & TCP_RST)) /* LAST_ACK is as good as gone */
		return state == CLOSE_WAIT ? ABSENT : FIN_WAIT;
	/* Without ACK it answers one segment and changes nothing else, unless
	 * the program has closed the socket. */
	return flags & TCP_ACK || state >= FIN_WAIT ? ABSENT : state;
}

static enum state state_after_received(enum state state, uint8_t flags)
{
	if (flags & TCP_RST)
		return ABSENT;
	if (flags & TCP_SYN)
		return state == SYN_SENT && flags & TCP_ACK ? ESTABLISHED
							    : state;
	if (flags & TCP_FIN)
		return state >= FIN_WAIT ? TIME_WAIT : CLOSE_WAIT;
	return state == SYN_RECEIVED ? ESTABLISHED : state;
}

static void move(struct sp_observer *o, uint32_t i, enum state state)
{
	if (state == ABSENT)
		forget(o, i);
	else if (state != (enum state)o->connections->pool[i].state)
		set_state(o, i, state);
}

void tcp_sent(struct sp_observer *o, const struct tcp_end *end, uint8_t flags)
{
	uint64_t flow;
	uint32_t i;

	if (!(flags & (TCP_SYN | TCP_FIN | TCP_RST)))
		return;
	flow = name_of(o->connections, end);
	i = find(o, flow);
	if ((flags & (TCP_SYN | TCP_RST)) == TCP_SYN) {
		if (!i)
			i = add(o, end, flow);
		move(o, i, flags & TCP_ACK ? SYN_RECEIVED : SYN_SENT);
	} else if (i) {
		move(o, i,
		     state_after_sent((enum state)o->connections->pool[i].state,
				      flags));
	}
}

bool tcp_received(struct sp_observer *o, const struct tcp_end *end,
		  uint8_t flags)
{
	struct connections *c = o->connections;
	enum state state;
	uint32_t i;

	if (!(flags & (TCP_SYN | TCP_FIN | TCP_RST)) &&
	    !c->half_open[filter_of(c, end)])
		return false;
	i = find(o, name_of(c, end));
	if (!i)
		return false;
	state = (enum state)c->pool[i].state;
	if ((flags & (TCP_SYN | TCP_RST)) == TCP_SYN && state == ESTABLISHED)
		return true;
	move(o, i, state_after_received(state, flags));
	return false;
}

bool tcp_exists(struct sp_observer *o, const struct tcp_end *end)
{
	return find(o, name_of(o->connections, end)) != 0;
}
