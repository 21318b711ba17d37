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
 * Places of a bucket whose tag is @tag: bits 2 * i and 2 * i + 1 for place i. The
 * tags are loaded with acquire: what they lead to is whole [T1].
 */
static inline unsigned sp_match(const struct sp_table_bucket *bucket,
				uint16_t tag)
{
#if defined(__SSE2__) && !defined(__SANITIZE_THREAD__)
	/* x86 loads are acquire, and each tag comes in one piece. */
	__m128i tags = _mm_load_si128((const void *)bucket->tag);

	__asm__ volatile("" ::: "memory");
	return (unsigned)_mm_movemask_epi8(
		_mm_cmpeq_epi16(tags, _mm_set1_epi16((short)tag)));
#else
	unsigned mask = 0;

	for (unsigned i = 0; i < SP_BUCKET_SLOTS; i++)
		mask |= (__atomic_load_n(&bucket->tag[i], __ATOMIC_ACQUIRE) ==
					 tag
				 ? 3u
				 : 0u)
			<< 2 * i;
	return mask;
#endif
}

#define SP_MATCH_ALL 0xffffu

static inline unsigned sp_match_first(unsigned mask)
{
	return (unsigned)__builtin_ctz(mask) / 2;
}

static inline unsigned sp_match_rest(unsigned mask)
{
	mask &= mask - 1;
	return mask & (mask - 1);
}

static inline uint32_t sp_bucket_idx(const struct sp_table_bucket *bucket,
				     unsigned place)
{
	return __atomic_load_n(&bucket->idx[place], __ATOMIC_RELAXED);
}

/*
 * How many lookups a CPU has on their way at once is decided by how few
 * instructions each takes. So what follows is inlined with a constant number of
 * words, for the sizes of keys that are worth it, and never calls; what is rare
 * stands apart.
 */
#define SP_INLINE static inline __attribute__((always_inline))

/* A key in words, the last one padded with zeros as in the entries. */
struct sp_key {
	uint64_t word[SP_TABLE_KEY_MAX / 8];
};

/* Up to 8 octets. */
static inline uint64_t sp_key_load_short(const char *key, uint32_t key_bytes)
{
	uint64_t word = 0;

	memcpy(&word, key, key_bytes);
	return word;
}

SP_INLINE void sp_key_load(const struct sp_table *table, struct sp_key *to,
			   const void *key, unsigned nr_words)
{
	const char *from = key;
	uint64_t last;

	if (nr_words == 1) {
		to->word[0] = sp_key_load_short(from, table->key_bytes);
		return;
	}
	for (unsigned i = 0; i + 1 < nr_words; i++)
		memcpy(&to->word[i], from + 8 * i, 8);
	/* The last 8 octets, without those of the word before. */
	memcpy(&last, from + table->key_bytes - 8, 8);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	to->word[nr_words - 1] = last >> table->key_shift;
#else
	to->word[nr_words - 1] = last << table->key_shift;
#endif
}

static inline const uint64_t *sp_entry_key(const struct sp_table_head *entry)
{
	return (const uint64_t *)(const void *)(entry + 1);
}

SP_INLINE bool sp_key_equal(const struct sp_table_head *entry,
			    const struct sp_key *key, unsigned nr_words)
{
	const uint64_t *words = sp_entry_key(entry);
	uint64_t differ = 0;

	for (unsigned i = 0; i < nr_words; i++)
		differ |= __atomic_load_n(&words[i], __ATOMIC_RELAXED) ^
			  key->word[i];
	return !differ;
}

/* The entry of a key in one bucket of a chain, or NULL. */
SP_INLINE struct sp_table_head *
sp_find_here(const struct sp_table *table, const struct sp_table_bucket *bucket,
	     const struct sp_key *key, unsigned nr_words, uint16_t tag)
{
	for (unsigned mask = sp_match(bucket, tag); mask;
	     mask = sp_match_rest(mask)) {
		struct sp_table_head *entry = sp_entry_at(
			table, sp_bucket_idx(bucket, sp_match_first(mask)));

		if (__builtin_expect(sp_key_equal(entry, key, nr_words), 1))
			return entry;
	}
	return NULL;
}

#endif
