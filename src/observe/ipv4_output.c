/* SPDX-License-Identifier: MIT */
/*
 * observe/ipv4_output.c - IPv4, sent.
 *
 * Rules: net/ipv4/ip_output.c.
 */
#include "observe/forward.h"
#include "observe/ip.h"

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
	case SP_PROTO_ICMP:
		icmp_output(o, payload);
		break;
	case SP_PROTO_IGMP:
		igmp_output(o, payload);
		break;
	}
}

/* One fragment of a datagram that the host cut. Return: whether the datagram's
 * head is in it. */
static bool fragment_output(struct sp_observer *o, const uint8_t *ip)
{
	NET_INC(o, ip, FragCreates);
	if (sp_get_be16(ip + 6) & IPV4_OFFSET_MASK)
		return false;
	NET_INC(o, ip, FragOKs);
	return true;
}

static enum route route_output(const struct sp_observer *o, const uint8_t *dst)
{
	if (is_multicast4(dst))
		return ROUTE_MULTICAST;
	return (host_marks4(o->host, dst) & HOST_BROADCAST) ? ROUTE_BROADCAST
							    : ROUTE_FOREIGN;
}

static void count_output(struct sp_observer *o, enum route route, uint32_t len)
{
	NET_INC(o, ip, OutTransmits);
	NET_ADD(o, ipext, OutOctets, len);
	if (route == ROUTE_MULTICAST) {
		NET_INC(o, ipext, OutMcastPkts);
		NET_ADD(o, ipext, OutMcastOctets, len);
	} else if (route == ROUTE_BROADCAST) {
		NET_INC(o, ipext, OutBcastPkts);
		NET_ADD(o, ipext, OutBcastOctets, len);
	}
}

/*
 * The host hears its own broadcasts (ip_mc_output), before they are cut into
 * fragments: the head brings the packet, later fragments more octets of it.
 */
static void loop_back(struct sp_observer *o, const struct packet *packet,
		      enum route route)
{
	uint32_t header_len = ipv4_header_len(packet->data);
	struct payload payload = ipv4_payload(packet);

	if (sp_get_be16(packet->data + 6) & IPV4_OFFSET_MASK) {
		NET_ADD(o, ipext, InOctets, packet->len - header_len);
		NET_ADD(o, ipext, InBcastOctets, packet->len - header_len);
		return;
	}
	NET_INC(o, softnet, processed);
	NET_INC(o, ip, InReceives);
	NET_ADD(o, ipext, InOctets, packet->len);
	ipv4_count_ecn(o, packet->data);
	ipv4_count_cast(o, route, packet->len);
	payload.group = true;
	payload.looped = true;
	payload.first_of_many = ipv4_is_fragment(packet->data);
	ipv4_deliver(o, &payload);
}

/* Reports of IGMP versions 1 and 2 go to the group itself, of which the sender
 * is a member. Of other multicasts nothing tells whether their socket wants to
 * hear them (IP_MULTICAST_LOOP). */
static bool is_heard_by_sender(const struct sp_observer *o, const uint8_t *ip,
			       enum route route)
{
	if (route == ROUTE_BROADCAST)
		return true;
	return route == ROUTE_MULTICAST && ip[9] == SP_PROTO_IGMP &&
	       host_in_group4(o->host, ip + 16);
}

static void output_own(struct sp_observer *o, const struct packet *packet,
		       enum route route)
{
	const uint8_t *ip = packet->data;
	struct payload payload = ipv4_payload(packet);

	payload.first_of_many = ipv4_is_fragment(ip);
	if (!payload.first_of_many || fragment_output(o, ip)) {
		NET_INC(o, ip, OutRequests);
		transport_output(o, &payload);
	}
	if (is_heard_by_sender(o, ip, route))
		loop_back(o, packet, route);
}

void ipv4_output(struct sp_observer *o, struct packet *packet)
{
	const uint8_t *ip = packet->data;
	enum route route;
	uint32_t total;

	if (packet->cap_len < IPV4_LEN || ipv4_header_len(ip) < IPV4_LEN) {
		/* Nothing to go by but that it left. */
		count_output(o, ROUTE_FOREIGN, packet->len);
		NET_INC(o, ip, OutRequests);
		return;
	}
	total = ipv4_total_len(packet);
	if (total >= ipv4_header_len(ip) && total <= packet->len)
		packet_trim(packet, total);
	if (packet->len < ipv4_header_len(ip))
		return;
	route = route_output(o, ip + 16);
	count_output(o, route, packet->len);
	if (o->forward && forward4_output(o, packet))
		return;
	output_own(o, packet, route);
}
