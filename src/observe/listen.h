/* SPDX-License-Identifier: MIT */
/*
 * observe/listen.h - rows of sockets that wait for anybody: TCP listeners, and UDP
 * sockets.
 *
 * What the operator names has a row for each family all the time. A UDP port that
 * the host sends from has one until it was silent for UDP_SILENT_NS, or refuses
 * a datagram.
 */
#ifndef SP_OBSERVE_LISTEN_H
#define SP_OBSERVE_LISTEN_H

#include <stdbool.h>
#include <stdint.h>

#include "conn/conn.h"
#include "observe/observer.h"

struct listen;

/* Return: 0; -ENOMEM; -ENOSPC if the table of connections has no room. */
int listen_create(struct sp_observer *o, const struct sp_observer_opts *opts);
void listen_destroy(struct sp_observer *o);

/* @space: UDP_SPACE(). The host has sent from the port; it refused a datagram. */
void listen_udp_sent(struct sp_observer *o, unsigned space, uint16_t port);
void listen_udp_refused(struct sp_observer *o, unsigned space, uint16_t port);

/* The row of a UDP socket goes. Return: whether it shall stay (@expired only). */
bool listen_udp_gone(struct sp_observer *o, struct conn *conn, bool expired);

#endif
