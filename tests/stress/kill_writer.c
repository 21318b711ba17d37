// SPDX-License-Identifier: MIT
/*
 * A reader outlives its writer, however the writer dies.
 *
 *	kill_writer [ROUNDS [SEED]]
 *
 * Each round a child makes a plane, adds from several threads and makes and
 * removes objects; it is killed with SIGKILL after a random time, sometimes
 * while it is still creating the plane. Meanwhile, and afterwards, the parent
 * reads. Then
 *
 *   - whatever has the name can be attached: no half-made plane is ever seen;
 *   - no total of an object that stays goes backwards;
 *   - an item that is always added to after another never exceeds it;
 *   - no entry of the directory is torn, and few are given up;
 *   - the plane is abandoned as soon as the writer is dead, and not before.
 *
 * No round may hang: alarm(2) ends the program.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <statplane/percpu.h>
#include <statplane/plane.h>
#include <statplane/reader.h>

#include "plane/plane.h"

#define NR_CELLS      16 /* of an object that stays */
#define NR_LANES      2
#define WATCHDOG_S    60
#define CHURNED_CELLS 100
#define NR_CHURNED    8 /* objects that come and go at a time */

/* The objects that stay: added to by a lane each, and by this CPU. */
static const char *const kept[] = {"lane0", "lane1", "cpu"};
#define NR_KEPT (sizeof(kept) / sizeof(*kept))

static char path[64];

/* The name's own, and what a killed creator may leave: at most one more. */
static void remove_files(void)
{
	char left[96];

	unlink(path);
	snprintf(left, sizeof(left), SP_PLANE_DIR "/.%s.statplane",
		 path + strlen(SP_PLANE_DIR) + 1);
	unlink(left);
}

static void check(int truth, const char *what, long long a, long long b)
{
	if (truth)
		return;
	fprintf(stderr, "kill_writer: %s (%lld, %lld)\n", what, a, b);
	remove_files();
	exit(1);
}

/* --- the writer --------------------------------------------------------- */

static struct sp_plane *plane;
static sp_percpu_t kept_off[NR_KEPT];

/* Cell 1 never gets ahead of cell 0, and so on. */
static void *add_by_lane(void *arg)
{
	uintptr_t idx = (uintptr_t)arg;
	struct sp_lane lane;

	if (sp_lane_claim(plane, &lane))
		_exit(2);
	for (;;)
		for (unsigned i = 0; i < NR_CELLS; i++)
			sp_lane_add(&lane, kept_off[idx] + 8 * i, 1);
	return NULL;
}

static void *add_by_cpu(void *arg)
{
	const struct sp_percpu *percpu = sp_plane_percpu(plane);
	sp_percpu_t off = kept_off[NR_KEPT - 1];

	for (;;)
		for (unsigned i = 0; i < NR_CELLS; i++)
			sp_percpu_add(percpu, off + 8 * i, 1);
	return NULL;
}

/* Object number @n says so in every field that is its own. */
static void describe(struct sp_object *object, uint64_t n)
{
	memset(object, 0, sizeof(*object));
	object->type = SP_OBJECT_NETNS;
	object->parent = n;
	object->schema = n;
	for (int i = 0; i < SP_OBJECT_NR_ATTRS; i++)
		object->attr[i] = n;
	snprintf(object->name, sizeof(object->name), "%020llu-%020llu",
		 (unsigned long long)n, (unsigned long long)n);
}

static void churn(void)
{
	uint64_t ids[NR_CHURNED] = {0};
	sp_percpu_t offs[NR_CHURNED] = {0};

	for (uint64_t n = 1;; n++) {
		unsigned i = n % NR_CHURNED;
		struct sp_object object;

		if (ids[i]) {
			sp_dir_remove(plane, ids[i]);
			sp_percpu_free(plane, offs[i], CHURNED_CELLS * 8);
		}
		describe(&object, n);
		if (sp_percpu_alloc(plane, CHURNED_CELLS * 8, 8, &offs[i]))
			_exit(3);
		object.cells_off = offs[i];
		object.nr_cells = CHURNED_CELLS;
		if (sp_dir_add(plane, &object, &ids[i]))
			_exit(4);
		sp_percpu_add(sp_plane_percpu(plane), offs[i], n);
		sp_plane_heartbeat(plane);
	}
}

