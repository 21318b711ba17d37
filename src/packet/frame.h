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

/* What the link-layer header says. */
struct sp_link {
	const uint8_t *dst_mac;  /* NULL where the link type has none */
	const uint8_t *src_mac;  /* NULL where the link type has none */
	uint32_t l3_off;         /* of the network header, from the frame's start */
	uint16_t ethertype;      /* host order; 0 if none could be read */
	uint16_t vlan_id;        /* outermost tag's, SP_VLAN_NONE without a tag */
	uint8_t nr_tags;         /* 802.1Q and 802.1ad tags passed over */
	uint8_t direction;       /* enum sp_direction, from cooked headers */
	bool group_dst;          /* destination is a group address */
	bool broadcast_dst;      /* destination is the broadcast address */
};

#define SP_VLAN_NONE 0xffff

/**
 * sp_link_decode() - decode the link-layer header of a frame
 * @linktype: LINKTYPE_ value of the capture
 *
 * Return: false if the header is cut short or the link type is unknown; then
 * only the addresses that could be read are set.
 */
bool sp_link_decode(uint32_t linktype, const struct sp_frame *frame,
		    struct sp_link *ret_link);

/* Whether sp_link_decode() knows a LINKTYPE_ value. */
bool sp_linktype_known(uint32_t linktype);

#endif
