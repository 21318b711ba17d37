/* SPDX-License-Identifier: MIT */
/*
 * table/hash.h - the keyed hash of a table.
 *
 * Hashes live as long as their table and are seen only through its plane, so
 * each machine uses what it does best:
 *
 *   - AES rounds where the CPU has them. A chain of blocks, each mixed in by four
 *     rounds with secret keys: s = R4(s ^ block). Four rounds of AES let no
 *     difference of inputs through with a probability worth mentioning (below
 *     2^-113, Keliher and Sui 2007), so without the keys nobody can make two keys
 *     meet, and it takes a tenth of the instructions of the other one: which
 *     decides how many lookups a CPU has on their way at once.
 *   - SipHash-1-3 elsewhere.
 */
#ifndef SP_TABLE_HASH_H
#define SP_TABLE_HASH_H

#include <stdint.h>

#include "base/hash.h"

#define SP_AES_KEYS 5

struct sp_table_secret {
	uint8_t aes[SP_AES_KEYS][16] __attribute__((aligned(16)));
	struct sp_hash_key sip;
};

struct sp_table;

typedef uint64_t sp_table_hash_fn(const struct sp_table *table,
				  const void *key);

/* A fresh secret. Return: the best hash that this CPU can do of @nr_words. */
sp_table_hash_fn *sp_table_secret_init(struct sp_table_secret *secret,
				       unsigned nr_words);

#endif
