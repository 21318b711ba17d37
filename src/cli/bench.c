/* SPDX-License-Identifier: MIT */
/*
 * cli/bench.c - see cli/bench.h.
 */
#include "cli/bench.h"

#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <statplane/percpu.h>

#include "cli/cli.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

int sp_series_init(struct sp_series *series, unsigned nr_rounds)
{
	series->nr = 0;
	series->sample = calloc(nr_rounds, sizeof(*series->sample));
	return series->sample ? 0 : -ENOMEM;
}

void sp_series_fini(struct sp_series *series)
{
	free(series->sample);
	series->sample = NULL;
}

void sp_series_add(struct sp_series *series, double ns)
{
	series->sample[series->nr++] = ns;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#if defined(__x86_64__)

uint64_t sp_bench_ticks(void)
{
	uint64_t ticks;

	_mm_lfence();
	ticks = __rdtsc();
	_mm_lfence();
	return ticks;
}

/* Measured once, over 20 ms of the system's clock. */
double sp_bench_ns(uint64_t ticks)
{
	static double ns_per_tick;

	if (ns_per_tick == 0) {
		uint64_t ns = now_ns(), tsc = __rdtsc();

		while (now_ns() - ns < 20000000)
			;
		ns_per_tick =
			(double)(now_ns() - ns) / (double)(__rdtsc() - tsc);
	}
	return (double)ticks * ns_per_tick;
}

#else

uint64_t sp_bench_ticks(void)
{
	return now_ns();
}

double sp_bench_ns(uint64_t ticks)
{
	return (double)ticks;
}

#endif

void sp_bench_pin(unsigned n)
{
	cpu_set_t set;
	int cpu = -1;

	if (sched_getaffinity(0, sizeof(set), &set))
		return;
	n %= (unsigned)CPU_COUNT(&set);
	do
		cpu++;
	while (!CPU_ISSET(cpu, &set) || n--);
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	/* Failing only means more noise. */
	sched_setaffinity(0, sizeof(set), &set);
}

static void print_cpu_model(void)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[256], *model;

	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "model name", 10) &&
		    strncmp(line, "CPU part", 8))
			continue;
		model = strchr(line, ':');
		if (!model)
			continue;
		printf("%.*s", (int)strcspn(model + 2, "\n"), model + 2);
		fclose(f);
		return;
	}
	if (f)
		fclose(f);
	printf("unknown CPU");
}

void sp_bench_begin(const struct sp_bench_opts *opts, const char *title)
{
	struct utsname host;

	if (opts->json)
		return;
	print_cpu_model();
	printf(", %ld CPUs", sysconf(_SC_NPROCESSORS_ONLN));
	if (!uname(&host))
		printf(", %s %s %s", host.sysname, host.release, host.machine);
	printf(", this-CPU adds by %s\n", sp_percpu_mode() == SP_PERCPU_RSEQ
						  ? "rseq"
						  : "fallback (no rseq)");
	printf("%s, %u rounds\n\n", title, opts->nr_rounds);
	printf("%-26s %10s %10s %10s   %s\n", "case", "min ns", "median", "max",
	       "ratio to peer");
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *sorted, unsigned nr)
{
	return nr % 2 ? sorted[nr / 2]
		      : (sorted[nr / 2 - 1] + sorted[nr / 2]) / 2;
}

/* @values becomes sorted. */
static double sort_median(double *values, unsigned nr)
{
	qsort(values, nr, sizeof(*values), compare);
	return median(values, nr);
}

double sp_series_median(const struct sp_series *series)
{
	double *v = calloc(series->nr + 1, sizeof(*v));
	double mid;

	if (!v || !series->nr) {
		free(v);
		return 0;
	}
	memcpy(v, series->sample, series->nr * sizeof(*v));
	mid = sort_median(v, series->nr);
	free(v);
	return mid;
}

/* The median over rounds of their time by ours; @v is room for as many. */
static double ratio_to(const struct sp_series *ours,
		       const struct sp_series *theirs, double *v)
{
	for (unsigned i = 0; i < ours->nr; i++)
		v[i] = theirs->sample[i] / ours->sample[i];
	return sort_median(v, ours->nr);
}

static void print_others(const struct sp_bench_opts *opts,
			 const struct sp_series *ours,
			 const struct sp_bench_other *others, double *v)
{
	for (; others && others->name; others++)
		printf(opts->json ? ",\"ratio_%2$s\":%1$.3f" : "  %1$.2f %2$s",
		       ratio_to(ours, others->series, v), others->name);
}

void sp_bench_case(const struct sp_bench_opts *opts, const char *bench,
		   const char *name, const struct sp_series *ours,
		   const char *peer, const struct sp_series *theirs)
{
	sp_bench_case_with(opts, bench, name, ours, peer, theirs, NULL);
}

void sp_bench_case_with(const struct sp_bench_opts *opts, const char *bench,
			const char *name, const struct sp_series *ours,
			const char *peer, const struct sp_series *theirs,
			const struct sp_bench_other *others)
{
	const unsigned nr = ours->nr;
	double *v = calloc(2 * nr, sizeof(*v));
	double ratio = 1, mid;

	if (!v)
		return;
	if (peer)
		ratio = ratio_to(ours, theirs, v);
	memcpy(v, ours->sample, nr * sizeof(*v));
	mid = sort_median(v, nr);
	if (opts->json)
		printf("{\"bench\":\"%s\",\"case\":\"%s\",\"unit\":\"ns\","
		       "\"min\":%.3f,\"median\":%.3f,\"max\":%.3f,"
		       "\"ratio\":%.3f,\"peer\":\"%s\"",
		       bench, name, v[0], mid, v[nr - 1], ratio,
		       peer ? peer : "none");
	else if (peer)
		printf("%-26s %10.2f %10.2f %10.2f   %6.2f  %s", name, v[0],
		       mid, v[nr - 1], ratio, peer);
	else
		printf("%-26s %10.2f %10.2f %10.2f", name, v[0], mid,
		       v[nr - 1]);
	print_others(opts, ours, others, v + nr);
	puts(opts->json ? "}" : "");
	fflush(stdout);
	free(v);
}

