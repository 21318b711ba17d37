/* SPDX-License-Identifier: MIT */
/*
 * The allocator's bookkeeping, without any unit: no two objects overlap, all are
 * aligned, failures change nothing, and what was in use is known to be stale.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "percpu/alloc.h"

#define UNIT_BYTES (8u << 20)
#define CHUNK      (64u << 10)

static struct sp_alloc alloc;
static uint64_t populated, populate_limit;

static uint64_t rnd(void)
{
	static uint64_t x = 88172645463325252ull;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

static int populate(void *ctx, uint64_t upto, uint64_t *ret_populated)
{
	(void)ctx;
	if (upto > populate_limit)
		return -ENOSPC;
	populated = (upto + CHUNK - 1) / CHUNK * CHUNK;
	if (populated > populate_limit)
		populated = populate_limit;
	*ret_populated = populated;
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	populated = 0;
	populate_limit = UNIT_BYTES;
	return sp_alloc_init(&alloc, UNIT_BYTES, populate, NULL);
}

static int tear_down(void **state)
{
	(void)state;
	sp_alloc_fini(&alloc);
	return 0;
}

static uint64_t take(size_t size, size_t align)
{
	uint64_t off = 0;

	assert_int_equal(sp_alloc_take(&alloc, size, align, 1, &off), 0);
	return off;
}

static void each_size_gets_a_class_that_holds_it_with_little_waste(void **state)
{
	(void)state;
	for (size_t size = 1; size <= SP_ALLOC_MAX_SMALL; size++) {
		uint64_t before = alloc.used_bytes;
		uint64_t off = take(size, 8), got = alloc.used_bytes - before;

		assert_true(got >= size);
		assert_true(got <= (size + 7) / 8 * 8 || got - size < size / 4);
		sp_alloc_give(&alloc, off & ~1ull, size);
	}
	assert_int_equal(alloc.used_bytes, 0);
}

static void each_alignment_is_honoured_at_each_size(void **state)
{
	(void)state;
	for (size_t align = 8; align <= 4096; align *= 2)
		for (size_t size = 1; size < 20000; size += 1 + size / 7)
			for (int i = 0; i < 3; i++)
				assert_int_equal(
					(take(size, align) & ~1ull) % align, 0);
}

static void a_power_of_two_is_aligned_to_itself(void **state)
{
	(void)state;
	for (size_t size = 8; size <= 4096; size *= 2)
		for (int i = 0; i < 10; i++)
			assert_int_equal(take(size, 8) % size, 0);
}

static void offset_zero_is_never_handed_out(void **state)
{
	uint64_t off;

	(void)state;
	while (!sp_alloc_take(&alloc, 4096, 8, 1, &off))
		assert_true(off >= 4096);
}

static void everything_handed_out_is_populated(void **state)
{
	(void)state;
	for (int i = 0; i < 2000; i++) {
		size_t size = 1 + rnd() % 6000;
		uint64_t off;

		if (sp_alloc_take(&alloc, size, 8, 1, &off))
			break;
		assert_true(off + size <= populated);
	}
}

/* A random life, checked against a map of the bytes. */
#define NR_OBJECTS 3000

struct object {
	uint64_t off;
	size_t size;
};

static unsigned char owner_map[UNIT_BYTES / 8]; /* 1: belongs to an object */
static unsigned char used_map[UNIT_BYTES / 8];  /* 1: did so once */

static void claim(const struct object *object, bool stale)
{
	for (uint64_t at = object->off / 8;
	     at < (object->off + object->size + 7) / 8; at++) {
		assert_int_equal(owner_map[at], 0);
		if (!stale)
			assert_int_equal(used_map[at], 0);
		owner_map[at] = 1;
	}
}

static void drop(struct object *object)
{
	for (uint64_t at = object->off / 8;
	     at < (object->off + object->size + 7) / 8; at++) {
		owner_map[at] = 0;
		used_map[at] = 1;
	}
	sp_alloc_give(&alloc, object->off, object->size);
	object->size = 0;
}

static size_t random_size(void)
{
	switch (rnd() % 10) {
	case 0:
		return 1 + rnd() % 30000;
	case 1:
		return 1 + rnd() % 5000;
	default:
		return 1 + rnd() % 300;
	}
}

static void objects_never_overlap_and_reused_cells_are_known(void **state)
{
	static struct object objects[NR_OBJECTS];
	unsigned nr_failed = 0;

	(void)state;
	memset(owner_map, 0, sizeof(owner_map));
	memset(used_map, 0, sizeof(used_map));
	for (int i = 0; i < 60000; i++) {
		struct object *object = &objects[rnd() % NR_OBJECTS];
		size_t align = (size_t)8 << rnd() % 10;
		uint64_t off;

		if (object->size) {
			drop(object);
			continue;
		}
		if (sp_alloc_take(&alloc, object->size = random_size(), align,
				  1, &off)) {
			object->size = 0;
			nr_failed++;
			continue;
		}
		object->off = off & ~(uint64_t)SP_ALLOC_STALE;
		assert_int_equal(object->off % align, 0);
		claim(object, off & SP_ALLOC_STALE);
	}
	assert_int_equal(alloc.nr_failed, nr_failed);
	for (int i = 0; i < NR_OBJECTS; i++)
		if (objects[i].size)
			drop(&objects[i]);
	assert_int_equal(alloc.used_bytes, 0);
	assert_int_equal(alloc.nr_alloc, alloc.nr_dealloc);
}

