// SPDX-License-Identifier: MIT
/*
 * Tables: every sentence of statplane/table.h that one thread can see.
 */
#include "full_tmpfs.h"

#include <statplane/table.h>

#include "table/reserve.h"
#include "table/state.h"

#define KEY_BYTES 13

struct row {
	struct sp_table_head head;
	uint8_t key[16];
	uint64_t number;
	uint64_t twice;
};

static struct sp_plane *plane;
static struct sp_table *table;

static struct sp_table_opts row_opts(uint32_t max_entries)
{
	return (struct sp_table_opts){
		.sz = sizeof(struct sp_table_opts),
		.kind = 77,
		.key_bytes = KEY_BYTES,
		.entry_bytes = sizeof(struct row),
		.max_entries = max_entries,
		.min_buckets = 1,
	};
}

static void open_with(const struct sp_table_opts *opts)
{
	plane = small_segment(NULL);
	assert_int_equal(sp_table_create(plane, "rows", opts, &table), 0);
}

static void open_table(uint32_t max_entries, uint32_t flags)
{
	struct sp_table_opts opts = row_opts(max_entries);

	opts.flags = flags;
	open_with(&opts);
}

static void close_table(void)
{
	sp_table_destroy(table);
	sp_segment_close(plane);
}

static const uint8_t *key_of(uint64_t number)
{
	static uint8_t keys[4][16];
	static unsigned next;
	uint8_t *key = keys[next++ % 4];

	memset(key, 0xa5, 16);
	memcpy(key + 3, &number, 8);
	return key;
}

static uint64_t hash_of(uint64_t number)
{
	return sp_table_hash(table, key_of(number));
}

static int insert_hashed(uint64_t number, uint64_t hash, struct row **ret_row)
{
	uint64_t payload[2] = {number, 2 * number};
	struct sp_table_head *entry = NULL;
	int err = sp_table_insert(table, key_of(number), hash, payload, &entry);

	*ret_row = (struct row *)entry;
	return err;
}

static struct row *insert(uint64_t number)
{
	struct row *row;

	assert_int_equal(insert_hashed(number, hash_of(number), &row), 0);
	return row;
}

static struct row *lookup(uint64_t number)
{
	return (struct row *)sp_table_lookup(table, key_of(number),
					     hash_of(number));
}

static void take_out(uint64_t number)
{
	assert_int_equal(sp_table_remove(table, &lookup(number)->head), 0);
}

static struct sp_table_figures figures(void)
{
	struct sp_table_figures f;

	sp_table_stats(table, &f);
	return f;
}

static uint64_t random_state = 1;

static uint32_t draw(uint32_t below)
{
	random_state =
		random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((random_state >> 32) % below);
}

/* --- find, insert, remove ------------------------------------------------- */

static void what_was_inserted_is_found_and_nothing_else(void **state)
{
	(void)state;
	open_table(1000, 0);
	for (uint64_t i = 0; i < 500; i++)
		insert(2 * i);
	for (uint64_t i = 0; i < 500; i++) {
		struct row *row = lookup(2 * i);

		assert_non_null(row);
		assert_memory_equal(row->key, key_of(2 * i), KEY_BYTES);
		assert_int_equal(row->number, 2 * i);
		assert_int_equal(row->twice, 4 * i);
		assert_null(lookup(2 * i + 1));
	}
	assert_int_equal(figures().nr_entries, 500);
	close_table();
}

static void keys_of_every_length_are_told_apart(void **state)
{
	uint8_t memory[SP_TABLE_KEY_MAX + 2] = {0};
	struct sp_table_head *entry, *found;

	(void)state;
	for (uint32_t len = 1; len <= SP_TABLE_KEY_MAX; len++) {
		struct sp_table_opts opts = row_opts(100);
		uint8_t *key = memory + 1;

		opts.key_bytes = len;
		opts.entry_bytes = (uint32_t)SP_TABLE_PAYLOAD_OFF(len);
		open_with(&opts);
		assert_int_equal(sp_table_insert(table, key,
						 sp_table_hash(table, key),
						 NULL, &entry),
				 0);
		for (uint32_t i = 0; i < len; i++) {
			key[i] ^= 0x80;
			/* Not even by the right hash. */
			assert_null(sp_table_lookup(table, key, entry->hash));
			key[i] ^= 0x80;
		}
		/* What is behind the key does not matter. */
		key[len] ^= 1;
		found = sp_table_lookup(table, key, sp_table_hash(table, key));
		key[len] ^= 1;
		assert_ptr_equal(found, entry);
		assert_memory_equal(entry + 1, key, len);
		close_table();
	}
}

