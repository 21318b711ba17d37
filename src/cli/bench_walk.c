// SPDX-License-Identifier: MIT
/*
 * cli/bench_walk.c - `statplane bench walk`: what a table's emptiness costs.
 *
 *   ours        sp_table_walk(): a bitmap of occupied buckets, with a summary
 *   lock_each   lock each bucket, go through its chain, unlock
 *   test_first  the same, but leave a bucket alone whose head is empty
 *   liburcu     cds_lfht_for_each(), of full tables only
 *
 * The old ways walk what a kernel has: an array of heads of chains of 8 bytes,
 * and a spinlock for each bucket in an array of its own; at 100 % as many entries
 * as buckets. Each entry that is found is read. Ours is made with the same number
 * of buckets, although it would do with fewer, since one holds eight entries.
 *
 * The kernel's own table is walked by reading /proc/net/tcp, and by a dump
 * through inet_diag; ours beside them has as many buckets and entries as the
 * kernel has hash buckets and sockets. They also make text and messages of what
 * they find, which ours does not: with few sockets that hardly counts.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <statplane/plane.h>
#include <statplane/table.h>

#include "cli/bench.h"

#ifdef SP_BENCH_LFHT
#include <urcu-qsbr.h>
#include <urcu/rculfhash.h>
#endif

#define MIN_BITS 10
#define MAX_BITS 22

/* Of each sample, about; the rest of a large table is one walk. */
#define SAMPLE_NS 1000000

struct row {
	struct sp_table_head head;
	uint64_t key;
	uint64_t value;
};

/* An entry of a chain. */
struct link {
	struct link *next;
	uint64_t key;
	uint64_t value;
};

/* The same entries in both tables. */
struct subject {
	uint32_t nr_buckets;
	uint32_t nr_entries;
	struct sp_plane *plane;
	struct sp_table *table;
	struct link **heads;
	uint32_t *locks;
	struct link *links;
#ifdef SP_BENCH_LFHT
	struct cds_lfht *lfht;
	struct node *nodes;
#endif
};

enum way {
	OURS,
	TEST_FIRST,
	LOCK_EACH,
	LIBURCU,
	NR_WAYS
};

/* --- the old ways --------------------------------------------------------- */

