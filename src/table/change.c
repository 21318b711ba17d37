// SPDX-License-Identifier: MIT
/*
 * table/change.c - insertion and removal.
 *
 * An insertion first has all that can fail (a place in the count, an entry), then
 * locks the bucket, looks for the key, and gives them back if it is there. An
 * entry is whole before its tag is stored [T1].
 */
#include "table/find.h"

#include <errno.h>

#include "table/reserve.h"

/* --- entries -------------------------------------------------------------- */

static void begin(struct sp_table_head *entry)
{
	__atomic_store_n(&entry->seq, entry->seq + 1, __ATOMIC_RELAXED);
}

/* [T5]: words behind begin() are stored with release. */
static void end(struct sp_table_head *entry)
{
	__atomic_store_n(&entry->seq, entry->seq + 1, __ATOMIC_RELEASE);
}

static void next_incarnation(struct sp_table_head *entry)
{
	__atomic_store_n(&entry->incarnation, entry->incarnation + 1,
			 __ATOMIC_RELEASE); /* [T5] */
}

SP_INLINE void fill_entry(const struct sp_table *table,
			  struct sp_table_head *entry, const struct sp_key *key,
			  unsigned nr_words, uint64_t hash, const void *payload)
{
	uint64_t *words = (uint64_t *)(void *)(entry + 1);
	unsigned nr = table->entry_bytes / 8 - sizeof(*entry) / 8;
	const char *from = payload;
	uint64_t word = 0;

	begin(entry);
	__atomic_store_n(&entry->hash, hash, __ATOMIC_RELEASE); /* [T5] */
	for (unsigned i = 0; i < nr_words; i++)
		sp_table_store(&words[i], key->word[i]);
	for (unsigned i = nr_words; i < nr; i++) {
		if (from)
			memcpy(&word, from + 8 * (i - nr_words), 8);
		sp_table_store(&words[i], word);
	}
	next_incarnation(entry);
	end(entry);
}

/* --- the count ------------------------------------------------------------ */

static void leave(struct sp_table *table)
{
	uint64_t *nr = &table->hdr->nr_entries;

	if (table->is_shared)
		__atomic_fetch_sub(nr, 1, __ATOMIC_RELAXED);
	else
		__atomic_store_n(nr, *nr - 1, __ATOMIC_RELAXED);
}

/* Return: false if the table is full. */
static bool enter(struct sp_table *table)
{
	uint64_t *nr = &table->hdr->nr_entries;

	if (table->is_shared) {
		if (__atomic_fetch_add(nr, 1, __ATOMIC_RELAXED) <
		    table->max_entries)
			return true;
		leave(table);
		return false;
	}
	if (*nr >= table->max_entries)
		return false;
	__atomic_store_n(nr, *nr + 1, __ATOMIC_RELAXED);
	return true;
}

/* --- insertion ------------------------------------------------------------ */

/* What a look through a locked chain has found. */
struct spot {
	struct sp_table_head *entry;    /* that has the key, or NULL */
	struct sp_table_bucket *bucket; /* with a free place, or NULL */
	unsigned place;
	struct sp_table_bucket *last; /* of the chain */
	unsigned nr_buckets;
};

static void look(const struct sp_table *table, struct sp_table_bucket *bucket,
		 const struct sp_key *key, uint64_t hash, struct spot *spot)
{
	spot->bucket = NULL;
	spot->nr_buckets = 0;
	for (; bucket; bucket = sp_bucket_next(table, bucket)) {
		unsigned is_free = sp_match(bucket, 0);

		spot->entry = sp_find_here(table, bucket, key, table->nr_words,
					   sp_tag_of(hash));
		if (spot->entry)
			return;
		if (is_free && !spot->bucket) {
			spot->bucket = bucket;
			spot->place = sp_match_first(is_free);
		}
		spot->last = bucket;
		spot->nr_buckets++;
	}
}

