/* SPDX-License-Identifier: MIT */
/*
 * observe/forward.c - see forward.h.
 *
 * A packet for somebody else waits until its fate shows:
 *
 *	it leaves               forwarded; cut here if a shorter piece leaves
 *	error: too big          forwarded: the kernel counts before it compares
 *	error: no neighbour     forwarded and sent, as far as the kernel's
 *				counters go; such an error comes late
 *	error: no route         InNoRoutes
 *	error: unreachable or   nothing in IPv4, InNoRoutes in IPv6
 *	prohibited route
 *	nothing                 see settle()
 *
 * Silence needs a guess. The kernel sends one route error a second to a source,
 * so the fate of the last packet to the same destination decides. If none is
 * known: where packets leave by the device that they came by, one that does not
 * leave was dropped; otherwise it left by a device that is not seen.
 *
 * A packet with a foreign source that leaves and was not seen coming came by a
 * device that is not seen, and was forwarded as well.
 *
 * Rules: net/ipv4/ip_forward.c, net/ipv4/route.c (ip_error), net/ipv4/arp.c,
 * net/ipv4/ip_output.c (ip_do_fragment), net/ipv6/ip6_output.c (ip6_forward),
 * net/ipv6/route.c (ip6_pkt_drop).
 */
#include "observe/forward.h"

#include <errno.h>
#include <stdlib.h>

#include "observe/flow.h"
#include "observe/host.h"
#include "observe/pending.h"
#include "packet/ip.h"

#define WAIT_NS  4000000000ull /* a neighbour is sought for 3 s */
#define LATE_NS  10000000ull   /* a route error comes at once */
#define NR_CUTS  1024u
#define NR_FATES 4096u

enum kind {
	KIND_IPV6 = 1,
	KIND_TTL = 2,    /* its time to live is up */
	KIND_SCOPED = 4, /* from :: or a link-local address */
};

/* What became of the last packet to some destination. */
enum fate {
	FATE_UNKNOWN,
	FATE_LEFT,
	FATE_NO_ROUTE,
	FATE_REFUSED,
};

enum { /* ICMP */
	UNREACHABLE = 3,
	NO_NETWORK = 0,
	NO_HOST = 1,
	TOO_BIG = 4,
	PROHIBITED = 13,
};

enum { /* ICMPv6 */
	UNREACHABLE6 = 1,
	TOO_BIG6 = 2,
	NO_ROUTE6 = 0,
	PROHIBITED6 = 1,
	NO_ADDRESS6 = 3,
};

struct fate_slot {
	uint64_t name; /* of the destination */
	uint8_t fate;
};

/*
 * Cuts and fates stand where a hash puts them that everybody may know, and newer
 * ones replace older ones: so the same frames give the same figures in every
 * run, and who aims at a slot makes a guess worse, no more.
 */
static const struct sp_hash_key PUBLIC_KEY = {1, 2};

struct forward {
	struct pending *waiting;
	uint64_t nr_left;       /* by the device that they came by */
	uint64_t nr_vanished;   /* silently, to an unknown fate */
	bool saw_own_source;    /* a packet came from the router itself */
	uint64_t cuts[NR_CUTS]; /* names of datagrams being cut */
	struct fate_slot fates[NR_FATES];
};

static void count_forwarded(struct sp_observer *o, bool ipv6)
{
	if (ipv6)
		NET6_INC(o, ip6, OutForwDatagrams);
	else
		NET_INC(o, ip, ForwDatagrams);
}

static void count_no_route(struct sp_observer *o, bool ipv6)
{
	if (ipv6)
		NET6_INC(o, ip6, InNoRoutes);
	else
		NET_INC(o, ipext, InNoRoutes);
}

static void count_ttl(struct sp_observer *o, bool ipv6)
{
	if (ipv6)
		NET6_INC(o, ip6, InHdrErrors);
	else
		NET_INC(o, ip, InHdrErrors);
}

/* What waits for a neighbour in vain was counted as sent before. */
static void count_sent(struct sp_observer *o, bool ipv6, uint32_t len)
{
	if (ipv6) {
		NET6_INC(o, ip6, OutTransmits);
		NET6_ADD(o, ip6, OutOctets, len);
	} else {
		NET_INC(o, ip, OutTransmits);
		NET_ADD(o, ipext, OutOctets, len);
	}
}

static void settle_unknown(struct sp_observer *o,
			   const struct pending_entry *entry)
{
	struct forward *forward = o->forward;

	forward->nr_vanished++;
	if (forward->nr_left > forward->nr_vanished)
		return;
	/* To another device nothing goes with a source of this link. */
	if (entry->kind & KIND_SCOPED)
		NET6_INC(o, ip6, InAddrErrors);
	else
		count_forwarded(o, entry->kind & KIND_IPV6);
}

