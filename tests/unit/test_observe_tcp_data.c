/* SPDX-License-Identifier: MIT */
/*
 * test_observe_tcp_data.c - TCP: what data, acknowledgements and windows tell. Each
 * test is a rule.
 */
#include "tcp_talk.h"

static void data_is_new_or_sent_again(void **state)
{
	(void)state;
	talk_in(NOTHING);
	lab_remember();
	out(ACK | PSH, 100);
	expect_tcp("Tcp.OutSegs TcpExt.TCPOrigDataSent");
	out_at(ACK | PSH, talk.b - 100, talk.a, 100);
	expect_tcp("Tcp.RetransSegs");
	/* Old and new in one: it ends behind all that was sent. */
	out_at(ACK | PSH, talk.b - 50, talk.a, 100);
	expect_tcp("Tcp.OutSegs TcpExt.TCPOrigDataSent");
}

static void a_fin_is_data_that_may_be_sent_again(void **state)
{
	(void)state;
	talk_in(NOTHING);
	in(FIN | ACK, 0);
	lab_remember();
	out(FIN | ACK, 0);
	expect_tcp("Tcp.OutSegs TcpExt.TCPOrigDataSent "
		   "Tcp.CurrEstab=18446744073709551615");
	out_at(FIN | ACK, talk.b - 1, talk.a, 0);
	expect_tcp("Tcp.RetransSegs");
}

static void an_ack_delivers_the_segments_before_it(void **state)
{
	(void)state;
	talk_in(SACK_OK);
	for (int i = 0; i < 5; i++)
		out(ACK, 100);
	lab_remember();
	in_at(ACK, talk.a, talk.b - 300, 0);
	expect_tcp("TcpExt.TCPDelivered=2");
	in_at(ACK, talk.a, talk.b - 250, 0); /* half of one */
	expect_tcp("");
	in_at(ACK, talk.a, talk.b, 0);
	expect_tcp("TcpExt.TCPDelivered=3");
	in_at(ACK, talk.a, talk.b + 1, 0); /* of what was never sent */
	expect_tcp("TcpExt.TCPChallengeACK");
}

static void segments_collapsed_by_a_retransmission_are_one(void **state)
{
	(void)state;
	talk_in(SACK_OK);
	for (int i = 0; i < 5; i++)
		out(ACK, 100);
	out_at(ACK, talk.b - 500, talk.a, 300);
	lab_remember();
	in(ACK, 0);
	expect_tcp("TcpExt.TCPDelivered=3");
}

static void a_retransmission_may_cut_segments_anew(void **state)
{
	(void)state;
	talk_in(SACK_OK);
	out(ACK, 300);
	out(ACK, 300);
	out_at(ACK, talk.b - 600, talk.a, 200); /* 200, 100, 300 */
	lab_remember();
	in_at(ACK, talk.a, talk.b - 400, 0);
	expect_tcp("TcpExt.TCPDelivered");
	in(ACK, 0);
	expect_tcp("TcpExt.TCPDelivered=2");
}

static void sacked_segments_are_delivered_once(void **state)
{
	(void)state;
	talk_in(SACK_OK);
	for (int i = 0; i < 5; i++)
		out(ACK, 100);
	lab_remember();
	in_with(ACK, talk.a, talk.b - 500, 0, sack(talk.b - 300, talk.b - 100));
	expect_tcp("TcpExt.TCPDelivered=2");
	in_with(ACK, talk.a, talk.b - 500, 0, sack(talk.b - 300, talk.b));
	expect_tcp("TcpExt.TCPDelivered");
	/* A part of a segment is not it. */
	in_with(ACK, talk.a, talk.b - 500, 0, sack(talk.b - 450, talk.b - 310));
	expect_tcp("");
	in_at(ACK, talk.a, talk.b, 0);
	expect_tcp("TcpExt.TCPDelivered=2");
}

