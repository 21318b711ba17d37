/* SPDX-License-Identifier: MIT */
/*
 * The n-th call for memory fails, for every n until none fails.
 *
 * A scenario of allocations, lanes and adds goes on after the failure: the call
 * that failed says so and changes nothing, the same call made again succeeds,
 * and every add is counted, in the shared unit if a CPU has none of its own.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/types.h>

#include <cmocka.h>

#include <statplane/percpu.h>

static bool armed;
static unsigned countdown; /* calls until one fails; 0 is this one */
static bool hit;

static bool fails(void)
{
	if (!armed || hit || countdown--)
		return false;
	hit = true;
	return true;
}

int __real_fallocate64(int fd, int mode, off_t off, off_t len);
int __wrap_fallocate64(int fd, int mode, off_t off, off_t len);
int __wrap_fallocate64(int fd, int mode, off_t off, off_t len)
{
	/* Giving memory back (mode) needs none. */
	if (!mode && fails()) {
		errno = ENOSPC;
		return -1;
	}
	return __real_fallocate64(fd, mode, off, len);
}

void *__real_mmap64(void *addr, size_t len, int prot, int flags, int fd,
		    off_t off);
void *__wrap_mmap64(void *addr, size_t len, int prot, int flags, int fd,
		    off_t off);
void *__wrap_mmap64(void *addr, size_t len, int prot, int flags, int fd,
		    off_t off)
{
	if (fails()) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return __real_mmap64(addr, len, prot, flags, fd, off);
}

static struct sp_plane *plane;

static void open_plane(void)
{
	static const struct sp_plane_opts opts = {
		.sz = sizeof(opts),
		.nr_lanes = 4,
		.unit_bytes = 4u << 20,
	};

	while (sp_plane_create(&opts, &plane))
		assert_true(hit);
}

static uint64_t used_bytes(void)
{
	struct sp_percpu_stats stats;

	sp_percpu_read_stats(plane, &stats);
	return stats.used_bytes;
}

static sp_percpu_t alloc(size_t size)
{
	sp_percpu_t off = 42;
	uint64_t before = used_bytes();

	while (sp_percpu_alloc(plane, size, 8, &off)) {
		assert_true(hit);
		assert_int_equal(off, 42);
		assert_int_equal(used_bytes(), before);
	}
	return off;
}

static void alloc_bulk(size_t size, size_t nr, sp_percpu_t *off)
{
	uint64_t before = used_bytes();

	off[0] = off[nr - 1] = 42;
	while (sp_percpu_alloc_bulk(plane, size, 8, nr, off)) {
		assert_true(hit);
		assert_int_equal(off[0], 42);
		assert_int_equal(off[nr - 1], 42);
		assert_int_equal(used_bytes(), before);
	}
}

static void claim(struct sp_lane *lane)
{
	*lane = (struct sp_lane){0};
	while (sp_lane_claim(plane, lane)) {
		assert_true(hit);
		assert_null(lane->plane);
	}
}

/* 3 to each: one by the CPU, two by the lane. */
static void count(const struct sp_lane *lane, sp_percpu_t off)
{
	sp_percpu_add(sp_plane_percpu(plane), off, 1);
	sp_lane_add(lane, off, 2);
}

static void scenario(void)
{
	enum {
		NR = 2000
	};
	static sp_percpu_t many[NR];
	sp_percpu_t small, large, page;
	struct sp_lane lane, other;

	open_plane();
	small = alloc(8);
	claim(&lane);
	count(&lane, small);
	large = alloc(300000);
	page = alloc(4096);
	count(&lane, large + 299992);
	claim(&other);
	count(&other, page);
	alloc_bulk(1000, NR, many);
	count(&lane, many[0]);
	count(&lane, many[NR - 1]);
	sp_percpu_free(plane, large, 300000);
	assert_int_equal(alloc(300000), large);

	assert_int_equal(sp_percpu_read(plane, small), 3);
	assert_int_equal(sp_percpu_read(plane, large + 299992), 0);
	assert_int_equal(sp_percpu_read(plane, page), 3);
	assert_int_equal(sp_percpu_read(plane, many[0]), 3);
	assert_int_equal(sp_percpu_read(plane, many[1]), 0);
	assert_int_equal(sp_percpu_read(plane, many[NR - 1]), 3);
	sp_lane_release(&lane);
	sp_lane_release(&other);
	sp_plane_close(plane);
}

static void any_call_for_memory_may_fail(void **state)
{
	unsigned n = 0;

	(void)state;
	do {
		armed = true;
		hit = false;
		countdown = n++;
		scenario();
		armed = false;
	} while (hit);
	/* It was worth the name of a loop. */
	assert_true(n > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_call_for_memory_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
