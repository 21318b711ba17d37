/* SPDX-License-Identifier: MIT */
/*
 * packet/link.c - link-layer headers.
 *
 * Each link type has one function that takes the fixed header to pieces and
 * leaves in the link the type of what follows and where it starts; tags are
 * then passed over in one place, wherever the first of them was announced.
 * Nothing is read before its length was checked against cap_len.
 *
 * A priority tag (VLAN id 0) puts a frame into no VLAN, so it is skipped when
 * the VLAN is looked for, as the kernel does (net/core/dev.c).
 */
#include "packet/frame.h"

#include <string.h>

#include <statplane/frame.h>

#include "packet/ip.h"

enum {
	ETHERTYPE_IPV4 = 0x0800,
	ETHERTYPE_VLAN = 0x8100,
	ETHERTYPE_QINQ = 0x88a8,
	ETHERTYPE_IPV6 = 0x86dd,
	ETHERTYPE_MIN = 0x0600, /* below: a length, or Linux's own numbers */
};

enum {
	MAC_LEN = 6,
	ETHERNET_LEN = 14,
	TAG_LEN = 4,
	SLL_LEN = 16,
	SLL2_LEN = 20,
	FAMILY_LEN = 4,
	VLAN_ID_MASK = 0x0fff,
};

/* Packet types of cooked headers: linux/if_packet.h. */
enum {
	SLL_BROADCAST = 1,
	SLL_MULTICAST = 2,
	SLL_OTHER_HOST = 3,
	SLL_OUTGOING = 4,
};

/* Address families as the writers of captures number them. */
enum {
	FAMILY_IPV4 = 2, /* everywhere */
	FAMILY_IPV6_LINUX = 10,
	FAMILY_IPV6_BSD = 24,
	FAMILY_IPV6_FREEBSD = 28,
	FAMILY_IPV6_DARWIN = 30,
};

static uint16_t ethertype_or_none(uint16_t type)
{
	return type >= ETHERTYPE_MIN ? type : 0;
}

static bool is_broadcast(const uint8_t *mac)
{
	return (mac[0] & mac[1] & mac[2] & mac[3] & mac[4] & mac[5]) == 0xff;
}

/* Pass over the tags that start at l3_off if ethertype says so. */
static bool skip_tags(const struct sp_frame *frame, struct sp_link *link)
{
	while (link->ethertype == ETHERTYPE_VLAN ||
	       link->ethertype == ETHERTYPE_QINQ) {
		const uint8_t *tag = frame->data + link->l3_off;
		uint16_t id;

		if (link->nr_tags == SP_LINK_MAX_TAGS)
			return true;
		if (frame->cap_len - link->l3_off < TAG_LEN)
			return false;
		id = sp_get_be16(tag) & VLAN_ID_MASK;
		if (link->nr_vlans == 0)
			link->vlan_id = id;
		if (id != 0)
			link->nr_vlans++;
		link->nr_tags++;
		link->l3_off += TAG_LEN;
		link->ethertype = ethertype_or_none(sp_get_be16(tag + 2));
	}
	return true;
}

static bool decode_ethernet(const struct sp_frame *frame, struct sp_link *link)
{
	const uint8_t *data = frame->data;

	if (frame->cap_len < MAC_LEN)
		return false;
	link->dst_mac = data;
	link->group_dst = data[0] & 1;
	link->broadcast_dst = is_broadcast(data);
	if (frame->cap_len < 2 * MAC_LEN)
		return false;
	link->src_mac = data + MAC_LEN;
	if (frame->cap_len < ETHERNET_LEN)
		return false;
	link->ethertype = ethertype_or_none(sp_get_be16(data + 2 * MAC_LEN));
	link->l3_off = ETHERNET_LEN;
	return skip_tags(frame, link);
}

/* What both cooked headers tell, in fields of different places. */
static void decode_cooked(unsigned packet_type, unsigned addr_len,
			  const uint8_t *addr, struct sp_link *link)
{
	link->broadcast_dst = packet_type == SLL_BROADCAST;
	link->group_dst =
		packet_type == SLL_BROADCAST || packet_type == SLL_MULTICAST;
	link->other_host = packet_type == SLL_OTHER_HOST;
	if (link->direction == SP_DIRECTION_UNKNOWN)
		link->direction = packet_type == SLL_OUTGOING ? SP_DIRECTION_OUT
							      : SP_DIRECTION_IN;
	if (addr_len == MAC_LEN)
		link->src_mac = addr;
}

