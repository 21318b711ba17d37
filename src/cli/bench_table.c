// SPDX-License-Identifier: MIT
/*
 * cli/bench_table.c - `statplane bench table`: a million connections' keys.
 *
 *   ours     one bucket table in a plane, one writer
 *   lfht     cds_lfht of liburcu (QSBR), of a fixed size
 *   ck_ht    ck_ht of libck, its map large enough from the start
 *
 * Keys of 13 bytes (addresses, ports, protocol) are random and asked for in
 * random order; each that is found gets one packet more. All memory was touched
 * before, that of the rows and, as far as they let us, of the tables. The peers
 * hash by two multiplications, without a secret; ours by SipHash with one, which
 * is part of its time. A case's peer is the better of the two. Neither has a
 * lookup for many keys at once: ours is set against their single one.
 *
 * Rows lie in memory in the order in which they were made, for all. Ours and the
 * peers' rows ask for huge pages in the same way.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <statplane/plane.h>
#include <statplane/table.h>

#include "cli/bench.h"

#ifdef SP_BENCH_LFHT
#include <urcu-qsbr.h>
#include <urcu/rculfhash.h>
#endif
#ifdef SP_BENCH_CK
#include <ck_ht.h>
#endif

#define NR_KEYS   1000000
#define KEY_BYTES 13
#define BATCH     32

enum op {
	INSERT,
	LOOKUP,
	BATCHED,
	WALK,
	REMOVE,
	NR_OPS
};

static const char *const op_names[NR_OPS] = {"insert", "lookup", "batch",
					     "walk", "remove"};

struct key {
	uint8_t octet[KEY_BYTES];
};

static struct key *keys;
static uint32_t *order;

/* One table; ops return how many keys they were right about. */
struct side {
	const char *name;
	int (*open)(void);
	uint64_t (*op[NR_OPS])(void);
	void (*close)(void);
	struct sp_series series[NR_OPS];
};

static uint64_t random_state = 88172645463325252ull;

static uint64_t draw(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Zeros, touched, on huge pages where they can be had. */
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

static int make_keys(void)
{
	keys = get_memory(NR_KEYS * sizeof(*keys) + 8);
	order = get_memory(NR_KEYS * sizeof(*order));
	if (!keys || !order)
		return -ENOMEM;
	for (uint32_t i = 0; i < NR_KEYS; i++) {
		for (unsigned b = 0; b < KEY_BYTES; b++)
			keys[i].octet[b] = (uint8_t)(draw() >> 32);
		order[i] = i;
	}
	for (uint32_t i = NR_KEYS - 1; i > 0; i--) {
		uint32_t j = (uint32_t)(draw() % (i + 1)), other = order[i];

		order[i] = order[j];
		order[j] = other;
	}
	return 0;
}

/* --- ours ----------------------------------------------------------------- */

struct row {
	struct sp_table_head head;
	uint8_t key[16];
	uint64_t packets;
	uint64_t octets;
};

static struct sp_plane *plane;
static struct sp_table *table;

static int ours_open(void)
{
	const struct sp_table_opts opts = {
		.sz = sizeof(opts),
		.key_bytes = KEY_BYTES,
		.entry_bytes = sizeof(struct row),
		.max_entries = NR_KEYS,
		.min_buckets = 1u << 18,
		.flags = SP_TABLE_ONE_WRITER | SP_TABLE_POPULATE,
	};
	int err = sp_plane_create(NULL, &plane);

	if (err)
		return err;
	err = sp_table_create(plane, "bench", &opts, &table);
	if (err)
		sp_plane_close(plane);
	return err;
}

static void ours_close(void)
{
	sp_table_destroy(table);
	sp_plane_close(plane);
}

static uint64_t ours_insert(void)
{
	struct sp_table_head *entry;
	uint64_t nr = 0;

	for (uint32_t i = 0; i < NR_KEYS; i++)
		nr += !sp_table_insert(table, &keys[i],
				       sp_table_hash(table, &keys[i]), NULL,
				       &entry);
	return nr;
}

static struct sp_table_head *find(uint32_t i)
{
	const struct key *key = &keys[order[i]];

	return sp_table_lookup(table, key, sp_table_hash(table, key));
}

static uint64_t ours_lookup(void)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < NR_KEYS; i++) {
		struct row *row = (struct row *)find(i);

		if (row) {
			row->packets++;
			nr++;
		}
	}
	return nr;
}

