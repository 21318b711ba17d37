/* SPDX-License-Identifier: MIT */
/*
 * test_observe_tcp.c - TCP: what one segment tells, and how connections begin and
 * end. Each test is a rule.
 */
#include "tcp_talk.h"

#define IN4(octets)                                                            \
	"Ip.InReceives IpExt.InNoECTPkts Ip.InDelivers "                       \
	"IpExt.InOctets=" #octets " "

static struct bytes tcp4(struct bytes segment, enum sum sum)
{
	return ip4((struct ip4){.protocol = 6, .data = segment, .sum = sum});
}

static void every_segment_to_the_host_counts(void **state)
{
	(void)state;
	receive(tcp4(tcp(9, 80, ACK, 0), SUM_GOOD));
	expect(IN4(40) "Tcp.InSegs");
	/* Not in a broadcast frame, although IP delivers it. */
	receive_in(MAC_ALL, tcp4(tcp(9, 80, ACK, 0), SUM_GOOD));
	expect(IN4(40));
}

static void short_segments_are_no_more_than_segments(void **state)
{
	struct bytes long_header = tcp(9, 80, ACK, 0);

	(void)state;
	receive(tcp4(zeros(19), SUM_GOOD));
	expect(IN4(39) "Tcp.InSegs");
	((uint8_t *)(uintptr_t)long_header.data)[12] = 6 << 4;
	receive(tcp4(long_header, SUM_GOOD));
	expect(IN4(40) "Tcp.InSegs");
}

static void a_header_below_five_words_is_an_error(void **state)
{
	struct bytes segment = tcp(9, 80, ACK, 0);

	(void)state;
	((uint8_t *)(uintptr_t)segment.data)[12] = 4 << 4;
	receive(tcp4(segment, SUM_BAD));
	expect(IN4(40) "Tcp.InSegs Tcp.InErrs");
}

static void a_bad_checksum_is_two_errors(void **state)
{
	(void)state;
	receive(tcp4(tcp(9, 80, ACK, 100), SUM_BAD));
	expect(IN4(140) "Tcp.InSegs Tcp.InErrs Tcp.InCsumErrors");
	receive(tcp4(tcp(9, 80, ACK, 100), SUM_PARTIAL));
	expect(IN4(140) "Tcp.InSegs");
	receive_cut(tcp4(tcp(9, 80, ACK, 100), SUM_BAD), 60);
	expect(IN4(140) "Tcp.InSegs");
	assert_int_equal(lab_stats().nr_unchecked, 1);
}

static void a_reset_of_nothing_is_a_segment_and_a_reset(void **state)
{
	(void)state;
	talk_start(9, 81);
	out_at(RST | ACK, 0, A_ISS + 1, 0);
	expect("Ip.OutRequests Ip.OutTransmits IpExt.OutOctets=40 Tcp.OutSegs "
	       "Tcp.OutRsts");
}

static void the_host_opens(void **state)
{
	(void)state;
	talk_start(A_PORT, 5000);
	out_at(SYN, talk.b++, 0, 0);
	expect_tcp("Tcp.ActiveOpens Tcp.OutSegs");
	assert_true(exists(5000, A_PORT));
	assert_false(exists(5000, A_PORT + 1));
	in(SYN | ACK, 0);
	expect_tcp("Tcp.CurrEstab TcpExt.TCPDelivered");
	out(ACK, 0);
	expect_tcp("Tcp.OutSegs");
}

static void a_syn_again_is_a_retransmission(void **state)
{
	(void)state;
	talk_start(A_PORT, 5000);
	out_at(SYN, talk.b, 0, 0);
	lab_remember();
	wait_ns(SECOND_NS);
	out_at(SYN, talk.b, 0, 0);
	expect_tcp("Tcp.RetransSegs TcpExt.TCPSynRetrans");
	/* Another sequence number: another attempt. */
	out_at(SYN, talk.b + 12345, 0, 0);
	expect_tcp("Tcp.ActiveOpens Tcp.OutSegs");
}

