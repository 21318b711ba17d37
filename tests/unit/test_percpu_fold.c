/* SPDX-License-Identifier: MIT */
/*
 * Every fold kernel gives the sums of a plain loop, touches no cell outside the
 * range, and writes no sum outside the array.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "percpu/fold.h"

#define MAX_UNITS 200
#define NR_WORDS  ((MAX_UNITS + 63) / 64)
#define CELLS     640
#define STRIDE    (CELLS * 8 + 4096)
#define GUARD     0xfeedfacecafebeefull

static char *mem;
static uint64_t written[NR_WORDS];

static uint64_t rnd(void)
{
	static uint64_t x = 88172645463325252ull;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

static uint64_t *cell(unsigned unit, size_t idx)
{
	return (uint64_t *)(void *)(mem + (size_t)unit * STRIDE + idx * 8);
}

static int set_up(void **state)
{
	(void)state;
	mem = mmap(NULL, (size_t)MAX_UNITS * STRIDE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(mem, MAP_FAILED);
	for (unsigned u = 0; u < MAX_UNITS; u++)
		for (size_t i = 0; i < CELLS; i++)
			*cell(u, i) = rnd();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	munmap(mem, (size_t)MAX_UNITS * STRIDE);
	return 0;
}

static uint64_t plain_sum(size_t idx)
{
	uint64_t sum = 0;

	for (unsigned u = 0; u < MAX_UNITS; u++)
		if (written[u / 64] >> (u % 64) & 1)
			sum += *cell(u, idx);
	return sum;
}

static void check(sp_fold_fn *fold, size_t first, size_t nr)
{
	static uint64_t sum[CELLS + 16];
	struct sp_fold_units units = {
		.base = mem,
		.stride = STRIDE,
		.written = written,
		.nr_words = NR_WORDS,
	};

	for (size_t i = 0; i < nr + 16; i++)
		sum[i] = GUARD;
	fold(&units, first * 8, nr, sum + 8);
	for (size_t i = 0; i < 8; i++) {
		assert_int_equal(sum[i], GUARD);
		assert_int_equal(sum[8 + nr + i], GUARD);
	}
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(sum[8 + i], plain_sum(first + i));
}

static void write_units(unsigned percent)
{
	memset(written, 0, sizeof(written));
	for (unsigned u = 0; u < MAX_UNITS; u++)
		if (rnd() % 100 < percent)
			written[u / 64] |= 1ull << u % 64;
}

static void check_kernel(const struct sp_fold_kernel *kernel)
{
	if (!kernel->usable()) {
		print_message("skipped: this CPU has no %s\n", kernel->name);
		return;
	}
	/* Each length at each place in a line, few units. */
	write_units(3);
	for (size_t first = 0; first < 9; first++)
		for (size_t nr = 0; nr < 150; nr++)
			check(kernel->fold, first, nr);
	for (int i = 0; i < 200; i++) {
		size_t first = rnd() % CELLS;

		write_units((unsigned)(rnd() % 101));
		check(kernel->fold, first, rnd() % (CELLS - first + 1));
	}
}

static void each_kernel_sums_any_range_of_any_units(void **state)
{
	(void)state;
	for (size_t i = 0; i < sp_fold_nr_kernels; i++)
		check_kernel(sp_fold_kernels[i]);
}

static void no_unit_at_all_sums_to_zero(void **state)
{
	(void)state;
	memset(written, 0, sizeof(written));
	for (size_t i = 0; i < sp_fold_nr_kernels; i++)
		if (sp_fold_kernels[i]->usable())
			check(sp_fold_kernels[i]->fold, 3, 77);
}

static void the_last_unit_is_summed(void **state)
{
	(void)state;
	memset(written, 0, sizeof(written));
	written[(MAX_UNITS - 1) / 64] = 1ull << (MAX_UNITS - 1) % 64;
	for (size_t i = 0; i < sp_fold_nr_kernels; i++)
		if (sp_fold_kernels[i]->usable())
			check(sp_fold_kernels[i]->fold, 0, CELLS);
}

/* The cells end where the mapping ends: one byte further would be a fault. */
static void nothing_outside_the_range_is_touched(void **state)
{
	struct sp_fold_units units = {.written = written, .nr_words = 1};
	char *page;
	uint64_t sum[24];

	(void)state;
	page = mmap(NULL, 3 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	assert_ptr_not_equal(page, MAP_FAILED);
	assert_int_equal(mprotect(page + 4096, 4096, PROT_READ | PROT_WRITE),
			 0);
	written[0] = 1;
	units.base = page;
	for (size_t k = 0; k < sp_fold_nr_kernels; k++) {
		if (!sp_fold_kernels[k]->usable())
			continue;
		for (size_t nr = 0; nr <= 24; nr++) {
			sp_fold_kernels[k]->fold(&units, 4096, nr, sum);
			sp_fold_kernels[k]->fold(&units, 2 * 4096 - 8 * nr, nr,
						 sum);
		}
	}
	munmap(page, 3 * 4096);
}

static void the_best_kernel_is_the_first_usable_one(void **state)
{
	const struct sp_fold_kernel *best = sp_fold_best();

	(void)state;
	for (size_t i = 0; sp_fold_kernels[i] != best; i++)
		assert_false(sp_fold_kernels[i]->usable());
	assert_ptr_equal(sp_fold_by_name(best->name), best);
	assert_ptr_equal(sp_fold_by_name("scalar"), &sp_fold_scalar);
	assert_null(sp_fold_by_name("none"));
	write_units(50);
	check(sp_fold, 1, CELLS - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kernel_sums_any_range_of_any_units),
		cmocka_unit_test(no_unit_at_all_sums_to_zero),
		cmocka_unit_test(the_last_unit_is_summed),
		cmocka_unit_test(nothing_outside_the_range_is_touched),
		cmocka_unit_test(the_best_kernel_is_the_first_usable_one),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
