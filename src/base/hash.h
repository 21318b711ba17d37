/* SPDX-License-Identifier: MIT */
/*
 * base/hash.h - SipHash-1-3, a keyed hash.
 *
 * For tables whose keys somebody else may choose: without the key nobody can
 * aim at one bucket.
 */
#ifndef SP_BASE_HASH_H
#define SP_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

struct sp_hash_key {
	uint64_t k0, k1;
};

/* A fresh random key. Context: may block early after boot. */
void sp_hash_key_init(struct sp_hash_key *key);

uint64_t sp_hash(const struct sp_hash_key *key, const void *data, size_t len);

#endif
