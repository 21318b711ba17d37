/* SPDX-License-Identifier: MIT */
/*
 * base/lock.h - a mutex whose try is safe in a signal handler.
 *
 * pthread_mutex_trylock() is not on the list of async-signal-safe functions; a
 * this-CPU add may run in a handler and must be able to ask for a lock that the
 * interrupted thread holds. One word: 0 free, 1 held, 2 held and waited for.
 *
 * Memory ordering
 *   [L1] release of the word by the holder, acquire by the next one.
 */
#ifndef SP_BASE_LOCK_H
#define SP_BASE_LOCK_H

#include <stdbool.h>
#include <stdint.h>

struct sp_lock {
	uint32_t word;
};

/* Context: any thread, signal handlers too. Never waits. */
static inline bool sp_lock_try(struct sp_lock *lock)
{
	uint32_t expected = 0;

	return __atomic_compare_exchange_n(&lock->word, &expected, 1, false,
					   __ATOMIC_ACQUIRE, /* [L1] */
					   __ATOMIC_RELAXED);
}

void sp_lock_wait(struct sp_lock *lock);
void sp_lock_wake(struct sp_lock *lock);

/* Context: any thread that does not hold it; not signal handlers. */
static inline void sp_lock_acquire(struct sp_lock *lock)
{
	if (!sp_lock_try(lock))
		sp_lock_wait(lock);
}

static inline void sp_lock_release(struct sp_lock *lock)
{
	/* [L1] */
	if (__atomic_exchange_n(&lock->word, 0, __ATOMIC_RELEASE) == 2)
		sp_lock_wake(lock);
}

#endif
