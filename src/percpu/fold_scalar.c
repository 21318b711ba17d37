/* SPDX-License-Identifier: MIT */
/*
 * percpu/fold_scalar.c - the fold for any machine: eight cells at a time in
 * eight integer registers.
 */
#include "percpu/fold.h"

#define BLOCK 8

static uint64_t load(const char *cell)
{
	return __atomic_load_n((const uint64_t *)(const void *)cell,
			       __ATOMIC_RELAXED);
}

static void fold_block(const struct sp_fold_units *units, uint64_t off,
		       uint64_t *sum)
{
	uint64_t s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0;
	const char *cell;

	SP_FOLD_FOR_EACH_UNIT(cell, units, off)
	{
		s0 += load(cell);
		s1 += load(cell + 8);
		s2 += load(cell + 16);
		s3 += load(cell + 24);
		s4 += load(cell + 32);
		s5 += load(cell + 40);
		s6 += load(cell + 48);
		s7 += load(cell + 56);
	}
	sum[0] = s0;
	sum[1] = s1;
	sum[2] = s2;
	sum[3] = s3;
	sum[4] = s4;
	sum[5] = s5;
	sum[6] = s6;
	sum[7] = s7;
}

static void fold_cell(const struct sp_fold_units *units, uint64_t off,
		      uint64_t *sum)
{
	const char *cell;
	uint64_t s = 0;

	SP_FOLD_FOR_EACH_UNIT(cell, units, off)
	s += load(cell);
	*sum = s;
}

static void fold_scalar(const struct sp_fold_units *units, uint64_t off,
			size_t nr, uint64_t *sum)
{
	for (; nr >= BLOCK; nr -= BLOCK, off += 8 * BLOCK, sum += BLOCK)
		fold_block(units, off, sum);
	for (; nr; nr--, off += 8, sum++)
		fold_cell(units, off, sum);
}

static bool usable(void)
{
	return true;
}

const struct sp_fold_kernel sp_fold_scalar = {
	.name = "scalar",
	.fold = fold_scalar,
	.usable = usable,
};