static uint64_t ours_batch(void)
{
	static struct key batch[BATCH];
	static struct sp_table_head *found[BATCH];
	uint64_t nr = 0;

	for (uint32_t i = 0; i < NR_KEYS; i += BATCH) {
		for (unsigned k = 0; k < BATCH; k++)
			batch[k] = keys[order[i + k]];
		sp_table_lookup_batch(table, batch, sizeof(batch[0]), BATCH,
				      NULL, found);
		for (unsigned k = 0; k < BATCH; k++)
			if (found[k]) {
				((struct row *)found[k])->packets++;
				nr++;
			}
	}
	return nr;
}

_Static_assert(NR_KEYS % BATCH == 0, "whole batches");

static uint64_t ours_walk(void)
{
	static struct sp_table_head *entries[256];
	uint64_t cursor = 0, packets = 0;
	unsigned nr;

	while ((nr = sp_table_walk(table, &cursor, entries, 256)))
		for (unsigned i = 0; i < nr; i++)
			packets += ((struct row *)entries[i])->packets;
	/* One from the lookup of each, one from the batch. */
	return packets / 2;
}

static uint64_t ours_remove(void)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < NR_KEYS; i++) {
		struct sp_table_head *entry = find(i);

		nr += entry && !sp_table_remove(table, entry);
		if (i % BATCH == 0)
			sp_table_quiescent(table);
	}
	return nr;
}

/* --- peers ---------------------------------------------------------------- */

#if defined(SP_BENCH_LFHT) || defined(SP_BENCH_CK)

static inline uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t cheap_hash(const struct key *key)
{
	uint64_t first, last;

	memcpy(&first, key->octet, 8);
	memcpy(&last, key->octet + KEY_BYTES - 8, 8);
	return mix(first ^ 0x2d358dccaa6c78a5ull,
		   mix(last ^ 0x8bb84b93962eacc9ull, 0x4b33a62ed433d4a3ull));
}

#endif

#ifdef SP_BENCH_LFHT

struct node {
	struct cds_lfht_node link;
	struct key key;
	uint64_t packets;
	uint64_t octets;
};

static struct cds_lfht *lfht;
static struct node *nodes;

static int lfht_open(void)
{
	nodes = get_memory(NR_KEYS * sizeof(*nodes));
	/* Its automatic growing may stall: a fixed size. */
	lfht = cds_lfht_new(1u << 20, 1u << 20, 1u << 20, 0, NULL);
	return nodes && lfht ? 0 : -ENOMEM;
}

static void lfht_close(void)
{
	rcu_thread_offline();
	cds_lfht_destroy(lfht, NULL);
	rcu_thread_online();
	munmap(nodes, NR_KEYS * sizeof(*nodes));
}

static int lfht_match(struct cds_lfht_node *link, const void *key)
{
	return !memcmp(&((struct node *)(void *)link)->key, key, KEY_BYTES);
}

static uint64_t lfht_insert(void)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < NR_KEYS; i++) {
		struct node *node = &nodes[i];

		node->key = keys[i];
		cds_lfht_node_init(&node->link);
		nr += cds_lfht_add_unique(lfht, cheap_hash(&node->key),
					  lfht_match, &node->key,
					  &node->link) == &node->link;
		if (i % BATCH == 0)
			rcu_quiescent_state();
	}
	return nr;
}

static struct node *lfht_find(uint32_t i)
{
	const struct key *key = &keys[order[i]];
	struct cds_lfht_iter iter;

