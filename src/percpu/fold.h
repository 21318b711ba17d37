/* SPDX-License-Identifier: MIT */
/*
 * percpu/fold.h - sum a run of cells over units, CPU-major.
 *
 * The walk goes unit by unit, not cell by cell: a block of cells, as wide as
 * the machine has registers, is kept in accumulators while all units pass by,
 * so every cache line of every unit is touched once and in order. Walking all
 * units once for each cell touches every line eight times, far apart in time.
 *
 * The cells are written by other threads while they are summed. Every kernel
 * reads an aligned 8-byte cell with one access (a vector load of aligned 8-byte
 * elements never splits an element on x86-64 and aarch64), so no cell is torn;
 * that is all that a relaxed load promises. There is no order among cells.
 *
 * Nothing here allocates, waits, or can fail.
 */
#ifndef SP_PERCPU_FOLD_H
#define SP_PERCPU_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The units to sum: those whose bit is set, at base + unit * stride. */
struct sp_fold_units {
	const char *base; /* 8-byte aligned, as is the stride */
	uint64_t stride;
	const uint64_t *written; /* bitmap */
	size_t nr_words;
};

/* Where a walk over the written units stands; all 0 at the start. */
struct sp_fold_cursor {
	size_t nr_words; /* of the bitmap that have been taken */
	uint64_t bits;   /* left of the last one */
};

/*
 * The next unit's byte @off, or NULL. The address depends on no memory but the
 * bitmap, so a CPU runs ahead into the next units while loads of this one wait.
 */
static inline __attribute__((always_inline)) const char *
sp_fold_next(const struct sp_fold_units *units, struct sp_fold_cursor *cursor,
	     uint64_t off)
{
	uint64_t unit;

	while (!cursor->bits) {
		if (cursor->nr_words == units->nr_words)
			return NULL;
		cursor->bits = units->written[cursor->nr_words++];
	}
	unit = 64 * cursor->nr_words - 64 +
	       (unsigned)__builtin_ctzll(cursor->bits);
	cursor->bits &= cursor->bits - 1;
	return units->base + unit * units->stride + off;
}

/* Run the statement that follows for each unit; @cell points to its byte @off.
 */
#define SP_FOLD_FOR_EACH_UNIT(cell, units, off)                                \
	for (struct sp_fold_cursor cursor_ = {0};                              \
	     ((cell) = sp_fold_next(units, &cursor_, off));)

/**
 * sp_fold_fn - sum @nr cells at byte offset @off of all @units
 * @off: multiple of 8
 * @sum: @nr totals, not read before they are written
 */
typedef void sp_fold_fn(const struct sp_fold_units *units, uint64_t off,
			size_t nr, uint64_t *sum);

/* The best kernel of this machine, chosen at the first call. */
sp_fold_fn sp_fold;

struct sp_fold_kernel {
	const char *name; /* "avx512", "avx2", "neon", "scalar" */
	sp_fold_fn *fold;
	bool (*usable)(void); /* on this CPU and operating system */
};

/* The kernels that were compiled in, best first; ends with scalar. */
extern const struct sp_fold_kernel *const sp_fold_kernels[];
extern const size_t sp_fold_nr_kernels;

/* The first usable one, which sp_fold() runs. */
const struct sp_fold_kernel *sp_fold_best(void);

/* A usable kernel by name, or NULL. */
const struct sp_fold_kernel *sp_fold_by_name(const char *name);

extern const struct sp_fold_kernel sp_fold_avx512;
extern const struct sp_fold_kernel sp_fold_avx2;
extern const struct sp_fold_kernel sp_fold_neon;
extern const struct sp_fold_kernel sp_fold_scalar;

#endif
