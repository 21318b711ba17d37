/* SPDX-License-Identifier: MIT */
/*
 * Per-CPU memory of a plane: adds, lanes, pairs, reuse, limits.
 */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <statplane/percpu.h>

#include "percpu/state.h"
#include "plane/plane.h"

#define NR_LANES 3

static struct sp_plane *plane;
static const struct sp_percpu *percpu;

static int set_up(void **state)
{
	const struct sp_plane_opts opts = {
		.sz = sizeof(opts),
		.nr_lanes = NR_LANES,
		.unit_bytes = 1u << 20,
	};
	int r;

	(void)state;
	r = sp_plane_create(&opts, &plane);
	if (!r)
		percpu = sp_plane_percpu(plane);
	return r;
}

static int tear_down(void **state)
{
	(void)state;
	sp_plane_close(plane);
	return 0;
}

static sp_percpu_t alloc(size_t size, size_t align)
{
	sp_percpu_t off = 0;

	assert_int_equal(sp_percpu_alloc(plane, size, align, &off), 0);
	return off;
}

static struct sp_percpu_stats stats(void)
{
	struct sp_percpu_stats now;

	sp_percpu_read_stats(plane, &now);
	return now;
}

static void an_add_reaches_its_cell_and_no_other(void **state)
{
	sp_percpu_t off = alloc(24, 8);

	(void)state;
	for (uint64_t i = 1; i <= 100; i++)
		sp_percpu_add(percpu, off + 8, i);
	assert_int_equal(sp_percpu_read(plane, off), 0);
	assert_int_equal(sp_percpu_read(plane, off + 8), 5050);
	assert_int_equal(sp_percpu_read(plane, off + 16), 0);
}

static void an_add_of_minus_one_takes_one_away(void **state)
{
	sp_percpu_t off = alloc(8, 8);

	(void)state;
	sp_percpu_add(percpu, off, 5);
	sp_percpu_add(percpu, off, -1ull);
	sp_percpu_add(percpu, off, 0x123456789abcdefull);
	assert_int_equal(sp_percpu_read(plane, off), 4 + 0x123456789abcdefull);
}

static void adds_go_to_the_unit_of_a_cpu(void **state)
{
	sp_percpu_t off = alloc(8, 8);
	struct sp_percpu_stats now;

	(void)state;
	sp_percpu_add(percpu, off, 1);
	now = stats();
	assert_int_equal(now.nr_overflow, 0);
	/* The shared unit and the one of the CPU. */
	assert_int_equal(now.nr_written, 2);
}

static void a_lane_is_owned_until_released(void **state)
{
	struct sp_lane lane[NR_LANES], extra = {0};
	sp_percpu_t off = alloc(8, 8);

	(void)state;
	for (int i = 0; i < NR_LANES; i++) {
		assert_int_equal(sp_lane_claim(plane, &lane[i]), 0);
		for (int j = 0; j < i; j++)
			assert_int_not_equal(lane[i].unit, lane[j].unit);
		sp_lane_add(&lane[i], off, 10);
	}
	assert_int_equal(sp_lane_claim(plane, &extra), -EAGAIN);
	assert_null(extra.plane);
	assert_int_equal(sp_percpu_read(plane, off), 10 * NR_LANES);
	sp_lane_release(&lane[1]);
	assert_int_equal(sp_lane_claim(plane, &extra), 0);
	/* What the lane has counted stays. */
	sp_lane_add(&extra, off, 1);
	assert_int_equal(sp_percpu_read(plane, off), 10 * NR_LANES + 1);
	sp_lane_release(&extra);
	sp_lane_release(&lane[0]);
	sp_lane_release(&lane[2]);
}

