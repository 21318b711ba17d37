/* SPDX-License-Identifier: MIT */
/*
 * test_link.c - link-layer headers, each type with what it tells and what it
 * does when it is cut short.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "packet/frame.h"

#define MAC_A 2, 0, 0, 0, 0, 1
#define MAC_B 2, 0, 0, 0, 0, 2

/* The frame stays until the next call, so that addresses can be looked at. */
static uint8_t *copy;

static bool decode(uint32_t linktype, const uint8_t *data, size_t len,
		   struct sp_link *link)
{
	struct sp_frame frame = {
		.cap_len = (uint32_t)len,
		.len = (uint32_t)len,
	};

	free(copy);
	copy = malloc(len ? len
			  : 1); /* so that a sanitizer sees a step too far */
	assert_non_null(copy);
	memcpy(copy, data, len);
	frame.data = copy;
	return sp_link_decode(linktype, &frame, link);
}

static int free_copy(void **state)
{
	free(copy);
	copy = NULL;
	return 0;
}

#define DECODE(linktype, ...)                                                  \
	decode(linktype, (const uint8_t[]){__VA_ARGS__},                       \
	       sizeof((const uint8_t[]){__VA_ARGS__}), &link)

static void assert_macs(const struct sp_link *link, const uint8_t *dst,
			const uint8_t *src)
{
	assert_memory_equal(link->dst_mac, dst, 6);
	assert_memory_equal(link->src_mac, src, 6);
}

static void ethernet_has_addresses_and_a_type(void **state)
{
	struct sp_link link;

	assert_true(DECODE(SP_LINKTYPE_ETHERNET, MAC_A, MAC_B, 8, 0, 0x45));
	assert_macs(&link, (uint8_t[]){MAC_A}, (uint8_t[]){MAC_B});
	assert_int_equal(link.ethertype, 0x0800);
	assert_int_equal(link.l3_off, 14);
	assert_int_equal(link.vlan_id, SP_VLAN_NONE);
	assert_int_equal(link.nr_tags, 0);
	assert_int_equal(link.direction, SP_DIRECTION_UNKNOWN);
	assert_false(link.group_dst || link.broadcast_dst || link.other_host);
	assert_true(DECODE(SP_LINKTYPE_ETHERNET, MAC_A, MAC_B, 8, 6));
	assert_int_equal(link.ethertype, 0x0806);
}

static void ethernet_tells_groups_and_broadcast(void **state)
{
	struct sp_link link;

	assert_true(
		DECODE(SP_LINKTYPE_ETHERNET, 1, 0, 0x5e, 0, 0, 1, MAC_B, 8, 0));
	assert_true(link.group_dst && !link.broadcast_dst);
	assert_true(DECODE(SP_LINKTYPE_ETHERNET, 0xff, 0xff, 0xff, 0xff, 0xff,
			   0xff, MAC_B, 8, 0));
	assert_true(link.group_dst && link.broadcast_dst);
	assert_true(DECODE(SP_LINKTYPE_ETHERNET, 0xff, 0xff, 0xff, 0xff, 0xff,
			   0xfe, MAC_B, 8, 0));
	assert_true(link.group_dst && !link.broadcast_dst);
	/* the source's group bit means nothing here */
	assert_true(
		DECODE(SP_LINKTYPE_ETHERNET, MAC_A, 1, 0, 0, 0, 0, 0, 8, 0));
	assert_false(link.group_dst);
}

static void a_cut_ethernet_header_gives_what_addresses_are_there(void **state)
{
	const uint8_t frame[14] = {MAC_A, MAC_B, 8, 0};
	struct sp_link link;

	for (size_t len = 0; len < 14; len++) {
		assert_false(decode(SP_LINKTYPE_ETHERNET, frame, len, &link));
		assert_int_equal(link.dst_mac != NULL, len >= 6);
		assert_int_equal(link.src_mac != NULL, len >= 12);
		assert_int_equal(link.ethertype, 0);
		assert_int_equal(link.l3_off, 0);
	}
}

