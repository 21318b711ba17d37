/* SPDX-License-Identifier: MIT */
/*
 * test_observe_group.c - joining and leaving groups by report: each test is a
 * rule of RFC 3376 and 3810 as the kernel follows it.
 */
#include "observe_lab.h"

#define GROUP4 0xef010203u

static const uint8_t GROUP6[16] = {0xff, 5, [15] = 9};

enum record {
	IS_IN = 1,
	IS_EX,
	TO_IN,
	TO_EX,
	ALLOW,
	BLOCK,
};

/* An IGMPv3 report of one record; sources end with 0. */
static void report4(enum record type, const uint32_t *sources)
{
	uint8_t data[64] = {0x22, [7] = 1, [8] = (uint8_t)type};
	uint32_t nr = 0;

	put32(data + 12, GROUP4);
	for (; sources && sources[nr]; nr++)
		put32(data + 16 + 4 * nr, sources[nr]);
	data[11] = (uint8_t)nr;
	send_out(ip4((struct ip4){.src = B4,
				  .dst = 0xe0000016,
				  .protocol = 2,
				  .data = octets(data, 16 + 4 * nr)}));
}

static void report6(enum record type, const uint8_t *source)
{
	uint8_t data[64] = {143, [7] = 1, [8] = (uint8_t)type};

	data[11] = source ? 1 : 0;
	memcpy(data + 12, GROUP6, 16);
	if (source)
		memcpy(data + 28, source, 16);
	send_out(ip6(
		(struct ip6){.src = B6,
			     .dst = (const uint8_t[16]){0xff, 2, [15] = 0x16},
			     .nexthdr = 58,
			     .data = octets(data, source ? 44 : 28)}));
}

static void message(uint8_t type, uint32_t group)
{
	uint8_t data[8] = {type};

	put32(data + 4, group);
	send_out(ip4((struct ip4){.src = B4,
				  .dst = group,
				  .protocol = 2,
				  .data = octets(data, 8)}));
}

static bool hears4(uint32_t source)
{
	lab_remember();
	receive_in(MAC_GROUP, ip4((struct ip4){.src = source,
					       .dst = GROUP4,
					       .data = udp(9, 7, 4)}));
	return moved_by("Ip.InDelivers") == 1;
}

static bool hears6(const uint8_t *source)
{
	lab_remember();
	receive_in(MAC_GROUP, ip6((struct ip6){.src = source,
					       .dst = GROUP6,
					       .data = udp(9, 7, 4)}));
	return moved_by("Ip6.InDelivers") == 1;
}

static const uint32_t ONE[] = {0x0a000011, 0};
static const uint32_t BOTH[] = {0x0a000011, 0x0a000012, 0};

static void excluding_none_joins_and_including_none_leaves(void **state)
{
	(void)state;
	assert_false(hears4(A4));
	report4(TO_EX, NULL);
	assert_true(hears4(A4));
	report4(TO_IN, NULL);
	assert_false(hears4(A4));
	report4(IS_EX, NULL);
	assert_true(hears4(A4));
}

static void excluded_sources_are_not_heard(void **state)
{
	(void)state;
	report4(TO_EX, ONE);
	assert_false(hears4(ONE[0]));
	assert_true(hears4(BOTH[1]));
	report4(BLOCK, BOTH);
	assert_false(hears4(BOTH[1]));
	assert_true(hears4(A4));
	report4(ALLOW, ONE);
	assert_true(hears4(ONE[0]));
	assert_false(hears4(BOTH[1]));
}

static void included_sources_are_the_only_ones(void **state)
{
	(void)state;
	report4(ALLOW, ONE);
	assert_true(hears4(ONE[0]));
	assert_false(hears4(A4));
	report4(ALLOW, BOTH);
	assert_true(hears4(BOTH[1]));
	report4(BLOCK, ONE);
	assert_false(hears4(ONE[0]));
	assert_true(hears4(BOTH[1]));
	report4(TO_IN, ONE);
	assert_true(hears4(ONE[0]));
	assert_false(hears4(BOTH[1]));
	report4(BLOCK, ONE); /* the last: it leaves */
	assert_false(hears4(ONE[0]));
}

static void an_answer_to_a_query_does_not_change_the_mode(void **state)
{
	(void)state;
	report4(TO_EX, NULL);
	report4(IS_IN, ONE);
	assert_true(hears4(A4));
}

static void blocking_an_unknown_group_is_nothing(void **state)
{
	(void)state;
	report4(BLOCK, ONE);
	assert_false(hears4(A4));
	assert_int_equal(lab_stats().nr_groups_refused, 0);
}

static void older_versions_join_and_leave(void **state)
{
	(void)state;
	message(0x16, GROUP4);
	assert_true(hears4(A4));
	message(0x17, GROUP4);
	assert_false(hears4(A4));
	message(0x12, GROUP4);
	assert_true(hears4(A4));
}

static void an_older_report_is_heard_by_its_sender(void **state)
{
	(void)state;
	message(0x16, GROUP4);
	expect("Ip.OutRequests Ip.OutTransmits IpExt.OutOctets=28 "
	       "IpExt.OutMcastPkts IpExt.OutMcastOctets=28 Ip.InReceives "
	       "IpExt.InOctets=28 IpExt.InNoECTPkts IpExt.InMcastPkts "
	       "IpExt.InMcastOctets=28 Ip.InDelivers");
	message(0x17, GROUP4);
	expect("Ip.OutRequests Ip.OutTransmits IpExt.OutOctets=28 "
	       "IpExt.OutMcastPkts IpExt.OutMcastOctets=28");
}

