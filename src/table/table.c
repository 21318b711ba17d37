// SPDX-License-Identifier: MIT
/*
 * table/table.c - making a table, its memory, its figures.
 *
 * A table never needs a lock to be looked at, one bucket's to be changed, and
 * nothing of it ever moves: table/layout.h has the idea and the ordering tags,
 * statplane/table.h which calls may run together. An entry that lives is found by
 * every lookup, whatever splitting and removal of others go on; a walk, which
 * holds no state, finds it exactly once; nobody sees half of one.
 *
 *	find      lookup.c       change    change.c, bucket.c, split.c
 *	walk      walk.c         memory    slots.c and here
 *	reader    reader.c
 *
 * Access           writers               lookups, walks    other processes
 *   hdr constant   at creation           -                 checked copy
 *   nr_buckets     split_lock            load [T4]         load, clamped
 *   buckets        the bucket's lock     load [T1] - [T3]  load [T1] [T2]
 *   bitmap         bits_lock             load [T6]         load [T6]
 *   entries        who inserts; owner    load [T5]         copy [T5]
 *   counters       atomic adds           -                 load
 */
#include "table/state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bits.h"
#include "plane/populate.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#define HUGE_BYTES (UINT64_C(2) << 20)

#define DEFAULT_ENTRIES 65536
#define DEFAULT_BUCKETS 64
#define MAX_ENTRIES     (1u << 28)

/* What waits to be free may be so many more than what is in the table. */
#define SLACK_ENTRIES 4096

#define OPTS_MIN_SZ sizeof(struct sp_table_opts)

struct geometry {
	uint32_t slot_bytes;
	uint32_t max_slots;
	uint32_t max_buckets;
	uint32_t max_overflow;
	uint32_t min_buckets;
	uint64_t summary_off, bitmap_off;
	uint64_t off[SP_NR_RANGES], len[SP_NR_RANGES];
	uint64_t area_len;
};

/* --- options -------------------------------------------------------------- */

static int load_opts(struct sp_table_opts *opts,
		     const struct sp_table_opts *from)
{
	memset(opts, 0, sizeof(*opts));
	if (!from || from->sz < OPTS_MIN_SZ || from->sz > 4096)
		return -EINVAL;
	for (size_t i = sizeof(*opts); i < from->sz; i++)
		if (((const char *)from)[i])
			return -EINVAL;
	memcpy(opts, from, sizeof(*opts));
	if (!opts->max_entries)
		opts->max_entries = DEFAULT_ENTRIES;
	if (!opts->min_buckets)
		opts->min_buckets = DEFAULT_BUCKETS;
	if (opts->max_entries > MAX_ENTRIES ||
	    opts->min_buckets > SP_TABLE_MAX_BUCKETS || !opts->key_bytes ||
	    opts->key_bytes > SP_TABLE_KEY_MAX || opts->entry_bytes % 8 ||
	    opts->entry_bytes < SP_TABLE_PAYLOAD_OFF(opts->key_bytes) ||
	    opts->entry_bytes > SP_TABLE_ENTRY_MAX ||
	    opts->flags & ~(SP_TABLE_ONE_WRITER | SP_TABLE_POPULATE))
		return -EINVAL;
	return 0;
}

static uint32_t power_of_two(uint32_t least)
{
	uint32_t x = 1;

	while (x < least)
		x *= 2;
	return x;
}

/* A part begins on a page, a large one where a huge page can. */
static void place(struct geometry *geo, enum sp_table_range range, uint64_t len,
		  uint64_t page)
{
	len = sp_round_up(len, len < HUGE_BYTES ? page : HUGE_BYTES);
	geo->off[range] = sp_round_up(geo->area_len,
				      len < HUGE_BYTES ? page : HUGE_BYTES);
	geo->len[range] = len;
	geo->area_len = geo->off[range] + len;
}

