// SPDX-License-Identifier: MIT
/*
 * base/hash.c - SipHash with one compression and three finalization rounds, as
 * Aumasson and Bernstein specify the family. Results do not depend on the byte
 * order of the machine.
 */
#include "base/hash.h"

#include <endian.h>
#include <string.h>
#include <time.h>
#include <sys/random.h>

void sp_hash_key_init(struct sp_hash_key *key)
{
	struct timespec now;

	if (getrandom(key, sizeof(*key), 0) == (ssize_t)sizeof(*key))
		return;
	/* No such system call: a key that is at least different each time. */
	clock_gettime(CLOCK_MONOTONIC, &now);
	key->k0 = (uint64_t)now.tv_nsec * 0x9e3779b97f4a7c15ull;
	key->k1 = (uint64_t)now.tv_sec ^ (uint64_t)(uintptr_t)key;
}

static uint64_t rotate(uint64_t x, unsigned bits)
{
	return x << bits | x >> (64 - bits);
}

static inline void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] = rotate(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] = rotate(v[2], 32);
}

static inline void absorb(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	sip_round(v);
	v[0] ^= word;
}

uint64_t sp_hash(const struct sp_hash_key *key, const void *data, size_t len)
{
	const char *pos = data;
	uint64_t v[4] = {
		key->k0 ^ 0x736f6d6570736575ull,
		key->k1 ^ 0x646f72616e646f6dull,
		key->k0 ^ 0x6c7967656e657261ull,
		key->k1 ^ 0x7465646279746573ull,
	};
	uint64_t word;
	size_t left;

	for (left = len; left >= 8; left -= 8, pos += 8) {
		memcpy(&word, pos, 8);
		absorb(v, le64toh(word));
	}
	word = 0;
	memcpy(&word, pos, left);
	absorb(v, le64toh(word) | (uint64_t)len << 56);
	v[2] ^= 0xff;
	for (int i = 0; i < 3; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}
