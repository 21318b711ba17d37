/* SPDX-License-Identifier: MIT */
/*
 * test_observe_ipv4.c - IPv4, received and sent: each test is a rule.
 */
#include "observe_lab.h"

#define SOUND "Ip.InReceives IpExt.InOctets=32 IpExt.InNoECTPkts "

static void a_datagram_to_the_host_is_delivered(void **state)
{
	(void)state;
	receive(ip4((struct ip4){.data = udp(9, 7, 4)}));
	expect(SOUND "Ip.InDelivers Udp.InDatagrams");
}

static void octets_count_the_padding_of_the_frame(void **state)
{
	(void)state;
	receive(ip4((struct ip4){.data = udp(9, 7, 4), .padding = 14}));
	expect("Ip.InReceives IpExt.InOctets=46 IpExt.InNoECTPkts "
	       "Ip.InDelivers Udp.InDatagrams");
}

static void version_and_header_length_come_before_the_marks(void **state)
{
	static const struct ip4 bad[] = {
		{.version = 5},
		{.version = 3},
		{.ihl = 4},
		{.ihl = 1},
	};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct ip4 p = bad[i];

		p.data = udp(9, 7, 4);
		receive(ip4(p));
		expect("Ip.InReceives IpExt.InOctets=32 Ip.InHdrErrors");
	}
	receive(first(ip4((struct ip4){.data = udp(9, 7, 4)}), 19));
	expect("Ip.InReceives IpExt.InOctets=19 Ip.InHdrErrors");
}

static void each_ecn_mark_has_its_counter(void **state)
{
	static const char *const names[] = {
		"IpExt.InNoECTPkts",
		"IpExt.InECT1Pkts",
		"IpExt.InECT0Pkts",
		"IpExt.InCEPkts",
	};
	char line[200];

	(void)state;
	for (uint8_t i = 0; i < 4; i++) {
		receive(ip4((struct ip4){.data = udp(9, 7, 4),
					 .tos = (uint8_t)(0xb8 | i)}));
		snprintf(line, sizeof(line),
			 "Ip.InReceives IpExt.InOctets=32 %s Ip.InDelivers "
			 "Udp.InDatagrams",
			 names[i]);
		expect(line);
	}
}

static void a_header_that_is_cut_short_is_an_error(void **state)
{
	(void)state;
	receive(ip4((struct ip4){.ihl = 15, .data = udp(9, 7, 4)}));
	expect(SOUND "Ip.InHdrErrors");
}

static void a_bad_header_checksum_is_two_errors(void **state)
{
	(void)state;
	receive(ip4((struct ip4){.data = udp(9, 7, 4), .bad_checksum = true}));
	expect(SOUND "Ip.InHdrErrors IpExt.InCsumErrors");
}

static void with_checksums_off_nothing_is_verified(void **state)
{
	struct sp_observer_opts opts = lab_opts();

	(void)state;
	opts.checksum = SP_CHECKSUM_OFF;
	lab_observe(&opts);
	receive(ip4((struct ip4){
		.data = udp(9, 7, 4), .bad_checksum = true, .sum = SUM_BAD}));
	expect(SOUND "Ip.InDelivers Udp.InDatagrams");
}

static void a_total_length_beyond_the_frame_is_truncation(void **state)
{
	(void)state;
	receive(ip4((struct ip4){.data = udp(9, 7, 4), .total_len = 33}));
	expect(SOUND "IpExt.InTruncatedPkts");
}

static void a_total_length_below_the_header_is_an_error(void **state)
{
	(void)state;
	receive(ip4((struct ip4){.data = udp(9, 7, 4), .total_len = 19}));
	expect(SOUND "Ip.InHdrErrors");
}

/* Write the header again after a change, with a good checksum. */
static struct bytes resealed(struct bytes packet)
{
	uint8_t *ip = (uint8_t *)(uintptr_t)packet.data;
	uint16_t sum;