static void a_length_in_place_of_the_type_is_no_ethertype(void **state)
{
	struct sp_link link;

	/* 802.2 LLC, SNAP, and the largest length */
	assert_true(DECODE(SP_LINKTYPE_ETHERNET, MAC_A, MAC_B, 0, 38, 0x42,
			   0x42, 3));
	assert_int_equal(link.ethertype, 0);
	assert_true(DECODE(SP_LINKTYPE_ETHERNET, MAC_A, MAC_B, 0, 8, 0xaa, 0xaa,
			   3, 0, 0, 0, 8, 0));
	assert_int_equal(link.ethertype, 0);
	assert_true(DECODE(SP_LINKTYPE_ETHERNET, MAC_A, MAC_B, 5, 0xff));
	assert_int_equal(link.ethertype, 0);
	assert_true(DECODE(SP_LINKTYPE_ETHERNET, MAC_A, MAC_B, 6, 0));
	assert_int_equal(link.ethertype, 0x600);
}

static void a_tag_is_passed_over_and_its_vlan_told(void **state)
{
	struct sp_link link;

	assert_true(DECODE(SP_LINKTYPE_ETHERNET, MAC_A, MAC_B, 0x81, 0, 0xf0,
			   10, 0x86, 0xdd, 0x60));
	assert_int_equal(link.ethertype, 0x86dd);
	assert_int_equal(link.l3_off, 18);
	assert_int_equal(link.vlan_id, 10); /* without the priority bits */
	assert_int_equal(link.nr_tags, 1);
	assert_int_equal(link.nr_vlans, 1);
	assert_true(DECODE(SP_LINKTYPE_ETHERNET, MAC_A, MAC_B, 0x88, 0xa8, 0xf,
			   0xff, 8, 0));
	assert_int_equal(link.vlan_id, 4095);
	assert_int_equal(link.ethertype, 0x0800);
	/* only these two types are tags */
	assert_true(DECODE(SP_LINKTYPE_ETHERNET, MAC_A, MAC_B, 0x91, 0, 0, 10,
			   8, 0));
	assert_int_equal(link.ethertype, 0x9100);
	assert_int_equal(link.vlan_id, SP_VLAN_NONE);
}

static void of_stacked_tags_the_outermost_vlan_is_told(void **state)
{
	struct sp_link link;

	assert_true(DECODE(SP_LINKTYPE_ETHERNET, MAC_A, MAC_B, 0x88, 0xa8, 0,
			   20, 0x81, 0, 0, 10, 8, 0));
	assert_int_equal(link.vlan_id, 20);
	assert_int_equal(link.nr_tags, 2);
	assert_int_equal(link.nr_vlans, 2);
	assert_int_equal(link.l3_off, 22);
	assert_int_equal(link.ethertype, 0x0800);
}

static void a_priority_tag_names_no_vlan(void **state)
{
	struct sp_link link;

	assert_true(DECODE(SP_LINKTYPE_ETHERNET, MAC_A, MAC_B, 0x81, 0, 0xe0, 0,
			   8, 0));
	assert_int_equal(link.vlan_id, 0);
	assert_int_equal(link.nr_tags, 1);
	assert_int_equal(link.nr_vlans, 0);
	assert_true(DECODE(SP_LINKTYPE_ETHERNET, MAC_A, MAC_B, 0x81, 0, 0xe0, 0,
			   0x81, 0, 0, 10, 8, 0));
	assert_int_equal(link.vlan_id, 10);
	assert_int_equal(link.nr_tags, 2);
	assert_int_equal(link.nr_vlans, 1);
	assert_true(DECODE(SP_LINKTYPE_ETHERNET, MAC_A, MAC_B, 0x81, 0, 0, 10,
			   0x81, 0, 0xe0, 0, 8, 0));
	assert_int_equal(link.vlan_id, 10);
	assert_int_equal(link.nr_vlans, 1);
}

static void a_length_behind_a_tag_is_no_ethertype(void **state)
{
	struct sp_link link;

	assert_true(DECODE(SP_LINKTYPE_ETHERNET, MAC_A, MAC_B, 0x81, 0, 0, 10,
			   0, 38, 0x42));
	assert_int_equal(link.ethertype, 0);
	assert_int_equal(link.vlan_id, 10);
}

static void a_cut_tag_is_an_error(void **state)
{
	const uint8_t frame[18] = {MAC_A, MAC_B, 0x81, 0, 0, 10, 8, 0};
	struct sp_link link;

	for (size_t len = 14; len < 18; len++)
		assert_false(decode(SP_LINKTYPE_ETHERNET, frame, len, &link));
	assert_true(decode(SP_LINKTYPE_ETHERNET, frame, 18, &link));
}