/* Find a place in a locked bucket. Return: 0; -EEXIST; -ENOSPC. */
__attribute__((noinline)) static int
find_place(struct sp_table *table, struct sp_table_bucket *bucket,
	   const struct sp_key *key, uint64_t hash, struct spot *spot)
{
	look(table, bucket, key, hash, spot);
	if (spot->entry)
		return -EEXIST;
	if (spot->bucket)
		return 0;
	spot->place = 0;
	if (spot->nr_buckets == SP_CHAIN_MAX)
		return -ENOSPC;
	return sp_bucket_extend(table, spot->last, &spot->bucket);
}

/* Most buckets have a free place, no second one, and no such tag. */
SP_INLINE bool is_simple(const struct sp_table_bucket *bucket, uint64_t hash,
			 unsigned is_free)
{
	return is_free && !bucket->overflow &&
	       !sp_match(bucket, sp_tag_of(hash));
}

/* Into a locked bucket. Return: 0; -EEXIST; -ENOSPC. */
SP_INLINE int put(struct sp_table *table, struct sp_table_bucket *bucket,
		  const struct sp_key *key, unsigned nr_words, uint64_t hash,
		  const void *payload, uint32_t idx,
		  struct sp_table_head **ret_entry)
{
	struct sp_table_head *entry = sp_entry_at(table, idx);
	unsigned is_free = sp_match(bucket, 0);
	struct spot spot = {.bucket = bucket};

	if (__builtin_expect(is_simple(bucket, hash, is_free), 1)) {
		spot.place = sp_match_first(is_free);
	} else {
		int err = find_place(table, bucket, key, hash, &spot);

		if (err == -EEXIST)
			*ret_entry = spot.entry;
		if (err)
			return err;
	}
	fill_entry(table, entry, key, nr_words, hash, payload);
	sp_bucket_mark(table, bucket);
	sp_bucket_put(spot.bucket, spot.place, sp_tag_of(hash), idx);
	*ret_entry = entry;
	return 0;
}

SP_INLINE int insert(struct sp_table *table, const void *key, unsigned nr_words,
		     uint64_t hash, const void *payload, uint32_t idx,
		     struct sp_table_head **ret_entry)
{
	struct sp_table_bucket *bucket;
	struct sp_key words;
	int err;

	sp_key_load(table, &words, key, nr_words);
	bucket = sp_bucket_lock(table, hash);
	err = put(table, bucket, &words, nr_words, hash, payload, idx,
		  ret_entry);
	sp_bucket_unlock(bucket);
	return err;
}

static int insert_any(struct sp_table *table, const void *key, uint64_t hash,
		      const void *payload, uint32_t idx,
		      struct sp_table_head **ret_entry)
{
	if (table->nr_words == 2)
		return insert(table, key, 2, hash, payload, idx, ret_entry);
	return insert(table, key, table->nr_words, hash, payload, idx,
		      ret_entry);
}

/* There is no room; but the key may be there. */
static int refuse(struct sp_table *table, const void *key, uint64_t hash,
		  uint64_t *counter, struct sp_table_head **ret_entry)
{
	struct sp_table_head *entry = sp_table_lookup(table, key, hash);

	if (entry) {
		*ret_entry = entry;
		return -EEXIST;
	}
	sp_table_count(table, counter, 1);
	return -ENOSPC;
}

/* Return: how many were evicted to make room. */
static unsigned evict(struct sp_table *table)
{
	unsigned nr = table->evict ? table->evict(table, table->evict_arg) : 0;

	if (nr)
		sp_table_count(table, &table->hdr->nr_evicted, nr);
	return nr;
}

/* A full table: make room, unless the key is there. */
static bool make_room(struct sp_table *table, const void *key, uint64_t hash)
{
	return !sp_table_lookup(table, key, hash) && evict(table) &&
	       enter(table);
}

int sp_table_insert(struct sp_table *table, const void *key, uint64_t hash,
		    const void *payload, struct sp_table_head **ret_entry)
{
	uint32_t idx;
	int err;

	if (!enter(table) && !make_room(table, key, hash))
		return refuse(table, key, hash, &table->hdr->nr_full,
			      ret_entry);
	err = sp_slots_get(table, &idx);
	if (err) {
		leave(table);
		return refuse(table, key, hash, &table->hdr->nr_no_memory,
			      ret_entry);
	}
	err = insert_any(table, key, hash, payload, idx, ret_entry);
	if (err) {
		sp_slots_unget(table, idx);
		leave(table);
	}
	if (err == -ENOSPC)
		sp_table_count(table, &table->hdr->nr_no_memory, 1);
	if (!err && sp_table_is_full_enough(table))
		sp_table_grow(table);
	return err;
}

