// SPDX-License-Identifier: MIT
/*
 * table/split.c - doubling, a bucket at a time.
 *
 * When there are more than LOAD entries a bucket, each insertion splits a few
 * buckets until there are twice as many: so that the table is rarely found
 * between two powers of two, where half of its buckets are fuller than the
 * others. One thread at a time does it; others go on.
 *
 * A split can fail only before anything was changed: populated memory and
 * overflow buckets are had first.
 */
#include "table/state.h"

#include <errno.h>
#include <string.h>

#define SPLITS_AN_INSERT 4

/* Entries of one chain, or to become one. */
struct list {
	unsigned nr;
	uint32_t idx[SP_TABLE_WALK_MIN];
	uint16_t tag[SP_TABLE_WALK_MIN];
};

static void list_add(struct list *list, uint16_t tag, uint32_t idx)
{
	list->idx[list->nr] = idx;
	list->tag[list->nr] = tag;
	list->nr++;
}

/* Bring the heads of a chain's entries near. */
static void prefetch_chain(const struct sp_table *table,
			   const struct sp_table_bucket *bucket)
{
	for (; bucket; bucket = sp_bucket_next(table, bucket))
		for (unsigned i = 0; i < SP_BUCKET_SLOTS; i++)
			if (bucket->tag[i])
				__builtin_prefetch(
					sp_entry_at(table, bucket->idx[i]));
}

static void divide(const struct sp_table *table,
		   const struct sp_table_bucket *bucket, unsigned bit,
		   struct list *stay, struct list *leave)
{
	stay->nr = leave->nr = 0;
	prefetch_chain(table, bucket);
	for (; bucket; bucket = sp_bucket_next(table, bucket)) {
		for (unsigned i = 0; i < SP_BUCKET_SLOTS; i++) {
			uint64_t hash;

			if (!bucket->tag[i])
				continue;
			hash = __atomic_load_n(
				&sp_entry_at(table, bucket->idx[i])->hash,
				__ATOMIC_RELAXED);
			list_add(hash >> bit & 1 ? leave : stay, bucket->tag[i],
				 bucket->idx[i]);
		}
	}
}

/* Have room for @nr entries in an empty chain. Return: 0; -ENOSPC. */
static int make_room(struct sp_table *table, struct sp_table_bucket *bucket,
		     unsigned nr)
{
	struct sp_table_bucket *last = bucket;

	for (; nr > SP_BUCKET_SLOTS; nr -= SP_BUCKET_SLOTS) {
		int err = sp_bucket_extend(table, last, &last);

		if (err) {
			sp_bucket_cut(table, bucket);
			return err;
		}
	}
	return 0;
}

/* Make a chain hold just @list, for which it has room. */
static void fill(struct sp_table *table, struct sp_table_bucket *bucket,
		 const struct list *list)
{
	unsigned done = 0;

	for (;;) {
		for (unsigned i = 0; i < SP_BUCKET_SLOTS; i++) {
			sp_bucket_clear(bucket, i);
			if (done < list->nr) {
				sp_bucket_put(bucket, i, list->tag[done],
					      list->idx[done]);
				done++;
			}
		}
		if (done == list->nr)
			break;
		bucket = sp_bucket_next(table, bucket);
	}
	/* What is behind is empty now. */
	sp_bucket_cut(table, bucket);
}

/* Both locked, with odd moves. */
static int move(struct sp_table *table, struct sp_table_bucket *from,
		struct sp_table_bucket *to, uint32_t nr)
{
	struct list stay, leave;
	int err;

	divide(table, from, sp_log2(nr), &stay, &leave);
	err = make_room(table, to, leave.nr);
	if (err)
		return err;
	/* [T4] */
	__atomic_store_n(&table->hdr->nr_buckets, nr + 1, __ATOMIC_RELEASE);
	if (leave.nr) {
		sp_bucket_mark(table, to);
		fill(table, to, &leave);
		fill(table, from, &stay);
		if (!stay.nr)
			sp_bucket_unmark(table, from, true);
	}
	return 0;
}