static void more_tags_than_the_bound_are_not_looked_into(void **state)
{
	uint8_t frame[14 + 4 * (SP_LINK_MAX_TAGS + 1)] = {MAC_A, MAC_B};
	struct sp_link link;
	size_t off = 12;

	for (unsigned i = 0; i < SP_LINK_MAX_TAGS + 1; i++, off += 4) {
		frame[off] = 0x81;
		frame[off + 3] = (uint8_t)(i + 1);
	}
	frame[off] = 8;
	assert_true(decode(SP_LINKTYPE_ETHERNET, frame, sizeof(frame), &link));
	assert_int_equal(link.nr_tags, SP_LINK_MAX_TAGS);
	assert_int_equal(link.ethertype, 0x8100);
	assert_int_equal(link.vlan_id, 1);
	/* one less is fine */
	memcpy(frame + off - 4, (uint8_t[]){8, 0}, 2);
	assert_true(
		decode(SP_LINKTYPE_ETHERNET, frame, sizeof(frame) - 4, &link));
	assert_int_equal(link.ethertype, 0x0800);
	assert_int_equal(link.l3_off, sizeof(frame) - 4);
}

static const uint32_t raw_types[] = {SP_LINKTYPE_RAW, SP_LINKTYPE_RAW_DLT,
				     SP_LINKTYPE_RAW_OPENBSD};

static void raw_ip_is_told_by_its_version(void **state)
{
	struct sp_link link;

	for (size_t i = 0; i < 3; i++) {
		assert_true(DECODE(raw_types[i], 0x45));
		assert_int_equal(link.ethertype, 0x0800);
		assert_int_equal(link.l3_off, 0);
		assert_null(link.dst_mac);
		assert_null(link.src_mac);
		assert_true(DECODE(raw_types[i], 0x60));
		assert_int_equal(link.ethertype, 0x86dd);
		assert_true(DECODE(raw_types[i], 0x50));
		assert_int_equal(link.ethertype, 0);
		assert_false(
			decode(raw_types[i], (const uint8_t *)"", 0, &link));
	}
	assert_int_equal(raw_types[0], 101);
	assert_int_equal(raw_types[1], 12);
	assert_int_equal(raw_types[2], 14);
}

static void ip_link_types_say_the_version_themselves(void **state)
{
	struct sp_link link;

	assert_true(DECODE(228, 0x60));
	assert_int_equal(link.ethertype, 0x0800);
	assert_int_equal(link.l3_off, 0);
	assert_true(DECODE(229, 0x45));
	assert_int_equal(link.ethertype, 0x86dd);
	assert_true(decode(229, (const uint8_t *)"", 0, &link));
}

/* What a packet type means, in both cooked headers. */
static const struct {
	uint8_t type, direction;
	bool group, broadcast, other;
} cooked[] = {
	{0, SP_DIRECTION_IN, false, false, false},
	{1, SP_DIRECTION_IN, true, true, false},
	{2, SP_DIRECTION_IN, true, false, false},
	{3, SP_DIRECTION_IN, false, false, true},
	{4, SP_DIRECTION_OUT, false, false, false},
};

static void assert_cooked(const struct sp_link *link, size_t i, uint32_t l3_off)
{
	assert_int_equal(link->direction, cooked[i].direction);
	assert_int_equal(link->group_dst, cooked[i].group);
	assert_int_equal(link->broadcast_dst, cooked[i].broadcast);
	assert_int_equal(link->other_host, cooked[i].other);
	assert_int_equal(link->l3_off, l3_off);
	assert_int_equal(link->ethertype, 0x0800);
	assert_null(link->dst_mac);
	assert_memory_equal(link->src_mac, ((uint8_t[]){MAC_B}), 6);
}

static void a_cooked_header_tells_direction_and_sender(void **state)
{
	struct sp_link link;

	for (size_t i = 0; i < sizeof(cooked) / sizeof(cooked[0]); i++) {
		assert_true(DECODE(SP_LINKTYPE_LINUX_SLL, 0, cooked[i].type, 0,
				   1, 0, 6, MAC_B, 0, 0, 8, 0));
		assert_cooked(&link, i, 16);
	}
	/* no address of six octets, no MAC address */
	assert_true(DECODE(SP_LINKTYPE_LINUX_SLL, 0, 0, 0xff, 0xfe, 0, 4, MAC_B,
			   0, 0, 8, 0));
	assert_null(link.src_mac);
}