static bool decode_sll(const struct sp_frame *frame, struct sp_link *link)
{
	const uint8_t *data = frame->data;

	if (frame->cap_len < SLL_LEN)
		return false;
	decode_cooked(sp_get_be16(data), sp_get_be16(data + 4), data + 6, link);
	link->ethertype = ethertype_or_none(sp_get_be16(data + 14));
	link->l3_off = SLL_LEN;
	return skip_tags(frame, link);
}

static bool decode_sll2(const struct sp_frame *frame, struct sp_link *link)
{
	const uint8_t *data = frame->data;

	if (frame->cap_len < SLL2_LEN)
		return false;
	decode_cooked(data[10], data[11], data + 12, link);
	link->ethertype = ethertype_or_none(sp_get_be16(data));
	link->l3_off = SLL2_LEN;
	return skip_tags(frame, link);
}

static uint16_t family_ethertype(uint32_t family)
{
	switch (family) {
	case FAMILY_IPV4:
		return ETHERTYPE_IPV4;
	case FAMILY_IPV6_LINUX:
	case FAMILY_IPV6_BSD:
	case FAMILY_IPV6_FREEBSD:
	case FAMILY_IPV6_DARWIN:
		return ETHERTYPE_IPV6;
	default:
		return 0;
	}
}

/* The family is in its writer's byte order; all families are small numbers. */
static bool decode_null(const struct sp_frame *frame, struct sp_link *link)
{
	uint32_t family;

	if (frame->cap_len < FAMILY_LEN)
		return false;
	memcpy(&family, frame->data, sizeof(family));
	if (family & 0xffff0000)
		family = __builtin_bswap32(family);
	link->ethertype = family_ethertype(family);
	link->l3_off = FAMILY_LEN;
	return true;
}

static bool decode_loop(const struct sp_frame *frame, struct sp_link *link)
{
	if (frame->cap_len < FAMILY_LEN)
		return false;
	link->ethertype = family_ethertype(sp_get_be32(frame->data));
	link->l3_off = FAMILY_LEN;
	return true;
}

/* No header: the IP version says what it is. */
static bool decode_raw(const struct sp_frame *frame, struct sp_link *link)
{
	if (frame->cap_len == 0)
		return false;
	switch (frame->data[0] >> 4) {
	case 4:
		link->ethertype = ETHERTYPE_IPV4;
		break;
	case 6:
		link->ethertype = ETHERTYPE_IPV6;
		break;
	default:
		break;
	}
	return true;
}

bool sp_link_decode(uint32_t linktype, const struct sp_frame *frame,
		    struct sp_link *ret_link)
{
	*ret_link = (struct sp_link){
		.vlan_id = SP_VLAN_NONE,
		.direction = frame->direction,
	};
	switch (linktype) {
	case SP_LINKTYPE_ETHERNET:
		return decode_ethernet(frame, ret_link);
	case SP_LINKTYPE_LINUX_SLL:
		return decode_sll(frame, ret_link);
	case SP_LINKTYPE_LINUX_SLL2:
		return decode_sll2(frame, ret_link);
	case SP_LINKTYPE_RAW_DLT:
	case SP_LINKTYPE_RAW_OPENBSD:
	case SP_LINKTYPE_RAW:
		return decode_raw(frame, ret_link);
	case SP_LINKTYPE_IPV4:
		ret_link->ethertype = ETHERTYPE_IPV4;
		return true;
	case SP_LINKTYPE_IPV6:
		ret_link->ethertype = ETHERTYPE_IPV6;
		return true;
	case SP_LINKTYPE_NULL:
		return decode_null(frame, ret_link);
	case SP_LINKTYPE_LOOP:
		return decode_loop(frame, ret_link);
	default:
		return false;
	}
}

bool sp_linktype_known(uint32_t linktype)
{
	switch (linktype) {
	case SP_LINKTYPE_NULL:
	case SP_LINKTYPE_ETHERNET:
	case SP_LINKTYPE_RAW_DLT:
	case SP_LINKTYPE_RAW_OPENBSD:
	case SP_LINKTYPE_RAW:
	case SP_LINKTYPE_LOOP:
	case SP_LINKTYPE_LINUX_SLL:
	case SP_LINKTYPE_IPV4:
	case SP_LINKTYPE_IPV6:
	case SP_LINKTYPE_LINUX_SLL2:
		return true;
	default:
		return false;
	}
}
