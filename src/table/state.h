/* SPDX-License-Identifier: MIT */
/*
 * table/state.h - the writer's side of a table, private to its process.
 *
 * Locks, none taken inside another but as they stand here: split_lock, then the
 * two buckets of the split (the lower number first), then grow_lock, slot_lock or
 * bits_lock. An insertion or removal holds one bucket. With ONE_WRITER none of
 * them is taken; seq and moves of buckets change all the same, for those who
 * look.
 */
#ifndef SP_TABLE_STATE_H
#define SP_TABLE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/lock.h"
#include "plane/plane.h"
#include "table/hash.h"
#include "table/layout.h"
#include "table/view.h"

/* Parts of the area that are populated apart. */
enum sp_table_range {
	SP_RANGE_META, /* header, summary, bitmap */
	SP_RANGE_OVERFLOW,
	SP_RANGE_BUCKETS,
	SP_RANGE_ENTRIES,
	SP_NR_RANGES,
};

_Static_assert((int)SP_NR_RANGES <= SP_AREA_RANGES, "see struct sp_plane_area");

/* Numbers of entries; room for all that there can be. */
struct sp_slot_stack {
	uint32_t *idx;
	uint32_t nr;
};

#define SP_NR_BITS_LOCKS 64

typedef struct sp_table_head *sp_table_find_fn(const struct sp_table *table,
					       const void *key, uint64_t hash);

struct sp_table {
	/* What a lookup needs. */
	sp_table_hash_fn *hash;
	sp_table_find_fn *find;
	struct sp_table_secret secret;
	struct sp_table_hdr *hdr;
	uint64_t *summary;
	uint64_t *bitmap;
	struct sp_table_bucket *overflow;
	struct sp_table_bucket *buckets;
	char *entries;
	uint64_t slot_bytes;

	struct sp_table_view view;
	bool is_shared; /* not ONE_WRITER */
	uint32_t key_bytes;
	uint32_t nr_words;  /* of a key */
	uint32_t key_shift; /* of the last one, past what is another's */
	uint32_t entry_bytes;
	uint32_t max_entries;
	unsigned (*evict)(struct sp_table *table, void *arg);
	void *evict_arg;

	struct sp_plane *plane;
	struct sp_plane_area *area;
	uint64_t range_off[SP_NR_RANGES]; /* from the start of the section */
	uint64_t range_len[SP_NR_RANGES];
	uint64_t id;

	/* Guards populating. */
	struct sp_lock grow_lock __attribute__((aligned(64)));

	/* Guards which entries are free. */
	struct sp_lock slot_lock __attribute__((aligned(64)));
	uint32_t next_slot;   /* never used so far */
	uint32_t ready_slots; /* populated; below nr_slots of the header */
	struct sp_slot_stack free;
	struct sp_slot_stack waiting[2]; /* removed; one of the two is filled */
	unsigned filled;
	struct sp_lock reclaim_lock; /* the other one is being emptied */

	/* Guards growing: the number of buckets, and overflow buckets. */
	struct sp_lock split_lock __attribute__((aligned(64)));
	struct sp_lock overflow_lock;
	uint32_t free_overflow;  /* number + 1 of the first free one */
	uint32_t ready_buckets;  /* populated, with their bits */
	uint32_t target_buckets; /* grow until there are so many */
	uint64_t retry_entries;  /* stuck: not before there are so many */

	/* Guard a word of the bitmap and its bit in the summary. */
	struct sp_lock bits_lock[SP_NR_BITS_LOCKS];
};

static inline struct sp_table_head *sp_entry_at(const struct sp_table *table,
						uint32_t idx)
{
	return (struct sp_table_head *)(void *)(table->entries +
						idx * table->slot_bytes);
}

/* In this process nobody lies. */
static inline uint32_t sp_table_nr_buckets(const struct sp_table *table)
{
	/* [T4] */
	return __atomic_load_n(&table->hdr->nr_buckets, __ATOMIC_ACQUIRE);
}

