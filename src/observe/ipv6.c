/* SPDX-License-Identifier: MIT */
/*
 * observe/ipv6.c - IPv6, received.
 *
 * A received packet is a chain of headers; the walk stands on one of them, and
 * reassembly puts a whole datagram in the place of the fragment.
 *
 * Rules: net/ipv6/ip6_input.c (ip6_rcv_core, ip6_mc_input,
 * ip6_protocol_deliver_rcu), net/ipv6/route.c (ip6_pkt_drop),
 * net/ipv6/exthdrs.c, net/ipv6/reassembly.c.
 */
#include "observe/forward.h"
#include "observe/ip.h"
#include "observe/pending.h"

#define PROTO_PIM 103 /* multicast routing takes it */

/* Routing headers that the kernel drops without a count unless they are
 * enabled: RPL (RFC 6554) and segment routing (RFC 8754). */
enum routing_type {
	ROUTING_RPL = 3,
	ROUTING_SEGMENTS = 4,
};

/* Where the walk along the headers of a received packet stands. */
struct walk {
	const struct packet *packet;
	const uint8_t *data; /* the header of type @nexthdr */
	uint32_t cap_len;
	uint32_t len;
	uint8_t nexthdr;
	bool multicast;
	bool reassembled;
};

enum step {
	STEP_ON,   /* the walk stands on the next header */
	STEP_DONE, /* the packet is counted, or held */
};

/* RFC 4291 2.5.3, 2.7 and its erratum 3480. */
static bool are_addresses_good(const uint8_t *ip)
{
	const uint8_t *src = ip + 8, *dst = ip + 24;

	if (is_loopback6(src) || is_loopback6(dst) || is_multicast6(src))
		return false;
	return !is_multicast6(dst) || (dst[1] & 0xf) > 1;
}

/* An extension header that gives its own length in units of 8 octets.
 * Return: 0 if it does not fit the packet, or was not captured to its end. */
static uint32_t header_len_at(const struct walk *walk, uint32_t bound)
{
	uint32_t len;

	if (bound < 8)
		return 0;
	len = (walk->data[1] + 1u) * 8;
	return len <= bound ? len : 0;
}

static void walk_over(struct walk *walk, uint32_t len)
{
	walk->nexthdr = walk->data[0];
	walk->data += len;
	walk->len -= len;
	walk->cap_len -= len;
}

/* The capture ends before the headers do: what is left is taken for good. */
static enum step take_for_good(struct sp_observer *o)
{
	o->stats.nr_unchecked++;
	NET6_INC(o, ip6, InDelivers);
	return STEP_DONE;
}

/* Is the header under the walk captured as far as the packet has it? */
static bool is_captured(const struct walk *walk)
{
	if (walk->cap_len == walk->len)
		return true;
	return walk->cap_len >= 2 && (walk->data[1] + 1u) * 8 <= walk->cap_len;
}

static enum step step_options(struct sp_observer *o, struct walk *walk,
			      enum sp_ipv6_options_kind kind)
{
	size_t len;

	if (!is_captured(walk))
		return take_for_good(o);
	if (!sp_ipv6_options_check(walk->data, walk->cap_len, kind, &len)) {
		NET6_INC(o, ip6, InHdrErrors);
		return STEP_DONE;
	}
	walk_over(walk, (uint32_t)len);
	return STEP_ON;
}

static enum step step_routing(struct sp_observer *o, struct walk *walk)
{
	uint32_t len;

	if (!is_captured(walk))
		return take_for_good(o);
	len = header_len_at(walk, walk->cap_len);
	if (!len) {
		NET6_INC(o, ip6, InHdrErrors);
		return STEP_DONE;
	}
	if (walk->multicast || !walk->packet->to_host) {
		NET6_INC(o, ip6, InAddrErrors);
		return STEP_DONE;
	}
	if (walk->data[2] == ROUTING_RPL || walk->data[2] == ROUTING_SEGMENTS)
		return STEP_DONE;
	if (walk->data[3]) { /* segments left */
		NET6_INC(o, ip6, InHdrErrors);
		return STEP_DONE;
	}
	walk_over(walk, len);
	return STEP_ON;
}

