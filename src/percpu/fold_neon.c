/* SPDX-License-Identifier: MIT */
/*
 * percpu/fold_neon.c - the fold with 16-byte registers of aarch64.
 *
 * A block is up to 24 accumulators of two cells; blocks are of equal length, as
 * far as they go. An odd last cell is summed by itself.
 */
#include "percpu/fold.h"

#if defined(__aarch64__)

#include <arm_neon.h>

#define MAX_VECS 24
#define STEP     4 /* block lengths are multiples of it */

#define INLINE static inline __attribute__((always_inline))

/* Accumulators are variables, not an array, so that they are registers. */
#define EACH_VEC(vec)                                                          \
	vec(0) vec(1) vec(2) vec(3) vec(4) vec(5) vec(6) vec(7) vec(8) vec(9)  \
	vec(10) vec(11) vec(12) vec(13) vec(14) vec(15) vec(16) vec(17)        \
	vec(18) vec(19) vec(20) vec(21) vec(22) vec(23)
#define ZERO(v) uint64x2_t acc##v = vdupq_n_u64(0);
#define ADD(v)                                                                 \
	if (v < nr_vecs)                                                       \
		acc##v = vaddq_u64(acc##v, vld1q_u64(                     \
			(const uint64_t *)(const void *)(cell + 16 * v)));
#define STORE(v)                                                               \
	if (v < nr_vecs)                                                       \
		vst1q_u64(sum + 2 * v, acc##v);

INLINE void fold_vecs(const struct sp_fold_units *units, uint64_t off,
		      uint64_t *sum, const size_t nr_vecs)
{
	const struct sp_fold_units u = *units;
	const char *cell;
	EACH_VEC(ZERO)

	SP_FOLD_FOR_EACH_UNIT (cell, &u, off) {
		EACH_VEC(ADD)
	}
	EACH_VEC(STORE)
}

typedef void fold_n_fn(const struct sp_fold_units *units, uint64_t off,
		       uint64_t *sum);

#define FOLD_N(n)                                                              \
	static void fold_vecs_##n(const struct sp_fold_units *units,           \
				  uint64_t off, uint64_t *sum)                 \
	{                                                                      \
		fold_vecs(units, off, sum, n);                                 \
	}
FOLD_N(1)
FOLD_N(4)
FOLD_N(8)
FOLD_N(12)
FOLD_N(16)
FOLD_N(20)
FOLD_N(24)

static fold_n_fn *const fold_step[MAX_VECS / STEP + 1] = {
	NULL,         fold_vecs_4,  fold_vecs_8,  fold_vecs_12,
	fold_vecs_16, fold_vecs_20, fold_vecs_24,
};

static void fold_cell(const struct sp_fold_units *units, uint64_t off,
		      uint64_t *sum)
{
	const char *cell;
	uint64_t s = 0;

	SP_FOLD_FOR_EACH_UNIT (cell, units, off)
		s += __atomic_load_n((const uint64_t *)(const void *)cell,
				     __ATOMIC_RELAXED);
	*sum = s;
}

static void fold_neon(const struct sp_fold_units *units, uint64_t off,
		      size_t nr, uint64_t *sum)
{
	size_t nr_steps = nr / (2 * STEP);
	const size_t max_steps = MAX_VECS / STEP;
	size_t nr_blocks = (nr_steps + max_steps - 1) / max_steps;

	nr -= nr_steps * 2 * STEP;
	for (; nr_blocks; nr_blocks--) {
		size_t n = (nr_steps + nr_blocks - 1) / nr_blocks;

		fold_step[n](units, off, sum);
		nr_steps -= n;
		off += 16 * STEP * n;
		sum += 2 * STEP * n;
	}
	for (; nr >= 2; nr -= 2, off += 16, sum += 2)
		fold_vecs_1(units, off, sum);
	if (nr)
		fold_cell(units, off, sum);
}

static bool usable(void)
{
	return true;
}

const struct sp_fold_kernel sp_fold_neon = {
	.name = "neon",
	.fold = fold_neon,
	.usable = usable,
};

#endif