static enum fate fate_of(const struct forward *forward, uint64_t name)
{
	const struct fate_slot *slot = &forward->fates[name % NR_FATES];

	return slot->name == name ? (enum fate)slot->fate : FATE_UNKNOWN;
}

static void settle(struct sp_observer *o, const struct pending_entry *entry)
{
	enum fate fate = fate_of(o->forward, entry->note);

	if (fate == FATE_NO_ROUTE ||
	    (fate == FATE_REFUSED && entry->kind & KIND_IPV6))
		count_no_route(o, entry->kind & KIND_IPV6);
	else if (fate != FATE_REFUSED && entry->kind & KIND_TTL)
		count_ttl(o, entry->kind & KIND_IPV6);
	else if (fate == FATE_UNKNOWN)
		settle_unknown(o, entry);
}

int forward_create(struct forward **ret_forward)
{
	struct forward *forward = calloc(1, sizeof(*forward));
	int err;

	if (!forward)
		return -ENOMEM;
	err = pending_create(WAIT_NS, settle, &forward->waiting);
	if (err) {
		free(forward);
		return err;
	}
	*ret_forward = forward;
	return 0;
}

void forward_destroy(struct forward *forward)
{
	if (!forward)
		return;
	pending_destroy(forward->waiting);
	free(forward);
}

void forward_expire(struct sp_observer *o)
{
	pending_expire(o, o->forward->waiting);
}

void forward_flush(struct sp_observer *o)
{
	pending_flush(o, o->forward->waiting);
}

uint64_t forward_next_ns(const struct forward *forward)
{
	return pending_next_ns(forward->waiting);
}

/* Fragments differ in their offset. */
static uint64_t tag4(const uint8_t *ip)
{
	return (uint64_t)(sp_get_be16(ip + 6) & 0x1fff) << 32 |
	       (uint64_t)sp_get_be16(ip + 4) << 16 | ip[9];
}

uint64_t forward6_tag(const uint8_t *ip, uint32_t cap_len)
{
	uint64_t tag = (uint64_t)sp_get_be32(ip) << 32 |
		       (uint64_t)sp_get_be16(ip + 4) << 8 | ip[6];

	if (cap_len >= 48)
		tag ^= flow_load(ip + 40, 8) * 0x9e3779b97f4a7c15ull;
	return tag;
}

static uint64_t flow4(const struct forward *forward, const uint8_t *ip)
{
	return pending_flow(forward->waiting, ip + 12, false, tag4(ip));
}

static uint64_t flow6(const struct forward *forward, const uint8_t *ip,
		      uint32_t cap_len)
{
	return pending_flow(forward->waiting, ip + 8, true,
			    forward6_tag(ip, cap_len));
}

static uint64_t name_of(const uint8_t *dst, bool ipv6)
{
	return flow_hash(&PUBLIC_KEY, dst, dst, ipv6, 0);
}

void forward4_input(struct sp_observer *o, const struct packet *packet)
{
	const uint8_t *ip = packet->data;
	struct pending_entry entry = {
		.len = packet->len,
		.kind = ip[8] <= 1 ? KIND_TTL : 0,
	};

	if (!packet->to_host)
		return;
	entry.flow = flow4(o->forward, ip);
	entry.note = name_of(ip + 16, false);
	pending_add(o, o->forward->waiting, &entry);
}

static bool is_scoped(const uint8_t *addr)
{
	return (addr[0] == 0xfe && (addr[1] & 0xc0) == 0x80) || is_zero6(addr);
}

static bool is_own_source6(const struct sp_observer *o, const uint8_t *ip)
{
	return is_zero6(ip + 8) || host_is_local6(o->host, ip + 8);
}

void forward6_input(struct sp_observer *o, const struct packet *packet)
{
	const uint8_t *ip = packet->data;
	struct pending_entry entry = {
		.len = packet->len,
		.kind = KIND_IPV6,
	};

	if (!packet->to_host)
		return;
	if (is_zero6(ip + 24)) {
		NET6_INC(o, ip6, InAddrErrors);
		return;
	}
	entry.kind |= ip[7] <= 1 ? KIND_TTL : 0;
	entry.kind |= is_scoped(ip + 8) ? KIND_SCOPED : 0;
	o->forward->saw_own_source |= is_own_source6(o, ip);
	entry.flow = flow6(o->forward, ip, packet->cap_len);
	entry.note = name_of(ip + 24, true);
	pending_add(o, o->forward->waiting, &entry);
}

static void decide(struct forward *forward, struct pending_entry *entry,
		   enum fate fate)
{
	forward->fates[entry->note % NR_FATES] =
		(struct fate_slot){entry->note, (uint8_t)fate};
	forward->nr_left += fate == FATE_LEFT;
	entry->flow = 0;
}