static void a_pair_is_counted_and_read_whole(void **state)
{
	sp_percpu_t off = alloc(48, 16);
	struct sp_lane lane;
	struct sp_pair pair;

	(void)state;
	assert_int_equal(off % 16, 0);
	assert_int_equal(sp_lane_claim(plane, &lane), 0);
	sp_pair_add(percpu, off + 16, 1, 1500);
	sp_pair_add(percpu, off + 16, 2, 1ull << 40);
	sp_lane_pair_add(&lane, off + 16, 3, 60);
	pair = sp_pair_read(plane, off + 16);
	assert_int_equal(pair.packets, 6);
	assert_int_equal(pair.bytes, 1560 + (1ull << 40));
	assert_int_equal(sp_pair_read(plane, off).packets, 0);
	assert_int_equal(sp_pair_read(plane, off + 32).bytes, 0);
	sp_lane_release(&lane);
}

static void the_slow_paths_count_the_same(void **state)
{
	sp_percpu_t off = alloc(32, 16);
	struct sp_lane lane;

	(void)state;
	assert_int_equal(sp_lane_claim(plane, &lane), 0);
	sp_percpu_add_slow(percpu, off, 7);
	sp_pair_add_slow(percpu, off + 16, 7, 8);
	sp_lane_pair_add_slow(&lane, off + 16, 100, 200);
	assert_int_equal(sp_percpu_read(plane, off), 7);
	assert_int_equal(sp_pair_read(plane, off + 16).packets, 107);
	assert_int_equal(sp_pair_read(plane, off + 16).bytes, 208);
	sp_lane_release(&lane);
}

static void a_fold_is_all_reads_at_once(void **state)
{
	enum {
		NR = 300
	};
	sp_percpu_t off = alloc(NR * 8, 8);
	struct sp_lane lane;
	static uint64_t sum[NR];

	(void)state;
	assert_int_equal(sp_lane_claim(plane, &lane), 0);
	for (unsigned i = 0; i < NR; i++) {
		sp_percpu_add(percpu, off + 8 * i, i);
		sp_lane_add(&lane, off + 8 * i, 1000 * i);
	}
	sp_percpu_fold(plane, off, NR, sum);
	for (unsigned i = 0; i < NR; i++) {
		assert_int_equal(sum[i], 1001 * i);
		assert_int_equal(sum[i], sp_percpu_read(plane, off + 8 * i));
	}
	sp_lane_release(&lane);
}

static void reused_cells_read_as_zero(void **state)
{
	const size_t sizes[] = {8, 16, 96, 1000, 4096, 20000};
	struct sp_lane lane;

	(void)state;
	assert_int_equal(sp_lane_claim(plane, &lane), 0);
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		sp_percpu_t off = alloc(sizes[s], 8), again = 0;

		for (size_t at = 0; at < sizes[s]; at += 8) {
			sp_percpu_add(percpu, off + at, 1);
			sp_lane_add(&lane, off + at, 1);
		}
		sp_percpu_free(plane, off, sizes[s]);
		again = alloc(sizes[s], 8);
		assert_int_equal(again, off);
		for (size_t at = 0; at < sizes[s]; at += 8)
			assert_int_equal(sp_percpu_read(plane, again + at), 0);
	}
	sp_lane_release(&lane);
}

static void a_reused_neighbour_keeps_its_count(void **state)
{
	sp_percpu_t a = alloc(8, 8), b = alloc(8, 8), c = alloc(8, 8);

	(void)state;
	sp_percpu_add(percpu, a, 1);
	sp_percpu_add(percpu, b, 2);
	sp_percpu_add(percpu, c, 3);
	sp_percpu_free(plane, b, 8);
	assert_int_equal(alloc(8, 8), b);
	assert_int_equal(sp_percpu_read(plane, a), 1);
	assert_int_equal(sp_percpu_read(plane, b), 0);
	assert_int_equal(sp_percpu_read(plane, c), 3);
}

static void arguments_out_of_range_are_refused(void **state)
{
	sp_percpu_t off = 42;

	(void)state;
	assert_int_equal(sp_percpu_alloc(plane, 0, 8, &off), -EINVAL);
	assert_int_equal(
		sp_percpu_alloc(plane, SP_PERCPU_MAX_SIZE + 1, 8, &off),
		-EINVAL);
	assert_int_equal(sp_percpu_alloc(plane, 8, 0, &off), -EINVAL);
	assert_int_equal(sp_percpu_alloc(plane, 8, 24, &off), -EINVAL);
	assert_int_equal(sp_percpu_alloc(plane, 8, 8192, &off), -EINVAL);
	assert_int_equal(off, 42);
	assert_int_equal(sp_percpu_alloc(plane, 8, 1, &off), 0);
	assert_int_equal(off % 8, 0);
	sp_percpu_free(plane, 0, 8); /* no object */
}

