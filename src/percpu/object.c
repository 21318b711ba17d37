/* SPDX-License-Identifier: MIT */
/*
 * percpu/object.c - allocate and free per-CPU memory: the public functions.
 *
 * percpu/alloc.h finds the room, under state->lock. Here that room is made
 * ready outside the lock: cells that were in use are set to zero in every
 * written unit (renew). A unit that is marked meanwhile has them zero from the
 * start, and the object is nobody's yet, so nobody adds.
 */
#include <assert.h>
#include <errno.h>
#include <stdbool.h>

#include "percpu/state.h"

static void renew(const struct sp_plane *plane, uint64_t off, size_t size)
{
	uint64_t written[SP_MAX_UNITS / 64];
	struct sp_fold_units units = sp_percpu_units(plane, written);
	const char *cell;

	SP_FOLD_FOR_EACH_UNIT(cell, &units, off)
	{
		uint64_t *cells = (uint64_t *)(uintptr_t)cell;

		for (size_t i = 0; i < size / sizeof(*cells); i++)
			__atomic_store_n(&cells[i], 0, __ATOMIC_RELAXED);
	}
}

int sp_percpu_alloc_bulk(struct sp_plane *plane, size_t size, size_t align,
			 size_t nr, sp_percpu_t *ret_off)
{
	struct sp_percpu_state *state = sp_percpu_state(plane);
	int r;

	if (align < sizeof(uint64_t))
		align = align ? sizeof(uint64_t) : 0;
	if (!size || size > SP_PERCPU_MAX_SIZE || !align ||
	    align > SP_PERCPU_MAX_ALIGN || align & (align - 1))
		return -EINVAL;
	sp_lock_acquire(&state->lock);
	r = sp_alloc_take(&state->alloc, size, align, nr, ret_off);
	sp_lock_release(&state->lock);
	if (r)
		return r;
	size = (size + 7) & ~(size_t)7;
	for (size_t i = 0; i < nr; i++)
		if (ret_off[i] & SP_ALLOC_STALE) {
			ret_off[i] &= ~(uint64_t)SP_ALLOC_STALE;
			renew(plane, ret_off[i], size);
		}
	return 0;
}

int sp_percpu_alloc(struct sp_plane *plane, size_t size, size_t align,
		    sp_percpu_t *ret_off)
{
	return sp_percpu_alloc_bulk(plane, size, align, 1, ret_off);
}

void sp_percpu_free(struct sp_plane *plane, sp_percpu_t off, size_t size)
{
	struct sp_percpu_state *state = sp_percpu_state(plane);

	if (!off)
		return;
	sp_lock_acquire(&state->lock);
	sp_alloc_give(&state->alloc, off, size);
	sp_lock_release(&state->lock);
}

void sp_percpu_read_stats(const struct sp_plane *plane,
		     struct sp_percpu_stats *ret_stats)
{
	struct sp_percpu_state *state = sp_percpu_state(plane);
	uint64_t written[SP_MAX_UNITS / 64], nr_written = 0;
	struct sp_fold_units units = sp_percpu_units(plane, written);

	for (size_t w = 0; w < units.nr_words; w++)
		nr_written += (unsigned)__builtin_popcountll(written[w]);
	sp_lock_acquire(&state->lock);
	*ret_stats = (struct sp_percpu_stats){
		.unit_size = (uint64_t)(state->alloc.pages.nr_pages - 1)
			     << SP_PAGE_SHIFT,
		.nr_units = plane->nr_units,
		.nr_written = nr_written,
		.nr_alloc = state->alloc.nr_alloc,
		.nr_dealloc = state->alloc.nr_dealloc,
		.nr_failed = state->alloc.nr_failed,
		.used_bytes = state->alloc.used_bytes,
		.populated_bytes = sp_plane_units_used(plane),
		.nr_overflow =
			__atomic_load_n(&state->nr_overflow, __ATOMIC_RELAXED),
	};
	sp_lock_release(&state->lock);
}