static void blocks_that_make_no_sense_are_discarded(void **state)
{
	(void)state;
	talk_in(SACK_OK);
	out(ACK, 100);
	out(ACK, 100);
	lab_remember();
	in_with(ACK, talk.a, talk.b - 200, 0, sack(talk.b - 100, talk.b + 50));
	expect_tcp("TcpExt.TCPSACKDiscard");
}

static void a_dsack_delivers_what_was_retransmitted(void **state)
{
	(void)state;
	talk_in(SACK_OK);
	out(ACK, 100);
	out_at(ACK, talk.b - 100, talk.a, 100);
	in(ACK, 0);
	lab_remember();
	in_with(ACK, talk.a, talk.b, 0, sack(talk.b - 100, talk.b));
	expect_tcp("TcpExt.TCPDSACKRecv TcpExt.TCPDSACKRecvSegs "
		   "TcpExt.TCPDelivered");
	/* More than was ever sent again. */
	in_with(ACK, talk.a, talk.b, 0, sack(talk.b - 100, talk.b));
	expect_tcp("TcpExt.TCPDSACKRecv TcpExt.TCPDSACKIgnoredDubious");
}

static void a_dsack_above_the_ack_lies_in_the_second_block(void **state)
{
	(void)state;
	talk_in(SACK_OK);
	for (int i = 0; i < 4; i++)
		out(ACK, 100);
	out_at(ACK, talk.b - 100, talk.a, 100);
	lab_remember();
	in_with(ACK, talk.a, talk.b - 400, 0,
		sack2(talk.b - 100, talk.b, talk.b - 200, talk.b));
	expect_tcp("TcpExt.TCPDSACKOfoRecv TcpExt.TCPDSACKRecvSegs "
		   "TcpExt.TCPDelivered=3");
}

static void without_sack_duplicate_acks_deliver(void **state)
{
	(void)state;
	talk_in(NOTHING);
	for (int i = 0; i < 5; i++)
		out(ACK, 100);
	lab_remember();
	for (int i = 0; i < 3; i++)
		in_at(ACK, talk.a, talk.b - 500, 0);
	expect_tcp("TcpExt.TCPDelivered=3");
	/* Those three are taken off; the acknowledged hole counts at least. */
	in_at(ACK, talk.a, talk.b - 300, 0);
	expect_tcp("TcpExt.TCPDelivered");
	in_at(ACK, talk.a, talk.b, 0);
	expect_tcp("TcpExt.TCPDelivered=3");
}

static void duplicate_acks_deliver_no_more_than_all_but_one(void **state)
{
	(void)state;
	talk_in(NOTHING);
	out(ACK, 100);
	out(ACK, 100);
	lab_remember();
	for (int i = 0; i < 5; i++)
		in_at(ACK, talk.a, talk.b - 200, 0);
	expect_tcp("TcpExt.TCPDelivered");
}

static void data_in_order_and_ahead(void **state)
{
	(void)state;
	talk_in(NOTHING);
	lab_remember();
	in(ACK, 100);
	expect_tcp("");
	in_at(ACK, talk.a + 100, talk.b, 100);
	in_at(ACK, talk.a + 300, talk.b, 100);
	in_at(ACK, talk.a + 100, talk.b, 100); /* is there already */
	expect_tcp("TcpExt.TCPOFOQueue=3 TcpExt.TCPOFOMerge");
	/* Closes the first hole: what follows is in order up to the second. */
	in_at(ACK, talk.a, talk.b, 100);
	in_at(ACK, talk.a + 200, talk.b, 50);
	expect_tcp("");
	/* Outside the window. */
	in_at(ACK, talk.a + 100000, talk.b, 10);
	expect_tcp("TcpExt.BeyondWindow");
}

