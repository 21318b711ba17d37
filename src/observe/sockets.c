/* SPDX-License-Identifier: MIT */
/*
 * observe/sockets.c - see sockets.h.
 *
 * A TCP connection is a name (flow.h) and a state in a bucket of eight. Data
 * segments do not touch the table: only SYN, FIN and RST do, and the ACK that
 * ends a handshake, which is found by a small filter of names that are
 * half-open. A false hit there costs one look at the table.
 *
 * Rules: net/ipv4/tcp_minisocks.c (TIME-WAIT lasts 60 s), net/ipv4/tcp_input.c
 * (tcp_validate_incoming: SYN in ESTABLISHED).
 */
#include "observe/sockets.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "observe/flow.h"

#define NR_WAYS         8u
#define FILTER_SIZE     4096u
#define TICK_SHIFT      24 /* 16.8 ms */
#define TIME_WAIT_TICKS (uint32_t)(60000000000ull >> TICK_SHIFT)
#define DEFAULT_SOCKETS 65536u
#define MAX_SOCKETS     (1u << 26)

enum state {
	ABSENT,
	SYN_SENT,
	SYN_RECEIVED,
	ESTABLISHED,
	CLOSE_WAIT, /* the peer's FIN came */
	FIN_WAIT,   /* the host's FIN left */
	TIME_WAIT,
};

struct connection {
	uint64_t flow;
	uint32_t tick; /* of the last change of state; wraps after 2.3 years */
	uint16_t filter; /* its place in half_open[] */
	uint8_t state;
};

struct bucket {
	struct connection ways[NR_WAYS];
};

/* One bit a port. */
struct udp_space {
	uint64_t told[1024];
	uint64_t sent[1024];    /* or silent, since it was last refused */
	uint64_t refused[1024]; /* and not sent from since */
};

struct sockets {
	struct sp_hash_key key;
	uint64_t bucket_mask;
	struct bucket *buckets;
	bool learn_ports;
	uint8_t half_open
		[FILTER_SIZE]; /* how many names fall here, up to 255 */
	struct udp_space udp[NR_UDP_SPACES];
};

static bool bit_get(const uint64_t *bits, uint16_t i)
{
	return bits[i / 64] >> (i % 64) & 1;
}

static void bit_set(uint64_t *bits, uint16_t i)
{
	bits[i / 64] |= 1ull << (i % 64);
}

static void bit_clear(uint64_t *bits, uint16_t i)
{
	bits[i / 64] &= ~(1ull << (i % 64));
}

static void listen_on(struct sockets *sockets, const struct sp_listen *listen)
{
	bool lite = listen->protocol == IPPROTO_UDPLITE;

	if (!lite && listen->protocol != IPPROTO_UDP)
		return;
	bit_set(sockets->udp[UDP_SPACE(false, lite)].told, listen->port);
	bit_set(sockets->udp[UDP_SPACE(true, lite)].told, listen->port);
}

int sockets_create(const struct sp_observer_opts *opts,
		   struct sockets **ret_sockets)
{
	uint32_t max = opts->max_sockets ? opts->max_sockets : DEFAULT_SOCKETS;
	struct sockets *sockets;
	uint64_t nr_buckets = 1;

	if (max > MAX_SOCKETS)
		return -EINVAL;
	/* Half full at @max, so that few buckets overflow before that. */
	while (nr_buckets * NR_WAYS < 2ull * max)
		nr_buckets *= 2;
	sockets = calloc(1, sizeof(*sockets));
	if (!sockets)
		return -ENOMEM;
	sockets->buckets = calloc(nr_buckets, sizeof(struct bucket));
	if (!sockets->buckets) {
		free(sockets);
		return -ENOMEM;
	}
	sockets->bucket_mask = nr_buckets - 1;
	sp_hash_key_init(&sockets->key);
	sockets->learn_ports = opts->learn_ports;
	for (size_t i = 0; i < opts->nr_listens; i++)
		listen_on(sockets, &opts->listens[i]);
	*ret_sockets = sockets;
	return 0;
}

void sockets_destroy(struct sockets *sockets)
{
	if (!sockets)
		return;
	free(sockets->buckets);
	free(sockets);
}

enum udp_port udp_port_state(const struct sockets *sockets, unsigned space,
			     uint16_t port)
{
	const struct udp_space *udp = &sockets->udp[space];

	if (!port) /* nobody can listen on it */
		return UDP_CLOSED;
	if (bit_get(udp->told, port))
		return UDP_OPEN;
	if (bit_get(udp->sent, port))
		return UDP_UNDECIDED;
	return sockets->learn_ports && !bit_get(udp->refused, port)
		       ? UDP_UNDECIDED
		       : UDP_CLOSED;
}

bool udp_port_known(const struct sockets *sockets, unsigned space,
		    uint16_t port)
{
	const struct udp_space *udp = &sockets->udp[space];

	return bit_get(udp->told, port) || bit_get(udp->sent, port);
}

void udp_port_sent(struct sockets *sockets, unsigned space, uint16_t port)
{
	struct udp_space *udp = &sockets->udp[space];

	if (!port || bit_get(udp->sent, port))
		return;
	bit_set(udp->sent, port);
	bit_clear(udp->refused, port);
}

