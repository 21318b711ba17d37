// SPDX-License-Identifier: MIT
/*
 * table/lookup.c - finding entries without a lock.
 *
 * What is found is right: its key was compared, and it was in the table when its
 * tag was loaded. That nothing was found is right if no entry left the chain
 * meanwhile for another bucket [T3], and if the bucket is still the hash's [T4].
 */
#include "table/find.h"

#include <sched.h>

#include "base/fence.h"

#define SPINS_A_YIELD 64
#define BATCH         32

uint64_t sp_table_hash(const struct sp_table *table, const void *key)
{
	return table->hash(table, key);
}

struct sp_table_head *sp_table_lookup(const struct sp_table *table,
				      const void *key, uint64_t hash)
{
	return table->find(table, key, hash);
}

SP_INLINE const struct sp_table_bucket *bucket_of(const struct sp_table *table,
						  uint64_t hash)
{
	return &table->buckets[sp_bucket_of(hash, sp_table_nr_buckets(table))];
}

/* --- the rare ways -------------------------------------------------------- */

/* Return: the entry; NULL and *@ret_sure false if it may be elsewhere. */
static struct sp_table_head *find_once(const struct sp_table *table,
				       const struct sp_key *key, uint64_t hash,
				       bool *ret_sure)
{
	const struct sp_table_bucket *bucket = bucket_of(table, hash);
	const struct sp_table_bucket *b = bucket;
	/* [T3] */
	uint32_t moves = __atomic_load_n(&bucket->moves, __ATOMIC_ACQUIRE);

	for (unsigned i = 0; b && i < SP_CHAIN_MAX; i++) {
		struct sp_table_head *entry = sp_find_here(
			table, b, key, table->nr_words, sp_tag_of(hash));

		if (entry)
			return entry;
		b = sp_view_next(&table->view, b);
	}
	sp_fence_acquire(); /* [T3] */
	*ret_sure =
		moves % 2 == 0 &&
		__atomic_load_n(&bucket->moves, __ATOMIC_ACQUIRE) == moves &&
		bucket_of(table, hash) == bucket;
	return NULL;
}

/* From the start, whatever there is. */
__attribute__((noinline)) static struct sp_table_head *
find_patiently(const struct sp_table *table, const void *key, uint64_t hash)
{
	struct sp_key words;

	sp_key_load(table, &words, key, table->nr_words);
	for (unsigned i = 1;; i++) {
		bool is_sure;
		struct sp_table_head *entry =
			find_once(table, &words, hash, &is_sure);

		if (entry || is_sure)
			return entry;
		if (i % SPINS_A_YIELD)
			sp_table_relax();
		else
			sched_yield();
	}
}

/* --- the common way ------------------------------------------------------- */

/* By the first place in the bucket that has the tag. */
SP_INLINE struct sp_table_head *find_fast(const struct sp_table *table,
					  const void *key, unsigned nr_words,
					  uint64_t hash)
{
	const struct sp_table_bucket *bucket = bucket_of(table, hash);
	unsigned mask = sp_match(bucket, sp_tag_of(hash));
	struct sp_table_head *entry;
	struct sp_key words;

	if (__builtin_expect(!mask, 0))
		return find_patiently(table, key, hash);
	sp_key_load(table, &words, key, nr_words);
	entry = sp_entry_at(table, sp_bucket_idx(bucket, sp_match_first(mask)));
	if (__builtin_expect(!sp_key_equal(entry, &words, nr_words), 0))
		return find_patiently(table, key, hash);
	return entry;
}

static struct sp_table_head *find_2(const struct sp_table *table,
				    const void *key, uint64_t hash)
{
	return find_fast(table, key, 2, hash);
}

static struct sp_table_head *find_5(const struct sp_table *table,
				    const void *key, uint64_t hash)
{
	return find_fast(table, key, 5, hash);
}

sp_table_find_fn *sp_table_choose_find(unsigned nr_words)
{
	return nr_words == 2 ? find_2 : nr_words == 5 ? find_5 : find_patiently;
}

/* --- many ----------------------------------------------------------------- */

/* The entry that the first tag leads to is asked for. */
SP_INLINE void prefetch_entry(const struct sp_table *table, uint64_t hash)
{
	const struct sp_table_bucket *bucket = bucket_of(table, hash);
	/* Without a branch that would be guessed before the bucket is here. */
	unsigned mask = sp_match(bucket, sp_tag_of(hash)) |
			1u << 2 * (SP_BUCKET_SLOTS - 1);

	__builtin_prefetch(sp_entry_at(
		table, sp_bucket_idx(bucket, sp_match_first(mask))));
}

static void lookup_few(const struct sp_table *table, const char *keys,
		       size_t stride, unsigned nr, uint64_t *hashes,
		       struct sp_table_head **ret_entries)
{
	for (unsigned i = 0; i < nr; i++) {
		hashes[i] = sp_table_hash(table, keys + stride * i);
		__builtin_prefetch(bucket_of(table, hashes[i]));
	}
	for (unsigned i = 0; i < nr; i++)
		prefetch_entry(table, hashes[i]);
	for (unsigned i = 0; i < nr; i++)
		ret_entries[i] =
			sp_table_lookup(table, keys + stride * i, hashes[i]);
}

void sp_table_lookup_batch(const struct sp_table *table, const void *keys,
			   size_t stride, unsigned nr, uint64_t *ret_hashes,
			   struct sp_table_head **ret_entries)
{
	uint64_t own[BATCH];
	const char *key = keys;

	for (unsigned i = 0; i < nr; i += BATCH) {
		unsigned n = nr - i < BATCH ? nr - i : BATCH;

		lookup_few(table, key + stride * i, stride, n,
			   ret_hashes ? ret_hashes + i : own, ret_entries + i);
	}
}
