/* SPDX-License-Identifier: MIT */
/* Groups that a program declares: statplane/mib.h, and their bytes in the
 * plane. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <statplane/mib.h>
#include <statplane/reader.h>

#include "mib/schema.h"
#include "mib/schema_view.h"

enum {
	RX_DROP,
	RX_SIZE,
	RX_BUSY
};
static const struct sp_mib_item rx_items[] = {
	[RX_DROP] = {"RxDrop", "frames dropped: ring full", "frames",
		     SP_MIB_COUNTER},
	[RX_SIZE] = {"RxSize", "frame sizes", "octets", SP_MIB_HISTOGRAM},
	[RX_BUSY] = {"Busy", NULL, NULL, SP_MIB_GAUGE},
};
static const struct sp_mib_item kind_items[] = {
	{"Type", "messages by type", "messages", SP_MIB_ARRAY},
	{"Last", "behind the array", "messages", SP_MIB_COUNTER},
};
static const struct sp_mib_group groups[] = {
	{"rx", "receiving", rx_items, 3},
	{"kinds", "", kind_items, 2},
};
static const struct sp_mib_schema schema = {"proxy", groups, 2};

#define NR_CELLS (1 + SP_MIB_HISTOGRAM_CELLS + 1 + SP_MIB_ARRAY_CELLS + 1)

static struct sp_plane *plane;
static struct sp_reader *reader;

static int begin(void **state)
{
	struct sp_plane_opts opts = {.sz = sizeof(opts), .nr_objects = 256};

	assert_int_equal(sp_plane_create(&opts, &plane), 0);
	assert_int_equal(sp_reader_attach_fd(sp_plane_fd(plane), &reader), 0);
	return 0;
}

static int end(void **state)
{
	sp_reader_detach(reader);
	sp_plane_close(plane);
	return 0;
}

static void cells_are_numbered_without_gaps(void **state)
{
	assert_int_equal(sp_mib_nr_cells(&schema), NR_CELLS);
	assert_int_equal(sp_mib_cell_idx(&schema, 0, RX_DROP), 0);
	assert_int_equal(sp_mib_cell_idx(&schema, 0, RX_SIZE), 1);
	assert_int_equal(sp_mib_cell_idx(&schema, 0, RX_BUSY), 67);
	assert_int_equal(sp_mib_cell_idx(&schema, 1, 0), 68);
	assert_int_equal(sp_mib_cell_idx(&schema, 1, 1), 68 + 256);
}

static void a_histogram_has_a_cell_for_each_power_of_two(void **state)
{
	assert_int_equal(sp_mib_histogram_cell(0), 1);
	for (unsigned b = 1; b <= 64; b++) {
		uint64_t least = 1ull << (b - 1);

		assert_int_equal(sp_mib_histogram_cell(least), 1 + b);
		assert_int_equal(sp_mib_histogram_cell(2 * least - 1), 1 + b);
	}
}

static void what_is_added_is_read(void **state)
{
	const struct sp_percpu *percpu = sp_plane_percpu(plane);
	static uint64_t cells[NR_CELLS];
	struct sp_mib *mib;

	assert_int_equal(sp_mib_create(plane, "one", &schema, &mib), 0);
	sp_percpu_add(percpu, sp_mib_off(mib, RX_DROP), 3);
	sp_percpu_add(percpu, sp_mib_off(mib, 67), (uint64_t)-5);
	sp_histogram_add(percpu, sp_mib_off(mib, 1), 1500);
	sp_histogram_add(percpu, sp_mib_off(mib, 1), 0);
	assert_int_equal(sp_mib_read(mib, RX_DROP), 3);
	assert_int_equal(sp_mib_read(mib, NR_CELLS - 1), 0);
	sp_mib_fold(mib, cells);
	assert_int_equal(cells[0], 3);
	assert_int_equal(cells[1], 1500);
	assert_int_equal(cells[1 + 1], 1);
	assert_int_equal(cells[1 + 12], 1); /* 1024 .. 2047 */
	assert_true((int64_t)cells[67] == -5);
	sp_mib_destroy(mib);
}

static void a_name_is_given_once(void **state)
{
	struct sp_mib *mib, *other = NULL;

	assert_int_equal(sp_mib_create(plane, "one", &schema, &mib), 0);
	assert_int_equal(sp_mib_create(plane, "one", &schema, &other), -EEXIST);
	assert_null(other);
	sp_mib_destroy(mib);
	assert_int_equal(sp_mib_create(plane, "one", &schema, &mib), 0);
	sp_mib_destroy(mib);
	sp_mib_destroy(NULL);
}