static void the_peer_opens(void **state)
{
	(void)state;
	talk_start(A_PORT, B_PORT);
	in(SYN, 0);
	assert_false(exists(B_PORT, A_PORT));
	out(SYN | ACK, 0);
	assert_true(exists(B_PORT, A_PORT));
	expect_tcp("Tcp.OutSegs");
	in(ACK, 0);
	expect_tcp("Tcp.PassiveOpens Tcp.CurrEstab");
}

static void a_synack_again_is_sent_and_sent_again(void **state)
{
	(void)state;
	talk_start(A_PORT, B_PORT);
	in(SYN, 0);
	out_at(SYN | ACK, talk.b, talk.a, 0);
	lab_remember();
	out_at(SYN | ACK, talk.b, talk.a, 0);
	expect_tcp("Tcp.OutSegs Tcp.RetransSegs TcpExt.TCPSynRetrans");
	in_at(SYN, A_ISS, 0, 0); /* the SYN again */
	expect_tcp("");
	talk.b++;
	in(ACK, 0);
	expect_tcp("Tcp.PassiveOpens Tcp.CurrEstab");
}

static void a_syn_to_a_closed_port_leaves_nothing(void **state)
{
	(void)state;
	talk_start(A_PORT, 81);
	in(SYN, 0);
	out_at(RST | ACK, 0, talk.a, 0);
	expect_tcp("Tcp.OutSegs Tcp.OutRsts");
	assert_false(exists(81, A_PORT));
}

static void a_reset_ends_an_attempt_only_with_a_good_ack(void **state)
{
	(void)state;
	talk_start(A_PORT, 5000);
	out_at(SYN, talk.b++, 0, 0);
	lab_remember();
	in_at(RST, 0, 0, 0);
	in_at(RST | ACK, 0, talk.b + 1, 0);
	in_at(RST | ACK, 0, talk.b - 1, 0);
	expect_tcp("");
	in_at(RST | ACK, 0, talk.b, 0);
	expect_tcp("Tcp.AttemptFails");
	assert_false(exists(5000, A_PORT));
}

static void a_reset_ends_a_half_open_connection(void **state)
{
	(void)state;
	talk_start(A_PORT, B_PORT);
	in(SYN, 0);
	out(SYN | ACK, 0);
	lab_remember();
	in_at(RST, talk.a + 100, 0, 0); /* not where it is expected */
	expect_tcp("");
	in_at(RST, talk.a, 0, 0);
	expect_tcp("Tcp.AttemptFails TcpExt.EmbryonicRsts");
	assert_false(exists(B_PORT, A_PORT));
}

static void another_syn_ends_a_half_open_connection(void **state)
{
	(void)state;
	talk_start(A_PORT, B_PORT);
	in(SYN, 0);
	out(SYN | ACK, 0);
	lab_remember();
	in_at(SYN, talk.a + 100000, 0, 0); /* out of the window */
	expect_tcp("");
	in_at(SYN, talk.a + 100, 0, 0);
	expect_tcp("Tcp.AttemptFails TcpExt.EmbryonicRsts");
}

static void a_wrong_ack_does_not_end_a_handshake(void **state)
{
	(void)state;
	talk_start(A_PORT, B_PORT);
	in(SYN, 0);
	out(SYN | ACK, 0);
	lab_remember();
	in_at(ACK, talk.a, talk.b + 5, 0);
	out_at(RST, talk.b + 5, 0, 0);
	expect_tcp("Tcp.OutSegs Tcp.OutRsts");
	in(ACK, 0);
	expect_tcp("Tcp.PassiveOpens Tcp.CurrEstab");
}

