/* SPDX-License-Identifier: MIT */
/*
 * observe/tcp.c - a segment is checked and finds its connection.
 *
 * Rules: net/ipv4/tcp_ipv4.c (tcp_v4_rcv, tcp_v4_err, tcp_req_err),
 * net/ipv6/tcp_ipv6.c, net/ipv4/tcp.c (tcp_set_state, tcp_done).
 */
#include "observe/tcp.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "observe/listen.h"
#include "observe/verify.h"
#include "packet/ip.h"

#define RANGES_PER_CONN 2ull
#define MIN_RANGES      4096ull

static bool is_established(unsigned state)
{
	return state == SP_TCP_ESTABLISHED || state == SP_TCP_CLOSE_WAIT;
}

/* How long a state may last without a segment; 0: for ever. */
static uint64_t lifetime_ns(const struct sp_observer *o, unsigned state)
{
	switch (state) {
	case SP_TCP_TIME_WAIT:
	case SP_TCP_FIN_WAIT2:
		return TIME_WAIT_NS;
	case SP_TCP_FIN_WAIT1:
	case SP_TCP_CLOSING:
	case SP_TCP_LAST_ACK:
		return LAST_FIN_NS;
	default:
		return o->tcp->idle_ns;
	}
}

static enum conn_class class_of(const struct conn *conn, unsigned state)
{
	switch (state) {
	case SP_TCP_NEW_SYN_RECV:
	case SP_TCP_SYN_SENT:
	case SP_TCP_SYN_RECV:
		return CONN_EMBRYONIC;
	case SP_TCP_TIME_WAIT:
		return CONN_WAITING;
	default:
		return CONN_FULL;
	}
}

struct conn *tcp_add(struct sp_observer *o, const struct sp_conn_key *key,
		     uint64_t hash, enum conn_class class, uint32_t flags)
{
	struct conn *conn = conn_add(o->tcp->conns, hash, key, class);

	if (!conn)
		return NULL;
	conn->first_ns = o->now_ns;
	conn->flags = flags | CONN_OBSERVED;
	return conn;
}

void tcp_arm(struct sp_observer *o, struct conn *conn, uint64_t lifetime_ns)
{
	conn_arm(o->tcp->conns, conn, o->now_ns, lifetime_ns);
	if (lifetime_ns && o->now_ns + lifetime_ns < o->next_timer_ns)
		o->next_timer_ns = o->now_ns + lifetime_ns;
}

void tcp_set_state(struct sp_observer *o, struct conn *conn,
		   enum sp_tcp_state state)
{
	int change = is_established(state) - is_established(conn->state);

	if (change)
		NET_ADD(o, tcp, CurrEstab, (uint64_t)(int64_t)change);
	conn->state = (uint8_t)state;
	conn_set_class(o->tcp->conns, conn, class_of(conn, state));
	if (conn->class == CONN_EMBRYONIC)
		return; /* timers of its own */
	tcp_arm(o, conn, lifetime_ns(o, state));
}

/* The connection's ranges and its part of the gauge go. */
static void release(struct sp_observer *o, struct conn *conn)
{
	sent_clear(&o->tcp->ranges, conn);
	early_clear(&o->tcp->ranges, conn);
	if (is_established(conn->state))
		NET_ADD(o, tcp, CurrEstab, (uint64_t)-1);
}

void tcp_forget(struct sp_observer *o, struct conn *conn)
{
	release(o, conn);
	conn_remove(o->tcp->conns, conn);
}

void tcp_done(struct sp_observer *o, struct conn *conn)
{
	if (is_established(conn->state))
		NET_INC(o, tcp, EstabResets);
	if (conn->state == SP_TCP_SYN_SENT || conn->state == SP_TCP_SYN_RECV)
		NET_INC(o, tcp, AttemptFails);
	tcp_forget(o, conn);
}

void tcp_time_wait(struct sp_observer *o, struct conn *conn)
{
	sent_clear(&o->tcp->ranges, conn);
	early_clear(&o->tcp->ranges, conn);
	NET_INC(o, tcpext, TW);
	tcp_set_state(o, conn, SP_TCP_TIME_WAIT);
}

/* Its time is up, or somebody else needs its room. */
static bool on_gone(void *ctx, struct conn *conn, bool expired)
{
	struct sp_observer *o = ctx;

	if (conn->key.protocol != IPPROTO_TCP)
		return listen_udp_gone(o, conn, expired);
	if (expired && conn->state == SP_TCP_SYN_SENT)
		NET_INC(o, tcp, AttemptFails);
	release(o, conn);
	return false;
}