static void odd_names_are_refused(void **state)
{
	char name[80] = {0};
	struct sp_mib *mib = NULL;

	memset(name, 'n', 64);
	assert_int_equal(sp_mib_create(plane, "", &schema, &mib), -EINVAL);
	assert_int_equal(sp_mib_create(plane, "a/b", &schema, &mib), -EINVAL);
	assert_int_equal(sp_mib_create(plane, "a\nb", &schema, &mib), -EINVAL);
	assert_int_equal(sp_mib_create(plane, name, &schema, &mib), -EINVAL);
	assert_null(mib);
	name[63] = '\0';
	assert_int_equal(sp_mib_create(plane, name, &schema, &mib), 0);
	sp_mib_destroy(mib);
}

static unsigned nr_schemas(void)
{
	struct sp_object object;
	uint64_t cursor = 0;
	unsigned nr = 0;

	while (!sp_reader_next(reader, &cursor, &object))
		nr += object.type == SP_OBJECT_SCHEMA;
	return nr;
}

static void equal_schemas_are_stored_once(void **state)
{
	struct sp_mib_group same_groups[2] = {groups[0], groups[1]};
	struct sp_mib_schema same = {"proxy", same_groups, 2};
	struct sp_mib *a, *b, *c, *d;

	assert_int_equal(sp_mib_create(plane, "a", &schema, &a), 0);
	assert_int_equal(sp_mib_create(plane, "b", &schema, &b), 0);
	assert_int_equal(sp_mib_create(plane, "c", &same, &c), 0);
	assert_int_equal(nr_schemas(), 1);
	/* Another content under the same name is another schema. */
	same.nr_groups = 1;
	assert_int_equal(sp_mib_create(plane, "d", &same, &d), 0);
	assert_int_equal(nr_schemas(), 2);
	sp_mib_destroy(d);
	assert_int_equal(sp_mib_create(plane, "d", &same, &d), 0);
	assert_int_equal(nr_schemas(), 2);
	sp_mib_destroy(a);
	sp_mib_destroy(b);
	sp_mib_destroy(c);
	sp_mib_destroy(d);
}

static void check_refused(const struct sp_mib_schema *bad)
{
	struct sp_mib *mib = NULL;

	assert_int_equal(sp_mib_create(plane, "bad", bad, &mib), -EINVAL);
	assert_null(mib);
	assert_int_equal(nr_schemas(), 0);
}

static void schemas_that_break_the_rules_are_refused(void **state)
{
	static char long_help[SP_SCHEMA_HELP_MAX + 2];
	static const struct sp_mib_item bad_items[] = {
		{"", "", "", SP_MIB_COUNTER},
		{"9lives", "", "", SP_MIB_COUNTER},
		{"a-b", "", "", SP_MIB_COUNTER},
		{"a", "two\nlines", "", SP_MIB_COUNTER},
		{"a", "", "a\tb", SP_MIB_COUNTER},
		{"a", "", "", (enum sp_mib_kind)17},
		{"a", long_help, "", SP_MIB_COUNTER},
		{NULL, "", "", SP_MIB_COUNTER},
		{"a123456789012345678901234567890123456789012345678901234567"
		 "890123",
		 "", "", SP_MIB_COUNTER},
	};
	static const struct sp_mib_item twins[] = {
		{"a", "", "", SP_MIB_COUNTER},
		{"a", "", "", SP_MIB_GAUGE},
	};
	struct sp_mib_group two[2] = {groups[0], groups[0]};
	struct sp_mib_group group = {"g", "", NULL, 1};
	struct sp_mib_schema bad = {"bad", &group, 1};

	memset(long_help, 'h', sizeof(long_help) - 1);
	for (size_t i = 0; i < sizeof(bad_items) / sizeof(bad_items[0]); i++) {
		group.items = &bad_items[i];
		check_refused(&bad);
	}
	group.items = twins;
	group.nr_items = 2;
	check_refused(&bad);
	group.nr_items = 0;
	check_refused(&bad);
	group = groups[0];
	bad.name = "no good";
	check_refused(&bad);
	bad.name = "bad";
	bad.groups = two;
	bad.nr_groups = 2;
	check_refused(&bad);
	bad.nr_groups = 0;
	check_refused(&bad);
}

/* 131072 cells of arrays are the most; one more is too many. */
static void a_schema_has_at_most_a_mebibyte_of_cells(void **state)
{
	static struct sp_mib_item items[513];
	static char names[513][8];
	struct sp_mib_group group = {"g", "", items, 512};
	struct sp_mib_schema big = {"big", &group, 1};
	struct sp_mib *mib;

	for (size_t i = 0; i < 513; i++) {
		snprintf(names[i], sizeof(names[i]), "a%u", (unsigned)i);
		items[i] = (struct sp_mib_item){names[i], "", "", SP_MIB_ARRAY};
	}
	assert_int_equal(sp_mib_create(plane, "big", &big, &mib), 0);
	sp_mib_destroy(mib);
	group.nr_items = 513;
	assert_int_equal(sp_mib_create(plane, "big", &big, &mib), -EINVAL);
}