static void syns_that_cross_make_one_connection(void **state)
{
	(void)state;
	talk_start(A_PORT, 5000);
	out_at(SYN, talk.b++, 0, 0);
	lab_remember();
	in_at(SYN, talk.a++, 0, 0);
	out_at(SYN | ACK, talk.b - 1, talk.a, 0);
	expect_tcp("");
	out_at(SYN | ACK, talk.b - 1, talk.a, 0);
	expect_tcp("Tcp.RetransSegs TcpExt.TCPSynRetrans");
	in_at(SYN | ACK, talk.a - 1, talk.b, 0);
	/* The SYN in it is old data. */
	expect_tcp("Tcp.CurrEstab TcpExt.TCPDelivered TcpExt.DelayedACKLost");
}

static void a_reset_at_the_next_octet_ends_a_connection(void **state)
{
	(void)state;
	talk_in(NOTHING);
	lab_remember();
	in_at(RST, talk.a + 1, 0, 0); /* in the window: a challenge ACK */
	in_at(RST, talk.a + 100000, 0, 0);
	expect_tcp("");
	in_at(RST, talk.a, 0, 0);
	expect_tcp("Tcp.EstabResets Tcp.CurrEstab=18446744073709551615");
	assert_false(exists(B_PORT, A_PORT));
}

static void the_host_resets_a_connection(void **state)
{
	(void)state;
	talk_in(NOTHING);
	lab_remember();
	out_at(RST, talk.b, 0, 0); /* answers one segment */
	expect_tcp("Tcp.OutSegs Tcp.OutRsts");
	out_at(RST | ACK, talk.b, talk.a, 0);
	expect_tcp("Tcp.OutSegs Tcp.OutRsts Tcp.EstabResets "
		   "Tcp.CurrEstab=18446744073709551615");
}

static void a_reset_without_ack_ends_what_no_program_owns(void **state)
{
	(void)state;
	talk_in(NOTHING);
	out(FIN | ACK, 0);
	lab_remember();
	out_at(RST, talk.b, 0, 0);
	expect_tcp("Tcp.OutSegs Tcp.OutRsts");
	assert_false(exists(B_PORT, A_PORT));
}

static void after_the_peers_fin_a_reset_may_come_one_early(void **state)
{
	(void)state;
	talk_in(NOTHING);
	in(FIN | ACK, 0);
	lab_remember();
	in_at(RST, talk.a - 1, 0, 0);
	expect_tcp("Tcp.EstabResets Tcp.CurrEstab=18446744073709551615");
}

static void who_closes_first_waits_a_minute(void **state)
{
	(void)state;
	talk_in(NOTHING);
	lab_remember();
	out(FIN | ACK, 0);
	expect_tcp("Tcp.OutSegs TcpExt.TCPOrigDataSent "
		   "Tcp.CurrEstab=18446744073709551615");
	in(ACK, 0);
	in(FIN | ACK, 0);
	out(ACK, 0);
	expect_tcp("TcpExt.TCPDelivered Tcp.OutSegs TcpExt.TW");
	assert_true(exists(B_PORT, A_PORT));
	wait_ns(59 * SECOND_NS);
	assert_true(exists(B_PORT, A_PORT));
	wait_ns(2 * SECOND_NS);
	assert_false(exists(B_PORT, A_PORT));
}

static void who_closes_second_is_gone_with_the_last_ack(void **state)
{
	(void)state;
	talk_in(NOTHING);
	in(FIN | ACK, 0);
	out(FIN | ACK, 0);
	assert_true(exists(B_PORT, A_PORT));
	lab_remember();
	in(ACK, 0);
	expect_tcp("TcpExt.TCPDelivered");
	assert_false(exists(B_PORT, A_PORT));
}

static void fins_that_cross_are_waited_for(void **state)
{
	(void)state;
	talk_in(NOTHING);
	out(FIN | ACK, 0);
	in_at(FIN | ACK, talk.a++, talk.b - 1, 0);
	lab_remember();
	in(ACK, 0);
	expect_tcp("TcpExt.TCPDelivered TcpExt.TW");
	assert_true(exists(B_PORT, A_PORT));
}

