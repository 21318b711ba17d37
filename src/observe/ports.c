/* SPDX-License-Identifier: MIT */
/*
 * observe/ports.c - see ports.h.
 */
#include "observe/ports.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>

/* One bit a port. */
struct udp_space {
	uint64_t told[1024];
	uint64_t sent[1024];    /* or silent, since it was last refused */
	uint64_t refused[1024]; /* and not sent from since */
};

struct ports {
	bool learn;
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

static void listen_on(struct ports *ports, const struct sp_listen *listen)
{
	bool lite = listen->protocol == IPPROTO_UDPLITE;

	if (!lite && listen->protocol != IPPROTO_UDP)
		return;
	bit_set(ports->udp[UDP_SPACE(false, lite)].told, listen->port);
	bit_set(ports->udp[UDP_SPACE(true, lite)].told, listen->port);
}

int ports_create(const struct sp_observer_opts *opts, struct ports **ret_ports)
{
	struct ports *ports = calloc(1, sizeof(*ports));

	if (!ports)
		return -ENOMEM;
	ports->learn = opts->learn_ports;
	for (size_t i = 0; i < opts->nr_listens; i++)
		listen_on(ports, &opts->listens[i]);
	*ret_ports = ports;
	return 0;
}

void ports_destroy(struct ports *ports)
{
	free(ports);
}

enum udp_port udp_port_state(const struct ports *ports, unsigned space,
			     uint16_t port)
{
	const struct udp_space *udp = &ports->udp[space];

	if (!port) /* nobody can listen on it */
		return UDP_CLOSED;
	if (bit_get(udp->told, port))
		return UDP_OPEN;
	if (bit_get(udp->sent, port))
		return UDP_UNDECIDED;
	return ports->learn && !bit_get(udp->refused, port) ? UDP_UNDECIDED
							    : UDP_CLOSED;
}

bool udp_port_known(const struct ports *ports, unsigned space, uint16_t port)
{
	const struct udp_space *udp = &ports->udp[space];

	return bit_get(udp->told, port) || bit_get(udp->sent, port);
}

void udp_port_sent(struct ports *ports, unsigned space, uint16_t port)
{
	struct udp_space *udp = &ports->udp[space];

	if (!port || bit_get(udp->sent, port))
		return;
	bit_set(udp->sent, port);
	bit_clear(udp->refused, port);
}

void udp_port_silent(struct ports *ports, unsigned space, uint16_t port)
{
	/* A refusal may have come since, for another datagram. */
	if (!bit_get(ports->udp[space].refused, port))
		bit_set(ports->udp[space].sent, port);
}

void udp_port_refused(struct ports *ports, unsigned space, uint16_t port)
{
	struct udp_space *udp = &ports->udp[space];

	bit_clear(udp->sent, port);
	bit_set(udp->refused, port);
}
