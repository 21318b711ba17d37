/* SPDX-License-Identifier: MIT */
/*
 * observe/ipv4.c - IPv4, received.
 *
 * Rules: net/ipv4/ip_input.c (ip_rcv_core, ip_rcv_finish_core,
 * ip_protocol_deliver_rcu), net/ipv4/route.c (ip_route_input_slow,
 * ip_mc_validate_source: martians), net/ipv4/ip_fragment.c.
 */
#include "observe/forward.h"
#include "observe/ip.h"
#include "observe/verify.h"

#define PROTO_PIM 103 /* multicast routing takes it */

/* The checks that look at nothing but the header. The fixed part is captured. */
static bool is_header_good(struct sp_observer *o, struct packet *packet)
{
	uint32_t header_len = ipv4_header_len(packet->data);
	uint32_t total = ipv4_total_len(packet);

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
	packet_trim(packet, total);
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
	uint32_t header_len = ipv4_header_len(packet->data);

	if (header_len == IPV4_LEN || packet->cap_len < header_len)
		return true;
	switch (sp_ipv4_options_check(packet->data + IPV4_LEN,
				      header_len - IPV4_LEN)) {
	case SP_IPV4_OPTIONS_OK:
		return true;
	case SP_IPV4_OPTIONS_MALFORMED:
		NET_INC(o, ip, InHdrErrors);
		return false;
	default: /* source routes are not accepted (accept_source_route 0) */
		return false;
	}
}

void ipv4_deliver(struct sp_observer *o, const struct payload *payload)
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

struct payload ipv4_payload(const struct packet *packet)
{
	const uint8_t *ip = packet->data;
	uint32_t header_len = ipv4_header_len(ip);
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
		.more = flags & IPV4_MORE,
		.off = (flags & IPV4_OFFSET_MASK) * 8u,
		.len = payload->len,
		.cap_len = payload->cap_len,
		.data = payload->data,
		.time_ns = o->now_ns,
		.head_len = ipv4_header_len(ip),
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
	struct payload payload = ipv4_payload(packet);

	payload.group = route != ROUTE_LOCAL;
	if (ipv4_is_fragment(packet->data) &&
	    !reassemble(o, packet->data, &payload))
		return;
	ipv4_deliver(o, &payload);
}

void ipv4_input(struct sp_observer *o, struct packet *packet)
{
	enum route route;

	NET_INC(o, ip, InReceives);
	NET_ADD(o, ipext, InOctets, packet->len);
	if (packet->len < IPV4_LEN ||
	    (packet->cap_len &&
	     (packet->data[0] < 0x45 || packet->data[0] > 0x4f))) {
		NET_INC(o, ip, InHdrErrors);
		return;
	}
	if (packet->cap_len < IPV4_LEN) {
		o->stats.nr_unchecked++;
		return;
	}
	ipv4_count_ecn(o, packet->data);
	if (!is_header_good(o, packet))
		return;
	route = packet->looped ? route_looped(o, packet->data)
			       : route_input(o, packet->data);
	if (route == ROUTE_NONE || !are_options_good(o, packet))
		return;
	ipv4_count_cast(o, route, packet->len);
	if (route != ROUTE_FOREIGN)
		input_local(o, packet, route);
	else if (o->forward)
		forward4_input(o, packet);
	else
		NET_INC(o, ip, InAddrErrors);
}