static void a_key_is_in_a_table_once(void **state)
{
	struct row *row, *again;

	(void)state;
	open_table(100, 0);
	row = insert(7);
	assert_int_equal(insert_hashed(7, hash_of(7), &again), -EEXIST);
	assert_ptr_equal(again, row);
	assert_int_equal(figures().nr_entries, 1);
	close_table();
}

static void a_payload_begins_as_zeros_if_none_is_given(void **state)
{
	struct sp_table_head *entry;
	struct row *row;

	(void)state;
	open_table(100, SP_TABLE_ONE_WRITER);
	for (int i = 0; i < 2000; i++) { /* memory is used again, too */
		assert_int_equal(sp_table_insert(table, key_of(1), hash_of(1),
						 NULL, &entry),
				 0);
		row = (struct row *)entry;
		assert_int_equal(row->number, 0);
		assert_int_equal(row->twice, 0);
		row->number = row->twice = UINT64_MAX;
		take_out(1);
		sp_table_quiescent(table);
	}
	close_table();
}

static void what_was_removed_is_gone_but_readable(void **state)
{
	struct row *row;
	uint32_t incarnation;

	(void)state;
	open_table(100, 0);
	row = insert(1);
	insert(2);
	incarnation = row->head.incarnation;
	assert_int_equal(incarnation % 2, 1);
	assert_int_equal(sp_table_remove(table, &row->head), 0);
	assert_null(lookup(1));
	assert_non_null(lookup(2));
	assert_int_equal(row->number, 1);
	assert_int_equal(row->head.incarnation, incarnation + 1);
	assert_int_equal(sp_table_remove(table, &row->head), -ENOENT);
	assert_int_equal(figures().nr_entries, 1);
	close_table();
}

static void memory_of_removed_entries_waits_for_a_quiescent_state(void **state)
{
	static struct row *row[500];

	(void)state;
	open_table(1000, 0);
	for (uint64_t i = 0; i < 500; i++)
		row[i] = insert(i);
	for (uint64_t i = 0; i < 500; i++)
		take_out(i);
	for (uint64_t i = 0; i < 500; i++) {
		struct row *fresh = insert(1000 + i);

		for (uint64_t j = 0; j < 500; j++)
			assert_ptr_not_equal(fresh, row[j]);
	}
	assert_int_equal(figures().nr_waiting, 500);
	sp_table_quiescent(table);
	assert_int_equal(figures().nr_waiting, 0);
	assert_ptr_equal(insert(5000), row[499]);
	close_table();
}

static void entries_have_constant_numbers(void **state)
{
	static struct row *row[300];

	(void)state;
	open_table(1000, 0);
	for (uint64_t i = 0; i < 300; i++) {
		row[i] = insert(i);
		assert_int_equal(sp_table_idx(table, &row[i]->head), i);
	}
	for (uint32_t i = 0; i < 300; i++) {
		assert_ptr_equal(sp_table_at(table, i), row[i]);
		assert_ptr_equal(lookup(i), row[i]);
	}
	close_table();
}

static void a_batch_finds_what_single_lookups_find(void **state)
{
	static uint8_t keys[100][20];
	static uint64_t hashes[100];
	static struct sp_table_head *entries[100];

	(void)state;
	open_table(1000, 0);
	for (uint64_t i = 0; i < 1000; i += 3)
		insert(i);
	for (unsigned nr = 0; nr <= 100; nr += nr < 35 ? 1 : 13) {
		for (unsigned i = 0; i < nr; i++)
			memcpy(keys[i], key_of(i + nr), KEY_BYTES);
		sp_table_lookup_batch(table, keys, sizeof(keys[0]), nr,
				      nr % 2 ? hashes : NULL, entries);
		for (unsigned i = 0; i < nr; i++) {
			assert_ptr_equal(entries[i], lookup(i + nr));
			if (nr % 2)
				assert_int_equal(hashes[i], hash_of(i + nr));
		}
	}
	close_table();
}

/* --- the model ------------------------------------------------------------ */

#define MODEL_KEYS 4000

static void compare_with_model(const bool *in_table)
{
	static unsigned seen[MODEL_KEYS];
	struct sp_table_head *entries[SP_TABLE_WALK_MIN];
	uint64_t cursor = 0;
	unsigned nr;

	memset(seen, 0, sizeof(seen));
	while ((nr = sp_table_walk(table, &cursor, entries, SP_TABLE_WALK_MIN)))
		for (unsigned i = 0; i < nr; i++)
			seen[((struct row *)entries[i])->number]++;
	for (uint64_t i = 0; i < MODEL_KEYS; i++) {
		assert_int_equal(seen[i], in_table[i]);
		assert_int_equal(lookup(i) != NULL, in_table[i]);
	}
}

