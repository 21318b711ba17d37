/* SPDX-License-Identifier: MIT */
/*
 * test_observe_ipv6.c - IPv6, received and sent: each test is a rule.
 */
#include "observe_lab.h"

#define SOUND(octets) "Ip6.InReceives Ip6.InNoECTPkts Ip6.InOctets=" #octets " "

static const uint8_t ALL_NODES[16] = {0xff, 2, [15] = 1};

/* Options of 8 octets; the first two are filled in here. */
static struct bytes options(uint8_t next, const uint8_t *six)
{
	return OCTETS(next, 0, six[0], six[1], six[2], six[3], six[4], six[5]);
}

static const uint8_t PADN4[6] = {1, 4, 0, 0, 0, 0};
static const uint8_t PADN4_DIRTY[6] = {1, 4, 0, 0, 1, 0};
static const uint8_t UNKNOWN_SKIP[6] = {0x1e, 4, 0, 0, 0, 0};
static const uint8_t UNKNOWN_DROP[6] = {0x5e, 4, 0, 0, 0, 0};

/* UDP behind one extension header of type @nexthdr. */
static struct ip6 behind(uint8_t nexthdr, struct bytes header)
{
	return (struct ip6){.nexthdr = nexthdr,
			    .upper = 17,
			    .upper_off = header.len,
			    .data = joined(header, udp(9, 7, 4))};
}

static struct bytes hop_by_hop(const uint8_t *six)
{
	struct bytes header = options(17, six);
	uint8_t *ip;
	struct bytes packet = ip6(behind(60, header));

	ip = (uint8_t *)(uintptr_t)packet.data;
	ip[6] = 0;
	return packet;
}

static struct bytes routing(uint8_t type, uint8_t segments_left)
{
	return OCTETS(17, 0, type, segments_left, 0, 0, 0, 0);
}

static struct bytes fragment_header(uint8_t next, unsigned field, uint8_t id)
{
	return OCTETS(next, 0, (uint8_t)(field >> 8), (uint8_t)field, 0, 0, 0,
		      id);
}

static void a_datagram_to_the_host_is_delivered(void **state)
{
	(void)state;
	receive(ip6((struct ip6){.data = udp(9, 7, 4), .padding = 6}));
	expect(SOUND(58) "Ip6.InDelivers Udp6.InDatagrams");
}

static void headers_that_are_no_headers(void **state)
{
	struct bytes frame =
		ethernet(MAC_B, MAC_A, 0x86dd,
			 ip6((struct ip6){.version = 5, .data = udp(9, 7, 4)}));

	(void)state;
	pass_frame(frame, frame.len);
	expect("Ip6.InReceives Ip6.InOctets=52 Ip6.InHdrErrors");
	receive(first(ip6((struct ip6){.data = udp(9, 7, 4)}), 39));
	expect("Ip6.InReceives Ip6.InOctets=39 Ip6.InHdrErrors");
}

static void each_ecn_mark_has_its_counter(void **state)
{
	static const char *const names[] = {"NoECT", "ECT1", "ECT0", "CE"};
	char line[200];

	(void)state;
	for (uint8_t i = 0; i < 4; i++) {
		receive(ip6((struct ip6){.class = (uint8_t)(0xb8 | i),
					 .data = udp(9, 7, 4)}));
		snprintf(line, sizeof(line),
			 "Ip6.InReceives Ip6.InOctets=52 Ip6.In%sPkts "
			 "Ip6.InDelivers Udp6.InDatagrams",
			 names[i]);
		expect(line);
	}
}

static void addresses_that_may_not_come_from_outside(void **state)
{
	static const uint8_t loopback[16] = {[15] = 1};
	static const uint8_t scope0[16] = {0xff, 0, [15] = 1};
	static const uint8_t scope1[16] = {0xff, 1, [15] = 1};
	const struct ip6 bad[] = {
		{.src = loopback}, {.dst = loopback}, {.src = ALL_NODES},
		{.dst = scope0},   {.dst = scope1},
	};

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		struct ip6 p = bad[i];

		p.data = udp(9, 7, 4);
		receive(ip6(p));
		expect(SOUND(52) "Ip6.InHdrErrors");
	}
	/* The host's own address as a source is no fault. */
	receive(ip6((struct ip6){.src = B6, .data = udp(9, 7, 4)}));
	expect(SOUND(52) "Ip6.InDelivers Udp6.InDatagrams");
}