static void ipv6_discards_what_the_group_does_not_want(void **state)
{
	(void)state;
	report6(ALLOW, A6);
	assert_true(hears6(A6));
	assert_false(hears6(C6));
	assert_int_equal(moved_by("Ip6.InDiscards"), 1);
	assert_int_equal(moved_by("Ip6.InMcastPkts"), 1);
	/* Nobody is never unwanted, and neither are queries. */
	assert_true(hears6((const uint8_t[16]){0}));
	lab_remember();
	receive_in(MAC_GROUP,
		   ip6((struct ip6){.src = C6,
				    .dst = GROUP6,
				    .nexthdr = 58,
				    .data = icmp(130, 0, zeros(16))}));
	assert_int_equal(moved_by("Ip6.InDelivers"), 1);
}

static void mld_version_one_joins_and_leaves(void **state)
{
	static const uint8_t all_routers[16] = {0xff, 2, [15] = 2};

	(void)state;
	send_out(ip6((struct ip6){.src = B6,
				  .dst = GROUP6,
				  .nexthdr = 58,
				  .data = icmp(131, 0, octets(GROUP6, 16))}));
	assert_true(hears6(A6));
	send_out(ip6((struct ip6){.src = B6,
				  .dst = all_routers,
				  .nexthdr = 58,
				  .data = icmp(132, 0, octets(GROUP6, 16))}));
	assert_false(hears6(A6));
}

static void an_answer_about_an_unknown_group_includes(void **state)
{
	(void)state;
	report4(IS_IN, ONE);
	assert_true(hears4(ONE[0]));
	assert_false(hears4(A4));
}

static void other_messages_of_igmp_reach_a_group_from_anybody(void **state)
{
	(void)state;
	report4(ALLOW, ONE);
	lab_remember();
	receive_in(MAC_GROUP, ip4((struct ip4){.src = A4,
					       .dst = GROUP4,
					       .protocol = 2,
					       .data = zeros(8)}));
	assert_int_equal(moved_by("Ip.InDelivers"), 1);
}

static void groups_that_were_told_are_joined_whatever_is_reported(void **state)
{
	const struct sp_addr told = {AF_INET, 32, {239, 1, 2, 3}};
	struct sp_observer_opts opts = lab_opts();

	(void)state;
	opts.groups = &told;
	opts.nr_groups = 1;
	lab_observe(&opts);
	assert_true(hears4(A4));
	report4(TO_IN, ONE);
	report4(TO_IN, NULL);
	assert_true(hears4(A4));
}

/* Groups come and go by the thousand, and the table holds. */
static void only_groups_at_one_time_are_limited(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 2000; i++) {
		message(0x16, 0xef100000 + i);
		message(0x17, 0xef100000 + i);
	}
	assert_int_equal(lab_stats().nr_groups_refused, 0);
	for (uint32_t i = 0; i < 513; i++)
		message(0x16, 0xef100000 + i);
	assert_int_equal(lab_stats().nr_groups_refused, 1);
	for (uint32_t i = 0; i < 512; i++)
		message(0x17, 0xef100000 + i);
	report4(TO_EX, NULL);
	assert_true(hears4(A4));
}

static void only_so_many_sources_of_a_group_are_kept(void **state)
{
	uint32_t sources[2] = {0};

	(void)state;
	for (uint32_t i = 0; i < 65; i++) {
		sources[0] = 0x0a000020 + i;
		report4(ALLOW, sources);
	}
	assert_int_equal(lab_stats().nr_groups_refused, 1);
	assert_true(hears4(0x0a000020 + 63));
	assert_false(hears4(0x0a000020 + 64));
}

static void sources_that_are_no_longer_wanted_make_room(void **state)
{
	uint32_t sources[11] = {0};

	(void)state;
	for (uint32_t round = 0; round < 300; round++) {
		for (uint32_t i = 0; i < 10; i++)
			sources[i] = 0x0b000000 + 10 * round + i;
		report4(TO_IN, sources);
		if (round % 2)
			report4(TO_IN, NULL);
	}
	assert_int_equal(lab_stats().nr_groups_refused, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_open, lab_close)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(excluding_none_joins_and_including_none_leaves),
		TEST(excluded_sources_are_not_heard),
		TEST(included_sources_are_the_only_ones),
		TEST(an_answer_to_a_query_does_not_change_the_mode),
		TEST(blocking_an_unknown_group_is_nothing),
		TEST(older_versions_join_and_leave),
		TEST(an_older_report_is_heard_by_its_sender),
		TEST(ipv6_discards_what_the_group_does_not_want),
		TEST(mld_version_one_joins_and_leaves),
		TEST(an_answer_about_an_unknown_group_includes),
		TEST(other_messages_of_igmp_reach_a_group_from_anybody),
		TEST(groups_that_were_told_are_joined_whatever_is_reported),
		TEST(only_groups_at_one_time_are_limited),
		TEST(sources_that_are_no_longer_wanted_make_room),
		TEST(only_so_many_sources_of_a_group_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
