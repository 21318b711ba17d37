// SPDX-License-Identifier: MIT
/*
 * The writer's side of directory and blob: plane/plane.h.
 */
#include "small_plane.h"

#include <errno.h>

#include "plane/directory.h"

static struct sp_plane *plane;

static int setup(void **state)
{
	plane = small_segment(NULL);
	return sp_plane_populate_units(plane, 4096);
}

static int teardown(void **state)
{
	sp_segment_close(plane);
	return 0;
}

static void an_object_is_found_by_its_name(void **state)
{
	uint64_t id = small_add(plane, "app", 64, 4);

	assert_int_equal(plane->hdr->nr_objects, 1);
	assert_true(sp_dir_find(plane, SP_OBJECT_MIB, 0, "app") == id);
	assert_true(sp_dir_find(plane, SP_OBJECT_MIB, 0, "ap") == 0);
	assert_true(sp_dir_find(plane, SP_OBJECT_NETNS, 0, "app") == 0);
	assert_true(sp_dir_find(plane, SP_OBJECT_MIB, 7, "app") == 0);
	assert_true(sp_dir_find(plane, SP_OBJECT_MIB, 0, "") == 0);
}

static void readers_see_every_field(void **state)
{
	struct sp_object object = {
		.type = SP_OBJECT_NETDEV,
		.parent = 0x1122334455667788,
		.schema = 0x99aabbccddeeff00,
		.cells_off = 4000,
		.nr_cells = 12,
		.blob_off = 8,
		.blob_bytes = 3,
		.attr = {1, 2, 3, 4, 5, 6, 7, UINT64_MAX},
		.name = "123456789012345678901234567890123456789012345678901"
			"234567890123",
	};
	struct sp_reader *reader = small_reader(plane);
	struct sp_object seen;
	uint64_t off, cursor = 0;

	assert_int_equal(sp_blob_append(plane, "0123456789ab", 12, &off), 0);
	assert_int_equal(sp_dir_add(plane, &object, &object.id), 0);
	memset(&seen, 0, sizeof(seen));
	assert_int_equal(sp_reader_next(reader, &cursor, &seen), 0);
	assert_memory_equal(&seen, &object, sizeof(object));
	sp_reader_detach(reader);
}

static void a_name_is_unique_in_its_type_and_parent(void **state)
{
	struct sp_object object = small_object("x");
	uint64_t id, other = 42;

	assert_int_equal(sp_dir_add(plane, &object, &id), 0);
	assert_int_equal(sp_dir_add(plane, &object, &other), -EEXIST);
	assert_int_equal(other, 42);
	object.parent = 3;
	assert_int_equal(sp_dir_add(plane, &object, &other), 0);
	object.type = SP_OBJECT_NETNS;
	assert_int_equal(sp_dir_add(plane, &object, &other), 0);
	assert_int_equal(plane->hdr->nr_objects, 3);
}

static void check_refused(const struct sp_object *object)
{
	uint64_t id = 42;

	assert_int_equal(sp_dir_add(plane, object, &id), -EINVAL);
	assert_int_equal(id, 42);
	assert_int_equal(plane->hdr->nr_objects, 0);
	assert_int_equal(plane->dir_section->used, 0);
}

static void bad_names_are_refused(void **state)
{
	static const char *const names[] = {"",     "a/b",      "/",   "a\n",
					    "\x7f", "tab\tbed", "\x01"};
	struct sp_object object;

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		object = small_object(names[i]);
		check_refused(&object);
	}
	memset(object.name, 'x', sizeof(object.name));
	check_refused(&object);
	object = small_object("UTF-8: \xc3\xa9");
	assert_int_equal(sp_dir_add(plane, &object, &object.id), 0);
}