static void a_full_plane_counts_what_it_refused(void **state)
{
	sp_percpu_t off = 0, last = 0;
	uint64_t nr = 0;

	(void)state;
	while (!sp_percpu_alloc(plane, 4096, 4096, &off)) {
		last = off;
		nr++;
	}
	assert_int_equal(sp_percpu_alloc(plane, 4096, 4096, &off), -ENOSPC);
	assert_int_equal(stats().nr_failed, 2);
	assert_int_equal(stats().nr_alloc, nr);
	assert_int_equal(stats().used_bytes, nr * 4096);
	assert_true(stats().used_bytes <= stats().unit_size);
	/* All of it can be written. */
	sp_percpu_add(percpu, last + 4088, 1);
	assert_int_equal(sp_percpu_read(plane, last + 4088), 1);
	sp_percpu_free(plane, last, 4096);
	assert_int_equal(stats().nr_dealloc, 1);
	assert_int_equal(alloc(4096, 4096), last);
}

static void a_bulk_gives_objects_of_their_own(void **state)
{
	enum {
		NR = 5000
	};
	static sp_percpu_t off[NR], none[1u << 17];

	(void)state;
	assert_int_equal(sp_percpu_alloc_bulk(plane, 16, 16, NR, off), 0);
	for (int i = 0; i < NR; i++)
		sp_percpu_add(percpu, off[i], (uint64_t)i);
	for (int i = 0; i < NR; i++) {
		assert_int_equal(off[i] % 16, 0);
		assert_int_equal(sp_percpu_read(plane, off[i]), i);
	}
	assert_int_equal(sp_percpu_alloc_bulk(plane, 16, 16, 1u << 17, none),
			 -ENOSPC);
	assert_int_equal(none[0], 0);
	assert_int_equal(sp_percpu_alloc_bulk(plane, 16, 16, 0, none), 0);
}

static void memory_grows_under_written_units(void **state)
{
	struct sp_lane lane;
	sp_percpu_t off;

	(void)state;
	assert_int_equal(sp_lane_claim(plane, &lane), 0);
	while (!sp_percpu_alloc(plane, 4096, 8, &off)) {
		sp_lane_add(&lane, off, 1);
		sp_percpu_add(percpu, off, 2);
		assert_int_equal(sp_percpu_read(plane, off), 3);
	}
	sp_lane_release(&lane);
}

static void a_cpu_beyond_the_units_uses_the_shared_one(void **state)
{
	const struct sp_plane_opts opts = {
		.sz = sizeof(opts),
		.nr_cpus = 1,
		.unit_bytes = 1u << 20,
	};
	struct sp_plane *small;
	struct sp_percpu_stats now;
	cpu_set_t old, set;
	sp_percpu_t off;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(old), &old), 0);
	if (!CPU_ISSET(1, &old)) {
		print_message("skipped: there is no CPU 1\n");
		skip();
	}
	CPU_ZERO(&set);
	CPU_SET(1, &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
	assert_int_equal(sp_plane_create(&opts, &small), 0);
	assert_int_equal(sp_percpu_alloc(small, 16, 16, &off), 0);
	for (int i = 0; i < 1000; i++)
		sp_percpu_add(sp_plane_percpu(small), off, 1);
	sp_pair_add(sp_plane_percpu(small), off, 1, 2);
	assert_int_equal(sp_pair_read(small, off).packets, 1001);
	assert_int_equal(sp_pair_read(small, off).bytes, 2);
	sp_percpu_read_stats(small, &now);
	assert_int_equal(now.nr_overflow, 1001);
	assert_int_equal(sched_setaffinity(0, sizeof(old), &old), 0);
	sp_plane_close(small);
}

