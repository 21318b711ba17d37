/* SPDX-License-Identifier: MIT */
/*
 * cli/bench.h - the frame of `statplane bench`: clock, samples, output.
 *
 * A bench runs what is ours and its peers side by side: every round measures
 * each of them once, in alternating order, so that a machine that is slow for a
 * while is slow for all. Each way of doing the work is a series with one sample
 * a round. A case sets one series against a peer's: its ratio is the median over
 * rounds of the peer's time by ours, so bigger is better.
 *
 * Nothing here asserts a speed.
 */
#ifndef SP_CLI_BENCH_H
#define SP_CLI_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_bench_opts {
	bool json;
	unsigned nr_rounds;
	unsigned nr_threads;
	const char *only; /* the kind to measure, NULL for all */

	/* For show. */
	bool cachegrind;
	const char *side; /* run this side alone, without a word */
	unsigned nr_units;
	unsigned nr_repeats;
};

/* `statplane bench NAME [OPTION]...`; argv[0] is "bench". Return: exit status.
 */
int sp_cli_bench(int argc, char **argv);

/* One a bench; each returns an exit status. */
int sp_bench_add(const struct sp_bench_opts *opts);
int sp_bench_fold(const struct sp_bench_opts *opts);
int sp_bench_show(const struct sp_bench_opts *opts);
int sp_bench_table(const struct sp_bench_opts *opts);
int sp_bench_walk(const struct sp_bench_opts *opts);

/* Times of one way of doing the work, ns each, in the order of rounds. */
struct sp_series {
	double *sample;
	unsigned nr;
};

/* Return: 0; -ENOMEM. Give it back with sp_series_fini(). */
int sp_series_init(struct sp_series *series, unsigned nr_rounds);
void sp_series_fini(struct sp_series *series);
void sp_series_add(struct sp_series *series, double ns);

/* A clock for spans down to some ten cycles, on this CPU. */
uint64_t sp_bench_ticks(void);
double sp_bench_ns(uint64_t ticks);

/* Run the calling thread on the @n-th CPU that it may use, modulo their number.
 */
void sp_bench_pin(unsigned n);

/* The machine, and @title with the head of the table; nothing for JSON. */
void sp_bench_begin(const struct sp_bench_opts *opts, const char *title);

/**
 * sp_bench_case() - print one line
 * @bench: "add"
 * @name: "rseq/same"
 * @peer: what it is compared with; NULL: nothing, and @theirs is not used
 */
void sp_bench_case(const struct sp_bench_opts *opts, const char *bench,
		   const char *name, const struct sp_series *ours,
		   const char *peer, const struct sp_series *theirs);

/* Something else that a case is set against; its ratio is a JSON member. */
struct sp_bench_other {
	const char *name; /* "lock_each": member ratio_lock_each */
	const struct sp_series *series;
};

/* sp_bench_case() with more peers, which end with a NULL name. */
void sp_bench_case_with(const struct sp_bench_opts *opts, const char *bench,
			const char *name, const struct sp_series *ours,
			const char *peer, const struct sp_series *theirs,
			const struct sp_bench_other *others);

/* The median of its samples; 0 if there are none. */
double sp_series_median(const struct sp_series *series);

/* A remark below or between the lines of the table; nothing for JSON. */
void sp_bench_note(const struct sp_bench_opts *opts, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