static void a_payload_length_beyond_the_frame_is_truncation(void **state)
{
	(void)state;
	receive(ip6((struct ip6){.data = udp(9, 7, 4), .payload_len = 13}));
	expect(SOUND(52) "Ip6.InTruncatedPkts");
}

static void faults_of_hop_by_hop_options_are_header_errors(void **state)
{
	(void)state;
	receive(hop_by_hop(PADN4));
	expect(SOUND(60) "Ip6.InDelivers Udp6.InDatagrams");
	receive(hop_by_hop(UNKNOWN_SKIP));
	expect(SOUND(60) "Ip6.InDelivers Udp6.InDatagrams");
	receive(hop_by_hop(PADN4_DIRTY));
	expect(SOUND(60) "Ip6.InHdrErrors");
	receive(hop_by_hop(UNKNOWN_DROP));
	expect(SOUND(60) "Ip6.InHdrErrors");
}

static void hop_by_hop_options_come_before_the_destination(void **state)
{
	struct bytes packet = hop_by_hop(UNKNOWN_DROP);

	(void)state;
	memcpy((uint8_t *)(uintptr_t)packet.data + 24, C6, 16);
	receive(packet);
	expect(SOUND(60) "Ip6.InHdrErrors");
}

static void destination_options_are_looked_at_by_the_destination(void **state)
{
	struct ip6 p = behind(60, options(17, PADN4_DIRTY));

	(void)state;
	receive(ip6(behind(60, options(17, PADN4))));
	expect(SOUND(60) "Ip6.InDelivers Udp6.InDatagrams");
	receive(ip6(p));
	expect(SOUND(60) "Ip6.InHdrErrors");
	p.dst = C6;
	receive(ip6(p));
	sp_observer_finish(lab.observer);
	expect(SOUND(60) "Ip6.InAddrErrors");
}

static void a_routing_header_must_be_used_up(void **state)
{
	struct ip6 p = behind(43, routing(0, 0));

	(void)state;
	receive(ip6(p));
	expect(SOUND(60) "Ip6.InDelivers Udp6.InDatagrams");
	receive(ip6(behind(43, routing(0, 1))));
	expect(SOUND(60) "Ip6.InHdrErrors");
	receive(ip6((struct ip6){.nexthdr = 43,
				 .data = OCTETS(17, 1, 0, 0, 0, 0, 0, 0)}));
	expect(SOUND(48) "Ip6.InHdrErrors");
	receive_in(MAC_ALL, ip6(p));
	expect(SOUND(60) "Ip6.InAddrErrors");
	p.dst = ALL_NODES;
	receive_in(MAC_GROUP, ip6(p));
	expect(SOUND(60) "Ip6.InMcastPkts Ip6.InMcastOctets=60 "
			 "Ip6.InAddrErrors");
}

static void segment_routing_that_is_off_is_dropped_in_silence(void **state)
{
	(void)state;
	receive(ip6(behind(43, routing(4, 0))));
	expect(SOUND(60));
	receive(ip6(behind(43, routing(3, 1))));
	expect(SOUND(60));
}

static void protocols_that_nobody_has_are_unknown(void **state)
{
	static const uint8_t unknown[] = {1, 2, 4, 41, 47, 50, 132, 253};
	static const uint8_t known[] = {59, 103};

	(void)state;
	for (size_t i = 0; i < sizeof(unknown); i++) {
		receive(ip6((struct ip6){.nexthdr = unknown[i],
					 .data = zeros(12)}));
		expect(SOUND(52) "Ip6.InUnknownProtos");
	}
	for (size_t i = 0; i < sizeof(known); i++) {
		receive(ip6(
			(struct ip6){.nexthdr = known[i], .data = zeros(12)}));
		expect(SOUND(52) "Ip6.InDelivers");
	}
	/* Hop-by-hop options in second place are one of them. */
	receive(ip6(behind(60, options(0, PADN4))));
	expect(SOUND(60) "Ip6.InUnknownProtos");
}

static void multicasts_count_before_the_group_is_known(void **state)
{
	static const uint8_t foreign[16] = {0xff, 5, [15] = 9};
	static const uint8_t solicited[16] = {
		0xff, 2, [11] = 1, [12] = 0xff, [15] = 2};

	(void)state;
	receive_in(MAC_GROUP,
		   ip6((struct ip6){.dst = foreign, .data = udp(9, 7, 4)}));
	expect(SOUND(52) "Ip6.InMcastPkts Ip6.InMcastOctets=52");
	receive_in(MAC_GROUP,
		   ip6((struct ip6){.dst = solicited, .data = udp(9, 7, 4)}));
	expect(SOUND(52) "Ip6.InMcastPkts Ip6.InMcastOctets=52 "
			 "Ip6.InDelivers Udp6.InDatagrams");
}