static void plan(struct geometry *geo, const struct sp_table_opts *opts,
		 uint64_t page)
{
	uint64_t bitmap_len;

	memset(geo, 0, sizeof(*geo));
	/* Up to a cache line, entries divide it. */
	geo->slot_bytes =
		opts->entry_bytes <= 64
			? power_of_two(opts->entry_bytes)
			: (uint32_t)sp_round_up(opts->entry_bytes, 64);
	geo->max_slots =
		opts->max_entries + opts->max_entries / 8 + SLACK_ENTRIES;
	geo->min_buckets = power_of_two(opts->min_buckets);
	geo->max_buckets = power_of_two((opts->max_entries + 3) / 4);
	if (geo->max_buckets < geo->min_buckets)
		geo->max_buckets = geo->min_buckets;
	geo->max_overflow = geo->max_buckets / 4 + 64;

	geo->summary_off = sizeof(struct sp_table_hdr);
	geo->bitmap_off = geo->summary_off +
			  sp_round_up((geo->max_buckets + 4095) / 4096 * 8, 64);
	bitmap_len = (geo->max_buckets + 63) / 64 * 8;
	place(geo, SP_RANGE_META, geo->bitmap_off + bitmap_len, page);
	place(geo, SP_RANGE_OVERFLOW,
	      (uint64_t)geo->max_overflow * sizeof(struct sp_table_bucket),
	      page);
	place(geo, SP_RANGE_BUCKETS,
	      (uint64_t)geo->max_buckets * sizeof(struct sp_table_bucket),
	      page);
	place(geo, SP_RANGE_ENTRIES, (uint64_t)geo->max_slots * geo->slot_bytes,
	      page);
}

/* All that the places of the parts follow from. */
static uint64_t shape_of(const struct geometry *geo)
{
	return (uint64_t)geo->slot_bytes << 40 |
	       (uint64_t)sp_log2(geo->max_buckets) << 32 | geo->max_slots;
}

/* --- memory --------------------------------------------------------------- */

uint64_t sp_table_populated(const struct sp_table *table,
			    enum sp_table_range range)
{
	return __atomic_load_n(&table->area->populated[range],
			       __ATOMIC_RELAXED);
}

/* How far to populate: by half of what there is, for few system calls. */
static uint64_t choose_upto(const struct sp_table *table,
			    enum sp_table_range range, uint64_t bytes)
{
	uint64_t have = table->area->populated[range];
	uint64_t upto = bytes, more = have + have / 2;

	if (more > have + HUGE_BYTES)
		more = have + HUGE_BYTES;
	if (upto < more)
		upto = more;
	if (table->range_len[range] >= HUGE_BYTES && upto > HUGE_BYTES / 4)
		upto = sp_round_up(upto, HUGE_BYTES);
	upto = sp_round_up(upto, table->plane->page_size);
	return upto < table->range_len[range] ? upto : table->range_len[range];
}

/*
 * Huge pages for what is complete of them between the two ends. Neighbours in a
 * table are strangers, so each entry and each bucket is a miss of the TLB
 * otherwise. Failing only means small pages.
 */
static void use_huge_pages(const struct sp_table *table,
			   enum sp_table_range range, uint64_t from,
			   uint64_t to)
{
	from = sp_round_down(from, HUGE_BYTES);
	to = sp_round_down(to, HUGE_BYTES);
	if (table->range_len[range] >= HUGE_BYTES && from < to)
		madvise(table->plane->tables + table->range_off[range] + from,
			to - from, MADV_COLLAPSE);
}

/* Under grow_lock. */
static int populate_upto(struct sp_table *table, enum sp_table_range range,
			 uint64_t upto)
{
	struct sp_plane *plane = table->plane;
	uint64_t have = table->area->populated[range];
	int err = sp_populate(plane,
			      plane->table_section->off +
				      table->range_off[range] + have,
			      upto - have);

	if (err)
		return err;
	use_huge_pages(table, range, have, upto);
	__atomic_store_n(&table->area->populated[range], upto,
			 __ATOMIC_RELAXED);
	if (table->hdr)
		sp_table_count(table, &table->hdr->memory_bytes, upto - have);
	return 0;
}

int sp_table_populate(struct sp_table *table, enum sp_table_range range,
		      uint64_t bytes)
{
	uint64_t least = sp_round_up(bytes, table->plane->page_size);
	int err = 0;

	if (bytes <= sp_table_populated(table, range))
		return 0;
	if (bytes > table->range_len[range])
		return -ENOSPC;
	sp_table_lock(table, &table->grow_lock);
	if (bytes > table->area->populated[range]) {
		uint64_t upto = choose_upto(table, range, bytes);

		err = populate_upto(table, range, upto);
		if (err == -ENOSPC && least < upto)
			err = populate_upto(table, range, least);
	}
	sp_table_unlock(table, &table->grow_lock);
	return err;
}

