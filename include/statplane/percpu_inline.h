/* SPDX-License-Identifier: MIT */
/*
 * statplane/percpu_inline.h - the hot bodies of statplane/percpu.h.
 *
 * The layouts in this file are ABI: programs compile them in.
 *
 * x86-64: one restartable sequence (rseq). The kernel sends a thread to the
 * abort handler if it was preempted, migrated or signalled between labels 1 and
 * 2, so the CPU that is loaded inside is still the CPU of the commit, and
 * nobody else ran on it in between. In pseudo-code:
 *
 *	rseq.rseq_cs = descriptor
 *   1: cpu = rseq.cpu_id                   negative: this thread has no rseq
 *	unit = base[cpu]
 *	if (!unit) goto slow
 *	*(unit + off) += value              one instruction: the commit
 *   2:
 *	abort: goto slow                    which tries again, a few times
 *
 * aarch64: the same without the sequence, and the add is an atomic one (stadd,
 * LSE): exact whoever else runs on that CPU. Kernels from 6.19 do not abort a
 * sequence there when another thread of the same CPU took over, so a sequence
 * of load, add and store would lose updates; and an atomic add needs none.
 *
 * base[] is the only gate. The library leaves it all zero where the fast path
 * must not run: no registration by the C library (__rseq_size is 0), no LSE, or
 * a thread sanitizer, which cannot see into the sequence. So objects built with
 * and without the fast path may meet in one program.
 *
 * A shared object that contains these functions must be linked with
 * -z nodelete, as the library is: the kernel may look at the last sequence of a
 * thread long after it ran, and kills the process if that memory is gone.
 *
 * Macros that a build may set: SP_PERCPU_PORTABLE takes the slow path always.
 * SP_PERCPU_STRESS_NOPS (a number) widens the sequence and counts its aborts in
 * sp_percpu_stress_aborts; SP_PERCPU_STRESS_BROKEN leaves the sequence out:
 *both for the stress test only.
 */
#ifndef STATPLANE_PERCPU_INLINE_H
#define STATPLANE_PERCPU_INLINE_H

#include <stdbool.h>

#include <statplane/percpu.h>

#ifdef __SANITIZE_THREAD__
#define SP_PERCPU_PORTABLE 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SP_PERCPU_PORTABLE 1
#endif
#endif

#if !defined(SP_PERCPU_PORTABLE) && defined(__GLIBC__) &&                      \
	defined(__has_include) && !defined(__ILP32__)
#if __has_include(<sys/rseq.h>)
#if defined(__x86_64__)
#define SP_PERCPU_FAST_X86 1
#elif defined(__aarch64__)
#define SP_PERCPU_FAST_ARM64 1
#endif
#endif
#endif

#if defined(SP_PERCPU_FAST_X86) || defined(SP_PERCPU_FAST_ARM64)
#include <sys/rseq.h>
#endif

SP_BEGIN_DECLS

/* CPU ids that base[] has room for; the library checks the kernel's own limit
 * against it before it lets anybody index by CPU. */
#define SP_PERCPU_MAX_CPUS 4096

/*
 * base[cpu] is the address of that CPU's unit, or 0 when the next add of this
 * CPU must take the slow path. pair_base[] is the same where a 16-byte store is
 * one access, and all 0 elsewhere. The two guards stay 0: they are base[-1] and
 * base[-2], what a thread without a registered rseq area shows as its CPU.
 *
 * Written by the slow path only, once a cell [C1]; read by all threads.
 *
 * The struct stands on a page, and base[] near its end: a CPU that goes by the
 * low 12 bits of addresses takes the load of base[cpu] for one of a cell that
 * was just written at the same place of another page, and waits (a fifth more
 * time an add, when it happens). Objects begin at the front of their pages.
 */
struct sp_percpu {
	struct sp_plane *plane;
	uintptr_t pad[445];
	uintptr_t guard[2];
	uintptr_t base[SP_PERCPU_MAX_CPUS];
	uintptr_t pair_guard[2];
	uintptr_t pair_base[SP_PERCPU_MAX_CPUS];
};

/* First write of a CPU, no rseq, or no memory for the unit. Exact always. */
SP_API void sp_percpu_add_slow(const struct sp_percpu *percpu, sp_percpu_t off,
			       uint64_t value);
SP_API void sp_pair_add_slow(const struct sp_percpu *percpu, sp_percpu_t off,
			     uint64_t packets, uint64_t bytes);
