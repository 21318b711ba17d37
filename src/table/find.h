/* SPDX-License-Identifier: MIT */
/*
 * table/find.h - comparing tags and keys.
 */
#ifndef SP_TABLE_FIND_H
#define SP_TABLE_FIND_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "table/state.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/*
 * Places of a bucket whose tag is @tag, bit i for place i. The tags are loaded
 * with acquire: what they lead to is whole [T1].
 */
static inline unsigned sp_match(const struct sp_table_bucket *bucket,
				uint16_t tag)
{
	const uint64_t *half = (const uint64_t *)(const void *)bucket->tag;
	uint64_t low = __atomic_load_n(&half[0], __ATOMIC_ACQUIRE);
	uint64_t high = __atomic_load_n(&half[1], __ATOMIC_ACQUIRE);

#if defined(__SSE2__)
	__m128i tags = _mm_set_epi64x((long long)high, (long long)low);
	__m128i equal = _mm_cmpeq_epi16(tags, _mm_set1_epi16((short)tag));

	return (unsigned)_mm_movemask_epi8(
		_mm_packs_epi16(equal, _mm_setzero_si128()));
#else
	const uint64_t ones = 0x0001000100010001ull;
	unsigned mask = 0;

	low ^= tag * ones;
	high ^= tag * ones;
	for (unsigned i = 0; i < 4; i++) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
		unsigned shift = 16 * i;
#else
		unsigned shift = 48 - 16 * i;
#endif
		mask |= (unsigned)((low >> shift & 0xffff) == 0) << i;
		mask |= (unsigned)((high >> shift & 0xffff) == 0) << (i + 4);
	}
	return mask;
#endif
}

static inline uint32_t sp_bucket_idx(const struct sp_table_bucket *bucket,
				     unsigned place)
{
	return __atomic_load_n(&bucket->idx[place], __ATOMIC_RELAXED);
}

/* A key in words, the last one padded with zeros as in the entries. */
struct sp_key {
	uint64_t word[SP_TABLE_KEY_MAX / 8];
	unsigned nr_words;
};

static inline void sp_key_load(struct sp_key *to, const void *key,
			       uint32_t key_bytes)
{
	const char *from = key;
	unsigned nr = key_bytes / 8, rest = key_bytes % 8;

	for (unsigned i = 0; i < nr; i++)
		memcpy(&to->word[i], from + 8 * i, 8);
	if (rest && nr) {
		/* The last 8 bytes, without those of the word before. */
		memcpy(&to->word[nr], from + key_bytes - 8, 8);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
		to->word[nr] >>= 8 * (8 - rest);
#else
		to->word[nr] <<= 8 * (8 - rest);
#endif
		nr++;
	} else if (rest) {
		to->word[0] = 0;
		memcpy(&to->word[0], from, rest);
		nr = 1;
	}
	to->nr_words = nr;
}

static inline const uint64_t *sp_entry_key(const struct sp_table_head *entry)
{
	return (const uint64_t *)(const void *)(entry + 1);
}

static inline bool sp_key_equal(const struct sp_table_head *entry,
				const struct sp_key *key)
{
	const uint64_t *words = sp_entry_key(entry);
	uint64_t differ = 0;

	for (unsigned i = 0; i < key->nr_words; i++)
		differ |= __atomic_load_n(&words[i], __ATOMIC_RELAXED) ^
			  key->word[i];
	return !differ;
}

/* The entry of a key in one bucket of a chain, or NULL. */
static inline struct sp_table_head *
sp_find_here(const struct sp_table *table, const struct sp_table_bucket *bucket,
	     const struct sp_key *key, uint16_t tag)
{
	for (unsigned mask = sp_match(bucket, tag); mask; mask &= mask - 1) {
		unsigned place = (unsigned)__builtin_ctz(mask);
		struct sp_table_head *entry =
			sp_entry_at(table, sp_bucket_idx(bucket, place));

		if (__builtin_expect(sp_key_equal(entry, key), 1))
			return entry;
	}
	return NULL;
}

#endif
