/* SPDX-License-Identifier: MIT */
/*
 * test_observe_udp.c - UDP and UDP-Lite: each test is a rule.
 */
#include "observe_lab.h"

#define IN4(octets)                                                            \
	"Ip.InReceives IpExt.InNoECTPkts Ip.InDelivers "                       \
	"IpExt.InOctets=" #octets " "
#define IN6(octets)                                                            \
	"Ip6.InReceives Ip6.InNoECTPkts Ip6.InDelivers Ip6.InOctets=" #octets  \
	" "
#define ICMP_OUT(octets)                                                       \
	"Ip.OutRequests Ip.OutTransmits Icmp.OutMsgs IcmpMsg.OutType3 "        \
	"IpExt.OutOctets=" #octets " "

static struct bytes udp4(unsigned sport, unsigned dport)
{
	return ip4((struct ip4){.data = udp(sport, dport, 4)});
}

static struct bytes lite4(unsigned coverage, uint32_t len, enum sum sum)
{
	return ip4((struct ip4){.protocol = 136,
				.data = udp_of(9, 7, len, coverage),
				.sum = sum});
}

/* The host says that nobody listens where @packet went. */
static void refuse(struct bytes packet)
{
	send_out(ip4((struct ip4){.src = B4,
				  .dst = A4,
				  .protocol = 1,
				  .data = icmp(3, 3, packet)}));
}

static void lengths_that_contradict_are_errors(void **state)
{
	(void)state;
	receive(ip4((struct ip4){.data = zeros(7)}));
	expect(IN4(27) "Udp.InErrors");
	receive(ip4((struct ip4){.data = udp_of(9, 7, 4, 7)}));
	expect(IN4(32) "Udp.InErrors");
	receive(ip4((struct ip4){.data = udp_of(9, 7, 4, 13)}));
	expect(IN4(32) "Udp.InErrors");
	receive(ip4((struct ip4){.data = udp_of(9, 7, 4, 0)}));
	expect(IN4(32) "Udp.InErrors");
	/* Less than the packet is fine: the rest is no part of it. */
	receive(ip4(
		(struct ip4){.data = udp_of(9, 7, 4, 10), .sum = SUM_NONE}));
	expect(IN4(32) "Udp.InDatagrams");
}

static void a_bad_checksum_counts_whether_or_not_the_port_is_open(void **state)
{
	(void)state;
	receive(ip4((struct ip4){.data = udp(9, 7, 4), .sum = SUM_BAD}));
	expect(IN4(32) "Udp.InErrors Udp.InCsumErrors");
	receive(ip4((struct ip4){.data = udp(9, 8, 4), .sum = SUM_BAD}));
	expect(IN4(32) "Udp.InErrors Udp.InCsumErrors");
}

static void no_checksum_is_fine_in_ipv4_and_bad_in_ipv6(void **state)
{
	(void)state;
	receive(ip4((struct ip4){.data = udp(9, 7, 4), .sum = SUM_NONE}));
	expect(IN4(32) "Udp.InDatagrams");
	receive(ip6((struct ip6){.data = udp(9, 7, 4), .sum = SUM_NONE}));
	expect(IN6(52) "Udp6.InErrors Udp6.InCsumErrors");
}

static void offload_is_taken_for_good_unless_checksums_are_on(void **state)
{
	struct sp_observer_opts opts = lab_opts();
	struct bytes packet =
		ip4((struct ip4){.data = udp(9, 7, 4), .sum = SUM_PARTIAL});

	(void)state;
	receive(packet);
	expect(IN4(32) "Udp.InDatagrams");
	assert_int_equal(lab_stats().nr_offloaded, 1);
	opts.checksum = SP_CHECKSUM_ON;
	lab_observe(&opts);
	receive(packet);
	expect(IN4(32) "Udp.InErrors Udp.InCsumErrors");
}

static void a_closed_port_is_no_port(void **state)
{
	(void)state;
	receive(udp4(9, 8));
	expect(IN4(32) "Udp.NoPorts");
	receive(ip6((struct ip6){.data = udp(9, 8, 4)}));
	expect(IN6(52) "Udp6.NoPorts");
	receive(ip4((struct ip4){.protocol = 136, .data = udp(9, 8, 4)}));
	expect(IN4(32) "UdpLite.NoPorts");
}

