/* SPDX-License-Identifier: MIT */
/*
 * test_ipv6_headers.c - IPv6 options headers, and the way past all extension
 * headers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "packet/ip.h"

/* From memory of just that length, so that a sanitizer sees a step too far. */
static uint8_t *exact_copy(const uint8_t *data, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	memcpy(copy, data, len);
	return copy;
}

/* The header's length if it is good, 0 if not. */
static size_t check(const uint8_t *header, size_t len,
		    enum sp_ipv6_options_kind kind)
{
	uint8_t *copy = exact_copy(header, len);
	size_t header_len = 0;

	if (!sp_ipv6_options_check(copy, len, kind, &header_len))
		assert_int_equal(header_len, 0);
	else
		assert_int_not_equal(header_len, 0);
	free(copy);
	return header_len;
}

#define CHECK(kind, ...)                                                       \
	check((const uint8_t[]){__VA_ARGS__},                                  \
	      sizeof((const uint8_t[]){__VA_ARGS__}), kind)
#define HOP                    SP_IPV6_HOPOPTS
#define DST                    SP_IPV6_DSTOPTS
#define HOP_JUMBO              SP_IPV6_HOPOPTS_JUMBO
#define assert_good(kind, ...) assert_true(CHECK(kind, __VA_ARGS__) > 0)
#define assert_bad(kind, ...)  assert_int_equal(CHECK(kind, __VA_ARGS__), 0)

static void padding_alone_is_good(void **state)
{
	assert_int_equal(CHECK(HOP, 59, 0, 1, 4, 0, 0, 0, 0), 8);
	assert_int_equal(CHECK(DST, 59, 0, 0, 0, 0, 0, 0, 0), 8);
	/* what follows is not of this header */
	assert_int_equal(CHECK(DST, 59, 0, 1, 4, 0, 0, 0, 0, 9, 9), 8);
}

static void a_header_longer_than_the_packet_is_bad(void **state)
{
	assert_bad(HOP, 59, 0, 1, 4, 0, 0, 0);
	assert_bad(HOP, 59, 1, 1, 4, 0, 0, 0, 0, 1, 4, 0, 0, 0, 0, 0);
	assert_int_equal(check((const uint8_t *)"", 0, DST), 0);
}

