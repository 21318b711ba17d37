/* SPDX-License-Identifier: MIT */
/*
 * observe/ip.h - what the input and the output sides of IPv4 and IPv6 share.
 */
#ifndef SP_OBSERVE_IP_H
#define SP_OBSERVE_IP_H

#include <stdbool.h>
#include <stdint.h>

#include "observe/host.h"
#include "observe/observer.h"
#include "packet/ip.h"

#define IPV4_LEN         20u /* of the fixed header */
#define IPV4_MORE        0x2000
#define IPV4_OFFSET_MASK 0x1fff

#define IPV6_LEN          40u
#define IPV6_FRAGMENT_LEN 8u
#define IPV6_MORE         0x0001
#define IPV6_OFFSET_MASK  0xfff8
#define IP_MAX_PAYLOAD    65535u

enum mld_type {
	MLD_QUERY = 130,
	MLD_REPORT_V1 = 131,
	MLD_DONE = 132,
	MLD_REPORT_V2 = 143,
};

/* Where IPv4 takes a packet. */
enum route {
	ROUTE_NONE, /* martian, or a group that the host is not in */
	ROUTE_LOCAL,
	ROUTE_BROADCAST,
	ROUTE_MULTICAST,
	ROUTE_FOREIGN,
};

/* What is behind @len is padding of the frame. */
static inline void packet_trim(struct packet *packet, uint32_t len)
{
	packet->len = len;
	if (packet->cap_len > len)
		packet->cap_len = len;
}

static inline uint32_t ipv4_header_len(const uint8_t *ip)
{
	return (ip[0] & 0xf) * 4u;
}

static inline bool ipv4_is_fragment(const uint8_t *ip)
{
	return sp_get_be16(ip + 6) & (IPV4_MORE | IPV4_OFFSET_MASK);
}

/* The total length; super-packets of TCP above 64 KiB never were on a wire and
 * say 0 (BIG TCP). */
static inline uint32_t ipv4_total_len(const struct packet *packet)
{
	uint32_t total = sp_get_be16(packet->data + 2);

	if (!total && packet->len > IP_MAX_PAYLOAD &&
	    packet->data[9] == SP_PROTO_TCP)
		return packet->len;
	return total;
}

/* ipv4.c: the payload of a packet or fragment. */
struct payload ipv4_payload(const struct packet *packet);
void ipv4_deliver(struct sp_observer *o, const struct payload *payload);

/* The counters of received marks stand in the order of the two bits. */
static inline void ipv4_count_ecn(struct sp_observer *o, const uint8_t *ip)
{
	size_t off = (ip[1] & 3) * sizeof(uint64_t);

	cell_add(o->net, SP_NET_CELL(ipext, InNoECTPkts) + off, 1);
}

static inline void ipv6_count_ecn(struct sp_observer *o, const uint8_t *ip)
{
	size_t off = (ip[1] >> 4 & 3) * sizeof(uint64_t);

	cell_add(o->net, SP_NET_CELL(ip6, InNoECTPkts) + off, 1);
	cell_add(o->dev, SP_NETDEV_CELL(ip6, InNoECTPkts) + off, 1);
}

static inline void ipv4_count_cast(struct sp_observer *o, enum route route,
				   uint32_t len)
{
	if (route == ROUTE_MULTICAST) {
		NET_INC(o, ipext, InMcastPkts);
		NET_ADD(o, ipext, InMcastOctets, len);
	} else if (route == ROUTE_BROADCAST) {
		NET_INC(o, ipext, InBcastPkts);
		NET_ADD(o, ipext, InBcastOctets, len);
	}
}

#endif