	cds_lfht_lookup(lfht, cheap_hash(key), lfht_match, key, &iter);
	return (struct node *)(void *)cds_lfht_iter_get_node(&iter);
}

static uint64_t lfht_lookup(void)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < NR_KEYS; i++) {
		struct node *node = lfht_find(i);

		if (node) {
			node->packets++;
			nr++;
		}
	}
	return nr;
}

static uint64_t lfht_walk(void)
{
	struct cds_lfht_iter iter;
	struct cds_lfht_node *link;
	uint64_t packets = 0;

	cds_lfht_for_each(lfht, &iter, link) packets +=
		((struct node *)(void *)link)->packets;
	return packets;
}

static uint64_t lfht_remove(void)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < NR_KEYS; i++) {
		struct node *node = lfht_find(i);

		nr += node && !cds_lfht_del(lfht, &node->link);
		if (i % BATCH == 0)
			rcu_quiescent_state();
	}
	return nr;
}

#endif

#ifdef SP_BENCH_CK

struct ck_row {
	struct key key;
	uint64_t packets;
	uint64_t octets;
};

static ck_ht_t ck;
static struct ck_row *ck_rows;

static void *ck_get(size_t len)
{
	return malloc(len);
}

static void ck_put(void *memory, size_t len, bool defer)
{
	(void)len, (void)defer;
	free(memory);
}

static void ck_hash(ck_ht_hash_t *hash, const void *key, size_t len,
		    uint64_t seed)
{
	(void)len, (void)seed;
	hash->value = cheap_hash(key);
}

static int ck_open(void)
{
	static struct ck_malloc memory = {.malloc = ck_get, .free = ck_put};

	ck_rows = get_memory(NR_KEYS * sizeof(*ck_rows));
	return ck_rows && ck_ht_init(&ck, CK_HT_MODE_BYTESTRING, ck_hash,
				     &memory, 1u << 21, 6602834)
		       ? 0
		       : -ENOMEM;
}

static void ck_close(void)
{
	ck_ht_destroy(&ck);
	munmap(ck_rows, NR_KEYS * sizeof(*ck_rows));
}

static uint64_t ck_insert(void)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < NR_KEYS; i++) {
		struct ck_row *row = &ck_rows[i];
		ck_ht_entry_t entry;
		ck_ht_hash_t hash;

		row->key = keys[i];
		ck_ht_hash(&hash, &ck, &row->key, KEY_BYTES);
		ck_ht_entry_set(&entry, hash, &row->key, KEY_BYTES, row);
		nr += ck_ht_put_spmc(&ck, hash, &entry);
	}
	return nr;
}

static uint64_t ck_lookup(void)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < NR_KEYS; i++) {
		const struct key *key = &keys[order[i]];
		ck_ht_entry_t entry;
		ck_ht_hash_t hash;

		ck_ht_hash(&hash, &ck, key, KEY_BYTES);
		ck_ht_entry_key_set(&entry, key, KEY_BYTES);
		if (ck_ht_get_spmc(&ck, hash, &entry)) {
			struct ck_row *row = ck_ht_entry_value(&entry);

			row->packets++;
			nr++;
		}
	}
	return nr;
}

static uint64_t ck_walk(void)
{
	ck_ht_iterator_t iter = CK_HT_ITERATOR_INITIALIZER;
	ck_ht_entry_t *entry;
	uint64_t packets = 0;

	while (ck_ht_next(&ck, &iter, &entry))
		packets += ((struct ck_row *)ck_ht_entry_value(entry))->packets;
	return packets;
}

static uint64_t ck_remove(void)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < NR_KEYS; i++) {
		const struct key *key = &keys[order[i]];
		ck_ht_entry_t entry;
		ck_ht_hash_t hash;

		ck_ht_hash(&hash, &ck, key, KEY_BYTES);
		ck_ht_entry_key_set(&entry, key, KEY_BYTES);
		nr += ck_ht_remove_spmc(&ck, hash, &entry);
	}
	return nr;
}

