/* SPDX-License-Identifier: MIT */
/*
 * test_observe_icmp.c - ICMP and ICMPv6: each test is a rule.
 */
#include "observe_lab.h"

#define IN4(octets)                                                            \
	"Ip.InReceives IpExt.InNoECTPkts Ip.InDelivers Icmp.InMsgs "           \
	"IpExt.InOctets=" #octets " "
#define IN6(octets)                                                            \
	"Ip6.InReceives Ip6.InNoECTPkts Ip6.InDelivers Icmp6.InMsgs "          \
	"Ip6.InOctets=" #octets " "

static struct bytes icmp4(unsigned type, unsigned code, struct bytes rest)
{
	return ip4((struct ip4){.protocol = 1, .data = icmp(type, code, rest)});
}

static struct bytes icmp6(unsigned type, unsigned code, struct bytes rest)
{
	return ip6((struct ip6){.nexthdr = 58, .data = icmp(type, code, rest)});
}

/* What the host is said to have sent. */
static struct bytes quoted4(uint8_t protocol, struct bytes data)
{
	return ip4((struct ip4){
		.src = B4, .dst = A4, .protocol = protocol, .data = data});
}

static struct bytes quoted6(uint8_t nexthdr, struct bytes data)
{
	return ip6((struct ip6){
		.src = B6, .dst = A6, .nexthdr = nexthdr, .data = data});
}

static void each_type_has_its_counter(void **state)
{
	static const uint8_t types[] = {0,  1,  2,  6,  7,  8,  9,  10,
					13, 14, 15, 16, 17, 18, 42, 43};
	char line[200];

	(void)state;
	for (size_t i = 0; i < sizeof(types); i++) {
		receive(icmp4(types[i], 0, zeros(12)));
		snprintf(line, sizeof(line), IN4(40) "IcmpMsg.InType%u",
			 types[i]);
		expect(line);
	}
}

static void a_message_of_eight_octets_is_whole(void **state)
{
	(void)state;
	receive(icmp4(8, 0, zeros(0)));
	expect(IN4(28) "IcmpMsg.InType8");
	receive(icmp6(128, 0, zeros(0)));
	expect(IN6(48) "Icmp6.InType128");
	receive(icmp4(3, 1, zeros(0)));
	expect(IN4(28) "IcmpMsg.InType3 Icmp.InErrors");
	receive(icmp6(127, 0, zeros(0)));
	expect(IN6(48) "Icmp6.InType127 Icmp6.InErrors");
}

static void types_above_eighteen_are_errors(void **state)
{
	(void)state;
	receive(icmp4(19, 0, zeros(12)));
	expect(IN4(40) "IcmpMsg.InType19 Icmp.InErrors");
	receive(icmp4(255, 0, zeros(12)));
	expect(IN4(40) "IcmpMsg.InType255 Icmp.InErrors");
}

static void a_bad_checksum_hides_the_type(void **state)
{
	(void)state;
	receive(ip4((struct ip4){
		.protocol = 1, .data = icmp(8, 0, zeros(4)), .sum = SUM_BAD}));
	expect(IN4(32) "Icmp.InCsumErrors Icmp.InErrors");
	receive(ip6((struct ip6){.nexthdr = 58,
				 .data = icmp(128, 0, zeros(4)),
				 .sum = SUM_BAD}));
	expect(IN6(52) "Icmp6.InCsumErrors Icmp6.InErrors");
}

static void the_padding_of_the_frame_is_no_payload(void **state)
{
	(void)state;
	receive(ip4((struct ip4){
		.protocol = 1, .data = icmp(8, 0, zeros(4)), .padding = 6}));
	expect(IN4(38) "IcmpMsg.InType8");
}

static void a_short_message_is_an_error(void **state)
{
	(void)state;
	receive(ip4((struct ip4){.protocol = 1,
				 .data = first(icmp(8, 0, zeros(0)), 7)}));
	expect(IN4(27) "Icmp.InErrors");
	receive(ip6((struct ip6){.nexthdr = 58,
				 .data = first(icmp(128, 0, zeros(0)), 7)}));
	expect(IN6(47) "Icmp6.InErrors");
	receive(icmp4(13, 0, zeros(3)));
	expect(IN4(31) "IcmpMsg.InType13 Icmp.InErrors");
	receive(icmp4(13, 0, zeros(4)));
	expect(IN4(32) "IcmpMsg.InType13");
}

