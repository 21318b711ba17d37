/* SPDX-License-Identifier: MIT */
/*
 * percpu/fold_scalar.c - the fold for any machine.
 *
 * Totals stay in the caller's array, a block of it that fits in the first level
 * of the cache. Four units at a time are added to it, so that it is loaded and
 * stored once for four cells. (Totals in registers would be eight a pass: too
 * many passes over the units.)
 */
#include "percpu/fold.h"

#include <string.h>

#define BLOCK 256 /* cells */
#define GROUP 4   /* units */

static uint64_t load(const char *unit, size_t i)
{
	return __atomic_load_n((const uint64_t *)(const void *)unit + i,
			       __ATOMIC_RELAXED);
}

static void add_group(const char *const unit[GROUP], size_t nr, uint64_t *sum)
{
	const char *a = unit[0], *b = unit[1], *c = unit[2], *d = unit[3];

	for (size_t i = 0; i < nr; i++)
		sum[i] += load(a, i) + load(b, i) + load(c, i) + load(d, i);
}

static void add_unit(const char *unit, size_t nr, uint64_t *sum)
{
	for (size_t i = 0; i < nr; i++)
		sum[i] += load(unit, i);
}

static void fold_block(const struct sp_fold_units *units, uint64_t off,
		       size_t nr, uint64_t *sum)
{
	const char *unit, *group[GROUP];
	size_t nr_group = 0;

	memset(sum, 0, nr * sizeof(*sum));
	SP_FOLD_FOR_EACH_UNIT(unit, units, off)
	{
		group[nr_group++] = unit;
		if (nr_group == GROUP) {
			add_group(group, nr, sum);
			nr_group = 0;
		}
	}
	while (nr_group)
		add_unit(group[--nr_group], nr, sum);
}

static void fold_scalar(const struct sp_fold_units *units, uint64_t off,
			size_t nr, uint64_t *sum)
{
	while (nr) {
		size_t n = nr < BLOCK ? nr : BLOCK;

		fold_block(units, off, n, sum);
		off += 8 * n;
		sum += n;
		nr -= n;
	}
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