static void cells_and_text_must_be_populated(void **state)
{
	uint64_t used = sp_plane_units_used(plane), off;
	struct sp_object object;

	assert_int_equal(sp_blob_append(plane, "text", 4, &off), 0);
#define CHECK(field, value, field2, value2)                                    \
	do {                                                                   \
		object = small_object("x");                                    \
		object.field = (value);                                        \
		object.field2 = (value2);                                      \
		check_refused(&object);                                        \
	} while (0)
	CHECK(cells_off, 4, nr_cells, 1);
	CHECK(cells_off, used, nr_cells, 1);
	CHECK(cells_off, used - 8, nr_cells, 2);
	CHECK(cells_off, UINT64_MAX - 7, nr_cells, 1);
	CHECK(cells_off, 0, nr_cells, UINT32_MAX);
	CHECK(blob_off, 0, blob_bytes, 5);
	CHECK(blob_off, 5, blob_bytes, 0);
	CHECK(blob_off, 4, blob_bytes, UINT64_MAX);
	CHECK(type, SP_OBJECT_NONE, nr_cells, 0);
#undef CHECK
	object = small_object("x");
	object.cells_off = used - 8;
	object.nr_cells = 1;
	assert_int_equal(sp_dir_add(plane, &object, &object.id), 0);
}

static void a_removed_object_is_gone_and_its_name_free(void **state)
{
	uint64_t id = small_add(plane, "x", 0, 0);

	assert_int_equal(sp_dir_remove(plane, id), 0);
	assert_int_equal(plane->hdr->nr_objects, 0);
	assert_true(sp_dir_find(plane, SP_OBJECT_MIB, 0, "x") == 0);
	assert_int_equal(sp_dir_remove(plane, id), -ENOENT);
	small_add(plane, "x", 0, 0);
}

static void ids_are_never_used_twice(void **state)
{
	uint64_t last = small_add(plane, "x", 0, 0);

	for (int i = 0; i < 1000; i++) {
		uint64_t id;

		assert_int_equal(sp_dir_remove(plane, last), 0);
		id = small_add(plane, "x", 0, 0);
		assert_true(id != last);
		assert_int_equal((uint32_t)id, (uint32_t)last); /* the slot */
		assert_int_equal(id >> 32, (last >> 32) + 1);
		assert_int_equal(sp_dir_remove(plane, last), -ENOENT);
		assert_int_equal(sp_dir_update(plane, last, 0, 1), -ENOENT);
		last = id;
	}
}

static void ids_that_are_none(void **state)
{
	static const uint64_t ids[] = {0,
				       1,
				       2,
				       65,
				       UINT32_MAX,
				       UINT64_MAX,
				       UINT64_C(1) << 32,
				       (UINT64_C(1) << 32) + 2};

	small_add(plane, "x", 0, 0);
	for (unsigned i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		assert_int_equal(sp_dir_remove(plane, ids[i]), -ENOENT);
		assert_int_equal(sp_dir_update(plane, ids[i], 0, 1), -ENOENT);
	}
	assert_int_equal(plane->hdr->nr_objects, 1);
}

static void attributes_change(void **state)
{
	uint64_t id = small_add(plane, "x", 0, 0);
	struct sp_reader *reader = small_reader(plane);
	struct sp_object object;

	assert_int_equal(sp_dir_update(plane, id, 7, UINT64_MAX), 0);
	assert_int_equal(sp_dir_update(plane, id, 8, 1), -EINVAL);
	assert_int_equal(sp_reader_get(reader, id, &object), 0);
	assert_true(object.attr[7] == UINT64_MAX && !object.attr[6]);
	sp_reader_detach(reader);
}

static void fill(unsigned from)
{
	char name[16];

	for (unsigned i = from; i < 64; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		small_add(plane, name, 0, 0);
	}
}

static void a_full_directory_is_an_error(void **state)
{
	struct sp_object object = small_object("more");
	uint64_t id = 42;

	fill(0);
	assert_int_equal(sp_dir_add(plane, &object, &id), -ENOSPC);
	assert_int_equal(id, 42);
	object = small_object("n7");
	assert_int_equal(sp_dir_add(plane, &object, &id), -EEXIST);
	assert_int_equal(sp_dir_remove(plane, sp_dir_find(plane, SP_OBJECT_MIB,
							  0, "n40")),
			 0);
	small_add(plane, "more", 0, 0);
	assert_int_equal(plane->hdr->nr_objects, 64);
}

