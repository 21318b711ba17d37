/* SPDX-License-Identifier: MIT */
/*
 * observe/connections.h - which TCP connections the host has, as their SYN, FIN
 * and RST segments tell: as much as is needed to judge segments that ICMP errors
 * quote, and SYNs in the wrong place.
 *
 * The table holds a fixed number. When it is full, the connection goes that is
 * in TIME-WAIT for longest, else the one that has been quiet for longest, and is
 * counted.
 */
#ifndef SP_OBSERVE_CONNECTIONS_H
#define SP_OBSERVE_CONNECTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "observe/observer.h"

/* @max: 0 for 65536. Return: 0; -EINVAL; -ENOMEM. */
int connections_create(uint32_t max, struct connections **ret_connections);
void connections_destroy(struct connections *connections);

/* Both ends of a segment, as the host sees them. */
struct tcp_end {
	const uint8_t *local;
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
bool tcp_exists(struct sp_observer *o, const struct tcp_end *end);

#define TCP_FIN 0x01
#define TCP_SYN 0x02
#define TCP_RST 0x04
#define TCP_ACK 0x10

#endif
