// SPDX-License-Identifier: MIT
/*
 * What a reader must never see of a plane that changes under it: [P2], [P3] and
 * [P4] of plane/layout.h.
 */
#include "../unit/small_plane.h"

#include <errno.h>
#include <pthread.h>

#define NR_READERS 2
#define NR_CHANGES 500000

static struct sp_plane *plane;
static bool done; /* the writer's part */

static bool is_done(void)
{
	return __atomic_load_n(&done, __ATOMIC_ACQUIRE);
}

static void run(void *(*write)(void *), void *(*read)(void *))
{
	pthread_t readers[NR_READERS];

	__atomic_store_n(&done, false, __ATOMIC_RELEASE);
	for (int i = 0; i < NR_READERS; i++)
		assert_int_equal(pthread_create(&readers[i], NULL, read, NULL),
				 0);
	write(NULL);
	__atomic_store_n(&done, true, __ATOMIC_RELEASE);
	for (int i = 0; i < NR_READERS; i++) {
		void *nr_wrong;

		pthread_join(readers[i], &nr_wrong);
		assert_int_equal((uintptr_t)nr_wrong, 0);
	}
}

/* --- [P2]: an entry is seen before a change or after it ----------------- */

/* Object number @n of slot @slot: every field tells both. */
static struct sp_object numbered(uint64_t n)
{
	struct sp_object object = {
		.type = SP_OBJECT_MIB,
		.parent = n,
		.schema = n,
		.cells_off = n % 64 * 8,
		.nr_cells = (uint32_t)(n % 64),
		.blob_off = n % 100,
		.blob_bytes = n % 100,
	};

	for (int i = 0; i < SP_OBJECT_NR_ATTRS; i++)
		object.attr[i] = n;
	snprintf(object.name, sizeof(object.name), "%020llu-%020llu-%020llu",
		 (unsigned long long)n, (unsigned long long)n,
		 (unsigned long long)n);
	return object;
}

static bool is_whole_object(const struct sp_object *object)
{
	struct sp_object expected = numbered(object->parent);

	/* The last attribute is changed afterwards. */
	return object->type == expected.type &&
	       object->schema == expected.schema &&
	       object->cells_off == expected.cells_off &&
	       object->nr_cells == expected.nr_cells &&
	       object->blob_off == expected.blob_off &&
	       object->blob_bytes == expected.blob_bytes &&
	       !memcmp(object->attr, expected.attr, 7 * sizeof(uint64_t)) &&
	       !strcmp(object->name, expected.name);
}

static void *replace_objects(void *arg)
{
	uint64_t ids[4] = {0};

	for (uint64_t n = 0; n < NR_CHANGES; n++) {
		struct sp_object object = numbered(n);
		uint64_t *id = &ids[n % 4];

		if (*id)
			sp_dir_remove(plane, *id);
		if (sp_dir_add(plane, &object, id))
			abort();
		sp_dir_update(plane, *id, 7, n + 1);
	}
	return NULL;
}

static void *check_objects(void *arg)
{
	struct sp_reader *reader = small_reader(plane);
	uintptr_t nr_wrong = 0;

	while (!is_done()) {
		struct sp_object object;
		uint64_t cursor = 0;
		int err;

		while ((err = sp_reader_next(reader, &cursor, &object)) !=
		       -ENOENT)
			nr_wrong += err ? err != -EAGAIN
					: !is_whole_object(&object);
	}
	sp_reader_detach(reader);
	return (void *)nr_wrong;
}

static void an_entry_is_never_torn(void **state)
{
	char text[200] = {0};
	uint64_t off;

	plane = small_segment(NULL);
	assert_int_equal(sp_plane_populate_units(plane, 4096), 0);
	assert_int_equal(sp_blob_append(plane, text, sizeof(text), &off), 0);
	run(replace_objects, check_objects);
	sp_segment_close(plane);
}

/* --- [P3]: what is published is backed by memory ------------------------ */

static void *grow_both_ways(void *arg)
{
	uint64_t page = plane->page_size;

	for (uint32_t unit = 1; unit < plane->nr_units; unit++) {
		for (int i = 0; i < 4; i++)
			sp_plane_populate_units(
				plane, sp_plane_units_used(plane) + page);
		sp_plane_mark_unit(plane, unit);
	}
	return NULL;
}

/* One cell of each page of each unit that is said to be there. */
static void *touch_all(void *arg)
{
	struct sp_reader *reader = small_reader(plane);
	uintptr_t nr_wrong = 0;

	do {
		struct sp_plane_info info;
		struct sp_object object = {.id = UINT64_C(1) << 32 | 1};

		sp_reader_info(reader, &info);
		for (uint64_t off = 0; off < info.unit_used_bytes;
		     off += 4096) {
			uint64_t sum = 1;

			object.cells_off = off;
			object.nr_cells = 1;
			nr_wrong += sp_reader_fold(reader, &object, 0, 1,
						   &sum) != 0 ||
				    sum != 0;
		}
	} while (!is_done());
	sp_reader_detach(reader);
	return (void *)nr_wrong;
}

/* A reader that touched a hole would have allocated the page. */
static void growth_is_published_when_it_is_there(void **state)
{
	for (int i = 0; i < 50; i++) {
		struct sp_plane_opts opts = small_opts(NULL);
		uint64_t others;

		opts.unit_bytes = 1u << 20;
		opts.nr_lanes = 12;
		assert_int_equal(sp_segment_create(&opts, &plane), 0);
		assert_int_equal(sp_segment_publish(plane), 0);
		assert_int_equal(sp_plane_populate_units(plane, 1), 0);
		small_add(plane, "any", 0, 1);
		others = small_backed_bytes(plane->fd) -
			 sp_plane_units_used(plane);
		run(grow_both_ways, touch_all);
		assert_int_equal(small_backed_bytes(plane->fd) - others,
				 plane->nr_units * sp_plane_units_used(plane));
		sp_segment_close(plane);
	}
}

/* --- [P4]: cells that are used again are not taken for the old object's -- */

static void *reuse_cells(void *arg)
{
	uint64_t *cells = (uint64_t *)(void *)sp_plane_unit(plane, 0) + 8;

	/* Object number n is named after it, and its cells hold n. */
	for (uint64_t n = 1; n <= NR_CHANGES; n++) {
		struct sp_object object = small_object("x");
		uint64_t id;

		for (int i = 0; i < 8; i++)
			__atomic_store_n(&cells[i], n, __ATOMIC_RELAXED);
		object.cells_off = 64;
		object.nr_cells = 8;
		object.attr[0] = n;
		if (sp_dir_add(plane, &object, &id) || sp_dir_remove(plane, id))
			abort();
	}
	return NULL;
}

static void *check_cells(void *arg)
{
	struct sp_reader *reader = small_reader(plane);
	uintptr_t nr_wrong = 0;

	while (!is_done()) {
		struct sp_object object;
		uint64_t cursor = 0, sum[8];

		if (sp_reader_next(reader, &cursor, &object) ||
		    sp_reader_fold(reader, &object, 0, 8, sum))
			continue;
		for (int i = 0; i < 8; i++)
			nr_wrong += sum[i] != object.attr[0];
	}
	sp_reader_detach(reader);
	return (void *)nr_wrong;
}

static void cells_used_again_are_not_the_old_objects(void **state)
{
	plane = small_segment(NULL);
	assert_int_equal(sp_plane_populate_units(plane, 4096), 0);
	run(reuse_cells, check_cells);
	sp_segment_close(plane);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_is_never_torn),
		cmocka_unit_test(growth_is_published_when_it_is_there),
		cmocka_unit_test(cells_used_again_are_not_the_old_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