static void others_packets_wait_for_a_no_route(void **state)
{
	struct bytes packet =
		ip6((struct ip6){.dst = C6, .data = udp(9, 7, 4)});
	struct bytes answer = ip6((struct ip6){.src = B6,
					       .dst = A6,
					       .nexthdr = 58,
					       .data = icmp(1, 0, packet)});

	(void)state;
	receive(packet);
	expect(SOUND(52));
	wait_ns(SECOND_NS);
	expect("Ip6.InAddrErrors");
	receive(packet);
	send_out(answer);
	wait_ns(SECOND_NS);
	expect(SOUND(52) "Ip6.InNoRoutes Ip6.OutRequests Ip6.OutTransmits "
			 "Ip6.OutOctets=100 Icmp6.OutMsgs Icmp6.OutType1");
	/* Nobody answers what was for :: or came in a broadcast frame. */
	receive_in(MAC_ALL, packet);
	expect(SOUND(52) "Ip6.InAddrErrors");
}

/*
 * Fragments.
 */
static struct bytes fragment(unsigned field, uint8_t id, struct bytes data)
{
	return ip6((struct ip6){
		.nexthdr = 44,
		.upper = 255,
		.data = joined(fragment_header(17, field, id), data)});
}

static void fragments_make_a_datagram(void **state)
{
	struct bytes all = ip6((struct ip6){.data = udp(9, 7, 24)});

	(void)state;
	receive(fragment(1, 1, octets(all.data + 40, 16)));
	receive(fragment(16, 1, octets(all.data + 56, 16)));
	expect("Ip6.InReceives=2 Ip6.InNoECTPkts=2 Ip6.InOctets=128 "
	       "Ip6.ReasmReqds=2 Ip6.ReasmOKs Ip6.InDelivers "
	       "Udp6.InDatagrams");
}

static void an_overlap_throws_the_datagram_away(void **state)
{
	(void)state;
	receive(fragment(1, 2, zeros(16)));
	receive(fragment(9, 2, zeros(16)));
	expect("Ip6.InReceives=2 Ip6.InNoECTPkts=2 Ip6.InOctets=128 "
	       "Ip6.ReasmReqds=2 Ip6.ReasmFails");
}

static void a_hole_times_out_after_sixty_seconds(void **state)
{
	(void)state;
	receive(fragment(1, 2, zeros(16)));
	wait_ns(60 * SECOND_NS - 1);
	assert_int_equal(moved_by("Ip6.ReasmFails"), 0);
	wait_ns(1);
	expect(SOUND(64) "Ip6.ReasmReqds Ip6.ReasmTimeout Ip6.ReasmFails");
}

static void when_memory_is_full_the_oldest_datagram_goes(void **state)
{
	struct sp_observer_opts opts = lab_opts();

	(void)state;
	opts.reasm_bytes = 1;
	lab_observe(&opts);
	for (uint8_t id = 0; id < 8; id++)
		receive(fragment(1, id, zeros(48000)));
	assert_true(lab_stats().nr_reasm_evicted > 0);
	assert_int_equal(moved_by("Ip6.ReasmFails"),
			 lab_stats().nr_reasm_evicted);
}

static void a_jumbogram_has_no_fragments(void **state)
{
	struct ip6 p = behind(
		0, joined(options(44, PADN4), fragment_header(17, 1, 4)));

	(void)state;
	p.no_payload_len = true;
	receive(ip6(p));
	expect(SOUND(68) "Ip6.ReasmReqds Ip6.InHdrErrors");
}

static void a_fragment_alone_is_whole_at_once(void **state)
{
	(void)state;
	receive(ip6(behind(44, fragment_header(17, 0, 1))));
	expect(SOUND(60) "Ip6.ReasmReqds Ip6.ReasmOKs Ip6.InDelivers "
			 "Udp6.InDatagrams");
}

static void a_second_fragment_header_is_an_error(void **state)
{
	(void)state;
	receive(ip6(behind(44, joined(fragment_header(44, 0, 1),
				      fragment_header(17, 0, 1)))));
	expect(SOUND(68) "Ip6.ReasmReqds Ip6.ReasmOKs Ip6.InHdrErrors");
}