#endif

static struct side sides[] = {
	{"ours",
	 ours_open,
	 {ours_insert, ours_lookup, ours_batch, ours_walk, ours_remove},
	 ours_close,
	 {{0}}},
#ifdef SP_BENCH_LFHT
	{"lfht",
	 lfht_open,
	 {lfht_insert, lfht_lookup, NULL, lfht_walk, lfht_remove},
	 lfht_close,
	 {{0}}},
#endif
#ifdef SP_BENCH_CK
	{"ck_ht",
	 ck_open,
	 {ck_insert, ck_lookup, NULL, ck_walk, ck_remove},
	 ck_close,
	 {{0}}},
#endif
};

#define NR_SIDES (sizeof(sides) / sizeof(sides[0]))

/* --- the run -------------------------------------------------------------- */

/* Return: 0; -EIO if a table was wrong about a key. */
static int measure(struct side *side)
{
	int err = side->open();

	for (unsigned op = 0; op < NR_OPS && !err; op++) {
		uint64_t start, ticks, nr;

		if (!side->op[op])
			continue;
		start = sp_bench_ticks();
		nr = side->op[op]();
		ticks = sp_bench_ticks() - start;
		if (nr != NR_KEYS)
			err = -EIO;
		sp_series_add(&side->series[op], sp_bench_ns(ticks) / NR_KEYS);
	}
	side->close();
	return err;
}

static const struct side *better(enum op op)
{
	const struct side *best = NULL;

	for (unsigned s = 1; s < NR_SIDES; s++)
		if (!best || sp_series_median(&sides[s].series[op]) <
				     sp_series_median(&best->series[op]))
			best = &sides[s];
	return best;
}

static void report(const struct sp_bench_opts *opts)
{
	char name[64];

	for (unsigned op = 0; op < NR_OPS; op++) {
		/* Peers have no batch. */
		enum op theirs = op == BATCHED ? LOOKUP : (enum op)op;
		const struct side *peer = better(theirs);

		snprintf(name, sizeof(name), "table/%s", op_names[op]);
		sp_bench_case(opts, "table", name, &sides[0].series[op],
			      peer ? peer->name : NULL,
			      peer ? &peer->series[theirs] : NULL);
	}
	for (unsigned s = 1; s < NR_SIDES && !opts->json; s++)
		for (unsigned op = 0; op < NR_OPS; op++) {
			if (!sides[s].op[op])
				continue;
			snprintf(name, sizeof(name), "  (%s, %s)", op_names[op],
				 sides[s].name);
			sp_bench_case(opts, "table", name, &sides[s].series[op],
				      NULL, NULL);
		}
}

int sp_bench_table(const struct sp_bench_opts *opts)
{
	int err = make_keys();

	for (unsigned s = 0; s < NR_SIDES; s++)
		for (unsigned op = 0; op < NR_OPS && !err; op++)
			err = sp_series_init(&sides[s].series[op],
					     opts->nr_rounds);
	sp_bench_pin(0);
	sp_table_thread_register();
	sp_bench_begin(opts, "A million keys of 13 bytes, ns each");
	for (unsigned r = 0; r < opts->nr_rounds && !err; r++)
		for (unsigned i = 0; i < NR_SIDES && !err; i++)
			err = measure(&sides[r % 2 ? NR_SIDES - 1 - i : i]);
	if (err)
		fprintf(stderr, "statplane bench table: %s\n", strerror(-err));
	else
		report(opts);
	if (NR_SIDES < 3)
		sp_bench_note(opts, "Built without %s.",
			      NR_SIDES < 2 ? "peers" : "one of the peers");
	sp_table_thread_unregister();
	for (unsigned s = 0; s < NR_SIDES; s++)
		for (unsigned op = 0; op < NR_OPS; op++)
			sp_series_fini(&sides[s].series[op]);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
