/* SPDX-License-Identifier: MIT */
/*
 * base/fence.h - a fence between plain loads and what follows them.
 *
 * ThreadSanitizer does not model fences and gcc warns about each; under it a
 * sequentially consistent operation on a word of the caller's stands in, which
 * orders at least as much on the machines that it runs on.
 */
#ifndef SP_BASE_FENCE_H
#define SP_BASE_FENCE_H

#include <stdint.h>

/* No load before it is done after any load or store behind it. */
static inline void sp_fence_acquire(void)
{
#ifdef __SANITIZE_THREAD__
	uint32_t word = 0;

	__atomic_fetch_add(&word, 1, __ATOMIC_SEQ_CST);
#else
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
}

#endif
