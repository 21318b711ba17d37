/* SPDX-License-Identifier: MIT */
/*
 * observe/evidence.c - see evidence.h.
 *
 * Station 0 stands for whoever is observed where there are no MAC addresses.
 * Its claims are the host's ends if the direction is known, else both ends of
 * every packet.
 */
#include "observe/evidence.h"

#include <netinet/in.h>
#include <string.h>

#include "observe/flow.h"
#include "observe/host.h"
#include "packet/checksum.h"
#include "packet/ip.h"

#define LOAD_LIMIT(size) ((size) / 4 * 3)

enum ethertype {
	TYPE_IPV4 = 0x0800,
	TYPE_ARP = 0x0806,
	TYPE_IPV6 = 0x86dd,
};

/* One packet, with what of it matters here. */
struct sight {
	const struct sp_link *link;
	const uint8_t *src; /* addresses */
	const uint8_t *dst;
	const uint8_t *upper; /* upper-layer header */
	uint32_t upper_cap;
	uint32_t upper_len;
	uint8_t family;
	uint8_t protocol;
	uint8_t ttl;
};

static size_t addr_len_of(uint8_t family)
{
	return family == AF_INET ? 4 : 16;
}

static uint64_t hash_mac(const struct evidence *evidence, const uint8_t *mac)
{
	return sp_hash(&evidence->key, mac, 6);
}

/* Slot of @mac, or a free one; station 0 has no slot. */
static uint32_t station_slot(const struct evidence *evidence,
			     const uint8_t *mac)
{
	uint32_t i = hash_mac(evidence, mac) % EVIDENCE_STATIONS;

	while (i == STATION_NOBODY ||
	       (evidence->stations[i].used &&
		memcmp(evidence->stations[i].mac, mac, 6) != 0))
		i = (i + 1) % EVIDENCE_STATIONS;
	return i;
}

int evidence_station(const struct evidence *evidence, const uint8_t *mac)
{
	uint32_t i = station_slot(evidence, mac);

	return evidence->stations[i].used ? (int)i : -1;
}

/* Return: NULL for one too many. */
static struct station *meet(struct evidence *evidence, const uint8_t *mac)
{
	struct station *station =
		&evidence->stations[station_slot(evidence, mac)];

	if (station->used)
		return station;
	if (evidence->nr_stations == LOAD_LIMIT(EVIDENCE_STATIONS))
		return NULL;
	station->order = ++evidence->nr_stations;
	memcpy(station->mac, mac, 6);
	station->used = true;
	return station;
}

static uint16_t index_of(const struct evidence *evidence,
			 const struct station *station)
{
	return (uint16_t)(station - evidence->stations);
}

static bool is_claim(const struct claim *claim, uint16_t station,
		     uint8_t family, const uint8_t *addr)
{
	return claim->station == station && claim->family == family &&
	       !memcmp(claim->octets, addr, addr_len_of(family));
}

static struct claim *claim_slot(struct evidence *evidence, uint16_t station,
				uint8_t family, const uint8_t *addr)
{
	uint64_t hash = flow_hash(&evidence->key, addr, addr,
				  family == AF_INET6, station);
	uint32_t i = hash % EVIDENCE_CLAIMS;

	while (evidence->claims[i].order &&
	       !is_claim(&evidence->claims[i], station, family, addr))
		i = (i + 1) % EVIDENCE_CLAIMS;
	return &evidence->claims[i];
}

static struct claim *claim_make(struct evidence *evidence,
				struct station *station, struct claim *claim,
				uint8_t family, const uint8_t *addr)
{
	uint16_t index = index_of(evidence, station);
	uint32_t limit = index == STATION_NOBODY
				 ? LOAD_LIMIT(EVIDENCE_CLAIMS) / 2
				 : EVIDENCE_PER_STATION;

	if (station->nr_claims >= limit) {
		station->many = true;
		return NULL;
	}
	if (evidence->nr_claims == LOAD_LIMIT(EVIDENCE_CLAIMS))
		return NULL;
	station->nr_claims++;
	*claim = (struct claim){
		.order = ++evidence->nr_claims,
		.station = index,
		.family = family,
	};
	memcpy(claim->octets, addr, addr_len_of(family));
	return claim;
}

static bool can_be_own(uint8_t family, const uint8_t *addr)
{
	if (family == AF_INET)
		return !is_zero4(addr) && !is_multicast4(addr) &&
		       !is_all_ones4(addr);
	return !is_zero6(addr) && !is_multicast6(addr);
}

/* @station has @addr. Return: NULL if that cannot be, or for one too many. */
static struct claim *claim(struct evidence *evidence, struct station *station,
			   uint8_t family, const uint8_t *addr)
{
	struct claim *found;

	if (!station || !can_be_own(family, addr))
		return NULL;
	found = claim_slot(evidence, index_of(evidence, station), family, addr);
	if (found->order)
		return found;
	return claim_make(evidence, station, found, family, addr);
}