static void run_model(uint32_t flags)
{
	static bool in_table[MODEL_KEYS];
	uint64_t nr = 0;

	memset(in_table, 0, sizeof(in_table));
	open_table(MODEL_KEYS, flags);
	for (unsigned step = 0; step < 200000; step++) {
		/* First more and more, then fewer and fewer, and again. */
		bool is_filling = step / 20000 % 2 == 0;
		uint64_t i = draw(MODEL_KEYS);
		struct row *row;

		if (draw(4) ? is_filling : !is_filling) {
			assert_int_equal(insert_hashed(i, hash_of(i), &row),
					 in_table[i] ? -EEXIST : 0);
			nr += !in_table[i];
			in_table[i] = true;
		} else {
			row = lookup(i);
			assert_int_equal(row != NULL, in_table[i]);
			if (row)
				assert_int_equal(
					sp_table_remove(table, &row->head), 0);
			nr -= in_table[i];
			in_table[i] = false;
		}
		if (step % 32 == 0)
			sp_table_quiescent(table);
		assert_int_equal(table->hdr->nr_entries, nr);
		if (step % 10007 == 0)
			compare_with_model(in_table);
	}
	close_table();
}

static void a_table_is_a_map(void **state)
{
	(void)state;
	run_model(0);
}

static void a_table_with_one_writer_is_a_map(void **state)
{
	(void)state;
	run_model(SP_TABLE_ONE_WRITER);
}

/* --- hashes that meet ----------------------------------------------------- */

/* All in bucket 0 at any size, all with tag @tag. */
static uint64_t bad_hash(uint64_t tag, uint64_t bits)
{
	return tag << 48 | bits << 32;
}

static void keys_with_one_hash_are_told_apart(void **state)
{
	static struct row *rows[SP_TABLE_WALK_MIN];
	struct row *row;
	struct sp_table_figures f;

	(void)state;
	for (uint64_t tag = 0; tag < 3; tag++) {
		open_table(4000, 0);
		for (uint64_t i = 0; i < SP_TABLE_WALK_MIN; i++)
			assert_int_equal(
				insert_hashed(i, bad_hash(tag, i), &rows[i]),
				0);
		/* A chain is full. */
		assert_int_equal(insert_hashed(999, bad_hash(tag, 0), &row),
				 -ENOSPC);
		f = figures();
		assert_int_equal(f.nr_entries, SP_TABLE_WALK_MIN);
		assert_int_equal(f.nr_no_memory, 1);
		assert_int_equal(f.nr_overflow, SP_CHAIN_MAX - 1);
		for (uint64_t i = 0; i < SP_TABLE_WALK_MIN; i++) {
			assert_ptr_equal(sp_table_lookup(table, key_of(i),
							 bad_hash(tag, i)),
					 rows[i]);
			assert_int_equal(sp_table_remove(table, &rows[i]->head),
					 0);
			assert_null(sp_table_lookup(table, key_of(i),
						    bad_hash(tag, i)));
		}
		/* An empty chain gives back what it had. */
		assert_int_equal(table->buckets[0].overflow, 0);
		for (uint64_t i = 0; i < SP_TABLE_WALK_MIN; i++)
			assert_int_equal(
				insert_hashed(i, bad_hash(tag, i), &rows[i]),
				0);
		assert_int_equal(figures().nr_overflow, SP_CHAIN_MAX - 1);
		close_table();
	}
}

static void long_chains_survive_being_split(void **state)
{
	struct row *row;

	(void)state;
	open_table(40000, 0);
	/* 60 that always stay, 60 that part with the first doublings. */
	for (uint64_t i = 0; i < 60; i++)
		assert_int_equal(insert_hashed(i, bad_hash(5, i), &row), 0);
	for (uint64_t i = 60; i < 10000; i++)
		assert_int_equal(
			insert_hashed(i, i * 0x9e3779b97f4a7c15ull | 1, &row),
			0);
	assert_true(figures().nr_buckets >= 2048);
	for (uint64_t i = 0; i < 10000; i++) {
		uint64_t hash =
			i < 60 ? bad_hash(5, i) : i * 0x9e3779b97f4a7c15ull | 1;

		row = (struct row *)sp_table_lookup(table, key_of(i), hash);
		assert_non_null(row);
		assert_int_equal(row->number, i);
	}
	close_table();
}

static void hashes_are_secret(void **state)
{
	uint64_t hash;

	(void)state;
	open_table(10, 0);
	hash = hash_of(1);
	assert_int_equal(hash_of(1), hash);
	close_table();
	open_table(10, 0);
	assert_int_not_equal(hash_of(1), hash);
	close_table();
}

/* --- full ----------------------------------------------------------------- */

