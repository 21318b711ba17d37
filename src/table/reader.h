/* SPDX-License-Identifier: MIT */
/*
 * table/reader.h - a reader's handle of a table, for rooms that keep it in memory
 * of their own: sp_reader_table_aim() allocates nothing.
 */
#ifndef SP_TABLE_READER_H
#define SP_TABLE_READER_H

#include <statplane/table.h>

#include "table/view.h"

struct sp_reader_table {
	struct sp_reader *reader;
	uint64_t id;
	struct sp_table_view view;
	uint64_t max_entries;
	uint64_t kind;
	unsigned max_tries;
	char *rows; /* of the walk that runs */
};

/**
 * sp_reader_table_aim() - sp_reader_table_open() into the caller's memory
 *
 * Return: as that, but never -ENOMEM; @table may be aimed again at any time.
 */
int sp_reader_table_aim(struct sp_reader_table *table, struct sp_reader *reader,
			const struct sp_object *object);

#endif