static void families_and_protocols_have_ports_of_their_own(void **state)
{
	(void)state;
	send_out(ip4(
		(struct ip4){.src = B4, .dst = A4, .data = udp(5000, 9, 4)}));
	lab_remember();
	receive(ip6((struct ip6){.data = udp(9, 5000, 4)}));
	expect(IN6(52) "Udp6.NoPorts");
	receive(ip4((struct ip4){.protocol = 136, .data = udp(9, 5000, 4)}));
	expect(IN4(32) "UdpLite.NoPorts");
}

static void a_port_that_the_host_sends_from_waits_for_an_answer(void **state)
{
	(void)state;
	send_out(ip4(
		(struct ip4){.src = B4, .dst = A4, .data = udp(5000, 9, 4)}));
	lab_remember();
	receive(udp4(9, 5000));
	expect(IN4(32));
	wait_ns(SECOND_NS - 1);
	expect("");
	wait_ns(1);
	expect("Udp.InDatagrams");
}

static void an_unreachable_decides_against_the_port(void **state)
{
	struct bytes packet = udp4(9, 5000);

	(void)state;
	send_out(ip4(
		(struct ip4){.src = B4, .dst = A4, .data = udp(5000, 9, 4)}));
	lab_remember();
	receive(packet);
	refuse(packet);
	expect(IN4(32) ICMP_OUT(60) "Udp.NoPorts");
	wait_ns(2 * SECOND_NS);
	expect("");
	/* The port stays closed, although errors are sent sparingly. */
	receive(packet);
	expect(IN4(32) "Udp.NoPorts");
	/* Until the host sends from it again. */
	send_out(ip4(
		(struct ip4){.src = B4, .dst = A4, .data = udp(5000, 9, 4)}));
	lab_remember();
	receive(packet);
	wait_ns(SECOND_NS);
	expect(IN4(32) "Udp.InDatagrams");
}

static void an_unreachable_decides_one_datagram(void **state)
{
	struct bytes packet = udp4(9, 5000);

	(void)state;
	send_out(ip4(
		(struct ip4){.src = B4, .dst = A4, .data = udp(5000, 9, 4)}));
	lab_remember();
	receive(packet);
	receive(packet);
	receive(udp4(10, 5000));
	refuse(packet);
	sp_observer_finish(lab.observer);
	expect("Ip.InReceives=3 IpExt.InNoECTPkts=3 Ip.InDelivers=3 "
	       "IpExt.InOctets=96 " ICMP_OUT(60) "Udp.NoPorts "
						 "Udp.InDatagrams=2");
}

static void an_unreachable_of_icmpv6_decides_too(void **state)
{
	struct bytes packet = ip6((struct ip6){.data = udp(9, 5000, 4)});
	struct bytes answer = ip6((struct ip6){.src = B6,
					       .dst = A6,
					       .nexthdr = 58,
					       .data = icmp(1, 4, packet)});

	(void)state;
	send_out(ip6(
		(struct ip6){.src = B6, .dst = A6, .data = udp(5000, 9, 4)}));
	receive(packet);
	lab_remember();
	send_out(answer);
	expect("Ip6.OutRequests Ip6.OutTransmits Ip6.OutOctets=100 "
	       "Icmp6.OutMsgs Icmp6.OutType1 Udp6.NoPorts");
	receive(packet);
	expect(IN6(52) "Udp6.NoPorts");
}

static void an_unreachable_for_a_stranger_changes_nothing(void **state)
{
	(void)state;
	send_out(ip4(
		(struct ip4){.src = B4, .dst = A4, .data = udp(5000, 9, 4)}));
	receive(udp4(9, 5000));
	lab_remember();
	refuse(udp4(9, 5001));
	refuse(first(udp4(9, 5000), 22)); /* quotes too little */
	sp_observer_finish(lab.observer);
	expect("Ip.OutRequests=2 Ip.OutTransmits=2 Icmp.OutMsgs=2 "
	       "IcmpMsg.OutType3=2 IpExt.OutOctets=110 Udp.InDatagrams");
}

static void with_learn_ports_an_unknown_port_may_be_open(void **state)
{
	struct sp_observer_opts opts = lab_opts();
	struct bytes open = udp4(9, 6000), closed = udp4(9, 6001);

	(void)state;
	opts.learn_ports = true;
	lab_observe(&opts);
	receive(open);
	receive(closed);
	refuse(closed);
	receive(closed);
	sp_observer_finish(lab.observer);
	expect("Ip.InReceives=3 IpExt.InNoECTPkts=3 Ip.InDelivers=3 "
	       "IpExt.InOctets=96 " ICMP_OUT(60) "Udp.NoPorts=2 "
						 "Udp.InDatagrams");
	/* Port 0 is never open. */
	receive(udp4(9, 0));
	expect(IN4(32) "Udp.NoPorts");
}