static void a_cooked_header_of_version_2_tells_the_same(void **state)
{
	struct sp_link link;

	for (size_t i = 0; i < sizeof(cooked) / sizeof(cooked[0]); i++) {
		assert_true(DECODE(SP_LINKTYPE_LINUX_SLL2, 8, 0, 0, 0, 0, 0, 0,
				   3, 0, 1, cooked[i].type, 6, MAC_B, 0, 0));
		assert_cooked(&link, i, 20);
	}
	assert_true(DECODE(SP_LINKTYPE_LINUX_SLL2, 8, 0, 0, 0, 0, 0, 0, 3, 0, 1,
			   0, 0, MAC_B, 0, 0));
	assert_null(link.src_mac);
}

static void cooked_headers_have_tags_too(void **state)
{
	struct sp_link link;

	assert_true(DECODE(SP_LINKTYPE_LINUX_SLL, 0, 0, 0, 1, 0, 6, MAC_B, 0, 0,
			   0x81, 0, 0, 10, 0x86, 0xdd));
	assert_int_equal(link.vlan_id, 10);
	assert_int_equal(link.l3_off, 20);
	assert_int_equal(link.ethertype, 0x86dd);
	assert_false(DECODE(SP_LINKTYPE_LINUX_SLL, 0, 0, 0, 1, 0, 6, MAC_B, 0,
			    0, 0x81, 0, 0, 10));
	assert_true(DECODE(SP_LINKTYPE_LINUX_SLL2, 0x88, 0xa8, 0, 0, 0, 0, 0, 3,
			   0, 1, 0, 6, MAC_B, 0, 0, 0, 20, 0x81, 0, 0, 10, 8,
			   0));
	assert_int_equal(link.vlan_id, 20);
	assert_int_equal(link.nr_vlans, 2);
	assert_int_equal(link.l3_off, 28);
	assert_int_equal(link.ethertype, 0x0800);
}

static void linux_own_protocol_numbers_are_no_ethertypes(void **state)
{
	struct sp_link link;

	assert_true(DECODE(SP_LINKTYPE_LINUX_SLL, 0, 0, 0, 1, 0, 6, MAC_B, 0, 0,
			   0, 4));
	assert_int_equal(link.ethertype, 0);
	assert_true(DECODE(SP_LINKTYPE_LINUX_SLL2, 0, 1, 0, 0, 0, 0, 0, 3, 0, 1,
			   0, 6, MAC_B, 0, 0));
	assert_int_equal(link.ethertype, 0);
}

static void a_cut_cooked_header_is_an_error(void **state)
{
	const uint8_t frame[20] = {0};
	struct sp_link link;

	for (size_t len = 0; len < 16; len++)
		assert_false(decode(SP_LINKTYPE_LINUX_SLL, frame, len, &link));
	assert_true(decode(SP_LINKTYPE_LINUX_SLL, frame, 16, &link));
	for (size_t len = 0; len < 20; len++)
		assert_false(decode(SP_LINKTYPE_LINUX_SLL2, frame, len, &link));
	assert_true(decode(SP_LINKTYPE_LINUX_SLL2, frame, 20, &link));
}

static void what_the_frame_knows_of_its_direction_goes_first(void **state)
{
	uint8_t data[16] = {0, 4, 0, 1, 0, 6, MAC_B, 0, 0, 8, 0};
	struct sp_frame frame = {
		.data = data,
		.cap_len = 16,
		.len = 16,
		.direction = SP_DIRECTION_IN,
	};
	struct sp_link link;

	assert_true(sp_link_decode(SP_LINKTYPE_LINUX_SLL, &frame, &link));
	assert_int_equal(link.direction, SP_DIRECTION_IN);
	assert_true(sp_link_decode(SP_LINKTYPE_ETHERNET, &frame, &link));
	assert_int_equal(link.direction, SP_DIRECTION_IN);
}