SP_API void sp_lane_pair_add_slow(const struct sp_lane *lane, sp_percpu_t off,
				  uint64_t packets, uint64_t bytes);

#ifdef SP_PERCPU_FAST_X86

/* clang-format off */
#ifdef SP_PERCPU_STRESS_NOPS
extern uint64_t sp_percpu_stress_aborts;
#define SP_RSEQ_STR_(x) #x
#define SP_RSEQ_STR(x) SP_RSEQ_STR_(x)
#define SP_RSEQ_WIDEN ".rept " SP_RSEQ_STR(SP_PERCPU_STRESS_NOPS) "\n\tnop\n\t.endr\n\t"
#define SP_RSEQ_COUNT_ABORT "lock incq sp_percpu_stress_aborts(%%rip)\n\t"
#else
#define SP_RSEQ_WIDEN
#define SP_RSEQ_COUNT_ABORT
#endif

#ifdef SP_PERCPU_STRESS_BROKEN
#define SP_RSEQ_ARM ""
#else
#define SP_RSEQ_ARM							\
	"leaq	3b(%%rip), %%rax\n\t"					\
	"movq	%%rax, %%fs:8(%[area])\n\t"	/* rseq.rseq_cs */
#endif

/*
 * Descriptor: version and flags, start, length, abort address. The four bytes
 * before the abort address are the signature that the C library registered; the
 * three before those make it an instruction (ud1), so that a disassembler stays
 * in step. "?" puts both sections into the group of the surrounding function, so
 * that a C++ inline function goes away with them.
 */
#define SP_RSEQ_BEGIN(table)						\
	".pushsection __rseq_cs, \"aw?\"\n\t"				\
	".balign 32\n"							\
	"3:\n\t"							\
	".long	0, 0\n\t"						\
	".quad	1f, 2f - 1f, 4f\n\t"					\
	".popsection\n\t"						\
	".pushsection __rseq_failure, \"ax?\"\n\t"			\
	".byte	0x0f, 0xb9, 0x3d\n\t"					\
	".long	0x53053053\n"						\
	"4:\n\t"							\
	SP_RSEQ_COUNT_ABORT						\
	"jmp	%l[slow]\n\t"						\
	".popsection\n\t"						\
	SP_RSEQ_ARM							\
	"1:\n\t"							\
	"movslq	%%fs:4(%[area]), %%rax\n\t"	/* rseq.cpu_id */	\
	"movq	%c[" table "](%[percpu],%%rax,8), %%rax\n\t"		\
	SP_RSEQ_WIDEN							\
	"testq	%%rax, %%rax\n\t"					\
	"jz	%l[slow]\n\t"
#define SP_RSEQ_END "2:\n"

/* false: nothing was added, take the slow path. */
static inline bool sp_percpu_try_add(const struct sp_percpu *percpu,
				     sp_percpu_t off, uint64_t value)
{
	__asm__ goto volatile(
		SP_RSEQ_BEGIN("base")
		"addq	%[value], (%%rax,%[off])\n"
		SP_RSEQ_END
		:
		: [area] "r"(__rseq_offset), [percpu] "r"(percpu),
		  [base] "i"(offsetof(struct sp_percpu, base)), [off] "r"(off),
		  [value] "er"(value)
		: "rax", "memory", "cc"
		: slow);
	return true;
slow:
	return false;
}

typedef unsigned long long sp_pair_vec __attribute__((vector_size(16)));

/*
 * The commit is the 16-byte store: CPUs with AVX make an aligned one a single
 * access (the manuals of Intel and AMD say so), and pair_base[] is 0 on others.
 */
static inline bool sp_pair_try_add(const struct sp_percpu *percpu,
				   sp_percpu_t off, uint64_t packets,
				   uint64_t bytes)
{
	sp_pair_vec inc = {packets, bytes};

	__asm__ goto volatile(
		SP_RSEQ_BEGIN("pair_base")
		"vpaddq	(%%rax,%[off]), %[inc], %%xmm7\n\t"
		"vmovdqa %%xmm7, (%%rax,%[off])\n"
		SP_RSEQ_END
		:
		: [area] "r"(__rseq_offset), [percpu] "r"(percpu),
		  [pair_base] "i"(offsetof(struct sp_percpu, pair_base)),
		  [off] "r"(off), [inc] "x"(inc)
		: "rax", "xmm7", "memory", "cc"
		: slow);
	return true;
slow:
	return false;
}
/* clang-format on */

#elif defined(SP_PERCPU_FAST_ARM64)

