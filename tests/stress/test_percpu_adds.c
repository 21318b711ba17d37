/* SPDX-License-Identifier: MIT */
/*
 * Adds from eight threads that are pushed from CPU to CPU and interrupted by
 * signals whose handler adds to the same cells; every total is exact.
 *
 * usage: test_percpu_adds rseq|fallback [ROUNDS]
 *
 * The argument is the mode that is to be tested: 77 if this process has another
 * one. The same source is built three times:
 *
 *   as it is      the library's add, as programs compile it
 *   wide          SP_PERCPU_STRESS_NOPS: hundreds of instructions inside the
 *                 sequence, so that aborts are many; there must be some
 *   broken        SP_PERCPU_STRESS_BROKEN too: the sequence is left out. Some
 *                 total must come out wrong within the rounds, or this test
 *                 could not see a mistake. (Pairs do at once; a single add is
 *                 one instruction, wrong only if two CPUs meet in it.)
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <statplane/percpu.h>

#if defined(__has_include)
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#define HAVE_RSEQ 1
#endif
#endif

#define NR_THREADS 8
#define ROUND_MS   300
#define EXIT_SKIP  77

#ifdef SP_PERCPU_STRESS_NOPS
uint64_t sp_percpu_stress_aborts;
#endif

/* Cells of one object: the neighbours of the counted ones stay 0. */
enum {
	ZERO_0,
	COUNT,
	ZERO_1,
	ZERO_2,
	PAIR,
	PAIR_BYTES,
	LANE,
	ZERO_3,
	NR_CELLS
};

struct counts {
	uint64_t adds;
	uint64_t pairs;
	uint64_t lane_adds;
};

struct worker {
	pthread_t thread;
	bool unregister; /* runs without an rseq area */
	bool hammer;     /* the library's sequence only, back to back: an add
			  * of another thread that goes to the wrong CPU's
			  * cell then meets one of these */
	struct counts done;
};

static struct sp_plane *plane;
static const struct sp_percpu *percpu;
static sp_percpu_t off;
static uint64_t nr_signals;
static bool stop;
static unsigned nr_wrong_adds, nr_wrong_pairs; /* rounds */

static void die(const char *what, int error)
{
	fprintf(stderr, "%s: %s\n", what, strerror(error));
	exit(1);
}

static void on_signal(int sig)
{
	(void)sig;
	sp_percpu_add(percpu, off + 8 * COUNT, 1);
	sp_pair_add(percpu, off + 8 * PAIR, 1, 3);
	__atomic_fetch_add(&nr_signals, 1, __ATOMIC_RELAXED);
}

/* From here on this thread shows CPU -1, as under a C library without rseq. */
static void unregister_rseq(void)
{
#if defined(HAVE_RSEQ) && defined(RSEQ_SIG)
	char *area = (char *)__builtin_thread_pointer() + __rseq_offset;

	if (__rseq_size && syscall(SYS_rseq, area, 32, 1, RSEQ_SIG))
		die("rseq", errno);
#endif
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	struct sp_lane lane;
	int r;

	if (worker->unregister)
		unregister_rseq();
	r = sp_lane_claim(plane, &lane);
	if (r)
		die("sp_lane_claim", -r);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		for (int i = 0; worker->hammer && i < 1000; i++)
			sp_percpu_add_slow(percpu, off + 8 * COUNT, 1);
		if (worker->hammer) {
			worker->done.adds += 1000;
			continue;
		}
		for (int i = 0; i < 100; i++) {
			sp_percpu_add(percpu, off + 8 * COUNT, 1);
			sp_pair_add(percpu, off + 8 * PAIR, 1, 3);
			sp_lane_add(&lane, off + 8 * LANE, 1);
		}
		worker->done.adds += 100;
		worker->done.pairs += 100;
		worker->done.lane_adds += 100;
	}
	sp_lane_release(&lane);
	return NULL;
}