/* --- creation ------------------------------------------------------------- */

static void set_up(struct sp_table *table, const struct geometry *geo)
{
	char *area = table->plane->tables + table->area->off;

	for (int i = 0; i < SP_NR_RANGES; i++) {
		table->range_off[i] = table->area->off + geo->off[i];
		table->range_len[i] = geo->len[i];
	}
	table->summary = (uint64_t *)(void *)(area + geo->summary_off);
	table->bitmap = (uint64_t *)(void *)(area + geo->bitmap_off);
	table->overflow =
		(struct sp_table_bucket *)(void *)(area +
						   geo->off[SP_RANGE_OVERFLOW]);
	table->buckets =
		(struct sp_table_bucket *)(void *)(area +
						   geo->off[SP_RANGE_BUCKETS]);
	table->entries = area + geo->off[SP_RANGE_ENTRIES];
	table->slot_bytes = geo->slot_bytes;
	table->view = (struct sp_table_view){
		.hdr = (struct sp_table_hdr *)(void *)area,
		.summary = table->summary,
		.bitmap = table->bitmap,
		.overflow = table->overflow,
		.buckets = table->buckets,
		.entries = table->entries,
		.slot_bytes = geo->slot_bytes,
		.entry_bytes = table->entry_bytes,
		.key_bytes = table->key_bytes,
		.max_buckets = geo->max_buckets,
		.max_overflow = geo->max_overflow,
		.max_slots = geo->max_slots,
	};
}

/* An area may have been another table's. */
static void clean(struct sp_table *table)
{
	for (int i = 0; i < SP_NR_RANGES; i++)
		memset(table->plane->tables + table->range_off[i], 0,
		       table->area->populated[i]);
}

static int populate_all(struct sp_table *table)
{
	int err = 0;

	for (int i = 0; i < SP_NR_RANGES && !err; i++)
		err = sp_table_populate(table, (enum sp_table_range)i,
					table->range_len[i]);
	return err;
}

static void fill_header(struct sp_table *table, const struct geometry *geo,
			const struct sp_table_opts *opts)
{
	struct sp_table_hdr *hdr = table->hdr;

	hdr->version = SP_TABLE_VERSION;
	hdr->flags = opts->flags;
	hdr->key_bytes = opts->key_bytes;
	hdr->entry_bytes = opts->entry_bytes;
	hdr->slot_bytes = geo->slot_bytes;
	hdr->max_entries = opts->max_entries;
	hdr->max_slots = geo->max_slots;
	hdr->max_buckets = geo->max_buckets;
	hdr->max_overflow = geo->max_overflow;
	hdr->kind = opts->kind;
	hdr->summary_off = geo->summary_off;
	hdr->bitmap_off = geo->bitmap_off;
	hdr->overflow_off = geo->off[SP_RANGE_OVERFLOW];
	hdr->bucket_off = geo->off[SP_RANGE_BUCKETS];
	hdr->entry_off = geo->off[SP_RANGE_ENTRIES];
	hdr->area_len = geo->area_len;
	for (int i = 0; i < SP_NR_RANGES; i++)
		hdr->memory_bytes += table->area->populated[i];
}

/* Everything in the plane but the directory's object. */
static int build(struct sp_table *table, const struct geometry *geo,
		 const struct sp_table_opts *opts)
{
	int err = sp_area_get(table->plane, geo->area_len, shape_of(geo),
			      &table->area);

	if (err)
		return err;
	set_up(table, geo);
	clean(table);
	if (geo->area_len >= HUGE_BYTES)
		madvise(table->plane->tables + table->area->off, geo->area_len,
			MADV_HUGEPAGE);
	err = sp_table_populate(table, SP_RANGE_META, geo->bitmap_off + 8);
	if (err)
		return err;
	table->hdr = (struct sp_table_hdr *)(void *)(table->plane->tables +
						     table->area->off);
	fill_header(table, geo, opts);
	if (opts->flags & SP_TABLE_POPULATE)
		err = populate_all(table);
	if (err)
		return err;
	return sp_table_presize(table, geo->min_buckets);
}

