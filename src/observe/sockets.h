/* SPDX-License-Identifier: MIT */
/*
 * observe/sockets.h - which UDP ports are open and which TCP connections exist,
 * as far as packets and the operator tell.
 *
 * UDP: a port that the operator names is open. One that the host sends from may
 * be open: the port unreachable that follows a datagram, or does not, decides.
 * Such an error closes the port until the host sends from it again. With
 * learn_ports every port may be open until an error says no; where no error can
 * tell, it takes a sign that the port is open.
 *
 * TCP: connections are known from their SYN, FIN and RST segments, as much as is
 * needed to judge segments that ICMP errors quote. The table is bounded; a full
 * bucket gives up its oldest connection, which is counted.
 */
#ifndef SP_OBSERVE_SOCKETS_H
#define SP_OBSERVE_SOCKETS_H

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

int sockets_create(const struct sp_observer_opts *opts,
		   struct sockets **ret_sockets);
void sockets_destroy(struct sockets *sockets);

/* @space: UDP_SPACE() */
enum udp_port udp_port_state(const struct sockets *sockets, unsigned space,
			     uint16_t port);
/* Whether there is a sign that the port is open, for questions that no error
 * will ever answer: it was told, sent from, or took a datagram in silence. */
bool udp_port_known(const struct sockets *sockets, unsigned space,
		    uint16_t port);
/* The host sent from it; was silent about a datagram to it; refused one. */
void udp_port_sent(struct sockets *sockets, unsigned space, uint16_t port);
void udp_port_silent(struct sockets *sockets, unsigned space, uint16_t port);
void udp_port_refused(struct sockets *sockets, unsigned space, uint16_t port);

/* What of a segment concerns the table. */
struct tcp_end {
	const uint8_t *local; /* address of the host */
	const uint8_t *remote;
	uint16_t local_port;
	uint16_t remote_port;
	bool ipv6;
};

/**
 * tcp_received() - a sound segment came in
 * @flags: the low octet of the TCP flags
 *
 * Return: true if it carries SYN into an established connection, which the
 * kernel answers with a challenge ACK and counts as an error.
 */
bool tcp_received(struct sp_observer *o, const struct tcp_end *end,
		  uint8_t flags);
void tcp_sent(struct sp_observer *o, const struct tcp_end *end, uint8_t flags);

/* Whether there is a connection, in whatever state, listeners apart. */
bool tcp_exists(const struct sp_observer *o, const struct tcp_end *end);

#define TCP_FIN 0x01
#define TCP_SYN 0x02
#define TCP_RST 0x04
#define TCP_ACK 0x10

#endif