static void an_option_past_the_end_is_bad(void **state)
{
	assert_bad(DST, 59, 0, 30, 5, 0, 0, 0, 0);
	assert_good(DST, 59, 0, 30, 4, 0, 0, 0, 0);
	/* past the header's end, though not the packet's */
	assert_bad(DST, 59, 0, 30, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
	/* the last octet starts an option without a length */
	assert_bad(DST, 59, 0, 30, 3, 0, 0, 0, 30);
	assert_good(DST, 59, 0, 30, 3, 0, 0, 0, 0);
}

static void more_than_7_octets_of_padding_in_a_row_are_bad(void **state)
{
	assert_good(DST, 59, 1, 1, 4, 0, 0, 0, 0, 0, 30, 5, 0, 0, 0, 0, 0);
	assert_bad(DST, 59, 1, 1, 4, 0, 0, 0, 0, 0, 0, 30, 4, 0, 0, 0, 0);
	assert_bad(DST, 59, 1, 1, 6, 0, 0, 0, 0, 0, 0, 30, 4, 0, 0, 0, 0);
	assert_bad(DST, 59, 1, 0, 0, 0, 0, 0, 0, 0, 0, 30, 4, 0, 0, 0, 0);
	/* an option in between starts the count again */
	assert_good(DST, 59, 1, 1, 4, 0, 0, 0, 0, 30, 0, 1, 4, 0, 0, 0, 0);
}

static void padding_that_is_not_zero_is_bad(void **state)
{
	assert_bad(HOP, 59, 0, 1, 4, 0, 0, 0, 1);
	assert_bad(DST, 59, 0, 1, 4, 1, 0, 0, 0);
	assert_good(DST, 59, 0, 30, 4, 1, 0, 0, 1);
}

static void more_than_8_options_are_bad(void **state)
{
	assert_good(DST, 59, 2, 30, 0, 30, 0, 30, 0, 30, 0, 30, 0, 30, 0, 30, 0,
		    30, 0, 1, 4, 0, 0, 0, 0);
	assert_bad(DST, 59, 2, 30, 0, 30, 0, 30, 0, 30, 0, 30, 0, 30, 0, 30, 0,
		   30, 0, 30, 2, 0, 0, 0, 0);
	assert_bad(HOP, 59, 2, 30, 0, 30, 0, 30, 0, 30, 0, 30, 0, 30, 0, 30, 0,
		   30, 0, 30, 2, 0, 0, 0, 0);
}

static void the_action_bits_of_an_unknown_option_decide(void **state)
{
	for (unsigned type = 0; type < 256; type++) {
		uint8_t header[8] = {59, 0, (uint8_t)type, 4};
		bool good = type < 0x40;

		assert_int_equal(check(header, 8, DST), good ? 8 : 0);
		if (type == 5 || type == 7 || type == 49)
			continue; /* known in a hop-by-hop header */
		assert_int_equal(check(header, 8, HOP), good ? 8 : 0);
	}
}

static void a_router_alert_has_2_octets(void **state)
{
	assert_good(HOP, 59, 0, 5, 2, 0, 0, 1, 0);
	assert_bad(HOP, 59, 0, 5, 4, 0, 0, 0, 0);
	assert_bad(HOP, 59, 0, 5, 0, 1, 2, 0, 0);
	assert_good(DST, 59, 0, 5, 4, 0, 0, 0, 0);
}

static void an_ioam_option_is_aligned_to_4_octets(void **state)
{
	assert_good(HOP, 59, 0, 0, 0, 49, 2, 0, 0);
	assert_bad(HOP, 59, 0, 49, 2, 0, 0, 0, 0);
	assert_good(DST, 59, 0, 49, 2, 0, 0, 0, 0);
}

static void a_calipso_label_is_of_no_known_domain(void **state)
{
	assert_bad(HOP, 59, 1, 7, 8, 0, 0, 0, 1, 0, 0, 0, 0, 1, 2, 0, 0);
	assert_good(DST, 59, 1, 7, 8, 0, 0, 0, 1, 0, 0, 0, 0, 1, 2, 0, 0);
}

/* A packet behind whose fixed header @len octets came; the option at @off. */
static size_t check_jumbo(uint32_t jumbo_len, size_t len, size_t off,
			  uint8_t opt_len, enum sp_ipv6_options_kind kind)
{
	uint8_t *packet = calloc(1, len);
	size_t ret;

	assert_non_null(packet);
	packet[0] = 59;
	packet[1] = 1;
	packet[off] = 194;
	packet[off + 1] = opt_len;
	packet[off + 2] = (uint8_t)(jumbo_len >> 24);
	packet[off + 3] = (uint8_t)(jumbo_len >> 16);
	packet[off + 4] = (uint8_t)(jumbo_len >> 8);
	packet[off + 5] = (uint8_t)jumbo_len;
	packet[off + 2 + opt_len] = 30; /* an option ends the padding */
	packet[off + 3 + opt_len] = 2;
	ret = check(packet, len, kind);
	free(packet);
	return ret;
}

static void a_jumbo_payload_is_long_and_alone_in_saying_so(void **state)
{
	assert_int_equal(check_jumbo(65536, 65536, 2, 4, HOP_JUMBO), 16);
	assert_int_equal(check_jumbo(65536, 70000, 2, 4, HOP_JUMBO), 16);
	assert_int_equal(check_jumbo(65535, 70000, 2, 4, HOP_JUMBO), 0);
	assert_int_equal(check_jumbo(65537, 65536, 2, 4, HOP_JUMBO), 0);
	assert_int_equal(check_jumbo(65536, 65536, 2, 4, HOP), 0);
	assert_int_equal(check_jumbo(65536, 65536, 2, 4, DST), 0);
	assert_int_equal(check_jumbo(65536, 65536, 2, 5, HOP_JUMBO), 0);
	/* out of alignment */
	for (size_t off = 3; off < 6; off++)
		assert_int_equal(check_jumbo(65536, 70000, off, 4, HOP_JUMBO),
				 0);
	assert_int_equal(check_jumbo(65536, 70000, 6, 4, HOP_JUMBO), 16);
}

static long skip_copy(const uint8_t *payload, size_t len, uint8_t *nexthdr,
		      bool *frag)
{
	uint8_t *copy = exact_copy(payload, len);
	long off = sp_ipv6_skip_headers(copy, len, nexthdr, frag);

	free(copy);
	return off;
}

#define SKIP(...)                                                              \
	skip_copy((const uint8_t[]){__VA_ARGS__},                              \
		  sizeof((const uint8_t[]){__VA_ARGS__}), &nexthdr, &frag)

static void an_upper_layer_header_is_not_skipped(void **state)
{
	static const uint8_t uppers[] = {6, 17, 58, 50, 136, 255};
	uint8_t nexthdr;
	bool frag = true;

	for (size_t i = 0; i < sizeof(uppers); i++) {
		nexthdr = uppers[i];
		assert_int_equal(SKIP(0, 0, 0, 0, 0, 0, 0, 0), 0);
		assert_int_equal(nexthdr, uppers[i]);
		assert_false(frag);
	}
	nexthdr = 6;
	assert_int_equal(skip_copy((const uint8_t *)"", 0, &nexthdr, &frag), 0);
}

static void all_extension_headers_are_skipped(void **state)
{
	uint8_t nexthdr = 0;
	bool frag = true;

	assert_int_equal(SKIP(60, 0, 0, 0, 0, 0, 0, 0, /* hop-by-hop */
			      43, 1, 0, 0, 0, 0, 0, 0, /* destination */
			      0, 0, 0, 0, 0, 0, 0, 0,  /* ... 16 octets */
			      51, 0, 0, 0, 0, 0, 0, 0, /* routing */
			      44, 1, 0, 0, 0, 0, 0, 0, /* authentication */
			      0, 0, 0, 0,              /* ... 12 octets */
			      17, 9, 0, 1, 0, 0, 0, 0, /* fragment */
			      1, 2, 3),
			 52);
	assert_int_equal(nexthdr, 17);
	assert_false(frag);
}

static void the_walk_stops_at_a_later_fragment(void **state)
{
	uint8_t nexthdr = 60;
	bool frag = false;

	assert_int_equal(SKIP(44, 0, 0, 0, 0, 0, 0, 0, 17, 0, 0, 8, 0, 0, 0, 1),
			 8);
	assert_int_equal(nexthdr, 44);
	assert_true(frag);
	/* more, reserved bits: still a first one */
	nexthdr = 44;
	assert_int_equal(SKIP(17, 0, 0, 7, 0, 0, 0, 1), 8);
	assert_int_equal(nexthdr, 17);
	assert_false(frag);
	/* four octets of a fragment header are enough to tell */
	nexthdr = 44;
	assert_int_equal(SKIP(17, 0, 0, 8), 0);
	assert_true(frag);
}

static void a_cut_chain_has_no_upper_layer(void **state)
{
	uint8_t nexthdr = 60;
	bool frag;

	assert_int_equal(SKIP(17), -1);
	assert_int_equal(nexthdr, 60);
	assert_int_equal(SKIP(60, 0, 0, 0, 0, 0, 0, 0), -1);
	assert_int_equal(SKIP(60, 2, 0, 0, 0, 0, 0, 0), -1);
	nexthdr = 44;
	assert_int_equal(SKIP(17, 0, 0), -1);
	nexthdr = 59;
	assert_int_equal(SKIP(17, 0, 0, 0, 0, 0, 0, 0), -1);
	nexthdr = 60;
	assert_int_equal(SKIP(59, 0, 0, 0, 0, 0, 0, 0), -1);
	assert_int_equal(nexthdr, 60);
}

static void the_offset_may_lie_behind_what_came(void **state)
{
	uint8_t nexthdr = 60;
	bool frag;

	assert_int_equal(SKIP(17, 1, 0, 0, 0, 0, 0, 0), 16);
	assert_int_equal(nexthdr, 17);
}

static void any_octets_are_read_within_bounds(void **state)
{
	static const uint8_t types[] = {0, 43, 44, 51, 59, 60, 17, 1, 5, 194};
	uint8_t data[64], nexthdr;
	bool frag;

	for (unsigned i = 0; i < 200000; i++) {
		size_t len = (size_t)random() % (sizeof(data) + 1);
		long off;

		for (size_t j = 0; j < len; j++)
			data[j] = random() % 2 ? (uint8_t)(random() % 4)
					       : types[(size_t)random() %
						       sizeof(types)];
		check(data, len, HOP);
		check(data, len, DST);
		nexthdr = types[(size_t)random() % sizeof(types)];
		off = skip_copy(data, len, &nexthdr, &frag);
		assert_true(off >= -1 && off <= (long)len + 2048);
		if (off >= 0)
			assert_true(frag == (nexthdr == 44));
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(padding_alone_is_good),
		cmocka_unit_test(a_header_longer_than_the_packet_is_bad),
		cmocka_unit_test(an_option_past_the_end_is_bad),
		cmocka_unit_test(
			more_than_7_octets_of_padding_in_a_row_are_bad),
		cmocka_unit_test(padding_that_is_not_zero_is_bad),
		cmocka_unit_test(more_than_8_options_are_bad),
		cmocka_unit_test(the_action_bits_of_an_unknown_option_decide),
		cmocka_unit_test(a_router_alert_has_2_octets),
		cmocka_unit_test(an_ioam_option_is_aligned_to_4_octets),
		cmocka_unit_test(a_calipso_label_is_of_no_known_domain),
		cmocka_unit_test(
			a_jumbo_payload_is_long_and_alone_in_saying_so),
		cmocka_unit_test(an_upper_layer_header_is_not_skipped),
		cmocka_unit_test(all_extension_headers_are_skipped),
		cmocka_unit_test(the_walk_stops_at_a_later_fragment),
		cmocka_unit_test(a_cut_chain_has_no_upper_layer),
		cmocka_unit_test(the_offset_may_lie_behind_what_came),
		cmocka_unit_test(any_octets_are_read_within_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