/* --- insertion in two steps ----------------------------------------------- */

int sp_table_reserve(struct sp_table *table, struct sp_table_head **ret_entry)
{
	uint32_t idx;
	int err;

	if (!enter(table) && !(evict(table) && enter(table))) {
		sp_table_count(table, &table->hdr->nr_full, 1);
		return -E2BIG;
	}
	err = sp_slots_get(table, &idx);
	if (err) {
		leave(table);
		sp_table_count(table, &table->hdr->nr_no_memory, 1);
		return err;
	}
	*ret_entry = sp_entry_at(table, idx);
	return 0;
}

void sp_table_unreserve(struct sp_table *table, struct sp_table_head *entry)
{
	sp_slots_unget(table, sp_table_idx(table, entry));
	leave(table);
}

int sp_table_publish(struct sp_table *table, struct sp_table_head *entry,
		     const void *key, uint64_t hash, const void *payload,
		     struct sp_table_head **ret_entry)
{
	int err = insert_any(table, key, hash, payload,
			     sp_table_idx(table, entry), ret_entry);

	if (err)
		sp_table_unreserve(table, entry);
	if (err == -ENOSPC)
		sp_table_count(table, &table->hdr->nr_no_memory, 1);
	if (!err && sp_table_is_full_enough(table))
		sp_table_grow(table);
	return err;
}

/* --- removal -------------------------------------------------------------- */

/* Return: the bucket of a chain that holds the entry, with its place; NULL. */
SP_INLINE struct sp_table_bucket *find_idx(const struct sp_table *table,
					   struct sp_table_bucket *bucket,
					   uint16_t tag, uint32_t idx,
					   unsigned *ret_place)
{
	for (; bucket; bucket = sp_bucket_next(table, bucket))
		for (unsigned mask = sp_match(bucket, tag); mask;
		     mask = sp_match_rest(mask)) {
			*ret_place = sp_match_first(mask);
			if (sp_bucket_idx(bucket, *ret_place) == idx)
				return bucket;
		}
	return NULL;
}

static bool is_chain_empty(const struct sp_table *table,
			   const struct sp_table_bucket *bucket)
{
	for (; bucket; bucket = sp_bucket_next(table, bucket))
		if (sp_match(bucket, 0) != SP_MATCH_ALL)
			return false;
	return true;
}

/* The bit of a locked bucket with a chain, which may have become empty. */
__attribute__((noinline)) static void
unmark_chain(struct sp_table *table, struct sp_table_bucket *bucket)
{
	if (!is_chain_empty(table, bucket))
		return;
	sp_bucket_unmark(table, bucket, true);
	sp_bucket_moves_begin(bucket);
	sp_bucket_cut(table, bucket);
	sp_bucket_moves_end(bucket);
}

static void end_life(struct sp_table_head *entry)
{
	begin(entry);
	next_incarnation(entry);
	end(entry);
}

int sp_table_remove(struct sp_table *table, struct sp_table_head *entry)
{
	uint64_t hash = __atomic_load_n(&entry->hash, __ATOMIC_RELAXED);
	uint32_t idx = sp_table_idx(table, entry);
	struct sp_table_bucket *bucket = sp_bucket_lock(table, hash), *b;
	unsigned place;

	b = find_idx(table, bucket, sp_tag_of(hash), idx, &place);
	if (!b) {
		sp_bucket_unlock(bucket);
		return -ENOENT;
	}
	sp_bucket_clear(b, place);
	if (__builtin_expect(bucket->overflow != 0, 0))
		unmark_chain(table, bucket);
	else
		sp_bucket_unmark(table, bucket,
				 sp_match(bucket, 0) == SP_MATCH_ALL);
	end_life(entry);
	sp_bucket_unlock(bucket);
	leave(table);
	sp_slots_put(table, idx);
	return 0;
}