#if defined(SP_PERCPU_FAST_X86) || defined(SP_PERCPU_FAST_ARM64)
/*
 * Where the C library has no rseq area registered, the area is plain memory: say
 * that this is CPU 0, and the fast path can be walked without a kernel.
 */
static void the_fast_path_goes_by_its_table(void **state)
{
	int32_t *cpu = (int32_t *)((char *)__builtin_thread_pointer() +
				   __rseq_offset + 4);
	struct sp_percpu_state *mine = sp_percpu_state(plane);
	sp_percpu_t off = alloc(32, 16);
	uintptr_t unit = (uintptr_t)sp_plane_unit(plane, 1);
	int32_t was = *cpu;

	(void)state;
	if (__rseq_size) {
		print_message("skipped: the kernel keeps the rseq area\n");
		skip();
	}
	assert_true(was == -1 || was == -2);
	assert_false(sp_percpu_try_add(percpu, off, 1));
	assert_int_equal(sp_plane_mark_unit(plane, 1), 0);
	*cpu = 0;
	assert_false(sp_percpu_try_add(percpu, off, 1));
	assert_false(sp_pair_try_add(percpu, off + 16, 1, 1));
	mine->handle.base[0] = unit;
	assert_true(sp_percpu_try_add(percpu, off, 5));
	assert_true(sp_percpu_try_add(percpu, off, -2ull));
	assert_false(sp_pair_try_add(percpu, off + 16, 1, 1));
	assert_int_equal(sp_percpu_read(plane, off), 3);
	assert_int_equal(sp_percpu_read(plane, off + 8), 0);
	assert_int_equal(sp_pair_read(plane, off + 16).packets, 0);
	*cpu = was;
}
#endif

#if defined(SP_PERCPU_FAST_X86)
/* What the linker made of all sequences of this program. */
struct descriptor {
	uint32_t version;
	uint32_t flags;
	uint64_t start;
	uint64_t length;
	uint64_t abort;
} __attribute__((aligned(32)));

extern const struct descriptor __start___rseq_cs[], __stop___rseq_cs[];

static void each_sequence_is_one_that_the_kernel_takes(void **state)
{
	const struct descriptor *d = __start___rseq_cs;
	unsigned nr = 0;

	(void)state;
	for (; d < __stop___rseq_cs; d++, nr++) {
		uint32_t signature;

		assert_int_equal(d->version, 0);
		assert_int_equal(d->flags, 0);
		assert_in_range(d->length, 1, 64);
		/* The abort handler lies outside, behind the signature. */
		assert_true(d->abort < d->start ||
			    d->abort >= d->start + d->length);
		memcpy(&signature, (const void *)(uintptr_t)(d->abort - 4), 4);
		assert_int_equal(signature, RSEQ_SIG);
	}
	assert_true(nr > 3);
}
#endif

static void the_header_tells_the_mode(void **state)
{
	(void)state;
	assert_int_equal(plane->hdr->percpu_mode, sp_percpu_mode());
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(an_add_reaches_its_cell_and_no_other),
		TEST(an_add_of_minus_one_takes_one_away),
		TEST(adds_go_to_the_unit_of_a_cpu),
		TEST(a_lane_is_owned_until_released),
		TEST(a_pair_is_counted_and_read_whole),
		TEST(the_slow_paths_count_the_same),
		TEST(a_fold_is_all_reads_at_once),
		TEST(reused_cells_read_as_zero),
		TEST(a_reused_neighbour_keeps_its_count),
		TEST(arguments_out_of_range_are_refused),
		TEST(a_full_plane_counts_what_it_refused),
		TEST(a_bulk_gives_objects_of_their_own),
		TEST(memory_grows_under_written_units),
		TEST(a_cpu_beyond_the_units_uses_the_shared_one),
#if defined(SP_PERCPU_FAST_X86) || defined(SP_PERCPU_FAST_ARM64)
		TEST(the_fast_path_goes_by_its_table),
#endif
#if defined(SP_PERCPU_FAST_X86)
		TEST(each_sequence_is_one_that_the_kernel_takes),
#endif
		TEST(the_header_tells_the_mode),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
