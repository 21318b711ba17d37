/* SPDX-License-Identifier: MIT */
/*
 * test_reasm.c - reassembly: each rule by itself, then random streams held
 * against a model that keeps runs in an array and octets in a plain buffer.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/hash.h"
#include "packet/reasm.h"
#include "packet/siphash.h"

#define SECOND  UINT64_C(1000000000)
#define TIMEOUT (30 * SECOND)

static const uint8_t addrs_a[8] = {10, 0, 0, 1, 10, 0, 0, 2};
static const uint8_t addrs_b[8] = {10, 0, 0, 3, 10, 0, 0, 2};
static const uint8_t addrs_c[8] = {10, 0, 0, 1, 10, 0, 0, 4};

/* What fragments carry: the octet at any offset is known. */
static uint8_t content[1 << 17];

struct fixture {
	struct sp_reasm *reasm;
	struct sp_fragment frag; /* what the next fragment looks like */
	struct sp_reasm_result result;
};

static struct sp_reasm *table(uint32_t max_queues, uint32_t max_distance,
			      bool ipv6)
{
	struct sp_reasm_opts opts = {
		.ipv6 = ipv6,
		.timeout_ns = TIMEOUT,
		.max_bytes = 4 << 20,
		.max_queues = max_queues,
		.max_distance = max_distance,
	};
	struct sp_reasm *reasm = NULL;

	assert_int_equal(sp_reasm_create(&opts, &reasm), 0);
	return reasm;
}

static int set_up_content(void **state)
{
	uint32_t x = 1;

	for (size_t i = 0; i < sizeof(content); i++) {
		x = x * 1664525 + 1013904223;
		content[i] = (uint8_t)(x >> 24);
	}
	return 0;
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->reasm = table(16, 64, false);
	f->frag = (struct sp_fragment){
		.addrs = addrs_a,
		.id = 1,
		.protocol = 17,
		.head_len = 20,
		.time_ns = SECOND,
	};
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	sp_reasm_destroy(f->reasm);
	free(f);
	return 0;
}

static enum sp_reasm_verdict add(struct fixture *f, uint32_t off, uint32_t len,
				 bool more)
{
	f->frag.off = off;
	f->frag.len = len;
	f->frag.cap_len = len;
	f->frag.more = more;
	f->frag.data = content + off;
	sp_reasm_add(f->reasm, &f->frag, &f->result);
	return f->result.verdict;
}

static uint32_t nr_queues(const struct fixture *f)
{
	uint32_t queues, bytes;

	sp_reasm_held(f->reasm, &queues, &bytes);
	return queues;
}

static void assert_datagram(const struct fixture *f, uint32_t len)
{
	assert_int_equal(f->result.datagram.len, len);
	assert_int_equal(f->result.datagram.cap_len, len);
	assert_memory_equal(f->result.datagram.data, content, len);
	assert_int_equal(nr_queues(f), 0);
}

static void fragments_in_order_make_a_datagram(void **state)
{
	struct fixture *f = *state;

	f->frag.user = 7;
	assert_int_equal(add(f, 0, 1480, true), SP_REASM_HELD);
	f->frag.user = 8;
	assert_int_equal(add(f, 1480, 1480, true), SP_REASM_HELD);
	assert_int_equal(add(f, 2960, 13, false), SP_REASM_WHOLE);
	assert_datagram(f, 2973);
	assert_int_equal(f->result.datagram.user, 7);
	assert_int_equal(f->result.datagram.protocol, 17);
}

static void fragments_in_any_order_make_a_datagram(void **state)
{
	struct fixture *f = *state;

	f->frag.user = 8;
	assert_int_equal(add(f, 2960, 13, false), SP_REASM_HELD);
	assert_int_equal(add(f, 1480, 1480, true), SP_REASM_HELD);
	f->frag.user = 7;
	assert_int_equal(add(f, 0, 1480, true), SP_REASM_WHOLE);
	assert_datagram(f, 2973);
	assert_int_equal(f->result.datagram.user, 7);
}

static void eight_octet_fragments_fill_the_largest_datagram(void **state)
{
	struct fixture *f = *state;
	uint32_t len = 65535 - 20;

	/* even ones upwards, then odd ones downwards */
	for (uint32_t off = 0; off + 8 < len; off += 16)
		assert_int_equal(add(f, off, 8, true), SP_REASM_HELD);
	assert_int_equal(add(f, len / 8 * 8, len % 8, false), SP_REASM_HELD);
	for (uint32_t off = (len / 16 * 16) - 8; off > 8; off -= 16)
		assert_int_equal(add(f, off, 8, true), SP_REASM_HELD);
	assert_int_equal(add(f, 8, 8, true), SP_REASM_WHOLE);
	assert_datagram(f, len);
}