/* Locks that a single writer does not need. */
static inline void sp_table_lock(const struct sp_table *table,
				 struct sp_lock *lock)
{
	if (table->is_shared)
		sp_lock_acquire(lock);
}

static inline void sp_table_unlock(const struct sp_table *table,
				   struct sp_lock *lock)
{
	if (table->is_shared)
		sp_lock_release(lock);
}

/* Counters of the header: for information. */
static inline void sp_table_count(const struct sp_table *table,
				  uint64_t *counter, uint64_t n)
{
	if (table->is_shared)
		__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
	else
		__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

/* --- finding: lookup.c ---------------------------------------------------- */

sp_table_find_fn *sp_table_choose_find(unsigned nr_words);

/* --- memory: table.c ------------------------------------------------------ */

/**
 * sp_table_populate() - have the first @bytes of a range backed by memory
 *
 * Return: 0; -ENOSPC with nothing changed.
 * Context: takes grow_lock.
 */
int sp_table_populate(struct sp_table *table, enum sp_table_range range,
		      uint64_t bytes);

/* What of a range is populated. */
uint64_t sp_table_populated(const struct sp_table *table,
			    enum sp_table_range range);

/* --- entries: slots.c ----------------------------------------------------- */

int sp_slots_init(struct sp_table *table, uint32_t max_slots);
void sp_slots_fini(struct sp_table *table);

/* An entry that nobody can see. Return: 0; -ENOSPC. */
int sp_slots_get(struct sp_table *table, uint32_t *ret_idx);
/* Nobody has seen it: it may be used again at once. */
void sp_slots_unget(struct sp_table *table, uint32_t idx);
/* Somebody may still look at it. */
static inline void sp_slots_put(struct sp_table *table, uint32_t idx)
{
	struct sp_slot_stack *waiting;

	sp_table_lock(table, &table->slot_lock);
	waiting = &table->waiting[table->filled];
	waiting->idx[waiting->nr] = idx;
	__atomic_store_n(&waiting->nr, waiting->nr + 1, __ATOMIC_RELAXED);
	sp_table_unlock(table, &table->slot_lock);
}

/* Entries that wait. */
uint32_t sp_slots_waiting(const struct sp_table *table);

/* --- buckets: bucket.c ---------------------------------------------------- */

/* Lock the bucket that a hash belongs to, in a table with many writers. */
struct sp_table_bucket *sp_bucket_lock_shared(struct sp_table *table,
					      uint64_t hash);

/* Lock the bucket that a hash belongs to. */
static inline struct sp_table_bucket *sp_bucket_lock(struct sp_table *table,
						     uint64_t hash)
{
	struct sp_table_bucket *bucket;

	if (table->is_shared)
		return sp_bucket_lock_shared(table, hash);
	bucket =
		&table->buckets[sp_bucket_of(hash, sp_table_nr_buckets(table))];
	/* [T2]: what is stored behind the odd value has release. */
	__atomic_store_n(&bucket->seq, bucket->seq + 1, __ATOMIC_RELAXED);
	return bucket;
}

static inline void sp_bucket_unlock(struct sp_table_bucket *bucket)
{
	/* Others that want it may try to change it: an atomic load. */
	uint32_t seq = __atomic_load_n(&bucket->seq, __ATOMIC_RELAXED);

	__atomic_store_n(&bucket->seq, seq + 1, __ATOMIC_RELEASE); /* [T2] */
}

/* The bits of bucket @b, by who alone may change them. [T6] */
static inline void sp_bits_set(struct sp_table *table, uint32_t b)
{
	uint64_t *word = &table->bitmap[b / 64];
	uint64_t *summary = &table->summary[b / 4096];

	if (!*word)
		__atomic_store_n(summary, *summary | UINT64_C(1) << b / 64 % 64,
				 __ATOMIC_RELEASE);
	__atomic_store_n(word, *word | UINT64_C(1) << b % 64, __ATOMIC_RELEASE);
}

/* Or leave it if not @is_empty, which is not worth a branch. */
static inline void sp_bits_clear(struct sp_table *table, uint32_t b,
				 bool is_empty)
{
	uint64_t *word = &table->bitmap[b / 64];
	uint64_t *summary = &table->summary[b / 4096];
	uint64_t left = *word & ~((uint64_t)is_empty << b % 64);

	__atomic_store_n(word, left, __ATOMIC_RELEASE);
	if (!left)
		__atomic_store_n(summary,
				 *summary & ~(UINT64_C(1) << b / 64 % 64),
				 __ATOMIC_RELEASE);
}

void sp_bucket_mark_shared(struct sp_table *table, uint32_t b);
void sp_bucket_unmark_shared(struct sp_table *table, uint32_t b);

/* A locked bucket is occupied. */
static inline void sp_bucket_mark(struct sp_table *table,
				  const struct sp_table_bucket *bucket)
{
	uint32_t b = (uint32_t)(bucket - table->buckets);

	if (table->is_shared)
		sp_bucket_mark_shared(table, b);
	else
		sp_bits_set(table, b);
}

/* A locked bucket lost an entry; is it empty? */
static inline void sp_bucket_unmark(struct sp_table *table,
				    const struct sp_table_bucket *bucket,
				    bool is_empty)
{
	uint32_t b = (uint32_t)(bucket - table->buckets);

	if (!table->is_shared)
		sp_bits_clear(table, b, is_empty);
	else if (is_empty)
		sp_bucket_unmark_shared(table, b);
}

/**
 * sp_bucket_extend() - add an overflow bucket to the end of a locked chain
 * @last: its last bucket
 *
 * Return: 0; -ENOSPC.
 */
int sp_bucket_extend(struct sp_table *table, struct sp_table_bucket *last,
		     struct sp_table_bucket **ret_bucket);

/* Give up what overflows from a locked bucket with odd moves. */
void sp_bucket_cut(struct sp_table *table, struct sp_table_bucket *bucket);

/* From here to the end lookups that find nothing in the bucket try again. */
void sp_bucket_moves_begin(struct sp_table_bucket *bucket);
void sp_bucket_moves_end(struct sp_table_bucket *bucket);

/* Put an entry into a free place of a locked bucket. */
static inline void sp_bucket_put(struct sp_table_bucket *bucket, unsigned place,
				 uint16_t tag, uint32_t idx)
{
	__atomic_store_n(&bucket->idx[place], idx, __ATOMIC_RELEASE); /* [T2] */
	__atomic_store_n(&bucket->tag[place], tag,
			 __ATOMIC_RELEASE); /* [T1] [T6] */
}

static inline void sp_bucket_clear(struct sp_table_bucket *bucket,
				   unsigned place)
{
	__atomic_store_n(&bucket->tag[place], 0, __ATOMIC_RELEASE); /* [T2] */
}

/* The next one of a chain that this thread has locked. */
static inline struct sp_table_bucket *
sp_bucket_next(const struct sp_table *table,
	       const struct sp_table_bucket *bucket)
{
	return bucket->overflow ? &table->overflow[bucket->overflow - 1] : NULL;
}

/* --- doubling: split.c ---------------------------------------------------- */

/* Split a few buckets if the table is too full. No bucket is locked. */
void sp_table_grow(struct sp_table *table);

/* Have at least @nr empty buckets in a table without entries. */
int sp_table_presize(struct sp_table *table, uint32_t nr);

/* Is it time? Cheap. */
static inline bool sp_table_is_full_enough(const struct sp_table *table)
{
	uint32_t nr =
		__atomic_load_n(&table->hdr->nr_buckets, __ATOMIC_RELAXED);
	uint64_t nr_entries =
		__atomic_load_n(&table->hdr->nr_entries, __ATOMIC_RELAXED);

	return nr_entries > 4 * (uint64_t)nr ||
	       nr < __atomic_load_n(&table->target_buckets, __ATOMIC_RELAXED);
}

#endif