static void a_half_closed_connection_without_news_goes(void **state)
{
	(void)state;
	talk_in(NOTHING);
	out(FIN | ACK, 0);
	in(ACK, 0);
	wait_ns(59 * SECOND_NS);
	assert_true(exists(B_PORT, A_PORT));
	wait_ns(2 * SECOND_NS);
	assert_false(exists(B_PORT, A_PORT));
}

static void a_reset_ends_the_wait(void **state)
{
	(void)state;
	talk_in(NOTHING);
	out(FIN | ACK, 0);
	in(FIN | ACK, 0);
	in_at(RST, talk.a, 0, 0);
	assert_false(exists(B_PORT, A_PORT));
}

static void a_new_syn_ends_the_wait(void **state)
{
	(void)state;
	talk_in(NOTHING);
	out(FIN | ACK, 0);
	in(FIN | ACK, 0);
	lab_remember();
	in_at(SYN, talk.a + 1000, 0, 0);
	out_at(SYN | ACK, talk.b + 70000, talk.a + 1001, 0);
	in_at(ACK, talk.a + 1001, talk.b + 70001, 0);
	expect_tcp("Tcp.OutSegs Tcp.PassiveOpens Tcp.CurrEstab");
}

static void an_old_syn_does_not_end_the_wait(void **state)
{
	(void)state;
	talk_in(NOTHING);
	out(FIN | ACK, 0);
	in(FIN | ACK, 0);
	in_at(SYN, talk.a - 100, 0, 0);
	assert_true(exists(B_PORT, A_PORT));
}

static void an_attempt_without_answer_fails_in_the_end(void **state)
{
	(void)state;
	talk_start(A_PORT, 5000);
	out(SYN, 0);
	lab_remember();
	wait_ns(130 * SECOND_NS);
	expect_tcp("");
	wait_ns(2 * SECOND_NS);
	expect_tcp("Tcp.AttemptFails");
}

static void a_half_open_connection_is_given_up_in_silence(void **state)
{
	(void)state;
	talk_start(A_PORT, B_PORT);
	in(SYN, 0);
	out(SYN | ACK, 0);
	lab_remember();
	wait_ns(62 * SECOND_NS);
	assert_true(exists(B_PORT, A_PORT));
	wait_ns(2 * SECOND_NS);
	assert_false(exists(B_PORT, A_PORT));
	expect_tcp("");
}

static struct bytes error_about(unsigned type, unsigned code, uint32_t seq)
{
	struct bytes quote = ip4((struct ip4){
		.src = B4,
		.dst = A4,
		.protocol = 6,
		.data = tcp_with((struct tcp_segment){.sport = talk.b_port,
						      .dport = talk.a_port,
						      .flags = SYN,
						      .seq = seq})});

	return ip4(
		(struct ip4){.protocol = 1, .data = icmp(type, code, quote)});
}

static void an_icmp_error_ends_an_attempt(void **state)
{
	(void)state;
	for (unsigned type = 3; type <= 12; type++) {
		if (type != 3 && type != 11 && type != 12)
			continue;
		talk_start(A_PORT + type, 5000);
		out_at(SYN, B_ISS, 0, 0);
		lab_remember();
		receive(error_about(type, 0, B_ISS + 1000));
		expect_tcp("TcpExt.OutOfWindowIcmps");
		receive(error_about(3, 4, B_ISS)); /* too big */
		expect_tcp("");
		receive(error_about(type, 0, B_ISS));
		expect_tcp("Tcp.AttemptFails");
	}
}