static void
a_datagram_above_65535_octets_is_bad_when_it_is_complete(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(add(f, 65480, 35, false), SP_REASM_HELD);
	assert_int_equal(add(f, 0, 65480, true), SP_REASM_WHOLE);
	assert_int_equal(add(f, 65480, 36, false), SP_REASM_HELD);
	assert_int_equal(add(f, 0, 65480, true), SP_REASM_BAD);
	assert_int_equal(nr_queues(f), 0);
	/* the first fragment's header counts, not the last one's */
	f->frag.head_len = 60;
	assert_int_equal(add(f, 65480, 35, false), SP_REASM_HELD);
	f->frag.head_len = 20;
	assert_int_equal(add(f, 0, 65480, true), SP_REASM_WHOLE);
}

static void the_farthest_fragment_is_held(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(add(f, 65528, 65515, false), SP_REASM_HELD);
	assert_int_equal(nr_queues(f), 1);
}

static void all_but_the_last_are_cut_to_a_multiple_of_8(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(add(f, 0, 15, true), SP_REASM_HELD);
	assert_int_equal(add(f, 8, 5, false), SP_REASM_WHOLE);
	assert_datagram(f, 13);
}

static void an_empty_fragment_throws_the_queue_away(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(add(f, 0, 16, true), SP_REASM_HELD);
	assert_int_equal(add(f, 16, 7, true), SP_REASM_BAD);
	assert_int_equal(nr_queues(f), 0);
	assert_int_equal(add(f, 0, 0, false), SP_REASM_BAD);
	assert_int_equal(nr_queues(f), 0);
}

static void data_behind_the_end_throws_the_queue_away(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(add(f, 8, 8, false), SP_REASM_HELD);
	assert_int_equal(add(f, 16, 8, true), SP_REASM_BAD);
	assert_int_equal(nr_queues(f), 0);
	assert_int_equal(add(f, 16, 8, true), SP_REASM_HELD);
	assert_int_equal(add(f, 8, 8, false), SP_REASM_BAD);
	assert_int_equal(nr_queues(f), 0);
}

static void a_second_end_throws_the_queue_away(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(add(f, 8, 8, false), SP_REASM_HELD);
	assert_int_equal(add(f, 16, 8, false), SP_REASM_BAD);
	assert_int_equal(nr_queues(f), 0);
	/* the same end again is a duplicate */
	assert_int_equal(add(f, 8, 8, false), SP_REASM_HELD);
	assert_int_equal(add(f, 8, 8, false), SP_REASM_HELD);
	assert_int_equal(add(f, 0, 8, true), SP_REASM_WHOLE);
}

static void an_overlap_throws_the_queue_away(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(add(f, 0, 16, true), SP_REASM_HELD);
	assert_int_equal(add(f, 8, 16, true), SP_REASM_OVERLAP);
	assert_int_equal(nr_queues(f), 0);
	/* what comes later starts anew */
	assert_int_equal(add(f, 0, 8, true), SP_REASM_HELD);
	assert_int_equal(add(f, 8, 1, false), SP_REASM_WHOLE);
	/* around what is there */
	assert_int_equal(add(f, 8, 8, true), SP_REASM_HELD);
	assert_int_equal(add(f, 0, 24, true), SP_REASM_OVERLAP);
	/* far apart, across spans of the arena */
	assert_int_equal(add(f, 0, 8, true), SP_REASM_HELD);
	assert_int_equal(add(f, 8000, 8, true), SP_REASM_HELD);
	assert_int_equal(add(f, 1024, 7000, true), SP_REASM_OVERLAP);
}

static void a_duplicate_inside_a_run_changes_nothing(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(add(f, 0, 1000, true), SP_REASM_HELD);
	assert_int_equal(add(f, 1000, 1000, true), SP_REASM_HELD);
	assert_int_equal(add(f, 0, 2000, true), SP_REASM_HELD);
	assert_int_equal(add(f, 504, 1000, true), SP_REASM_HELD);
	assert_int_equal(add(f, 2000, 1, false), SP_REASM_WHOLE);
	assert_datagram(f, 2001);
}

static void
a_fragment_across_two_runs_overlaps_although_all_is_there(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(add(f, 8, 8, true), SP_REASM_HELD);
	assert_int_equal(add(f, 0, 8, true), SP_REASM_HELD);
	/* each by itself is inside its run */
	assert_int_equal(add(f, 0, 8, true), SP_REASM_HELD);
	assert_int_equal(add(f, 8, 8, true), SP_REASM_HELD);
	assert_int_equal(add(f, 0, 16, true), SP_REASM_OVERLAP);
}