	put16(ip + 10, 0);
	sum = (uint16_t)~sp_csum_fold(sp_csum_add(0, ip, 20));
	memcpy(ip + 10, &sum, 2);
	return packet;
}

/* From 0.0.0.0. */
static struct bytes from_nobody(struct ip4 p)
{
	struct bytes packet;

	p.sum = SUM_NONE;
	packet = ip4(p);
	put32((uint8_t *)(uintptr_t)packet.data + 12, 0);
	return resealed(packet);
}

static void martians_are_received_and_nothing_else(void **state)
{
	static const struct ip4 martians[] = {
		{.src = 0xe0000005}, /* multicast */
		{.src = 0xffffffff}, {.src = 0x7f000001},
		{.src = B4}, /* the host's own */
		{.dst = 0x7f000001}, {.src = B4, .dst = 0xffffffff},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(martians) / sizeof(martians[0]); i++) {
		struct ip4 p = martians[i];

		p.data = udp(9, 7, 4);
		receive(ip4(p));
		expect(SOUND);
	}
	receive(from_nobody((struct ip4){.data = udp(9, 7, 4)}));
	expect(SOUND);
	receive(from_nobody(
		(struct ip4){.dst = 0x0a0000ff, .data = udp(9, 7, 4)}));
	expect(SOUND);
}

static void a_source_of_nobody_may_broadcast_to_all(void **state)
{
	(void)state;
	receive_in(MAC_ALL, from_nobody((struct ip4){.dst = 0xffffffff,
						     .data = udp(9, 7, 4)}));
	expect(SOUND "IpExt.InBcastPkts IpExt.InBcastOctets=32 Ip.InDelivers "
		     "Udp.InDatagrams");
}

static void odd_but_ordinary_addresses_are_no_martians(void **state)
{
	static const uint32_t ordinary[] = {0x00010203, 0xf0000001, 0x0a0000ff};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		receive(ip4((struct ip4){.src = ordinary[i],
					 .data = udp(9, 7, 4)}));
		expect(SOUND "Ip.InDelivers Udp.InDatagrams");
	}
}

static void others_packets_are_address_errors_on_a_host(void **state)
{
	(void)state;
	receive(ip4((struct ip4){.dst = C4, .data = udp(9, 7, 4)}));
	expect(SOUND "Ip.InAddrErrors");
	/* The first address of a network is no broadcast. */
	receive(ip4((struct ip4){.dst = 0x0a000000, .data = udp(9, 7, 4)}));
	expect(SOUND "Ip.InAddrErrors");
}

static void broadcasts_count_packets_and_octets(void **state)
{
	static const uint32_t all[] = {0xffffffff, 0x0a0000ff};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		receive_in(MAC_ALL, ip4((struct ip4){.dst = all[i],
						     .data = udp(9, 7, 4),
						     .padding = 14}));
		expect("Ip.InReceives IpExt.InOctets=46 IpExt.InNoECTPkts "
		       "IpExt.InBcastPkts IpExt.InBcastOctets=32 "
		       "Ip.InDelivers Udp.InDatagrams");
	}
}

static void a_prefix_of_two_addresses_has_no_broadcast(void **state)
{
	static const struct sp_addr pair = {AF_INET, 31, {10, 0, 0, 2}};
	struct sp_observer_opts opts = lab_opts();

	(void)state;
	opts.addrs = &pair;
	opts.nr_addrs = 1;
	lab_observe(&opts);
	receive(ip4((struct ip4){.dst = 0x0a000003, .data = udp(9, 7, 4)}));
	expect(SOUND "Ip.InAddrErrors");
	receive(ip4((struct ip4){.data = udp(9, 7, 4)}));
	expect(SOUND "Ip.InDelivers Udp.InDatagrams");
}

