/* SPDX-License-Identifier: MIT */
/*
 * observe/udp.c - UDP and UDP-Lite.
 *
 * Rules: net/ipv4/udp.c, net/ipv6/udp.c, include/net/udplite.h.
 *
 * InDatagrams counts when the program reads; here every program reads at once.
 */
#include "observe/flow.h"
#include "observe/listen.h"
#include "observe/observer.h"
#include "observe/pending.h"
#include "observe/ports.h"
#include "observe/verify.h"
#include "packet/ip.h"

#define HEADER_LEN 8

/* The kernel checks datagrams up to this length before it looks for a socket,
 * longer ones when somebody reads them (CHECKSUM_BREAK, linux/skbuff.h). */
#define CHECKED_AT_ONCE 76

struct udp {
	const struct payload *payload;
	uint16_t sport;
	uint16_t dport;
	uint16_t length;  /* UDP-Lite: the coverage */
	bool no_checksum; /* the field is 0 */
	bool lite;
	unsigned space;
};

static struct udp decode(const struct payload *payload)
{
	const uint8_t *data = payload->data;
	bool lite = payload->protocol == SP_PROTO_UDPLITE;

	return (struct udp){
		.payload = payload,
		.sport = sp_get_be16(data),
		.dport = sp_get_be16(data + 2),
		.length = sp_get_be16(data + 4),
		.no_checksum = !sp_get_be16(data + 6),
		.lite = lite,
		.space = UDP_SPACE(payload->ipv6, lite),
	};
}

/* Octets of the datagram, 0 if the length field contradicts the packet. */
static uint32_t length_of(const struct udp *udp)
{
	uint32_t len = udp->payload->len;

	if (udp->payload
		    ->first_of_many) /* only when looped: the rest follows */
		return len;
	/* UDP-Lite checks only that the coverage does not pass the end here;
	 * IPv6 takes 0 for everything there is (RFC 2675). */
	if (udp->length > len)
		return 0;
	if (udp->lite || (udp->payload->ipv6 && !udp->length))
		return len;
	return udp->length < HEADER_LEN ? 0 : udp->length;
}

/* Octets under the checksum. RFC 3828: a coverage of 0 is all of them. */
static uint32_t covered_of(const struct udp *udp, uint32_t len)
{
	return udp->lite && udp->length ? udp->length : len;
}

/* RFC 3828 allows neither a datagram without checksum nor one whose header is
 * not covered. */
static bool is_lite_fault(const struct sp_observer *o, const struct udp *udp,
			  uint32_t len)
{
	return udp->lite && is_verified(o, udp->payload) &&
	       (udp->no_checksum || covered_of(udp, len) < HEADER_LEN);
}

static bool is_sum_good(struct sp_observer *o, const struct udp *udp,
			uint32_t len)
{
	if (udp->no_checksum) /* what that means depends on the family */
		return true;
	return verify_pseudo(o, udp->payload, 6, len, covered_of(udp, len));
}

/* IPv6 knows no datagram without checksum. */
static bool is_missing(const struct sp_observer *o, const struct udp *udp)
{
	return udp->no_checksum && udp->payload->ipv6 &&
	       is_verified(o, udp->payload);
}

static void count_bad_checksum(struct sp_observer *o, const struct udp *udp)
{
	UDP_INC(o, udp->payload->ipv6, udp->lite, InCsumErrors);
	UDP_INC(o, udp->payload->ipv6, udp->lite, InErrors);
}

static void count_ignored(struct sp_observer *o, const struct udp *udp)
{
	switch (udp->space) {
	case UDP_SPACE(false, false):
		NET_INC(o, udp, IgnoredMulti);
		break;
	case UDP_SPACE(true, false):
		NET_INC(o, udp6, IgnoredMulti);
		break;
	case UDP_SPACE(false, true):
		NET_INC(o, udplite, IgnoredMulti);
		break;
	default: /* UdpLite6 has no such counter */
		break;
	}
}

/*
 * To a group: every socket on the port gets it; no error tells that there is
 * none. What the kernel does not check at once is never checked when nobody
 * reads it.
 */