static void what_no_error_answers_takes_a_sign_of_an_open_port(void **state)
{
	struct bytes multicast =
		ip4((struct ip4){.dst = 0xe0000001, .data = udp(9, 6000, 4)});
	struct sp_observer_opts opts = lab_opts();

	(void)state;
	opts.learn_ports = true;
	lab_observe(&opts);
	receive_in(MAC_GROUP, multicast);
	receive_in(MAC_ALL, udp4(9, 6000));
	assert_int_equal(moved_by("Udp.IgnoredMulti"), 1);
	assert_int_equal(moved_by("Udp.NoPorts"), 1);
	/* Silence about a datagram is a sign. */
	receive(udp4(9, 6000));
	wait_ns(SECOND_NS);
	receive_in(MAC_GROUP, multicast);
	receive_in(MAC_ALL, udp4(9, 6000));
	assert_int_equal(moved_by("Udp.InDatagrams"), 3);
	/* Not so if the port was refused to another meanwhile. */
	receive(udp4(9, 6001));
	receive(udp4(10, 6001));
	refuse(udp4(10, 6001));
	wait_ns(SECOND_NS);
	lab_remember();
	receive(udp4(9, 6001));
	assert_int_equal(moved_by("Udp.NoPorts"), 1);
}

static void a_broadcast_frame_is_never_answered(void **state)
{
	(void)state;
	send_out(ip4(
		(struct ip4){.src = B4, .dst = A4, .data = udp(5000, 9, 4)}));
	lab_remember();
	receive_in(MAC_ALL, udp4(9, 5000));
	expect(IN4(32) "Udp.InDatagrams");
}

static void a_full_ring_decides_the_oldest_and_counts_it(void **state)
{
	struct bytes packet = udp4(9, 5000);

	(void)state;
	send_out(ip4(
		(struct ip4){.src = B4, .dst = A4, .data = udp(5000, 9, 4)}));
	lab_remember();
	lab.now_ns = lab.now_ns / SECOND_NS * SECOND_NS;
	for (unsigned i = 0; i < 4096; i++) {
		lab.now_ns -= MS_NS; /* time stands still */
		receive(packet);
	}
	assert_int_equal(moved_by("Udp.InDatagrams"), 0);
	assert_int_equal(lab_stats().nr_ports_evicted, 0);
	receive(packet);
	assert_int_equal(moved_by("Udp.InDatagrams"), 1);
	assert_int_equal(lab_stats().nr_ports_evicted, 1);
	sp_observer_finish(lab.observer);
	assert_int_equal(moved_by("Udp.InDatagrams"), 4097);
}

static struct bytes group4(unsigned dport, uint32_t len, enum sum sum)
{
	return ip4((struct ip4){
		.dst = 0xe0000001, .data = udp(9, dport, len), .sum = sum});
}

#define CAST4(octets)                                                          \
	IN4(octets) "IpExt.InMcastPkts IpExt.InMcastOctets=" #octets " "

static void a_multicast_that_nobody_reads_is_ignored(void **state)
{
	(void)state;
	receive_in(MAC_GROUP, group4(7, 4, SUM_GOOD));
	expect(CAST4(32) "Udp.InDatagrams");
	receive_in(MAC_GROUP, group4(8, 4, SUM_GOOD));
	expect(CAST4(32) "Udp.IgnoredMulti");
}

static void each_space_has_its_own_count_of_ignored_multicasts(void **state)
{
	static const uint8_t all[16] = {0xff, 2, [15] = 1};

	(void)state;
	receive_in(MAC_GROUP,
		   ip6((struct ip6){.dst = all, .data = udp(9, 8, 4)}));
	expect(IN6(52) "Ip6.InMcastPkts Ip6.InMcastOctets=52 "
		       "Udp6.IgnoredMulti");
	receive_in(MAC_GROUP, ip4((struct ip4){.dst = 0xe0000001,
					       .protocol = 136,
					       .data = udp(9, 8, 4)}));
	expect(CAST4(32) "UdpLite.IgnoredMulti");
}