static void old_data_is_answered_by_a_dsack(void **state)
{
	(void)state;
	talk_in(SACK_OK);
	in(ACK, 100);
	out(ACK, 0);
	lab_remember();
	in_at(ACK, talk.a - 100, talk.b, 100); /* in the last ACK's window no
						 * more, but answered */
	expect_tcp("TcpExt.TCPDSACKOldSent TcpExt.DelayedACKLost");
	in_at(ACK, talk.a - 50, talk.b, 100); /* half old */
	expect_tcp("TcpExt.TCPDSACKOldSent");
	in_at(ACK, talk.a + 200, talk.b, 100);
	in_at(ACK, talk.a + 200, talk.b, 100);
	expect_tcp("TcpExt.TCPOFOQueue=2 TcpExt.TCPDSACKOfoSent "
		   "TcpExt.TCPOFOMerge");
}

static void without_sack_nothing_reports_old_data(void **state)
{
	(void)state;
	talk_in(NOTHING);
	in(ACK, 100);
	lab_remember();
	in_at(ACK, talk.a - 100, talk.b, 100);
	expect_tcp("TcpExt.DelayedACKLost");
}

static void a_fin_ahead_of_data_waits_for_it(void **state)
{
	(void)state;
	talk_in(NOTHING);
	lab_remember();
	in_at(FIN | ACK, talk.a + 100, talk.b, 50);
	expect_tcp("TcpExt.TCPOFOQueue");
	in_at(ACK, talk.a, talk.b, 100);
	out_at(FIN | ACK, talk.b, talk.a + 151, 0);
	in_at(ACK, talk.a + 151, talk.b + 1, 0);
	assert_false(exists(B_PORT, A_PORT)); /* it was LAST_ACK */
}

static void what_the_host_acknowledges_has_come(void **state)
{
	(void)state;
	talk_in(NOTHING);
	in_at(ACK, talk.a + 100, talk.b, 100); /* a segment was not captured */
	out_at(ACK, talk.b, talk.a + 200, 0);
	lab_remember();
	in_at(ACK, talk.a + 200, talk.b, 100);
	expect_tcp("");
	in_at(RST, talk.a + 300, 0, 0);
	expect_tcp("Tcp.EstabResets Tcp.CurrEstab=18446744073709551615");
}

static void keepalives_stand_one_before_the_next_octet(void **state)
{
	(void)state;
	talk_in(NOTHING);
	lab_remember();
	out_at(ACK, talk.b - 1, talk.a, 0);
	expect_tcp("Tcp.OutSegs TcpExt.TCPKeepAlive");
	out_at(ACK, talk.b, talk.a, 0);
	expect_tcp("Tcp.OutSegs");
	talk.a_closed = true;
	in(ACK, 0);
	out_at(ACK, talk.b - 1, talk.a, 0);
	expect_tcp("Tcp.OutSegs TcpExt.TCPWinProbe");
}

static void windows_close_and_open(void **state)
{
	(void)state;
	talk_in(NOTHING);
	lab_remember();
	talk.b_closed = true;
	out(ACK, 0);
	out(ACK, 0);
	expect_tcp("Tcp.OutSegs=2 TcpExt.TCPToZeroWindowAdv");
	in_at(ACK, talk.a, talk.b, 1);
	expect_tcp("TcpExt.TCPZeroWindowDrop");
	talk.b_closed = false;
	out(ACK, 0);
	expect_tcp("Tcp.OutSegs TcpExt.TCPFromZeroWindowAdv");
	talk.b_closed = true;
	out_at(RST, talk.b, 0, 0); /* the bare RST has no window */
	expect_tcp("Tcp.OutSegs Tcp.OutRsts");
}