static void claim_surely(struct evidence *evidence, struct station *station,
			 uint8_t family, const uint8_t *addr)
{
	struct claim *found = claim(evidence, station, family, addr);

	if (found)
		found->claimed = true;
}

/* ARP: the sender's protocol address. */
static void see_arp(struct evidence *evidence, struct station *sender,
		    const uint8_t *arp, uint32_t cap_len)
{
	if (cap_len < 28 || sp_get_be16(arp + 2) != TYPE_IPV4 || arp[5] != 4 ||
	    arp[4] != 6)
		return;
	if (sender && sp_get_be16(arp + 6) == 2)
		sender->nr_answers++;
	claim_surely(evidence, sender, AF_INET, arp + 14);
}

/* Neighbour advertisement: its target; solicitation from ::, which asks
 * whether an address is free: its target. */
static void see_neighbour(struct evidence *evidence, struct station *sender,
			  const struct sight *sight)
{
	if (sight->protocol != IPPROTO_ICMPV6 || sight->upper_cap < 24)
		return;
	if (sight->upper[0] == 136 ||
	    (sight->upper[0] == 135 && is_zero6(sight->src)))
		claim_surely(evidence, sender, AF_INET6, sight->upper + 8);
}

/* Does it answer something, so that its sender was asked? */
static bool is_answer(const struct sight *sight)
{
	const uint8_t *upper = sight->upper;

	switch (sight->protocol) {
	case IPPROTO_TCP: /* SYN-ACK */
		return sight->upper_cap >= 14 && (upper[13] & 0x12) == 0x12;
	case IPPROTO_UDP: /* from a service to a client */
		return sight->upper_cap >= 4 && sp_get_be16(upper) < 1024 &&
		       sp_get_be16(upper + 2) >= 1024;
	case IPPROTO_ICMP: /* echo reply, port unreachable */
		return sight->upper_cap >= 2 && sight->family == AF_INET &&
		       (!upper[0] || (upper[0] == 3 && upper[1] == 3));
	case IPPROTO_ICMPV6:
		return sight->upper_cap >= 2 && sight->family == AF_INET6 &&
		       (upper[0] == 129 || (upper[0] == 1 && upper[1] == 4) ||
			upper[0] == 136);
	default:
		return false;
	}
}

/* A checksum field that holds the sum of the pseudo-header: seen only on the
 * sending host, before its device fills the checksum in. */
static bool is_unfilled(const struct sight *sight)
{
	uint32_t off = sight->protocol == IPPROTO_TCP ? 16 : 6;
	uint64_t pseudo;
	uint16_t field;

	if ((sight->protocol != IPPROTO_TCP &&
	     sight->protocol != IPPROTO_UDP) ||
	    sight->upper_cap < off + 2)
		return false;
	memcpy(&field, sight->upper + off, sizeof(field));
	pseudo = sight->family == AF_INET
			 ? sp_csum_pseudo4(sight->src, sight->protocol,
					   sight->upper_len)
			 : sp_csum_pseudo6(sight->src, sight->protocol,
					   sight->upper_len);
	return field == sp_csum_fold(pseudo);
}

static bool is_group(const struct sight *sight)
{
	return sight->family == AF_INET ? is_multicast4(sight->dst)
					: is_multicast6(sight->dst);
}

/* What a station sent, with a source that may be its own. */
static void see_sent(struct evidence *evidence, struct station *sender,
		     const struct sight *sight)
{
	struct claim *found =
		claim(evidence, sender, sight->family, sight->src);

	if (!sender)
		return;
	sender->nr_answers += is_answer(sight);
	sender->nr_unfilled += is_unfilled(sight);
	if (!found)
		return;
	found->nr++;
	found->nr_answers += is_answer(sight);
	found->claimed |= is_group(sight);
	if (sight->ttl > found->ttl)
		found->ttl = sight->ttl;
}

/* An end of a packet that bears no MAC address. */
static void see_end(struct evidence *evidence, const struct sight *sight,
		    const uint8_t *addr, bool is_source)
{
	struct claim *found =
		claim(evidence, &evidence->stations[STATION_NOBODY],
		      sight->family, addr);

	if (!found)
		return;
	found->nr++;
	found->nr_answers += is_source && is_answer(sight);
	if (!is_source && !evidence->first_ends[sight->family == AF_INET6])
		evidence->first_ends[sight->family == AF_INET6] = found->order;
}

static void see_ends(struct evidence *evidence, const struct sight *sight)
{
	uint8_t direction = sight->link->direction;

	if (sight->link->other_host)
		return;
	evidence->nr_packets++;
	evidence->nr_marked += direction != SP_DIRECTION_UNKNOWN;
	if (direction != SP_DIRECTION_IN)
		see_end(evidence, sight, sight->src, true);
	if (direction != SP_DIRECTION_OUT && !sight->link->group_dst &&
	    memcmp(sight->src, sight->dst, addr_len_of(sight->family)) != 0)
		see_end(evidence, sight, sight->dst, false);
}

