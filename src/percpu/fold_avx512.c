/* SPDX-License-Identifier: MIT */
/*
 * percpu/fold_avx512.c - the fold with 64-byte registers.
 *
 * A block is up to 16 cache lines, one accumulator each. The first and the last
 * line of the whole range are loaded under a mask, which suppresses faults: a
 * cell outside the range is never touched, and every load is aligned to a line.
 *
 * Of each unit the first half of the lines is added at once, the second half LAG
 * units later. The loads of the first half make the hardware prefetcher fetch
 * the second into the L2 cache, in buffers of its own, beside those of the loads
 * that wait. Where memory is cold that takes a quarter off; where it is warm
 * nothing is lost. (Prefetch instructions, by any distance, gained less and cost
 * a third when warm.)
 */
#include "percpu/fold.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define MAX_LINES 16
#define LAG       8 /* 4 to 32 do the same */
#define MIN_LAG   6 /* lines from which on it is worth it */
#define ALL       ((__mmask8)0xff)

/*
 * @line_off: of the first line, relative to a unit; a multiple of 64 if units
 * are aligned to lines. @out: where cell 0 of the first line would go, which may
 * lie before the array if @head leaves it out.
 */
struct block {
	const struct sp_fold_units *units;
	uint64_t line_off;
	uintptr_t out;
	__mmask8 head;
	__mmask8 tail;
};

#define INLINE static inline __attribute__((always_inline))
#define TARGET __attribute__((target("avx512f")))

/* Accumulators are variables, not an array, so that they are registers. */
#define EACH_LINE(line)                                                        \
	line(0) line(1) line(2) line(3) line(4) line(5) line(6) line(7)        \
	line(8) line(9) line(10) line(11) line(12) line(13) line(14) line(15)
#define ZERO(l) __m512i acc##l = _mm512_setzero_si512();
#define ADD(l, line)                                                           \
	acc##l = _mm512_add_epi64(                                             \
		acc##l,                                                        \
		l == 0              ? _mm512_maskz_loadu_epi64(head, line)     \
		: l == nr_lines - 1 ? _mm512_maskz_loadu_epi64(tail,           \
							       line + 64 * l)  \
				    : _mm512_loadu_si512(line + 64 * l));
#define ADD_NOW(l)                                                             \
	if (l < nr_now)                                                        \
		ADD(l, now)
#define ADD_LATE(l)                                                            \
	if (l >= nr_now && l < nr_lines)                                       \
		ADD(l, late)
#define STORE(l)                                                               \
	if (l < nr_lines)                                                      \
		_mm512_mask_storeu_epi64((void *)(out + 64 * l),               \
					 l == 0              ? head            \
					 : l == nr_lines - 1 ? tail            \
							     : ALL,            \
					 acc##l);

/* @nr_lines is a constant: all conditions on it and on line numbers are. */
INLINE TARGET void fold_lines(const struct block *b, const size_t nr_lines)
{
	const size_t nr_now = nr_lines < MIN_LAG ? nr_lines
						 : (nr_lines + 1) / 2;
	const struct sp_fold_units units = *b->units;
	const uint64_t off = b->line_off;
	const uintptr_t out = b->out;
	const __mmask8 head = b->head, tail = b->tail;
	struct sp_fold_cursor behind = {0};
	const char *now, *late;
	size_t nr = 0;
	EACH_LINE(ZERO)

	SP_FOLD_FOR_EACH_UNIT (now, &units, off) {
		EACH_LINE(ADD_NOW)
		if (nr_now < nr_lines && nr++ >= LAG) {
			late = sp_fold_next(&units, &behind, off);
			EACH_LINE(ADD_LATE)
		}
	}
	while (nr_now < nr_lines &&
	       (late = sp_fold_next(&units, &behind, off))) {
		EACH_LINE(ADD_LATE)
	}
	EACH_LINE(STORE)
}

#define FOLD_N(n)                                                              \
	TARGET static void fold_lines_##n(const struct block *b)               \
	{                                                                      \
		fold_lines(b, n);                                              \
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
FOLD_N(15)
FOLD_N(16)

typedef void fold_n_fn(const struct block *b);

static fold_n_fn *const fold_n[MAX_LINES + 1] = {
	NULL,          fold_lines_1,  fold_lines_2,  fold_lines_3,
	fold_lines_4,  fold_lines_5,  fold_lines_6,  fold_lines_7,
	fold_lines_8,  fold_lines_9,  fold_lines_10, fold_lines_11,
	fold_lines_12, fold_lines_13, fold_lines_14, fold_lines_15,
	fold_lines_16,
};

static void fold_avx512(const struct sp_fold_units *units, uint64_t off,
			size_t nr, uint64_t *sum)
{
	size_t lead = off / 8 % 8; /* cells of the first line before ours */
	size_t nr_lines = (lead + nr + 7) / 8;
	size_t spare = 8 * nr_lines - lead - nr;
	__mmask8 last = (__mmask8)(ALL >> spare);
	struct block b = {
		.units = units,
		.line_off = off - 8 * lead,
		.out = (uintptr_t)sum - 8 * lead,
		.head = (__mmask8)(ALL << lead),
	};

	if (!nr)
		return;
	while (nr_lines) {
		size_t n = nr_lines < MAX_LINES ? nr_lines : MAX_LINES;

		b.tail = n == nr_lines ? last : ALL;
		if (n == 1)
			b.head &= b.tail;
		fold_n[n](&b);
		b.head = ALL;
		b.line_off += 64 * n;
		b.out += 64 * n;
		nr_lines -= n;
	}
}

static bool usable(void)
{
	return __builtin_cpu_supports("avx512f");
}

const struct sp_fold_kernel sp_fold_avx512 = {
	.name = "avx512",
	.fold = fold_avx512,
	.usable = usable,
};

#endif
