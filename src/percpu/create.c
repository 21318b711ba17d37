/* SPDX-License-Identifier: MIT */
/*
 * percpu/create.c - a plane: the segment, and what this room adds to it.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "percpu/state.h"

_Static_assert(offsetof(struct sp_percpu_state, handle) == 0 &&
		       offsetof(struct sp_percpu, base) % 4096 >= 3584 &&
		       offsetof(struct sp_percpu, pair_base) % 4096 >= 3584,
	       "see struct sp_percpu");

/* sp_pages_populate_fn */
static int populate(void *ctx, uint64_t upto_bytes,
		    uint64_t *ret_populated_bytes)
{
	struct sp_plane *plane = ctx;
	int r = sp_plane_populate_units(plane, upto_bytes);

	if (!r)
		*ret_populated_bytes = sp_plane_units_used(plane);
	return r;
}

static void state_destroy(struct sp_percpu_state *state)
{
	if (!state)
		return;
	sp_alloc_fini(&state->alloc);
	munmap(state, sizeof(*state));
}

/* Mapped, not from the heap: on a page, and most of base[] never touched. */
static int state_create(struct sp_plane *plane,
			struct sp_percpu_state **ret_state)
{
	struct sp_percpu_state *state;
	int r;

	state = mmap(NULL, sizeof(*state), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (state == MAP_FAILED)
		return -ENOMEM;
	state->handle.plane = plane;
	state->mode = sp_percpu_mode();
	r = sp_alloc_init(&state->alloc, plane->unit_bytes, populate, plane);
	if (r) {
		state_destroy(state);
		return r;
	}
	*ret_state = state;
	return 0;
}

int sp_plane_create(const struct sp_plane_opts *opts,
		    struct sp_plane **ret_plane)
{
	struct sp_percpu_state *state = NULL;
	struct sp_plane *plane;
	int r;

	r = sp_segment_create(opts, &plane);
	if (r)
		return r;
	r = state_create(plane, &state);
	if (r)
		goto close;
	plane->percpu = state;
	plane->hdr->percpu_mode = (uint32_t)state->mode;
	/* Unit 0 takes adds that have nowhere else to go: it needs memory. */
	r = sp_plane_populate_units(plane, SP_PAGE_BYTES);
	if (r)
		goto close;
	r = sp_segment_publish(plane);
	if (r)
		goto close;
	*ret_plane = plane;
	return 0;
close:
	state_destroy(state);
	plane->percpu = NULL;
	sp_segment_close(plane);
	return r;
}

void sp_plane_close(struct sp_plane *plane)
{
	if (!plane)
		return;
	state_destroy(sp_percpu_state(plane));
	plane->percpu = NULL;
	sp_segment_close(plane);
}

const struct sp_percpu *sp_plane_percpu(const struct sp_plane *plane)
{
	return &sp_percpu_state(plane)->handle;
}
