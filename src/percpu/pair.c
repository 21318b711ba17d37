/* SPDX-License-Identifier: MIT */
/*
 * percpu/pair.c - 16-byte accesses, by instruction set.
 *
 * Compilers hand 16-byte __atomic operations to libatomic, which may take a
 * lock: useless between processes. So they are spelled out here.
 */
#include "percpu/pair.h"

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#define LOAD_TRIES 1000

#if defined(__x86_64__)

bool sp_pair_is_atomic(void)
{
	return __builtin_cpu_supports("avx");
}

void sp_pair_locked_add(struct sp_pair *pair, uint64_t packets, uint64_t bytes)
{
	/* A torn first guess is only a wrong guess. */
	uint64_t lo = __atomic_load_n(&pair->packets, __ATOMIC_RELAXED);
	uint64_t hi = __atomic_load_n(&pair->bytes, __ATOMIC_RELAXED);
	bool done;

	do {
		__asm__ volatile("lock cmpxchg16b %[pair]"
				 : [pair] "+m"(*pair), "+a"(lo), "+d"(hi),
				   "=@ccz"(done)
				 : "b"(lo + packets), "c"(hi + bytes)
				 : "memory");
	} while (!done);
}

static struct sp_pair load_once(const struct sp_pair *pair)
{
	struct sp_pair value;
	unsigned long long __attribute__((vector_size(16))) v;

	__asm__ volatile("vmovdqa %[pair], %[v]"
			 : [v] "=x"(v)
			 : [pair] "m"(*pair));
	value.packets = v[0];
	value.bytes = v[1];
	return value;
}

#elif defined(__aarch64__)

#ifndef HWCAP_USCAT
#define HWCAP_USCAT (1 << 25)
#endif

bool sp_pair_is_atomic(void)
{
	return getauxval(AT_HWCAP) & HWCAP_USCAT;
}

void sp_pair_locked_add(struct sp_pair *pair, uint64_t packets, uint64_t bytes)
{
	uint64_t lo, hi;
	uint32_t failed;

	do {
		__asm__ volatile("ldxp	%[lo], %[hi], %[pair]\n\t"
				 "add	%[lo], %[lo], %[packets]\n\t"
				 "add	%[hi], %[hi], %[bytes]\n\t"
				 "stxp	%w[failed], %[lo], %[hi], %[pair]"
				 : [lo] "=&r"(lo), [hi] "=&r"(hi),
				   [failed] "=&r"(failed), [pair] "+Q"(*pair)
				 : [packets] "r"(packets), [bytes] "r"(bytes)
				 : "memory");
	} while (failed);
}

static struct sp_pair load_once(const struct sp_pair *pair)
{
	struct sp_pair value;

	__asm__ volatile("ldp	%[lo], %[hi], %[pair]"
			 : [lo] "=r"(value.packets), [hi] "=r"(value.bytes)
			 : [pair] "Ump"(*pair));
	return value;
}

#else
#error "statplane supports x86-64 and aarch64"
#endif

static struct sp_pair load_twice(const struct sp_pair *pair)
{
	struct sp_pair a, b;
	unsigned tries = LOAD_TRIES;

	/* Acquire keeps the loads in the order in which they stand. */
	b.packets = __atomic_load_n(&pair->packets, __ATOMIC_ACQUIRE);
	b.bytes = __atomic_load_n(&pair->bytes, __ATOMIC_ACQUIRE);
	do {
		a = b;
		b.packets = __atomic_load_n(&pair->packets, __ATOMIC_ACQUIRE);
		b.bytes = __atomic_load_n(&pair->bytes, __ATOMIC_ACQUIRE);
	} while ((a.packets != b.packets || a.bytes != b.bytes) && --tries);
	return a;
}

struct sp_pair sp_pair_load(const struct sp_pair *pair)
{
	return sp_pair_is_atomic() ? load_once(pair) : load_twice(pair);
}
