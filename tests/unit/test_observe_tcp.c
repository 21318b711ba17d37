/* SPDX-License-Identifier: MIT */
/*
 * test_observe_tcp.c - what one TCP segment tells: each test is a rule.
 */
#include "observe_lab.h"

#define IN4(octets)                                                            \
	"Ip.InReceives IpExt.InNoECTPkts Ip.InDelivers "                       \
	"IpExt.InOctets=" #octets " "

static struct bytes tcp4(struct bytes segment, enum sum sum)
{
	return ip4((struct ip4){.protocol = 6, .data = segment, .sum = sum});
}

static void in(unsigned sport, unsigned dport, unsigned flags)
{
	receive(tcp4(tcp(sport, dport, flags, 0), SUM_GOOD));
}

static void out(unsigned sport, unsigned dport, unsigned flags)
{
	send_out(ip4((struct ip4){.src = B4,
				  .dst = A4,
				  .protocol = 6,
				  .data = tcp(sport, dport, flags, 0)}));
}

/* Whether an ICMP error that quotes the connection finds it. */
static bool exists(unsigned local_port, unsigned remote_port)
{
	uint64_t before = moved_by("Icmp.InErrors");
	struct bytes quote =
		ip4((struct ip4){.src = B4,
				 .dst = A4,
				 .protocol = 6,
				 .data = tcp(local_port, remote_port, ACK, 0)});

	receive(ip4((struct ip4){.protocol = 1, .data = icmp(3, 1, quote)}));
	return moved_by("Icmp.InErrors") == before;
}

