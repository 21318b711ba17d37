/* SPDX-License-Identifier: MIT */
/*
 * test_observe_forward.c - a router: each test is a rule.
 */
#include "observe_lab.h"

#define IN4(octets)                                                            \
	"Ip.InReceives IpExt.InNoECTPkts IpExt.InOctets=" #octets " "
#define IN6(octets)   "Ip6.InReceives Ip6.InNoECTPkts Ip6.InOctets=" #octets " "
#define SENT4(octets) "Ip.OutTransmits IpExt.OutOctets=" #octets " "
#define SENT6(octets) "Ip6.OutTransmits Ip6.OutOctets=" #octets " "
#define ERROR4(type, octets)                                                   \
	"Ip.OutRequests Icmp.OutMsgs IcmpMsg.OutType" #type " " SENT4(octets)
#define ERROR6(type, octets)                                                   \
	"Ip6.OutRequests Icmp6.OutMsgs Icmp6.OutType" #type " " SENT6(octets)

static int lab_open_router(void **state)
{
	struct sp_observer_opts opts;

	lab_open(state);
	opts = lab_opts();
	opts.forward = true;
	lab_observe(&opts);
	return 0;
}

static struct bytes to_c4(uint16_t id)
{
	return ip4((struct ip4){.dst = C4, .id = id, .data = udp(9, 7, 4)});
}

static struct bytes to_c6(uint8_t data_len)
{
	return ip6((struct ip6){.dst = C6, .data = udp(9, 7, data_len)});
}

static void error4(unsigned type, unsigned code, struct bytes quote)
{
	send_out(ip4((struct ip4){.src = B4,
				  .dst = A4,
				  .protocol = 1,
				  .data = icmp(type, code, quote)}));
}

static void error6(unsigned type, unsigned code, struct bytes quote)
{
	send_out(ip6((struct ip6){.src = B6,
				  .dst = A6,
				  .nexthdr = 58,
				  .data = icmp(type, code, quote)}));
}

/* As it leaves: one hop less to live. */
static struct bytes hopped(struct bytes packet)
{
	struct bytes copy = octets(packet.data, packet.len);
	uint8_t *ip = (uint8_t *)(uintptr_t)copy.data;

	ip[ip[0] >> 4 == 6 ? 7 : 8]--;
	return copy;
}

static void what_leaves_was_forwarded_and_is_no_request(void **state)
{
	(void)state;
	receive(to_c4(1));
	expect(IN4(32));
	send_out(hopped(to_c4(1)));
	expect(SENT4(32) "Ip.ForwDatagrams");
	receive(to_c6(4));
	send_out(hopped(to_c6(4)));
	expect(IN6(52) SENT6(52) "Ip6.OutForwDatagrams");
	wait_ns(5 * SECOND_NS);
	expect("");
}

static void a_used_up_time_to_live_is_a_header_error(void **state)
{
	struct bytes four =
		ip4((struct ip4){.dst = C4, .ttl = 1, .data = udp(9, 7, 4)});
	struct bytes six = ip6(
		(struct ip6){.dst = C6, .hop_limit = 1, .data = udp(9, 7, 4)});

	(void)state;
	receive(six);
	wait_ns(4 * SECOND_NS);
	expect(IN6(52) "Ip6.InHdrErrors");
	receive(four);
	error4(11, 0, four);
	wait_ns(4 * SECOND_NS);
	expect(IN4(32) "Ip.InHdrErrors " ERROR4(11, 60));
}

static void no_route_comes_before_the_time_to_live(void **state)
{
	struct bytes packet =
		ip4((struct ip4){.dst = C4, .ttl = 1, .data = udp(9, 7, 4)});

	(void)state;
	receive(packet);
	error4(3, 0, packet);
	wait_ns(4 * SECOND_NS);
	expect(IN4(32) "IpExt.InNoRoutes " ERROR4(3, 60));
}