static void an_old_timestamp_rejects_a_segment(void **state)
{
	struct bytes stamp = timestamps(5000, 1);

	(void)state;
	talk_in(joined(SACK_OK, stamp));
	talk.options = stamp;
	in(ACK, 100);
	out(ACK, 0);
	lab_remember();
	in_with(ACK, talk.a, talk.b, 100, timestamps(4000, 1));
	expect_tcp("TcpExt.PAWSEstab");
	in_with(ACK, talk.a, talk.b, 100, timestamps(4999, 1)); /* tolerated */
	expect_tcp("");
	talk.a += 100;
	in_with(ACK, talk.a - 50, talk.b, 100, timestamps(4000, 1));
	expect_tcp("TcpExt.PAWSEstab TcpExt.DelayedACKLost "
		   "TcpExt.TCPDSACKOldSent");
	in_with(RST, talk.a, 0, 0, timestamps(4000, 1));
	expect_tcp("Tcp.EstabResets Tcp.CurrEstab=18446744073709551615");
}

static void a_reset_may_stand_at_the_right_edge_of_sack(void **state)
{
	(void)state;
	talk_in(SACK_OK);
	in_at(ACK, talk.a + 100, talk.b, 100);
	lab_remember();
	in_at(RST, talk.a + 150, 0, 0);
	expect_tcp("");
	in_at(RST, talk.a + 200, 0, 0);
	expect_tcp("Tcp.EstabResets Tcp.CurrEstab=18446744073709551615");
}

#define MSS(value) OCTETS(2, 4, (value) >> 8, (value)&255)

static void a_frame_that_the_device_cuts_is_several_segments(void **state)
{
	(void)state;
	talk_in(MSS(1000));
	lab_remember();
	out(ACK, 4500);
	expect_tcp("Tcp.OutSegs=5 TcpExt.TCPOrigDataSent=5");
	in_at(ACK, talk.a, talk.b - 2500, 0);
	expect_tcp("TcpExt.TCPDelivered=2");
	out_at(ACK, talk.b - 2500, talk.a, 2500);
	expect_tcp("Tcp.RetransSegs=3");
	in(ACK, 0);
	expect_tcp("TcpExt.TCPDelivered=3");
}

static void bulk_of_many_sizes_is_delivered_exactly(void **state)
{
	uint64_t sent = 0;

	(void)state;
	talk_in(joined(MSS(1460), SACK_OK));
	lab_remember();
	for (unsigned i = 0; i < 2000; i++) {
		out(ACK, 1 + (i * 7919) % 1460);
		sent++;
		if (i % 5 == 4)
			in(ACK, 0);
	}
	assert_int_equal(moved_by("TcpExt.TCPOrigDataSent"), sent);
	assert_int_equal(moved_by("TcpExt.TCPDelivered"), sent);
	assert_int_equal(lab_stats().nr_ranges_joined, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_open, lab_close)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(data_is_new_or_sent_again),
		TEST(a_fin_is_data_that_may_be_sent_again),
		TEST(an_ack_delivers_the_segments_before_it),
		TEST(segments_collapsed_by_a_retransmission_are_one),
		TEST(a_retransmission_may_cut_segments_anew),
		TEST(sacked_segments_are_delivered_once),
		TEST(blocks_that_make_no_sense_are_discarded),
		TEST(a_dsack_delivers_what_was_retransmitted),
		TEST(a_dsack_above_the_ack_lies_in_the_second_block),
		TEST(without_sack_duplicate_acks_deliver),
		TEST(duplicate_acks_deliver_no_more_than_all_but_one),
		TEST(data_in_order_and_ahead),
		TEST(old_data_is_answered_by_a_dsack),
		TEST(without_sack_nothing_reports_old_data),
		TEST(a_fin_ahead_of_data_waits_for_it),
		TEST(what_the_host_acknowledges_has_come),
		TEST(keepalives_stand_one_before_the_next_octet),
		TEST(windows_close_and_open),
		TEST(an_old_timestamp_rejects_a_segment),
		TEST(a_reset_may_stand_at_the_right_edge_of_sack),
		TEST(a_frame_that_the_device_cuts_is_several_segments),
		TEST(bulk_of_many_sizes_is_delivered_exactly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
