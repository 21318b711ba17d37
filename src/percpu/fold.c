/* SPDX-License-Identifier: MIT */
/*
 * percpu/fold.c - which fold kernel runs here.
 */
#include "percpu/fold.h"

#include <string.h>

const struct sp_fold_kernel *const sp_fold_kernels[] = {
#if defined(__x86_64__)
	&sp_fold_avx512,
	&sp_fold_avx2,
#elif defined(__aarch64__)
	&sp_fold_neon,
#endif
	&sp_fold_scalar,
};

const size_t sp_fold_nr_kernels =
	sizeof(sp_fold_kernels) / sizeof(sp_fold_kernels[0]);

const struct sp_fold_kernel *sp_fold_best(void)
{
	size_t i = 0;

	while (!sp_fold_kernels[i]->usable())
		i++;
	return sp_fold_kernels[i];
}

void sp_fold(const struct sp_fold_units *units, uint64_t off, size_t nr,
	     uint64_t *sum)
{
	/* Threads that meet here at first all store the same. */
	static sp_fold_fn *best;
	sp_fold_fn *fold = __atomic_load_n(&best, __ATOMIC_RELAXED);

	if (!fold) {
		fold = sp_fold_best()->fold;
		__atomic_store_n(&best, fold, __ATOMIC_RELAXED);
	}
	fold(units, off, nr, sum);
}

const struct sp_fold_kernel *sp_fold_by_name(const char *name)
{
	for (size_t i = 0; i < sp_fold_nr_kernels; i++)
		if (!strcmp(sp_fold_kernels[i]->name, name) &&
		    sp_fold_kernels[i]->usable())
			return sp_fold_kernels[i];
	return NULL;
}
