/* SPDX-License-Identifier: MIT */
/*
 * statplane/table.h - a hash table in a plane: found by key, walked by anybody.
 *
 * Connections, rules and maps keep their rows in tables. A table has keys of one
 * size and entries of one size; it starts small and doubles while it is used,
 * up to a bound that is given when it is made. Lookups take no lock, a change
 * locks one bucket, and other processes walk the table through the reader.
 *
 * When not to use it: for counters by number (statplane/mib.h does that), or for
 * a handful of rows that nobody else reads.
 *
 * An entry is a struct of the caller's that begins with the head, then the key,
 * padded with zeros to a multiple of 8 bytes:
 *
 *	struct flow {
 *		struct sp_table_head head;
 *		uint8_t key[16];	// key_bytes 13: 3 of padding
 *		uint64_t packets;	// the payload, from here on
 *		uint64_t octets;
 *	};
 *
 * Entries never move in memory while they live. What is in the payload is the
 * caller's: single cells that one thread writes may be stored plainly (as
 * aligned words, best with sp_table_store()), several that must be seen together
 * between sp_table_change_begin() and sp_table_change_end().
 *
 * Which calls may run together, on one table
 *
 *	                     lookup, walk   insert, remove   quiescent   destroy
 *	lookup, walk         yes            yes              yes         no
 *	insert, remove       yes            yes [1]          yes [1]     no
 *	quiescent            yes            yes [1]          yes         no
 *	readers of other     yes            yes              yes         yes
 *	processes
 *
 *	[1] With SP_TABLE_ONE_WRITER, all these calls come from one thread at a
 *	    time.
 *
 * Memory of removed entries is used again only when no thread can hold a
 * pointer to one any more (liburcu's QSBR). So, where more than one thread uses
 * a table: each calls sp_table_thread_register() first, says
 * sp_table_quiescent() between batches of work, at which moment it keeps no
 * pointer to any entry that it does not own, and goes offline before it sleeps.
 *
 * Errors are negative errno values; outputs stay untouched on failure.
 */
#ifndef STATPLANE_TABLE_H
#define STATPLANE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <statplane/export.h>
#include <statplane/plane.h>
#include <statplane/reader.h>

SP_BEGIN_DECLS

struct sp_table;

/*
 * Where an entry begins. The library's: read only.
 * @seq: odd while the entry changes
 * @incarnation: odd while the entry lives; grows when it comes and when it goes
 * @hash: of the key
 */
struct sp_table_head {
	uint32_t seq;
	uint32_t incarnation;
	uint64_t hash;
};

#define SP_TABLE_KEY_MAX   64
#define SP_TABLE_ENTRY_MAX 4096
/* Bytes before the payload. */
#define SP_TABLE_PAYLOAD_OFF(key_bytes)                                        \
	(sizeof(struct sp_table_head) + (((key_bytes) + 7) & ~(size_t)7))

enum {
	/* One thread changes the table at any time: changes cost no locked
	 * instruction. Any number may look up and walk meanwhile. */
	SP_TABLE_ONE_WRITER = 1,
	/* Have all memory from the start: insertions then make no system call
	 * and cannot run out of it. */
	SP_TABLE_POPULATE = 2,
};

/**
 * struct sp_table_opts - how to create a table; zero means the default
 * @sz:          sizeof(struct sp_table_opts) of the caller
 * @parent:      id of the object that it belongs to (a namespace), or 0
 * @kind:        what the entries are, for readers; shown, not interpreted
 * @key_bytes:   1 to SP_TABLE_KEY_MAX
 * @entry_bytes: sizeof the caller's struct: a multiple of 8, at least
 *               SP_TABLE_PAYLOAD_OFF(key_bytes), at most SP_TABLE_ENTRY_MAX.
 *               At 64 or less, and multiples of 64, no entry straddles a cache
 *               line for nothing.
 * @max_entries: the most entries at one time (default 65536, at most 2^28)
 * @min_buckets: room for about 4 entries each from the start (default 64;
 *               rounded up to a power of two)
 * @flags:       SP_TABLE_...
 * @evict:       called by an insert that finds the table full, without locks
 *               held; may remove entries of the table (sp_table_remove()) and
 *               returns how many it did. Insertion is then tried once more.
 * @evict_arg:   for @evict
 */
struct sp_table_opts {
	size_t sz;
	uint64_t parent;
	uint64_t kind;
	uint32_t key_bytes;
	uint32_t entry_bytes;
	uint32_t max_entries;
	uint32_t min_buckets;
	uint32_t flags;
	unsigned (*evict)(struct sp_table *table, void *evict_arg);
	void *evict_arg;
};

