/* SPDX-License-Identifier: MIT */
/*
 * observe/ipv4.c - IPv4, received and sent.
 *
 * Rules: net/ipv4/ip_input.c (ip_rcv_core, ip_rcv_finish_core,
 * ip_protocol_deliver_rcu), net/ipv4/route.c (ip_route_input_slow,
 * ip_mc_validate_source: martians), net/ipv4/ip_fragment.c,
 * net/ipv4/ip_output.c.
 */
#include <string.h>

#include "observe/forward.h"
#include "observe/host.h"
#include "observe/observer.h"
#include "observe/verify.h"
#include "packet/ip.h"

#define HEADER_LEN  20u
#define MAX_LEN     65535u
#define MORE        0x2000
#define PROTO_PIM   103 /* multicast routing takes it */
#define OFFSET_MASK 0x1fff

enum route {
	ROUTE_NONE, /* martian, or a group that the host is not in */
	ROUTE_LOCAL,
	ROUTE_BROADCAST,
	ROUTE_MULTICAST,
	ROUTE_FOREIGN,
};

static uint32_t header_len_of(const uint8_t *ip)
{
	return (ip[0] & 0xf) * 4u;
}

static bool is_fragment(const uint8_t *ip)
{
	return sp_get_be16(ip + 6) & (MORE | OFFSET_MASK);
}

static void count_ecn(struct sp_observer *o, const uint8_t *ip)
{
	/* The four counters stand in the order of the two bits. */
	cell_add(o->net,
		 SP_NET_CELL(ipext, InNoECTPkts) +
			 (ip[1] & 3) * sizeof(uint64_t),
		 1);
}

/* The total length; super-packets of TCP above 64 KiB never were on a wire and
 * say 0 (BIG TCP). */
static uint32_t total_len_of(const struct packet *packet)
{
	uint32_t total = sp_get_be16(packet->data + 2);

	if (!total && packet->len > MAX_LEN && packet->data[9] == SP_PROTO_TCP)
		return packet->len;
	return total;
}

static void trim(struct packet *packet, uint32_t len)
{
	packet->len = len;
	if (packet->cap_len > len)
		packet->cap_len = len;
}

/* The checks that look at nothing but the header. The fixed part is captured. */
static bool is_header_good(struct sp_observer *o, struct packet *packet)
{
	uint32_t header_len = header_len_of(packet->data);
	uint32_t total = total_len_of(packet);

	if (packet->len < header_len) {
		NET_INC(o, ip, InHdrErrors);
		return false;
	}
	if (packet->cap_len < header_len) {
		o->stats.nr_unchecked++;
	} else if (!packet->looped &&
		   !verify_header(o, packet->data, header_len)) {
		NET_INC(o, ipext, InCsumErrors);
		NET_INC(o, ip, InHdrErrors);
		return false;
	}
	if (total > packet->len) {
		NET_INC(o, ipext, InTruncatedPkts);
		return false;
	}
	if (total < header_len) {
		NET_INC(o, ip, InHdrErrors);
		return false;
	}
	trim(packet, total);
	return true;
}

static enum route route_multicast(const struct sp_observer *o,
				  const uint8_t *ip)
{
	const uint8_t *src = ip + 12, *dst = ip + 16;
	bool to_link = dst[0] == 224 && !dst[1] && !dst[2];

	if (!host_in_group4(o->host, dst) || is_multicast4(src) ||
	    is_all_ones4(src) || is_loopback4(src) ||
	    host_is_local4(o->host, src))
		return ROUTE_NONE;
	if (ip[9] != SP_PROTO_IGMP &&
	    !host_wants_source(o->host, dst, src, false))
		return ROUTE_NONE;
	if (is_zero4(src) && !to_link && ip[9] != SP_PROTO_IGMP)
		return ROUTE_NONE;
	return ROUTE_MULTICAST;
}

/* Over the loopback device: its output route is its input route. */
static enum route route_looped(const struct sp_observer *o, const uint8_t *ip)
{
	const uint8_t *dst = ip + 16;

	if (is_multicast4(dst))
		return host_in_group4(o->host, dst) ? ROUTE_MULTICAST
						    : ROUTE_NONE;
	return (host_marks4(o->host, dst) & HOST_BROADCAST) ? ROUTE_BROADCAST
							    : ROUTE_LOCAL;
}