static void a_full_table_refuses_and_stays_as_it_was(void **state)
{
	struct row *row;

	(void)state;
	for (uint32_t flags = 0; flags < 4; flags++) {
		open_table(50, flags);
		for (uint64_t i = 0; i < 50; i++)
			insert(i);
		for (uint64_t i = 50; i < 60; i++)
			assert_int_equal(insert_hashed(i, hash_of(i), &row),
					 -ENOSPC);
		assert_int_equal(insert_hashed(3, hash_of(3), &row), -EEXIST);
		assert_ptr_equal(row, lookup(3));
		assert_int_equal(figures().nr_full, 10);
		assert_int_equal(figures().nr_no_memory, 0);
		assert_int_equal(figures().nr_entries, 50);
		take_out(3);
		insert(51);
		for (uint64_t i = 0; i < 50; i++)
			assert_int_equal(lookup(i) != NULL, i != 3);
		close_table();
	}
}

static void an_entry_is_reserved_then_published(void **state)
{
	struct sp_table_head *a, *b, *found;
	uint64_t payload[2] = {7, 14};

	(void)state;
	open_table(2, 0);
	assert_int_equal(sp_table_reserve(table, &a), 0);
	assert_int_equal(a->incarnation, 0);
	assert_int_equal(sp_table_reserve(table, &b), 0);
	assert_ptr_not_equal(a, b);
	assert_int_equal(sp_table_reserve(table, &found), -E2BIG);
	assert_int_equal(figures().nr_full, 1);
	assert_null(lookup(7));
	assert_int_equal(sp_table_publish(table, a, key_of(7), hash_of(7),
					  payload, &found),
			 0);
	assert_ptr_equal(found, a);
	assert_int_equal(lookup(7)->twice, 14);
	assert_int_equal(sp_table_publish(table, b, key_of(7), hash_of(7),
					  payload, &found),
			 -EEXIST);
	assert_ptr_equal(found, a);
	assert_int_equal(sp_table_reserve(table, &b), 0);
	sp_table_unreserve(table, b);
	assert_int_equal(figures().nr_entries, 1);
	insert(8);
	assert_int_equal(table->hdr->nr_used, 2);
	close_table();
}

static uint64_t next_victim;

static unsigned evict_oldest(struct sp_table *t, void *arg)
{
	(void)t;
	assert_ptr_equal(arg, &next_victim);
	if (next_victim >= 1000)
		return 0;
	take_out(next_victim++);
	return 1;
}

static void the_eviction_hook_makes_room(void **state)
{
	struct sp_table_opts opts = row_opts(50);
	struct row *row;

	(void)state;
	next_victim = 0;
	opts.evict = evict_oldest;
	opts.evict_arg = &next_victim;
	open_with(&opts);
	for (uint64_t i = 0; i < 1050; i++) {
		insert(i);
		sp_table_quiescent(table);
	}
	assert_int_equal(figures().nr_evicted, 1000);
	assert_int_equal(figures().nr_full, 0);
	assert_null(lookup(999));
	assert_non_null(lookup(1000));
	/* A key that is there evicts nobody. */
	next_victim = 0;
	assert_int_equal(insert_hashed(1049, hash_of(1049), &row), -EEXIST);
	assert_int_equal(next_victim, 0);
	next_victim = 1000;
	assert_int_equal(insert_hashed(2000, hash_of(2000), &row), -ENOSPC);
	assert_int_equal(figures().nr_full, 1);
	close_table();
}

static void options_out_of_range_are_refused(void **state)
{
	struct sp_table_opts good = row_opts(50), bad;
	char long_name[SP_OBJECT_NAME_MAX + 2];
	struct sp_table *other = NULL;

	(void)state;
	open_with(&good);
	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
#define REFUSED(name, field, value)                                            \
	do {                                                                   \
		bad = good;                                                    \
		bad.field = (value);                                           \
		assert_int_equal(sp_table_create(plane, name, &bad, &other),   \
				 -EINVAL);                                     \
	} while (0)
	REFUSED("a", sz, sizeof(bad) - 8);
	REFUSED("a", key_bytes, 0);
	REFUSED("a", key_bytes, SP_TABLE_KEY_MAX + 1);
	REFUSED("a", entry_bytes, 24);
	REFUSED("a", entry_bytes, 44);
	REFUSED("a", entry_bytes, SP_TABLE_ENTRY_MAX + 8);
	REFUSED("a", max_entries, (1u << 28) + 1);
	REFUSED("a", min_buckets, SP_TABLE_MAX_BUCKETS + 1);
	REFUSED("a", flags, 4);
	REFUSED("a/b", kind, 1);
	REFUSED(long_name, kind, 1);
#undef REFUSED
	assert_int_equal(sp_table_create(plane, "a", NULL, &other), -EINVAL);
	assert_int_equal(sp_table_create(plane, "rows", &good, &other),
			 -EEXIST);
	good.max_entries = 1u << 28; /* more address space than there is */
	assert_int_equal(sp_table_create(plane, "a", &good, &other), -ENOSPC);
	assert_null(other);
	close_table();
}