/* The schema's bytes in memory of their exact length, so that a byte too far is
 * seen by a sanitizer. */
static char *encode(size_t *ret_len)
{
	char *bytes;

	*ret_len = sp_schema_len(&schema);
	bytes = malloc(*ret_len);
	assert_non_null(bytes);
	sp_schema_encode(&schema, bytes);
	return bytes;
}

static void a_view_shows_what_was_encoded(void **state)
{
	struct sp_schema_view view;
	struct sp_schema_group_view group;
	struct sp_schema_item_view item;
	char name[SP_SCHEMA_NAME_MAX + 1];
	size_t len;
	char *bytes = encode(&len);

	assert_int_equal(sp_schema_view_init(bytes, len, &view), 0);
	assert_int_equal(sp_schema_view_name(&view, name), 0);
	assert_string_equal(name, "proxy");
	assert_int_equal(view.nr_groups, 2);
	assert_int_equal(view.nr_items, 5);
	assert_int_equal(view.nr_cells, NR_CELLS);
	assert_int_equal(sp_schema_view_find_group(&view, "kinds", &group), 0);
	assert_int_equal(group.first_item, 3);
	assert_int_equal(group.nr_items, 2);
	assert_int_equal(group.help.len, 0);
	assert_int_equal(
		sp_schema_view_find_item(&view, &group, "Last", 7, &item), 0);
	assert_int_equal(item.cell_idx, NR_CELLS - 1);
	assert_int_equal(item.nr_cells, 1);
	assert_int_equal(item.kind, SP_MIB_COUNTER);
	assert_string_equal(item.unit, "messages");
	assert_int_equal(item.help.len, strlen("behind the array"));
	assert_memory_equal(item.help.s, "behind the array", item.help.len);
	assert_int_equal(
		sp_schema_view_find_item(&view, &group, "RxDrop", 0, &item),
		-ENOENT);
	assert_int_equal(sp_schema_view_find_group(&view, "tx", &group),
			 -ENOENT);
	free(bytes);
}

/* Whatever the bytes are: no access outside, and every walk ends. */
static void walk_all(const void *bytes, size_t len)
{
	struct sp_schema_view view;
	struct sp_schema_group_view group;
	struct sp_schema_item_view item;
	char name[SP_SCHEMA_NAME_MAX + 1];
	volatile char last;

	if (sp_schema_view_init(bytes, len, &view))
		return;
	sp_schema_view_name(&view, name);
	for (uint32_t g = 0; g < view.nr_groups; g++)
		if (!sp_schema_view_group(&view, g, &group) && group.help.len)
			last = group.help.s[group.help.len - 1];
	for (uint32_t i = 0; i < view.nr_items; i++) {
		if (sp_schema_view_item(&view, i, &item))
			continue;
		assert_true(item.cell_idx + item.nr_cells <= view.nr_cells);
		assert_true(strlen(item.name) <= SP_SCHEMA_NAME_MAX);
		if (item.help.len)
			last = item.help.s[item.help.len - 1];
	}
	sp_schema_view_find_group(&view, "nothing", &group);
	(void)last;
}

static void damaged_bytes_do_no_harm(void **state)
{
	size_t len;
	char *bytes = encode(&len), *copy;

	for (size_t cut = 0; cut < len; cut++) {
		copy = malloc(cut ? cut : 1);
		memcpy(copy, bytes, cut);
		walk_all(copy, cut);
		free(copy);
	}
	for (size_t i = 0; i < len; i++) {
		char was = bytes[i];

		for (unsigned bit = 0; bit < 8; bit++) {
			bytes[i] = (char)(was ^ (1 << bit));
			walk_all(bytes, len);
		}
		bytes[i] = was;
	}
	free(bytes);
}

/* A string must end inside the schema and after at most 63 bytes. */
static void strings_without_an_end_are_damage(void **state)
{
	static const struct sp_mib_item item = {
		"n23456789012345678901234567890123456789012345678901234567890"
		"123",
		"help", "unit", SP_MIB_COUNTER};
	static const struct sp_mib_group group = {"g", "", &item, 1};
	static const struct sp_mib_schema one = {"one", &group, 1};
	size_t len = sp_schema_len(&one);
	char *bytes = malloc(len), *name;
	struct sp_schema_view view;
	struct sp_schema_item_view got;

	assert_non_null(bytes);
	sp_schema_encode(&one, bytes);
	assert_int_equal(sp_schema_view_init(bytes, len, &view), 0);
	assert_int_equal(sp_schema_view_item(&view, 0, &got), 0);
	assert_string_equal(got.name, item.name);
	name = memmem(bytes, len, item.name, 63);
	assert_non_null(name);
	name[63] = 'x';
	assert_int_equal(sp_schema_view_item(&view, 0, &got), -EBADMSG);
	name[64] = '\0'; /* one byte too long */
	assert_int_equal(sp_schema_view_item(&view, 0, &got), -EBADMSG);
	name[63] = '\0';
	assert_int_equal(sp_schema_view_item(&view, 0, &got), 0);
	/* The unit is the last string. */
	bytes[len - 1] = 'x';
	assert_int_equal(sp_schema_view_item(&view, 0, &got), -EBADMSG);
	free(bytes);
}

