/* SPDX-License-Identifier: MIT */
/*
 * observe/sockets.c - see sockets.h.
 */
#include "observe/sockets.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>

/* One bit a port. */
struct udp_space {
	uint64_t told[1024];
	uint64_t sent[1024];    /* or silent, since it was last refused */
	uint64_t refused[1024]; /* and not sent from since */
};

struct sockets {
	bool learn_ports;
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
	struct sockets *sockets = calloc(1, sizeof(*sockets));

	if (!sockets)
		return -ENOMEM;
	sockets->learn_ports = opts->learn_ports;
	for (size_t i = 0; i < opts->nr_listens; i++)
		listen_on(sockets, &opts->listens[i]);
	*ret_sockets = sockets;
	return 0;
}

void sockets_destroy(struct sockets *sockets)
{
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
