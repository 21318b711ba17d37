/* SPDX-License-Identifier: MIT */
/*
 * test_syn_flood.c - SYNs from random addresses, more than the table holds.
 *
 * usage: test_syn_flood [SYNS]
 *
 * A host with established connections is flooded: every SYN is either a row, was
 * evicted, has expired, or was refused, none of the established ones is lost, and
 * memory stays where the table's bound puts it. Half of the SYNs are answered. The
 * default is short; ten million take some seconds.
 */
#include <stdio.h>
#include <sys/resource.h>

#include "../unit/tcp_talk.h"

#define NR_ESTABLISHED 1000u
#define MAX_CONNS      20000u
#define DEFAULT_SYNS   300000u
#define MAX_MEMORY_KIB (160 * 1024)

/* Sanitizers keep memory of their own beside the program's. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED true
#else
#define IS_SANITIZED false
#endif

static uint32_t nr_syns = DEFAULT_SYNS;
static uint64_t random_state = 88172645463325252ull;

static uint32_t random32(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 16);
}

static void pass(uint32_t src, uint32_t dst, bool sent,
		 struct tcp_segment segment)
{
	struct bytes packet = ip4((struct ip4){
		.src = src,
		.dst = dst,
		.protocol = 6,
		.data = tcp_with(segment),
	});
	struct bytes frame = ethernet(sent ? MAC_A : MAC_B,
				      sent ? MAC_B : MAC_A, 0x0800, packet);
	struct sp_frame sp_frame = {
		.data = frame.data,
		.cap_len = frame.len,
		.len = frame.len,
		.time_ns = lab.now_ns += 10000,
	};

	sp_observer_frames(lab.observer, &sp_frame, 1);
}

static void flood(void)
{
	for (uint32_t i = 0; i < nr_syns; i++) {
		uint32_t src = 0x0b000000u + random32() % 0x40000000u;
		unsigned port = 1024 + random32() % 60000;

		pass(src, B4, false,
		     (struct tcp_segment){.sport = port,
					  .dport = B_PORT,
					  .flags = SYN,
					  .seq = i});
		if (i % 2)
			continue;
		pass(B4, src, true,
		     (struct tcp_segment){.sport = B_PORT,
					  .dport = port,
					  .flags = SYN | ACK,
					  .seq = ~i,
					  .ack = i + 1});
	}
}

static void establish(void)
{
	for (unsigned i = 0; i < NR_ESTABLISHED; i++) {
		talk_start(A_PORT + i, B_PORT);
		in(SYN, 0);
		out(SYN | ACK, 0);
		in(ACK, 0);
	}
}

static long memory_kib(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

static void a_flood_costs_no_connection_and_no_more_memory(void **state)
{
	struct sp_conn_opts conn_opts = {
		.sz = sizeof(conn_opts),
		.max_conns = MAX_CONNS,
	};
	struct sp_observer_opts opts = lab_opts();
	struct sp_conn_stats before, after;
	struct sp_conn_table *conns;

	(void)state;
	sp_observer_destroy(lab.observer); /* its table goes */
	lab.observer = NULL;
	assert_int_equal(sp_conn_table_create(lab.net, &conn_opts, &conns), 0);
	opts.conns = conns;
	lab_observe(&opts);
	establish();
	sp_conn_read_stats(conns, &before);
	flood();
	sp_conn_read_stats(conns, &after);
	print_message("rows %llu, evicted %llu, expired %llu, refused %llu, "
		      "%ld KiB\n",
		      (unsigned long long)after.nr_rows,
		      (unsigned long long)after.nr_evicted,
		      (unsigned long long)after.nr_expired,
		      (unsigned long long)after.nr_refused, memory_kib());
	/* A SYN-ACK whose SYN was refused opens no row either. */
	assert_int_equal(after.nr_opened - before.nr_opened + after.nr_refused,
			 nr_syns);
	assert_int_equal(after.nr_opened, after.nr_rows + after.nr_evicted +
						  after.nr_expired +
						  after.nr_closed);
	assert_true(after.nr_rows <= MAX_CONNS);
	assert_int_equal(moved_by("Tcp.CurrEstab"), NR_ESTABLISHED);
	for (unsigned i = 0; i < NR_ESTABLISHED; i++)
		assert_true(exists(B_PORT, A_PORT + i));
	if (!IS_SANITIZED)
		assert_true(memory_kib() < MAX_MEMORY_KIB);
	sp_observer_destroy(lab.observer);
	lab.observer = NULL;
	sp_conn_table_destroy(conns);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_flood_costs_no_connection_and_no_more_memory,
			lab_open, lab_close),
	};

	if (argc > 1)
		nr_syns = (uint32_t)strtoul(argv[1], NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
