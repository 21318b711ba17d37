/* SPDX-License-Identifier: MIT */
/*
 * test_learn.c - who was observed, from frames alone: each test is a rule.
 */
#include <errno.h>

#include "observe_lab.h"

static struct sp_learner *learner;
static struct sp_learned learned;

static int open_learner(void **state)
{
	(void)state;
	assert_int_equal(
		sp_learner_create(SP_LINKTYPE_ETHERNET, NULL, &learner), 0);
	return 0;
}

static int close_learner(void **state)
{
	(void)state;
	sp_learner_destroy(learner);
	return 0;
}

static void learn_as(uint32_t linktype, const uint8_t *mac)
{
	sp_learner_destroy(learner);
	assert_int_equal(sp_learner_create(linktype, mac, &learner), 0);
}

static void see_marked(struct bytes frame, enum sp_direction direction)
{
	uint8_t *copy = malloc(frame.len ? frame.len : 1);
	struct sp_frame sp_frame = {
		.data = copy,
		.cap_len = frame.len,
		.len = frame.len,
		.direction = (uint8_t)direction,
	};

	assert_non_null(copy);
	memcpy(copy, frame.data, frame.len);
	sp_learner_frames(learner, &sp_frame, 1);
	free(copy);
}

static void see(const uint8_t *src, const uint8_t *dst, struct bytes packet)
{
	see_marked(ethernet(dst, src, ethertype_of(packet), packet),
		   SP_DIRECTION_UNKNOWN);
}

static struct bytes from(uint32_t src, uint32_t dst, uint8_t ttl)
{
	return ip4((struct ip4){.src = src,
				.dst = dst,
				.ttl = ttl,
				.data = udp(5000, 5000, 4)});
}

static void result(void)
{
	memset(&learned, 0, sizeof(learned));
	assert_int_equal(sp_learner_result(learner, &learned), 0);
	assert_true(strlen(learned.reason) > 0);
}

static void assert_mac(const uint8_t *mac)
{
	assert_true(learned.have_mac);
	assert_memory_equal(learned.mac, mac, 6);
}

static bool has4(uint32_t addr, uint8_t prefix_len)
{
	uint8_t want[4];

	put32(want, addr);
	for (size_t i = 0; i < learned.nr_addrs; i++)
		if (learned.addrs[i].family == AF_INET &&
		    !memcmp(learned.addrs[i].octets, want, 4))
			return learned.addrs[i].prefix_len == prefix_len;
	return false;
}

static bool has6(const uint8_t *addr)
{
	for (size_t i = 0; i < learned.nr_addrs; i++)
		if (learned.addrs[i].family == AF_INET6 &&
		    !memcmp(learned.addrs[i].octets, addr, 16))
			return learned.addrs[i].prefix_len == 64;
	return false;
}

static void nothing_seen_is_nothing_learnt(void **state)
{
	(void)state;
	assert_int_equal(sp_learner_result(learner, &learned), -ENODATA);
	see_marked(zeros(5), SP_DIRECTION_UNKNOWN);
	assert_int_equal(sp_learner_result(learner, &learned), -ENODATA);
	assert_int_equal(sp_learner_create(9999, NULL, &learner), -EINVAL);
}

static void who_is_in_every_frame_was_observed(void **state)
{
	(void)state;
	see(MAC_A, MAC_B, from(A4, B4, 64));
	see(MAC_B, MAC_A, from(B4, A4, 64));
	see(MAC_B, MAC_C, from(B4, 0x0a000003, 64));
	result();
	assert_mac(MAC_B);
	assert_int_equal(learned.nr_addrs, 1);
	assert_true(has4(B4, 24));
	assert_false(learned.forward);
}

static void marks_come_before_everything_else(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++)
		see(MAC_A, MAC_B, from(A4, B4, 64));
	see_marked(ethernet(MAC_C, MAC_A, 0x0800, from(A4, 0x0a000003, 64)),
		   SP_DIRECTION_IN);
	result();
	assert_mac(MAC_C);
}

static void a_given_mac_is_not_questioned(void **state)
{
	(void)state;
	learn_as(SP_LINKTYPE_ETHERNET, MAC_A);
	see(MAC_A, MAC_B, from(A4, B4, 64));
	see(MAC_B, MAC_A, from(B4, A4, 64));
	see(MAC_B, MAC_C, from(B4, 0x0a000003, 64));
	result();
	assert_mac(MAC_A);
	assert_true(has4(A4, 24));
	learn_as(SP_LINKTYPE_ETHERNET, MAC_GROUP);
	assert_int_equal(sp_learner_result(learner, &learned), -ENODATA);
}

static void of_two_the_one_with_unfilled_checksums(void **state)
{
	struct ip4 p = {.data = udp(5000, 5000, 4), .sum = SUM_PARTIAL};

	(void)state;
	see(MAC_B, MAC_A, from(B4, A4, 64)); /* the first is for A */
	see(MAC_A, MAC_B, from(A4, B4, 64));
	result();
	assert_mac(MAC_A);
	p.src = B4;
	p.dst = A4;
	see(MAC_B, MAC_A, ip4(p));
	result();
	assert_mac(MAC_B);
}