static void *get_memory(size_t len)
{
	void *memory = mmap(NULL, len, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	madvise(memory, len, MADV_HUGEPAGE);
	memset(memory, 0, len);
	return memory;
}

static void put_memory(void *memory, size_t len)
{
	if (memory)
		munmap(memory, len);
}

static inline void lock(uint32_t *word)
{
	uint32_t expected = 0;

	while (!__atomic_compare_exchange_n(word, &expected, 1, false,
					    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		expected = 0;
}

static inline void unlock(uint32_t *word)
{
	__atomic_store_n(word, 0, __ATOMIC_RELEASE);
}

static inline uint64_t read_chain(const struct link *link, uint64_t *sum)
{
	uint64_t nr = 0;

	for (; link; link = link->next, nr++)
		*sum += link->value;
	return nr;
}

static uint64_t walk_lock_each(const struct subject *on, uint64_t *sum)
{
	uint64_t nr = 0;

	for (uint32_t b = 0; b < on->nr_buckets; b++) {
		lock(&on->locks[b]);
		nr += read_chain(
			__atomic_load_n(&on->heads[b], __ATOMIC_RELAXED), sum);
		unlock(&on->locks[b]);
	}
	return nr;
}

static uint64_t walk_test_first(const struct subject *on, uint64_t *sum)
{
	uint64_t nr = 0;

	for (uint32_t b = 0; b < on->nr_buckets; b++) {
		if (!__atomic_load_n(&on->heads[b], __ATOMIC_RELAXED))
			continue;
		lock(&on->locks[b]);
		nr += read_chain(on->heads[b], sum);
		unlock(&on->locks[b]);
	}
	return nr;
}

static uint64_t walk_ours(const struct subject *on, uint64_t *sum)
{
	static struct sp_table_head *entries[256];
	uint64_t cursor = 0, total = 0;
	unsigned nr;

	while ((nr = sp_table_walk(on->table, &cursor, entries, 256))) {
		for (unsigned i = 0; i < nr; i++)
			*sum += ((struct row *)entries[i])->value;
		total += nr;
	}
	return total;
}

#ifdef SP_BENCH_LFHT

struct node {
	struct cds_lfht_node link;
	uint64_t key;
	uint64_t value;
};

static uint64_t walk_liburcu(const struct subject *on, uint64_t *sum)
{
	struct cds_lfht_iter iter;
	struct cds_lfht_node *link;
	uint64_t nr = 0;

	cds_lfht_for_each(on->lfht, &iter, link)
	{
		*sum += ((struct node *)(void *)link)->value;
		nr++;
	}
	return nr;
}

static int any_differs(struct cds_lfht_node *link, const void *key)
{
	(void)link, (void)key;
	return 0;
}

static int fill_liburcu(struct subject *on)
{
	size_t len = on->nr_entries * sizeof(*on->nodes);

	on->lfht = cds_lfht_new(on->nr_buckets, on->nr_buckets, on->nr_buckets,
				0, NULL);
	on->nodes = get_memory(len);
	if (!on->lfht || !on->nodes)
		return -ENOMEM;
	for (uint32_t i = 0; i < on->nr_entries; i++) {
		struct node *node = &on->nodes[i];
		uint64_t key = i;

		node->key = key;
		node->value = key;
		cds_lfht_node_init(&node->link);
		cds_lfht_add_unique(on->lfht, sp_table_hash(on->table, &key),
				    any_differs, &key, &node->link);
	}
	return 0;
}

static void free_liburcu(struct subject *on)
{
	if (on->lfht) {
		rcu_thread_offline();
		cds_lfht_destroy(on->lfht, NULL);
		rcu_thread_online();
	}
	put_memory(on->nodes, on->nr_entries * sizeof(*on->nodes));
}

#else

static uint64_t walk_liburcu(const struct subject *on, uint64_t *sum)
{
	(void)on, (void)sum;
	return 0;
}

static int fill_liburcu(struct subject *on)
{
	(void)on;
	return 0;
}

static void free_liburcu(struct subject *on)
{
	(void)on;
}

#endif

static uint64_t (*const walks[NR_WAYS])(const struct subject *on,
					uint64_t *sum) = {
	[OURS] = walk_ours,
	[TEST_FIRST] = walk_test_first,
	[LOCK_EACH] = walk_lock_each,
	[LIBURCU] = walk_liburcu,
};

/* --- subjects ------------------------------------------------------------- */

static int fill(struct subject *on)
{
	for (uint32_t i = 0; i < on->nr_entries; i++) {
		uint64_t key = i, hash = sp_table_hash(on->table, &key);
		struct link *link = &on->links[i];
		struct link **head = &on->heads[hash & (on->nr_buckets - 1)];
		struct sp_table_head *entry;
		int err = sp_table_insert(on->table, &key, hash, &key, &entry);

		if (err)
			return err;
		link->key = key;
		link->value = key;
		link->next = *head;
		*head = link;
	}
	return 0;
}

static int open_subject(struct subject *on)
{
	const struct sp_table_opts opts = {
		.sz = sizeof(opts),
		.key_bytes = 8,
		.entry_bytes = sizeof(struct row),
		.max_entries = on->nr_entries + 64,
		.min_buckets = on->nr_buckets,
		.flags = SP_TABLE_ONE_WRITER | SP_TABLE_POPULATE,
	};
	int err = sp_plane_create(NULL, &on->plane);

	if (!err)
		err = sp_table_create(on->plane, "bench", &opts, &on->table);
	if (err)
		return err;
	on->heads = get_memory(on->nr_buckets * sizeof(*on->heads));
	on->locks = get_memory(on->nr_buckets * sizeof(*on->locks));
	on->links = get_memory((on->nr_entries + 1) * sizeof(*on->links));
	return on->heads && on->locks && on->links ? fill(on) : -ENOMEM;
}

static void close_subject(struct subject *on)
{
	sp_table_destroy(on->table);
	sp_plane_close(on->plane);
	put_memory(on->heads, on->nr_buckets * sizeof(*on->heads));
	put_memory(on->locks, on->nr_buckets * sizeof(*on->locks));
	put_memory(on->links, (on->nr_entries + 1) * sizeof(*on->links));
	free_liburcu(on);
}

/* --- runs ----------------------------------------------------------------- */

static volatile uint64_t sink;

/* ns of one walk; 0 if it did not find everything. */
static double time_walk(const struct subject *on, enum way way, unsigned repeat)
{
	uint64_t sum = 0, nr = 0;
	uint64_t start = sp_bench_ticks();

	for (unsigned i = 0; i < repeat; i++)
		nr += walks[way](on, &sum);
	start = sp_bench_ticks() - start;
	sink += sum;
	return nr == (uint64_t)repeat * on->nr_entries
		       ? sp_bench_ns(start) / repeat
		       : 0;
}

static unsigned choose_repeat(const struct subject *on, enum way way)
{
	double ns = time_walk(on, way, 1);

	return ns > 0 && ns < SAMPLE_NS ? 1 + (unsigned)(SAMPLE_NS / ns) : 1;
}

/* Return: 0; -EIO if a walk missed something. */
static int measure(const struct sp_bench_opts *opts, const struct subject *on,
		   struct sp_series series[NR_WAYS], unsigned nr_ways)
{
	unsigned repeat[NR_WAYS];

	for (unsigned w = 0; w < nr_ways; w++) {
		repeat[w] = choose_repeat(on, (enum way)w);
		series[w].nr = 0;
	}
	for (unsigned r = 0; r < opts->nr_rounds; r++)
		for (unsigned i = 0; i < nr_ways; i++) {
			unsigned w = r % 2 ? nr_ways - 1 - i : i;
			double ns = time_walk(on, (enum way)w, repeat[w]);

			if (ns == 0)
				return -EIO;
			sp_series_add(&series[w], ns);
		}
	return 0;
}

static void report(const struct sp_bench_opts *opts, const char *name,
		   const struct sp_series series[NR_WAYS], unsigned nr_ways)
{
	const struct sp_bench_other others[] = {
		{"test_first", &series[TEST_FIRST]},
		{"lock_each", &series[LOCK_EACH]},
		{nr_ways > LIBURCU ? "liburcu" : NULL, &series[LIBURCU]},
		{NULL, NULL},
	};

	sp_bench_case_with(opts, "walk", name, &series[OURS], "test_first",
			   &series[TEST_FIRST], others);
}

static int run_one(const struct sp_bench_opts *opts, unsigned bits,
		   unsigned percent, struct sp_series series[NR_WAYS])
{
	struct subject on = {
		.nr_buckets = 1u << bits,
		.nr_entries = (uint32_t)((percent * (1ull << bits)) / 100),
	};
	unsigned nr_ways = LIBURCU;
	char name[64];
	int err = open_subject(&on);

#ifdef SP_BENCH_LFHT
	if (!err && percent == 100) {
		err = fill_liburcu(&on);
		nr_ways = NR_WAYS;
	}
#endif
	if (!err)
		err = measure(opts, &on, series, nr_ways);
	snprintf(name, sizeof(name), "walk/%u/%u", on.nr_buckets, percent);
	if (!err)
		report(opts, name, series, nr_ways);
	close_subject(&on);
	return err;
}

/* --- the kernel's table --------------------------------------------------- */

/* What an operator's tools do: read it all. Return: lines; -errno. */
static long read_proc(void)
{
	static char buffer[65536];
	int fd = open("/proc/net/tcp", O_RDONLY | O_CLOEXEC);
	long nr = 0;
	ssize_t got;

	if (fd < 0)
		return -errno;
	while ((got = read(fd, buffer, sizeof(buffer))) > 0)
		for (ssize_t i = 0; i < got; i++)
			nr += buffer[i] == '\n';
	close(fd);
	return got < 0 ? -errno : nr - 1;
}

static int send_dump(int fd)
{
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 req;
	} ask = {
		.head = {.nlmsg_len = sizeof(ask),
			 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.req = {.sdiag_family = AF_INET,
			.sdiag_protocol = IPPROTO_TCP,
			.idiag_states = UINT32_MAX},
	};

	return send(fd, &ask, sizeof(ask), 0) == sizeof(ask) ? 0 : -errno;
}

/* Return: sockets; -errno. */
static long read_diag(void)
{
	static char buffer[65536] __attribute__((aligned(8)));
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	long nr = 0;
	int err = fd < 0 ? -errno : send_dump(fd);

	while (!err) {
		ssize_t got = recv(fd, buffer, sizeof(buffer), 0);
		struct nlmsghdr *head = (void *)buffer;
		int left = (int)got;

		if (got <= 0)
			err = got ? -errno : -EIO;
		for (; !err && NLMSG_OK(head, left);
		     head = NLMSG_NEXT(head, left)) {
			if (head->nlmsg_type == NLMSG_ERROR)
				err = -EPROTONOSUPPORT;
			else if (head->nlmsg_type == NLMSG_DONE)
				err = 1;
			else
				nr++;
		}
	}
	if (fd >= 0)
		close(fd);
	return err < 0 ? err : nr;
}

/* Buckets of the kernel's table of connections; 0 if it does not say. */
static uint32_t kernel_buckets(void)
{
	FILE *f = fopen("/proc/sys/net/ipv4/tcp_ehash_entries", "re");
	long nr = 0;

	if (f && fscanf(f, "%ld", &nr) != 1)
		nr = 0;
	if (f)
		fclose(f);
	/* Negative: another namespace's. */
	return (uint32_t)labs(nr);
}

static int run_kernel(const struct sp_bench_opts *opts, const char *name,
		      long (*read_all)(void), struct sp_series series[NR_WAYS])
{
	struct subject on = {.nr_buckets = kernel_buckets()};
	long nr = read_all();
	int err;

	if (nr < 0 || !on.nr_buckets || (on.nr_buckets & (on.nr_buckets - 1))) {
		sp_bench_note(opts, "%s: skipped, %s", name,
			      nr < 0 ? strerror((int)-nr)
				     : "the kernel does not tell the size of "
				       "its table");
		return 0;
	}
	on.nr_entries = (uint32_t)nr;
	err = open_subject(&on);
	series[OURS].nr = series[TEST_FIRST].nr = 0;
	for (unsigned r = 0; r < opts->nr_rounds && !err; r++) {
		uint64_t start = sp_bench_ticks();
		double ns;

		nr = read_all();
		sp_series_add(&series[TEST_FIRST],
			      sp_bench_ns(sp_bench_ticks() - start));
		ns = time_walk(&on, OURS, 100);
		if (ns == 0 || nr < 0)
			err = -EIO;
		sp_series_add(&series[OURS], ns);
	}
	if (!err)
		sp_bench_case(opts, "walk", name, &series[OURS], "kernel",
			      &series[TEST_FIRST]);
	close_subject(&on);
	return err;
}

static int run(const struct sp_bench_opts *opts,
	       struct sp_series series[NR_WAYS])
{
	static const unsigned percents[] = {0, 1, 10, 100};
	int err = 0;

	for (unsigned bits = MIN_BITS; bits <= MAX_BITS && !err; bits += 2)
		for (unsigned p = 0; p < 4 && !err; p++)
			err = run_one(opts, bits, percents[p], series);
	if (!err)
		err = run_kernel(opts, "walk/proc_net_tcp", read_proc, series);
	if (!err)
		err = run_kernel(opts, "walk/inet_diag", read_diag, series);
	return err;
}

int sp_bench_walk(const struct sp_bench_opts *opts)
{
	struct sp_series series[NR_WAYS] = {{0}};
	int err = 0;

	for (unsigned w = 0; w < NR_WAYS && !err; w++)
		err = sp_series_init(&series[w], opts->nr_rounds);
	sp_bench_pin(0);
	sp_table_thread_register();
	sp_bench_begin(opts, "Walk of a table, ns each; walk/BUCKETS/LOAD%");
	if (!err)
		err = run(opts, series);
	sp_bench_note(opts,
		      "\nRatios: test_first (lock a bucket only if its head is "
		      "not empty), lock_each, and\nof full tables liburcu's.");
	if (err)
		fprintf(stderr, "statplane bench walk: %s\n", strerror(-err));
	sp_table_thread_unregister();
	for (unsigned w = 0; w < NR_WAYS; w++)
		sp_series_fini(&series[w]);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