void udp_port_silent(struct sockets *sockets, unsigned space, uint16_t port)
{
	/* A refusal may have come since, for another datagram. */
	if (!bit_get(sockets->udp[space].refused, port))
		bit_set(sockets->udp[space].sent, port);
}

void udp_port_refused(struct sockets *sockets, unsigned space, uint16_t port)
{
	struct udp_space *udp = &sockets->udp[space];

	bit_clear(udp->sent, port);
	bit_set(udp->refused, port);
}

static uint64_t name_of(const struct sockets *sockets,
			const struct tcp_end *end)
{
	return flow_hash(
		&sockets->key, end->local, end->remote, end->ipv6,
		flow_tag(end->local_port, end->remote_port, IPPROTO_TCP));
}

static uint16_t filter_of(const struct sockets *sockets,
			  const struct tcp_end *end)
{
	uint64_t x = flow_load(end->remote + (end->ipv6 ? 12 : 0), 4) << 32 |
		     (uint64_t)end->remote_port << 16 | end->local_port;

	x = (x ^ sockets->key.k0) * 0xff51afd7ed558ccdull;
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

static uint32_t age_of(const struct sp_observer *o,
		       const struct connection *connection)
{
	return (uint32_t)(o->now_ns >> TICK_SHIFT) - connection->tick;
}

static bool is_alive(const struct sp_observer *o,
		     const struct connection *connection)
{
	if (connection->state == TIME_WAIT)
		return age_of(o, connection) < TIME_WAIT_TICKS;
	return connection->state != ABSENT;
}

static struct connection *find(const struct sp_observer *o, uint64_t flow)
{
	struct bucket *bucket =
		&o->sockets->buckets[flow & o->sockets->bucket_mask];

	for (unsigned i = 0; i < NR_WAYS; i++)
		if (bucket->ways[i].flow == flow &&
		    is_alive(o, &bucket->ways[i]))
			return &bucket->ways[i];
	return NULL;
}

static void set_state(struct sp_observer *o, struct connection *connection,
		      enum state state)
{
	uint8_t *half_open = &o->sockets->half_open[connection->filter];

	if (connection->state == SYN_RECEIVED && state != SYN_RECEIVED)
		filter_remove(half_open);
	if (connection->state != SYN_RECEIVED && state == SYN_RECEIVED)
		filter_add(half_open);
	connection->state = (uint8_t)state;
	connection->tick = (uint32_t)(o->now_ns >> TICK_SHIFT);
}

/* A dead way of the bucket, else the one that was silent for longest. */
static struct connection *room_for(struct sp_observer *o, uint64_t flow)
{
	struct bucket *bucket =
		&o->sockets->buckets[flow & o->sockets->bucket_mask];
	struct connection *oldest = &bucket->ways[0];

	for (unsigned i = 0; i < NR_WAYS; i++) {
		struct connection *way = &bucket->ways[i];

		if (!is_alive(o, way))
			return way;
		if (age_of(o, way) > age_of(o, oldest))
			oldest = way;
	}
	o->stats.nr_sockets_evicted++;
	set_state(o, oldest, ABSENT);
	return oldest;
}

static void open_as(struct sp_observer *o, const struct tcp_end *end,
		    uint64_t flow, enum state state)
{
	struct connection *connection = find(o, flow);

	if (!connection) {
		connection = room_for(o, flow);
		connection->flow = flow;
		connection->filter = filter_of(o->sockets, end);
	}
	set_state(o, connection, state);
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

void tcp_sent(struct sp_observer *o, const struct tcp_end *end, uint8_t flags)
{
	struct connection *connection;
	uint64_t flow;

	if (!(flags & (TCP_SYN | TCP_FIN | TCP_RST)))
		return;
	flow = name_of(o->sockets, end);
	if ((flags & (TCP_SYN | TCP_RST)) == TCP_SYN) {
		open_as(o, end, flow,
			flags & TCP_ACK ? SYN_RECEIVED : SYN_SENT);
		return;
	}
	connection = find(o, flow);
	if (connection)
		set_state(
			o, connection,
			state_after_sent((enum state)connection->state, flags));
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

bool tcp_received(struct sp_observer *o, const struct tcp_end *end,
		  uint8_t flags)
{
	struct connection *connection;
	enum state before, after;

	if (!(flags & (TCP_SYN | TCP_FIN | TCP_RST)) &&
	    !o->sockets->half_open[filter_of(o->sockets, end)])
		return false;
	connection = find(o, name_of(o->sockets, end));
	if (!connection)
		return false;
	before = (enum state)connection->state;
	if ((flags & (TCP_SYN | TCP_RST)) == TCP_SYN && before == ESTABLISHED)
		return true;
	after = state_after_received(before, flags);
	if (after != before)
		set_state(o, connection, after);
	return false;
}

bool tcp_exists(const struct sp_observer *o, const struct tcp_end *end)
{
	return find(o, name_of(o->sockets, end)) != NULL;
}