static void of_a_client_and_its_router_the_client(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 5; i++) {
		struct ip4 p = {.src = 0x08080800 + i,
				.dst = B4,
				.ttl = 57,
				.protocol = 6,
				.data = tcp(443, 5000, SYN | ACK, 0)};

		see(MAC_B, MAC_A, from(B4, p.src, 64));
		see(MAC_A, MAC_B, ip4(p)); /* the router "answers" */
	}
	result();
	assert_mac(MAC_B);
	assert_int_equal(learned.nr_addrs, 1);
	assert_false(learned.forward);
}

static void of_two_the_one_that_answers(void **state)
{
	(void)state;
	see(MAC_B, MAC_A, from(B4, A4, 64));
	see(MAC_B, MAC_A,
	    ip4((struct ip4){.src = B4,
			     .dst = A4,
			     .protocol = 6,
			     .data = tcp(80, 9, SYN | ACK, 0)}));
	result();
	assert_mac(MAC_B);
}

static void of_two_that_tell_nothing_the_one_that_was_asked_first(void **state)
{
	(void)state;
	see(MAC_A, MAC_B, from(A4, B4, 64));
	see(MAC_B, MAC_A, from(B4, A4, 64));
	result();
	assert_mac(MAC_B);
}

static void of_two_the_one_whose_address_is_known(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		see(MAC_A, MAC_B, from(A4, B4, 64));
		see(MAC_B, MAC_A,
		    ip4((struct ip4){.src = B4,
				     .dst = A4,
				     .ttl = 57, /* from behind B */
				     .protocol = 6,
				     .data = tcp(80, 9, SYN | ACK, 0)}));
	}
	result();
	assert_mac(MAC_A);
	assert_true(has4(A4, 24));
}

static void of_two_the_one_that_sends_at_all(void **state)
{
	(void)state;
	see(MAC_A, MAC_B, from(A4, B4, 10));
	result();
	assert_mac(MAC_A);
	assert_true(has4(A4, 24));
}

static void of_two_that_nothing_parts_the_first(void **state)
{
	static const uint8_t nobody[] = {1, 0x80, 0xc2, 0, 0, 0};

	(void)state;
	for (int i = 0; i < 20; i++) { /* whatever the hash says */
		learn_as(SP_LINKTYPE_ETHERNET, NULL);
		see_marked(ethernet(nobody, MAC_C, 0x88cc, zeros(20)),
			   SP_DIRECTION_UNKNOWN);
		see_marked(ethernet(nobody, MAC_A, 0x88cc, zeros(20)),
			   SP_DIRECTION_UNKNOWN);
		result();
		assert_mac(MAC_C);
		assert_string_equal(learned.reason,
				    "of the stations that were seen, it was "
				    "seen first");
	}
}

static void a_host_with_odd_times_to_live_has_an_address(void **state)
{
	(void)state;
	see(MAC_A, MAC_B, from(A4, B4, 1));
	see(MAC_B, MAC_A, from(B4, A4, 2));
	result();
	assert_mac(MAC_B);
	assert_int_equal(learned.nr_addrs, 1);
	assert_true(has4(B4, 24));
}

static void what_passes_through_is_not_its_own(void **state)
{
	(void)state;
	see(MAC_A, MAC_B, from(A4, C4, 64));
	see(MAC_B, MAC_C, from(A4, C4, 63));
	see(MAC_C, MAC_B, from(C4, A4, 64));
	see(MAC_B, MAC_A, from(C4, A4, 63));
	see(MAC_B, MAC_A, from(B4, A4, 64));
	result();
	assert_mac(MAC_B);
	assert_true(learned.forward);
	assert_int_equal(learned.nr_addrs, 1);
	assert_true(has4(B4, 24));
}

static void a_router_seen_from_one_side_has_many_stale_sources(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 200; i++)
		see(MAC_B, MAC_A, from(0x08080800 + i, A4, 57));
	for (uint32_t i = 0; i < 200; i++)
		see(MAC_B, MAC_C, from(0x08080800 + i, 0x0a000003, 57));
	see(MAC_B, MAC_A, from(B4, A4, 64));
	result();
	assert_mac(MAC_B);
	assert_true(learned.forward);
}

static void arp_and_neighbour_discovery_tell_addresses(void **state)
{
	struct bytes arp = zeros(28);
	uint8_t *p = (uint8_t *)(uintptr_t)arp.data;
	static const uint8_t local[16] = {0xfe, 0x80, [15] = 2};
	struct bytes advert = icmp(136, 0, octets(local, 16));

	(void)state;
	put16(p, 1);
	put16(p + 2, 0x0800);
	p[4] = 6;
	p[5] = 4;
	put16(p + 6, 2);
	put32(p + 14, B4);
	see_marked(ethernet(MAC_A, MAC_B, 0x0806, arp), SP_DIRECTION_UNKNOWN);
	see(MAC_B, MAC_A,
	    ip6((struct ip6){.src = B6,
			     .dst = A6,
			     .nexthdr = 58,
			     .hop_limit = 255,
			     .data = advert}));
	result();
	assert_mac(MAC_B);
	assert_true(has4(B4, 24));
	assert_true(has6(B6));
	assert_true(has6(local));
}

