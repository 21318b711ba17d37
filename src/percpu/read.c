/* SPDX-License-Identifier: MIT */
/*
 * percpu/read.c - sums over units, in the writing process.
 */
#include "percpu/pair.h"
#include "percpu/state.h"

void sp_percpu_fold(const struct sp_plane *plane, sp_percpu_t off, size_t nr,
		    uint64_t *sum)
{
	uint64_t written[SP_MAX_UNITS / 64];
	struct sp_fold_units units = sp_percpu_units(plane, written);

	sp_fold(&units, off, nr, sum);
}

uint64_t sp_percpu_read(const struct sp_plane *plane, sp_percpu_t off)
{
	uint64_t written[SP_MAX_UNITS / 64], sum = 0;
	struct sp_fold_units units = sp_percpu_units(plane, written);
	const char *cell;

	SP_FOLD_FOR_EACH_UNIT(cell, &units, off)
	sum += __atomic_load_n((const uint64_t *)(const void *)cell,
			       __ATOMIC_RELAXED);
	return sum;
}

struct sp_pair sp_pair_read(const struct sp_plane *plane, sp_percpu_t off)
{
	uint64_t written[SP_MAX_UNITS / 64];
	struct sp_fold_units units = sp_percpu_units(plane, written);
	struct sp_pair sum = {0};
	const char *cell;

	SP_FOLD_FOR_EACH_UNIT(cell, &units, off)
	{
		struct sp_pair pair = sp_pair_load(
			(const struct sp_pair *)(const void *)cell);

		sum.packets += pair.packets;
		sum.bytes += pair.bytes;
	}
	return sum;
}
