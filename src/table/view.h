/* SPDX-License-Identifier: MIT */
/*
 * table/view.h - what finding and walking need of a table, whoever looks.
 *
 * The writer's side makes a view of what it has laid out itself; a reader of
 * another process one of a header that it has checked. In a view of the second
 * kind everything that is loaded later is held against the limits, too.
 */
#ifndef SP_TABLE_VIEW_H
#define SP_TABLE_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include <statplane/table.h>

#include "table/layout.h"

struct sp_table_view {
	const struct sp_table_hdr *hdr; /* only what changes is used */
	const uint64_t *summary;        /* a bit for each word of the bitmap */
	const uint64_t *bitmap;         /* a bit for each bucket */
	const struct sp_table_bucket *overflow;
	const struct sp_table_bucket *buckets;
	const char *entries;
	uint32_t slot_bytes;
	uint32_t entry_bytes;
	uint32_t key_bytes;
	uint32_t max_buckets;
	uint32_t max_overflow;
	uint32_t max_slots;
};

/* From 1 to max_buckets. */
static inline uint32_t sp_view_nr_buckets(const struct sp_table_view *view)
{
	/* [T4] */
	uint32_t nr = __atomic_load_n(&view->hdr->nr_buckets, __ATOMIC_ACQUIRE);

	if (__builtin_expect(nr - 1 >= view->max_buckets, 0))
		nr = nr ? view->max_buckets : 1;
	return nr;
}

/* The M of table/layout.h. */
static inline unsigned sp_log2(uint32_t nr)
{
	return 31 - (unsigned)__builtin_clz(nr);
}

/* Which of @nr buckets a hash belongs to. */
static inline uint32_t sp_bucket_of(uint64_t hash, uint32_t nr)
{
	uint32_t mask = UINT32_MAX >> __builtin_clz(nr);
	uint32_t high = (uint32_t)hash & mask;
	uint32_t low = (uint32_t)hash & mask >> 1;

	return high < nr ? high : low;
}

/* How many low bits of their hashes all entries of a bucket share. */
static inline unsigned sp_bucket_depth(uint32_t bucket, uint32_t nr)
{
	unsigned m = sp_log2(nr);

	return bucket >> m || bucket + (UINT32_C(1) << m) < nr ? m + 1 : m;
}

static inline uint16_t sp_tag_of(uint64_t hash)
{
	return (uint16_t)(hash >> 48 | 1); /* never 0 */
}

static inline const struct sp_table_head *
sp_view_entry(const struct sp_table_view *view, uint32_t idx)
{
	return (const struct sp_table_head
			*)(const void *)(view->entries +
					 (uint64_t)idx * view->slot_bytes);
}

/* The next bucket of a chain; NULL at its end. */
static inline const struct sp_table_bucket *
sp_view_next(const struct sp_table_view *view,
	     const struct sp_table_bucket *bucket)
{
	/* [T2] */
	uint32_t next = __atomic_load_n(&bucket->overflow, __ATOMIC_ACQUIRE);

	return next ? &view->overflow[next - 1] : NULL;
}

/* Let a writer finish that may have been preempted. */
static inline void sp_table_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield" ::: "memory");
#endif
}

/*
 * Copy an entry as it was at one moment, its head included.
 * Return: 0; -EAGAIN if it kept changing.
 */
int sp_entry_copy(const struct sp_table_head *entry, uint32_t bytes,
		  void *ret_copy);

/* What the header says, for whoever looks; within the view's limits. */
void sp_view_figures(const struct sp_table_view *view,
		     struct sp_table_figures *ret_figures);

/**
 * sp_walk_bucket_fn - what a walk does with a bucket while it looks at it
 * @at: entries of this call before these
 * @idx: their numbers; may be void, as the walk will see later: then it calls
 *       again with the same @at
 *
 * Return: 0; -EAGAIN: the look is void.
 */
typedef int sp_walk_bucket_fn(void *arg, unsigned at, const uint32_t *idx,
			      unsigned nr);

struct sp_walk {
	const struct sp_table_view *view;
	sp_walk_bucket_fn *fn;
	void *arg;
	/* Tries for a bucket, 0: until it works. Such a walk trusts nothing. */
	unsigned max_tries;
	/* Buckets that were given up. */
	uint64_t nr_skipped;
};

/**
 * sp_walk_next() - the entries of the next buckets that have any
 * @max: room for so many
 *
 * Calls fn for one bucket after another while the next one fits.
 *
 * Return: how many entries.
 */
unsigned sp_walk_next(struct sp_walk *walk, uint64_t *cursor, unsigned max);

#endif