/* --- walk ----------------------------------------------------------------- */

#define WALK_KEYS 3000

/*
 * A walk in small steps; between them the table grows by others. All of
 * [0, nr_permanent) must come exactly once, the rest at most once.
 */
static void walk_while_growing(uint64_t nr_permanent, unsigned step,
			       bool remove)
{
	static unsigned seen[WALK_KEYS];
	static struct sp_table_head *entries[SP_TABLE_WALK_MIN + 200];
	uint64_t cursor = 0, next = nr_permanent;
	unsigned nr;

	memset(seen, 0, sizeof(seen));
	open_table(WALK_KEYS, 0);
	for (uint64_t i = 0; i < nr_permanent; i++)
		insert(i);
	while ((nr = sp_table_walk(table, &cursor, entries,
				   SP_TABLE_WALK_MIN + draw(200)))) {
		for (unsigned i = 0; i < nr; i++)
			seen[((struct row *)entries[i])->number]++;
		for (unsigned i = 0; i < step && next < WALK_KEYS; i++)
			insert(next++);
		if (remove && next > nr_permanent + 10)
			take_out(nr_permanent + next % 7);
		remove = false;
	}
	for (uint64_t i = 0; i < WALK_KEYS; i++) {
		if (i < nr_permanent)
			assert_int_equal(seen[i], 1);
		else
			assert_true(seen[i] <= 1);
	}
	assert_int_equal(sp_table_walk(table, &cursor, entries, 64), 0);
	close_table();
}

static void a_walk_finds_each_entry_once_while_the_table_doubles(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 60; i++)
		walk_while_growing(1 + draw(600), draw(200), i % 2);
	walk_while_growing(300, 2700, false);
	walk_while_growing(0, 0, false);
	walk_while_growing(WALK_KEYS, 0, false);
}

static void a_walk_through_a_sparse_table_misses_nothing(void **state)
{
	struct sp_table_opts opts = row_opts(100);
	struct sp_table_head *entries[SP_TABLE_WALK_MIN];

	(void)state;
	for (uint32_t size = 1; size <= 1u << 17; size *= 2) {
		static const uint32_t ends[] = {0, 1, 63, 64, 4095, 4096};
		uint64_t cursor = 0, nr = 0, found = 0, last = 0;
		struct row *row;

		opts.min_buckets = size;
		open_with(&opts);
		for (unsigned i = 0; i < 6; i++) {
			if (ends[i] >= size)
				continue;
			assert_int_equal(insert_hashed(nr++, ends[i], &row), 0);
			assert_int_equal(
				insert_hashed(nr++, size - 1 - ends[i], &row),
				0);
		}
		while ((found = sp_table_walk(table, &cursor, entries,
					      SP_TABLE_WALK_MIN)))
			last += found;
		assert_int_equal(last, nr);
		cursor = 0;
		while (sp_table_walk(table, &cursor, entries,
				     SP_TABLE_WALK_MIN)) {
			for (uint64_t i = 0; i < nr; i++)
				if (entries[i])
					sp_table_remove(table, entries[i]);
			break;
		}
		/* Empty again: no bit is left. */
		for (uint32_t w = 0; w <= (size - 1) / 64; w++)
			assert_int_equal(table->bitmap[w], 0);
		for (uint32_t w = 0; w <= (size - 1) / 4096; w++)
			assert_int_equal(table->summary[w], 0);
		close_table();
	}
}

static void any_cursor_ends(void **state)
{
	struct sp_table_head *entries[SP_TABLE_WALK_MIN];

	(void)state;
	open_table(1000, 0);
	for (uint64_t i = 0; i < 1000; i++)
		insert(i);
	for (unsigned i = 0; i < 2000; i++) {
		uint64_t cursor =
			(uint64_t)draw(UINT32_MAX) << 32 | draw(UINT32_MAX);
		unsigned steps = 0;

		while (sp_table_walk(table, &cursor, entries,
				     SP_TABLE_WALK_MIN))
			assert_true(steps++ < 1000);
	}
	close_table();
}

/* --- changes of several words --------------------------------------------- */

static void a_copy_is_of_one_moment(void **state)
{
	struct row *row, copy;

	(void)state;
	open_table(10, 0);
	row = insert(1);
	assert_int_equal(sp_table_copy(table, &row->head, &copy), 0);
	assert_memory_equal(&copy, row, sizeof(copy));
	sp_table_change_begin(&row->head);
	sp_table_store(&row->number, 5);
	assert_int_equal(sp_table_copy(table, &row->head, &copy), -EAGAIN);
	sp_table_store(&row->twice, 10);
	sp_table_change_end(&row->head);
	assert_int_equal(sp_table_copy(table, &row->head, &copy), 0);
	assert_int_equal(copy.number, 5);
	assert_int_equal(copy.twice, 10);
	sp_table_remove(table, &row->head);
	assert_int_equal(sp_table_copy(table, &row->head, &copy), -ENOENT);
	close_table();
}