static void groups_may_only_be_asked_for_masks(void **state)
{
	static const uint8_t types[] = {0, 3, 8, 13, 17, 18};
	char line[300];

	(void)state;
	for (size_t i = 0; i < sizeof(types); i++) {
		receive_in(MAC_ALL, ip4((struct ip4){.protocol = 1,
						     .dst = 0xffffffff,
						     .data = icmp(types[i], 0,
								  zeros(12))}));
		snprintf(line, sizeof(line),
			 IN4(40) "IpExt.InBcastPkts IpExt.InBcastOctets=40 "
				 "IcmpMsg.InType%u Icmp.InErrors=%d",
			 types[i], types[i] < 17);
		expect(line);
	}
}

static void an_error_must_quote_a_header_and_eight_octets(void **state)
{
	struct bytes quote = quoted4(47, zeros(8));

	(void)state;
	receive(icmp4(3, 1, quote));
	expect(IN4(56) "IcmpMsg.InType3");
	receive(icmp4(3, 1, first(quote, 27)));
	expect(IN4(55) "IcmpMsg.InType3 Icmp.InErrors");
	receive(icmp4(3, 1, first(quote, 19)));
	expect(IN4(47) "IcmpMsg.InType3 Icmp.InErrors");
	((uint8_t *)(uintptr_t)quote.data)[0] = 0x44;
	receive(icmp4(11, 0, quote));
	expect(IN4(56) "IcmpMsg.InType11 Icmp.InErrors");
	receive(icmp4(5, 0, quote)); /* a redirect is not that strict */
	expect(IN4(56) "IcmpMsg.InType5");
}

static void codes_that_are_not_looked_at_are_no_errors(void **state)
{
	struct bytes quote = first(quoted4(17, udp(9, 9, 0)), 27);

	(void)state;
	receive(icmp4(3, 16, quote));
	expect(IN4(55) "IcmpMsg.InType3");
	receive(icmp4(11, 1, quote));
	expect(IN4(55) "IcmpMsg.InType11");
	receive(icmp4(11, 2, quote));
	expect(IN4(55) "IcmpMsg.InType11 Icmp.InErrors");
}

static void quoting_a_closed_udp_port_is_an_error(void **state)
{
	(void)state;
	receive(icmp4(3, 3, quoted4(17, udp(7, 9, 0)))); /* it listens there */
	expect(IN4(56) "IcmpMsg.InType3");
	receive(icmp4(3, 3, quoted4(17, udp(5000, 9, 0))));
	expect(IN4(56) "IcmpMsg.InType3 Icmp.InErrors");
	receive(icmp4(3, 3, quoted4(136, udp(5000, 9, 0))));
	expect(IN4(56) "IcmpMsg.InType3 Icmp.InErrors");
	send_out(quoted4(17, udp(5000, 9, 0)));
	lab_remember();
	receive(icmp4(3, 3, quoted4(17, udp(5000, 9, 0))));
	expect(IN4(56) "IcmpMsg.InType3");
	receive(icmp6(1, 4, quoted6(17, udp(5000, 9, 0))));
	expect(IN6(96) "Icmp6.InType1 Icmp6.InErrors");
}

static void quoting_a_tcp_segment_needs_its_connection(void **state)
{
	struct bytes mine = quoted4(6, tcp(5000, 9, SYN, 0));

	(void)state;
	receive(icmp4(3, 1, quoted4(6, tcp(80, 9, SYN, 0))));
	expect(IN4(68) "IcmpMsg.InType3 Icmp.InErrors"); /* only a listener */
	send_out(mine);
	lab_remember();
	receive(icmp4(3, 1, mine)); /* it ends the attempt */
	expect(IN4(68) "IcmpMsg.InType3 Tcp.AttemptFails");
	receive(icmp4(3, 1, mine));
	expect(IN4(68) "IcmpMsg.InType3 Icmp.InErrors");
}