/* RFC 8200 4.5: the first fragment must hold the whole upper-layer header. */
static bool is_head_cut(const struct packet *packet)
{
	const uint8_t *ip = packet->data;
	uint8_t nexthdr = ip[6];
	bool is_later;
	long off = sp_ipv6_skip_headers(
		ip + IPV6_LEN, packet->cap_len - IPV6_LEN, &nexthdr, &is_later);

	if (off < 0 || is_later)
		return false;
	switch (nexthdr) {
	case SP_PROTO_TCP:
		off += 20;
		break;
	case SP_PROTO_UDP:
	case SP_PROTO_ICMPV6:
		off += 8;
		break;
	default:
		off += 1;
		break;
	}
	return (uint32_t)off > packet->len - IPV6_LEN;
}

static void count_fragment(struct sp_observer *o,
			   const struct sp_reasm_result *result)
{
	bool failed = result->verdict == SP_REASM_BAD ||
		      result->verdict == SP_REASM_OVERLAP;

	NET6_ADD(o, ip6, ReasmFails,
		 failed + result->restarted + result->nr_evicted);
	o->stats.nr_reasm_evicted += result->nr_evicted;
}

static enum step reassemble(struct sp_observer *o, struct walk *walk,
			    const struct sp_fragment *fragment)
{
	struct sp_reasm_result result;

	sp_reasm_add(o->reasm6, fragment, &result);
	o->reasm_changed = true;
	timers_update(o);
	count_fragment(o, &result);
	if (result.verdict != SP_REASM_WHOLE)
		return STEP_DONE;
	NET6_INC(o, ip6, ReasmOKs);
	walk->data = result.datagram.data;
	walk->len = result.datagram.len;
	walk->cap_len = result.datagram.cap_len;
	walk->nexthdr = result.datagram.protocol;
	walk->reassembled = true;
	return STEP_ON;
}

/* Refused with a parameter problem, but the kernel has opened the queue. */
static enum step refuse_fragment(struct sp_observer *o,
				 const struct sp_fragment *fragment)
{
	uint32_t nr_evicted = sp_reasm_touch(o->reasm6, fragment);

	o->stats.nr_reasm_evicted += nr_evicted;
	NET6_ADD(o, ip6, ReasmFails, nr_evicted);
	o->reasm_changed = true;
	timers_update(o);
	NET6_INC(o, ip6, InHdrErrors);
	return STEP_DONE;
}

static struct sp_fragment fragment_of(const struct sp_observer *o,
				      const struct walk *walk)
{
	const uint8_t *ip = walk->packet->data;
	uint16_t field = sp_get_be16(walk->data + 2);

	return (struct sp_fragment){
		.addrs = ip + 8,
		.id = sp_get_be32(walk->data + 4),
		.protocol = walk->data[0],
		.ecn = ip[1] >> 4 & 3,
		.more = field & IPV6_MORE,
		.off = field & IPV6_OFFSET_MASK,
		.len = walk->len - IPV6_FRAGMENT_LEN,
		.cap_len = walk->cap_len - IPV6_FRAGMENT_LEN,
		.data = walk->data + IPV6_FRAGMENT_LEN,
		.time_ns = o->now_ns,
		.head_len = (uint32_t)(walk->data - ip) - IPV6_LEN,
	};
}

static enum step step_fragment(struct sp_observer *o, struct walk *walk)
{
	const struct packet *packet = walk->packet;
	struct sp_fragment fragment;