static void every_segment_to_the_host_counts(void **state)
{
	(void)state;
	in(9, 80, ACK);
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

static void sent_segments_and_resets(void **state)
{
	(void)state;
	out(80, 9, ACK);
	expect("Ip.OutRequests Ip.OutTransmits IpExt.OutOctets=40 Tcp.OutSegs");
	out(80, 9, RST | ACK);
	expect("Ip.OutRequests Ip.OutTransmits IpExt.OutOctets=40 Tcp.OutSegs "
	       "Tcp.OutRsts");
}

static void a_connection_lives_from_its_syn_to_its_reset(void **state)
{
	(void)state;
	assert_false(exists(5000, 9));
	out(5000, 9, SYN);
	assert_true(exists(5000, 9));
	assert_false(exists(5000, 10));
	in(9, 5000, SYN | ACK);
	assert_true(exists(5000, 9));
	in(9, 5000, RST);
	assert_false(exists(5000, 9));
}

static void a_listener_has_a_connection_when_it_answers(void **state)
{
	(void)state;
	in(9, 80, SYN);
	assert_false(exists(80, 9));
	out(80, 9, SYN | ACK);
	assert_true(exists(80, 9));
}

static void a_reset_without_ack_answers_one_segment_only(void **state)
{
	(void)state;
	out(5000, 9, SYN);
	out(5000, 9, RST);
	assert_true(exists(5000, 9));
	out(5000, 9, RST | ACK);
	assert_false(exists(5000, 9));
}

static void who_closes_first_waits_a_minute(void **state)
{
	(void)state;
	out(5000, 9, SYN);
	in(9, 5000, SYN | ACK);
	out(5000, 9, FIN | ACK);
	in(9, 5000, FIN | ACK);
	assert_true(exists(5000, 9));
	wait_ns(59 * SECOND_NS);
	assert_true(exists(5000, 9));
	wait_ns(2 * SECOND_NS);
	assert_false(exists(5000, 9));
	/* Who closes second is gone. */
	out(5001, 9, SYN);
	in(9, 5001, SYN | ACK);
	in(9, 5001, FIN | ACK);
	assert_true(exists(5001, 9));
	out(5001, 9, FIN | ACK);
	assert_false(exists(5001, 9));
}

static void a_syn_into_an_established_connection_is_an_error(void **state)
{
	(void)state;
	out(5000, 9, SYN);
	in(9, 5000, SYN | ACK);
	lab_remember();
	in(9, 5000, SYN | ACK);
	expect(IN4(40) "Tcp.InSegs Tcp.InErrs");
	in(9, 5000, SYN);
	expect(IN4(40) "Tcp.InSegs Tcp.InErrs");
	in(9, 5000, FIN | ACK);
	lab_remember();
	in(9, 5000, SYN);
	expect(IN4(40) "Tcp.InSegs");
}

static void a_repeated_syn_is_fine_until_the_handshake_ends(void **state)
{
	(void)state;
	in(9, 80, SYN);
	out(80, 9, SYN | ACK);
	lab_remember();
	in(9, 80, SYN);
	expect(IN4(40) "Tcp.InSegs");
	in(9, 80, ACK);
	lab_remember();
	in(9, 80, SYN);
	expect(IN4(40) "Tcp.InSegs Tcp.InErrs");
}

static void observe_few(uint32_t max)
{
	struct sp_observer_opts opts = lab_opts();

	opts.max_sockets = max;
	lab_observe(&opts);
}

static void a_full_table_gives_up_the_quietest_and_counts_it(void **state)
{
	(void)state;
	observe_few(4);
	for (unsigned i = 0; i < 4; i++)
		out(5000 + i, 9, SYN);
	in(9, 5000, SYN | ACK); /* not quiet any more */
	assert_int_equal(lab_stats().nr_sockets_evicted, 0);
	out(5004, 9, SYN);
	assert_int_equal(lab_stats().nr_sockets_evicted, 1);
	assert_true(exists(5000, 9));
	assert_false(exists(5001, 9));
	assert_true(exists(5002, 9));
	assert_true(exists(5004, 9));
}

static void who_waits_a_minute_goes_first(void **state)
{
	(void)state;
	observe_few(3);
	out(5000, 9, SYN);
	for (unsigned i = 1; i < 3; i++) {
		out(5000 + i, 9, SYN);
		in(9, 5000 + i, SYN | ACK);
		out(5000 + i, 9, FIN | ACK);
		in(9, 5000 + i, FIN | ACK);
	}
	out(5003, 9, SYN);
	assert_true(exists(5000, 9));
	assert_false(exists(5001, 9));
	assert_true(exists(5002, 9));
	assert_int_equal(lab_stats().nr_sockets_evicted, 1);
	/* When its minute is over, nothing is lost with it. */
	wait_ns(61 * SECOND_NS);
	out(5004, 9, SYN);
	assert_true(exists(5000, 9));
	assert_int_equal(lab_stats().nr_sockets_evicted, 1);
}

static void places_that_were_given_back_are_used_again(void **state)
{
	(void)state;
	observe_few(4);
	for (unsigned i = 0; i < 1000; i++) {
		out(5000 + i, 9, SYN);
		if (i >= 3)
			in(9, 5000 + i - 3, RST | ACK);
		assert_true(exists(5000 + i, 9));
		assert_true(i < 3 || !exists(5000 + i - 3, 9));
		assert_true(i < 2 || exists(5000 + i - 2, 9));
	}
	assert_int_equal(lab_stats().nr_sockets_evicted, 0);
}

/* Who is gone is out of the order, too. */
static void after_many_came_and_went_the_quietest_still_goes_first(void **state)
{
	(void)state;
	observe_few(4);
	for (unsigned i = 0; i < 100; i++) {
		out(5000 + i, 9, SYN);
		in(9, 5000 + i, RST | ACK);
	}
	for (unsigned i = 0; i < 6; i++)
		out(6000 + i, 9, SYN);
	assert_int_equal(lab_stats().nr_sockets_evicted, 2);
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(exists(6000 + i, 9), i >= 2);
}

/* The filter of half-open names forgets them again: an ACK to a connection that
 * nobody knows must stay without effect. */
static void a_thousand_handshakes_leave_no_trace(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		in(i, 80, SYN);
		out(80, i, SYN | ACK);
		in(i, 80, ACK);
		in(i, 80, RST);
		assert_false(exists(80, i));
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_open, lab_close)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(every_segment_to_the_host_counts),
		TEST(short_segments_are_no_more_than_segments),
		TEST(a_header_below_five_words_is_an_error),
		TEST(a_bad_checksum_is_two_errors),
		TEST(sent_segments_and_resets),
		TEST(a_connection_lives_from_its_syn_to_its_reset),
		TEST(a_listener_has_a_connection_when_it_answers),
		TEST(a_reset_without_ack_answers_one_segment_only),
		TEST(who_closes_first_waits_a_minute),
		TEST(a_syn_into_an_established_connection_is_an_error),
		TEST(a_repeated_syn_is_fine_until_the_handshake_ends),
		TEST(a_full_table_gives_up_the_quietest_and_counts_it),
		TEST(who_waits_a_minute_goes_first),
		TEST(places_that_were_given_back_are_used_again),
		TEST(after_many_came_and_went_the_quietest_still_goes_first),
		TEST(a_thousand_handshakes_leave_no_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