/**
 * sp_table_create() - make an empty table and show it in the directory
 * @name: as sp_object.name; unique among the tables of the parent
 *
 * Return: 0; -EINVAL for options out of range; -EEXIST if the name is taken;
 * -ENOSPC if the plane has no address space, the directory no slot, or the file
 * system no room; -ENOMEM.
 *
 * Context: any thread; system calls.
 */
SP_API int sp_table_create(struct sp_plane *plane, const char *name,
			   const struct sp_table_opts *opts,
			   struct sp_table **ret_table);

/* NULL is fine. No thread may use it any more; readers may. Give it up before
 * the plane is closed. */
SP_API void sp_table_destroy(struct sp_table *table);

/* The id of its directory object. */
SP_API uint64_t sp_table_id(const struct sp_table *table);

/* --- threads -------------------------------------------------------------- */

/* Once for each thread that shares a table with others, and at its end. */
SP_API void sp_table_thread_register(void);
SP_API void sp_table_thread_unregister(void);
/* Around sleeping: offline, a thread holds no pointers and uses no table. */
SP_API void sp_table_thread_offline(void);
SP_API void sp_table_thread_online(void);

/**
 * sp_table_quiescent() - this thread holds no pointer to an entry
 *
 * Call it between batches of work. Where enough removed entries of @table have
 * gathered, waits until all other registered threads have said the same (or are
 * offline), and makes the memory ready for use again. A thread that is alone
 * never waits. @table may be NULL: then only the promise is made.
 *
 * Context: a few ns if there is nothing to do. Not registered threads: only if
 * no other thread uses the table.
 */
SP_API void sp_table_quiescent(struct sp_table *table);

/* --- find ----------------------------------------------------------------- */

/* Keyed by a secret of the table. Context: any. */
SP_API uint64_t sp_table_hash(const struct sp_table *table, const void *key);

/**
 * sp_table_lookup() - the entry with this key
 * @key: key_bytes of any alignment
 * @hash: sp_table_hash() of it
 *
 * Return: the entry; NULL if there was none at some moment during the call.
 * Valid until the thread's next sp_table_quiescent(), even if it is removed
 * meanwhile.
 *
 * Context: any thread; no lock, no store. Waits (yielding) while a doubling
 * moves just this bucket.
 */
SP_API struct sp_table_head *sp_table_lookup(const struct sp_table *table,
					     const void *key, uint64_t hash);

/**
 * sp_table_lookup_batch() - the same for many keys, their misses overlapping
 * @keys: the first key, the next one @stride bytes behind it
 * @nr: any number; 32 at a time are on their way
 * @ret_hashes: @nr hashes, for insertion of what was not found; NULL: not wanted
 * @ret_entries: @nr entries or NULLs
 */
SP_API void sp_table_lookup_batch(const struct sp_table *table,
				  const void *keys, size_t stride, unsigned nr,
				  uint64_t *ret_hashes,
				  struct sp_table_head **ret_entries);

/* --- change --------------------------------------------------------------- */

/**
 * sp_table_insert() - add an entry unless the key is there
 * @payload: what its payload begins as (entry_bytes - SP_TABLE_PAYLOAD_OFF),
 *           NULL for zeros
 * @ret_entry: the new entry, or with -EEXIST the one that has the key
 *
 * Nobody sees an entry before it is whole.
 *
 * Return: 0; -EEXIST; -ENOSPC if max_entries are in it, or there is no memory
 * (each counted, everything is as it was). Memory of removed entries counts as
 * there only when nobody can hold them any more: an eighth of max_entries and
 * some thousand may wait for that. The table may double meanwhile: what
 * of it is not yet moved is moved by later insertions, a few buckets each.
 *
 * Context: any thread (ONE_WRITER: the one); not signal handlers. Calls
 * opts.evict. May populate memory (system calls).
 */
SP_API int sp_table_insert(struct sp_table *table, const void *key,
			   uint64_t hash, const void *payload,
			   struct sp_table_head **ret_entry);

/**
 * sp_table_remove() - take an entry out
 *
 * The entry stays readable until the thread's next sp_table_quiescent().
 *
 * Return: 0; -ENOENT if somebody else removed it before.
 */
SP_API int sp_table_remove(struct sp_table *table, struct sp_table_head *entry);

/*
 * Entries by number: 0 .. max_entries and some more, constant while an entry
 * lives. sp_table_at() gives the memory of any number that was ever in use:
 * compare its incarnation.
 */
SP_API uint32_t sp_table_idx(const struct sp_table *table,
			     const struct sp_table_head *entry);
SP_API struct sp_table_head *sp_table_at(const struct sp_table *table,
					 uint32_t idx);

