/* SPDX-License-Identifier: MIT */
/*
 * packet/siphash.h - the hash of base/hash.h, inline for keys of a few whole
 * words, where a packet cannot wait for a call and a byte loop.
 *
 * The same SipHash-1-3: on a little-endian machine the results are equal.
 */
#ifndef SP_PACKET_SIPHASH_H
#define SP_PACKET_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

struct sp_siphash_key {
	uint64_t word[2];
};

static inline uint64_t sp_rotl64(uint64_t word, unsigned bits)
{
	return (word << bits) | (word >> (64 - bits));
}

static inline void sp_sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = sp_rotl64(v[1], 13) ^ v[0];
	v[0] = sp_rotl64(v[0], 32);
	v[2] += v[3];
	v[3] = sp_rotl64(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = sp_rotl64(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = sp_rotl64(v[1], 17) ^ v[2];
	v[2] = sp_rotl64(v[2], 32);
}

static inline uint64_t sp_siphash13(const struct sp_siphash_key *key,
				    const uint64_t *words, size_t nr_words)
{
	uint64_t v[4] = {
		key->word[0] ^ 0x736f6d6570736575,
		key->word[1] ^ 0x646f72616e646f6d,
		key->word[0] ^ 0x6c7967656e657261,
		key->word[1] ^ 0x7465646279746573,
	};
	uint64_t length_block = (uint64_t)(nr_words * 8) << 56;

	for (size_t i = 0; i <= nr_words; i++) {
		uint64_t word = i < nr_words ? words[i] : length_block;

		v[3] ^= word;
		sp_sip_round(v);
		v[0] ^= word;
	}
	v[2] ^= 0xff;
	sp_sip_round(v);
	sp_sip_round(v);
	sp_sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

#endif