static void
no_route_is_answered_once_a_second_and_counts_each_time(void **state)
{
	(void)state;
	receive(to_c4(1));
	error4(3, 0, to_c4(1));
	receive(to_c4(2));
	receive(to_c6(4));
	error6(1, 0, to_c6(4));
	receive(to_c6(5));
	wait_ns(4 * SECOND_NS);
	expect("Ip.InReceives=2 IpExt.InNoECTPkts=2 IpExt.InOctets=64 "
	       "IpExt.InNoRoutes=2 " ERROR4(
		       3, 60) "Ip6.InReceives=2 Ip6.InNoECTPkts=2 "
			      "Ip6.InOctets=105 "
			      "Ip6.InNoRoutes=2 " ERROR6(1, 100));
}

static void refusing_routes_count_in_ipv6_only(void **state)
{
	(void)state;
	receive(to_c4(1));
	error4(3, 1, to_c4(1));
	receive(to_c4(2));
	wait_ns(4 * SECOND_NS);
	expect("Ip.InReceives=2 IpExt.InNoECTPkts=2 "
	       "IpExt.InOctets=64 " ERROR4(3, 60));
	receive(to_c4(3));
	error4(3, 13, to_c4(3));
	receive(to_c6(4));
	error6(1, 1, to_c6(4));
	wait_ns(4 * SECOND_NS);
	expect(IN4(32) ERROR4(3, 60) IN6(52) "Ip6.InNoRoutes " ERROR6(1, 100));
}

static void a_packet_that_is_too_big_counts_as_forwarded(void **state)
{
	(void)state;
	receive(to_c4(1));
	error4(3, 4, to_c4(1));
	expect(IN4(32) "Ip.ForwDatagrams Ip.FragFails " ERROR4(3, 60));
	receive(to_c6(4));
	error6(2, 0, to_c6(4));
	expect(IN6(52) "Ip6.OutForwDatagrams Ip6.FragFails "
		       "Ip6.InTooBigErrors " ERROR6(2, 100));
}

static void silence_follows_the_fate_of_the_packet_before(void **state)
{
	(void)state;
	/* One left by this device: one that does not was lost. */
	receive(to_c4(1));
	send_out(hopped(to_c4(1)));
	receive(to_c6(4));
	send_out(hopped(to_c6(4)));
	lab_remember();
	receive(to_c4(2));
	receive(to_c6(5));
	wait_ns(4 * SECOND_NS);
	expect(IN4(32) IN6(53));
	/* Refused in IPv4: nothing; a used up time to live does not matter. */
	receive(to_c4(3));
	error4(3, 13, to_c4(3));
	lab_remember();
	receive(to_c4(4));
	receive(ip4((struct ip4){.dst = C4, .ttl = 1, .data = udp(9, 7, 4)}));
	wait_ns(4 * SECOND_NS);
	expect("Ip.InReceives=2 IpExt.InNoECTPkts=2 IpExt.InOctets=64");
}

static void the_fate_of_one_host_is_not_that_of_another(void **state)
{
	static const uint8_t d6[16] = {0xfd, 1, [15] = 4};

	(void)state;
	receive(to_c4(1));
	error4(3, 0, to_c4(1));
	receive(to_c6(4));
	error6(1, 0, to_c6(4));
	lab_remember();
	receive(ip4((struct ip4){.dst = C4 + 1, .data = udp(9, 7, 4)}));
	receive(ip6((struct ip6){.dst = d6, .data = udp(9, 7, 4)}));
	wait_ns(4 * SECOND_NS);
	expect(IN4(32) IN6(52) "Ip.ForwDatagrams Ip6.OutForwDatagrams");
}

static void an_error_that_shows_a_route_shows_no_device(void **state)
{
	(void)state;
	receive(to_c4(1));
	error4(3, 4, to_c4(1));
	receive(to_c6(4));
	error6(2, 0, to_c6(4));
	receive(to_c4(2));
	wait_ns(SECOND_NS);
	error4(3, 1, to_c4(2));
	lab_remember();
	receive(to_c4(3));
	receive(to_c6(5));
	wait_ns(4 * SECOND_NS);
	expect(IN4(32) IN6(53) "Ip.ForwDatagrams Ip6.OutForwDatagrams");
}