static void
a_group_that_was_not_joined_is_not_counted_as_multicast(void **state)
{
	(void)state;
	receive_in(MAC_GROUP,
		   ip4((struct ip4){.dst = 0xe0000001, .data = udp(9, 7, 4)}));
	expect(SOUND "IpExt.InMcastPkts IpExt.InMcastOctets=32 Ip.InDelivers "
		     "Udp.InDatagrams");
	receive_in(MAC_GROUP,
		   ip4((struct ip4){.dst = 0xe0000002, .data = udp(9, 7, 4)}));
	expect(SOUND);
}

static void malformed_options_are_header_errors(void **state)
{
	(void)state;
	receive(ip4((struct ip4){.options = OCTETS(7, 2, 0, 0),
				 .data = udp(9, 7, 0)}));
	expect(SOUND "Ip.InHdrErrors");
	/* For somebody else's packet too. */
	receive(ip4((struct ip4){.options = OCTETS(7, 2, 0, 0),
				 .dst = C4,
				 .data = udp(9, 7, 0)}));
	expect(SOUND "Ip.InHdrErrors");
	/* Not for a martian: it got nowhere. */
	receive(ip4((struct ip4){.options = OCTETS(7, 2, 0, 0),
				 .src = B4,
				 .data = udp(9, 7, 0)}));
	expect(SOUND);
	receive(ip4((struct ip4){.options = OCTETS(1, 1, 1, 0),
				 .data = udp(9, 7, 0)}));
	expect(SOUND "Ip.InDelivers Udp.InDatagrams");
}

static void source_routes_are_dropped_in_silence(void **state)
{
	(void)state;
	receive(ip4((struct ip4){.options = OCTETS(131, 7, 4, 10, 0, 0, 3, 0),
				 .data = udp(9, 7, 0)}));
	expect("Ip.InReceives IpExt.InOctets=36 IpExt.InNoECTPkts");
}

static void a_protocol_that_nobody_has_is_unknown(void **state)
{
	static const uint8_t known[] = {2, 103};
	static const uint8_t unknown[] = {3, 4, 47, 50, 58, 132, 255};

	(void)state;
	for (size_t i = 0; i < sizeof(unknown); i++) {
		receive(ip4((struct ip4){.protocol = unknown[i],
					 .data = zeros(12)}));
		expect(SOUND "Ip.InUnknownProtos");
	}
	receive(ip4((struct ip4){.no_protocol = true, .data = zeros(12)}));
	expect(SOUND "Ip.InUnknownProtos");
	for (size_t i = 0; i < sizeof(known); i++) {
		receive(ip4(
			(struct ip4){.protocol = known[i], .data = zeros(12)}));
		expect(SOUND "Ip.InDelivers");
	}
}

/*
 * Fragments.
 */
#define FRAGMENT                                                               \
	"Ip.InReceives IpExt.InOctets=36 IpExt.InNoECTPkts Ip.ReasmReqds "

static struct bytes fragment(uint16_t id, uint16_t frag, struct bytes data)
{
	return ip4((struct ip4){.id = id, .frag = frag, .data = data});
}

/* A UDP datagram of 32 octets whose checksum is good. */
static struct bytes whole_datagram(void)
{
	struct bytes packet = ip4((struct ip4){.data = udp(9, 7, 24)});

	return octets(packet.data + 20, 32);
}

static void a_datagram_is_checked_when_it_is_whole(void **state)
{
	struct bytes all = whole_datagram();
	uint64_t held;

	(void)state;
	receive(fragment(1, 0x2000, first(all, 16)));
	held = moved_by("Sockstat.FRAG_memory");
	assert_true(held >= 16);
	assert_int_equal(moved_by("Sockstat.FRAG_inuse"), 1);
	assert_int_equal(moved_by("Ip.InDelivers"), 0);
	receive(fragment(1, 2, octets(all.data + 16, 16)));
	expect("Ip.InReceives=2 IpExt.InOctets=72 IpExt.InNoECTPkts=2 "
	       "Ip.ReasmReqds=2 Ip.ReasmOKs Ip.InDelivers Udp.InDatagrams");
}