/* --- from a reader -------------------------------------------------------- */

static struct sp_reader *reader;
static struct sp_reader_table *remote;
static struct sp_object object;

static void open_remote(void)
{
	reader = small_reader(plane);
	assert_int_equal(
		sp_reader_find(reader, SP_OBJECT_TABLE, 0, "rows", &object), 0);
	assert_int_equal(sp_reader_table_open(reader, &object, &remote), 0);
}

static void close_remote(void)
{
	sp_reader_table_close(remote);
	sp_reader_detach(reader);
}

static void a_reader_walks_the_same_rows(void **state)
{
	static struct row rows[SP_TABLE_WALK_MIN];
	struct sp_table_figures f;
	uint64_t cursor = 0;
	static bool seen[900];
	int nr;

	(void)state;
	open_table(1000, 0);
	for (uint64_t i = 0; i < 900; i++)
		insert(i);
	open_remote();
	sp_reader_table_stats(remote, &f);
	assert_int_equal(f.nr_entries, 900);
	assert_int_equal(f.max_entries, 1000);
	assert_int_equal(f.kind, 77);
	assert_int_equal(f.key_bytes, KEY_BYTES);
	assert_int_equal(f.entry_bytes, sizeof(struct row));
	assert_int_equal(f.nr_buckets, figures().nr_buckets);
	assert_int_equal(f.memory_bytes, figures().memory_bytes);
	while ((nr = sp_reader_table_walk(remote, &cursor, rows,
					  SP_TABLE_WALK_MIN)) > 0)
		for (int i = 0; i < nr; i++) {
			assert_false(seen[rows[i].number]);
			seen[rows[i].number] = true;
			assert_memory_equal(&rows[i], lookup(rows[i].number),
					    sizeof(rows[i]));
		}
	assert_int_equal(nr, 0);
	for (int i = 0; i < 900; i++)
		assert_true(seen[i]);
	close_remote();
	close_table();
}

static void a_locked_bucket_is_skipped_and_counted(void **state)
{
	static struct row rows[SP_TABLE_WALK_MIN];
	struct sp_plane_info info;
	unsigned in_bucket = 0, found = 0;
	uint64_t cursor = 0;
	int nr;

	(void)state;
	open_table(1000, 0);
	for (uint64_t i = 0; i < 900; i++)
		insert(i);
	open_remote();
	/* As if its writer had been killed. */
	table->buckets[3].seq++;
	for (uint64_t i = 0; i < 900; i++)
		in_bucket +=
			sp_bucket_of(hash_of(i), table->hdr->nr_buckets) == 3;
	assert_true(in_bucket > 0);
	while ((nr = sp_reader_table_walk(remote, &cursor, rows,
					  SP_TABLE_WALK_MIN)) > 0)
		found += (unsigned)nr;
	assert_int_equal(nr, 0);
	assert_int_equal(found, 900 - in_bucket);
	sp_reader_info(reader, &info);
	assert_int_equal(info.nr_unstable, 1);
	/* Lookups need no bucket to be unlocked. */
	for (uint64_t i = 0; i < 900; i++)
		assert_non_null(lookup(i));
	close_remote();
	close_table();
}

static void an_entry_in_change_makes_its_bucket_unstable(void **state)
{
	static struct row rows[SP_TABLE_WALK_MIN];
	struct sp_plane_info info;
	uint64_t cursor = 0;

	(void)state;
	open_table(1000, 0);
	sp_table_change_begin(&insert(1)->head);
	open_remote();
	assert_int_equal(
		sp_reader_table_walk(remote, &cursor, rows, SP_TABLE_WALK_MIN),
		0);
	sp_reader_info(reader, &info);
	assert_int_equal(info.nr_unstable, 1);
	close_remote();
	close_table();
}

static void a_table_that_is_gone_is_stale(void **state)
{
	static struct row rows[SP_TABLE_WALK_MIN];
	struct sp_table_opts opts = row_opts(1000);
	struct sp_reader_table *other;
	uint64_t cursor = 0;

	(void)state;
	open_with(&opts);
	for (uint64_t i = 0; i < 900; i++)
		insert(i);
	open_remote();
	assert_true(sp_reader_table_walk(remote, &cursor, rows,
					 SP_TABLE_WALK_MIN) > 0);
	sp_table_destroy(table);
	assert_int_equal(
		sp_reader_table_walk(remote, &cursor, rows, SP_TABLE_WALK_MIN),
		-ESTALE);
	assert_int_equal(sp_reader_table_open(reader, &object, &other),
			 -ESTALE);
	/* The next one gets the memory, and it is clean. */
	assert_int_equal(sp_table_create(plane, "rows", &opts, &table), 0);
	assert_int_equal(
		sp_reader_table_walk(remote, &cursor, rows, SP_TABLE_WALK_MIN),
		-ESTALE);
	assert_int_equal(figures().nr_entries, 0);
	for (uint64_t i = 0; i < 900; i++)
		assert_null(lookup(i));
	insert(5);
	assert_int_equal(lookup(5)->head.incarnation, 1);
	close_remote();
	close_table();
}