static inline bool sp_percpu_try_add(const struct sp_percpu *percpu,
				     sp_percpu_t off, uint64_t value)
{
	const char *area =
		(const char *)__builtin_thread_pointer() + __rseq_offset;
	int32_t cpu = __atomic_load_n((const int32_t *)(const void *)(area + 4),
				      __ATOMIC_RELAXED);
	const char *table =
		(const char *)percpu + offsetof(struct sp_percpu, base);
	uintptr_t unit = __atomic_load_n(
		(const uintptr_t *)(const void *)(table + (intptr_t)cpu * 8),
		__ATOMIC_ACQUIRE); /* [C1] */

	if (!unit)
		return false;
	__asm__ volatile(".arch_extension lse\n\t"
			 "stadd	%[value], [%[cell]]"
			 :
			 : [value] "r"(value), [cell] "r"(unit + off)
			 : "memory");
	return true;
}

static inline bool sp_pair_try_add(const struct sp_percpu *percpu,
				   sp_percpu_t off, uint64_t packets,
				   uint64_t bytes)
{
	(void)percpu, (void)off, (void)packets, (void)bytes;
	return false;
}

#else

static inline bool sp_percpu_try_add(const struct sp_percpu *percpu,
				     sp_percpu_t off, uint64_t value)
{
	(void)percpu, (void)off, (void)value;
	return false;
}

static inline bool sp_pair_try_add(const struct sp_percpu *percpu,
				   sp_percpu_t off, uint64_t packets,
				   uint64_t bytes)
{
	(void)percpu, (void)off, (void)packets, (void)bytes;
	return false;
}

#endif

/**
 * sp_percpu_add() - add @value to the cell at @off of this CPU's unit
 *
 * Bounded: an add that is interrupted again and again ends in the shared unit.
 *
 * Context: any thread, signal handlers too.
 */
static inline void sp_percpu_add(const struct sp_percpu *percpu,
				 sp_percpu_t off, uint64_t value)
{
	if (__builtin_expect(!sp_percpu_try_add(percpu, off, value), 0))
		sp_percpu_add_slow(percpu, off, value);
}

/**
 * sp_pair_add() - add to a pair as one; no reader ever sees half of it
 * @off: 16-byte aligned
 *
 * Context: any thread, signal handlers too.
 */
static inline void sp_pair_add(const struct sp_percpu *percpu, sp_percpu_t off,
			       uint64_t packets, uint64_t bytes)
{
	if (__builtin_expect(!sp_pair_try_add(percpu, off, packets, bytes), 0))
		sp_pair_add_slow(percpu, off, packets, bytes);
}

/* The address of a lane's cell: for adds with a compile-time offset. */
static inline uint64_t *sp_lane_cell(const struct sp_lane *lane,
				     sp_percpu_t off)
{
	return (uint64_t *)(void *)(lane->base + off);
}

/**
 * sp_lane_add() - add @value to the cell at @off of the caller's lane
 *
 * Context: the thread that owns the lane.
 */
static inline void sp_lane_add(const struct sp_lane *lane, sp_percpu_t off,
			       uint64_t value)
{
	uint64_t *cell = sp_lane_cell(lane, off);

#ifdef SP_PERCPU_FAST_X86
	/* One instruction, which no compiler makes of the lines below. */
	__asm__ volatile("addq	%1, %0" : "+m"(*cell) : "er"(value) : "cc");
#else
	__atomic_store_n(cell, __atomic_load_n(cell, __ATOMIC_RELAXED) + value,
			 __ATOMIC_RELAXED);
#endif
}

/**
 * sp_lane_pair_add() - add to a pair as one; no reader ever sees half of it
 * @off: 16-byte aligned
 *
 * Context: the thread that owns the lane.
 */
static inline void sp_lane_pair_add(const struct sp_lane *lane, sp_percpu_t off,
				    uint64_t packets, uint64_t bytes)
{
#ifdef SP_PERCPU_FAST_X86
	if (__builtin_expect(lane->pair_base != NULL, 1)) {
		struct sp_pair *pair =
			(struct sp_pair *)(void *)(lane->pair_base + off);
		sp_pair_vec inc = {packets, bytes};

		__asm__ volatile("vpaddq	%0, %1, %%xmm7\n\t"
				 "vmovdqa	%%xmm7, %0"
				 : "+m"(*pair)
				 : "x"(inc)
				 : "xmm7");
		return;
	}
#endif
	sp_lane_pair_add_slow(lane, off, packets, bytes);
}

SP_END_DECLS

#endif
