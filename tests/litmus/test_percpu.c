/* SPDX-License-Identifier: MIT */
/*
 * Outcomes that must never be seen while other threads add.
 *
 * usage: test_percpu [MILLISECONDS for each]
 *
 *   torn pair    each add is one packet of three octets. A reader that ever sees
 *                octets that are not three times the packets saw half an add.
 *   lost add     one thread adds, then sets a flag (release); another sees the
 *                flag (acquire) and must find the add in the sum, also when it
 *                was the first one of its CPU or the shared unit.
 *   backwards    a sum that is read again is not smaller.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <statplane/percpu.h>

static struct sp_plane *plane;
static const struct sp_percpu *percpu;
static sp_percpu_t off;
static bool stop;
static unsigned run_ms = 500;

static void die(const char *what, int error)
{
	fprintf(stderr, "%s: %s\n", what, strerror(error));
	exit(1);
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void open_plane(void)
{
	const struct sp_plane_opts opts = {
		.sz = sizeof(opts),
		.nr_lanes = 4,
		.unit_bytes = 1u << 20,
	};
	int r = sp_plane_create(&opts, &plane);

	if (r)
		die("sp_plane_create", -r);
	percpu = sp_plane_percpu(plane);
	r = sp_percpu_alloc(plane, 64, 16, &off);
	if (r)
		die("sp_percpu_alloc", -r);
	__atomic_store_n(&stop, false, __ATOMIC_RELAXED);
}

static void start(pthread_t *thread, void *(*fn)(void *))
{
	int r = pthread_create(thread, NULL, fn, NULL);

	if (r)
		die("pthread_create", r);
}

static void *add_pairs(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		for (int i = 0; i < 100; i++)
			sp_pair_add(percpu, off, 1, 3);
	return arg;
}

static void *add_lane_pairs(void *arg)
{
	struct sp_lane lane;
	int r = sp_lane_claim(plane, &lane);

	if (r)
		die("sp_lane_claim", -r);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		for (int i = 0; i < 100; i++)
			sp_lane_pair_add(&lane, off, 1, 3);
	sp_lane_release(&lane);
	return arg;
}

static void *add_slow_pairs(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		for (int i = 0; i < 100; i++)
			sp_pair_add_slow(percpu, off, 1, 3);
	return arg;
}

static bool no_torn_pair(const char *name, void *(*writer)(void *))
{
	uint64_t end, nr_reads = 0, nr_new = 0, nr_torn = 0, last = 0;
	pthread_t thread;

	open_plane();
	start(&thread, writer);
	for (end = now_ms() + run_ms; now_ms() < end;)
		for (int i = 0; i < 1000; i++) {
			struct sp_pair pair = sp_pair_read(plane, off);

			nr_reads++;
			nr_new += pair.packets != last;
			nr_torn += pair.bytes != 3 * pair.packets;
			nr_torn += pair.packets < last;
			last = pair.packets;
		}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	sp_plane_close(plane);
	printf("%s: %llu reads of %llu values, %llu torn\n", name,
	       (unsigned long long)nr_reads, (unsigned long long)nr_new,
	       (unsigned long long)nr_torn);
	return !nr_torn && nr_new;
}

/* The message: what has been added up to now. */
static uint64_t added;

static void *add_and_tell(void *arg)
{
	uint64_t nr = 0;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		sp_percpu_add(percpu, off, 1);
		__atomic_store_n(&added, ++nr, __ATOMIC_RELEASE);
		if (nr == 200) /* soon another plane: first adds count most */
			break;
	}
	return arg;
}

static bool no_lost_add(void)
{
	uint64_t end = now_ms() + run_ms, nr_reads = 0, nr_lost = 0;
	pthread_t thread;

	while (now_ms() < end) {
		uint64_t told = 0;

		open_plane();
		__atomic_store_n(&added, 0, __ATOMIC_RELAXED);
		start(&thread, add_and_tell);
		while (told < 200) {
			told = __atomic_load_n(&added, __ATOMIC_ACQUIRE);
			nr_lost += sp_percpu_read(plane, off) < told;
			nr_reads++;
		}
		pthread_join(thread, NULL);
		nr_lost += sp_percpu_read(plane, off) != 200;
		sp_plane_close(plane);
	}
	printf("told and read: %llu reads, %llu lost\n",
	       (unsigned long long)nr_reads, (unsigned long long)nr_lost);
	return !nr_lost;
}

int main(int argc, char **argv)
{
	bool ok = true;

	if (argc > 1)
		run_ms = (unsigned)atoi(argv[1]);
	printf("%s mode\n",
	       sp_percpu_mode() == SP_PERCPU_RSEQ ? "rseq" : "fallback");
	ok &= no_torn_pair("pairs of this CPU", add_pairs);
	ok &= no_torn_pair("pairs of a lane", add_lane_pairs);
	ok &= no_torn_pair("pairs by the slow path", add_slow_pairs);
	ok &= no_lost_add();
	return !ok;
}