static enum route route_input(const struct sp_observer *o, const uint8_t *ip)
{
	const uint8_t *src = ip + 12, *dst = ip + 16;
	uint8_t dst_marks;
	bool from_self;

	if (is_multicast4(dst))
		return route_multicast(o, ip);
	if (is_multicast4(src) || is_all_ones4(src))
		return ROUTE_NONE;
	from_self = host_is_local4(o->host, src);
	if (is_all_ones4(dst) || (is_zero4(src) && is_zero4(dst)))
		return from_self ? ROUTE_NONE : ROUTE_BROADCAST;
	if (is_zero4(src) || is_zero4(dst) || is_loopback4(src) ||
	    is_loopback4(dst))
		return ROUTE_NONE;
	dst_marks = host_marks4(o->host, dst);
	if (dst_marks & HOST_BROADCAST)
		return from_self ? ROUTE_NONE : ROUTE_BROADCAST;
	if (dst_marks & HOST_LOCAL)
		return from_self ? ROUTE_NONE : ROUTE_LOCAL;
	/* A host looks no further; a router looks at the source too. */
	return from_self && o->forward ? ROUTE_NONE : ROUTE_FOREIGN;
}

static bool are_options_good(struct sp_observer *o, const struct packet *packet)
{
	uint32_t header_len = header_len_of(packet->data);

	if (header_len == HEADER_LEN || packet->cap_len < header_len)
		return true;
	switch (sp_ipv4_options_check(packet->data + HEADER_LEN,
				      header_len - HEADER_LEN)) {
	case SP_IPV4_OPTIONS_OK:
		return true;
	case SP_IPV4_OPTIONS_MALFORMED:
		NET_INC(o, ip, InHdrErrors);
		return false;
	default: /* source routes are not accepted (accept_source_route 0) */
		return false;
	}
}

static void count_cast(struct sp_observer *o, enum route route, uint32_t len)
{
	if (route == ROUTE_MULTICAST) {
		NET_INC(o, ipext, InMcastPkts);
		NET_ADD(o, ipext, InMcastOctets, len);
	} else if (route == ROUTE_BROADCAST) {
		NET_INC(o, ipext, InBcastPkts);
		NET_ADD(o, ipext, InBcastOctets, len);
	}
}

static void deliver(struct sp_observer *o, const struct payload *payload)
{
	switch (payload->protocol) {
	case SP_PROTO_TCP:
		tcp_input(o, payload);
		break;
	case SP_PROTO_UDP:
	case SP_PROTO_UDPLITE:
		udp_input(o, payload);
		break;
	case SP_PROTO_ICMP:
		icmp_input(o, payload);
		break;
	case SP_PROTO_IGMP:
	case PROTO_PIM:
		break;
	default:
		NET_INC(o, ip, InUnknownProtos);
		return;
	}
	NET_INC(o, ip, InDelivers);
}

static struct payload payload_of(const struct packet *packet)
{
	const uint8_t *ip = packet->data;
	uint32_t header_len = header_len_of(ip);
	uint32_t cap_len =
		packet->cap_len > header_len ? packet->cap_len - header_len : 0;

	return (struct payload){
		.addrs = ip + 12,
		.data = ip + header_len,
		.cap_len = cap_len,
		.len = packet->len - header_len,
		.protocol = ip[9],
		.to_host = packet->to_host,
		.looped = packet->looped,
	};
}

static void count_fragment(struct sp_observer *o,
			   const struct sp_reasm_result *result)
{
	bool failed = result->verdict == SP_REASM_BAD ||
		      result->verdict == SP_REASM_OVERLAP;

	NET_INC(o, ip, ReasmReqds);
	NET_ADD(o, ip, ReasmFails, failed + result->restarted);
	if (result->verdict == SP_REASM_OVERLAP)
		NET_INC(o, ipext, ReasmOverlaps);
	o->stats.nr_reasm_evicted += result->nr_evicted;
	NET_ADD(o, ip, ReasmFails, result->nr_evicted);
}