static void an_overlap_throws_the_datagram_away(void **state)
{
	struct bytes all = whole_datagram();

	(void)state;
	receive(fragment(2, 0x2000, first(all, 16)));
	receive(fragment(2, 1, octets(all.data + 8, 16)));
	expect("Ip.InReceives=2 IpExt.InOctets=72 IpExt.InNoECTPkts=2 "
	       "Ip.ReasmReqds=2 Ip.ReasmFails IpExt.ReasmOverlaps");
}

static void a_hole_times_out_after_thirty_seconds(void **state)
{
	(void)state;
	receive(fragment(3, 0x2000, first(whole_datagram(), 16)));
	wait_ns(30 * SECOND_NS - 1);
	assert_int_equal(moved_by("Ip.ReasmFails"), 0);
	wait_ns(1);
	expect(FRAGMENT "Ip.ReasmTimeout Ip.ReasmFails");
}

/* A clock that is set, a damaged time, captures that are not in order. */
static void time_goes_on_after_a_jump_back(void **state)
{
	(void)state;
	receive(fragment(5, 0x2000, first(whole_datagram(), 16)));
	lab.now_ns -= 900 * SECOND_NS;
	receive(fragment(6, 0x2000, first(whole_datagram(), 16)));
	wait_ns(30 * SECOND_NS - 1);
	assert_int_equal(moved_by("Ip.ReasmTimeout"), 0);
	wait_ns(1); /* how long the jump really took is not known */
	assert_int_equal(moved_by("Ip.ReasmTimeout"), 2);
	receive(fragment(7, 0x2000, first(whole_datagram(), 16)));
	lab.now_ns = UINT64_MAX - SECOND_NS;
	receive(fragment(8, 0x2000, first(whole_datagram(), 16)));
	assert_int_equal(moved_by("Ip.ReasmTimeout"), 3);
	lab.now_ns = 0;
	receive(fragment(9, 0x2000, first(whole_datagram(), 16)));
	wait_ns(30 * SECOND_NS);
	assert_int_equal(moved_by("Ip.ReasmTimeout"), 5);
}

static void time_that_is_late_by_little_stands_still(void **state)
{
	(void)state;
	receive(fragment(5, 0x2000, first(whole_datagram(), 16)));
	for (unsigned i = 0; i < 3600; i++) {
		/* Two queues of a card, one of them late. */
		wait_ns(20 * MS_NS);
		lab.now_ns -= 15 * MS_NS;
		sp_observer_advance(lab.observer, lab.now_ns);
	}
	/* 18 s and not 72 */
	assert_int_equal(moved_by("Ip.ReasmTimeout"), 0);
}

static void a_hole_is_pending_still_when_the_capture_ends(void **state)
{
	(void)state;
	receive(fragment(4, 0x2000, first(whole_datagram(), 16)));
	sp_observer_finish(lab.observer);
	assert_int_equal(moved_by("Ip.ReasmFails"), 0);
	assert_int_equal(moved_by("Sockstat.FRAG_inuse"), 1);
}

static void multicast_counts_each_fragment_before_it_is_whole(void **state)
{
	(void)state;
	receive_in(MAC_GROUP, ip4((struct ip4){.dst = 0xe0000001,
					       .id = 5,
					       .frag = 1,
					       .data = zeros(16)}));
	assert_int_equal(moved_by("IpExt.InMcastPkts"), 1);
	assert_int_equal(moved_by("Ip.InDelivers"), 0);
}

/*
 * Sent.
 */
#define SENT "Ip.OutRequests Ip.OutTransmits IpExt.OutOctets=32 "

static void a_sent_datagram_is_requested_and_transmitted(void **state)
{
	(void)state;
	send_out(ip4((struct ip4){
		.src = B4, .dst = A4, .data = udp(7, 9, 4), .padding = 14}));
	expect(SENT "Udp.OutDatagrams");
}

