// SPDX-License-Identifier: MIT
/*
 * Tables under fire: four threads insert and remove, the table doubles from one
 * bucket on, and all the while it is walked.
 *
 *	test_table_churn here|there|killed [WALKS]
 *
 *	here    by a thread of the same process
 *	there   by another process, through a reader
 *	killed  by another process, whose writer is killed now and then
 *
 * Every walk must return each permanent entry exactly once, every other at most
 * once, and no entry that is half of one and half of another. After a kill what
 * is missing must be accounted for by buckets that were counted as unstable.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <statplane/plane.h>
#include <statplane/reader.h>
#include <statplane/table.h>

#define NR_THREADS   4
#define NR_PERMANENT 300
#define NR_OWN       4000 /* keys of each thread */
#define NR_KEYS      (NR_PERMANENT + NR_THREADS * NR_OWN)
#define NR_ROUNDS    25
#define NR_KILLS     40

struct row {
	struct sp_table_head head;
	uint64_t key[2];
	uint64_t number;
	uint64_t inverse;
	/* Of permanent rows: changed together all the time. */
	uint64_t left;
	uint64_t right;
};

static struct sp_plane *plane;
static struct sp_table *table;
static int stop;
static uint64_t *complete; /* shared: id of a table with all permanent rows */

#define REQUIRE(truth)                                                         \
	do {                                                                   \
		if (!(truth)) {                                                \
			fprintf(stderr, "%s:%d: %s (errno %d)\n", __FILE__,    \
				__LINE__, #truth, errno);                      \
			exit(1);                                               \
		}                                                              \
	} while (0)

static struct row *find(uint64_t number)
{
	uint64_t key[2] = {number, number * 3};

	return (struct row *)sp_table_lookup(table, key,
					     sp_table_hash(table, key));
}

static void insert(uint64_t number)
{
	uint64_t key[2] = {number, number * 3};
	uint64_t payload[4] = {number, ~number, number, number};
	struct sp_table_head *entry;

	int err;

	while ((err = sp_table_insert(table, key, sp_table_hash(table, key),
				      payload, &entry)) == -ENOSPC) {
		/* All that was removed waits for a thread that sleeps. */
		sp_table_quiescent(table);
		sched_yield();
	}
	REQUIRE(!err);
}

static void make_table(void)
{
	struct sp_table_opts opts = {
		.sz = sizeof(opts),
		.key_bytes = 16,
		.entry_bytes = sizeof(struct row),
		.max_entries = NR_KEYS,
		.min_buckets = 1,
	};

	REQUIRE(!sp_table_create(plane, "churn", &opts, &table));
	for (uint64_t i = 0; i < NR_PERMANENT; i++)
		insert(i);
	__atomic_store_n(complete, sp_table_id(table), __ATOMIC_RELEASE);
}

/* Both halves of a permanent row change, always by one. */
static void change(uint64_t number)
{
	struct row *row = find(number);

	REQUIRE(row);
	sp_table_change_begin(&row->head);
	sp_table_store(&row->left, row->left + 1);
	sp_table_store(&row->right, row->right + 1);
	sp_table_change_end(&row->head);
}

static void *churn(void *arg)
{
	uint64_t me = (uintptr_t)arg, first = NR_PERMANENT + me * NR_OWN;
	uint64_t random = me + 1;
	static _Thread_local uint8_t is_in[NR_OWN];
	unsigned step = 0;

	memset(is_in, 0, sizeof(is_in));
	sp_table_thread_register();
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		uint64_t own;
		struct row *row;

		random = random * 6364136223846793005ull +
			 1442695040888963407ull;
		own = (random >> 33) % NR_OWN;
		row = find(first + own);
		REQUIRE((row != NULL) == is_in[own]);
		if (!row) {
			insert(first + own);
			is_in[own] = 1;
		} else if (step > 2 * NR_OWN) {
			REQUIRE(!sp_table_remove(table, &row->head));
			is_in[own] = 0;
		}
		if (step % 8 == 0)
			change((step / 8 * NR_THREADS + me) % NR_PERMANENT /
				       NR_THREADS * NR_THREADS +
			       me);
		if (++step % 16 == 0)
			sp_table_quiescent(table);
	}
	sp_table_thread_unregister();
	return NULL;
}