/* Every removal order leaves the others where they were. */
static void removals_disturb_nobody_else(void **state)
{
	char name[16];

	for (unsigned step = 1; step < 64; step += 2) {
		fill(0);
		for (unsigned i = 0; i < 64; i++) {
			snprintf(name, sizeof(name), "n%u", i * step % 64);
			assert_int_equal(
				sp_dir_remove(plane,
					      sp_dir_find(plane, SP_OBJECT_MIB,
							  0, name)),
				0);
			for (unsigned j = i + 1; j < 64; j += 9) {
				snprintf(name, sizeof(name), "n%u",
					 j * step % 64);
				assert_true(sp_dir_find(plane, SP_OBJECT_MIB, 0,
							name));
			}
		}
		assert_int_equal(plane->hdr->nr_objects, 0);
	}
}

static void many_objects(void **state)
{
	struct sp_plane_opts opts = small_opts(NULL);
	struct sp_object object;
	struct sp_plane *big = NULL;
	uint64_t ids[3] = {0};

	opts.nr_objects = 30000;
	assert_int_equal(sp_segment_create(&opts, &big), 0);
	for (int i = 0; i < 30000; i++) {
		object = small_object("");
		snprintf(object.name, sizeof(object.name), "namespace-%d", i);
		assert_int_equal(sp_dir_add(big, &object, &ids[i / 10000]), 0);
	}
	assert_true(sp_dir_find(big, SP_OBJECT_MIB, 0, "namespace-19999") ==
		    ids[1]);
	assert_int_equal(sp_dir_add(big, &object, &ids[0]), -EEXIST);
	assert_int_equal(big->hdr->nr_objects, 30000);
	sp_segment_close(big);
}

static void text_is_appended_at_multiples_of_8(void **state)
{
	struct sp_reader *reader = small_reader(plane);
	uint64_t a, b, c;

	assert_int_equal(sp_blob_append(plane, "abc", 3, &a), 0);
	assert_int_equal(sp_blob_append(plane, NULL, 0, &b), 0);
	assert_int_equal(sp_blob_append(plane, "defg", 4, &c), 0);
	assert_int_equal(a, 0);
	assert_int_equal(b, 8);
	assert_int_equal(c, 8);
	assert_memory_equal(sp_reader_blob(reader, a, 3), "abc", 3);
	assert_memory_equal(sp_reader_blob(reader, c, 4), "defg", 4);
	assert_null(sp_reader_blob(reader, c, 5));
	assert_non_null(sp_reader_blob(reader, 12, 0));
	assert_null(sp_reader_blob(reader, 13, 0));
	assert_null(sp_reader_blob(reader, 0, UINT64_MAX));
	assert_null(sp_reader_blob(reader, UINT64_MAX, 2));
	sp_reader_detach(reader);
}

static void a_full_blob_is_an_error(void **state)
{
	char *text = calloc(1, 128 * 1024 + 1);
	uint64_t off = 42;

	assert_int_equal(sp_blob_append(plane, text, 128 * 1024 + 1, &off),
			 -ENOSPC);
	assert_int_equal(sp_blob_append(plane, text, SIZE_MAX, &off), -ENOSPC);
	assert_int_equal(off, 42);
	assert_int_equal(plane->blob_section->used, 0);
	assert_int_equal(sp_blob_append(plane, text, 128 * 1024 - 1, &off), 0);
	assert_int_equal(sp_blob_append(plane, text, 1, &off), -ENOSPC);
	assert_int_equal(sp_blob_append(plane, text, SIZE_MAX - 8, &off),
			 -ENOSPC);
	assert_int_equal(off, 0);
	free(text);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	static const struct CMUnitTest tests[] = {
		T(an_object_is_found_by_its_name),
		T(readers_see_every_field),
		T(a_name_is_unique_in_its_type_and_parent),
		T(bad_names_are_refused),
		T(cells_and_text_must_be_populated),
		T(a_removed_object_is_gone_and_its_name_free),
		T(ids_are_never_used_twice),
		T(ids_that_are_none),
		T(attributes_change),
		T(a_full_directory_is_an_error),
		T(removals_disturb_nobody_else),
		T(many_objects),
		T(text_is_appended_at_multiples_of_8),
		T(a_full_blob_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
