/* SPDX-License-Identifier: MIT */
/*
 * test_ip_options.c - which IPv4 option lists the kernel takes for malformed.
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
static enum sp_ipv4_options check(const uint8_t *options, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);
	enum sp_ipv4_options verdict;

	assert_non_null(copy);
	memcpy(copy, options, len);
	verdict = sp_ipv4_options_check(copy, len);
	free(copy);
	return verdict;
}

#define CHECK(...)                                                             \
	check((const uint8_t[]){__VA_ARGS__},                                  \
	      sizeof((const uint8_t[]){__VA_ARGS__}))
#define assert_ok(...) assert_int_equal(CHECK(__VA_ARGS__), SP_IPV4_OPTIONS_OK)
#define assert_bad(...)                                                        \
	assert_int_equal(CHECK(__VA_ARGS__), SP_IPV4_OPTIONS_MALFORMED)
#define assert_route(...)                                                      \
	assert_int_equal(CHECK(__VA_ARGS__), SP_IPV4_OPTIONS_SOURCE_ROUTE)

enum {
	NOP = 1,
	RR = 7,
	TS = 68,
	SEC = 130,
	LSRR = 131,
	CIPSO = 134,
	SID = 136,
	SSRR = 137,
	RA = 148
};

static void an_empty_list_is_good(void **state)
{
	assert_int_equal(check((const uint8_t *)"", 0), SP_IPV4_OPTIONS_OK);
	assert_ok(0, 0, 0, 0);
	assert_ok(NOP, NOP, NOP, NOP);
}

static void what_follows_the_end_is_not_looked_at(void **state)
{
	assert_ok(0, RR, 1, 0);
	assert_bad(NOP, RR, 1, 0);
}

static void an_option_needs_its_length_octet(void **state)
{
	assert_bad(NOP, NOP, NOP, RR);
	assert_bad(NOP, NOP, NOP, 200);
}

static void a_length_below_2_or_past_the_end_is_bad(void **state)
{
	assert_bad(200, 0, 0, 0);
	assert_bad(200, 1, 0, 0);
	assert_ok(200, 2, 0, 0);
	assert_ok(200, 4, 0, 0);
	assert_bad(200, 5, 0, 0);
	assert_bad(NOP, 200, 4, 0);
}

static void unknown_options_are_passed_over(void **state)
{
	assert_ok(SEC, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
	assert_ok(SID, 4, 0, 1, 82, 4, 0, 0);
	assert_ok(200, 2, 200, 2, 200, 2, 0, 0);
	assert_bad(SID, 4, 0, 1, 82, 5, 0, 0);
}

static void a_record_route_needs_a_pointer_from_4_on(void **state)
{
	assert_ok(RR, 7, 4, 0, 0, 0, 0, 0);
	assert_bad(RR, 7, 3, 0, 0, 0, 0, 0);
	assert_bad(RR, 7, 0, 0, 0, 0, 0, 0);
	assert_bad(RR, 2, NOP, NOP);
	assert_bad(NOP, NOP, RR, 2);
}

static void a_record_route_may_be_full_but_not_nearly(void **state)
{
	assert_ok(RR, 7, 8, 0, 0, 0, 0, 0);
	assert_ok(RR, 7, 255, 0, 0, 0, 0, 0);
	assert_ok(RR, 3, 4, 0);
	assert_bad(RR, 7, 5, 0, 0, 0, 0, 0);
	assert_bad(RR, 7, 7, 0, 0, 0, 0, 0);
	assert_ok(RR, 11, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0);
}

static void a_second_record_route_is_bad(void **state)
{
	assert_bad(RR, 7, 8, 0, 0, 0, 0, RR, 7, 8, 0, 0, 0, 0, 0, 0);
}

static void a_timestamp_needs_4_octets_and_a_pointer_from_5_on(void **state)
{
	assert_ok(TS, 8, 5, 0, 0, 0, 0, 0);
	assert_bad(TS, 8, 4, 0, 0, 0, 0, 0);
	assert_bad(TS, 3, 5, 0);
	assert_bad(NOP, TS, 3, 5);
	assert_ok(TS, 4, 5, 0);
}

static void a_timestamp_has_room_for_4_octets_or_is_full(void **state)
{
	assert_bad(TS, 8, 6, 0, 0, 0, 0, 0);
	assert_bad(TS, 8, 8, 0, 0, 0, 0, 0);
	assert_ok(TS, 8, 9, 0, 0, 0, 0, 0);
	/* whatever an unknown flag means */
	assert_ok(TS, 8, 5, 2, 0, 0, 0, 0);
	assert_bad(TS, 8, 6, 2, 0, 0, 0, 0);
}

