/* SPDX-License-Identifier: MIT */
/*
 * cli/bench_fold.c - `statplane bench fold`: sum 116 counters over N units.
 *
 *   per_item   as the kernel did until 2015: for each counter, walk all CPUs by
 *              the bitmap of possible CPUs and a table of offsets
 *   batch2015  as the kernel does since: for each CPU, add all counters into a
 *              buffer, one by one
 *   ours       sp_percpu_fold(), and each kernel that this machine can run
 *
 * The old ways walk units as the kernel lays them: 256 KiB apart, so that all
 * copies of a counter fall into the same cache sets. Ours walks a plane's units
 * at the plane's stride, which avoids just that. per_item_here is the old walk
 * over the plane's units: what of the gain is the fold's, and not the stride's.
 *
 * Warm: the same fold again and again. Cold: every line of every unit is flushed
 * from all caches before each single fold. All on 4 KiB pages; N units on a
 * machine with fewer CPUs is a simulation of a larger one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <statplane/percpu.h>
#include <statplane/reader.h>

#include "cli/bench.h"
#include "percpu/fold.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define NR_COUNTERS       116
#define MAX_UNITS         512
#define MAX_WAYS          8
#define KERNEL_UNIT_BYTES (256 * 1024) /* unit_size of its percpu_stats */
#define WARM_NS           300000       /* of each warm sample, about */
#define NR_COLD           5 /* single folds in one cold sample: the median */

/* Where the copies of the counters are. */
struct memory {
	const char *base;
	uint64_t unit_off[MAX_UNITS + 1]; /* as the kernel's per_cpu_offset */
};

struct fold_bench {
	const struct sp_bench_opts *opts;
	struct sp_plane *plane;
	struct sp_lane lanes[MAX_UNITS];
	unsigned nr_lanes;
	sp_percpu_t off;
	uint64_t written[(MAX_UNITS + 64) / 64];
	struct sp_fold_units units;
	struct memory here;   /* the plane's units */
	struct memory kernel; /* the same values as the kernel would lay them */
	unsigned nr_units; /* written or not: 1 CPU's, the shared one, lanes */
};

/* One way to fold. */
struct way {
	const char *name; /* NULL: sp_percpu_fold() itself */
	void (*fold)(const struct fold_bench *bench, const struct way *way,
		     uint64_t *sum);
	const struct sp_fold_kernel *kernel;
	const struct memory *memory; /* of the old ways */
	struct sp_series series;
};

/* A call, as find_next_bit() is in the kernel. */
__attribute__((noinline)) static unsigned
next_unit(const struct fold_bench *bench, unsigned unit)
{
	for (; unit < bench->nr_units; unit = (unit | 63) + 1) {
		uint64_t word = bench->written[unit / 64] >> unit % 64;

		if (word)
			return unit + (unsigned)__builtin_ctzll(word);
	}
	return bench->nr_units;
}

static const volatile uint64_t *cells(const struct memory *memory,
				      unsigned unit)
{
	return (const void *)(memory->base + memory->unit_off[unit]);
}

static void fold_per_item(const struct fold_bench *bench, const struct way *way,
			  uint64_t *sum)
{
	for (unsigned i = 0; i < NR_COUNTERS; i++) {
		uint64_t s = 0;

		for (unsigned u = next_unit(bench, 0); u < bench->nr_units;
		     u = next_unit(bench, u + 1))
			s += cells(way->memory, u)[i];
		sum[i] = s;
	}
}

static void fold_batch(const struct fold_bench *bench, const struct way *way,
		       uint64_t *sum)
{
	memset(sum, 0, NR_COUNTERS * sizeof(*sum));
	for (unsigned u = next_unit(bench, 0); u < bench->nr_units;
	     u = next_unit(bench, u + 1)) {
		const volatile uint64_t *from = cells(way->memory, u);

		for (unsigned i = 0; i < NR_COUNTERS; i++)
			sum[i] += from[i];
	}
}

static void fold_kernel(const struct fold_bench *bench, const struct way *way,
			uint64_t *sum)
{
	way->kernel->fold(&bench->units, bench->off, NR_COUNTERS, sum);
}

static void fold_library(const struct fold_bench *bench, const struct way *way,
			 uint64_t *sum)
{
	(void)way;
	sp_percpu_fold(bench->plane, bench->off, NR_COUNTERS, sum);
}

static void flush_line(const volatile void *line)
{
#if defined(__x86_64__)
	_mm_clflush((const void *)(uintptr_t)line);
#elif defined(__aarch64__)
	__asm__ volatile("dc	civac, %0" : : "r"(line) : "memory");
#endif
}

