/* SPDX-License-Identifier: MIT */
/*
 * packet/frame.h - a captured frame and its link-layer header.
 *
 * Pure functions over bytes: no state, no allocation, any thread. Every byte of
 * a frame is hostile; nothing here reads past @cap_len.
 */
#ifndef SP_PACKET_FRAME_H
#define SP_PACKET_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <statplane/frame.h>

/* Tags that are passed over; a frame with more is not looked into. */
#define SP_LINK_MAX_TAGS 8

#define SP_VLAN_NONE 0xffff

/* What the link-layer header says. */
struct sp_link {
	const uint8_t *dst_mac; /* NULL where the link type has none */
	const uint8_t *src_mac; /* NULL where the link type has none */
	uint32_t l3_off;        /* of the network header, from the frame's
				 * start; <= cap_len */
	uint16_t ethertype;     /* host order; 0 for LLC, raw 802.3 and anything
				 * that no EtherType stands for; that of a tag
				 * if there were too many tags */
	uint16_t vlan_id;       /* of the outermost VLAN; 0 if all tags are
				 * priority tags, SP_VLAN_NONE without a tag */
	uint8_t nr_tags;        /* 802.1Q and 802.1ad tags passed over */
	uint8_t nr_vlans;       /* those of them that name a VLAN (id not 0) */
	uint8_t direction;      /* enum sp_direction: the frame's own, else from
				 * cooked headers */
	bool group_dst;         /* destination is a group address */
	bool broadcast_dst;     /* destination is the broadcast address */
	bool other_host;        /* cooked: unicast for somebody else */
};

/**
 * sp_link_decode() - decode the link-layer header of a frame
 * @linktype: LINKTYPE_ value of the capture
 * @ret_link: always set
 *
 * Return: false if the header is cut short or the link type is unknown; then
 * only the addresses that could be read are set.
 */
bool sp_link_decode(uint32_t linktype, const struct sp_frame *frame,
		    struct sp_link *ret_link);

/* Whether sp_link_decode() knows a LINKTYPE_ value. */
bool sp_linktype_known(uint32_t linktype);

#endif
