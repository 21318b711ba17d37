// SPDX-License-Identifier: MIT
/*
 * What of the units is backed by memory: plane/plane.h.
 */
#include "full_tmpfs.h"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

static uint64_t page;

static void nothing_is_populated_at_first(void **state)
{
	struct sp_plane *plane = small_segment(NULL);

	assert_int_equal(sp_plane_units_used(plane), 0);
	for (uint32_t unit = 0; unit < plane->nr_units; unit++)
		assert_false(sp_plane_unit_written(plane, unit));
	assert_int_equal(sp_plane_populate_units(plane, 0), 0);
	assert_int_equal(sp_plane_units_used(plane), 0);
	sp_segment_close(plane);
}

static void populating_marks_the_shared_unit_only(void **state)
{
	struct sp_plane *plane = small_segment(NULL);

	assert_int_equal(sp_plane_populate_units(plane, 1), 0);
	assert_true(sp_plane_units_used(plane) >= 1);
	assert_int_equal(sp_plane_units_used(plane) % page, 0);
	assert_true(sp_plane_unit_written(plane, 0));
	assert_false(sp_plane_unit_written(plane, 1));
	assert_int_equal(small_backed_bytes(plane->fd),
			 page + sp_plane_units_used(plane));
	sp_segment_close(plane);
}

static void check_zero(const struct sp_plane *plane, uint32_t unit)
{
	const char *pos = sp_plane_unit(plane, unit);

	for (uint64_t i = 0; i < sp_plane_units_used(plane); i++)
		assert_int_equal(pos[i], 0);
}

/* The rectangle grows in both directions, and all of it is there. */
static void written_units_grow_together(void **state)
{
	struct sp_plane *plane = small_segment(NULL);

	assert_int_equal(sp_plane_populate_units(plane, 8), 0);
	assert_int_equal(sp_plane_mark_unit(plane, 3), 0);
	assert_int_equal(sp_plane_mark_unit(plane, 3), 0);
	assert_true(sp_plane_unit_written(plane, 3));
	assert_false(sp_plane_unit_written(plane, 2));
	assert_int_equal(sp_plane_populate_units(plane, 200000), 0);
	assert_true(sp_plane_units_used(plane) >= 200000);
	check_zero(plane, 0);
	check_zero(plane, 3);
	assert_int_equal(small_backed_bytes(plane->fd),
			 page + 2 * sp_plane_units_used(plane));
	assert_int_equal(sp_plane_try_mark_unit(plane, 4), 0);
	check_zero(plane, 4);
	assert_int_equal(small_backed_bytes(plane->fd),
			 page + 3 * sp_plane_units_used(plane));
	sp_segment_close(plane);
}

static void units_end_at_unit_bytes(void **state)
{
	struct sp_plane *plane = small_segment(NULL);

	assert_int_equal(sp_plane_populate_units(plane, plane->unit_bytes + 1),
			 -ENOSPC);
	assert_int_equal(sp_plane_units_used(plane), 0);
	assert_int_equal(sp_plane_populate_units(plane, plane->unit_bytes), 0);
	assert_int_equal(sp_plane_units_used(plane), plane->unit_bytes);
	assert_int_equal(sp_plane_populate_units(plane, UINT64_MAX), -ENOSPC);
	sp_segment_close(plane);
}

static void trying_does_not_wait(void **state)
{
	struct sp_plane *plane = small_segment(NULL);

	assert_int_equal(sp_plane_populate_units(plane, 8), 0);
	sp_lock_acquire(&plane->grow_lock);
	errno = 42;
	assert_int_equal(sp_plane_try_mark_unit(plane, 1), -EBUSY);
	assert_int_equal(sp_plane_try_mark_unit(plane, 0), 0);
	assert_int_equal(errno, 42);
	sp_lock_release(&plane->grow_lock);
	assert_int_equal(sp_plane_try_mark_unit(plane, 1), 0);
	assert_int_equal(errno, 42);
	sp_segment_close(plane);
}

/* --- a full file system ------------------------------------------------- */

static void growing_when_full(void)
{
	struct sp_plane *plane = full_segment();
	uint64_t used, backed;

	full_require(!sp_plane_populate_units(plane, 8));
	full_require(!sp_plane_mark_unit(plane, 1));
	full_require(!sp_plane_mark_unit(plane, 2));
	used = sp_plane_units_used(plane);
	backed = small_backed_bytes(plane->fd);
	/* Enough for two of the three units. */
	full_fill(2 * page);
	full_require(sp_plane_populate_units(plane, used + 1) == -ENOSPC);
	full_require(sp_plane_units_used(plane) == used);
	full_require(small_backed_bytes(plane->fd) == backed);
	full_require(sp_plane_mark_unit(plane, 3) == -ENOSPC);
	errno = 42;
	full_require(sp_plane_try_mark_unit(plane, 3) == -ENOSPC);
	full_require(errno == 42);
	full_require(!sp_plane_unit_written(plane, 3));
	full_require(small_backed_bytes(plane->fd) == backed);
	/* What is populated can be written for all that. */
	memset(sp_plane_unit(plane, 2), 1, used);

	full_free();
	full_require(!sp_plane_populate_units(plane, used + 1));
	full_require(!sp_plane_mark_unit(plane, 3));
	memset(sp_plane_unit(plane, 3), 1, sp_plane_units_used(plane));
	sp_segment_close(plane);
}

static void growing_by_less_than_a_chunk(void)
{
	struct sp_plane *plane = full_segment();

	full_fill(3 * page);
	full_require(!sp_plane_populate_units(plane, page + 1));
	full_require(sp_plane_units_used(plane) == 2 * page);
	full_require(!sp_plane_populate_units(plane, 2 * page + 1));
	full_require(sp_plane_populate_units(plane, 3 * page + 1) == -ENOSPC);
	full_require(sp_plane_units_used(plane) == 3 * page);
	sp_segment_close(plane);
}