static void flush(const struct fold_bench *bench, const struct memory *memory)
{
	for (unsigned u = next_unit(bench, 0); u < bench->nr_units;
	     u = next_unit(bench, u + 1)) {
		for (unsigned i = 0; i < NR_COUNTERS; i += 8)
			flush_line(cells(memory, u) + i);
		flush_line(cells(memory, u) + NR_COUNTERS - 1);
	}
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Give unit @unit its values, here and in the kernel's layout. */
static void fill(struct fold_bench *bench, const struct sp_lane *lane)
{
	uint64_t *copy = (void *)(bench->kernel.base +
				  bench->kernel.unit_off[lane->unit]);

	for (unsigned i = 0; i < NR_COUNTERS; i++) {
		copy[i] = lane->unit * 1000003ull + i;
		sp_lane_add(lane, bench->off + 8 * i, copy[i]);
	}
}

/* Claim lanes until @nr_units are written, the shared one among them. */
static int grow(struct fold_bench *bench, unsigned nr_units)
{
	int r;

	for (; 1 + bench->nr_lanes < nr_units; bench->nr_lanes++) {
		struct sp_lane *lane = &bench->lanes[bench->nr_lanes];

		r = sp_lane_claim(bench->plane, lane);
		if (r)
			return r;
		bench->written[lane->unit / 64] |= 1ull << lane->unit % 64;
		bench->units.base =
			lane->base - bench->units.stride * lane->unit;
		bench->here.base = bench->units.base + bench->off;
		fill(bench, lane);
	}
	return 0;
}

static const size_t kernel_len = (size_t)(MAX_UNITS + 1) * KERNEL_UNIT_BYTES;

/* Memory laid as the kernel's; the pages that are not touched cost nothing. */
static int open_kernel(struct fold_bench *bench)
{
	void *base = mmap(NULL, kernel_len, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (base == MAP_FAILED)
		return -errno;
	madvise(base, kernel_len, MADV_NOHUGEPAGE);
	memset(base, 0,
	       NR_COUNTERS * 8); /* the shared unit: read, not zero page */
	bench->kernel.base = base;
	return 0;
}

static int open_bench(struct fold_bench *bench)
{
	const struct sp_plane_opts plane_opts = {
		.sz = sizeof(plane_opts),
		.program = "bench fold",
		.nr_cpus = 1,
		.nr_lanes = MAX_UNITS - 1,
	};
	struct sp_plane_info info;
	struct sp_reader *reader;
	int r;

	r = sp_plane_create(&plane_opts, &bench->plane);
	if (!r)
		r = sp_percpu_alloc(bench->plane, NR_COUNTERS * 8, 8,
				    &bench->off);
	if (!r)
		r = sp_reader_attach_fd(sp_plane_fd(bench->plane), &reader);
	if (r)
		return r;
	sp_reader_info(reader, &info);
	sp_reader_detach(reader);
	bench->nr_units = info.nr_units;
	bench->written[0] = 1; /* the shared unit always is */
	bench->units = (struct sp_fold_units){
		.stride = info.unit_stride,
		.written = bench->written,
		.nr_words = (info.nr_units + 63) / 64,
	};
	for (unsigned u = 0; u < info.nr_units; u++) {
		bench->here.unit_off[u] = u * info.unit_stride;
		bench->kernel.unit_off[u] = (uint64_t)u * KERNEL_UNIT_BYTES;
	}
	return open_kernel(bench);
}

static double once(const struct fold_bench *bench, const struct way *way)
{
	static uint64_t sum[NR_COUNTERS];
	uint64_t start = sp_bench_ticks();

	way->fold(bench, way, sum);
	return sp_bench_ns(sp_bench_ticks() - start);
}

static double warm(const struct fold_bench *bench, const struct way *way)
{
	static uint64_t sum[NR_COUNTERS];
	unsigned nr = 1 + (unsigned)(WARM_NS / (once(bench, way) + 1));
	uint64_t start;

	once(bench, way);
	start = sp_bench_ticks();
	for (unsigned i = 0; i < nr; i++)
		way->fold(bench, way, sum);
	return sp_bench_ns(sp_bench_ticks() - start) / nr;
}

static double cold(const struct fold_bench *bench, const struct way *way)
{
	double ns[NR_COLD], t;

	for (unsigned i = 0; i < NR_COLD; i++) {
		unsigned at = i;

		flush(bench, &bench->here);
		flush(bench, &bench->kernel);
		t = once(bench, way);
		for (; at && ns[at - 1] > t; at--)
			ns[at] = ns[at - 1];
		ns[at] = t;
	}
	return ns[NR_COLD / 2];
}

/* All ways must agree before any is timed. */
static int check(const struct fold_bench *bench, const struct way *ways,
		 unsigned nr_ways)
{
	static uint64_t want[NR_COUNTERS], got[NR_COUNTERS];

	ways[0].fold(bench, &ways[0], want);
	for (unsigned w = 0; w < nr_ways; w++) {
		memset(got, 0xee, sizeof(got));
		ways[w].fold(bench, &ways[w], got);
		if (memcmp(want, got, sizeof(want)))
			return -EIO;
	}
	return 0;
}

static void
measure(const struct fold_bench *bench, struct way *ways, unsigned nr_ways,
	double (*time)(const struct fold_bench *bench, const struct way *way))
{
	for (unsigned w = 0; w < nr_ways; w++)
		ways[w].series.nr = 0;
	for (unsigned r = 0; r < bench->opts->nr_rounds; r++)
		for (unsigned i = 0; i < nr_ways; i++) {
			unsigned w = r % 2 ? nr_ways - 1 - i : i;

			sp_series_add(&ways[w].series, time(bench, &ways[w]));
		}
}

static void report(const struct fold_bench *bench, const struct way *ways,
		   unsigned nr_ways, unsigned nr_units, const char *heat)
{
	char name[64];

	for (unsigned w = 1; w < nr_ways; w++) {
		snprintf(name, sizeof(name), "fold/%u/%s%s%s", nr_units, heat,
			 ways[w].name ? "/" : "",
			 ways[w].name ? ways[w].name : "");
		sp_bench_case(bench->opts, "fold", name, &ways[w].series,
			      "per_item", &ways[0].series);
	}
	if (!bench->opts->json) {
		snprintf(name, sizeof(name), "  (per_item, %s)", heat);
		sp_bench_case(bench->opts, "fold", name, &ways[0].series, NULL,
			      NULL);
	}
}

static int run(struct fold_bench *bench, struct way *ways, unsigned nr_ways)
{
	static const unsigned sizes[] = {2, 16, 64, 160, MAX_UNITS};
	int r;

	for (unsigned s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		r = grow(bench, sizes[s]);
		if (!r)
			r = check(bench, ways, nr_ways);
		if (r)
			return r;
		measure(bench, ways, nr_ways, warm);
		report(bench, ways, nr_ways, sizes[s], "warm");
		measure(bench, ways, nr_ways, cold);
		report(bench, ways, nr_ways, sizes[s], "cold");
	}
	return 0;
}

static unsigned list_ways(const struct fold_bench *bench, struct way *ways)
{
	unsigned nr = 0;

	ways[nr++] = (struct way){.name = "per_item",
				  .fold = fold_per_item,
				  .memory = &bench->kernel};
	ways[nr++] = (struct way){.fold = fold_library};
	for (size_t k = 0; k < sp_fold_nr_kernels && nr < MAX_WAYS - 2; k++)
		if (sp_fold_kernels[k] != sp_fold_best() &&
		    sp_fold_kernels[k]->usable())
			ways[nr++] = (struct way){
				.name = sp_fold_kernels[k]->name,
				.fold = fold_kernel,
				.kernel = sp_fold_kernels[k],
			};
	ways[nr++] = (struct way){.name = "batch2015",
				  .fold = fold_batch,
				  .memory = &bench->kernel};
	ways[nr++] = (struct way){.name = "per_item_here",
				  .fold = fold_per_item,
				  .memory = &bench->here};
	return nr;
}

int sp_bench_fold(const struct sp_bench_opts *opts)
{
	static struct fold_bench bench;
	struct way ways[MAX_WAYS] = {0};
	unsigned nr_ways = list_ways(&bench, ways);
	int r;

	bench.opts = opts;
	r = open_bench(&bench);
	for (unsigned w = 0; w < nr_ways && !r; w++)
		r = sp_series_init(&ways[w].series, opts->nr_rounds);
	if (r)
		goto out;
	sp_bench_pin(0);
	sp_bench_begin(opts, "Fold of 116 counters over N written units");
	sp_bench_note(opts, "fold/N/* without a name: the library, by %s",
		      sp_fold_best()->name);
	r = run(&bench, ways, nr_ways);
	sp_bench_note(
		opts,
		"\nPeer per_item: walk all units once for each counter, as "
		"the kernel did, over units\n%d bytes apart, as the kernel "
		"lays them. per_item_here: the same walk over the\nplane's "
		"units, %llu bytes apart. More units than CPUs are a "
		"simulation: one CPU\nreads what it wrote itself.",
		KERNEL_UNIT_BYTES, (unsigned long long)bench.units.stride);
out:
	if (r)
		fprintf(stderr, "statplane bench fold: %s\n", strerror(-r));
	for (unsigned w = 0; w < nr_ways; w++)
		sp_series_fini(&ways[w].series);
	while (bench.nr_lanes)
		sp_lane_release(&bench.lanes[--bench.nr_lanes]);
	if (bench.kernel.base)
		munmap((void *)(uintptr_t)bench.kernel.base, kernel_len);
	sp_plane_close(bench.plane);
	return r ? EXIT_FAILURE : EXIT_SUCCESS;
}