static void null_has_a_family_in_either_byte_order(void **state)
{
	static const uint8_t families[] = {10, 24, 28, 30};
	struct sp_link link;

	assert_true(DECODE(SP_LINKTYPE_NULL, 2, 0, 0, 0));
	assert_int_equal(link.ethertype, 0x0800);
	assert_int_equal(link.l3_off, 4);
	assert_true(DECODE(SP_LINKTYPE_NULL, 0, 0, 0, 2));
	assert_int_equal(link.ethertype, 0x0800);
	for (size_t i = 0; i < sizeof(families); i++) {
		assert_true(DECODE(SP_LINKTYPE_NULL, families[i], 0, 0, 0));
		assert_int_equal(link.ethertype, 0x86dd);
		assert_true(DECODE(SP_LINKTYPE_NULL, 0, 0, 0, families[i]));
		assert_int_equal(link.ethertype, 0x86dd);
	}
	assert_true(DECODE(SP_LINKTYPE_NULL, 7, 0, 0, 0)); /* OSI */
	assert_int_equal(link.ethertype, 0);
	assert_false(DECODE(SP_LINKTYPE_NULL, 2, 0, 0));
}

static void loop_has_a_family_in_network_order(void **state)
{
	struct sp_link link;

	assert_true(DECODE(SP_LINKTYPE_LOOP, 0, 0, 0, 2));
	assert_int_equal(link.ethertype, 0x0800);
	assert_int_equal(link.l3_off, 4);
	assert_true(DECODE(SP_LINKTYPE_LOOP, 0, 0, 0, 24));
	assert_int_equal(link.ethertype, 0x86dd);
	assert_true(DECODE(SP_LINKTYPE_LOOP, 2, 0, 0, 0));
	assert_int_equal(link.ethertype, 0);
	assert_false(DECODE(SP_LINKTYPE_LOOP, 0, 0, 0));
}

static void what_is_known_is_decoded_and_nothing_else(void **state)
{
	static const uint32_t known[] = {0,   1,   12,  14,  101,
					 108, 113, 228, 229, 276};
	const uint8_t data[32] = {0x45};
	struct sp_link link;
	size_t nr_known = 0;

	for (uint32_t type = 0; type < 400; type++) {
		bool expected = nr_known < 10 && known[nr_known] == type;

		nr_known += expected;
		assert_int_equal(sp_linktype_known(type), expected);
		assert_int_equal(decode(type, data, sizeof(data), &link),
				 expected);
	}
	assert_int_equal(nr_known, 10);
	assert_false(sp_linktype_known(9));   /* PPP */
	assert_false(sp_linktype_known(105)); /* IEEE 802.11 */
	assert_false(sp_linktype_known(UINT32_MAX));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(ethernet_has_addresses_and_a_type),
		cmocka_unit_test(ethernet_tells_groups_and_broadcast),
		cmocka_unit_test(
			a_cut_ethernet_header_gives_what_addresses_are_there),
		cmocka_unit_test(a_length_in_place_of_the_type_is_no_ethertype),
		cmocka_unit_test(a_tag_is_passed_over_and_its_vlan_told),
		cmocka_unit_test(of_stacked_tags_the_outermost_vlan_is_told),
		cmocka_unit_test(a_priority_tag_names_no_vlan),
		cmocka_unit_test(a_length_behind_a_tag_is_no_ethertype),
		cmocka_unit_test(a_cut_tag_is_an_error),
		cmocka_unit_test(more_tags_than_the_bound_are_not_looked_into),
		cmocka_unit_test(raw_ip_is_told_by_its_version),
		cmocka_unit_test(ip_link_types_say_the_version_themselves),
		cmocka_unit_test(a_cooked_header_tells_direction_and_sender),
		cmocka_unit_test(a_cooked_header_of_version_2_tells_the_same),
		cmocka_unit_test(cooked_headers_have_tags_too),
		cmocka_unit_test(linux_own_protocol_numbers_are_no_ethertypes),
		cmocka_unit_test(a_cut_cooked_header_is_an_error),
		cmocka_unit_test(
			what_the_frame_knows_of_its_direction_goes_first),
		cmocka_unit_test(null_has_a_family_in_either_byte_order),
		cmocka_unit_test(loop_has_a_family_in_network_order),
		cmocka_unit_test(what_is_known_is_decoded_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, free_copy);
}
