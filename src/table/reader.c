// SPDX-License-Identifier: MIT
/*
 * table/reader.c - walking a table of a segment that nobody vouches for.
 *
 * The header's constants are copied once and checked: every part lies inside the
 * area, and the area inside the tables section. What changes later (the number of
 * buckets, of entries and of overflow buckets) is clamped each time it is loaded,
 * see table/view.h. Below those numbers memory is populated: nothing else is
 * touched.
 *
 * Entries are copied while the walk looks at their bucket: if the bucket is the
 * same afterwards, none of them was removed, and no memory of theirs had another
 * owner meanwhile.
 */
#include "table/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "plane/reader.h"

/* Tries for a bucket; as for directory entries. */
#define BUCKET_TRIES SP_READER_RETRIES

static bool is_part_sane(const struct sp_table_hdr *hdr, uint64_t off,
			 uint64_t nr, uint64_t item_bytes, uint64_t align)
{
	return off >= sizeof(*hdr) && off % align == 0 &&
	       sp_range_inside(off, nr * item_bytes, hdr->area_len);
}

/* Of a copy. */
static bool is_header_sane(const struct sp_table_hdr *hdr)
{
	return hdr->version == SP_TABLE_VERSION && hdr->key_bytes &&
	       hdr->key_bytes <= SP_TABLE_KEY_MAX &&
	       hdr->entry_bytes % 8 == 0 &&
	       hdr->entry_bytes >= SP_TABLE_PAYLOAD_OFF(hdr->key_bytes) &&
	       hdr->entry_bytes <= SP_TABLE_ENTRY_MAX &&
	       hdr->slot_bytes % 8 == 0 &&
	       hdr->slot_bytes >= hdr->entry_bytes &&
	       hdr->slot_bytes <= 2 * SP_TABLE_ENTRY_MAX &&
	       sp_is_power_of_two(hdr->max_buckets) &&
	       hdr->max_buckets <= SP_TABLE_MAX_BUCKETS && hdr->max_slots &&
	       is_part_sane(hdr, hdr->summary_off,
			    (hdr->max_buckets + UINT64_C(4095)) / 4096, 8, 8) &&
	       is_part_sane(hdr, hdr->bitmap_off,
			    (hdr->max_buckets + UINT64_C(63)) / 64, 8, 8) &&
	       is_part_sane(hdr, hdr->overflow_off, hdr->max_overflow,
			    sizeof(struct sp_table_bucket), 64) &&
	       is_part_sane(hdr, hdr->bucket_off, hdr->max_buckets,
			    sizeof(struct sp_table_bucket), 64) &&
	       is_part_sane(hdr, hdr->entry_off, hdr->max_slots,
			    hdr->slot_bytes, 8);
}

static void fill_view(struct sp_table_view *view, const char *area,
		      const struct sp_table_hdr *checked)
{
	*view = (struct sp_table_view){
		.hdr = (const struct sp_table_hdr *)(const void *)area,
		.summary =
			(const uint64_t *)(const void *)(area +
							 checked->summary_off),
		.bitmap = (const uint64_t *)(const void *)(area +
							   checked->bitmap_off),
		.overflow =
			(const struct sp_table_bucket
				 *)(const void *)(area + checked->overflow_off),
		.buckets =
			(const struct sp_table_bucket
				 *)(const void *)(area + checked->bucket_off),
		.entries = area + checked->entry_off,
		.slot_bytes = checked->slot_bytes,
		.entry_bytes = checked->entry_bytes,
		.key_bytes = checked->key_bytes,
		.max_buckets = checked->max_buckets,
		.max_overflow = checked->max_overflow,
		.max_slots = checked->max_slots,
	};
}

/* The table at the object's offset. Return: 0; -EBADMSG. */
static int load(struct sp_reader_table *table, const struct sp_object *object)
{
	const struct sp_reader *reader = table->reader;
	uint64_t off = object->attr[SP_TABLE_ATTR_OFF];
	struct sp_table_hdr hdr;

	if (!reader->tables || off % 64 ||
	    !sp_range_inside(off, sizeof(hdr), reader->tables_len))
		return -EBADMSG;
	memcpy(&hdr, reader->tables + off, sizeof(hdr));
	if (!sp_range_inside(off, hdr.area_len, reader->tables_len) ||
	    hdr.area_len < sizeof(hdr) || !is_header_sane(&hdr))
		return -EBADMSG;
	fill_view(&table->view, reader->tables + off, &hdr);
	table->max_entries = hdr.max_entries;
	table->kind = object->attr[SP_TABLE_ATTR_KIND];
	return 0;
}

int sp_reader_table_aim(struct sp_reader_table *table, struct sp_reader *reader,
			const struct sp_object *object)
{
	int err;

	if (object->type != SP_OBJECT_TABLE)
		return -EINVAL;
	err = sp_reader_check(reader, object->id);
	if (err)
		return err;
	*table = (struct sp_reader_table){
		.reader = reader,
		.id = object->id,
		.max_tries = BUCKET_TRIES,
	};
	err = load(table, object);
	/* What was loaded is the table's if it is still there [P4]. */
	return sp_reader_check(reader, object->id) ? -ESTALE : err;
}

int sp_reader_table_open(struct sp_reader *reader,
			 const struct sp_object *object,
			 struct sp_reader_table **ret_table)
{
	struct sp_reader_table *table = calloc(1, sizeof(*table));
	int err = table ? sp_reader_table_aim(table, reader, object) : -ENOMEM;

	if (err) {
		free(table);
		return err;
	}
	*ret_table = table;
	return 0;
}

void sp_reader_table_close(struct sp_reader_table *table)
{
	free(table);
}

void sp_reader_table_stats(const struct sp_reader_table *table,
			   struct sp_table_figures *ret_stats)
{
	sp_view_figures(&table->view, ret_stats);
	ret_stats->max_entries = table->max_entries;
	ret_stats->kind = table->kind;
}

/* sp_walk_bucket_fn */
static int copy(void *arg, unsigned at, const uint32_t *idx, unsigned nr)
{
	struct sp_reader_table *table = arg;
	const struct sp_table_view *view = &table->view;
	char *row = table->rows + (size_t)at * view->entry_bytes;

	for (unsigned i = 0; i < nr; i++)
		__builtin_prefetch(sp_view_entry(view, idx[i]));
	for (unsigned i = 0; i < nr; i++, row += view->entry_bytes)
		if (sp_entry_copy(sp_view_entry(view, idx[i]),
				  view->entry_bytes, row))
			return -EAGAIN;
	return 0;
}

int sp_reader_table_walk(struct sp_reader_table *table, uint64_t *cursor,
			 void *rows, unsigned max)
{
	struct sp_walk walk = {
		.view = &table->view,
		.fn = copy,
		.arg = table,
		.max_tries = table->max_tries,
	};
	uint64_t next = *cursor;
	unsigned nr;

	if (sp_reader_check(table->reader, table->id))
		return -ESTALE;
	table->rows = rows;
	nr = sp_walk_next(&walk, &next, max);
	/* Many that are stuck do not add up; one that is not restores patience.
	 */
	if (walk.nr_skipped)
		table->max_tries = table->max_tries / 2 + 1;
	else if (nr)
		table->max_tries = BUCKET_TRIES;
	table->reader->nr_unstable += walk.nr_skipped;
	if (sp_reader_check(table->reader, table->id))
		return -ESTALE;
	*cursor = next;
	return (int)nr;
}