static void other_versions_are_told_from_damage(void **state)
{
	struct sp_schema_view view;
	size_t len;
	char *bytes = encode(&len);
	struct sp_schema_hdr *hdr = (void *)bytes;

	assert_int_equal(sp_schema_view_init(bytes, len - 1, &view), -EBADMSG);
	hdr->version++;
	assert_int_equal(sp_schema_view_init(bytes, len, &view), -EPROTO);
	hdr->version--;
	hdr->magic++;
	assert_int_equal(sp_schema_view_init(bytes, len, &view), -EBADMSG);
	free(bytes);
}

/* A later version may make records longer; what is known stays readable. */
static void longer_records_are_stepped_over(void **state)
{
	struct sp_schema_view view;
	struct sp_schema_item_view item;
	size_t len;
	char *bytes = encode(&len), *longer;
	struct sp_schema_hdr hdr;
	size_t grown;

	memcpy(&hdr, bytes, sizeof(hdr));
	grown = len + hdr.nr_items * (hdr.item_len + 8);
	longer = calloc(1, grown);
	memcpy(longer, bytes, len);
	for (uint32_t i = 0; i < hdr.nr_items; i++)
		memcpy(longer + len + i * (hdr.item_len + 8),
		       bytes + hdr.items_off + i * hdr.item_len, hdr.item_len);
	hdr.items_off = (uint32_t)len;
	hdr.item_len = (uint16_t)(hdr.item_len + 8);
	hdr.total_len = (uint32_t)grown;
	memcpy(longer, &hdr, sizeof(hdr));
	assert_int_equal(sp_schema_view_init(longer, grown, &view), 0);
	assert_int_equal(sp_schema_view_item(&view, 4, &item), 0);
	assert_string_equal(item.name, "Last");
	assert_int_equal(item.cell_idx, NR_CELLS - 1);
	free(longer);
	free(bytes);
}

/* A full plane refuses and stays as it was. */
static void a_full_directory_is_an_error(void **state)
{
	struct sp_plane_opts opts = {.sz = sizeof(opts), .nr_objects = 4};
	struct sp_mib *mib[4] = {NULL};
	struct sp_percpu_stats before, after;
	struct sp_plane *small;
	char name[8];

	assert_int_equal(sp_plane_create(&opts, &small), 0);
	for (int i = 0; i < 3; i++) { /* and the schema */
		snprintf(name, sizeof(name), "m%d", i);
		assert_int_equal(sp_mib_create(small, name, &schema, &mib[i]),
				 0);
	}
	sp_percpu_read_stats(small, &before);
	assert_int_equal(sp_mib_create(small, "more", &schema, &mib[3]),
			 -ENOSPC);
	assert_null(mib[3]);
	sp_percpu_read_stats(small, &after);
	assert_int_equal(before.used_bytes, after.used_bytes);
	for (int i = 0; i < 3; i++)
		sp_mib_destroy(mib[i]);
	sp_plane_close(small);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(cells_are_numbered_without_gaps),
		cmocka_unit_test(a_histogram_has_a_cell_for_each_power_of_two),
		cmocka_unit_test_setup_teardown(what_is_added_is_read, begin,
						end),
		cmocka_unit_test_setup_teardown(a_name_is_given_once, begin,
						end),
		cmocka_unit_test_setup_teardown(odd_names_are_refused, begin,
						end),
		cmocka_unit_test_setup_teardown(equal_schemas_are_stored_once,
						begin, end),
		cmocka_unit_test_setup_teardown(
			schemas_that_break_the_rules_are_refused, begin, end),
		cmocka_unit_test_setup_teardown(
			a_schema_has_at_most_a_mebibyte_of_cells, begin, end),
		cmocka_unit_test(a_view_shows_what_was_encoded),
		cmocka_unit_test(damaged_bytes_do_no_harm),
		cmocka_unit_test(strings_without_an_end_are_damage),
		cmocka_unit_test(other_versions_are_told_from_damage),
		cmocka_unit_test(longer_records_are_stepped_over),
		cmocka_unit_test(a_full_directory_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
