// SPDX-License-Identifier: MIT
/*
 * base/lock.c - waiting for a struct sp_lock, by futex(2).
 *
 * Whoever waits leaves 2 in the word, so that the holder's release wakes one;
 * the woken one takes the lock with 2 again, since others may still wait.
 */
#include "base/lock.h"

#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

void sp_lock_wait(struct sp_lock *lock)
{
	/* [L1] */
	while (__atomic_exchange_n(&lock->word, 2, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &lock->word, FUTEX_WAIT_PRIVATE, 2, NULL,
			NULL, 0);
}

void sp_lock_wake(struct sp_lock *lock)
{
	syscall(SYS_futex, &lock->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
