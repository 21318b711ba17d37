/* SPDX-License-Identifier: MIT */
/*
 * percpu/state.h - what the percpu room keeps for each plane.
 *
 * Process-private; plane->percpu points to it from sp_plane_create() to
 * sp_plane_close().
 *
 * Access          adding threads       lanes' owners      allocator
 *   handle.base     slow path [C1]       -                  -
 *   locked_base     slow path [C1]       -                  -
 *   lanes           -                    claim, release [C2] -
 *   alloc           -                    -                  under lock
 */
#ifndef SP_PERCPU_STATE_H
#define SP_PERCPU_STATE_H

#include <stdint.h>

#include <statplane/percpu.h>

#include "base/lock.h"
#include "percpu/alloc.h"
#include "percpu/fold.h"
#include "plane/plane.h"

struct sp_percpu_state {
	struct sp_percpu handle;
	enum sp_percpu_mode mode;
	/* As handle.base, in FALLBACK mode, where that one must stay 0. */
	uintptr_t locked_base[SP_PERCPU_MAX_CPUS];
	uint64_t nr_overflow; /* adds that found no unit of their own */
	uint32_t nr_skip;     /* slow adds that need not try to get a unit:
			       * there was no memory a moment ago */
	uint64_t lanes[SP_MAX_UNITS / 64]; /* bit: lane is taken */
	struct sp_lock lock;               /* guards alloc */
	struct sp_alloc alloc;
};

static inline struct sp_percpu_state *
sp_percpu_state(const struct sp_plane *plane)
{
	return plane->percpu;
}

/* The written units of @plane; @written is the caller's room for a copy. */
static inline struct sp_fold_units
sp_percpu_units(const struct sp_plane *plane,
		uint64_t written[SP_MAX_UNITS / 64])
{
	size_t nr_words = (plane->nr_units + 63) / 64;

	for (size_t w = 0; w < nr_words; w++)
		written[w] = __atomic_load_n(&plane->hdr->units_written[w],
					     __ATOMIC_ACQUIRE); /* [P3] */
	return (struct sp_fold_units){
		.base = plane->units,
		.stride = plane->unit_stride,
		.written = written,
		.nr_words = nr_words,
	};
}

#endif