/* The second run starts at the same place of its span as the fragment does. */
static void runs_are_told_apart_wherever_they_start(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(add(f, 520, 8, true), SP_REASM_HELD);
	assert_int_equal(add(f, 8, 512, true), SP_REASM_HELD);
	assert_int_equal(add(f, 8, 520, true), SP_REASM_OVERLAP);
}

static void only_the_last_run_grows(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(add(f, 0, 8, true), SP_REASM_HELD);
	assert_int_equal(add(f, 24, 8, true), SP_REASM_HELD);
	assert_int_equal(add(f, 32, 8, true), SP_REASM_HELD); /* 24-40 grew */
	assert_int_equal(add(f, 24, 16, true), SP_REASM_HELD);
	assert_int_equal(add(f, 8, 8, true), SP_REASM_HELD); /* 0-8 did not */
	assert_int_equal(add(f, 0, 16, true), SP_REASM_OVERLAP);
}

static void an_end_that_comes_as_a_duplicate_completes_nothing(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(add(f, 0, 8, true), SP_REASM_HELD);
	assert_int_equal(add(f, 8, 8, true), SP_REASM_HELD);
	assert_int_equal(add(f, 8, 8, false), SP_REASM_HELD);
	assert_int_equal(nr_queues(f), 1);
	assert_int_equal(add(f, 16, 8, false), SP_REASM_BAD);
}

static void the_key_of_ipv4_has_addresses_id_and_protocol(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(add(f, 0, 8, true), SP_REASM_HELD);
	f->frag.protocol = 1;
	assert_int_equal(add(f, 8, 8, false), SP_REASM_HELD);
	f->frag.protocol = 17;
	f->frag.id = 2;
	assert_int_equal(add(f, 8, 8, false), SP_REASM_HELD);
	f->frag.id = 1;
	f->frag.addrs = addrs_b;
	assert_int_equal(add(f, 8, 8, false), SP_REASM_HELD);
	f->frag.addrs = addrs_c;
	assert_int_equal(add(f, 8, 8, false), SP_REASM_HELD);
	assert_int_equal(nr_queues(f), 5);
	f->frag.addrs = addrs_a;
	assert_int_equal(add(f, 8, 8, false), SP_REASM_WHOLE);
	assert_int_equal(nr_queues(f), 4);
}

static void the_key_of_ipv6_has_no_protocol(void **state)
{
	struct fixture *f = *state;
	uint8_t addrs[32] = {0xfd};

	sp_reasm_destroy(f->reasm);
	f->reasm = table(16, 0, true);
	f->frag.addrs = addrs;
	f->frag.protocol = 58;
	assert_int_equal(add(f, 8, 8, false), SP_REASM_HELD);
	addrs[31] = 1;
	assert_int_equal(add(f, 0, 8, true), SP_REASM_HELD);
	assert_int_equal(nr_queues(f), 2);
	addrs[31] = 0;
	f->frag.protocol = 17;
	assert_int_equal(add(f, 0, 8, true), SP_REASM_WHOLE);
	assert_int_equal(f->result.datagram.protocol, 17);
}

/* Marks of two fragments, what becomes of them. */
static void ecn_marks_are_joined(void **state)
{
	static const struct {
		uint8_t first, last;
		int ecn; /* -1: they contradict */
	} c[] = {
		{0, 0, 0},  {1, 1, 1},  {2, 2, 2},  {3, 3, 3},
		{1, 2, 1},  {2, 1, 2},  {1, 3, 3},  {3, 1, 3},
		{2, 3, 3},  {3, 2, 3},  {0, 1, -1}, {1, 0, -1},
		{0, 2, -1}, {2, 0, -1}, {0, 3, -1}, {3, 0, -1},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		f->frag.ecn = c[i].last;
		assert_int_equal(add(f, 8, 8, false), SP_REASM_HELD);
		f->frag.ecn = c[i].first;
		assert_int_equal(add(f, 0, 8, true),
				 c[i].ecn < 0 ? SP_REASM_BAD : SP_REASM_WHOLE);
		if (c[i].ecn >= 0)
			assert_int_equal(f->result.datagram.ecn, c[i].ecn);
		assert_int_equal(nr_queues(f), 0);
	}
}

static void the_marks_of_a_duplicate_do_not_count(void **state)
{
	struct fixture *f = *state;

	f->frag.ecn = 2;
	assert_int_equal(add(f, 0, 8, true), SP_REASM_HELD);
	f->frag.ecn = 0;
	assert_int_equal(add(f, 0, 8, true), SP_REASM_HELD);
	f->frag.ecn = 2;
	assert_int_equal(add(f, 8, 8, false), SP_REASM_WHOLE);
}

