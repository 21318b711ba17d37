// SPDX-License-Identifier: MIT
/*
 * table/hash.c - see table/hash.h.
 */
#include "table/find.h"

static uint64_t hash_sip(const struct sp_table *table, const void *key)
{
	return sp_hash(&table->secret.sip, key, table->key_bytes);
}

#if defined(__x86_64__)
#include <immintrin.h>

/* Cannot be inlined where the instructions are not allowed. */
#define AES static inline __attribute__((target("aes"), always_inline))

AES uint64_t hash_aes(const struct sp_table *table, const void *key,
		      unsigned nr_words)
{
	const __m128i *k = (const __m128i *)(const void *)table->secret.aes;
	__m128i s = k[0];
	struct sp_key words;

	sp_key_load(table, &words, key, nr_words);
	/* An odd number of words is filled up with a zero. */
	for (unsigned i = 0; i < nr_words; i += 2) {
		s = _mm_xor_si128(
			s, _mm_set_epi64x(i + 1 < nr_words
						  ? (long long)words.word[i + 1]
						  : 0,
					  (long long)words.word[i]));
		s = _mm_aesenc_si128(s, k[1]);
		s = _mm_aesenc_si128(s, k[2]);
		s = _mm_aesenc_si128(s, k[3]);
		s = _mm_aesenc_si128(s, k[4]);
	}
	return (uint64_t)_mm_cvtsi128_si64(s);
}

__attribute__((target("aes"))) static uint64_t
hash_aes_2(const struct sp_table *table, const void *key)
{
	return hash_aes(table, key, 2);
}

__attribute__((target("aes"))) static uint64_t
hash_aes_5(const struct sp_table *table, const void *key)
{
	return hash_aes(table, key, 5);
}

__attribute__((target("aes"))) static uint64_t
hash_aes_any(const struct sp_table *table, const void *key)
{
	return hash_aes(table, key, table->nr_words);
}

static sp_table_hash_fn *choose(unsigned nr_words)
{
	__builtin_cpu_init();
	if (!__builtin_cpu_supports("aes"))
		return hash_sip;
	return nr_words == 2   ? hash_aes_2
	       : nr_words == 5 ? hash_aes_5
			       : hash_aes_any;
}

#else

static sp_table_hash_fn *choose(unsigned nr_words)
{
	(void)nr_words;
	return hash_sip;
}

#endif

sp_table_hash_fn *sp_table_secret_init(struct sp_table_secret *secret,
				       unsigned nr_words)
{
	for (unsigned i = 0; i < SP_AES_KEYS; i++)
		sp_hash_key_init((struct sp_hash_key *)(void *)secret->aes[i]);
	sp_hash_key_init(&secret->sip);
	return choose(nr_words);
}