static void a_long_multicast_is_checked_only_by_who_reads_it(void **state)
{
	(void)state;
	receive_in(MAC_GROUP, group4(8, 68, SUM_BAD)); /* 76 octets */
	expect(CAST4(96) "Udp.InErrors Udp.InCsumErrors");
	receive_in(MAC_GROUP, group4(8, 69, SUM_BAD));
	expect(CAST4(97) "Udp.IgnoredMulti");
	receive_in(MAC_GROUP, group4(7, 69, SUM_BAD));
	expect(CAST4(97) "Udp.InErrors Udp.InCsumErrors");
}

static void ipv6_takes_length_zero_for_everything(void **state)
{
	(void)state;
	receive(ip6((struct ip6){.data = udp_of(9, 7, 4, 0)}));
	expect(IN6(52) "Udp6.InDatagrams");
}

static void lite_checks_what_its_coverage_says(void **state)
{
	struct bytes packet = lite4(8, 20, SUM_GOOD);

	(void)state;
	receive(packet);
	expect(IN4(48) "UdpLite.InDatagrams");
	((uint8_t *)(uintptr_t)packet.data)[40] ^= 1; /* not covered */
	receive(packet);
	expect(IN4(48) "UdpLite.InDatagrams");
	((uint8_t *)(uintptr_t)packet.data)[20] ^= 1;
	receive(packet);
	expect(IN4(48) "UdpLite.InErrors UdpLite.InCsumErrors");
	/* A coverage of 0 is everything. */
	receive(lite4(0, 20, SUM_GOOD));
	expect(IN4(48) "UdpLite.InDatagrams");
	receive(lite4(0, 20, SUM_BAD));
	expect(IN4(48) "UdpLite.InErrors UdpLite.InCsumErrors");
}

static void
lite_coverage_may_neither_miss_the_header_nor_pass_the_end(void **state)
{
	(void)state;
	receive(lite4(7, 20, SUM_GOOD));
	expect(IN4(48) "UdpLite.InErrors UdpLite.InCsumErrors");
	receive(lite4(29, 20, SUM_GOOD));
	expect(IN4(48) "UdpLite.InErrors");
	receive(lite4(8, 20, SUM_NONE));
	expect(IN4(48) "UdpLite.InErrors UdpLite.InCsumErrors");
}

static void lite_over_ipv6_has_no_counter_for_ignored_multicasts(void **state)
{
	static const uint8_t all[16] = {0xff, 2, [15] = 1};

	(void)state;
	receive_in(MAC_GROUP,
		   ip6((struct ip6){
			   .dst = all, .nexthdr = 136, .data = udp(9, 8, 4)}));
	expect(IN6(52) "Ip6.InMcastPkts Ip6.InMcastOctets=52");
}

static void sent_datagrams_count_once(void **state)
{
	(void)state;
	send_out(ip6((struct ip6){
		.src = B6, .dst = A6, .nexthdr = 136, .data = udp(7, 9, 4)}));
	expect("Ip6.OutRequests Ip6.OutTransmits Ip6.OutOctets=52 "
	       "UdpLite6.OutDatagrams");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_open, lab_close)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(lengths_that_contradict_are_errors),
		TEST(a_bad_checksum_counts_whether_or_not_the_port_is_open),
		TEST(no_checksum_is_fine_in_ipv4_and_bad_in_ipv6),
		TEST(offload_is_taken_for_good_unless_checksums_are_on),
		TEST(a_closed_port_is_no_port),
		TEST(families_and_protocols_have_ports_of_their_own),
		TEST(a_port_that_the_host_sends_from_waits_for_an_answer),
		TEST(an_unreachable_decides_against_the_port),
		TEST(an_unreachable_decides_one_datagram),
		TEST(an_unreachable_of_icmpv6_decides_too),
		TEST(an_unreachable_for_a_stranger_changes_nothing),
		TEST(with_learn_ports_an_unknown_port_may_be_open),
		TEST(what_no_error_answers_takes_a_sign_of_an_open_port),
		TEST(a_broadcast_frame_is_never_answered),
		TEST(a_full_ring_decides_the_oldest_and_counts_it),
		TEST(a_multicast_that_nobody_reads_is_ignored),
		TEST(each_space_has_its_own_count_of_ignored_multicasts),
		TEST(a_long_multicast_is_checked_only_by_who_reads_it),
		TEST(ipv6_takes_length_zero_for_everything),
		TEST(lite_checks_what_its_coverage_says),
		TEST(lite_coverage_may_neither_miss_the_header_nor_pass_the_end),
		TEST(lite_over_ipv6_has_no_counter_for_ignored_multicasts),
		TEST(sent_datagrams_count_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