static void start(void *(*body)(void *), uintptr_t arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, body, (void *)arg))
		_exit(5);
}

static void keep_object(unsigned idx)
{
	struct sp_object object = {.type = SP_OBJECT_MIB};
	uint64_t id;

	if (sp_percpu_alloc(plane, NR_CELLS * 8, 8, &kept_off[idx]))
		_exit(6);
	strcpy(object.name, kept[idx]);
	object.cells_off = kept_off[idx];
	object.nr_cells = NR_CELLS;
	if (sp_dir_add(plane, &object, &id))
		_exit(7);
}

static void make_plane(void)
{
	struct sp_plane_opts opts = {
		.sz = sizeof(opts),
		.path = path,
		.nr_lanes = NR_LANES,
		.nr_objects = 64,
		.unit_bytes = 1u << 20,
		.blob_bytes = 4096,
	};
	int err = sp_plane_create(&opts, &plane);

	if (err) {
		fprintf(stderr, "kill_writer: create: %s\n", strerror(-err));
		_exit(8);
	}
	for (unsigned i = 0; i < NR_KEPT; i++)
		keep_object(i);
}

static void write_until_killed(void)
{
	/* Not longer than the test itself, either. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	make_plane();
	for (uintptr_t i = 0; i < NR_LANES; i++)
		start(add_by_lane, i);
	start(add_by_cpu, 0);
	churn();
}

/* --- the reader --------------------------------------------------------- */

struct view {
	struct sp_reader *reader;
	uint64_t last[NR_KEPT][NR_CELLS];
};

static struct {
	unsigned long nr_reads, nr_unstable, nr_stale, nr_early, nr_totals;
} seen;

static void read_kept(struct view *view, unsigned idx,
		      const struct sp_object *object)
{
	uint64_t first[NR_CELLS], sum[NR_CELLS];
	int err = sp_reader_fold(view->reader, object, 0, NR_CELLS, first);

	/* What was added last is loaded first. */
	if (!err)
		err = sp_reader_fold(view->reader, object, 0, NR_CELLS, sum);
	check(!err, "a kept object cannot be read", idx, err);
	for (unsigned i = 0; i < NR_CELLS; i++) {
		check(first[i] >= view->last[idx][i] && sum[i] >= first[i],
		      "a total went backwards", (long long)first[i],
		      (long long)view->last[idx][i]);
		if (i)
			check(sum[i - 1] >= first[i],
			      "an item got ahead of the one before",
			      (long long)sum[i - 1], (long long)first[i]);
		view->last[idx][i] = sum[i];
		seen.nr_totals++;
	}
}

static void read_churned(struct view *view, const struct sp_object *object)
{
	struct sp_object expected;
	static uint64_t sum[CHURNED_CELLS];
	int err;

	describe(&expected, object->parent);
	check(object->type == expected.type &&
		      object->schema == expected.schema &&
		      !memcmp(object->attr, expected.attr,
			      sizeof(expected.attr)) &&
		      !strcmp(object->name, expected.name),
	      "an entry is torn", (long long)object->parent,
	      (long long)object->attr[0]);
	err = sp_reader_fold(view->reader, object, 0, CHURNED_CELLS, sum);
	check(!err || err == -ESTALE, "a fold failed", err, 0);
	seen.nr_stale += err != 0;
}

static void read_all(struct view *view)
{
	struct sp_object object;
	uint64_t cursor = 0;
	int err;

	while ((err = sp_reader_next(view->reader, &cursor, &object)) !=
	       -ENOENT) {
		check(!err || err == -EAGAIN, "the walk failed", err, 0);
		if (err)
			continue;
		if (object.type != SP_OBJECT_MIB) {
			read_churned(view, &object);
			continue;
		}
		for (unsigned i = 0; i < NR_KEPT; i++)
			if (!strcmp(object.name, kept[i]))
				read_kept(view, i, &object);
	}
	seen.nr_reads++;
}

static uint64_t count_unstable(const struct view *view)
{
	struct sp_plane_info info;

	sp_reader_info(view->reader, &info);
	return info.nr_unstable;
}

/* Attach to whatever has the name. Return: its writer's pid, 0 for none. */
static pid_t attach(struct view *view)
{
	struct sp_plane_info info;
	int err = sp_reader_attach(path, &view->reader);

	if (err == -ENOENT)
		return 0;
	check(!err, "the name means a half-made plane", err, 0);
	sp_reader_info(view->reader, &info);
	return (pid_t)info.pid;
}

static void sleep_us(long us)
{
	struct timespec time = {0, us * 1000};

	nanosleep(&time, NULL);
}

/* Wait until @child has its plane up. false: it was killed too early. */
static bool attach_to(struct view *view, pid_t child, int patience)
{
	for (int i = 0; i < patience; i++) {
		pid_t pid = attach(view);

		if (pid == child)
			return true;
		if (pid)
			sp_reader_detach(view->reader);
		sleep_us(200);
	}
	return false;
}

static void kill_and_wait(pid_t child)
{
	int status;

	kill(child, SIGKILL);
	check(waitpid(child, &status, 0) == child, "waitpid", errno, 0);
	check(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
	      "the writer ended by itself",
	      WIFEXITED(status) ? WEXITSTATUS(status) : status, 0);
}

static void play_round(void)
{
	struct view view = {0};
	bool early = rand() % 8 == 0;
	int nr_reads = rand() % 200;
	pid_t child;

	alarm(WATCHDOG_S);
	child = fork();
	check(child >= 0, "fork", errno, 0);
	if (!child)
		write_until_killed();
	if (early)
		sleep_us(rand() % 400);
	if (!attach_to(&view, child, early ? 1 : 1000000)) {
		kill_and_wait(child);
		seen.nr_early++;
		return;
	}
	for (int i = 0; i < nr_reads; i++)
		read_all(&view);
	sleep_us(rand() % 5000);
	check(sp_reader_state(view.reader) == SP_PLANE_LIVE,
	      "not live before the kill", sp_reader_state(view.reader), 0);
	kill_and_wait(child);
	check(sp_reader_state(view.reader) == SP_PLANE_ABANDONED,
	      "not abandoned after the kill", sp_reader_state(view.reader), 0);
	for (int i = 0; i < 3; i++) {
		uint64_t before = count_unstable(&view);

		read_all(&view);
		/* One lock, one entry in the middle of a change. */
		check(count_unstable(&view) - before <= 1,
		      "too many entries are unstable",
		      (long long)count_unstable(&view), (long long)before);
	}
	seen.nr_unstable += count_unstable(&view);
	sp_reader_detach(view.reader);
}

int main(int argc, char **argv)
{
	int nr_rounds = argc > 1 ? atoi(argv[1]) : 1000;
	unsigned seed = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10)
				 : (unsigned)time(NULL);

	snprintf(path, sizeof(path), SP_PLANE_DIR "/" SP_PLANE_PREFIX "kill-%d",
		 (int)getpid());
	srand(seed);
	for (int i = 0; i < nr_rounds; i++)
		play_round();
	remove_files();
	printf("%d kills (seed %u), %lu before the plane was up; %lu walks, "
	       "%lu totals, %lu void, %lu unstable\n",
	       nr_rounds, seed, seen.nr_early, seen.nr_reads, seen.nr_totals,
	       seen.nr_stale, seen.nr_unstable);
	return 0;
}