static void a_queue_times_out_counted_from_its_first_fragment(void **state)
{
	struct sp_reasm_expired expired;
	struct fixture *f = *state;

	assert_true(sp_reasm_next_expiry_ns(f->reasm) == UINT64_MAX);
	f->frag.user = 5;
	assert_int_equal(add(f, 0, 8, true), SP_REASM_HELD);
	f->frag.time_ns = 20 * SECOND;
	assert_int_equal(add(f, 8, 8, true), SP_REASM_HELD);
	assert_true(sp_reasm_next_expiry_ns(f->reasm) == 31 * SECOND);
	assert_false(sp_reasm_expire(f->reasm, 31 * SECOND - 1, &expired));
	assert_true(sp_reasm_expire(f->reasm, 31 * SECOND, &expired));
	assert_true(expired.has_first);
	assert_int_equal(expired.user, 5);
	assert_false(sp_reasm_expire(f->reasm, 31 * SECOND, &expired));
	assert_int_equal(nr_queues(f), 0);
	/* what comes later starts anew */
	f->frag.time_ns = 32 * SECOND;
	assert_int_equal(add(f, 16, 8, false), SP_REASM_HELD);
	assert_true(sp_reasm_expire(f->reasm, 62 * SECOND, &expired));
	assert_false(expired.has_first);
}

static void queues_time_out_in_the_order_of_their_first_fragments(void **state)
{
	struct sp_reasm_expired expired;
	struct fixture *f = *state;

	for (uint32_t id = 0; id < 5; id++) {
		f->frag.id = id;
		f->frag.user = id;
		f->frag.time_ns = (1 + id) * SECOND;
		assert_int_equal(add(f, 0, 8, true), SP_REASM_HELD);
	}
	f->frag.id = 1; /* the second one goes from the middle */
	assert_int_equal(add(f, 8, 8, false), SP_REASM_WHOLE);
	for (uint32_t id = 0; id < 5; id++) {
		if (id == 1)
			continue;
		assert_true(sp_reasm_expire(f->reasm, 99 * SECOND, &expired));
		assert_int_equal(expired.user, id);
	}
	assert_false(sp_reasm_expire(f->reasm, 99 * SECOND, &expired));
}

static void time_that_goes_back_stands_still(void **state)
{
	struct sp_reasm_expired expired;
	struct fixture *f = *state;

	f->frag.time_ns = 100 * SECOND;
	assert_int_equal(add(f, 0, 8, true), SP_REASM_HELD);
	f->frag.time_ns = 50 * SECOND;
	f->frag.id = 2;
	assert_int_equal(add(f, 0, 8, true), SP_REASM_HELD);
	assert_false(sp_reasm_expire(f->reasm, 129 * SECOND, &expired));
	assert_true(sp_reasm_expire(f->reasm, 130 * SECOND, &expired));
	assert_true(sp_reasm_expire(f->reasm, 0, &expired));
}

static void a_time_near_the_end_of_time_does_not_wrap(void **state)
{
	struct sp_reasm_expired expired;
	struct fixture *f = *state;

	f->frag.time_ns = UINT64_MAX - SECOND;
	assert_int_equal(add(f, 0, 8, true), SP_REASM_HELD);
	assert_false(sp_reasm_expire(f->reasm, UINT64_MAX - 1, &expired));
}

static void send_others(struct fixture *f, const uint8_t *addrs, uint32_t nr)
{
	struct sp_fragment saved = f->frag;

	f->frag.addrs = addrs;
	f->frag.id = 1000;
	for (uint32_t i = 0; i < nr; i++)
		assert_int_equal(add(f, i * 16, 8, true), SP_REASM_HELD);
	f->frag = saved;
}

static void up_to_63_others_of_the_source_may_come_in_between(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(add(f, 0, 8, true), SP_REASM_HELD);
	send_others(f, addrs_a, 63);
	assert_int_equal(add(f, 8, 8, false), SP_REASM_WHOLE);
	assert_false(f->result.restarted);
}

static void after_64_others_of_the_source_a_queue_starts_again(void **state)
{
	struct sp_reasm_expired expired;
	struct fixture *f = *state;

	assert_int_equal(add(f, 0, 8, true), SP_REASM_HELD);
	send_others(f, addrs_a, 64);
	f->frag.time_ns = 10 * SECOND;
	assert_int_equal(add(f, 8, 8, false), SP_REASM_HELD);
	assert_true(f->result.restarted);
	/* its time starts again too: the others' queue is first now */
	assert_true(sp_reasm_next_expiry_ns(f->reasm) == 31 * SECOND);
	assert_true(sp_reasm_expire(f->reasm, 39 * SECOND, &expired));
	assert_true(sp_reasm_next_expiry_ns(f->reasm) == 40 * SECOND);
	assert_false(sp_reasm_expire(f->reasm, 39 * SECOND, &expired));
	/* the first fragment is gone and may come again */
	assert_int_equal(add(f, 0, 8, true), SP_REASM_WHOLE);
	assert_false(f->result.restarted);
}

