/* SPDX-License-Identifier: MIT */
/*
 * base/fence.h - fences between plain accesses and what goes before or after.
 *
 * ThreadSanitizer does not model fences and gcc warns about each; under it a
 * sequentially consistent operation on a word of the caller's stands in, which
 * orders at least as much on the machines that it runs on.
 */
#ifndef SP_BASE_FENCE_H
#define SP_BASE_FENCE_H

#include <stdint.h>

#ifdef __SANITIZE_THREAD__
#define SP_FENCE(order)                                                        \
	do {                                                                   \
		uint32_t word = 0;                                             \
                                                                               \
		__atomic_fetch_add(&word, 1, __ATOMIC_SEQ_CST);                \
	} while (0)
#else
#define SP_FENCE(order) __atomic_thread_fence(order)
#endif

/* Loads before it are done before loads and stores behind it. */
static inline void sp_fence_acquire(void)
{
	SP_FENCE(__ATOMIC_ACQUIRE);
}

/* Loads and stores before it are done before stores behind it. */
static inline void sp_fence_release(void)
{
	SP_FENCE(__ATOMIC_RELEASE);
}

#endif