static uint64_t meta_bytes(const struct sp_table *table, uint32_t nr_buckets)
{
	return (uint64_t)((const char *)table->bitmap -
			  (const char *)table->hdr) +
	       (nr_buckets + UINT64_C(63)) / 64 * 8;
}

static uint32_t count_ready(const struct sp_table *table)
{
	uint64_t nr = sp_table_populated(table, SP_RANGE_BUCKETS) /
		      sizeof(*table->buckets);
	uint64_t bits = (sp_table_populated(table, SP_RANGE_META) -
			 meta_bytes(table, 0)) *
			8;

	if (nr > bits)
		nr = bits;
	return nr < table->view.max_buckets ? (uint32_t)nr
					    : table->view.max_buckets;
}

/* Memory for bucket number @nr. */
static int prepare(struct sp_table *table, uint32_t nr)
{
	uint64_t bytes = (nr + UINT64_C(1)) * sizeof(*table->buckets);
	int err;

	if (nr < table->ready_buckets)
		return 0;
	err = sp_table_populate(table, SP_RANGE_META,
				meta_bytes(table, nr + 1));
	if (!err)
		err = sp_table_populate(table, SP_RANGE_BUCKETS, bytes);
	if (!err)
		table->ready_buckets = count_ready(table);
	return err;
}

static void lock_for_moves(struct sp_table *table,
			   struct sp_table_bucket *bucket)
{
	/* The new one is nobody's yet; no hash leads to it. */
	__atomic_store_n(&bucket->seq, bucket->seq + 1, __ATOMIC_RELAXED);
	sp_bucket_moves_begin(bucket);
	(void)table;
}

/* Split the bucket whose turn it is. Under split_lock. */
static int split(struct sp_table *table)
{
	uint32_t nr = table->hdr->nr_buckets;
	struct sp_table_bucket *from, *to = &table->buckets[nr];
	int err = prepare(table, nr);

	if (err)
		return err;
	/* Its own number is a hash that belongs to it. */
	from = sp_bucket_lock(table, nr - (UINT32_C(1) << sp_log2(nr)));
	sp_bucket_moves_begin(from);
	lock_for_moves(table, to);
	err = move(table, from, to, nr);
	sp_bucket_moves_end(to);
	sp_bucket_unlock(to);
	sp_bucket_moves_end(from);
	sp_bucket_unlock(from);
	return err;
}

/* Where to grow to, if anywhere. Under split_lock. */
static bool choose_target(struct sp_table *table)
{
	uint32_t nr = table->hdr->nr_buckets;
	uint64_t nr_entries =
		__atomic_load_n(&table->hdr->nr_entries, __ATOMIC_RELAXED);
	uint32_t target;

	if (nr < table->target_buckets)
		return true;
	if (nr_entries <= 4 * (uint64_t)nr || nr == table->view.max_buckets ||
	    nr_entries < table->retry_entries)
		return false;
	target = UINT32_C(2) << sp_log2(nr);
	__atomic_store_n(&table->target_buckets, target, __ATOMIC_RELAXED);
	return true;
}

/* No memory: go on with longer chains, and try again when it is fuller. */
static void give_up(struct sp_table *table)
{
	uint64_t nr_entries =
		__atomic_load_n(&table->hdr->nr_entries, __ATOMIC_RELAXED);

	sp_table_count(table, &table->hdr->nr_stuck, 1);
	__atomic_store_n(&table->target_buckets, 0, __ATOMIC_RELAXED);
	table->retry_entries = nr_entries + nr_entries / 16;
}

void sp_table_grow(struct sp_table *table)
{
	if (table->is_shared && !sp_lock_try(&table->split_lock))
		return;
	for (unsigned i = 0; i < SPLITS_AN_INSERT && choose_target(table);
	     i++) {
		if (split(table)) {
			give_up(table);
			break;
		}
	}
	sp_table_unlock(table, &table->split_lock);
}

int sp_table_presize(struct sp_table *table, uint32_t nr)
{
	int err = prepare(table, nr - 1);

	if (!err)
		__atomic_store_n(&table->hdr->nr_buckets, nr,
				 __ATOMIC_RELEASE); /* [T4] */
	return err;
}