static void others_of_another_source_do_not_count(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(add(f, 0, 8, true), SP_REASM_HELD);
	send_others(f, addrs_b, 1000);
	assert_int_equal(add(f, 8, 8, false), SP_REASM_WHOLE);
}

static void sources_come_and_go(void **state)
{
	struct fixture *f = *state;
	uint8_t addrs[8] = {10, 1};

	f->frag.addrs = addrs;
	for (uint32_t i = 0; i < 10000; i++) {
		addrs[2] = (uint8_t)(i >> 8);
		addrs[3] = (uint8_t)i;
		assert_int_equal(add(f, 0, 8, true), SP_REASM_HELD);
		if (i % 3 == 0)
			assert_int_equal(add(f, 8, 8, false), SP_REASM_WHOLE);
	}
	/* among the queues left, each source has a count of its own */
	addrs[3]--;
	f->frag.id = 2;
	for (uint32_t i = 0; i < 64; i++)
		assert_int_equal(add(f, i * 16, 8, true), SP_REASM_HELD);
	f->frag.id = 1;
	addrs[3]--;
	assert_int_equal(add(f, 8, 8, false), SP_REASM_WHOLE);
	addrs[3]++;
	assert_int_equal(add(f, 8, 8, true), SP_REASM_HELD);
	assert_true(f->result.restarted);
}

static void without_a_limit_any_number_may_come_in_between(void **state)
{
	struct fixture *f = *state;

	sp_reasm_destroy(f->reasm);
	f->reasm = table(16, 0, false);
	assert_int_equal(add(f, 0, 8, true), SP_REASM_HELD);
	send_others(f, addrs_a, 1000);
	assert_int_equal(add(f, 8, 8, false), SP_REASM_WHOLE);
}

static void the_oldest_queue_goes_when_there_are_too_many(void **state)
{
	struct fixture *f = *state;
	uint32_t evicted = 0;

	for (uint32_t id = 0; id < 20; id++) {
		f->frag.id = id;
		assert_int_equal(add(f, 0, 8, true), SP_REASM_HELD);
		evicted += f->result.nr_evicted;
		assert_int_equal(evicted, id < 16 ? 0 : id - 15);
	}
	assert_int_equal(nr_queues(f), 16);
	f->frag.id = 4; /* the oldest that is left */
	assert_int_equal(add(f, 8, 8, false), SP_REASM_WHOLE);
	f->frag.id = 3;
	assert_int_equal(add(f, 8, 8, false), SP_REASM_HELD);
}

static void octets_stay_within_the_bound(void **state)
{
	struct sp_reasm_opts opts = {
		.timeout_ns = TIMEOUT,
		.max_bytes = 1, /* the least: one datagram */
		.max_queues = 64,
	};
	struct fixture *f = *state;
	uint32_t queues, bytes, evicted = 0;

	sp_reasm_destroy(f->reasm);
	assert_int_equal(sp_reasm_create(&opts, &f->reasm), 0);
	for (uint32_t id = 0; id < 64; id++) {
		f->frag.id = id;
		assert_int_equal(add(f, 0, 40000, true), SP_REASM_HELD);
		evicted += f->result.nr_evicted;
		sp_reasm_held(f->reasm, &queues, &bytes);
		assert_true(bytes <= 131072 && bytes >= 40000);
		assert_int_equal(queues + evicted, id + 1);
	}
	assert_int_equal(queues, 3);
	/* the oldest, when it is the one that needs room, makes the others go
	 */
	f->frag.id = 61;
	assert_int_equal(add(f, 65528, 65535, false), SP_REASM_HELD);
	assert_int_equal(f->result.nr_evicted, 2);
	assert_int_equal(add(f, 40000, 25528, true), SP_REASM_BAD);
	sp_reasm_held(f->reasm, &queues, &bytes);
	assert_int_equal(queues, 0);
	assert_int_equal(bytes, 0);
}

static void a_touched_queue_is_empty_and_times_out(void **state)
{
	struct sp_reasm_expired expired;
	struct fixture *f = *state;

	assert_int_equal(sp_reasm_touch(f->reasm, &f->frag), 0);
	assert_int_equal(sp_reasm_touch(f->reasm, &f->frag), 0);
	assert_int_equal(nr_queues(f), 1);
	assert_true(sp_reasm_next_expiry_ns(f->reasm) == 31 * SECOND);
	f->frag.time_ns = 2 * SECOND;
	assert_int_equal(add(f, 8, 8, true), SP_REASM_HELD);
	assert_int_equal(nr_queues(f), 1);
	assert_true(sp_reasm_expire(f->reasm, 31 * SECOND, &expired));
	assert_false(expired.has_first);
	for (uint32_t id = 0; id < 17; id++) {
		f->frag.id = id;
		assert_int_equal(sp_reasm_touch(f->reasm, &f->frag), id == 16);
	}
}