static void broadcasts_tell_the_prefix_length(void **state)
{
	(void)state;
	see(MAC_A, MAC_B, from(A4, B4, 64));
	see(MAC_A, MAC_ALL, from(A4, 0x0a0003ff, 64));
	result();
	assert_mac(MAC_A); /* B has not sent anything */
	assert_true(has4(A4, 22));
	see(MAC_B, MAC_A, from(B4, A4, 64));
	see(MAC_B, MAC_A, from(B4, A4, 64));
	result();
	assert_mac(MAC_B);
	assert_true(has4(B4, 22));
}

static void an_address_that_fits_no_twenty_four_stands_alone(void **state)
{
	(void)state;
	see(MAC_A, MAC_B, from(A4, 0x0a0000ff, 64));
	see(MAC_B, MAC_A, from(0x0a0000ff, A4, 64));
	see(MAC_B, MAC_A, from(0xa9fe0102, A4, 64));
	result();
	assert_true(has4(0x0a0000ff, 32));
	assert_true(has4(0xa9fe0102, 16));
}

static void without_macs_the_address_in_most_packets(void **state)
{
	(void)state;
	learn_as(SP_LINKTYPE_RAW, NULL);
	see_marked(from(A4, B4, 64), SP_DIRECTION_UNKNOWN);
	see_marked(from(B4, C4, 64), SP_DIRECTION_UNKNOWN);
	see_marked(ip6((struct ip6){.data = udp(9, 7, 4)}),
		   SP_DIRECTION_UNKNOWN);
	result();
	assert_false(learned.have_mac);
	assert_int_equal(learned.nr_addrs, 2);
	assert_true(has4(B4, 24));
	assert_true(has6(B6)); /* of equals the one that was asked */
}

static void a_packet_from_an_address_to_itself_counts_once(void **state)
{
	(void)state;
	learn_as(SP_LINKTYPE_RAW, NULL);
	see_marked(from(A4, A4, 64), SP_DIRECTION_UNKNOWN);
	result();
	assert_string_equal(learned.reason, "its address is in 1 of 1 packets");
}

static void without_macs_but_with_directions_all_of_its_ends(void **state)
{
	(void)state;
	learn_as(SP_LINKTYPE_RAW, NULL);
	see_marked(from(A4, B4, 64), SP_DIRECTION_IN);
	see_marked(from(B4, A4, 64), SP_DIRECTION_OUT);
	see_marked(from(C4, A4, 64), SP_DIRECTION_OUT);
	result();
	assert_int_equal(learned.nr_addrs, 2);
	assert_true(has4(B4, 24));
	assert_true(has4(C4, 24));
}

static void on_a_loopback_device_both_ends_are_the_host(void **state)
{
	static const uint8_t none[6];

	(void)state;
	see(none, none, from(0x7f000001, 0x7f000001, 64));
	see(none, none, from(B4, B4, 64));
	result();
	assert_false(learned.have_mac);
	assert_string_equal(learned.reason, "packets of the loopback device");
	assert_true(has4(0x7f000001, 8));
	assert_true(has4(B4, 24));
}

static void floods_of_stations_and_addresses_are_survived(void **state)
{
	uint8_t mac[6] = {2};

	(void)state;
	see(MAC_A, MAC_B, from(A4, B4, 64));
	for (uint32_t i = 0; i < 20000; i++) {
		put32(mac + 2, i % 3000);
		see(mac, MAC_B, from(0x0b000000 + i, B4, 64));
		see(MAC_B, mac, from(B4, 0x0b000000 + i, 64));
	}
	result();
	assert_mac(MAC_B);
	assert_true(has4(B4, 24));
	assert_false(learned.forward);
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, open_learner, close_learner)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(nothing_seen_is_nothing_learnt),
		TEST(who_is_in_every_frame_was_observed),
		TEST(marks_come_before_everything_else),
		TEST(a_given_mac_is_not_questioned),
		TEST(of_two_the_one_with_unfilled_checksums),
		TEST(of_a_client_and_its_router_the_client),
		TEST(of_two_the_one_that_answers),
		TEST(of_two_that_tell_nothing_the_one_that_was_asked_first),
		TEST(of_two_the_one_whose_address_is_known),
		TEST(of_two_the_one_that_sends_at_all),
		TEST(of_two_that_nothing_parts_the_first),
		TEST(a_host_with_odd_times_to_live_has_an_address),
		TEST(what_passes_through_is_not_its_own),
		TEST(a_router_seen_from_one_side_has_many_stale_sources),
		TEST(arp_and_neighbour_discovery_tell_addresses),
		TEST(broadcasts_tell_the_prefix_length),
		TEST(an_address_that_fits_no_twenty_four_stands_alone),
		TEST(without_macs_the_address_in_most_packets),
		TEST(a_packet_from_an_address_to_itself_counts_once),
		TEST(without_macs_but_with_directions_all_of_its_ends),
		TEST(on_a_loopback_device_both_ends_are_the_host),
		TEST(floods_of_stations_and_addresses_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
