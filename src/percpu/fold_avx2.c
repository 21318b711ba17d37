/* SPDX-License-Identifier: MIT */
/*
 * percpu/fold_avx2.c - the fold with 32-byte registers.
 *
 * A block is up to 14 accumulators of four cells, all full; blocks are of equal
 * length, as far as they go, so that no pass over the units has little to do.
 * What remains, up to three cells, is loaded under a mask.
 */
#include "percpu/fold.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define MAX_VECS 14

#define INLINE static inline __attribute__((always_inline))
#define TARGET __attribute__((target("avx2")))

/* Accumulators are variables, not an array, so that they are registers. */
#define EACH_VEC(vec)                                                          \
	vec(0) vec(1) vec(2) vec(3) vec(4) vec(5) vec(6) vec(7) vec(8) vec(9)  \
	vec(10) vec(11) vec(12) vec(13)
#define ZERO(v) __m256i acc##v = _mm256_setzero_si256();
#define ADD(v)                                                                 \
	if (v < nr_vecs)                                                       \
		acc##v = _mm256_add_epi64(                                     \
			acc##v,                                                \
			_mm256_loadu_si256((const void *)(cell + 32 * v)));
#define STORE(v)                                                               \
	if (v < nr_vecs)                                                       \
		_mm256_storeu_si256((void *)(sum + 4 * v), acc##v);

INLINE TARGET void fold_vecs(const struct sp_fold_units *units, uint64_t off, uint64_t *sum, const size_t nr_vecs)
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
	TARGET static void fold_vecs_##n(const struct sp_fold_units *units,             \
					 uint64_t off,          \
					 uint64_t *sum)                        \
	{                                                                      \
		fold_vecs(units, off, sum, n);                       \
	}
FOLD_N(1)
FOLD_N(2)
FOLD_N(3)
FOLD_N(4)
FOLD_N(5)
FOLD_N(6)
FOLD_N(7)
FOLD_N(8)
FOLD_N(9)
FOLD_N(10)
FOLD_N(11)
FOLD_N(12)
FOLD_N(13)
FOLD_N(14)

static fold_n_fn *const fold_n[MAX_VECS + 1] = {
	NULL,         fold_vecs_1,  fold_vecs_2,  fold_vecs_3,  fold_vecs_4,
	fold_vecs_5,  fold_vecs_6,  fold_vecs_7,  fold_vecs_8,  fold_vecs_9,
	fold_vecs_10, fold_vecs_11, fold_vecs_12, fold_vecs_13, fold_vecs_14,
};

TARGET static void fold_rest(const struct sp_fold_units *units, uint64_t off, size_t nr, uint64_t *sum)
{
	const __m256i order = _mm256_setr_epi64x(0, 1, 2, 3);
	const __m256i mask =
		_mm256_cmpgt_epi64(_mm256_set1_epi64x((long long)nr), order);
	__m256i acc = _mm256_setzero_si256();
	const char *cell;

	SP_FOLD_FOR_EACH_UNIT (cell, units, off)
		acc = _mm256_add_epi64(
			acc, _mm256_maskload_epi64((const void *)cell, mask));
	_mm256_maskstore_epi64((void *)sum, mask, acc);
}

static void fold_avx2(const struct sp_fold_units *units, uint64_t off,
		      size_t nr, uint64_t *sum)
{
	size_t nr_vecs = nr / 4;
	size_t nr_blocks = (nr_vecs + MAX_VECS - 1) / MAX_VECS;

	for (; nr_blocks; nr_blocks--) {
		size_t n = (nr_vecs + nr_blocks - 1) / nr_blocks;

		fold_n[n](units, off, sum);
		nr_vecs -= n;
		off += 32 * n;
		sum += 4 * n;
	}
	if (nr % 4)
		fold_rest(units, off, nr % 4, sum);
}

static bool usable(void)
{
	return __builtin_cpu_supports("avx2");
}

const struct sp_fold_kernel sp_fold_avx2 = {
	.name = "avx2",
	.fold = fold_avx2,
	.usable = usable,
};

#endif
