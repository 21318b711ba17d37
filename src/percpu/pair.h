/* SPDX-License-Identifier: MIT */
/*
 * percpu/pair.h - 16-byte accesses to a pair that other threads use.
 */
#ifndef SP_PERCPU_PAIR_H
#define SP_PERCPU_PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include <statplane/percpu.h>

/* An aligned 16-byte load or store is one access: AVX, or LSE2. */
bool sp_pair_is_atomic(void);

/*
 * Add to a pair that any thread may add to in the same way. x86-64: needs
 * cmpxchg16b, which all but the first processors of 2003 have.
 */
void sp_pair_locked_add(struct sp_pair *pair, uint64_t packets, uint64_t bytes);

/*
 * Both halves as they were at one time.
 *
 * Without atomic 16-byte loads: packets, bytes, packets, bytes, until two
 * rounds agree. Counters only grow, so equal packets around a load of bytes say
 * that packets did not change in between. Bounded; after that many changes in a
 * row the last values are returned.
 */
struct sp_pair sp_pair_load(const struct sp_pair *pair);

#endif