static void a_fragmented_datagram_is_requested_once(void **state)
{
	(void)state;
	send_out(ip4((struct ip4){.src = B4,
				  .dst = A4,
				  .frag = 0x2000,
				  .data = first(udp(7, 9, 24), 16)}));
	send_out(ip4((struct ip4){
		.src = B4, .dst = A4, .frag = 0x2002, .data = zeros(8)}));
	send_out(ip4((struct ip4){
		.src = B4, .dst = A4, .frag = 3, .data = zeros(8)}));
	expect("Ip.OutRequests Ip.OutTransmits=3 IpExt.OutOctets=92 Ip.FragOKs "
	       "Ip.FragCreates=3 Udp.OutDatagrams");
}

static void a_sent_multicast_is_not_heard(void **state)
{
	(void)state;
	send_out(ip4((struct ip4){
		.src = B4, .dst = 0xe0000001, .data = udp(7, 9, 4)}));
	expect(SENT "IpExt.OutMcastPkts IpExt.OutMcastOctets=32 "
		    "Udp.OutDatagrams");
}

static void the_host_hears_its_own_broadcast(void **state)
{
	static const uint32_t all[] = {0xffffffff, 0x0a0000ff};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		send_out(ip4((struct ip4){
			.src = B4, .dst = all[i], .data = udp(9, 7, 4)}));
		expect(SENT SOUND "IpExt.OutBcastPkts IpExt.OutBcastOctets=32 "
				  "IpExt.InBcastPkts IpExt.InBcastOctets=32 "
				  "Ip.InDelivers Udp.OutDatagrams "
				  "Udp.InDatagrams");
	}
}

static void a_fragmented_broadcast_is_heard_as_one_packet(void **state)
{
	(void)state;
	send_out(ip4((struct ip4){.src = B4,
				  .dst = 0x0a0000ff,
				  .frag = 0x2000,
				  .data = first(udp(9, 7, 24), 16)}));
	send_out(ip4((struct ip4){
		.src = B4, .dst = 0x0a0000ff, .frag = 2, .data = zeros(16)}));
	expect("Ip.OutRequests Ip.OutTransmits=2 IpExt.OutOctets=72 Ip.FragOKs "
	       "Ip.FragCreates=2 IpExt.OutBcastPkts=2 IpExt.OutBcastOctets=72 "
	       "Udp.OutDatagrams Ip.InReceives IpExt.InOctets=52 "
	       "IpExt.InNoECTPkts IpExt.InBcastPkts IpExt.InBcastOctets=52 "
	       "Ip.InDelivers Udp.InDatagrams");
}

/*
 * Cut by the capture.
 */
static void octets_that_were_not_captured_are_no_error(void **state)
{
	struct bytes packet =
		ip4((struct ip4){.data = udp(9, 7, 100), .sum = SUM_BAD});

	(void)state;
	receive_cut(packet, 60);
	expect("Ip.InReceives IpExt.InOctets=128 IpExt.InNoECTPkts "
	       "Ip.InDelivers Udp.InDatagrams");
	assert_int_equal(lab_stats().nr_unchecked, 1);
	assert_int_equal(lab_stats().nr_truncated, 1);
}

static void any_cut_is_survived_and_counted_as_received(void **state)
{
	struct bytes packet =
		ip4((struct ip4){.options = OCTETS(7, 7, 4, 0, 0, 0, 0, 0),
				 .data = udp(9, 7, 4)});

	(void)state;
	for (uint32_t cap = 0; cap <= packet.len; cap++) {
		receive_cut(packet, cap);
		assert_int_equal(moved_by("Ip.InReceives"), 1);
		assert_int_equal(moved_by("Ip.InHdrErrors"), 0);
		lab_remember();
	}
	assert_int_equal(lab_stats().nr_link_errors, 0);
}

static void a_packet_may_be_a_header_and_nothing_else(void **state)
{
	(void)state;
	receive(ip4((struct ip4){.protocol = 2}));
	expect("Ip.InReceives IpExt.InOctets=20 IpExt.InNoECTPkts "
	       "Ip.InDelivers");
	send_out(ip4((struct ip4){.src = B4, .dst = A4, .protocol = 2}));
	expect("Ip.OutRequests Ip.OutTransmits IpExt.OutOctets=20");
}