static void tables_are_told_apart_by_their_parents(void **state)
{
	struct sp_table_opts opts = row_opts(10);
	struct sp_table *other;

	(void)state;
	open_with(&opts);
	opts.parent = small_add(plane, "parent", 0, 0);
	assert_int_equal(sp_table_create(plane, "rows", &opts, &other), 0);
	assert_int_not_equal(sp_table_id(other), sp_table_id(table));
	reader = small_reader(plane);
	assert_int_equal(sp_reader_find(reader, SP_OBJECT_TABLE, opts.parent,
					"rows", &object),
			 0);
	assert_int_equal(object.id, sp_table_id(other));
	sp_reader_detach(reader);
	sp_table_destroy(other);
	close_table();
}

/* Each field of a header that cannot be true. */
static void headers_that_lie_are_refused(void **state)
{
	struct sp_reader_table *other = NULL;
	struct sp_table_hdr good;
	struct sp_object lie;

	(void)state;
	open_table(1000, 0);
	open_remote();
	good = *table->hdr;
#define REFUSED(field, value)                                                  \
	do {                                                                   \
		table->hdr->field = (value);                                   \
		assert_int_equal(                                              \
			sp_reader_table_open(reader, &object, &other),         \
			-EBADMSG);                                             \
		*table->hdr = good;                                            \
	} while (0)
	REFUSED(version, 2);
	REFUSED(key_bytes, 0);
	REFUSED(key_bytes, 65);
	REFUSED(entry_bytes, 20);
	REFUSED(entry_bytes, 24);
	REFUSED(entry_bytes, 72);
	REFUSED(slot_bytes, 40);
	REFUSED(slot_bytes, 65);
	REFUSED(slot_bytes, 1u << 31);
	REFUSED(max_buckets, 0);
	REFUSED(max_buckets, 3);
	REFUSED(max_buckets, 1u << 31);
	REFUSED(max_slots, 0);
	REFUSED(max_slots, UINT32_MAX);
	REFUSED(max_overflow, UINT32_MAX);
	REFUSED(summary_off, 0);
	REFUSED(bitmap_off, UINT64_MAX - 7);
	REFUSED(bucket_off, good.bucket_off + 8);
	REFUSED(bucket_off, good.area_len);
	REFUSED(entry_off, good.area_len - 64);
	REFUSED(area_len, 0);
	REFUSED(area_len, UINT64_MAX);
	REFUSED(area_len, UINT64_C(1) << 40);
#undef REFUSED
	lie = object;
	lie.type = SP_OBJECT_MIB;
	assert_int_equal(sp_reader_table_open(reader, &lie, &other), -EINVAL);
	lie = object;
	lie.attr[SP_TABLE_ATTR_OFF] = UINT64_MAX - 63;
	assert_int_equal(sp_reader_table_open(reader, &lie, &other), -EBADMSG);
	lie.attr[SP_TABLE_ATTR_OFF] = 8;
	assert_int_equal(sp_reader_table_open(reader, &lie, &other), -EBADMSG);
	assert_null(other);
	close_remote();
	close_table();
}

/* Numbers that change later, or lead out of the table. */
static void walks_survive_numbers_that_lie(void **state)
{
	static struct row rows[SP_TABLE_WALK_MIN];
	struct sp_table_hdr good;
	int nr;

	(void)state;
	open_table(1000, 0);
	for (uint64_t i = 0; i < 900; i++)
		insert(i);
	open_remote();
	good = *table->hdr;
	table->buckets[1].idx[0] = UINT32_MAX;
	table->buckets[2].overflow = UINT32_MAX;
	table->buckets[4].overflow = 1; /* in a circle */
	table->overflow[0].overflow = 1;
	for (unsigned i = 0; i < 6; i++) {
		static const uint32_t nr_buckets[] = {
			0, 1, 100, UINT32_MAX, 1u << 31, 257};
		uint64_t cursor = 0;
		unsigned steps = 0;

		table->hdr->nr_buckets = nr_buckets[i];
		table->hdr->nr_slots = i % 2 ? 0 : UINT32_MAX;
		while ((nr = sp_reader_table_walk(remote, &cursor, rows,
						  SP_TABLE_WALK_MIN)) > 0)
			assert_true(steps++ < 1000);
		assert_int_equal(nr, 0);
	}
	*table->hdr = good;
	close_remote();
	close_table();
}

