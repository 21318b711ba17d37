/* SPDX-License-Identifier: MIT */
/*
 * cli/bench_add.c - `statplane bench add`: one increment, by each way of
 * counting.
 *
 * Each kind is timed on one counter again and again ("same": the next add waits
 * for the last one's store) and on 64 counters in turn ("rotating"). With
 * --threads N all threads do the same kind at the same time, each on a CPU of
 * its own as far as there are enough; a sample is the mean over threads.
 *
 *   kind          what it is                                   peer
 *   tls           plain add to memory of the thread's own      lane
 *   lane          sp_lane_add()                                tls
 *   lane_pair     sp_lane_pair_add()                           lane
 *   rseq          sp_percpu_add()                              bare
 *   rseq_pair     sp_pair_add()                                rseq
 *   bare          the instructions of the sequence, without    tls
 *                 the library and its test for a first write
 *   bare_shift    the same, but units 2^18 bytes apart, so     bare
 *                 that no table is needed
 *   fallback      sp_percpu_add() in a process without rseq    getcpu_lock
 *   lock          locked add to memory of the thread's own     rseq
 *   getcpu_lock   sched_getcpu(), locked add                   rseq
 *   mutex         mutex and memory of the thread's own         rseq
 *   shared_lock   locked add to memory that all threads share  rseq
 *   shared_mutex  one mutex for all threads                    rseq
 *
 * The last two with two threads and more. With one thread a second one sleeps,
 * for the C library leaves locks out where there is only one. A process is in
 * rseq mode or in fallback mode, never both: the fallback is measured in a
 * process of its own, which the C library is told to start without rseq; where
 * that is the whole process, the fallback is the peer instead of rseq.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <statplane/percpu.h>

#include "cli/bench.h"

#define NR_COUNTERS 64
#define NR_PARTS    5 /* of a sample */
#define NO_RSEQ     "GLIBC_TUNABLES=glibc.pthread.rseq=0"

/* What one thread counts with. */
struct adder {
	const struct sp_percpu *percpu;
	sp_percpu_t off; /* NR_COUNTERS pairs */
	struct sp_lane lane;
	char *tls; /* @off bytes before the thread's own counters */
	pthread_mutex_t *shared_mutex;
	uint64_t *shared;
	char *units; /* of the bare kinds, 2^18 bytes each */
	unsigned nr_cpus;
	const uintptr_t *base; /* a table of them */
	pthread_mutex_t mutex;
};

static __thread uint64_t tls[NR_COUNTERS] __attribute__((aligned(128)));

/* The same, so that the add takes an offset as the others do. */
static void set_tls(struct adder *adder)
{
	adder->tls = (char *)tls - adder->off;
}

typedef void loop_fn(struct adder *adder, uint64_t nr);

/*
 * The loops: @k is the counter, a constant 0 or a running number. Unrolled by
 * hand, eight adds a turn: not every compiler unrolls every kind.
 */
#define LOOP(name, counter, setup, body)                                       \
	static __attribute__((noinline)) void name(struct adder *adder,        \
						   uint64_t nr)                \
	{                                                                      \
		setup;                                                         \
		for (uint64_t i = 0; i < nr; i += 8) {                         \
			ADD(0, counter, body)                                  \
			ADD(1, counter, body)                                  \
			ADD(2, counter, body)                                  \
			ADD(3, counter, body)                                  \
			ADD(4, counter, body)                                  \
			ADD(5, counter, body)                                  \
			ADD(6, counter, body)                                  \
			ADD(7, counter, body)                                  \
		}                                                              \
	}
#define ADD(j, counter, body)                                                  \
	{                                                                      \
		const uint64_t k = counter(j);                                 \
		body;                                                          \
	}