static void a_packet_of_which_no_header_was_captured_still_left(void **state)
{
	struct bytes frame = ethernet(
		MAC_A, MAC_B, 0x0800,
		ip4((struct ip4){.src = B4, .dst = A4, .data = udp(7, 9, 4)}));

	(void)state;
	pass_frame(frame, 14 + 19);
	expect("Ip.OutRequests Ip.OutTransmits IpExt.OutOctets=32");
}

static void when_memory_is_full_the_oldest_datagram_goes(void **state)
{
	struct sp_observer_opts opts = lab_opts();

	(void)state;
	opts.reasm_bytes = 1;
	lab_observe(&opts);
	for (uint16_t id = 0; id < 8; id++)
		receive(fragment(id, 0x2000, zeros(48000)));
	assert_true(lab_stats().nr_reasm_evicted > 0);
	assert_int_equal(moved_by("Ip.ReasmFails"),
			 lab_stats().nr_reasm_evicted);
}

static void a_super_packet_without_a_total_length_is_taken_whole(void **state)
{
	struct bytes packet = ip4((struct ip4){.protocol = 6,
					       .data = tcp(80, 9, ACK, 70000),
					       .sum = SUM_PARTIAL});

	(void)state;
	put16((uint8_t *)(uintptr_t)packet.data + 2, 0);
	receive(resealed(packet));
	assert_int_equal(moved_by("Ip.InHdrErrors"), 0);
	assert_int_equal(moved_by("Tcp.InSegs"), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_open, lab_close)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_datagram_to_the_host_is_delivered),
		TEST(octets_count_the_padding_of_the_frame),
		TEST(version_and_header_length_come_before_the_marks),
		TEST(each_ecn_mark_has_its_counter),
		TEST(a_header_that_is_cut_short_is_an_error),
		TEST(a_bad_header_checksum_is_two_errors),
		TEST(with_checksums_off_nothing_is_verified),
		TEST(a_total_length_beyond_the_frame_is_truncation),
		TEST(a_total_length_below_the_header_is_an_error),
		TEST(martians_are_received_and_nothing_else),
		TEST(a_source_of_nobody_may_broadcast_to_all),
		TEST(odd_but_ordinary_addresses_are_no_martians),
		TEST(others_packets_are_address_errors_on_a_host),
		TEST(broadcasts_count_packets_and_octets),
		TEST(a_prefix_of_two_addresses_has_no_broadcast),
		TEST(a_group_that_was_not_joined_is_not_counted_as_multicast),
		TEST(malformed_options_are_header_errors),
		TEST(source_routes_are_dropped_in_silence),
		TEST(a_protocol_that_nobody_has_is_unknown),
		TEST(a_datagram_is_checked_when_it_is_whole),
		TEST(an_overlap_throws_the_datagram_away),
		TEST(a_hole_times_out_after_thirty_seconds),
		TEST(time_goes_on_after_a_jump_back),
		TEST(time_that_is_late_by_little_stands_still),
		TEST(a_hole_is_pending_still_when_the_capture_ends),
		TEST(multicast_counts_each_fragment_before_it_is_whole),
		TEST(a_sent_datagram_is_requested_and_transmitted),
		TEST(a_fragmented_datagram_is_requested_once),
		TEST(a_sent_multicast_is_not_heard),
		TEST(the_host_hears_its_own_broadcast),
		TEST(a_fragmented_broadcast_is_heard_as_one_packet),
		TEST(octets_that_were_not_captured_are_no_error),
		TEST(any_cut_is_survived_and_counted_as_received),
		TEST(a_packet_may_be_a_header_and_nothing_else),
		TEST(a_packet_of_which_no_header_was_captured_still_left),
		TEST(when_memory_is_full_the_oldest_datagram_goes),
		TEST(a_super_packet_without_a_total_length_is_taken_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