static void add_captured(struct fixture *f, uint32_t off, uint32_t len,
			 bool more, uint32_t cap_len)
{
	f->frag.off = off;
	f->frag.len = len;
	f->frag.cap_len = cap_len;
	f->frag.more = more;
	f->frag.data = content + off;
	sp_reasm_add(f->reasm, &f->frag, &f->result);
}

static void what_was_captured_reaches_up_to_the_first_hole(void **state)
{
	struct fixture *f = *state;

	add_captured(f, 2000, 1000, false, 10);
	add_captured(f, 1000, 1000, true, 600);
	add_captured(f, 0, 1000, true, 1000);
	assert_int_equal(f->result.verdict, SP_REASM_WHOLE);
	assert_int_equal(f->result.datagram.len, 3000);
	assert_int_equal(f->result.datagram.cap_len, 1600);
	assert_memory_equal(f->result.datagram.data, content, 1600);
	/* octets that are cut off anyway are not missed */
	add_captured(f, 0, 1007, true, 1001);
	add_captured(f, 1000, 3, false, 3);
	assert_int_equal(f->result.datagram.cap_len, 1003);
	/* nothing at all */
	add_captured(f, 1000, 3, false, 3);
	add_captured(f, 0, 1000, true, 0);
	assert_int_equal(f->result.verdict, SP_REASM_WHOLE);
	assert_int_equal(f->result.datagram.cap_len, 0);
}

/* Both stand for the same function. */
static void the_inline_hash_equals_that_of_base(void **state)
{
	struct sp_siphash_key inline_key = {{1, 2}};
	struct sp_hash_key key = {1, 2};
	uint64_t words[5];

	memcpy(words, content, sizeof(words));
	for (size_t nr = 0; nr <= 5; nr++)
		assert_true(sp_siphash13(&inline_key, words, nr) ==
			    sp_hash(&key, words, nr * 8));
}

static void options_out_of_range_are_refused(void **state)
{
	struct sp_reasm_opts opts = {.timeout_ns = 1, .max_bytes = 1};
	struct sp_reasm *reasm = NULL;

	assert_int_equal(sp_reasm_create(&opts, &reasm), -EINVAL);
	opts.max_queues = UINT32_MAX;
	assert_int_equal(sp_reasm_create(&opts, &reasm), -EINVAL);
	assert_null(reasm);
	sp_reasm_destroy(NULL);
}

/*
 * The model: a datagram is a sorted array of runs, and a buffer. It judges as
 * the kernel's red-black tree does, with the last run apart.
 */
#define MODEL_QUEUES 6
#define MODEL_RUNS   512

struct model_queue {
	bool live, first, last;
	uint32_t nr_runs, len, meat, rid;
	struct {
		uint32_t from, to;
	} run[MODEL_RUNS];
	unsigned marks;
	uint8_t first_ecn;
	uint64_t expiry, user;
	uint8_t data[1 << 17], known[1 << 17];
};

struct model {
	struct model_queue queue[MODEL_QUEUES];
	uint32_t rid;
};

struct model_answer {
	enum sp_reasm_verdict verdict;
	bool restarted;
};

static void model_forget(struct model_queue *q)
{
	uint64_t expiry = q->expiry;
	uint32_t rid = q->rid;

	memset(q, 0, sizeof(*q));
	q->expiry = expiry;
	q->rid = rid;
	q->live = true;
}

static bool model_insert(struct model_queue *q, uint32_t from, uint32_t to,
			 bool *duplicate)
{
	uint32_t i;

	*duplicate = false;
	if (q->nr_runs > 0 && from == q->run[q->nr_runs - 1].to) {
		q->run[q->nr_runs - 1].to = to;
		return true;
	}
	for (i = 0; i < q->nr_runs; i++) {
		if (to <= q->run[i].from)
			break;
		if (from >= q->run[i].to)
			continue;
		*duplicate = from >= q->run[i].from && to <= q->run[i].to;
		return *duplicate;
	}
	memmove(&q->run[i + 1], &q->run[i],
		(q->nr_runs - i) * sizeof(q->run[0]));
	q->run[i].from = from;
	q->run[i].to = to;
	q->nr_runs++;
	return true;
}

static enum sp_reasm_verdict model_complete(const struct model_queue *q)
{
	if (!q->first || !q->last || q->meat != q->len)
		return SP_REASM_HELD;
	if ((q->marks & 1) && (q->marks & ~1u))
		return SP_REASM_BAD;
	return q->len + 20 > 65535 ? SP_REASM_BAD : SP_REASM_WHOLE;
}