static uint64_t *cut_of(struct forward *forward, const uint8_t *ip,
			uint64_t *ret_name)
{
	*ret_name = flow_hash(&PUBLIC_KEY, ip + 12, ip + 16, false,
			      tag4(ip) & 0xffffffff);
	return &forward->cuts[*ret_name % NR_CUTS];
}

static bool is_fragment(const uint8_t *ip)
{
	return sp_get_be16(ip + 6) & 0x3fff;
}

/* The first piece of a packet that came longer: this host cuts it. */
static void count_cut(struct sp_observer *o, const uint8_t *ip)
{
	uint64_t name;
	uint64_t *cut = cut_of(o->forward, ip, &name);

	*cut = name;
	NET_INC(o, ip, FragOKs);
	NET_INC(o, ip, FragCreates);
}

static bool is_later_piece(struct sp_observer *o, const uint8_t *ip)
{
	uint64_t name;

	return *cut_of(o->forward, ip, &name) == name;
}

bool forward4_output(struct sp_observer *o, const struct packet *packet)
{
	const uint8_t *ip = packet->data;
	struct pending_entry *entry;

	if (host_is_local4(o->host, ip + 12) || is_zero4(ip + 12))
		return false;
	entry = pending_find(o->forward->waiting, flow4(o->forward, ip));
	if (!entry && is_fragment(ip) && is_later_piece(o, ip)) {
		NET_INC(o, ip, FragCreates);
		return true;
	}
	count_forwarded(o, false);
	if (!entry)
		return true;
	if (is_fragment(ip) && entry->len > packet->len)
		count_cut(o, ip);
	decide(o->forward, entry, FATE_LEFT);
	return true;
}

/* IPv6 forwards even what bears the router's own address as its source: then
 * only that it came tells whose it is. */
bool forward6_output(struct sp_observer *o, const struct packet *packet)
{
	const uint8_t *ip = packet->data;
	bool own = is_own_source6(o, ip);
	struct pending_entry *entry;

	if (own && (is_multicast6(ip + 24) || !o->forward->saw_own_source))
		return false;
	entry = pending_find(o->forward->waiting,
			     flow6(o->forward, ip, packet->cap_len));
	if (!entry && own)
		return false;
	count_forwarded(o, true);
	if (entry)
		decide(o->forward, entry, FATE_LEFT);
	return true;
}

static void no_neighbour(struct sp_observer *o, struct pending_entry *entry,
			 bool ipv6)
{
	count_forwarded(o, ipv6);
	count_sent(o, ipv6, entry->len);
	entry->flow = 0;
}

static void unreachable4(struct sp_observer *o, struct pending_entry *entry,
			 uint8_t code)
{
	switch (code) {
	case TOO_BIG:
		count_forwarded(o, false);
		entry->flow = 0; /* by which device it would have left? */
		break;
	case NO_NETWORK:
		count_no_route(o, false);
		decide(o->forward, entry, FATE_NO_ROUTE);
		break;
	case NO_HOST:
		if (o->now_ns - entry->time_ns >= LATE_NS) {
			no_neighbour(o, entry, false);
			break;
		}
		decide(o->forward, entry, FATE_REFUSED);
		break;
	case PROHIBITED:
		decide(o->forward, entry, FATE_REFUSED);
		break;
	}
}

void forward4_error(struct sp_observer *o, uint8_t type, uint8_t code,
		    const uint8_t *quote)
{
	struct pending_entry *entry;

	if (type != UNREACHABLE)
		return;
	if (code == TOO_BIG)
		NET_INC(o, ip, FragFails);
	entry = pending_find(o->forward->waiting, flow4(o->forward, quote));
	if (entry)
		unreachable4(o, entry, code);
}

static void unreachable6(struct sp_observer *o, struct pending_entry *entry,
			 uint8_t code)
{
	switch (code) {
	case NO_ROUTE6:
		count_no_route(o, true);
		decide(o->forward, entry, FATE_NO_ROUTE);
		break;
	case PROHIBITED6:
		count_no_route(o, true);
		decide(o->forward, entry, FATE_REFUSED);
		break;
	case NO_ADDRESS6:
		no_neighbour(o, entry, true);
		break;
	}
}

void forward6_error(struct sp_observer *o, uint8_t type, uint8_t code,
		    const uint8_t *quote, uint32_t quote_len)
{
	struct pending_entry *entry;

	if (type == TOO_BIG6) {
		NET6_INC(o, ip6, InTooBigErrors);
		NET6_INC(o, ip6, FragFails);
	}
	entry = pending_find(o->forward->waiting,
			     flow6(o->forward, quote, quote_len));
	if (!entry)
		return;
	if (type == TOO_BIG6) {
		count_forwarded(o, true);
		entry->flow = 0;
	} else if (type == UNREACHABLE6) {
		unreachable6(o, entry, code);
	}
}
