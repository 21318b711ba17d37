/* SPDX-License-Identifier: MIT */
/*
 * table/layout.h - the bytes of a table in the segment, as
 * docs/segment-format.md has them.
 *
 *	+--------+---------+--------+----------+---------+---------+
 *	| header | summary | bitmap | overflow | buckets | entries |
 *	+--------+---------+--------+----------+---------+---------+
 *
 * An area of the tables section, its whole length reserved when the table is
 * made and populated as it grows. So nothing moves: doubling appends buckets.
 *
 * With N buckets, 2^M <= N < 2^(M+1), a hash belongs to the bucket of its low
 * M + 1 bits if there is one, else of its low M bits. Growing from N to N + 1
 * splits one bucket, N - 2^M, whose entries with bit M move to the new one,
 * number N. That is linear hashing (Litwin 1980): the table is usable at every
 * N, and N stands still at powers of two.
 *
 * Memory ordering
 *   [T1] entry and index stored -> tag (release); a reader loads tags with
 *        acquire: what a tag leads to is whole.
 *   [T2] a bucket is locked while seq is odd; its words are stored with release
 *        behind the odd value and loaded with acquire before seq is compared,
 *        as [P2] of plane/layout.h.
 *   [T3] the same with moves, which is odd only while entries leave for another
 *        bucket: a lookup that found nothing compares it, and then the number of
 *        buckets.
 *   [T4] memory populated and both buckets of a split locked -> nr_buckets
 *        (release). Whoever sees the split bucket unlocked sees the new number.
 *   [T5] an entry's payload, as [T2] with the entry's seq.
 *   [T6] summary bit, then bitmap bit (release), then the tag; cleared in the
 *        opposite order while the bucket is locked: an entry that can be found
 *        has its bits set.
 */
#ifndef SP_TABLE_LAYOUT_H
#define SP_TABLE_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include <statplane/table.h>

#define SP_TABLE_VERSION 1

#define SP_BUCKET_SLOTS 8
/* A bucket and those added to it: a chain holds what SP_TABLE_WALK_MIN says. */
#define SP_CHAIN_MAX (SP_TABLE_WALK_MIN / SP_BUCKET_SLOTS)

#define SP_TABLE_MAX_BUCKETS (1u << 26)

struct sp_table_bucket {
	uint16_t tag[SP_BUCKET_SLOTS]; /* of the hash, see view.h; 0: free */
	uint32_t seq;                  /* [T2] */
	uint32_t moves;                /* [T3] */
	uint32_t idx[SP_BUCKET_SLOTS]; /* of the entry */
	uint32_t overflow;             /* number of the next one + 1, or 0 */
	uint32_t pad;
} __attribute__((aligned(64)));

/* At the start of the area. Offsets from there. */
struct sp_table_hdr {
	/* Constant. */
	uint32_t version;
	uint32_t flags;
	uint32_t key_bytes;
	uint32_t entry_bytes;
	uint32_t slot_bytes; /* from entry to entry */
	uint32_t max_entries;
	uint32_t max_slots; /* more than max_entries: removed ones wait */
	uint32_t max_buckets;
	uint32_t max_overflow;
	uint32_t pad0;
	uint64_t kind;
	uint64_t summary_off;
	uint64_t bitmap_off;
	uint64_t overflow_off;
	uint64_t bucket_off;
	uint64_t entry_off;
	uint64_t area_len;
	uint64_t pad1[4];

	/* Changes with each doubling step. */
	uint32_t nr_buckets; /* [T4] */
	uint32_t pad2[15];

	/* Change often. */
	uint32_t nr_slots;    /* entries below were in use ever [P3] */
	uint32_t nr_overflow; /* the same of overflow buckets [P3] */
	uint64_t nr_entries;
	uint64_t nr_full;
	uint64_t nr_no_memory;
	uint64_t nr_evicted;
	uint64_t nr_stuck;
	uint64_t memory_bytes;
	uint32_t nr_used; /* entries below were given out ever */
	uint32_t pad3;
};

_Static_assert(sizeof(struct sp_table_bucket) == 64, "on-disk layout");
_Static_assert(offsetof(struct sp_table_hdr, nr_buckets) == 128,
	       "on-disk layout");
_Static_assert(sizeof(struct sp_table_hdr) == 256, "on-disk layout");
_Static_assert(sizeof(struct sp_table_head) == 16, "on-disk layout");

#endif
