/* SPDX-License-Identifier: MIT */
/*
 * observe/ports.h - which UDP ports are open, as far as packets and the operator
 * tell.
 *
 * A port that the operator names is open. One that the host sends from may be
 * open: the port unreachable that follows a datagram, or does not, decides. Such
 * an error closes the port until the host sends from it again. With learn_ports
 * every port may be open until an error says no; where no error can tell, it
 * takes a sign that the port is open.
 */
#ifndef SP_OBSERVE_PORTS_H
#define SP_OBSERVE_PORTS_H

#include <stdbool.h>
#include <stdint.h>

#include "observe/observer.h"

enum udp_port {
	UDP_CLOSED,
	UDP_UNDECIDED,
	UDP_OPEN,
};

/* Ports of UDP and UDP-Lite, over IPv4 and IPv6, are four different things. */
#define UDP_SPACE(ipv6, lite)    (((lite) ? 2u : 0u) + ((ipv6) ? 1u : 0u))
#define UDP_SPACE_IS_IPV6(space) ((space)&1)
#define UDP_SPACE_IS_LITE(space) ((space)&2)
#define NR_UDP_SPACES            4u

int ports_create(const struct sp_observer_opts *opts, struct ports **ret_ports);
void ports_destroy(struct ports *ports);

/* @space: UDP_SPACE() */
enum udp_port udp_port_state(const struct ports *ports, unsigned space,
			     uint16_t port);
/* Whether there is a sign that the port is open, for questions that no error
 * will ever answer: it was told, sent from, or took a datagram in silence. */
bool udp_port_known(const struct ports *ports, unsigned space, uint16_t port);
/* The host sent from it; was silent about a datagram to it; refused one. */
void udp_port_sent(struct ports *ports, unsigned space, uint16_t port);
void udp_port_silent(struct ports *ports, unsigned space, uint16_t port);
void udp_port_refused(struct ports *ports, unsigned space, uint16_t port);

#endif