void sp_bench_note(const struct sp_bench_opts *opts, const char *format, ...)
{
	va_list args;

	if (opts->json)
		return;
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

static const struct bench {
	const char *name;
	const char *help;
	int (*run)(const struct sp_bench_opts *opts);
	unsigned nr_rounds;
} benches[] = {
	{"add", "one increment, by each way of counting", sp_bench_add, 15},
	{"fold", "sum 116 counters over 2 to 512 units", sp_bench_fold, 15},
	{"show", "text of net/snmp and net/netstat", sp_bench_show, 15},
	{"table", "1 M keys beside liburcu's and libck's tables",
	 sp_bench_table, 5},
	{"walk", "empty and full tables, and the kernel's own", sp_bench_walk,
	 7},
};

#define NR_BENCHES (sizeof(benches) / sizeof(benches[0]))

static void usage(FILE *f)
{
	fprintf(f, "usage: statplane bench NAME [--rounds N] [--threads N] "
		   "[--only KIND] [--json]\n"
		   "       statplane bench show --cachegrind [--json]\n\n");
	for (size_t i = 0; i < NR_BENCHES; i++)
		fprintf(f, "  %-8s%s\n", benches[i].name, benches[i].help);
	fprintf(f,
		"\n"
		"Each way of doing it beside its peers, in nanoseconds; above "
		"1 ours is faster.\n"
		"\n"
		"  --rounds N     measure each case this often (15)\n"
		"  --threads N    threads at the same time, for add (1)\n"
		"  --only KIND    this kind only\n"
		"  --cachegrind   instructions and cache misses, below "
		"valgrind\n"
		"  --json         one object a line\n"
		"  --help\n"
		"\n"
		"Examples\n"
		"  statplane bench add --only rseq\n"
		"  statplane bench fold --rounds 50 --json\n");
}

static const struct bench *find(const char *name)
{
	for (size_t i = 0; name && i < NR_BENCHES; i++)
		if (!strcmp(benches[i].name, name))
			return &benches[i];
	return NULL;
}

/* 1 to @max, or 0 for anything else. */
static unsigned parse_count(const char *text, unsigned max)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	return *text >= '0' && *text <= '9' && !*end && value <= max
		       ? (unsigned)value
		       : 0;
}

/* Return: 0, or an exit status plus 1 to leave with. */
static int parse(int argc, char **argv, struct sp_bench_opts *opts)
{
	static const struct option longs[] = {
		{"rounds", required_argument, NULL, 'r'},
		{"threads", required_argument, NULL, 't'},
		{"only", required_argument, NULL, 'o'},
		{"json", no_argument, NULL, 'j'},
		{"cachegrind", no_argument, NULL, 'c'},
		/* Not for people: see cli/bench_show.c. */
		{"side", required_argument, NULL, 'S'},
		{"units", required_argument, NULL, 'U'},
		{"repeats", required_argument, NULL, 'R'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int c;

	optind = 1;
	while ((c = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
		switch (c) {
		case 'r':
			opts->nr_rounds = parse_count(optarg, 100000);
			break;
		case 't':
			opts->nr_threads = parse_count(optarg, 64);
			break;
		case 'o':
			opts->only = optarg;
			break;
		case 'j':
			opts->json = true;
			break;
		case 'c':
			opts->cachegrind = true;
			break;
		case 'S':
			opts->side = optarg;
			break;
		case 'U':
			opts->nr_units = parse_count(optarg, 512);
			break;
		case 'R':
			opts->nr_repeats = parse_count(optarg, 100000);
			break;
		case 'h':
			usage(stdout);
			return 1 + EXIT_SUCCESS;
		default:
			return 1 + sp_cli_bad_option("bench", c, argv);
		}
	}
	if (optind < argc) {
		return 1 +
		       sp_cli_usage("bench", "'%s' is too much", argv[optind]);
	}
	if (!opts->nr_rounds || !opts->nr_threads) {
		return 1 + sp_cli_usage("bench", "--rounds wants 1 to 100000, "
						 "--threads 1 to 64");
	}
	return 0;
}

int sp_cli_bench(int argc, char **argv)
{
	const struct bench *bench = find(argc > 1 ? argv[1] : NULL);
	struct sp_bench_opts opts = {.nr_threads = 1};
	int leave;

	if (!bench) {
		if (argc < 2)
			return sp_cli_usage("bench", "want a name");
		if (strcmp(argv[1], "--help") != 0 &&
		    strcmp(argv[1], "-h") != 0)
			return sp_cli_usage("bench", "there is no bench '%s'",
					    argv[1]);
		usage(stdout);
		return sp_cli_finish(SP_EXIT_OK);
	}
	opts.nr_rounds = bench->nr_rounds;
	leave = parse(argc - 1, argv + 1, &opts);
	return leave ? leave - 1 : bench->run(&opts);
}