static void input_group(struct sp_observer *o, const struct udp *udp,
			uint32_t len)
{
	bool heard = udp_port_known(o->ports, udp->space, udp->dport);
	bool at_once = len <= CHECKED_AT_ONCE && covered_of(udp, len) == len;

	if (is_lite_fault(o, udp, len) ||
	    ((heard || at_once) && !is_sum_good(o, udp, len))) {
		count_bad_checksum(o, udp);
		return;
	}
	if (!heard || is_missing(o, udp))
		count_ignored(o, udp);
	else
		UDP_INC(o, udp->payload->ipv6, udp->lite, InDatagrams);
}

static uint64_t flow_of(const struct sp_observer *o, const uint8_t *addrs,
			unsigned space, uint16_t sport, uint16_t dport)
{
	return pending_flow(o->pending, addrs, UDP_SPACE_IS_IPV6(space),
			    flow_tag(sport, dport, (uint8_t)space));
}

static void wait_for_answer(struct sp_observer *o, const struct udp *udp)
{
	struct pending_entry entry = {
		.flow = flow_of(o, udp->payload->addrs, udp->space, udp->sport,
				udp->dport),
		.note = udp->dport,
		.kind = (uint8_t)udp->space,
	};

	pending_add(o, o->pending, &entry);
}

void udp_refuse(struct sp_observer *o, const uint8_t *addrs, unsigned space,
		uint16_t sport, uint16_t dport)
{
	struct pending_entry *entry = pending_find(
		o->pending, flow_of(o, addrs, space, sport, dport));

	if (entry) {
		UDP_INC(o, UDP_SPACE_IS_IPV6(space), UDP_SPACE_IS_LITE(space),
			NoPorts);
		entry->flow = 0;
	}
	udp_port_refused(o->ports, space, dport);
	listen_udp_refused(o, space, dport);
}

void udp_settle(struct sp_observer *o, unsigned space, uint16_t dport)
{
	udp_port_silent(o->ports, space, dport);
	UDP_INC(o, UDP_SPACE_IS_IPV6(space), UDP_SPACE_IS_LITE(space),
		InDatagrams);
}

static enum udp_port port_of(const struct sp_observer *o, const struct udp *udp)
{
	enum udp_port port = udp_port_state(o->ports, udp->space, udp->dport);

	/* A datagram in a broadcast frame is never answered. */
	if (port == UDP_UNDECIDED && !udp->payload->to_host)
		return udp_port_known(o->ports, udp->space, udp->dport)
			       ? UDP_OPEN
			       : UDP_CLOSED;
	return port;
}

static void input_unicast(struct sp_observer *o, const struct udp *udp,
			  uint32_t len)
{
	bool ipv6 = udp->payload->ipv6;
	enum udp_port port;

	if (is_lite_fault(o, udp, len) || !is_sum_good(o, udp, len) ||
	    is_missing(o, udp)) {
		count_bad_checksum(o, udp);
		return;
	}
	port = port_of(o, udp);
	if (port == UDP_UNDECIDED)
		wait_for_answer(o, udp);
	else if (port == UDP_CLOSED)
		UDP_INC(o, ipv6, udp->lite, NoPorts);
	else
		UDP_INC(o, ipv6, udp->lite, InDatagrams);
}

void udp_input(struct sp_observer *o, const struct payload *payload)
{
	struct udp udp;
	uint32_t len;

	if (payload->len < HEADER_LEN) {
		UDP_INC(o, payload->ipv6, payload->protocol == SP_PROTO_UDPLITE,
			InErrors);
		return;
	}
	if (payload->cap_len < HEADER_LEN) {
		o->stats.nr_unchecked++;
		return;
	}
	udp = decode(payload);
	len = length_of(&udp);
	if (!len)
		UDP_INC(o, payload->ipv6, udp.lite, InErrors);
	else if (payload->group)
		input_group(o, &udp, len);
	else
		input_unicast(o, &udp, len);
}

void udp_output(struct sp_observer *o, const struct payload *payload)
{
	bool lite = payload->protocol == SP_PROTO_UDPLITE;
	unsigned space = UDP_SPACE(payload->ipv6, lite);

	UDP_INC(o, payload->ipv6, lite, OutDatagrams);
	if (payload->cap_len < 2)
		return;
	udp_port_sent(o->ports, space, sp_get_be16(payload->data));
	listen_udp_sent(o, space, sp_get_be16(payload->data));
}
