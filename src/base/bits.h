/* SPDX-License-Identifier: MIT */
/*
 * base/bits.h - rounding and the few bit tricks that several rooms need.
 */
#ifndef SP_BASE_BITS_H
#define SP_BASE_BITS_H

#include <stdbool.h>
#include <stdint.h>

static inline bool sp_is_power_of_two(uint64_t x)
{
	return x && !(x & (x - 1));
}

/* @to is a power of two; a result beyond 2^64 wraps to 0. */
static inline uint64_t sp_round_up(uint64_t x, uint64_t to)
{
	return (x + to - 1) & ~(to - 1);
}

static inline uint64_t sp_round_down(uint64_t x, uint64_t to)
{
	return x & ~(to - 1);
}

/* Is [@off, @off + @len) inside [0, @limit)? For untrusted values. */
static inline bool sp_range_inside(uint64_t off, uint64_t len, uint64_t limit)
{
	return off <= limit && len <= limit - off;
}

#endif
