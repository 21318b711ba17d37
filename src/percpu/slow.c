/* SPDX-License-Identifier: MIT */
/*
 * percpu/slow.c - adds that the inline functions could not make.
 *
 * Why every add is exact. A cell is a place in one unit, and for each unit
 * there is one way in which all threads add to it:
 *
 *   RSEQ mode, x86-64
 *     unit 1 + c   by the sequence, on CPU c only. Its commit is one
 * instruction, so no interrupt divides it, and the CPU was loaded inside, so a
 * thread that was moved aborts before it. No locked add ever goes there: it
 * could fall between the load and the store of the plain add of another CPU.
 *     unit 0       by locked adds of whoever has no unit: a thread without an
 *                  rseq area (its CPU reads as -1 or -2), a CPU above nr_cpus,
 * a unit for which there is no memory yet, an add that was interrupted too
 * often. RSEQ mode, aarch64 all units    by atomic adds. FALLBACK mode  base[]
 * is all 0, so all adds of all threads come here. all units    by locked adds.
 *   lanes          by their owner's plain adds, in both modes.
 *
 * A pair follows the same table with 16-byte stores and a locked 16-byte
 * compare-and-swap; where pair_base[] is all 0, pairs of RSEQ mode go to unit
 * 0.
 *
 * A reader takes unit 1 + c into account from the moment when its bit is set,
 * which comes before the first add to it.
 *
 * Signal handlers come here too, also in the middle of this code on the same
 * thread: it takes no lock, and when somebody else (perhaps the interrupted
 * thread) is just populating units it adds to unit 0.
 *
 * Memory ordering
 *   [C1] unit is populated, its bit is set -> base[cpu] = address (release).
 *        Pairs with the load in the inline add (acquire; on x86-64 every load
 *        is), or, for locked_base[], below: an add, and all that its thread does
 *        later, comes after the bit.
 */
#include <errno.h>
#include <sched.h>

#include "percpu/pair.h"
#include "percpu/state.h"

/* Interrupted that often in a row: a debugger steps through, or worse. */
#define TRIES 8

/* Adds to skip after a failed attempt to get memory for a unit. */
#define SKIP 1000

/* Is the unit of @cpu usable? Tries to make it so. */
static bool unit_ready(struct sp_percpu_state *state, unsigned cpu)
{
	struct sp_plane *plane = state->handle.plane;
	uint32_t nr_skip;

	if (cpu >= plane->nr_cpus)
		return false;
	if (sp_plane_unit_written(plane, 1 + cpu))
		return true;
	nr_skip = __atomic_load_n(&state->nr_skip, __ATOMIC_RELAXED);
	if (nr_skip) {
		__atomic_store_n(&state->nr_skip, nr_skip - 1,
				 __ATOMIC_RELAXED);
		return false;
	}
	switch (sp_plane_try_mark_unit(plane, 1 + cpu)) {
	case 0:
		return true;
	case -EBUSY:
		return false;
	default:
		__atomic_store_n(&state->nr_skip, SKIP, __ATOMIC_RELAXED);
		return false;
	}
}

static char *shared_unit(struct sp_percpu_state *state)
{
	__atomic_fetch_add(&state->nr_overflow, 1, __ATOMIC_RELAXED);
	return sp_plane_unit(state->handle.plane, 0);
}

#if defined(SP_PERCPU_FAST_X86) || defined(SP_PERCPU_FAST_ARM64)

/* Negative: this thread has no rseq area. */
static int rseq_cpu(void)
{
	const char *area =
		(const char *)__builtin_thread_pointer() + __rseq_offset;

	return __atomic_load_n((const int32_t *)(const void *)(area + 4),
			       __ATOMIC_RELAXED);
}

/* Let the fast path in for the CPU that runs here now. */
static bool open_fast_path(struct sp_percpu_state *state)
{
	int cpu = rseq_cpu();
	uintptr_t unit;

	if (cpu < 0 || !unit_ready(state, (unsigned)cpu))
		return false;
	unit = (uintptr_t)sp_plane_unit(state->handle.plane, 1 + (uint32_t)cpu);
	/* [C1] */
	__atomic_store_n(&state->handle.base[cpu], unit, __ATOMIC_RELEASE);
#if defined(SP_PERCPU_FAST_X86)
	if (sp_pair_is_atomic())
		__atomic_store_n(&state->handle.pair_base[cpu], unit,
				 __ATOMIC_RELEASE);
#endif
	return true;
}

#else

static bool open_fast_path(struct sp_percpu_state *state)
{
	(void)state;
	return false;
}

#endif

/* FALLBACK mode: where all adds are locked, and any unit is right. */
static char *locked_unit(struct sp_percpu_state *state)
{
	int cpu = sched_getcpu();
	uintptr_t unit;

	if (cpu < 0 || cpu >= SP_PERCPU_MAX_CPUS)
		return shared_unit(state);
	/* [C1] */
	unit = __atomic_load_n(&state->locked_base[cpu], __ATOMIC_ACQUIRE);
	if (__builtin_expect(!unit, 0)) {
		if (!unit_ready(state, (unsigned)cpu))
			return shared_unit(state);
		unit = (uintptr_t)sp_plane_unit(state->handle.plane,
						1 + (uint32_t)cpu);
		/* [C1] */
		__atomic_store_n(&state->locked_base[cpu], unit,
				 __ATOMIC_RELEASE);
	}
	return (char *)unit;
}

/* The handle is the first member of the state. */
static struct sp_percpu_state *state_of(const struct sp_percpu *percpu)
{
	return (struct sp_percpu_state *)(uintptr_t)percpu;
}

/* Out of line, so that the other mode does not pay for it. */
static __attribute__((noinline)) bool rseq_add(struct sp_percpu_state *state,
					       sp_percpu_t off, uint64_t value)
{
	for (int i = 0; i < TRIES && open_fast_path(state); i++)
		if (sp_percpu_try_add(&state->handle, off, value))
			return true;
	return false;
}

static __attribute__((noinline)) bool
rseq_pair_add(struct sp_percpu_state *state, sp_percpu_t off, uint64_t packets,
	      uint64_t bytes)
{
	for (int i = 0; i < TRIES && open_fast_path(state); i++)
		if (sp_pair_try_add(&state->handle, off, packets, bytes))
			return true;
	return false;
}

void sp_percpu_add_slow(const struct sp_percpu *percpu, sp_percpu_t off,
			uint64_t value)
{
	struct sp_percpu_state *state = state_of(percpu);
	char *unit;

	if (state->mode == SP_PERCPU_FALLBACK)
		unit = locked_unit(state);
	else if (!rseq_add(state, off, value))
		unit = shared_unit(state);
	else
		return;
	__atomic_fetch_add((uint64_t *)(void *)(unit + off), value,
			   __ATOMIC_RELAXED);
}

void sp_pair_add_slow(const struct sp_percpu *percpu, sp_percpu_t off,
		      uint64_t packets, uint64_t bytes)
{
	struct sp_percpu_state *state = state_of(percpu);
	char *unit;

	if (state->mode == SP_PERCPU_FALLBACK)
		unit = locked_unit(state);
	else if (!rseq_pair_add(state, off, packets, bytes))
		unit = shared_unit(state);
	else
		return;
	sp_pair_locked_add((struct sp_pair *)(void *)(unit + off), packets,
			   bytes);
}
