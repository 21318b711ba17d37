/* SPDX-License-Identifier: MIT */
/*
 * observe/flow.h - a 64-bit name for "these two ends, this protocol".
 *
 * SipHash-1-3 under a random key: whoever writes the packets cannot choose two
 * flows that share a name, so tables keep the name alone and never the
 * addresses. By chance two of 65536 flows share one with probability 2^-33.
 */
#ifndef SP_OBSERVE_FLOW_H
#define SP_OBSERVE_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/hash.h"

static inline uint64_t flow_load(const uint8_t *p, size_t len)
{
	uint64_t word = 0;

	memcpy(&word, p, len);
	return word;
}

/**
 * flow_hash() - name the flow from @a to @b
 * @a, @b: addresses in network order; swapped ends are another flow
 * @tag: anything else that belongs to the name: ports, protocol, kind
 *
 * Return: never 0.
 */
static inline uint64_t flow_hash(const struct sp_hash_key *key,
				 const uint8_t *a, const uint8_t *b, bool ipv6,
				 uint64_t tag)
{
	uint64_t words[5] = {tag};
	uint64_t hash;

	if (ipv6) {
		memcpy(words + 1, a, 16);
		memcpy(words + 3, b, 16);
	} else {
		words[1] = flow_load(a, 4) << 32 | flow_load(b, 4);
	}
	hash = sp_hash(key, words, ipv6 ? 40 : 16);
	return hash ? hash : 1;
}

/* Ports, in host order, and a protocol as a tag. */
static inline uint64_t flow_tag(uint16_t a_port, uint16_t b_port,
				uint8_t protocol)
{
	return (uint64_t)a_port << 32 | (uint64_t)b_port << 16 | protocol;
}

#endif
