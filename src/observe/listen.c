/* SPDX-License-Identifier: MIT */
/*
 * observe/listen.c - see listen.h.
 *
 * Rules: net/ipv4/udp.c (an unconnected socket is in TCP_CLOSE).
 */
#include "observe/listen.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "observe/ports.h"
#include "observe/tcp.h"

#define UDP_SILENT_NS (60 * SECOND_NS)

/* One bit a port. */
struct port_bits {
	uint64_t words[1024];
};

struct listen {
	struct port_bits has_row[NR_UDP_SPACES];
	struct port_bits is_active[NR_UDP_SPACES]; /* sent since it was looked
						    * at */
};

static bool bit_get(const struct port_bits *bits, uint16_t port)
{
	return bits->words[port / 64] >> (port % 64) & 1;
}

static void bit_set(struct port_bits *bits, uint16_t port)
{
	bits->words[port / 64] |= 1ull << port % 64;
}

static void bit_clear(struct port_bits *bits, uint16_t port)
{
	bits->words[port / 64] &= ~(1ull << port % 64);
}

static struct sp_conn_key wildcard(bool ipv6, uint8_t protocol, uint16_t port)
{
	return (struct sp_conn_key){
		.local_port = port,
		.family = ipv6 ? AF_INET6 : AF_INET,
		.protocol = protocol,
	};
}

static struct sp_conn_key key_of_space(unsigned space, uint16_t port)
{
	return wildcard(
		UDP_SPACE_IS_IPV6(space),
		UDP_SPACE_IS_LITE(space) ? IPPROTO_UDPLITE : IPPROTO_UDP, port);
}

static unsigned space_of(const struct conn *conn)
{
	return UDP_SPACE(conn->key.family == AF_INET6,
			 conn->key.protocol == IPPROTO_UDPLITE);
}

/* Return: NULL if there is no room. */
static struct conn *add_row(struct sp_observer *o,
			    const struct sp_conn_key *key,
			    enum conn_class class)
{
	struct sp_conn_table *conns = o->tcp->conns;
	uint64_t hash = conn_hash(conns, key);
	struct conn *conn;

	conn = conn_find(conns, hash, key);
	if (conn) /* named twice */
		return conn;
	conn = tcp_add(o, key, hash, class, 0);
	if (!conn)
		return NULL;
	conn->state =
		key->protocol == IPPROTO_TCP ? SP_TCP_LISTEN : SP_TCP_CLOSE;
	conn->last_ns = o->now_ns;
	return conn;
}

static int add_told(struct sp_observer *o, const struct sp_listen *listen)
{
	for (int ipv6 = 0; ipv6 < 2; ipv6++) {
		struct sp_conn_key key =
			wildcard(ipv6, listen->protocol, listen->port);

		if (!add_row(o, &key, CONN_FIXED))
			return -ENOSPC;
		if (listen->protocol != IPPROTO_TCP)
			bit_set(&o->listen->has_row[UDP_SPACE(
					ipv6,
					listen->protocol == IPPROTO_UDPLITE)],
				listen->port);
	}
	conn_settle(o->tcp->conns);
	return 0;
}

int listen_create(struct sp_observer *o, const struct sp_observer_opts *opts)
{
	int err = 0;

	o->listen = calloc(1, sizeof(*o->listen));
	if (!o->listen)
		return -ENOMEM;
	for (size_t i = 0; i < opts->nr_listens && !err; i++)
		err = add_told(o, &opts->listens[i]);
	return err;
}

void listen_destroy(struct sp_observer *o)
{
	free(o->listen);
}

void listen_udp_sent(struct sp_observer *o, unsigned space, uint16_t port)
{
	struct listen *listen = o->listen;
	struct sp_conn_key key;
	struct conn *conn;

	bit_set(&listen->is_active[space], port);
	if (bit_get(&listen->has_row[space], port) || !port)
		return;
	key = key_of_space(space, port);
	conn = add_row(o, &key, CONN_FULL);
	if (!conn)
		return;
	bit_set(&listen->has_row[space], port);
	tcp_arm(o, conn, UDP_SILENT_NS);
	conn_settle(o->tcp->conns);
}

void listen_udp_refused(struct sp_observer *o, unsigned space, uint16_t port)
{
	struct sp_conn_key key = key_of_space(space, port);
	struct conn *conn;

	if (!bit_get(&o->listen->has_row[space], port))
		return;
	conn = conn_find(o->tcp->conns, conn_hash(o->tcp->conns, &key), &key);
	if (!conn || conn->class == CONN_FIXED)
		return;
	bit_clear(&o->listen->has_row[space], port);
	conn_remove(o->tcp->conns, conn);
}

bool listen_udp_gone(struct sp_observer *o, struct conn *conn, bool expired)
{
	unsigned space = space_of(conn);
	uint16_t port = conn->key.local_port;

	if (expired && bit_get(&o->listen->is_active[space], port)) {
		bit_clear(&o->listen->is_active[space], port);
		tcp_arm(o, conn, UDP_SILENT_NS);
		return true;
	}
	bit_clear(&o->listen->has_row[space], port);
	return false;
}