static enum sp_reasm_verdict model_queue_add(struct model_queue *q,
					     const struct sp_fragment *frag)
{
	uint32_t from = frag->off, to = frag->off + frag->len;
	bool duplicate;

	if (frag->more)
		to = to / 8 * 8;
	if (frag->more ? q->last && to > q->len
		       : to < q->len || (q->last && to != q->len))
		return SP_REASM_BAD;
	q->last |= !frag->more;
	q->len = to > q->len ? to : q->len;
	if (from == to)
		return SP_REASM_BAD;
	if (!model_insert(q, from, to, &duplicate))
		return SP_REASM_OVERLAP;
	if (duplicate)
		return SP_REASM_HELD;
	for (uint32_t i = from; i < to && i - from < frag->cap_len; i++) {
		q->data[i] = frag->data[i - from];
		q->known[i] = 1;
	}
	q->meat += to - from;
	q->marks |= 1u << frag->ecn;
	if (from == 0) {
		q->first = true;
		q->user = frag->user;
		q->first_ecn = frag->ecn;
	}
	return model_complete(q);
}

static struct model_answer model_add(struct model *m,
				     const struct sp_fragment *frag)
{
	struct model_queue *q = &m->queue[frag->id];
	struct model_answer answer = {0};
	uint32_t start;

	if (!q->live) {
		q->expiry = frag->time_ns + TIMEOUT;
		model_forget(q);
	}
	start = q->rid;
	q->rid = ++m->rid;
	if (q->nr_runs > 0 && q->rid - start > 64) {
		answer.restarted = true;
		q->expiry = frag->time_ns + TIMEOUT;
		model_forget(q);
	}
	answer.verdict = model_queue_add(q, frag);
	if (answer.verdict != SP_REASM_HELD)
		q->live = false;
	return answer;
}

static void assert_same_datagram(const struct model_queue *q,
				 const struct sp_datagram *datagram)
{
	uint32_t known = 0;

	while (known < q->len && q->known[known])
		known++;
	assert_int_equal(datagram->len, q->len);
	assert_int_equal(datagram->cap_len, known);
	if (known > 0)
		assert_memory_equal(datagram->data, q->data, known);
	assert_int_equal(datagram->user, q->user);
	if ((q->marks & 8) && (q->marks & 6))
		assert_int_equal(datagram->ecn, 3);
	else
		assert_int_equal(datagram->ecn, q->first_ecn);
}

/* The same queues expire, oldest first. */
static void assert_same_expiry(struct sp_reasm *reasm, struct model *m,
			       uint64_t now_ns)
{
	struct sp_reasm_expired expired;
	uint64_t last = 0;
	unsigned nr = 0;

	for (unsigned i = 0; i < MODEL_QUEUES; i++)
		nr += m->queue[i].live && m->queue[i].expiry <= now_ns;
	for (; nr > 0; nr--) {
		struct model_queue *q = NULL;

		for (unsigned i = 0; i < MODEL_QUEUES; i++) {
			struct model_queue *candidate = &m->queue[i];

			if (candidate->live &&
			    (!q || candidate->expiry < q->expiry))
				q = candidate;
		}
		assert_true(sp_reasm_next_expiry_ns(reasm) == q->expiry);
		assert_true(q->expiry >= last);
		last = q->expiry;
		assert_true(sp_reasm_expire(reasm, now_ns, &expired));
		assert_int_equal(expired.has_first, q->first);
		assert_int_equal(expired.user, q->first ? q->user : 0);
		q->live = false;
	}
	assert_false(sp_reasm_expire(reasm, now_ns, &expired));
}

/*
 * Streams of three kinds: pieces of one tidy datagram; small ones that collide
 * often; large ones anywhere.
 */
static void random_shape(struct sp_fragment *frag, unsigned kind)
{
	unsigned r = (unsigned)random();

	switch (kind) {
	case 0:
		frag->off = r % 8 * 512;
		frag->len = frag->off == 3584 ? 100 : 512;
		frag->more = frag->off != 3584;
		break;
	case 1:
		frag->off = r % 12 * 8;
		frag->len = 1 + r / 16 % 40;
		frag->more = r / 1024 % 8 != 0;
		break;
	default:
		frag->off = r % 8192 * 8;
		frag->len = (unsigned)random() % 65516;
		frag->more = r / 8192 % 4 != 0;
		break;
	}
	if (kind != 0 && r % 7 == 0)
		frag->len = 0;
}