static void an_icmp_error_drops_a_half_open_connection(void **state)
{
	(void)state;
	talk_start(A_PORT, B_PORT);
	in(SYN, 0);
	out(SYN | ACK, 0);
	lab_remember();
	receive(error_about(3, 3, B_ISS));
	assert_true(exists(B_PORT, A_PORT));
	receive(error_about(3, 1, B_ISS));
	assert_false(exists(B_PORT, A_PORT));
	expect_tcp("");
}

static void an_icmp_error_does_not_end_a_connection(void **state)
{
	(void)state;
	talk_in(NOTHING);
	lab_remember();
	receive(error_about(3, 1, talk.b));
	expect_tcp("");
	assert_true(exists(B_PORT, A_PORT));
}

static void a_syn_into_an_established_connection_is_an_error(void **state)
{
	(void)state;
	talk_in(NOTHING);
	lab_remember();
	in_at(SYN, talk.a, 0, 0);
	in_at(SYN | ACK, A_ISS, talk.b, 0);
	expect_tcp("Tcp.InErrs=2 TcpExt.TCPSYNChallenge=2");
	in(FIN | ACK, 0);
	lab_remember();
	in_at(SYN, talk.a, 0, 0); /* no longer ESTABLISHED */
	expect_tcp("TcpExt.TCPSYNChallenge");
}

static void a_connection_is_known_from_its_middle(void **state)
{
	(void)state;
	talk_start(A_PORT, B_PORT);
	in(ACK, 100); /* tells nothing: perhaps nobody is there */
	expect_tcp("");
	out(ACK, 50);
	expect_tcp("Tcp.OutSegs TcpExt.TCPOrigDataSent Tcp.CurrEstab");
	in(ACK, 0);
	expect_tcp("TcpExt.TCPDelivered");
	in(FIN | ACK, 0);
	out(FIN | ACK, 0);
	in(ACK, 0);
	expect_tcp("Tcp.OutSegs TcpExt.TCPOrigDataSent TcpExt.TCPDelivered "
		   "Tcp.CurrEstab=18446744073709551615");
	assert_false(exists(B_PORT, A_PORT));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_open, lab_close)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(every_segment_to_the_host_counts),
		TEST(short_segments_are_no_more_than_segments),
		TEST(a_header_below_five_words_is_an_error),
		TEST(a_bad_checksum_is_two_errors),
		TEST(a_reset_of_nothing_is_a_segment_and_a_reset),
		TEST(the_host_opens),
		TEST(a_syn_again_is_a_retransmission),
		TEST(the_peer_opens),
		TEST(a_synack_again_is_sent_and_sent_again),
		TEST(a_syn_to_a_closed_port_leaves_nothing),
		TEST(a_reset_ends_an_attempt_only_with_a_good_ack),
		TEST(a_reset_ends_a_half_open_connection),
		TEST(another_syn_ends_a_half_open_connection),
		TEST(a_wrong_ack_does_not_end_a_handshake),
		TEST(syns_that_cross_make_one_connection),
		TEST(a_reset_at_the_next_octet_ends_a_connection),
		TEST(the_host_resets_a_connection),
		TEST(a_reset_without_ack_ends_what_no_program_owns),
		TEST(after_the_peers_fin_a_reset_may_come_one_early),
		TEST(who_closes_first_waits_a_minute),
		TEST(who_closes_second_is_gone_with_the_last_ack),
		TEST(fins_that_cross_are_waited_for),
		TEST(a_half_closed_connection_without_news_goes),
		TEST(a_reset_ends_the_wait),
		TEST(a_new_syn_ends_the_wait),
		TEST(an_old_syn_does_not_end_the_wait),
		TEST(an_attempt_without_answer_fails_in_the_end),
		TEST(a_half_open_connection_is_given_up_in_silence),
		TEST(an_icmp_error_ends_an_attempt),
		TEST(an_icmp_error_drops_a_half_open_connection),
		TEST(an_icmp_error_does_not_end_a_connection),
		TEST(a_syn_into_an_established_connection_is_an_error),
		TEST(a_connection_is_known_from_its_middle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