	if (walk->reassembled) {
		NET6_INC(o, ip6, InHdrErrors);
		return STEP_DONE;
	}
	NET6_INC(o, ip6, ReasmReqds);
	if (!sp_get_be16(packet->data + 4) || walk->len < IPV6_FRAGMENT_LEN) {
		NET6_INC(o, ip6, InHdrErrors);
		return STEP_DONE;
	}
	if (walk->cap_len < IPV6_FRAGMENT_LEN) {
		o->stats.nr_unchecked++;
		return STEP_DONE;
	}
	fragment = fragment_of(o, walk);
	if (!fragment.off && !fragment.more) { /* RFC 6946 */
		NET6_INC(o, ip6, ReasmOKs);
		walk->reassembled = true;
		walk_over(walk, IPV6_FRAGMENT_LEN);
		return STEP_ON;
	}
	if (is_head_cut(packet)) {
		NET6_INC(o, ip6, InHdrErrors);
		return STEP_DONE;
	}
	if (fragment.off + fragment.len > IP_MAX_PAYLOAD ||
	    (fragment.more && fragment.len % 8))
		return refuse_fragment(o, &fragment);
	return reassemble(o, walk, &fragment);
}

void ipv6_expire(struct sp_observer *o)
{
	struct sp_reasm_expired expired;

	while (sp_reasm_expire(o->reasm6, o->now_ns, &expired)) {
		NET6_INC(o, ip6, ReasmTimeout);
		NET6_INC(o, ip6, ReasmFails);
		o->reasm_changed = true;
	}
}

static bool is_mld(const struct walk *walk)
{
	if (walk->nexthdr != SP_PROTO_ICMPV6 || !walk->cap_len)
		return false;
	return (walk->data[0] >= MLD_QUERY && walk->data[0] <= MLD_DONE) ||
	       walk->data[0] == MLD_REPORT_V2;
}

/* A multicast whose group is not wanted from this source gets as far as the
 * protocol. Queries and reports are for everyone, and :: is nobody. */
static bool is_unwanted(const struct sp_observer *o, const struct walk *walk)
{
	const uint8_t *ip = walk->packet->data;

	return walk->multicast && !is_zero6(ip + 8) &&
	       !host_wants_source(o->host, ip + 24, ip + 8, true) &&
	       !is_mld(walk);
}

static bool is_transport(uint8_t protocol)
{
	return protocol == SP_PROTO_TCP || protocol == SP_PROTO_UDP ||
	       protocol == SP_PROTO_UDPLITE || protocol == SP_PROTO_ICMPV6;
}

static enum step step_upper(struct sp_observer *o, const struct walk *walk)
{
	struct payload payload = {
		.addrs = walk->packet->data + 8,
		.data = walk->data,
		.cap_len = walk->cap_len,
		.len = walk->len,
		.protocol = walk->nexthdr,
		.ipv6 = true,
		.group = walk->multicast,
		.to_host = walk->packet->to_host,
		.looped = walk->packet->looped,
	};

	if (is_transport(walk->nexthdr) && is_unwanted(o, walk)) {
		NET6_INC(o, ip6, InDiscards);
		return STEP_DONE;
	}
	switch (walk->nexthdr) {
	case SP_PROTO_TCP:
		tcp_input(o, &payload);
		break;
	case SP_PROTO_UDP:
	case SP_PROTO_UDPLITE:
		udp_input(o, &payload);
		break;
	case SP_PROTO_ICMPV6:
		icmp6_input(o, &payload);
		break;
	case SP_PROTO_NONE:
	case PROTO_PIM:
		break;
	default:
		NET6_INC(o, ip6, InUnknownProtos);
		return STEP_DONE;
	}
	NET6_INC(o, ip6, InDelivers);
	return STEP_DONE;
}

static void deliver(struct sp_observer *o, struct walk *walk)
{
	enum step step;

	do {
		switch (walk->nexthdr) {
		case SP_PROTO_DSTOPTS:
			step = step_options(o, walk, SP_IPV6_DSTOPTS);
			break;
		case SP_PROTO_ROUTING:
			step = step_routing(o, walk);
			break;
		case SP_PROTO_FRAGMENT:
			step = step_fragment(o, walk);
			break;
		default:
			step = step_upper(o, walk);
			break;
		}
	} while (step == STEP_ON);
}

/* Hop-by-hop options are looked at before the destination is; there, and only
 * there, they may stand. */