/* --- memory --------------------------------------------------------------- */

static void an_empty_table_costs_a_few_pages(void **state)
{
	struct sp_table_opts opts = row_opts(1000000);
	uint64_t before;

	(void)state;
	plane = small_segment(NULL);
	opts.entry_bytes = 48;
	opts.max_entries = 500000;
	before = small_backed_bytes(sp_plane_fd(plane));
	assert_int_equal(sp_table_create(plane, "rows", &opts, &table), 0);
	assert_true(small_backed_bytes(sp_plane_fd(plane)) - before <=
		    5 * plane->page_size);
	close_table();
}

/* In a child. */
static void fill_up(void)
{
	struct sp_plane_opts plane_opts = small_opts(small_path("plane"));
	struct sp_table_opts opts = row_opts(100000);
	uint64_t nr = 0, refused = 0;
	struct sp_table_figures f;
	struct sp_table *other;
	struct row *row;
	int err;

	full_require(!sp_segment_create(&plane_opts, &plane));
	full_require(!sp_segment_publish(plane));
	full_require(!sp_table_create(plane, "rows", &opts, &table));
	full_fill(300 * 1024);
	while (!(err = insert_hashed(nr, hash_of(nr), &row)))
		nr++;
	full_require(err == -ENOSPC);
	for (uint64_t i = nr; i < nr + 100; i++)
		if (insert_hashed(i, hash_of(i), &row) == -ENOSPC)
			refused++;
	sp_table_stats(table, &f);
	full_require(refused == 100 && f.nr_no_memory == 101 &&
		     f.nr_full == 0 && f.nr_entries == nr && nr > 1000);
	for (uint64_t i = 0; i < nr; i++)
		full_require(lookup(i) && lookup(i)->number == i);
	opts.flags = SP_TABLE_POPULATE;
	full_require(sp_table_create(plane, "other", &opts, &other) == -ENOSPC);
	/* With room again, all goes on. */
	full_free();
	for (uint64_t i = nr; i < nr + 2000; i++)
		full_require(!insert_hashed(i, hash_of(i), &row));
	for (uint64_t i = 0; i < nr + 2000; i++)
		full_require(lookup(i) && lookup(i)->number == i);
	sp_table_destroy(table);
	sp_segment_close(plane);
}

static void a_full_file_system_is_an_error_code(void **state)
{
	(void)state;
	full_run(4096, fill_up);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_inserted_is_found_and_nothing_else),
		cmocka_unit_test(keys_of_every_length_are_told_apart),
		cmocka_unit_test(a_key_is_in_a_table_once),
		cmocka_unit_test(a_payload_begins_as_zeros_if_none_is_given),
		cmocka_unit_test(what_was_removed_is_gone_but_readable),
		cmocka_unit_test(
			memory_of_removed_entries_waits_for_a_quiescent_state),
		cmocka_unit_test(entries_have_constant_numbers),
		cmocka_unit_test(a_batch_finds_what_single_lookups_find),
		cmocka_unit_test(a_table_is_a_map),
		cmocka_unit_test(a_table_with_one_writer_is_a_map),
		cmocka_unit_test(keys_with_one_hash_are_told_apart),
		cmocka_unit_test(long_chains_survive_being_split),
		cmocka_unit_test(hashes_are_secret),
		cmocka_unit_test(a_full_table_refuses_and_stays_as_it_was),
		cmocka_unit_test(an_entry_is_reserved_then_published),
		cmocka_unit_test(the_eviction_hook_makes_room),
		cmocka_unit_test(options_out_of_range_are_refused),
		cmocka_unit_test(
			a_walk_finds_each_entry_once_while_the_table_doubles),
		cmocka_unit_test(a_walk_through_a_sparse_table_misses_nothing),
		cmocka_unit_test(any_cursor_ends),
		cmocka_unit_test(a_copy_is_of_one_moment),
		cmocka_unit_test(a_reader_walks_the_same_rows),
		cmocka_unit_test(a_locked_bucket_is_skipped_and_counted),
		cmocka_unit_test(an_entry_in_change_makes_its_bucket_unstable),
		cmocka_unit_test(a_table_that_is_gone_is_stale),
		cmocka_unit_test(tables_are_told_apart_by_their_parents),
		cmocka_unit_test(headers_that_lie_are_refused),
		cmocka_unit_test(walks_survive_numbers_that_lie),
		cmocka_unit_test(an_empty_table_costs_a_few_pages),
		cmocka_unit_test(a_full_file_system_is_an_error_code),
	};

	return cmocka_run_group_tests(tests, small_dir_make, small_dir_remove);
}