/* Several words of a payload change together, as all who copy it see it. One
 * thread at a time for each entry. */
static inline void sp_table_change_begin(struct sp_table_head *entry)
{
	__atomic_store_n(&entry->seq, entry->seq + 1, __ATOMIC_RELAXED);
	/* [T5] words are stored behind this; sp_table_store() has release. */
}

static inline void sp_table_store(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE); /* [T5] */
}

static inline void sp_table_change_end(struct sp_table_head *entry)
{
	__atomic_store_n(&entry->seq, entry->seq + 1, __ATOMIC_RELEASE);
}

/**
 * sp_table_copy() - an entry as it was at one moment
 * @ret_copy: entry_bytes, head and key included
 *
 * Return: 0; -ENOENT if it does not live; -EAGAIN if it kept changing.
 */
SP_API int sp_table_copy(const struct sp_table *table,
			 const struct sp_table_head *entry, void *ret_copy);

/* --- walk ----------------------------------------------------------------- */

/* The least that a walk can be given room for. */
#define SP_TABLE_WALK_MIN 64

/**
 * sp_table_walk() - the next entries
 * @cursor: 0 to start; moved on. The whole state of a walk: nothing is held
 *          between calls, which may be as far apart as you like.
 * @max: room in @ret_entries, at least SP_TABLE_WALK_MIN
 *
 * An entry that lives through the whole walk appears exactly once, also while
 * the table doubles; one that comes or goes meanwhile, at most once (unless its
 * key was removed and inserted again). All entries of a bucket are of one
 * moment.
 *
 * Return: how many; 0 at the end. They are valid as those of lookups.
 *
 * Context: any thread; no lock, no store. Skips empty buckets 64 at a time, and
 * 4096 at a time where there are none.
 */
SP_API unsigned sp_table_walk(const struct sp_table *table, uint64_t *cursor,
			      struct sp_table_head **ret_entries, unsigned max);

/* --- figures -------------------------------------------------------------- */

struct sp_table_figures {
	uint64_t nr_entries;
	uint64_t max_entries;
	uint64_t nr_buckets;
	uint64_t max_buckets;
	uint64_t nr_overflow;  /* buckets added to full ones */
	uint64_t nr_waiting;   /* removed, memory not yet ready again */
	uint64_t nr_full;      /* insertions refused: max_entries */
	uint64_t nr_no_memory; /* insertions refused: no memory */
	uint64_t nr_evicted;   /* entries that opts.evict removed */
	uint64_t nr_stuck;     /* doublings given up for want of memory */
	uint64_t memory_bytes; /* populated */
	uint64_t key_bytes, entry_bytes, kind;
};

SP_API void sp_table_stats(const struct sp_table *table,
			   struct sp_table_figures *ret_stats);

/* --- from another process ------------------------------------------------- */

/* sp_object.attr of a SP_OBJECT_TABLE. */
enum {
	SP_TABLE_ATTR_OFF,  /* where it is in the tables section */
	SP_TABLE_ATTR_KIND, /* sp_table_opts.kind */
};

struct sp_reader_table;

/**
 * sp_reader_table_open() - look at a table through a reader
 * @object: of type SP_OBJECT_TABLE; copied
 *
 * Everything that an address is made of is checked.
 *
 * Return: 0; -EINVAL for another type; -EBADMSG if what it says cannot be true;
 * -ESTALE if the object is gone; -ENOMEM.
 */
SP_API int sp_reader_table_open(struct sp_reader *reader,
				const struct sp_object *object,
				struct sp_reader_table **ret_table);
/* NULL is fine. Before the reader is detached. */
SP_API void sp_reader_table_close(struct sp_reader_table *table);

/* nr_waiting is not known to readers: 0. */
SP_API void sp_reader_table_stats(const struct sp_reader_table *table,
				  struct sp_table_figures *ret_stats);

/**
 * sp_reader_table_walk() - copies of the next entries
 * @cursor: as for sp_table_walk(), same promise
 * @rows: room for @max entries of entry_bytes each
 * @max: at least SP_TABLE_WALK_MIN
 *
 * Each copy is of one moment; so is what a bucket holds. Waits for nobody:
 * a bucket or an entry that keeps changing, as one may for ever that a killed
 * writer left behind, is skipped and counted (sp_plane_info.nr_unstable).
 *
 * Return: how many, 0 at the end; -ESTALE if the table is gone: what was copied
 * by this call is void.
 *
 * Context: allocates nothing.
 */
SP_API int sp_reader_table_walk(struct sp_reader_table *table, uint64_t *cursor,
				void *rows, unsigned max);

SP_END_DECLS

#endif
