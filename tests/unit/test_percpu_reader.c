/* SPDX-License-Identifier: MIT */
/*
 * A reader sums an object's cells over the written units, and no others.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <statplane/percpu.h>
#include <statplane/reader.h>

#include "plane/plane.h"

#define NR_CELLS 200
#define NR_LANES 70 /* more units than one word of the bitmap has bits */

static struct sp_plane *plane;
static struct sp_reader *reader;
static struct sp_object object;

static int set_up(void **state)
{
	const struct sp_plane_opts opts = {
		.sz = sizeof(opts),
		.nr_lanes = NR_LANES,
		.unit_bytes = 1u << 20,
	};
	struct sp_object new = {
		.type = SP_OBJECT_MIB, .nr_cells = NR_CELLS, .name = "it"};
	uint64_t id;

	(void)state;
	assert_int_equal(sp_plane_create(&opts, &plane), 0);
	assert_int_equal(
		sp_percpu_alloc(plane, NR_CELLS * 8, 8, &new.cells_off), 0);
	assert_int_equal(sp_dir_add(plane, &new, &id), 0);
	assert_int_equal(sp_reader_attach_fd(sp_plane_fd(plane), &reader), 0);
	assert_int_equal(sp_reader_get(reader, id, &object), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_reader_detach(reader);
	sp_plane_close(plane);
	return 0;
}

static void a_fold_is_the_writers_fold(void **state)
{
	static uint64_t ours[NR_CELLS], theirs[NR_CELLS];
	static struct sp_lane lane[NR_LANES];

	(void)state;
	for (unsigned l = 0; l < NR_LANES; l++) {
		assert_int_equal(sp_lane_claim(plane, &lane[l]), 0);
		for (unsigned i = 0; i < NR_CELLS; i++)
			sp_lane_add(&lane[l], object.cells_off + 8 * i,
				    1000 * l + i);
	}
	sp_percpu_add(sp_plane_percpu(plane), object.cells_off + 8, 5);
	sp_percpu_fold(plane, object.cells_off, NR_CELLS, ours);
	assert_int_equal(sp_reader_fold(reader, &object, 0, NR_CELLS, theirs),
			 0);
	assert_memory_equal(ours, theirs, sizeof(ours));
	assert_int_equal(theirs[1],
			 1000 * (NR_LANES * (NR_LANES - 1) / 2) + NR_LANES + 5);
	/* Any part of it is the same. */
	memset(theirs, 0, sizeof(theirs));
	assert_int_equal(sp_reader_fold(reader, &object, 3, 190, theirs), 0);
	assert_memory_equal(ours + 3, theirs, 190 * 8);
	assert_int_equal(theirs[190], 0);
	for (unsigned l = 0; l < NR_LANES; l++)
		sp_lane_release(&lane[l]);
}

static void cells_outside_the_object_are_refused(void **state)
{
	static uint64_t sum[NR_CELLS + 1];

	(void)state;
	assert_int_equal(sp_reader_fold(reader, &object, 0, NR_CELLS + 1, sum),
			 -EINVAL);
	assert_int_equal(sp_reader_fold(reader, &object, NR_CELLS, 1, sum),
			 -EINVAL);
	assert_int_equal(sp_reader_fold(reader, &object, SIZE_MAX, 2, sum),
			 -EINVAL);
	assert_int_equal(sp_reader_fold(reader, &object, NR_CELLS, 0, sum), 0);
	assert_int_equal(
		sp_reader_unit(reader, &object, 0, 0, NR_CELLS + 1, sum),
		-EINVAL);
	assert_int_equal(sp_reader_unit(reader, &object, 1u << 20, 0, 1, sum),
			 -EINVAL);
}

static void a_unit_is_read_alone(void **state)
{
	uint64_t cells[2] = {7, 7};
	struct sp_lane lane;
	uint32_t unwritten;

	(void)state;
	assert_int_equal(sp_lane_claim(plane, &lane), 0);
	sp_lane_add(&lane, object.cells_off + 8, 3);
	assert_int_equal(
		sp_reader_unit(reader, &object, lane.unit, 0, 2, cells), 0);
	assert_int_equal(cells[0], 0);
	assert_int_equal(cells[1], 3);
	unwritten = lane.unit + 1;
	assert_int_equal(
		sp_reader_unit(reader, &object, unwritten, 0, 2, cells),
		-ENODATA);
	assert_int_equal(cells[1], 0);
	sp_lane_release(&lane);
}

static void an_object_that_went_away_is_stale(void **state)
{
	uint64_t sum;

	(void)state;
	assert_int_equal(sp_dir_remove(plane, object.id), 0);
	assert_int_equal(sp_reader_fold(reader, &object, 0, 1, &sum), -ESTALE);
	assert_int_equal(sp_reader_unit(reader, &object, 0, 0, 1, &sum),
			 -ESTALE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_fold_is_the_writers_fold),
		TEST(cells_outside_the_object_are_refused),
		TEST(a_unit_is_read_alone),
		TEST(an_object_that_went_away_is_stale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
