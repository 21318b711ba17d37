/* SPDX-License-Identifier: MIT */
/*
 * statplane/percpu_inline.h - the hot bodies of statplane/percpu.h.
 *
 * The layouts in this file are ABI: programs compile them in.
 */
#ifndef STATPLANE_PERCPU_INLINE_H
#define STATPLANE_PERCPU_INLINE_H

#include <statplane/percpu.h>

SP_BEGIN_DECLS

/*
 * base[cpu] is the address of that CPU's unit, or 0 when the next add of this
 * CPU must take the slow path. base[-1] and base[-2] exist and stay 0: they are
 * what a thread without a registered rseq area shows as its CPU.
 */
struct sp_percpu {
	const uintptr_t *base;
	struct sp_plane *plane;
};

/* First write of a CPU, no rseq, or no memory for the unit. Exact always. */
SP_API void sp_percpu_add_slow(const struct sp_percpu *percpu, sp_percpu_t off,
			       uint64_t value);
SP_API void sp_pair_add_slow(const struct sp_percpu *percpu, sp_percpu_t off,
			     uint64_t packets, uint64_t bytes);

/**
 * sp_percpu_add() - add @value to the cell at @off of this CPU's unit
 *
 * Context: any thread, signal handlers too.
 */
static inline void sp_percpu_add(const struct sp_percpu *percpu,
				 sp_percpu_t off, uint64_t value)
{
	sp_percpu_add_slow(percpu, off, value);
}

/**
 * sp_pair_add() - add to a pair as one; no reader ever sees half of it
 */
static inline void sp_pair_add(const struct sp_percpu *percpu, sp_percpu_t off,
			       uint64_t packets, uint64_t bytes)
{
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

	__atomic_store_n(cell, __atomic_load_n(cell, __ATOMIC_RELAXED) + value,
			 __ATOMIC_RELAXED);
}

SP_END_DECLS

#endif