static int publish(struct sp_table *table, const char *name,
		   const struct sp_table_opts *opts)
{
	struct sp_object object = {
		.type = SP_OBJECT_TABLE,
		.parent = opts->parent,
	};

	if (strlen(name) > SP_OBJECT_NAME_MAX)
		return -EINVAL;
	strcpy(object.name, name);
	object.attr[SP_TABLE_ATTR_OFF] = table->area->off;
	object.attr[SP_TABLE_ATTR_KIND] = opts->kind;
	return sp_dir_add(table->plane, &object, &table->id);
}

int sp_table_create(struct sp_plane *plane, const char *name,
		    const struct sp_table_opts *opts,
		    struct sp_table **ret_table)
{
	struct sp_table_opts want;
	struct geometry geo;
	struct sp_table *table;
	int err = load_opts(&want, opts);

	if (err)
		return err;
	table = aligned_alloc(_Alignof(struct sp_table), sizeof(*table));
	if (!table)
		return -ENOMEM;
	memset(table, 0, sizeof(*table));
	table->plane = plane;
	table->is_shared = !(want.flags & SP_TABLE_ONE_WRITER);
	table->key_bytes = want.key_bytes;
	table->nr_words = (want.key_bytes + 7) / 8;
	table->key_shift = 8 * (table->nr_words * 8 - want.key_bytes);
	table->entry_bytes = want.entry_bytes;
	table->max_entries = want.max_entries;
	table->evict = want.evict;
	table->evict_arg = want.evict_arg;
	plan(&geo, &want, plane->page_size);
	table->hash = sp_table_secret_init(&table->secret, table->nr_words);
	table->find = sp_table_choose_find(table->nr_words);
	err = build(table, &geo, &want);
	if (!err)
		err = sp_slots_init(table, geo.max_slots);
	if (!err)
		err = publish(table, name, &want);
	if (err) {
		sp_table_destroy(table);
		return err;
	}
	*ret_table = table;
	return 0;
}

void sp_table_destroy(struct sp_table *table)
{
	if (!table)
		return;
	if (table->id)
		sp_dir_remove(table->plane, table->id);
	sp_slots_fini(table);
	if (table->area)
		sp_area_put(table->plane, table->area);
	free(table);
}

/* --- questions ------------------------------------------------------------ */

uint64_t sp_table_id(const struct sp_table *table)
{
	return table->id;
}

uint32_t sp_table_idx(const struct sp_table *table,
		      const struct sp_table_head *entry)
{
	uint64_t off =
		(uint64_t)((const char *)(const void *)entry - table->entries);

	return (uint32_t)(off / table->view.slot_bytes);
}

struct sp_table_head *sp_table_at(const struct sp_table *table, uint32_t idx)
{
	return sp_entry_at(table, idx);
}

int sp_table_copy(const struct sp_table *table,
		  const struct sp_table_head *entry, void *ret_copy)
{
	int err = sp_entry_copy(entry, table->entry_bytes, ret_copy);

	if (err)
		return err;
	return ((const struct sp_table_head *)ret_copy)->incarnation % 2
		       ? 0
		       : -ENOENT;
}

void sp_table_stats(const struct sp_table *table,
		    struct sp_table_figures *ret_stats)
{
	sp_view_figures(&table->view, ret_stats);
	ret_stats->max_entries = table->max_entries;
	ret_stats->kind = table->hdr->kind;
	ret_stats->nr_waiting = sp_slots_waiting(table);
}

/* --- walk ----------------------------------------------------------------- */

/* Where the entries of a walk go. */
struct output {
	const struct sp_table *table;
	struct sp_table_head **to;
};

/* sp_walk_bucket_fn; a void look is written over. */
static int collect(void *arg, unsigned at, const uint32_t *idx, unsigned nr)
{
	struct output *output = arg;

	for (unsigned i = 0; i < nr; i++) {
		output->to[at + i] = sp_entry_at(output->table, idx[i]);
		__builtin_prefetch(output->to[at + i]);
	}
	return 0;
}

unsigned sp_table_walk(const struct sp_table *table, uint64_t *cursor,
		       struct sp_table_head **ret_entries, unsigned max)
{
	struct output output = {table, ret_entries};
	struct sp_walk walk = {
		.view = &table->view, .fn = collect, .arg = &output};

	return sp_walk_next(&walk, cursor, max);
}