static enum step walk_start(struct sp_observer *o, const struct packet *packet,
			    struct walk *ret_walk)
{
	*ret_walk = (struct walk){
		.packet = packet,
		.data = packet->data + IPV6_LEN,
		.cap_len = packet->cap_len - IPV6_LEN,
		.len = packet->len - IPV6_LEN,
		.nexthdr = packet->data[6],
		.multicast = is_multicast6(packet->data + 24),
	};
	if (ret_walk->nexthdr != SP_PROTO_HOPOPTS)
		return STEP_ON;
	return step_options(o, ret_walk,
			    sp_get_be16(packet->data + 4)
				    ? SP_IPV6_HOPOPTS
				    : SP_IPV6_HOPOPTS_JUMBO);
}

static uint64_t foreign_flow(const struct sp_observer *o, const uint8_t *ip,
			     uint32_t cap_len)
{
	return pending_flow(o->pending, ip + 8, true,
			    forward6_tag(ip, cap_len));
}

void ipv6_no_route(struct sp_observer *o, const uint8_t *quote,
		   uint32_t quote_len)
{
	struct pending_entry *entry =
		pending_find(o->pending, foreign_flow(o, quote, quote_len));

	if (!entry)
		return;
	NET6_INC(o, ip6, InNoRoutes);
	entry->flow = 0;
}

void ipv6_settle(struct sp_observer *o)
{
	NET6_INC(o, ip6, InAddrErrors);
}

static void wait_for_answer(struct sp_observer *o, const struct packet *packet)
{
	struct pending_entry entry = {
		.flow = foreign_flow(o, packet->data, packet->cap_len),
		.kind = PENDING_FOREIGN6,
	};

	pending_add(o, o->pending, &entry);
}

/* Not to this host. One that knows no route says so, and counts that. */
static void input_foreign(struct sp_observer *o, const struct packet *packet)
{
	if (o->forward)
		forward6_input(o, packet);
	else if (is_zero6(packet->data + 24) || !packet->to_host)
		NET6_INC(o, ip6, InAddrErrors);
	else
		wait_for_answer(o, packet);
}

static void route_input(struct sp_observer *o, struct walk *walk)
{
	const struct packet *packet = walk->packet;
	const uint8_t *dst = packet->data + 24;

	if (walk->multicast) {
		NET6_INC(o, ip6, InMcastPkts);
		NET6_ADD(o, ip6, InMcastOctets, packet->len);
		if (host_in_group6(o->host, dst))
			deliver(o, walk);
	} else if (host_is_local6(o->host, dst)) {
		deliver(o, walk);
	} else {
		input_foreign(o, packet);
	}
}

/* The checks that look at nothing but the header. */
static bool is_header_good(struct sp_observer *o, struct packet *packet)
{
	const uint8_t *ip = packet->data;
	uint32_t payload_len = sp_get_be16(ip + 4);

	if (!packet->looped && !are_addresses_good(ip)) {
		NET6_INC(o, ip6, InHdrErrors);
		return false;
	}
	/* 0 may mean a jumbogram. */
	if (!payload_len && ip[6] == SP_PROTO_HOPOPTS)
		return true;
	/* Super-packets of TCP above 64 KiB never were on a wire (BIG TCP). */
	if (!payload_len && ip[6] == SP_PROTO_TCP &&
	    packet->len > IPV6_LEN + IP_MAX_PAYLOAD)
		return true;
	if (payload_len + IPV6_LEN > packet->len) {
		NET6_INC(o, ip6, InTruncatedPkts);
		return false;
	}
	packet_trim(packet, payload_len + IPV6_LEN);
	return true;
}

void ipv6_input(struct sp_observer *o, struct packet *packet)
{
	struct walk walk;

	NET6_INC(o, ip6, InReceives);
	NET6_ADD(o, ip6, InOctets, packet->len);
	if (packet->len < IPV6_LEN ||
	    (packet->cap_len && packet->data[0] >> 4 != 6)) {
		NET6_INC(o, ip6, InHdrErrors);
		return;
	}
	if (packet->cap_len < IPV6_LEN) {
		o->stats.nr_unchecked++;
		return;
	}
	ipv6_count_ecn(o, packet->data);
	if (!is_header_good(o, packet))
		return;
	if (walk_start(o, packet, &walk) == STEP_ON)
		route_input(o, &walk);
}
