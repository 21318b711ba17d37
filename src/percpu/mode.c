/* SPDX-License-Identifier: MIT */
/*
 * percpu/mode.c - how this process adds to its own CPU.
 *
 * Decided once and for all planes: a plane in which some adds are plain and
 * others locked, on the same cell, would lose updates.
 */
#include "percpu/state.h"

#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#if defined(SP_PERCPU_FAST_X86) || defined(SP_PERCPU_FAST_ARM64)

/*
 * Every CPU id that this kernel can show has a place in base[]: it refuses a
 * mask that is shorter than its own number of ids, offline ones included.
 */
static bool cpu_ids_fit(void)
{
	unsigned long mask[SP_PERCPU_MAX_CPUS / 8 / sizeof(unsigned long)];

	return syscall(SYS_sched_getaffinity, 0, sizeof(mask), mask) > 0;
}

static bool adds_in_place(void)
{
#if defined(__aarch64__)
	return getauxval(AT_HWCAP) & HWCAP_ATOMICS;
#else
	return true;
#endif
}

static enum sp_percpu_mode choose(void)
{
	/* 0 unless the C library has registered an area: not under its tunable
	 * glibc.pthread.rseq=0, an old kernel, valgrind or qemu. The auxiliary
	 * vector tells what the kernel could do, not what was done. */
	if (!__rseq_size || !adds_in_place() || !cpu_ids_fit())
		return SP_PERCPU_FALLBACK;
	return SP_PERCPU_RSEQ;
}

#else

static enum sp_percpu_mode choose(void)
{
	return SP_PERCPU_FALLBACK;
}

#endif

enum sp_percpu_mode sp_percpu_mode(void)
{
	/* 0: not chosen yet. Threads that meet here choose the same. */
	static unsigned chosen;
	unsigned mode = __atomic_load_n(&chosen, __ATOMIC_RELAXED);

	if (!mode) {
		mode = 1 + (unsigned)choose();
		__atomic_store_n(&chosen, mode, __ATOMIC_RELAXED);
	}
	return (enum sp_percpu_mode)(mode - 1);
}