void tcp_negotiate(struct conn *conn)
{
	if (tcp_has(conn, CONN_PEER_SACK | CONN_OWN_SACK))
		conn->flags |= CONN_SACK;
	if (tcp_has(conn, CONN_PEER_TIMESTAMPS | CONN_OWN_TIMESTAMPS))
		conn->flags |= CONN_TIMESTAMPS;
	if (!tcp_has(conn, CONN_PEER_WSCALE | CONN_OWN_WSCALE))
		conn->snd_wscale = conn->rcv_wscale = 0;
}

uint32_t tcp_mss(const struct conn *conn)
{
	uint32_t mss = conn->peer_mss;

	if (!conn->own_mss)
		return 0;
	if (!mss || conn->own_mss < mss)
		mss = conn->own_mss;
	if (conn->flags & CONN_TIMESTAMPS)
		mss -= mss > 12 ? 12 : 0;
	return mss;
}

static int get_table(struct tcp *tcp, const struct sp_observer_opts *opts)
{
	struct sp_conn_opts conn_opts = {
		.sz = sizeof(conn_opts),
		.max_conns = opts->max_sockets,
	};

	tcp->conns = opts->conns;
	if (tcp->conns)
		return 0;
	tcp->is_own = true;
	return sp_conn_table_create(opts->net, &conn_opts, &tcp->conns);
}

int tcp_create(struct sp_observer *o, const struct sp_observer_opts *opts)
{
	struct tcp *tcp = calloc(1, sizeof(*tcp));
	uint64_t nr_ranges;
	int err;

	if (!tcp)
		return -ENOMEM;
	o->tcp = tcp;
	err = get_table(tcp, opts);
	if (err)
		return err;
	tcp->idle_ns = tcp->conns->idle_ns;
	conn_on_gone(tcp->conns, on_gone, o);
	nr_ranges = tcp->conns->max * RANGES_PER_CONN + MIN_RANGES;
	return ranges_init(&tcp->ranges, (uint32_t)nr_ranges);
}

void tcp_destroy(struct sp_observer *o)
{
	if (!o->tcp)
		return;
	if (o->tcp->is_own)
		sp_conn_table_destroy(o->tcp->conns);
	else if (o->tcp->conns)
		conn_on_gone(o->tcp->conns, NULL, NULL);
	ranges_fini(&o->tcp->ranges);
	free(o->tcp);
}

void tcp_read_stats(const struct sp_observer *o,
		    struct sp_observer_stats *stats)
{
	struct sp_conn_stats conns;

	sp_conn_read_stats(o->tcp->conns, &conns);
	stats->nr_sockets_evicted = conns.nr_evicted;
	stats->nr_sockets_refused = conns.nr_refused;
	stats->nr_ranges_joined = o->tcp->ranges.nr_joined;
}

void tcp_settle(struct sp_observer *o, bool now)
{
	struct tcp *tcp = o->tcp;

	sp_table_quiescent(tcp->conns->table);
	if (!now && o->now_ns - tcp->clock_ns < SECOND_NS)
		return;
	conn_set_clock(tcp->conns, o->now_ns);
	tcp->clock_ns = o->now_ns;
}

uint64_t tcp_next_ns(const struct sp_observer *o)
{
	return conn_next_ns(o->tcp->conns);
}

void tcp_expire(struct sp_observer *o)
{
	sp_conn_advance(o->tcp->conns, o->now_ns);
}

static struct sp_conn_key key_of(const struct tcp_end *end)
{
	struct sp_conn_key key = {
		.local_port = end->local_port,
		.remote_port = end->remote_port,
		.family = end->ipv6 ? AF_INET6 : AF_INET,
		.protocol = IPPROTO_TCP,
	};

	memcpy(key.local, end->local, end->ipv6 ? 16 : 4);
	memcpy(key.remote, end->remote, end->ipv6 ? 16 : 4);
	return key;
}

static struct conn *find(const struct sp_observer *o,
			 const struct sp_conn_key *key, uint64_t *ret_hash)
{
	*ret_hash = conn_hash(o->tcp->conns, key);
	return conn_find(o->tcp->conns, *ret_hash, key);
}

static struct conn *find_end(const struct sp_observer *o,
			     const struct tcp_end *end)
{
	struct sp_conn_key key = key_of(end);
	uint64_t hash;
	struct conn *conn = find(o, &key, &hash);

	return conn && !(conn->flags & CONN_HIDDEN) ? conn : NULL;
}