static void packets_with_the_same_header_are_told_apart(void **state)
{
	struct bytes one = ip6(
		(struct ip6){.dst = C6, .data = udp(9, 1, 4), .sum = SUM_NONE});
	struct bytes two = ip6(
		(struct ip6){.dst = C6, .data = udp(9, 2, 4), .sum = SUM_NONE});

	(void)state;
	receive(one);
	receive(two);
	error6(1, 0, one);
	error6(1, 0, one); /* answers nothing more */
	assert_int_equal(moved_by("Ip6.InNoRoutes"), 1);
	send_out(hopped(two));
	assert_int_equal(moved_by("Ip6.OutForwDatagrams"), 1);
}

static void nobody_as_a_destination_is_an_address_error(void **state)
{
	static const uint8_t nobody[16];

	(void)state;
	receive(ip6((struct ip6){.dst = nobody, .data = udp(9, 7, 4)}));
	expect(IN6(52) "Ip6.InAddrErrors");
}

static void the_end_decides_what_still_waits(void **state)
{
	(void)state;
	receive(to_c4(1));
	sp_observer_finish(lab.observer);
	expect(IN4(32) "Ip.ForwDatagrams");
}

static void a_neighbour_sought_in_vain_counts_as_sent(void **state)
{
	(void)state;
	receive(to_c4(1));
	receive(to_c6(4));
	wait_ns(3 * SECOND_NS);
	error4(3, 1, to_c4(1));
	error6(1, 3, to_c6(4));
	expect(IN4(32) IN6(52) "Ip.ForwDatagrams Ip6.OutForwDatagrams "
			       "Ip.OutRequests Icmp.OutMsgs IcmpMsg.OutType3 "
			       "Ip.OutTransmits=2 IpExt.OutOctets=92 "
			       "Ip6.OutRequests Icmp6.OutMsgs Icmp6.OutType1 "
			       "Ip6.OutTransmits=2 Ip6.OutOctets=152");
}

static void what_this_host_cuts_are_its_fragments(void **state)
{
	struct bytes big =
		ip4((struct ip4){.dst = C4, .id = 7, .data = udp(9, 7, 40)});

	(void)state;
	receive(big);
	for (uint16_t i = 0; i < 3; i++)
		send_out(ip4((struct ip4){
			.dst = C4,
			.id = 7,
			.ttl = 63,
			.frag = (uint16_t)((i < 2 ? 0x2000 : 0) + 2 * i),
			.data = zeros(16)}));
	expect(IN4(68) "Ip.ForwDatagrams Ip.FragOKs Ip.FragCreates=3 "
		       "Ip.OutTransmits=3 IpExt.OutOctets=108");
}

static void fragments_that_came_as_such_are_passed_on(void **state)
{
	(void)state;
	for (uint16_t i = 0; i < 2; i++) {
		struct bytes piece = ip4((struct ip4){
			.dst = C4,
			.id = 7,
			.frag = (uint16_t)((i < 1 ? 0x2000 : 0) + 2 * i),
			.data = zeros(16)});

		receive(piece);
		send_out(hopped(piece));
	}
	expect("Ip.InReceives=2 IpExt.InNoECTPkts=2 IpExt.InOctets=72 "
	       "Ip.ForwDatagrams=2 Ip.OutTransmits=2 IpExt.OutOctets=72");
}

static void a_broadcast_frame_is_not_forwarded(void **state)
{
	(void)state;
	receive_in(MAC_ALL, to_c4(1));
	receive_in(MAC_ALL, to_c6(4));
	wait_ns(4 * SECOND_NS);
	expect(IN4(32) IN6(52));
}

static void the_routers_own_source_is_a_martian_in_ipv4_only(void **state)
{
	struct bytes six =
		ip6((struct ip6){.src = B6, .dst = C6, .data = udp(9, 7, 4)});

	(void)state;
	receive(ip4((struct ip4){.src = B4, .dst = C4, .data = udp(9, 7, 4)}));
	wait_ns(4 * SECOND_NS);
	expect(IN4(32));
	receive(six);
	send_out(hopped(six));
	expect(IN6(52) SENT6(52) "Ip6.OutForwDatagrams");
	/* What it really sends itself is its own. */
	send_out(ip6((struct ip6){.src = B6, .dst = C6, .data = udp(7, 9, 9)}));
	expect(SENT6(57) "Ip6.OutRequests Udp6.OutDatagrams");
}