static void random_streams_are_judged_as_by_the_model(void **state)
{
	struct sp_reasm *reasm = table(MODEL_QUEUES, 64, false);
	struct model *m = calloc(1, sizeof(*m));
	unsigned seen[4] = {0}, nr_restarted = 0, nr_expired = 0;
	struct sp_fragment frag = {.head_len = 20, .protocol = 17};

	assert_non_null(m);
	srandom(20);
	for (uint64_t i = 0; i < 60000; i++) {
		unsigned kind = i / 2000 % 3;
		struct sp_reasm_result result;
		struct model_answer answer;
		unsigned r = (unsigned)random();

		frag.addrs = addrs_a;
		/* queue 0 only now and then, so that others come between */
		frag.id = r % 100 == 0 ? 0 : 1 + r % (MODEL_QUEUES - 1);
		random_shape(&frag, kind);
		frag.ecn =
			r / 128 % 16 == 0 ? 3 : 2 - (r / 2048 % 512 == 0) * 2;
		frag.data = content + frag.off + r % 64;
		frag.cap_len = r / 4096 % 8 == 0 ? frag.len / 2 : frag.len;
		frag.user = i;
		frag.time_ns += r % 128 == 0  ? 20 * SECOND
				: r % 16 == 0 ? 100000000
					      : 1;
		for (unsigned j = 0; j < MODEL_QUEUES; j++)
			nr_expired += m->queue[j].live &&
				      m->queue[j].expiry <= frag.time_ns;
		assert_same_expiry(reasm, m, frag.time_ns);
		answer = model_add(m, &frag);
		sp_reasm_add(reasm, &frag, &result);
		assert_int_equal(result.verdict, answer.verdict);
		assert_int_equal(result.restarted, answer.restarted);
		assert_int_equal(result.nr_evicted, 0);
		if (result.verdict == SP_REASM_WHOLE)
			assert_same_datagram(&m->queue[frag.id],
					     &result.datagram);
		seen[result.verdict]++;
		nr_restarted += result.restarted;
	}
	/* the streams were worth it */
	for (unsigned i = 0; i < 4; i++)
		assert_true(seen[i] > 500);
	assert_true(nr_restarted > 20 && nr_expired > 20);
	free(m);
	sp_reasm_destroy(reasm);
}

#define REASM_TEST(name)                                                       \
	cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		REASM_TEST(fragments_in_order_make_a_datagram),
		REASM_TEST(fragments_in_any_order_make_a_datagram),
		REASM_TEST(eight_octet_fragments_fill_the_largest_datagram),
		REASM_TEST(
			a_datagram_above_65535_octets_is_bad_when_it_is_complete),
		REASM_TEST(the_farthest_fragment_is_held),
		REASM_TEST(all_but_the_last_are_cut_to_a_multiple_of_8),
		REASM_TEST(an_empty_fragment_throws_the_queue_away),
		REASM_TEST(data_behind_the_end_throws_the_queue_away),
		REASM_TEST(a_second_end_throws_the_queue_away),
		REASM_TEST(an_overlap_throws_the_queue_away),
		REASM_TEST(a_duplicate_inside_a_run_changes_nothing),
		REASM_TEST(
			a_fragment_across_two_runs_overlaps_although_all_is_there),
		REASM_TEST(runs_are_told_apart_wherever_they_start),
		REASM_TEST(only_the_last_run_grows),
		REASM_TEST(an_end_that_comes_as_a_duplicate_completes_nothing),
		REASM_TEST(the_key_of_ipv4_has_addresses_id_and_protocol),
		REASM_TEST(the_key_of_ipv6_has_no_protocol),
		REASM_TEST(ecn_marks_are_joined),
		REASM_TEST(the_marks_of_a_duplicate_do_not_count),
		REASM_TEST(a_queue_times_out_counted_from_its_first_fragment),
		REASM_TEST(
			queues_time_out_in_the_order_of_their_first_fragments),
		REASM_TEST(time_that_goes_back_stands_still),
		REASM_TEST(a_time_near_the_end_of_time_does_not_wrap),
		REASM_TEST(up_to_63_others_of_the_source_may_come_in_between),
		REASM_TEST(after_64_others_of_the_source_a_queue_starts_again),
		REASM_TEST(others_of_another_source_do_not_count),
		REASM_TEST(sources_come_and_go),
		REASM_TEST(without_a_limit_any_number_may_come_in_between),
		REASM_TEST(the_oldest_queue_goes_when_there_are_too_many),
		REASM_TEST(octets_stay_within_the_bound),
		REASM_TEST(a_touched_queue_is_empty_and_times_out),
		REASM_TEST(what_was_captured_reaches_up_to_the_first_hole),
		cmocka_unit_test(the_inline_hash_equals_that_of_base),
		cmocka_unit_test(options_out_of_range_are_refused),
		cmocka_unit_test(random_streams_are_judged_as_by_the_model),
	};

	return cmocka_run_group_tests(tests, set_up_content, NULL);
}
