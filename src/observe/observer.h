/* SPDX-License-Identifier: MIT */
/*
 * observe/observer.h - what the files of this room share.
 *
 * A frame goes up through the layers as a packet does in the kernel: link.c,
 * then ipv4.c or ipv6.c, then icmp.c, icmp6.c, udp.c or tcp.c. Each layer has an
 * input side (frames that the host received) and an output side (frames that it
 * sent), counts what the kernel counts there, and hands on what is left. What a
 * layer must remember stands in a table of fixed size:
 *
 *	host.c     the host's addresses and multicast groups
 *	ports.c    open UDP ports
 *	tcp.c      TCP connections
 *	pending.c  packets whose fate shows in what the host sends next
 *	forward.c  packets on their way through a router
 *
 * One thread at a time. After sp_observer_create() nothing allocates, waits or
 * fails. Every octet of a frame is hostile: `cap_len` bounds what may be read,
 * `len` is what headers and errors are judged by.
 */
#ifndef SP_OBSERVE_OBSERVER_H
#define SP_OBSERVE_OBSERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <statplane/net.h>
#include <statplane/observe.h>

#include "packet/frame.h"
#include "packet/reasm.h"

#define SECOND_NS 1000000000ull

/* One packet of the network layer. */
struct packet {
	const uint8_t *data; /* from the network header on */
	uint32_t cap_len;    /* octets at @data */
	uint32_t len;        /* octets on the wire, the frame's padding too */
	bool to_host;        /* the frame's destination is no group address */
	bool looped;         /* the host hears what it sent itself */
};

/* What a transport protocol gets or sends: the payload of one datagram. */
struct payload {
	const uint8_t *addrs; /* source, then destination, in network order */
	const uint8_t *data;
	uint32_t cap_len;
	uint32_t len;
	uint8_t protocol;
	bool ipv6;
	bool group;   /* to a multicast or broadcast address */
	bool to_host; /* as in struct packet */
	bool looped;
	bool first_of_many; /* the rest is in later fragments */
};

#define PENDING_FOREIGN6 255 /* IPv6 packet for somebody else */

struct host;
struct ports;
struct pending;
struct forward;
struct tcp;
struct listen;

struct sp_observer {
	char *net; /* this lane's cells: of the namespace, of the device */
	char *dev;
	uint64_t now_ns;        /* the clock, from an hour on */
	uint64_t latest_ns;     /* time of a frame that it stands for */
	uint64_t next_timer_ns; /* nothing to do before */

	uint32_t linktype;
	uint16_t vlan_id;
	bool has_mac;
	bool is_plain; /* Ethernet, MAC address known, no VLAN */
	uint64_t mac;  /* as link.c reads one */
	enum sp_checksum_mode checksum;

	struct host *host;
	struct ports *ports;
	struct tcp *tcp;
	struct listen *listen;
	struct pending *pending; /* kinds: UDP_SPACE(), PENDING_FOREIGN6 */
	struct forward *forward; /* NULL unless the host is a router */
	struct sp_reasm *reasm4;
	struct sp_reasm *reasm6;
	bool reasm_changed; /* the gauges of net/sockstat are out of date */
	uint32_t frag_queues[2]; /* what the gauges say, IPv4 and IPv6 */
	uint32_t frag_bytes[2];

	struct sp_observer_stats stats;
};

/*
 * Counting. The lane belongs to this thread, so that a plain addition is
 * enough; readers of other threads must only never see half a number.
 */
static inline void cell_add(char *cells, size_t off, uint64_t value)
{
	uint64_t *cell = (uint64_t *)(void *)(cells + off);

	__atomic_store_n(cell, *cell + value, __ATOMIC_RELAXED);
}

#define NET_ADD(o, group, item, value)                                         \
	cell_add((o)->net, SP_NET_CELL(group, item), value)
#define DEV_ADD(o, group, item, value)                                         \
	cell_add((o)->dev, SP_NETDEV_CELL(group, item), value)
#define NET_INC(o, group, item) NET_ADD(o, group, item, 1)

/* IPv6 and ICMPv6 count for the namespace and for the device alike. */
#define NET6_ADD(o, group, item, value)                                        \
	do {                                                                   \
		NET_ADD(o, group, item, value);                                \
		DEV_ADD(o, group, item, value);                                \
	} while (0)
#define NET6_INC(o, group, item) NET6_ADD(o, group, item, 1)

/* A group that UDP keeps four times: for both protocols and both families. */
#define UDP_INC(o, ipv6, lite, item)                                           \
	cell_add((o)->net,                                                     \
		 (ipv6)   ? (lite) ? SP_NET_CELL(udplite6, item)               \
				   : SP_NET_CELL(udp6, item)                   \
		   : (lite) ? SP_NET_CELL(udplite, item)                       \
			  : SP_NET_CELL(udp, item),                            \
		 1)

/* link.c */
void link_init(struct sp_observer *o, const struct sp_observer_opts *opts);
/* Whether it is the host's. Where link types have them. */
bool link_is_own_mac(const struct sp_observer *o, const uint8_t *mac);
void link_account(struct sp_observer *o, const struct sp_frame *frame);

/* ipv4.c */
void ipv4_input(struct sp_observer *o, struct packet *packet);
void ipv4_output(struct sp_observer *o, struct packet *packet);
/* Queues whose time is up at o->now_ns. */
void ipv4_expire(struct sp_observer *o);

/* ipv6.c */
void ipv6_input(struct sp_observer *o, struct packet *packet);
void ipv6_output(struct sp_observer *o, struct packet *packet);
void ipv6_expire(struct sp_observer *o);
/* A host, no router, answered a packet for somebody else with "no route". */
void ipv6_no_route(struct sp_observer *o, const uint8_t *quote,
		   uint32_t quote_len);
/* Such a packet got no answer. */
void ipv6_settle(struct sp_observer *o);

/* Transport protocols: what was received, what was sent. */
void icmp_input(struct sp_observer *o, const struct payload *payload);
void icmp_output(struct sp_observer *o, const struct payload *payload);
void icmp6_input(struct sp_observer *o, const struct payload *payload);
void icmp6_output(struct sp_observer *o, const struct payload *payload);
void udp_input(struct sp_observer *o, const struct payload *payload);
void udp_output(struct sp_observer *o, const struct payload *payload);
/* The host answered a datagram with "port unreachable". @space: ports.h */
void udp_refuse(struct sp_observer *o, const uint8_t *addrs, unsigned space,
		uint16_t sport, uint16_t dport);
/* A datagram got no answer. */
void udp_settle(struct sp_observer *o, unsigned space, uint16_t dport);
void tcp_input(struct sp_observer *o, const struct payload *payload);
void tcp_output(struct sp_observer *o, const struct payload *payload);

/* IGMP moves no counter, but it tells what the host has joined: group.c. */
void igmp_output(struct sp_observer *o, const struct payload *payload);
void mld_output(struct sp_observer *o, const struct payload *payload);

/* observer.c: the next moment at which a table has something to do. */
void timers_update(struct sp_observer *o);

#endif