#define COUNTER_SAME(j)     0
#define COUNTER_ROTATING(j) ((i + j) % NR_COUNTERS)
#define LOOPS(name, setup, body)                                               \
	LOOP(name##_same, COUNTER_SAME, setup, body)                           \
	LOOP(name##_rotating, COUNTER_ROTATING, setup, body)

/* A plain add that no compiler drops, merges or keeps in a register. */
static inline void plain_add(uint64_t *cell)
{
#if defined(__x86_64__)
	__asm__ volatile("addq	$1, %0" : "+m"(*cell) : : "cc");
#else
	__atomic_store_n(cell, __atomic_load_n(cell, __ATOMIC_RELAXED) + 1,
			 __ATOMIC_RELAXED);
#endif
}

static inline void locked_add(uint64_t *cell)
{
	__atomic_fetch_add(cell, 1, __ATOMIC_RELAXED);
}

#define UNIT_SHIFT 18

static inline uint64_t *bare_cell(const struct adder *adder, unsigned cpu,
				  uint64_t k)
{
	return (uint64_t *)(void *)(adder->units +
				    ((size_t)cpu << UNIT_SHIFT)) +
	       k;
}

LOOPS(tls, char *base = adder->tls;
      sp_percpu_t off = adder->off,
      plain_add((uint64_t *)(void *)(base + (off + 8 * k))))
LOOPS(lane, const struct sp_lane lane = adder->lane;
      sp_percpu_t off = adder->off, sp_lane_add(&lane, off + 8 * k, 1))
LOOPS(lane_pair, const struct sp_lane lane = adder->lane;
      sp_percpu_t off = adder->off,
      sp_lane_pair_add(&lane, off + 16 * k, 1, 64))
LOOPS(percpu, const struct sp_percpu *percpu = adder->percpu;
      sp_percpu_t off = adder->off, sp_percpu_add(percpu, off + 8 * k, 1))
LOOPS(percpu_pair, const struct sp_percpu *percpu = adder->percpu;
      sp_percpu_t off = adder->off, sp_pair_add(percpu, off + 16 * k, 1, 64))
LOOPS(lock, uint64_t *p = tls, locked_add(p + k))
LOOPS(getcpu_lock, (void)0,
      locked_add(bare_cell(adder, (unsigned)sched_getcpu() % adder->nr_cpus,
			   k)))
LOOPS(mutex, uint64_t *p = tls, pthread_mutex_lock(&adder->mutex);
      plain_add(p + k); pthread_mutex_unlock(&adder->mutex))
LOOPS(shared_lock, uint64_t *p = adder->shared, locked_add(p + k))
LOOPS(shared_mutex, uint64_t *p = adder->shared,
      pthread_mutex_lock(adder->shared_mutex);
      plain_add(p + k); pthread_mutex_unlock(adder->shared_mutex))

#if defined(SP_PERCPU_FAST_X86)

/* clang-format off */
#define BARE(address)							\
	__asm__ volatile(						\
		".pushsection __rseq_cs, \"aw\"\n\t"			\
		".balign 32\n"						\
		"3:\n\t"						\
		".long	0, 0\n\t"					\
		".quad	1f, 2f - 1f, 4f\n\t"				\
		".popsection\n\t"					\
		".pushsection __rseq_failure, \"ax\"\n\t"		\
		".byte	0x0f, 0xb9, 0x3d\n\t"				\
		".long	0x53053053\n"					\
		"4:\n\t"						\
		"jmp	0f\n\t"						\
		".popsection\n"						\
		"0:\n\t"						\
		"leaq	3b(%%rip), %%rax\n\t"				\
		"movq	%%rax, %%fs:8(%[area])\n"			\
		"1:\n\t"						\
		address							\
		"addq	$1, (%%rax,%[off])\n"				\
		"2:\n"							\
		:							\
		: [area] "r"(__rseq_offset), [base] "r"(base),		\
		  [off] "r"(off + 8 * k)				\
		: "rax", "memory", "cc")
/* clang-format on */

LOOPS(bare, const uintptr_t *base = adder->base;
      uint64_t off = 0, BARE("movslq	%%fs:4(%[area]), %%rax\n\t"
			     "movq	(%[base],%%rax,8), %%rax\n\t"))
LOOPS(bare_shift, const char *base = adder->units;
      uint64_t off = 0, BARE("movl	%%fs:4(%[area]), %%eax\n\t"
			     "shlq	$18, %%rax\n\t"
			     "addq	%[base], %%rax\n\t"))
#define BARE_LOOPS(name)                                                       \
	{                                                                      \
		name##_same, name##_rotating                                   \
	}

#elif defined(SP_PERCPU_FAST_ARM64)

static inline void bare_add(const struct adder *adder, uint64_t k)
{
	const char *area =
		(const char *)__builtin_thread_pointer() + __rseq_offset;
	int32_t cpu = __atomic_load_n((const int32_t *)(const void *)(area + 4),
				      __ATOMIC_RELAXED);

	__asm__ volatile(
		".arch_extension lse\n\t"
		"stadd	%[value], [%[cell]]"
		:
		: [value] "r"(1ull), [cell] "r"(adder->base[cpu] + 8 * k)
		: "memory");
}

LOOPS(bare, (void)0, bare_add(adder, k))
#define BARE_LOOPS(name)                                                       \
	{                                                                      \
		bare_same, bare_rotating                                       \
	}

#else
#define BARE_LOOPS(name)                                                       \
	{                                                                      \
		NULL, NULL                                                     \
	}
#endif

enum {
	SAME,
	ROTATING,
	NR_PATTERNS
};
static const char *const patterns[NR_PATTERNS] = {"same", "rotating"};

enum {
	IN_RSEQ = 1,
	IN_FALLBACK = 2,
	CONTENDED = 4,
	ALWAYS = 3
};

static const struct kind {
	const char *name;
	const char *peer;
	unsigned when;
	uint64_t nr; /* adds in one sample: a millisecond or two */
	loop_fn *loop[NR_PATTERNS];
} kinds[] = {
#define PLAIN(name)                                                            \
	{                                                                      \
		name##_same, name##_rotating                                   \
	}
	{"tls", "lane", ALWAYS, 3000000, PLAIN(tls)},
	{"lane", "tls", ALWAYS, 3000000, PLAIN(lane)},
	{"lane_pair", "lane", ALWAYS, 1000000, PLAIN(lane_pair)},
	{"bare", "tls", IN_RSEQ, 1000000, BARE_LOOPS(bare)},
	{"rseq", "bare", IN_RSEQ, 1000000, PLAIN(percpu)},
	{"rseq_pair", "rseq", IN_RSEQ, 500000, PLAIN(percpu_pair)},
#if defined(SP_PERCPU_FAST_X86)
	{"bare_shift", "bare", IN_RSEQ, 1000000, BARE_LOOPS(bare_shift)},
#endif
	{"fallback", "getcpu_lock", IN_FALLBACK, 100000, PLAIN(percpu)},
	{"lock", "rseq", ALWAYS, 200000, PLAIN(lock)},
	{"getcpu_lock", "rseq", ALWAYS, 100000, PLAIN(getcpu_lock)},
	{"mutex", "rseq", ALWAYS, 100000, PLAIN(mutex)},
	{"shared_lock", "rseq", ALWAYS | CONTENDED, 500000, PLAIN(shared_lock)},
	{"shared_mutex", "rseq", ALWAYS | CONTENDED, 200000,
	 PLAIN(shared_mutex)},
};

#define NR_KINDS (sizeof(kinds) / sizeof(kinds[0]))

struct add_bench {
	const struct sp_bench_opts *opts;
	struct sp_plane *plane;
	struct adder *adders;
	char *units;
	size_t units_bytes;
	uintptr_t *base;
	unsigned nr_cpus;
	bool wanted[NR_KINDS];
	struct sp_series series[NR_KINDS][NR_PATTERNS];
	pthread_mutex_t shared_mutex;
	uint64_t shared[NR_COUNTERS] __attribute__((aligned(128)));
	/* The sample that all threads take part in. */
	loop_fn *loop;
	uint64_t nr;
	pthread_barrier_t start, end;
	double *ns;          /* of each thread */
	unsigned nr_running; /* counts on from sample to sample */
	bool crowded;
};

struct thread {
	struct add_bench *bench;
	unsigned idx;
	pthread_t id;
};

/* A barrier wakes its threads one after the other; here they all run. */
static void start_together(struct add_bench *bench)
{
	unsigned want, nr = bench->opts->nr_threads;

	want = __atomic_add_fetch(&bench->nr_running, 1, __ATOMIC_ACQ_REL);
	want = (want + nr - 1) / nr * nr;
	while ((int)(__atomic_load_n(&bench->nr_running, __ATOMIC_ACQUIRE) -
		     want) < 0)
		if (bench->crowded)
			sched_yield();
}

/* The median of some parts: one that the machine took away does not count. */
static double time_loop(struct add_bench *bench, unsigned idx)
{
	struct adder *adder = &bench->adders[idx];
	const uint64_t nr = bench->nr / NR_PARTS / 8 * 8;
	double ns[NR_PARTS], t;

	set_tls(adder);
	bench->loop(adder, 1000);
	start_together(bench);
	for (unsigned i = 0; i < NR_PARTS; i++) {
		uint64_t start = sp_bench_ticks();
		unsigned at = i;

		bench->loop(adder, nr);
		t = sp_bench_ns(sp_bench_ticks() - start) / (double)nr;
		for (; at && ns[at - 1] > t; at--)
			ns[at] = ns[at - 1];
		ns[at] = t;
	}
	return ns[NR_PARTS / 2];
}

static void *other_thread(void *arg)
{
	struct thread *thread = arg;
	struct add_bench *bench = thread->bench;

	sp_bench_pin(thread->idx);
	for (;;) {
		pthread_barrier_wait(&bench->start);
		if (!bench->loop)
			return NULL;
		bench->ns[thread->idx] = time_loop(bench, thread->idx);
		pthread_barrier_wait(&bench->end);
	}
}

static double sample(struct add_bench *bench, loop_fn *loop, uint64_t nr)
{
	unsigned nr_threads = bench->opts->nr_threads;
	double sum = 0;

	bench->loop = loop;
	bench->nr = nr;
	pthread_barrier_wait(&bench->start);
	bench->ns[0] = time_loop(bench, 0);
	pthread_barrier_wait(&bench->end);
	for (unsigned t = 0; t < nr_threads; t++)
		sum += bench->ns[t];
	return sum / nr_threads;
}

static size_t find_kind(const char *name)
{
	size_t k = 0;

	while (k < NR_KINDS && strcmp(kinds[k].name, name))
		k++;
	return k;
}

/* Without rseq, what is compared with it is compared with the fallback. */
static size_t find_peer(const struct kind *kind)
{
	const char *peer = kind->peer;

	if (!strcmp(peer, "rseq") && sp_percpu_mode() == SP_PERCPU_FALLBACK)
		peer = "fallback";
	return find_kind(peer);
}

/* The kinds that this process can measure and that were asked for. */
static void select_kinds(struct add_bench *bench)
{
	const struct sp_bench_opts *opts = bench->opts;
	unsigned mode =
		sp_percpu_mode() == SP_PERCPU_RSEQ ? IN_RSEQ : IN_FALLBACK;

	for (size_t k = 0; k < NR_KINDS; k++)
		bench->wanted[k] =
			kinds[k].when & mode && kinds[k].loop[SAME] &&
			(opts->nr_threads > 1 ||
			 !(kinds[k].when & CONTENDED)) &&
			(!opts->only || !strcmp(opts->only, kinds[k].name));
	/* What is compared with needs its peer. */
	for (size_t k = 0; k < NR_KINDS; k++) {
		size_t peer = find_peer(&kinds[k]);

		if (bench->wanted[k] && kinds[peer].when & mode &&
		    kinds[peer].loop[SAME])
			bench->wanted[peer] = true;
	}
}

static void measure(struct add_bench *bench)
{
	for (unsigned r = 0; r < bench->opts->nr_rounds; r++)
		for (size_t i = 0; i < NR_KINDS * NR_PATTERNS; i++) {
			size_t k = r % 2 ? NR_KINDS - 1 - i % NR_KINDS
					 : i % NR_KINDS;
			size_t p = i / NR_KINDS;

			if (bench->wanted[k])
				sp_series_add(&bench->series[k][p],
					      sample(bench, kinds[k].loop[p],
						     kinds[k].nr));
		}
}

static void report(const struct add_bench *bench)
{
	char name[64];

	for (size_t k = 0; k < NR_KINDS; k++) {
		size_t peer = find_peer(&kinds[k]);

		if (!bench->wanted[k] ||
		    (bench->opts->only &&
		     strcmp(bench->opts->only, kinds[k].name)))
			continue;
		for (int p = 0; p < NR_PATTERNS; p++) {
			bool has_peer = bench->wanted[peer];

			snprintf(name, sizeof(name), "%s/%s", kinds[k].name,
				 patterns[p]);
			sp_bench_case(bench->opts, "add", name,
				      &bench->series[k][p],
				      has_peer ? kinds[peer].name : NULL,
				      &bench->series[peer][p]);
		}
	}
}

/* Measure the fallback in a process without rseq; it prints its own lines. */
static int run_fallback(const struct sp_bench_opts *opts)
{
	char rounds[16], threads[16];
	char *argv[] = {"statplane", "bench",
			"add",       "--only",
			"fallback",  "--rounds",
			rounds,      "--threads",
			threads,     opts->json ? "--json" : NULL,
			NULL};
	char **env;
	size_t nr = 0, at = 0;
	int status, r;
	pid_t pid;

	while (environ[nr])
		nr++;
	env = calloc(nr + 2, sizeof(*env));
	if (!env)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		if (strncmp(environ[i], "GLIBC_TUNABLES=", 15))
			env[at++] = environ[i];
	env[at] = NO_RSEQ;
	snprintf(rounds, sizeof(rounds), "%u", opts->nr_rounds);
	snprintf(threads, sizeof(threads), "%u", opts->nr_threads);
	fflush(stdout);
	r = -posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, env);
	free(env);
	if (r)
		return r;
	if (waitpid(pid, &status, 0) < 0)
		return -errno;
	return status ? -ECHILD : 0;
}

static void free_bench(struct add_bench *bench)
{
	for (size_t k = 0; k < NR_KINDS; k++)
		for (int p = 0; p < NR_PATTERNS; p++)
			sp_series_fini(&bench->series[k][p]);
	for (unsigned t = 0; bench->adders && t < bench->opts->nr_threads; t++)
		if (bench->adders[t].lane.plane)
			sp_lane_release(&bench->adders[t].lane);
	if (bench->units)
		munmap(bench->units, bench->units_bytes);
	free(bench->adders);
	free(bench->base);
	free(bench->ns);
	sp_plane_close(bench->plane);
}

static int make_units(struct add_bench *bench)
{
	char *units;

	bench->nr_cpus = (unsigned)sysconf(_SC_NPROCESSORS_CONF);
	bench->units_bytes = (size_t)bench->nr_cpus << UNIT_SHIFT;
	units = mmap(NULL, bench->units_bytes, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (units == MAP_FAILED)
		return -errno;
	bench->units = units;
	bench->base = calloc(bench->nr_cpus, sizeof(*bench->base));
	if (!bench->base)
		return -ENOMEM;
	for (unsigned c = 0; c < bench->nr_cpus; c++)
		bench->base[c] =
			(uintptr_t)units + ((uintptr_t)c << UNIT_SHIFT);
	return 0;
}

static int make_adders(struct add_bench *bench)
{
	const struct sp_plane_opts plane_opts = {
		.sz = sizeof(plane_opts),
		.program = "bench add",
	};
	unsigned nr = bench->opts->nr_threads;
	sp_percpu_t off;
	int r;

	r = sp_plane_create(&plane_opts, &bench->plane);
	if (!r)
		r = sp_percpu_alloc(bench->plane, 16 * NR_COUNTERS, 16, &off);
	if (r)
		return r;
	bench->adders = calloc(nr, sizeof(*bench->adders));
	bench->ns = calloc(nr, sizeof(*bench->ns));
	if (!bench->adders || !bench->ns)
		return -ENOMEM;
	for (unsigned t = 0; t < nr; t++) {
		bench->adders[t] = (struct adder){
			.percpu = sp_plane_percpu(bench->plane),
			.off = off,
			.shared_mutex = &bench->shared_mutex,
			.shared = bench->shared,
			.units = bench->units,
			.nr_cpus = bench->nr_cpus,
			.base = bench->base,
			.mutex = PTHREAD_MUTEX_INITIALIZER,
		};
		r = sp_lane_claim(bench->plane, &bench->adders[t].lane);
		if (r)
			return r;
	}
	return 0;
}

static int make_series(struct add_bench *bench)
{
	int r = 0;

	for (size_t k = 0; k < NR_KINDS && !r; k++)
		for (int p = 0; p < NR_PATTERNS && !r; p++)
			r = sp_series_init(&bench->series[k][p],
					   bench->opts->nr_rounds);
	return r;
}

static void *sleeper(void *arg)
{
	pthread_barrier_wait(arg);
	return NULL;
}

static void start_thread(pthread_t *id, void *(*fn)(void *), void *arg)
{
	int r = pthread_create(id, NULL, fn, arg);

	if (!r)
		return;
	/* Those that there are wait at a barrier for all: no way back. */
	fprintf(stderr, "statplane bench add: %s\n", strerror(r));
	exit(EXIT_FAILURE);
}

/* All rounds, with the other threads beside this one. */
static int run_threads(struct add_bench *bench)
{
	unsigned nr = bench->opts->nr_threads;
	struct thread *threads = calloc(nr, sizeof(*threads));
	pthread_barrier_t asleep;
	pthread_t sleeper_id;

	if (!threads)
		return -ENOMEM;
	pthread_barrier_init(&asleep, NULL, 2);
	pthread_barrier_init(&bench->start, NULL, nr);
	pthread_barrier_init(&bench->end, NULL, nr);
	start_thread(&sleeper_id, sleeper, &asleep);
	for (unsigned t = 1; t < nr; t++) {
		threads[t] = (struct thread){.bench = bench, .idx = t};
		start_thread(&threads[t].id, other_thread, &threads[t]);
	}
	sp_bench_pin(0);
	measure(bench);
	bench->loop = NULL;
	if (nr > 1)
		pthread_barrier_wait(&bench->start);
	for (unsigned t = 1; t < nr; t++)
		pthread_join(threads[t].id, NULL);
	pthread_barrier_wait(&asleep);
	pthread_join(sleeper_id, NULL);
	pthread_barrier_destroy(&asleep);
	pthread_barrier_destroy(&bench->start);
	pthread_barrier_destroy(&bench->end);
	free(threads);
	return 0;
}

static void begin(const struct add_bench *bench)
{
	char title[64];

	snprintf(title, sizeof(title), "One increment, %u thread%s",
		 bench->opts->nr_threads,
		 bench->opts->nr_threads > 1 ? "s" : "");
	sp_bench_begin(bench->opts, title);
	if (bench->crowded)
		sp_bench_note(bench->opts, "(more threads than CPUs)");
}

int sp_bench_add(const struct sp_bench_opts *opts)
{
	static struct add_bench bench;
	bool fallback = !opts->only || !strcmp(opts->only, "fallback");
	bool here = sp_percpu_mode() == SP_PERCPU_FALLBACK;
	bool child = fallback && here && opts->only;
	int r;

	bench.opts = opts;
	bench.crowded = opts->nr_threads > sysconf(_SC_NPROCESSORS_ONLN);
	pthread_mutex_init(&bench.shared_mutex, NULL);
	if (opts->only && find_kind(opts->only) == NR_KINDS) {
		fprintf(stderr, "statplane bench add: no kind '%s'\n",
			opts->only);
		return 2;
	}
	select_kinds(&bench);
	r = make_units(&bench);
	if (!r)
		r = make_adders(&bench);
	if (!r)
		r = make_series(&bench);
	if (r)
		goto out;
	if (!child)
		begin(&bench);
	r = run_threads(&bench);
	if (r)
		goto out;
	report(&bench);
	if (fallback && !here)
		r = run_fallback(opts);
	else if (here && !child)
		sp_bench_note(opts, "No rseq in this process: rseq and bare "
				    "are left out.");
out:
	if (r)
		fprintf(stderr, "statplane bench add: %s\n", strerror(-r));
	free_bench(&bench);
	return r ? EXIT_FAILURE : EXIT_SUCCESS;
}
