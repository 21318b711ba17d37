/* SPDX-License-Identifier: MIT */
/*
 * observe/addr_set.h - addresses of one family, each with marks and a value.
 *
 * Open addressing with linear probing under a random key, at most half full.
 * Marks stand apart from addresses: most lookups, those of far ends, meet a free
 * slot and read one octet of a small array.
 */
#ifndef SP_OBSERVE_ADDR_SET_H
#define SP_OBSERVE_ADDR_SET_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/hash.h"

struct addr_key {
	uint64_t lo, hi; /* as in memory; hi is 0 for IPv4 */
};

struct addr_set {
	struct sp_hash_key hash_key;
	uint32_t mask;
	uint8_t *marks; /* 0: free slot */
	struct addr_key *keys;
	uint16_t *values;
};

/* Room for @nr addresses. Return: 0; -ENOMEM. */
int addr_set_init(struct addr_set *set, size_t nr);
void addr_set_fini(struct addr_set *set);

static inline struct addr_key addr_key4(const uint8_t *addr)
{
	uint32_t word;

	memcpy(&word, addr, sizeof(word));
	return (struct addr_key){word, 0};
}

static inline struct addr_key addr_key6(const uint8_t *addr)
{
	struct addr_key key;

	memcpy(&key, addr, sizeof(key));
	return key;
}

static inline uint32_t addr_set_home(const struct addr_set *set,
				     struct addr_key key)
{
	unsigned __int128 x = (unsigned __int128)(key.lo ^ set->hash_key.k0) *
			      (key.hi ^ set->hash_key.k1);

	uint64_t y = (uint64_t)x ^ (uint64_t)(x >> 64);

	/* The product alone leaves neighbours at equal distances. */
	y = (y ^ y >> 32) * 0xff51afd7ed558ccdull;
	return (uint32_t)(y >> 32) & set->mask;
}

/* The slot of @key, or the free one where it would go. */
static inline uint32_t addr_set_find(const struct addr_set *set,
				     struct addr_key key)
{
	uint32_t slot = addr_set_home(set, key);

	while (set->marks[slot] &&
	       (set->keys[slot].lo != key.lo || set->keys[slot].hi != key.hi))
		slot = (slot + 1) & set->mask;
	return slot;
}

/* 0 if @key is not in it. */
static inline uint8_t addr_set_marks(const struct addr_set *set,
				     struct addr_key key)
{
	return set->marks[addr_set_find(set, key)];
}

/* Put @marks on @key, which is added if it is not there. Return: its slot. */
uint32_t addr_set_mark(struct addr_set *set, struct addr_key key,
		       uint8_t marks);

/* Take @marks off; without any the address goes. Slots may move. */
void addr_set_unmark(struct addr_set *set, struct addr_key key, uint8_t marks);

#endif