static void a_first_fragment_must_hold_the_upper_header(void **state)
{
	(void)state;
	receive(ip6((struct ip6){
		.nexthdr = 44,
		.upper = 255,
		.data = joined(fragment_header(6, 1, 2), zeros(16))}));
	expect(SOUND(64) "Ip6.ReasmReqds Ip6.InHdrErrors");
	wait_ns(61 * SECOND_NS);
	expect("");
}

static void a_refused_fragment_leaves_a_queue_that_times_out(void **state)
{
	(void)state;
	receive(fragment(1, 3, zeros(12))); /* no multiple of 8 */
	assert_int_equal(moved_by("Sockstat.FRAG6_inuse"), 1);
	receive(fragment(0xfff0, 4, zeros(24))); /* beyond 65535 */
	wait_ns(60 * SECOND_NS);
	expect("Ip6.InReceives=2 Ip6.InNoECTPkts=2 Ip6.InOctets=132 "
	       "Ip6.ReasmReqds=2 Ip6.InHdrErrors=2 Ip6.ReasmTimeout=2 "
	       "Ip6.ReasmFails=2");
}

static void the_padding_of_the_frame_is_no_payload(void **state)
{
	(void)state;
	receive(ip6((struct ip6){
		.nexthdr = 58, .data = icmp(128, 0, zeros(4)), .padding = 6}));
	expect(SOUND(58) "Ip6.InDelivers Icmp6.InMsgs Icmp6.InType128");
	send_out(ip6((struct ip6){
		.src = B6, .dst = A6, .data = udp(7, 9, 4), .padding = 6}));
	expect("Ip6.OutRequests Ip6.OutTransmits Ip6.OutOctets=52 "
	       "Udp6.OutDatagrams");
}

/*
 * Sent.
 */
static void sent_packets_and_fragments(void **state)
{
	struct ip6 p = behind(44, fragment_header(17, 1, 9));

	(void)state;
	p.src = B6;
	p.dst = A6;
	send_out(ip6((struct ip6){
		.src = B6, .dst = ALL_NODES, .data = udp(7, 9, 4)}));
	expect("Ip6.OutRequests Ip6.OutTransmits Ip6.OutOctets=52 "
	       "Ip6.OutMcastPkts Ip6.OutMcastOctets=52 Udp6.OutDatagrams");
	send_out(ip6(p));
	expect("Ip6.OutRequests Ip6.OutTransmits Ip6.OutOctets=60 Ip6.FragOKs "
	       "Ip6.FragCreates Udp6.OutDatagrams");
	p = behind(44, fragment_header(17, 8, 9));
	p.src = B6;
	p.dst = A6;
	send_out(ip6(p));
	expect("Ip6.OutTransmits Ip6.OutOctets=60 Ip6.FragCreates");
}

static void headers_before_a_sent_datagram_are_passed_over(void **state)
{
	struct ip6 p = behind(60, options(17, PADN4));

	(void)state;
	p.src = B6;
	p.dst = A6;
	send_out(ip6(p));
	expect("Ip6.OutRequests Ip6.OutTransmits Ip6.OutOctets=60 "
	       "Udp6.OutDatagrams");
	p = behind(60, joined(options(44, PADN4), fragment_header(17, 8, 9)));
	p.src = B6;
	p.dst = A6;
	send_out(ip6(p));
	expect("Ip6.OutTransmits Ip6.OutOctets=68 Ip6.FragCreates");
	/* One that ends behind the packet hides what is in it. */
	p = behind(60, OCTETS(17, 9, 1, 4, 0, 0, 0, 0));
	p.src = B6;
	p.dst = A6;
	send_out(ip6(p));
	expect("Ip6.OutRequests Ip6.OutTransmits Ip6.OutOctets=60");
}

static void a_version_one_report_is_heard_by_its_sender(void **state)
{
	static const uint8_t group[16] = {0xff, 5, [15] = 9};

	(void)state;
	send_out(ip6((struct ip6){.src = B6,
				  .dst = group,
				  .nexthdr = 58,
				  .data = icmp(131, 0, octets(group, 16))}));
	expect("Ip6.OutRequests Ip6.OutTransmits Ip6.OutOctets=64 "
	       "Ip6.OutMcastPkts Ip6.OutMcastOctets=64 Icmp6.OutMsgs "
	       "Icmp6.OutType131 " SOUND(64) "Ip6.InDelivers Icmp6.InMsgs "
					     "Icmp6.InType131");
	receive_in(MAC_GROUP,
		   ip6((struct ip6){.dst = group, .data = udp(9, 7, 4)}));
	expect(SOUND(52) "Ip6.InMcastPkts Ip6.InMcastOctets=52 "
			 "Ip6.InDelivers Udp6.InDatagrams");
}