static void see_broadcast(struct evidence *evidence, const uint8_t *dst)
{
	uint32_t nr = evidence->nr_broadcasts;

	if (is_all_ones4(dst) || nr == EVIDENCE_BROADCASTS)
		return;
	for (uint32_t i = 0; i < nr; i++)
		if (!memcmp(evidence->broadcasts[i], dst, 4))
			return;
	memcpy(evidence->broadcasts[evidence->nr_broadcasts++], dst, 4);
}

static bool read_ipv4(const uint8_t *ip, uint32_t cap_len, uint32_t len,
		      struct sight *ret_sight)
{
	uint32_t header_len, total;

	if (cap_len < 20 || ip[0] >> 4 != 4)
		return false;
	header_len = (ip[0] & 0xf) * 4u;
	total = sp_get_be16(ip + 2);
	if (total < header_len || total > len)
		total = len;
	if (header_len < 20 || header_len > total)
		return false;
	ret_sight->family = AF_INET;
	ret_sight->src = ip + 12;
	ret_sight->dst = ip + 16;
	ret_sight->ttl = ip[8];
	ret_sight->protocol = ip[9];
	ret_sight->upper = ip + header_len;
	if (cap_len > total)
		cap_len = total;
	if (cap_len > header_len && !(sp_get_be16(ip + 6) & 0x1fff))
		ret_sight->upper_cap = cap_len - header_len;
	ret_sight->upper_len = total - header_len;
	return true;
}

static bool read_ipv6(const uint8_t *ip, uint32_t cap_len, uint32_t len,
		      struct sight *ret_sight)
{
	uint32_t payload_len;

	if (cap_len < 40 || ip[0] >> 4 != 6)
		return false;
	payload_len = sp_get_be16(ip + 4);
	if (payload_len > len - 40)
		payload_len = len - 40;
	ret_sight->family = AF_INET6;
	ret_sight->src = ip + 8;
	ret_sight->dst = ip + 24;
	ret_sight->ttl = ip[7];
	ret_sight->protocol = ip[6];
	ret_sight->upper = ip + 40;
	ret_sight->upper_cap = cap_len - 40;
	ret_sight->upper_len = payload_len;
	return true;
}

static void see_unicast(struct evidence *evidence, const struct sp_link *link,
			struct station *sender)
{
	struct station *asked = meet(evidence, link->dst_mac);

	evidence->nr_unicast++;
	if (sender)
		sender->nr_unicast++;
	if (!asked)
		return;
	if (asked != sender)
		asked->nr_unicast++;
	if (link->direction == SP_DIRECTION_IN) {
		asked->nr_marked++;
		evidence->nr_marked++;
	}
	if (!evidence->first_asked)
		evidence->first_asked = index_of(evidence, asked);
}

/* The link layer. Return: who sent it, NULL if nobody can be named. */
static struct station *see_link(struct evidence *evidence,
				const struct sp_link *link)
{
	struct station *sender = meet(evidence, link->src_mac);

	if (sender && link->direction == SP_DIRECTION_OUT) {
		sender->nr_marked++;
		evidence->nr_marked++;
	}
	if (!link->group_dst)
		see_unicast(evidence, link, sender);
	return sender;
}

static void see_network(struct evidence *evidence, const struct sp_link *link,
			struct station *sender, const uint8_t *l3,
			uint32_t cap_len, uint32_t len)
{
	struct sight sight = {.link = link};

	if (link->ethertype == TYPE_ARP) {
		see_arp(evidence, sender, l3, cap_len);
		return;
	}
	if (link->ethertype == TYPE_IPV4 &&
	    read_ipv4(l3, cap_len, len, &sight)) {
		if (link->broadcast_dst)
			see_broadcast(evidence, sight.dst);
	} else if (link->ethertype != TYPE_IPV6 ||
		   !read_ipv6(l3, cap_len, len, &sight)) {
		return;
	}
	if (!link->dst_mac) {
		see_ends(evidence, &sight);
		return;
	}
	see_neighbour(evidence, sender, &sight);
	see_sent(evidence, sender, &sight);
}

void evidence_frame(struct evidence *evidence, const struct sp_frame *frame)
{
	static const uint8_t none[6];
	struct station *sender = NULL;
	struct sp_link link;

	if (!sp_link_decode(evidence->linktype, frame, &link))
		return;
	if (link.src_mac && link.dst_mac && !memcmp(link.src_mac, none, 6) &&
	    !memcmp(link.dst_mac, none, 6)) { /* the loopback device */
		evidence->nr_loopback++;
		link.src_mac = link.dst_mac = NULL;
	}
	if (link.src_mac && link.dst_mac)
		sender = see_link(evidence, &link);
	see_network(
		evidence, &link, sender, frame->data + link.l3_off,
		frame->cap_len - link.l3_off,
		(frame->len > frame->cap_len ? frame->len : frame->cap_len) -
			link.l3_off);
}
