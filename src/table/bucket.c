// SPDX-License-Identifier: MIT
/*
 * table/bucket.c - locking a bucket, its bit in the bitmap, its overflow.
 *
 * Overflow buckets belong to their chain until it is split or has become empty;
 * both are done with odd moves, so that a lookup which was led astray by one that
 * got another owner tries again. Other overflow buckets are chained by their
 * overflow field, under overflow_lock.
 */
#include "table/state.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#define SPINS_A_YIELD 64

/* --- lock ----------------------------------------------------------------- */

/* [T2]: what is stored behind the odd value has release. */
static void lock_bucket(struct sp_table_bucket *bucket)
{
	uint32_t seq = __atomic_load_n(&bucket->seq, __ATOMIC_RELAXED);

	for (unsigned i = 1;; i++) {
		if (seq % 2 == 0 && __atomic_compare_exchange_n(
					    &bucket->seq, &seq, seq + 1, false,
					    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return;
		if (i % SPINS_A_YIELD)
			sp_table_relax();
		else
			sched_yield();
		seq = __atomic_load_n(&bucket->seq, __ATOMIC_RELAXED);
	}
}

struct sp_table_bucket *sp_bucket_lock_shared(struct sp_table *table,
					      uint64_t hash)
{
	for (;;) {
		uint32_t b = sp_bucket_of(hash, sp_table_nr_buckets(table));
		struct sp_table_bucket *bucket = &table->buckets[b];

		lock_bucket(bucket);
		/* While it is locked it is not split. */
		if (sp_bucket_of(hash, sp_table_nr_buckets(table)) == b)
			return bucket;
		sp_bucket_unlock(bucket);
	}
}

void sp_bucket_moves_begin(struct sp_table_bucket *bucket)
{
	__atomic_store_n(&bucket->moves, bucket->moves + 1,
			 __ATOMIC_RELAXED); /* [T3] */
}

void sp_bucket_moves_end(struct sp_table_bucket *bucket)
{
	__atomic_store_n(&bucket->moves, bucket->moves + 1,
			 __ATOMIC_RELEASE); /* [T3] */
}

/* --- bitmap --------------------------------------------------------------- */

/* One lock for all words below a word of the summary. */
static struct sp_lock *lock_of(struct sp_table *table, uint32_t b)
{
	return &table->bits_lock[b / 4096 % SP_NR_BITS_LOCKS];
}

void sp_bucket_mark_shared(struct sp_table *table, uint32_t b)
{
	/* It can only be cleared by who holds the bucket: this thread. */
	if (__atomic_load_n(&table->bitmap[b / 64], __ATOMIC_RELAXED) >>
		    b % 64 &
	    1)
		return;
	sp_lock_acquire(lock_of(table, b));
	sp_bits_set(table, b);
	sp_lock_release(lock_of(table, b));
}

void sp_bucket_unmark_shared(struct sp_table *table, uint32_t b)
{
	sp_lock_acquire(lock_of(table, b));
	sp_bits_clear(table, b, true);
	sp_lock_release(lock_of(table, b));
}

/* --- overflow ------------------------------------------------------------- */

/* Under overflow_lock. Return: number + 1; 0 if there is none. */
static uint32_t take_overflow(struct sp_table *table)
{
	uint32_t nr = table->hdr->nr_overflow;
	uint64_t bytes = (nr + UINT64_C(1)) * sizeof(*table->overflow);

	if (table->free_overflow) {
		uint32_t taken = table->free_overflow;

		table->free_overflow = table->overflow[taken - 1].overflow;
		return taken;
	}
	if (nr == table->view.max_overflow ||
	    sp_table_populate(table, SP_RANGE_OVERFLOW, bytes))
		return 0;
	/* [P3] */
	__atomic_store_n(&table->hdr->nr_overflow, nr + 1, __ATOMIC_RELEASE);
	return nr + 1;
}

int sp_bucket_extend(struct sp_table *table, struct sp_table_bucket *last,
		     struct sp_table_bucket **ret_bucket)
{
	struct sp_table_bucket *bucket;
	uint32_t taken;

	sp_table_lock(table, &table->overflow_lock);
	taken = take_overflow(table);
	sp_table_unlock(table, &table->overflow_lock);
	if (!taken)
		return -ENOSPC;
	bucket = &table->overflow[taken - 1];
	/* Its tags are 0: see sp_bucket_cut(). */
	__atomic_store_n(&bucket->overflow, 0, __ATOMIC_RELEASE);   /* [T2] */
	__atomic_store_n(&last->overflow, taken, __ATOMIC_RELEASE); /* [T2] */
	*ret_bucket = bucket;
	return 0;
}

void sp_bucket_cut(struct sp_table *table, struct sp_table_bucket *bucket)
{
	uint32_t first = bucket->overflow;
	struct sp_table_bucket *last = NULL;

	if (!first)
		return;
	for (struct sp_table_bucket *b = sp_bucket_next(table, bucket); b;
	     b = sp_bucket_next(table, b)) {
		for (unsigned i = 0; i < SP_BUCKET_SLOTS; i++)
			sp_bucket_clear(b, i);
		last = b;
	}
	__atomic_store_n(&bucket->overflow, 0, __ATOMIC_RELEASE); /* [T2] */
	sp_table_lock(table, &table->overflow_lock);
	__atomic_store_n(&last->overflow, table->free_overflow,
			 __ATOMIC_RELEASE);
	table->free_overflow = first;
	sp_table_unlock(table, &table->overflow_lock);
}