/* Return: true if @payload is a whole datagram now. */
static bool reassemble(struct sp_observer *o, const uint8_t *ip,
		       struct payload *payload)
{
	uint16_t flags = sp_get_be16(ip + 6);
	struct sp_fragment fragment = {
		.addrs = payload->addrs,
		.id = sp_get_be16(ip + 4),
		.protocol = payload->protocol,
		.ecn = ip[1] & 3,
		.more = flags & MORE,
		.off = (flags & OFFSET_MASK) * 8u,
		.len = payload->len,
		.cap_len = payload->cap_len,
		.data = payload->data,
		.time_ns = o->now_ns,
		.head_len = header_len_of(ip),
	};
	struct sp_reasm_result result;

	sp_reasm_add(o->reasm4, &fragment, &result);
	o->reasm_changed = true;
	timers_update(o);
	count_fragment(o, &result);
	if (result.verdict != SP_REASM_WHOLE)
		return false;
	NET_INC(o, ip, ReasmOKs);
	payload->data = result.datagram.data;
	payload->len = result.datagram.len;
	payload->cap_len = result.datagram.cap_len;
	return true;
}

void ipv4_expire(struct sp_observer *o)
{
	struct sp_reasm_expired expired;

	while (sp_reasm_expire(o->reasm4, o->now_ns, &expired)) {
		NET_INC(o, ip, ReasmTimeout);
		NET_INC(o, ip, ReasmFails);
		o->reasm_changed = true;
	}
}

static void input_local(struct sp_observer *o, const struct packet *packet,
			enum route route)
{
	struct payload payload = payload_of(packet);

	payload.group = route != ROUTE_LOCAL;
	if (is_fragment(packet->data) && !reassemble(o, packet->data, &payload))
		return;
	deliver(o, &payload);
}

void ipv4_input(struct sp_observer *o, struct packet *packet)
{
	enum route route;

	NET_INC(o, ip, InReceives);
	NET_ADD(o, ipext, InOctets, packet->len);
	if (packet->len < HEADER_LEN ||
	    (packet->cap_len &&
	     (packet->data[0] < 0x45 || packet->data[0] > 0x4f))) {
		NET_INC(o, ip, InHdrErrors);
		return;
	}
	if (packet->cap_len < HEADER_LEN) {
		o->stats.nr_unchecked++;
		return;
	}
	count_ecn(o, packet->data);
	if (!is_header_good(o, packet))
		return;
	route = packet->looped ? route_looped(o, packet->data)
			       : route_input(o, packet->data);
	if (route == ROUTE_NONE || !are_options_good(o, packet))
		return;
	count_cast(o, route, packet->len);
	if (route != ROUTE_FOREIGN)
		input_local(o, packet, route);
	else if (o->forward)
		forward4_input(o, packet);
	else
		NET_INC(o, ip, InAddrErrors);
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
	if (sp_get_be16(ip + 6) & OFFSET_MASK)
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
	uint32_t header_len = header_len_of(packet->data);
	struct payload payload = payload_of(packet);

	if (sp_get_be16(packet->data + 6) & OFFSET_MASK) {
		NET_ADD(o, ipext, InOctets, packet->len - header_len);
		NET_ADD(o, ipext, InBcastOctets, packet->len - header_len);
		return;
	}
	NET_INC(o, softnet, processed);
	NET_INC(o, ip, InReceives);
	NET_ADD(o, ipext, InOctets, packet->len);
	count_ecn(o, packet->data);
	count_cast(o, route, packet->len);
	payload.group = true;
	payload.looped = true;
	payload.first_of_many = is_fragment(packet->data);
	deliver(o, &payload);
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
	struct payload payload = payload_of(packet);

	payload.first_of_many = is_fragment(ip);
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

	if (packet->cap_len < HEADER_LEN || header_len_of(ip) < HEADER_LEN) {
		/* Nothing to go by but that it left. */
		count_output(o, ROUTE_FOREIGN, packet->len);
		NET_INC(o, ip, OutRequests);
		return;
	}
	total = total_len_of(packet);
	if (total >= header_len_of(ip) && total <= packet->len)
		trim(packet, total);
	if (packet->len < header_len_of(ip))
		return;
	route = route_output(o, ip + 16);
	count_output(o, route, packet->len);
	if (o->forward && forward4_output(o, packet))
		return;
	output_own(o, packet, route);
}