static void icmpv6_types_below_128_quote_and_others_do_not(void **state)
{
	(void)state;
	receive(icmp6(200, 0, zeros(4)));
	expect(IN6(52) "Icmp6.InType200");
	receive(icmp6(100, 0, zeros(4)));
	expect(IN6(52) "Icmp6.InType100 Icmp6.InErrors");
	receive(icmp6(100, 0, quoted6(59, zeros(8))));
	expect(IN6(96) "Icmp6.InType100 Icmp6.InErrors");
	receive(icmp6(100, 0, quoted6(47, zeros(8))));
	expect(IN6(96) "Icmp6.InType100");
	receive(icmp6(2, 0, first(quoted6(47, zeros(8)), 39)));
	expect(IN6(87) "Icmp6.InType2 Icmp6.InErrors");
}

static void icmpv6_quotes_may_have_extension_headers(void **state)
{
	struct bytes options = OCTETS(17, 0, 1, 4, 0, 0, 0, 0);
	struct bytes quote = quoted6(60, joined(options, udp(7, 9, 0)));

	(void)state;
	receive(icmp6(3, 0, quote));
	expect(IN6(104) "Icmp6.InType3");
	receive(icmp6(3, 0, first(quote, 55)));
	expect(IN6(103) "Icmp6.InType3 Icmp6.InErrors");
	((uint8_t *)(uintptr_t)quote.data)[41] = 3; /* longer than the quote */
	receive(icmp6(3, 0, quote));
	expect(IN6(104) "Icmp6.InType3 Icmp6.InErrors");
}

static void sent_messages_count_by_type_but_timestamp_replies(void **state)
{
	(void)state;
	send_out(ip4((struct ip4){.src = B4,
				  .dst = A4,
				  .protocol = 1,
				  .data = icmp(0, 0, zeros(4))}));
	expect("Ip.OutRequests Ip.OutTransmits IpExt.OutOctets=32 "
	       "Icmp.OutMsgs IcmpMsg.OutType0");
	send_out(ip4((struct ip4){.src = B4,
				  .dst = A4,
				  .protocol = 1,
				  .data = icmp(14, 0, zeros(12))}));
	expect("Ip.OutRequests Ip.OutTransmits IpExt.OutOctets=40 "
	       "Icmp.OutMsgs IcmpMsg.OutType0");
	send_out(ip6((struct ip6){.src = B6,
				  .dst = A6,
				  .nexthdr = 58,
				  .data = icmp(135, 0, zeros(16))}));
	expect("Ip6.OutRequests Ip6.OutTransmits Ip6.OutOctets=64 "
	       "Icmp6.OutMsgs Icmp6.OutType135");
}

static void a_quote_that_was_not_captured_is_no_error(void **state)
{
	struct bytes packet = icmp4(3, 3, quoted4(17, udp(5000, 9, 0)));

	(void)state;
	for (uint32_t cap = 20; cap < packet.len; cap++) {
		receive_cut(packet, cap);
		assert_int_equal(moved_by("Icmp.InMsgs"), 1);
		assert_int_equal(moved_by("Icmp.InErrors"), 0);
		lab_remember();
	}
	packet = icmp6(1, 4, quoted6(17, udp(5000, 9, 0)));
	for (uint32_t cap = 40; cap < packet.len; cap++) {
		receive_cut(packet, cap);
		assert_int_equal(moved_by("Icmp6.InMsgs"), 1);
		assert_int_equal(moved_by("Icmp6.InErrors"), 0);
		lab_remember();
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_open, lab_close)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(each_type_has_its_counter),
		TEST(a_message_of_eight_octets_is_whole),
		TEST(types_above_eighteen_are_errors),
		TEST(a_bad_checksum_hides_the_type),
		TEST(the_padding_of_the_frame_is_no_payload),
		TEST(a_short_message_is_an_error),
		TEST(groups_may_only_be_asked_for_masks),
		TEST(an_error_must_quote_a_header_and_eight_octets),
		TEST(codes_that_are_not_looked_at_are_no_errors),
		TEST(quoting_a_closed_udp_port_is_an_error),
		TEST(quoting_a_tcp_segment_needs_its_connection),
		TEST(icmpv6_types_below_128_quote_and_others_do_not),
		TEST(icmpv6_quotes_may_have_extension_headers),
		TEST(sent_messages_count_by_type_but_timestamp_replies),
		TEST(a_quote_that_was_not_captured_is_no_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