static pthread_t threads[NR_THREADS];

static void start(void)
{
	__atomic_store_n(&stop, 0, __ATOMIC_RELAXED);
	for (uintptr_t i = 0; i < NR_THREADS; i++)
		REQUIRE(!pthread_create(&threads[i], NULL, churn, (void *)i));
}

static void finish(void)
{
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* --- walks ---------------------------------------------------------------- */

static uint8_t seen[NR_KEYS];

static void see(const struct row *row)
{
	REQUIRE(row->number < NR_KEYS);
	REQUIRE(row->inverse == ~row->number);
	REQUIRE(row->key[0] == row->number && row->key[1] == row->number * 3);
	REQUIRE(row->left == row->right);
	REQUIRE(!seen[row->number]);
	seen[row->number] = 1;
}

/* A row in the middle of a change. Permanent ones keep their number; the memory of
 * others may have another owner already. */
static void see_stuck(const struct row *row)
{
	uint64_t number = __atomic_load_n(&row->number, __ATOMIC_RELAXED);

	if (number >= NR_PERMANENT)
		return;
	REQUIRE(!seen[number]);
	seen[number] = 1;
}

/* Return: permanent rows that were not seen. */
static unsigned count_missing(void)
{
	unsigned nr = 0;

	for (int i = 0; i < NR_PERMANENT; i++)
		nr += !seen[i];
	return nr;
}

static void walk_here(void)
{
	static struct sp_table_head *entries[150];
	uint64_t cursor = 0;
	unsigned nr;

	memset(seen, 0, sizeof(seen));
	while ((nr = sp_table_walk(table, &cursor, entries, 150)))
		for (unsigned i = 0; i < nr; i++) {
			struct row copy;
			int err = sp_table_copy(table, entries[i], &copy);

			/* Removed meanwhile: not a permanent one. In the middle
			 * of a change for long, its thread being held up:
			 * there all the same. */
			REQUIRE(!err || err == -ENOENT || err == -EAGAIN);
			if (!err)
				see(&copy);
			else if (err == -EAGAIN)
				see_stuck((struct row *)entries[i]);
		}
	REQUIRE(!count_missing());
}

static int walk_there(struct sp_reader_table *remote)
{
	static struct row rows[150];
	uint64_t cursor = 0;
	int nr;

	memset(seen, 0, sizeof(seen));
	while ((nr = sp_reader_table_walk(remote, &cursor, rows, 150)) > 0)
		for (int i = 0; i < nr; i++)
			see(&rows[i]);
	return nr;
}

static void here(unsigned nr_walks)
{
	uint64_t nr_split = 0;

	sp_table_thread_register();
	for (unsigned round = 0; round < NR_ROUNDS; round++) {
		struct sp_table_figures before, after;

		make_table();
		sp_table_stats(table, &before);
		start();
		for (unsigned i = 0; i < nr_walks / NR_ROUNDS; i++) {
			walk_here();
			sp_table_quiescent(NULL);
		}
		sp_table_stats(table, &after);
		nr_split += after.nr_buckets - before.nr_buckets;
		sp_table_thread_offline();
		finish();
		sp_table_thread_online();
		sp_table_destroy(table);
	}
	sp_table_thread_unregister();
	printf("%u walks, %llu buckets split meanwhile\n", nr_walks,
	       (unsigned long long)nr_split);
}

/* Return: -ESTALE if there is no such table now. */
static int open_remote(struct sp_reader *reader,
		       struct sp_reader_table **remote)
{
	struct sp_object object;
	int err = sp_reader_find(reader, SP_OBJECT_TABLE, 0, "churn", &object);

	if (err || object.id != __atomic_load_n(complete, __ATOMIC_ACQUIRE))
		return -ESTALE;
	return sp_reader_table_open(reader, &object, remote);
}

/* The other process: walks until it has done @nr_walks. */
static void watch(struct sp_reader *reader, unsigned nr_walks)
{
	struct sp_reader_table *remote;
	struct sp_plane_info before, after;
	unsigned done = 0, nr_whole = 0;

	while (done < nr_walks) {
		if (open_remote(reader, &remote))
			continue;
		for (unsigned i = 0; i < nr_walks / NR_ROUNDS; i++) {
			sp_reader_info(reader, &before);
			if (walk_there(remote) == -ESTALE)
				break;
			sp_reader_info(reader, &after);
			done++;
			/* Preempted writers may hold a bucket for longer than
			 * a reader is patient. */
			if (after.nr_unstable == before.nr_unstable) {
				REQUIRE(!count_missing());
				nr_whole++;
			}
		}
		sp_reader_table_close(remote);
	}
	printf("%u walks, %u of them without an unstable bucket\n", done,
	       nr_whole);
	REQUIRE(nr_whole > done / 2);
}

static void there(unsigned nr_walks)
{
	pid_t child = fork();
	int status;

	if (!child) {
		struct sp_reader *reader;

		REQUIRE(!sp_reader_attach_fd(sp_plane_fd(plane), &reader));
		watch(reader, nr_walks);
		sp_reader_detach(reader);
		exit(0);
	}
	while (!waitpid(child, &status, WNOHANG)) {
		make_table();
		start();
		usleep(20000);
		finish();
		sp_table_destroy(table);
	}
	REQUIRE(WIFEXITED(status) && !WEXITSTATUS(status));
}

/*
 * A writer that is killed in the middle of what it does.
 * Return: how many buckets it left locked.
 */
static unsigned killed_once(unsigned delay_us)
{
	struct sp_plane_opts opts = {.sz = sizeof(opts), .nr_cpus = 1};
	struct sp_reader *reader;
	struct sp_reader_table *remote;
	struct sp_plane_info info;
	int ready[2], fd;
	char byte;
	pid_t child;

	REQUIRE(!pipe(ready));
	REQUIRE(!sp_plane_create(&opts, &plane));
	fd = sp_plane_fd(plane);
	make_table();
	child = fork();
	if (!child) {
		start();
		REQUIRE(write(ready[1], "", 1) == 1);
		pause();
	}
	REQUIRE(read(ready[0], &byte, 1) == 1);
	usleep(delay_us);
	kill(child, SIGKILL);
	REQUIRE(waitpid(child, NULL, 0) == child);
	REQUIRE(!sp_reader_attach_fd(fd, &reader));
	REQUIRE(!open_remote(reader, &remote));
	REQUIRE(!walk_there(remote));
	sp_reader_info(reader, &info);
	/* Four threads, one of which may be splitting a bucket. */
	REQUIRE(info.nr_unstable <= 2 * NR_THREADS + 2);
	REQUIRE(count_missing() <= info.nr_unstable * SP_TABLE_WALK_MIN);
	REQUIRE(info.nr_unstable || !count_missing());
	sp_reader_table_close(remote);
	sp_reader_detach(reader);
	sp_table_destroy(table);
	sp_plane_close(plane);
	close(ready[0]);
	close(ready[1]);
	return (unsigned)info.nr_unstable;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "here";
	unsigned nr_walks = argc > 2 ? (unsigned)atoi(argv[2]) : 10000;

	complete = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(complete != MAP_FAILED);
	if (!strcmp(how, "killed")) {
		unsigned nr_unstable = 0;

		for (unsigned i = 0; i < NR_KILLS; i++)
			nr_unstable += killed_once(i * 400);
		printf("%u kills left %u buckets locked\n", NR_KILLS,
		       nr_unstable);
		return 0;
	}
	REQUIRE(!sp_plane_create(NULL, &plane));
	if (!strcmp(how, "here"))
		here(nr_walks);
	else
		there(nr_walks);
	sp_plane_close(plane);
	return 0;
}
