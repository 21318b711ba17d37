/* SPDX-License-Identifier: MIT */
/*
 * percpu/lane.c - units that threads claim for themselves.
 *
 * One bit a lane in process-private memory. What a lane's unit holds stays when
 * the lane is released: the next owner adds on top of it.
 *
 * Memory ordering
 *   [C2] the last add of an owner -> bit cleared (release). Pairs with the
 *        acquire of the claim: the next owner's plain adds see what it left.
 */
#include <assert.h>
#include <errno.h>

#include "percpu/pair.h"
#include "percpu/state.h"

/* Take a free bit; -EAGAIN if there is none. */
static int take_bit(struct sp_percpu_state *state, uint32_t nr_lanes,
		    uint32_t *ret_lane)
{
	for (uint32_t w = 0; w < (nr_lanes + 63) / 64; w++) {
		uint64_t *word = &state->lanes[w];
		uint64_t taken = __atomic_load_n(word, __ATOMIC_RELAXED);
		uint32_t here = nr_lanes - 64 * w;
		uint64_t valid = here >= 64 ? ~0ull : (1ull << here) - 1;

		while (~taken & valid) {
			uint64_t bit = ~taken & valid & -(~taken & valid);

			/* [C2] */
			taken = __atomic_fetch_or(word, bit, __ATOMIC_ACQUIRE);
			if (!(taken & bit)) {
				*ret_lane =
					64 * w + (uint32_t)__builtin_ctzll(bit);
				return 0;
			}
		}
	}
	return -EAGAIN;
}

static void drop_bit(struct sp_percpu_state *state, uint32_t lane)
{
	uint64_t bit = 1ull << lane % 64;
	/* [C2] */
	uint64_t was = __atomic_fetch_and(&state->lanes[lane / 64], ~bit,
					  __ATOMIC_RELEASE);

	assert(was & bit);
	(void)was;
}

int sp_lane_claim(struct sp_plane *plane, struct sp_lane *ret_lane)
{
	struct sp_percpu_state *state = sp_percpu_state(plane);
	uint32_t lane, unit;
	char *base;
	int r;

	r = take_bit(state, plane->nr_lanes, &lane);
	if (r)
		return r;
	unit = 1 + plane->nr_cpus + lane;
	r = sp_plane_mark_unit(plane, unit);
	if (r) {
		drop_bit(state, lane);
		return r;
	}
	base = sp_plane_unit(plane, unit);
	*ret_lane = (struct sp_lane){
		.base = base,
		.pair_base = sp_pair_is_atomic() ? base : NULL,
		.plane = plane,
		.unit = unit,
	};
	return 0;
}

void sp_lane_release(struct sp_lane *lane)
{
	struct sp_plane *plane = lane->plane;

	drop_bit(sp_percpu_state(plane), lane->unit - 1 - plane->nr_cpus);
	*lane = (struct sp_lane){0};
}

void sp_lane_pair_add_slow(const struct sp_lane *lane, sp_percpu_t off,
			   uint64_t packets, uint64_t bytes)
{
	sp_pair_locked_add((struct sp_pair *)(void *)(lane->base + off),
			   packets, bytes);
}