static void freed_pages_serve_other_sizes(void **state)
{
	static uint64_t off[4096];
	size_t nr, again;

	(void)state;
	for (nr = 0; nr < 4096; nr++)
		if (sp_alloc_take(&alloc, 4096, 8, 1, &off[nr]))
			break;
	assert_true(nr > 2000);
	for (size_t i = 0; i < nr; i++)
		sp_alloc_give(&alloc, off[i], 4096);
	/* All of it is one run again: the largest objects fit. */
	for (again = 0; !sp_alloc_take(&alloc, 1u << 20, 8, 1, &off[again]);)
		again++;
	assert_int_equal(again, UNIT_BYTES / (1u << 20) - 1);
	for (size_t i = 0; i < again; i++)
		sp_alloc_give(&alloc, off[i] & ~1ull, 1u << 20);
	for (again = 0; again < 4096; again++)
		if (sp_alloc_take(&alloc, 1000, 8, 1, &off[again]))
			break;
	assert_int_equal(again, 4096);
}

static void a_full_plane_says_so_and_stays_as_it_was(void **state)
{
	static struct sp_alloc before;
	uint64_t off, kept = 42;

	(void)state;
	while (!sp_alloc_take(&alloc, 24, 8, 1, &off))
		;
	before = alloc;
	assert_int_equal(sp_alloc_take(&alloc, 24, 8, 1, &kept), -ENOSPC);
	assert_int_equal(kept, 42);
	before.nr_failed++;
	assert_memory_equal(&before, &alloc, sizeof(alloc));
	/* What is given back is had again. */
	sp_alloc_give(&alloc, off & ~1ull, 24);
	assert_int_equal(sp_alloc_take(&alloc, 24, 8, 1, &kept), 0);
	assert_int_equal(kept, (off & ~1ull) | SP_ALLOC_STALE);
}

/* More objects than fit, as many as would fit if nothing were lost. */
static void check_bulk(size_t size, uint64_t limit)
{
	static uint64_t off[UNIT_BYTES / 8];
	const size_t too_many = limit / size, half = too_many / 2;
	const uint32_t nr_used = alloc.pages.nr_used;
	const uint64_t nr_failed = alloc.nr_failed;

	populate_limit = limit;
	memset(off, 0xee, sizeof(off));
	assert_int_equal(sp_alloc_take(&alloc, size, 8, too_many, off),
			 -ENOSPC);
	assert_int_equal(alloc.nr_failed, nr_failed + too_many);
	for (size_t i = 0; i < too_many; i++)
		assert_int_equal(off[i], 0xeeeeeeeeeeeeeeeeull);
	assert_int_equal(alloc.used_bytes, 0);
	assert_int_equal(alloc.pages.nr_used, nr_used);
	assert_int_equal(sp_alloc_take(&alloc, size, 8, half, off), 0);
	for (size_t i = 0; i < half; i++)
		sp_alloc_give(&alloc, off[i] & ~1ull, size);
	assert_int_equal(alloc.used_bytes, 0);
}

static void a_bulk_is_all_or_nothing(void **state)
{
	(void)state;
	for (size_t size = 8; size < 100000; size *= 5) {
		tear_down(state);
		set_up(state);
		check_bulk(size, UNIT_BYTES);
	}
	for (size_t size = 8; size < 100000; size *= 5) {
		tear_down(state);
		set_up(state);
		check_bulk(size, UNIT_BYTES / 4);
	}
}

static void no_memory_is_no_space_and_passes(void **state)
{
	uint64_t off = 1, small;

	(void)state;
	populate_limit = 3 * 4096;
	small = take(8, 8);
	assert_int_equal(sp_alloc_take(&alloc, 3 * 4096, 8, 1, &off), -ENOSPC);
	assert_int_equal(off, 1);
	assert_int_equal(alloc.used_bytes, 8);
	populate_limit = UNIT_BYTES;
	assert_true(take(3 * 4096, 8) > small);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(each_size_gets_a_class_that_holds_it_with_little_waste),
		TEST(each_alignment_is_honoured_at_each_size),
		TEST(a_power_of_two_is_aligned_to_itself),
		TEST(offset_zero_is_never_handed_out),
		TEST(everything_handed_out_is_populated),
		TEST(objects_never_overlap_and_reused_cells_are_known),
		TEST(freed_pages_serve_other_sizes),
		TEST(a_full_plane_says_so_and_stays_as_it_was),
		TEST(a_bulk_is_all_or_nothing),
		TEST(no_memory_is_no_space_and_passes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