static void a_segment_over_ipv6_is_a_segment(void **state)
{
	(void)state;
	receive(ip6((struct ip6){.nexthdr = 6, .data = tcp(9, 80, ACK, 0)}));
	expect(SOUND(60) "Ip6.InDelivers Tcp.InSegs");
	send_out(ip6((struct ip6){.src = B6,
				  .dst = A6,
				  .nexthdr = 6,
				  .data = tcp(80, 9, RST, 0)}));
	expect("Ip6.OutRequests Ip6.OutTransmits Ip6.OutOctets=60 Tcp.OutSegs "
	       "Tcp.OutRsts");
}

static void headers_that_were_not_captured_are_taken_for_good(void **state)
{
	(void)state;
	receive_cut(ip6(behind(60, options(17, PADN4_DIRTY))), 44);
	expect(SOUND(60) "Ip6.InDelivers");
	assert_int_equal(lab_stats().nr_unchecked, 1);
}

static void a_packet_of_which_no_header_was_captured_still_left(void **state)
{
	struct bytes frame = ethernet(
		MAC_A, MAC_B, 0x86dd,
		ip6((struct ip6){.src = B6, .dst = A6, .data = udp(7, 9, 4)}));

	(void)state;
	pass_frame(frame, 14 + 39);
	expect("Ip6.OutRequests Ip6.OutTransmits Ip6.OutOctets=52");
}

static void any_cut_is_survived_and_no_error(void **state)
{
	struct bytes chain =
		joined(options(60, PADN4),
		       joined(options(43, PADN4),
			      joined(OCTETS(44, 0, 0, 0, 0, 0, 0, 0),
				     fragment_header(17, 1, 5))));
	struct bytes packet = ip6((struct ip6){
		.nexthdr = 60, .data = joined(chain, udp(9, 7, 16))});

	(void)state;
	((uint8_t *)(uintptr_t)packet.data)[6] = 0;
	for (uint32_t cap = 0; cap <= packet.len; cap++) {
		receive_cut(packet, cap);
		assert_int_equal(moved_by("Ip6.InReceives"), 1);
		assert_int_equal(moved_by("Ip6.InHdrErrors"), 0);
		lab_remember();
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_open, lab_close)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_datagram_to_the_host_is_delivered),
		TEST(headers_that_are_no_headers),
		TEST(each_ecn_mark_has_its_counter),
		TEST(addresses_that_may_not_come_from_outside),
		TEST(a_payload_length_beyond_the_frame_is_truncation),
		TEST(faults_of_hop_by_hop_options_are_header_errors),
		TEST(hop_by_hop_options_come_before_the_destination),
		TEST(destination_options_are_looked_at_by_the_destination),
		TEST(a_routing_header_must_be_used_up),
		TEST(segment_routing_that_is_off_is_dropped_in_silence),
		TEST(protocols_that_nobody_has_are_unknown),
		TEST(multicasts_count_before_the_group_is_known),
		TEST(others_packets_wait_for_a_no_route),
		TEST(fragments_make_a_datagram),
		TEST(an_overlap_throws_the_datagram_away),
		TEST(a_hole_times_out_after_sixty_seconds),
		TEST(when_memory_is_full_the_oldest_datagram_goes),
		TEST(a_jumbogram_has_no_fragments),
		TEST(a_fragment_alone_is_whole_at_once),
		TEST(a_second_fragment_header_is_an_error),
		TEST(a_first_fragment_must_hold_the_upper_header),
		TEST(a_refused_fragment_leaves_a_queue_that_times_out),
		TEST(sent_packets_and_fragments),
		TEST(the_padding_of_the_frame_is_no_payload),
		TEST(headers_before_a_sent_datagram_are_passed_over),
		TEST(a_version_one_report_is_heard_by_its_sender),
		TEST(a_segment_over_ipv6_is_a_segment),
		TEST(headers_that_were_not_captured_are_taken_for_good),
		TEST(a_packet_of_which_no_header_was_captured_still_left),
		TEST(any_cut_is_survived_and_no_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