bool tcp_exists(const struct sp_observer *o, const struct tcp_end *end)
{
	return find_end(o, end);
}

void tcp_error(struct sp_observer *o, const struct tcp_end *end, uint32_t seq,
	       bool hard, bool drops_half_open)
{
	struct conn *conn = find_end(o, end);

	if (!conn)
		return;
	if (conn->state == SP_TCP_SYN_RECV && conn->flags & CONN_MINI) {
		if (seq + 1 != conn->snd_nxt)
			NET_INC(o, tcpext, OutOfWindowIcmps);
		else if (drops_half_open)
			tcp_forget(o, conn);
		return;
	}
	if (conn->state == SP_TCP_TIME_WAIT)
		return;
	if (sp_seq_before(seq, conn->snd_una) ||
	    sp_seq_after(seq, conn->snd_nxt)) {
		NET_INC(o, tcpext, OutOfWindowIcmps);
		return;
	}
	if (hard &&
	    (conn->state == SP_TCP_SYN_SENT || conn->state == SP_TCP_SYN_RECV))
		tcp_done(o, conn);
}

/* The header is captured. @sent: by the host. */
static struct tcp_end end_of(const struct payload *payload,
			     const struct sp_tcp_segment *segment, bool sent)
{
	const uint8_t *src = payload->addrs;
	const uint8_t *dst = src + (payload->ipv6 ? 16 : 4);

	return (struct tcp_end){
		.local = sent ? src : dst,
		.remote = sent ? dst : src,
		.local_port = sent ? segment->sport : segment->dport,
		.remote_port = sent ? segment->dport : segment->sport,
		.ipv6 = payload->ipv6,
	};
}

/* Return: false if the kernel throws it away before it looks for a socket. */
static bool is_sound(struct sp_observer *o, const struct payload *payload)
{
	uint32_t header_len;

	if (payload->len < SP_TCP_HEADER_LEN)
		return false;
	if (payload->cap_len < SP_TCP_HEADER_LEN) {
		o->stats.nr_unchecked++;
		return false;
	}
	header_len = (payload->data[12] >> 4) * 4u;
	if (header_len < SP_TCP_HEADER_LEN) {
		NET_INC(o, tcp, InErrs);
		return false;
	}
	if (header_len > payload->len)
		return false;
	if (verify_pseudo(o, payload, 16, payload->len, payload->len))
		return true;
	NET_INC(o, tcp, InCsumErrors);
	NET_INC(o, tcp, InErrs);
	return false;
}

/* Where a segment belongs. */
struct place {
	const struct sp_conn_key *key;
	uint64_t hash;
	struct conn *conn; /* or NULL */
	struct sp_conn_key own_key;
};

static void find_place(struct sp_observer *o, const struct payload *payload,
		       const struct sp_tcp_segment *segment, bool sent,
		       struct place *place)
{
	struct tcp_end end;

	if (ahead_find(o, payload->data, &place->key, &place->hash,
		       &place->conn))
		return;
	end = end_of(payload, segment, sent);
	place->own_key = key_of(&end);
	place->key = &place->own_key;
	place->conn = find(o, place->key, &place->hash);
}

void tcp_input(struct sp_observer *o, const struct payload *payload)
{
	struct sp_tcp_segment segment;
	struct place place;

	if (!payload->to_host) /* not to the host's own MAC address */
		return;
	NET_INC(o, tcp, InSegs);
	if (!is_sound(o, payload))
		return;
	sp_tcp_decode(payload->data, payload->cap_len, payload->len, &segment);
	find_place(o, payload, &segment, false, &place);
	tcp_receive(o, place.conn, place.key, place.hash, &segment);
	conn_settle(o->tcp->conns);
}

void tcp_output(struct sp_observer *o, const struct payload *payload)
{
	struct sp_tcp_segment segment;
	struct place place;

	if (payload->cap_len < SP_TCP_HEADER_LEN) {
		NET_INC(o, tcp, OutSegs);
		return;
	}
	if (payload->data[13] & SP_TCP_RST)
		NET_INC(o, tcp, OutRsts);
	sp_tcp_decode(payload->data, payload->cap_len, payload->len, &segment);
	find_place(o, payload, &segment, true, &place);
	tcp_send(o, place.conn, place.key, place.hash, &segment);
	conn_settle(o->tcp->conns);
}