/* More than one system call's worth. */
static void growing_far_when_full(void)
{
	struct sp_plane_opts opts = small_opts(small_path("p"));
	struct sp_plane *plane;
	uint64_t backed;

	opts.unit_bytes = 16u << 20;
	full_require(!sp_segment_create(&opts, &plane));
	full_require(!sp_plane_populate_units(plane, 1));
	backed = small_backed_bytes(plane->fd);
	full_require(sp_plane_populate_units(plane, 6u << 20) == -ENOSPC);
	full_require(small_backed_bytes(plane->fd) == backed);
	full_require(!sp_plane_populate_units(plane, 3u << 20));
	sp_segment_close(plane);
}

static void creating_when_full(void)
{
	struct sp_plane_opts opts = small_opts(small_path("p"));
	struct sp_plane *plane;

	full_fill(0);
	full_require(sp_segment_create(&opts, &plane) == -ENOSPC);
	full_require(access(opts.path, F_OK));
}

static void a_full_directory_section(void)
{
	struct sp_plane *plane = full_segment();
	struct sp_object object = small_object("a");
	uint64_t id = 42, off = 42;

	full_fill(0);
	full_require(sp_dir_add(plane, &object, &id) == -ENOSPC);
	full_require(sp_blob_append(plane, "text", 4, &off) == -ENOSPC);
	full_require(id == 42 && off == 42);
	full_require(!sp_dir_find(plane, SP_OBJECT_MIB, 0, "a"));
	full_free();
	/* A page each is less than they would like to have. */
	full_fill(2 * page);
	full_require(!sp_dir_add(plane, &object, &id));
	full_require(!sp_blob_append(plane, "text", 4, &off));
	sp_segment_close(plane);
}

static void growing_when_full_changes_nothing(void **state)
{
	full_run(1024, growing_when_full);
}

static void growing_far_when_full_changes_nothing(void **state)
{
	full_run(5 * 1024, growing_far_when_full);
}

static void the_last_pages_are_used(void **state)
{
	full_run(512, growing_by_less_than_a_chunk);
}

static void creating_when_full_is_an_error(void **state)
{
	full_run(512, creating_when_full);
}

static void directory_and_blob_when_full_are_unchanged(void **state)
{
	full_run(512, a_full_directory_section);
}

/* --- threads and signals ------------------------------------------------ */

static struct sp_plane *volatile common;

static void *mark_all(void *arg)
{
	for (uint32_t unit = 0; unit < common->nr_units; unit++)
		while (sp_plane_try_mark_unit(common, unit) == -EBUSY)
			sched_yield();
	return NULL;
}

static void *grow_all(void *arg)
{
	for (uint64_t upto = page; upto <= common->unit_bytes; upto += page)
		assert_int_equal(sp_plane_populate_units(common, upto), 0);
	return NULL;
}

static void marking_and_growing_at_once(void **state)
{
	for (int i = 0; i < 50; i++) {
		pthread_t threads[4];

		common = small_segment(NULL);
		for (int t = 0; t < 4; t++)
			pthread_create(&threads[t], NULL,
				       t % 2 ? mark_all : grow_all, NULL);
		for (int t = 0; t < 4; t++)
			pthread_join(threads[t], NULL);
		assert_int_equal(sp_plane_units_used(common),
				 common->unit_bytes);
		assert_int_equal(small_backed_bytes(common->fd),
				 page + common->nr_units * common->unit_bytes);
		sp_segment_close(common);
	}
}

static volatile sig_atomic_t nr_busy, nr_marked;

static void mark_in_handler(int signal)
{
	int err;

	if (!common)
		return; /* a late one */
	err = sp_plane_try_mark_unit(common, 4);
	nr_busy += err == -EBUSY;
	nr_marked += err == 0;
}

/* However the signal falls, neither the handler nor the thread gets stuck. */
static void marking_in_a_handler(void **state)
{
	struct sp_plane *done;
	struct sigaction action = {.sa_handler = mark_in_handler};
	struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};

	sigaction(SIGALRM, &action, NULL);
	nr_busy = nr_marked = 0;
	common = NULL;
	for (int i = 0; i < 100; i++) {
		common = small_segment(NULL);
		setitimer(ITIMER_REAL, &often, NULL);
		grow_all(NULL);
		while (!sp_plane_unit_written(common, 4))
			pause();
		setitimer(ITIMER_REAL, &never, NULL);
		assert_int_equal(small_backed_bytes(common->fd),
				 page + 2 * common->unit_bytes);
		done = common;
		common = NULL;
		sp_segment_close(done);
	}
	signal(SIGALRM, SIG_DFL);
	assert_true(nr_marked > 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_populated_at_first),
		cmocka_unit_test(populating_marks_the_shared_unit_only),
		cmocka_unit_test(written_units_grow_together),
		cmocka_unit_test(units_end_at_unit_bytes),
		cmocka_unit_test(trying_does_not_wait),
		cmocka_unit_test(growing_when_full_changes_nothing),
		cmocka_unit_test(growing_far_when_full_changes_nothing),
		cmocka_unit_test(the_last_pages_are_used),
		cmocka_unit_test(creating_when_full_is_an_error),
		cmocka_unit_test(directory_and_blob_when_full_are_unchanged),
		cmocka_unit_test(marking_and_growing_at_once),
		cmocka_unit_test(marking_in_a_handler),
	};

	page = (uint64_t)sysconf(_SC_PAGESIZE);
	return cmocka_run_group_tests(tests, small_dir_make, small_dir_remove);
}
