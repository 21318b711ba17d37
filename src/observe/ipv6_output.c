/* SPDX-License-Identifier: MIT */
/*
 * observe/ipv6_output.c - IPv6, sent. The headers that the host writes are taken
 * to be sound.
 *
 * Rules: net/ipv6/ip6_output.c, net/ipv6/mcast.c.
 */
#include "observe/forward.h"
#include "observe/ip.h"

/* Where the walk along the headers of a sent packet stands. */
struct walk {
	const uint8_t *data; /* the header of type @nexthdr */
	uint32_t cap_len;
	uint32_t len;
	uint8_t nexthdr;
};

static void walk_over(struct walk *walk, uint32_t len)
{
	walk->nexthdr = walk->data[0];
	walk->data += len;
	walk->len -= len;
	walk->cap_len -= len;
}

/* An extension header that gives its own length; 0 if it is not captured. */
static uint32_t header_len_at(const struct walk *walk)
{
	uint32_t len;

	if (walk->cap_len < 8)
		return 0;
	len = (walk->data[1] + 1u) * 8;
	return len <= walk->cap_len ? len : 0;
}

/* Moves the walk to the upper-layer header, or to the data of a later fragment.
 * Return: the fragment field (offset and M), 0 for a whole datagram. */
static uint16_t walk_output(struct walk *walk)
{
	uint16_t field = 0;

	for (;;) {
		uint32_t len = 8;

		switch (walk->nexthdr) {
		case SP_PROTO_HOPOPTS:
		case SP_PROTO_DSTOPTS:
		case SP_PROTO_ROUTING:
			len = header_len_at(walk);
			break;
		case SP_PROTO_FRAGMENT:
			if (walk->cap_len >= IPV6_FRAGMENT_LEN)
				field = sp_get_be16(walk->data + 2) &
					(IPV6_OFFSET_MASK | IPV6_MORE);
			break;
		default:
			return field;
		}
		if (!len || walk->cap_len < len) {
			walk->nexthdr = SP_PROTO_NONE;
			return field;
		}
		walk_over(walk, len);
		if (field & IPV6_OFFSET_MASK)
			return field;
	}
}

static void transport_output(struct sp_observer *o,
			     const struct payload *payload)
{
	switch (payload->protocol) {
	case SP_PROTO_TCP:
		tcp_output(o, payload);
		break;
	case SP_PROTO_UDP:
	case SP_PROTO_UDPLITE:
		udp_output(o, payload);
		break;
	case SP_PROTO_ICMPV6:
		icmp6_output(o, payload);
		break;
	}
}

/*
 * The socket that sends MLD reports hears them (ndisc's does not); a report of
 * version 1 goes to the group itself. The copy comes in with its route found
 * already, so that InMcastPkts does not see it.
 */
static void loop_back(struct sp_observer *o, const struct packet *packet,
		      const struct payload *sent)
{
	struct payload payload = *sent;

	if (!payload.cap_len ||
	    (payload.data[0] != MLD_REPORT_V1 && payload.data[0] != MLD_DONE))
		return;
	if (!host_in_group6(o->host, packet->data + 24))
		return;
	payload.looped = true;
	NET_INC(o, softnet, processed);
	NET6_INC(o, ip6, InReceives);
	NET6_ADD(o, ip6, InOctets, packet->len);
	ipv6_count_ecn(o, packet->data);
	NET6_INC(o, ip6, InDelivers);
	icmp6_input(o, &payload);
}

static void output_own(struct sp_observer *o, const struct packet *packet)
{
	struct walk walk = {
		.data = packet->data + IPV6_LEN,
		.cap_len = packet->cap_len - IPV6_LEN,
		.len = packet->len - IPV6_LEN,
		.nexthdr = packet->data[6],
	};
	uint16_t field = walk_output(&walk);
	struct payload payload = {
		.addrs = packet->data + 8,
		.data = walk.data,
		.cap_len = walk.cap_len,
		.len = walk.len,
		.protocol = walk.nexthdr,
		.ipv6 = true,
		.group = is_multicast6(packet->data + 24),
		.first_of_many = field,
	};

	if (field)
		NET6_INC(o, ip6, FragCreates);
	if (field & IPV6_OFFSET_MASK)
		return;
	if (field)
		NET6_INC(o, ip6, FragOKs);
	NET6_INC(o, ip6, OutRequests);
	transport_output(o, &payload);
	if (payload.protocol == SP_PROTO_ICMPV6)
		loop_back(o, packet, &payload);
}

static void count_output(struct sp_observer *o, uint32_t len, bool multicast)
{
	NET6_INC(o, ip6, OutTransmits);
	NET6_ADD(o, ip6, OutOctets, len);
	if (multicast) {
		NET6_INC(o, ip6, OutMcastPkts);
		NET6_ADD(o, ip6, OutMcastOctets, len);
	}
}

void ipv6_output(struct sp_observer *o, struct packet *packet)
{
	const uint8_t *ip = packet->data;
	uint32_t payload_len;

	if (packet->cap_len < IPV6_LEN) {
		/* Nothing to go by but that it left. */
		count_output(o, packet->len, false);
		NET6_INC(o, ip6, OutRequests);
		return;
	}
	payload_len = sp_get_be16(ip + 4);
	if (payload_len && payload_len + IPV6_LEN <= packet->len)
		packet_trim(packet, payload_len + IPV6_LEN);
	count_output(o, packet->len, is_multicast6(ip + 24));
	if (o->forward && forward6_output(o, packet))
		return;
	output_own(o, packet);
}