/* Push each thread to the other CPUs in turn, with a signal in its back. */
static void flap(struct worker *workers, const cpu_set_t *allowed)
{
	struct timespec now, end;
	int cpu = 0;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_nsec += ROUND_MS * 1000000l;
	end.tv_sec += end.tv_nsec / 1000000000;
	end.tv_nsec %= 1000000000;
	do {
		for (int t = 0; t < NR_THREADS; t++) {
			cpu_set_t set;

			do
				cpu = (cpu + 1) % CPU_SETSIZE;
			while (!CPU_ISSET(cpu, allowed));
			CPU_ZERO(&set);
			CPU_SET(cpu, &set);
			pthread_setaffinity_np(workers[t].thread, sizeof(set),
					       &set);
			pthread_kill(workers[t].thread, SIGUSR1);
		}
		usleep(50);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < end.tv_sec ||
		 (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
}

static bool equal(const char *what, uint64_t got, uint64_t want)
{
	if (got != want)
		printf("%s: got %llu, want %llu\n", what,
		       (unsigned long long)got, (unsigned long long)want);
	return got == want;
}

static bool check(const struct counts *want)
{
	uint64_t sum[NR_CELLS];
	struct sp_pair pair = sp_pair_read(plane, off + 8 * PAIR);
	bool adds, pairs, ok;

	sp_percpu_fold(plane, off, NR_CELLS, sum);
	adds = equal("adds", sum[COUNT], want->adds);
	pairs = equal("packets", pair.packets, want->pairs);
	pairs &= equal("bytes", pair.bytes, 3 * want->pairs);
	nr_wrong_adds += !adds;
	nr_wrong_pairs += !pairs;
	ok = adds && pairs;
	ok &= equal("read", sp_percpu_read(plane, off + 8 * COUNT), sum[COUNT]);
	ok &= equal("lanes", sum[LANE], want->lane_adds);
	ok &= equal("neighbours",
		    sum[ZERO_0] | sum[ZERO_1] | sum[ZERO_2] | sum[ZERO_3], 0);
	return ok;
}

/* A plane, a while of adds, and whether all of them are there. */
static bool run_round(const cpu_set_t *allowed, bool mixed)
{
	const struct sp_plane_opts opts = {
		.sz = sizeof(opts),
		.nr_lanes = NR_THREADS,
		.unit_bytes = 1u << 20,
	};
	struct worker workers[NR_THREADS] = {0};
	struct sp_percpu_stats stats;
	struct counts want = {0};
	bool ok;
	int r;

	r = sp_plane_create(&opts, &plane);
	if (r)
		die("sp_plane_create", -r);
	percpu = sp_plane_percpu(plane);
	r = sp_percpu_alloc(plane, NR_CELLS * 8, 16, &off);
	if (r)
		die("sp_percpu_alloc", -r);
	nr_signals = 0;
	stop = false;
	for (int t = 0; t < NR_THREADS; t++) {
		workers[t].unregister = mixed && t % 2;
		workers[t].hammer = t % 4 == 0;
		r = pthread_create(&workers[t].thread, NULL, work, &workers[t]);
		if (r)
			die("pthread_create", r);
	}
	flap(workers, allowed);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int t = 0; t < NR_THREADS; t++) {
		pthread_join(workers[t].thread, NULL);
		want.adds += workers[t].done.adds;
		want.pairs += workers[t].done.pairs;
		want.lane_adds += workers[t].done.lane_adds;
	}
	want.adds += nr_signals;
	want.pairs += nr_signals;
	ok = check(&want);
	sp_percpu_read_stats(plane, &stats);
	printf("%s%llu adds, %llu in %llu signal handlers, %llu shared: %s\n",
	       mixed ? "mixed threads: " : "",
	       (unsigned long long)(want.adds + want.pairs + want.lane_adds),
	       (unsigned long long)(2 * nr_signals),
	       (unsigned long long)nr_signals,
	       (unsigned long long)stats.nr_overflow, ok ? "exact" : "WRONG");
	sp_plane_close(plane);
	return ok;
}

static int verdict(unsigned nr_rounds, unsigned nr_wrong)
{
#if defined(SP_PERCPU_STRESS_BROKEN)
	printf("without the sequence: adds wrong in %u, pairs wrong in %u of "
	       "%u rounds\n",
	       nr_wrong_adds, nr_wrong_pairs, nr_rounds);
	return !nr_wrong;
#elif defined(SP_PERCPU_STRESS_NOPS)
	printf("%llu aborts in %u rounds\n",
	       (unsigned long long)sp_percpu_stress_aborts, nr_rounds);
	return nr_wrong || !sp_percpu_stress_aborts;
#else
	(void)nr_rounds;
	return nr_wrong != 0;
#endif
}

/* Nothing to test here: why, or NULL. */
static const char *reason_to_skip(const char *mode, const cpu_set_t *allowed)
{
	enum sp_percpu_mode want =
		strcmp(mode, "rseq") ? SP_PERCPU_FALLBACK : SP_PERCPU_RSEQ;

	if (sp_percpu_mode() != want)
		return "this process is in the other mode";
#if defined(SP_PERCPU_STRESS_NOPS) && !defined(SP_PERCPU_FAST_X86)
	return "no restartable sequence on this machine";
#endif
	if (CPU_COUNT(allowed) < 2)
		return "one CPU, nowhere to move to";
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct sigaction action = {.sa_handler = on_signal,
						.sa_flags = SA_RESTART};
	static cpu_set_t allowed;
	unsigned nr_rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 4;
	unsigned nr_wrong = 0, i;
	const char *reason;

	if (argc < 2)
		return 2;
	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		die("sched_getaffinity", errno);
	reason = reason_to_skip(argv[1], &allowed);
	if (reason) {
		printf("skipped: %s\n", reason);
		return EXIT_SKIP;
	}
	sigaction(SIGUSR1, &action, NULL);
	for (i = 0; i < nr_rounds; i++) {
		nr_wrong += !run_round(&allowed, i % 4 == 3);
#ifdef SP_PERCPU_STRESS_BROKEN
		if (nr_wrong)
			break;
#endif
	}
	return verdict(i < nr_rounds ? i + 1 : i, nr_wrong);
}