static void where_nothing_leaves_silence_is_another_device(void **state)
{
	(void)state;
	receive(to_c4(1));
	receive(to_c6(4));
	wait_ns(4 * SECOND_NS);
	expect(IN4(32) IN6(52) "Ip.ForwDatagrams Ip6.OutForwDatagrams");
}

static void where_packets_leave_silence_is_a_loss(void **state)
{
	(void)state;
	for (uint16_t i = 0; i < 3; i++) {
		receive(to_c4(i));
		send_out(hopped(to_c4(i)));
	}
	lab_remember();
	receive(ip4((struct ip4){.dst = 0x0a000999, .data = udp(9, 7, 4)}));
	wait_ns(4 * SECOND_NS);
	expect(IN4(32));
}

static void what_came_by_another_device_was_forwarded_too(void **state)
{
	(void)state;
	send_out(ip4((struct ip4){.src = C4, .dst = A4, .data = zeros(8)}));
	expect(SENT4(28) "Ip.ForwDatagrams");
}

static void a_link_local_source_goes_to_no_other_device(void **state)
{
	static const uint8_t local[16] = {0xfe, 0x80, [15] = 1};

	(void)state;
	receive(ip6(
		(struct ip6){.src = local, .dst = C6, .data = udp(9, 7, 4)}));
	wait_ns(4 * SECOND_NS);
	expect(IN6(52) "Ip6.InAddrErrors");
}

static void a_router_owns_the_anycast_address_of_its_networks(void **state)
{
	static const uint8_t anycast[16] = {0xfd};
	static const uint8_t routers[16] = {0xff, 2, [15] = 2};
	static const uint8_t solicited[16] = {0xff, 2, [11] = 1, [12] = 0xff};

	(void)state;
	receive(ip6((struct ip6){.dst = anycast, .data = udp(9, 7, 4)}));
	expect(IN6(52) "Ip6.InDelivers Udp6.InDatagrams");
	receive_in(MAC_GROUP,
		   ip6((struct ip6){.dst = solicited, .data = udp(9, 7, 4)}));
	expect(IN6(52) "Ip6.InMcastPkts Ip6.InMcastOctets=52 Ip6.InDelivers "
		       "Udp6.InDatagrams");
	receive_in(MAC_GROUP,
		   ip6((struct ip6){.dst = routers, .data = udp(9, 7, 4)}));
	expect(IN6(52) "Ip6.InMcastPkts Ip6.InMcastOctets=52 Ip6.InDelivers "
		       "Udp6.InDatagrams");
}

static void what_is_for_the_router_is_received_as_on_a_host(void **state)
{
	(void)state;
	receive(ip4((struct ip4){.ttl = 1, .data = udp(9, 7, 4)}));
	expect(IN4(32) "Ip.InDelivers Udp.InDatagrams");
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, lab_open_router, lab_close)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(what_leaves_was_forwarded_and_is_no_request),
		TEST(a_used_up_time_to_live_is_a_header_error),
		TEST(no_route_comes_before_the_time_to_live),
		TEST(no_route_is_answered_once_a_second_and_counts_each_time),
		TEST(refusing_routes_count_in_ipv6_only),
		TEST(a_packet_that_is_too_big_counts_as_forwarded),
		TEST(silence_follows_the_fate_of_the_packet_before),
		TEST(the_fate_of_one_host_is_not_that_of_another),
		TEST(an_error_that_shows_a_route_shows_no_device),
		TEST(packets_with_the_same_header_are_told_apart),
		TEST(nobody_as_a_destination_is_an_address_error),
		TEST(the_end_decides_what_still_waits),
		TEST(a_neighbour_sought_in_vain_counts_as_sent),
		TEST(what_this_host_cuts_are_its_fragments),
		TEST(fragments_that_came_as_such_are_passed_on),
		TEST(a_broadcast_frame_is_not_forwarded),
		TEST(the_routers_own_source_is_a_martian_in_ipv4_only),
		TEST(where_nothing_leaves_silence_is_another_device),
		TEST(where_packets_leave_silence_is_a_loss),
		TEST(what_came_by_another_device_was_forwarded_too),
		TEST(a_link_local_source_goes_to_no_other_device),
		TEST(a_router_owns_the_anycast_address_of_its_networks),
		TEST(what_is_for_the_router_is_received_as_on_a_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