static void a_timestamp_with_addresses_has_room_for_8(void **state)
{
	assert_ok(TS, 12, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0);
	assert_ok(TS, 12, 5, 3, 0, 0, 0, 0, 0, 0, 0, 0);
	assert_ok(TS, 12, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0);
	assert_bad(TS, 12, 9, 1, 0, 0, 0, 0, 0, 0, 0, 0);
	assert_bad(TS, 12, 9, 3, 0, 0, 0, 0, 0, 0, 0, 0);
	assert_ok(TS, 12, 13, 1, 0, 0, 0, 0, 0, 0, 0, 0);
}

static void the_overflow_counter_of_a_full_timestamp_must_not_wrap(void **state)
{
	assert_ok(TS, 8, 9, 0xe0, 0, 0, 0, 0);
	assert_bad(TS, 8, 9, 0xf0, 0, 0, 0, 0);
	assert_bad(TS, 8, 9, 0xf1, 0, 0, 0, 0);
	/* it does not count with prescribed addresses, nor while there is room
	 */
	assert_ok(TS, 8, 9, 0xf3, 0, 0, 0, 0);
	assert_ok(TS, 8, 5, 0xf0, 0, 0, 0, 0);
}

static void a_second_timestamp_is_bad(void **state)
{
	assert_bad(TS, 4, 5, 0, TS, 4, 5, 0);
}

static void a_source_route_is_told_apart(void **state)
{
	assert_route(LSRR, 7, 4, 10, 0, 0, 1, 0);
	assert_route(SSRR, 7, 8, 10, 0, 0, 1, 0);
	assert_route(NOP, SSRR, 3, 4);
	assert_route(LSRR, 3, 255, 0);
	assert_bad(LSRR, 7, 3, 10, 0, 0, 1, 0);
	assert_bad(SSRR, 2, NOP, NOP);
	assert_bad(NOP, NOP, LSRR, 2);
}

static void two_source_routes_are_bad(void **state)
{
	assert_bad(LSRR, 3, 4, SSRR, 3, 4, 0, 0);
	assert_bad(SSRR, 3, 4, SSRR, 3, 4, 0, 0);
	assert_bad(LSRR, 3, 4, LSRR, 3, 4, 0, 0);
}

static void a_fault_behind_a_source_route_is_a_fault(void **state)
{
	assert_bad(LSRR, 3, 4, 200, 9, 0, 0, 0);
	assert_route(LSRR, 3, 4, 200, 5, 0, 0, 0);
}

static void a_router_alert_has_4_octets(void **state)
{
	assert_ok(RA, 4, 0, 0);
	assert_ok(RA, 4, 1, 0);
	assert_ok(RA, 6, 0, 0, 0, 0, 0, 0);
	assert_bad(RA, 3, 0, 0);
	assert_ok(RA, 4, 0, 0, RA, 4, 0, 0);
}

static void a_cipso_label_is_of_no_known_domain(void **state)
{
	assert_bad(CIPSO, 6, 0, 0, 0, 1, 0, 0);
	assert_bad(CIPSO, 8, 0, 0, 0, 1, 0, 0);
	assert_bad(CIPSO, 10, 0, 0, 0, 1, 1, 4, 0, 1, 0, 0);
}

static void any_40_octets_are_read_within_bounds(void **state)
{
	static const uint8_t types[] = {0,     NOP, RR,   TS, SEC, LSRR,
					CIPSO, SID, SSRR, RA, 200};
	uint8_t options[40];

	for (unsigned i = 0; i < 200000; i++) {
		size_t len = (size_t)(random() % 11) * 4;

		for (size_t j = 0; j < len; j++)
			options[j] = random() % 3 ? (uint8_t)(random() % 13)
						  : types[(size_t)random() %
							  sizeof(types)];
		assert_in_range(check(options, len), 0, 2);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_list_is_good),
		cmocka_unit_test(what_follows_the_end_is_not_looked_at),
		cmocka_unit_test(an_option_needs_its_length_octet),
		cmocka_unit_test(a_length_below_2_or_past_the_end_is_bad),
		cmocka_unit_test(unknown_options_are_passed_over),
		cmocka_unit_test(a_record_route_needs_a_pointer_from_4_on),
		cmocka_unit_test(a_record_route_may_be_full_but_not_nearly),
		cmocka_unit_test(a_second_record_route_is_bad),
		cmocka_unit_test(
			a_timestamp_needs_4_octets_and_a_pointer_from_5_on),
		cmocka_unit_test(a_timestamp_has_room_for_4_octets_or_is_full),
		cmocka_unit_test(a_timestamp_with_addresses_has_room_for_8),
		cmocka_unit_test(
			the_overflow_counter_of_a_full_timestamp_must_not_wrap),
		cmocka_unit_test(a_second_timestamp_is_bad),
		cmocka_unit_test(a_source_route_is_told_apart),
		cmocka_unit_test(two_source_routes_are_bad),
		cmocka_unit_test(a_fault_behind_a_source_route_is_a_fault),
		cmocka_unit_test(a_router_alert_has_4_octets),
		cmocka_unit_test(a_cipso_label_is_of_no_known_domain),
		cmocka_unit_test(any_40_octets_are_read_within_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
