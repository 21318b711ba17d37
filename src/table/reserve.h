/* SPDX-License-Identifier: MIT */
/*
 * table/reserve.h - insertion in two steps, for rooms whose entries have more to
 * them than a key and a payload.
 *
 *	sp_table_reserve()     an entry that nobody can see, or hold any more
 *	...                    what the caller keeps by entry is made ready
 *	sp_table_publish()     the entry gets its key and can be found
 *	sp_table_unreserve()   or it is given back
 *
 * An entry keeps its number and its memory over all its lives, so whatever else
 * belongs to it may be found by number and used again.
 */
#ifndef SP_TABLE_RESERVE_H
#define SP_TABLE_RESERVE_H

#include <statplane/table.h>

/**
 * sp_table_reserve() - what an insertion needs that can fail
 *
 * Its incarnation is 0 if it is used for the first time.
 *
 * Return: 0; -E2BIG if max_entries are in the table and opts.evict made no room;
 * -ENOSPC if there is no memory, or that of removed entries is not ready again.
 * Either is counted.
 *
 * Context: as sp_table_insert().
 */
int sp_table_reserve(struct sp_table *table, struct sp_table_head **ret_entry);

void sp_table_unreserve(struct sp_table *table, struct sp_table_head *entry);

/**
 * sp_table_publish() - show an entry that was reserved
 * @payload: as for sp_table_insert()
 * @ret_entry: the entry, or with -EEXIST the one that has the key
 *
 * Return: 0; -EEXIST or -ENOSPC, and it is no longer reserved.
 */
int sp_table_publish(struct sp_table *table, struct sp_table_head *entry,
		     const void *key, uint64_t hash, const void *payload,
		     struct sp_table_head **ret_entry);

#endif
