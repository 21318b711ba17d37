/* SPDX-License-Identifier: MIT */
/*
 * render/plan.h - how one file is made from one kind of object, worked out
 *once.
 *
 * A plan joins three things: the columns of a file in a layout
 *(render/columns.h), the cells that the object's schema has for them, matched
 *by name, and the constant text around the figures. What is left to do for each
 *reading is to fold a few ranges of cells into the renderer's buffer and to
 *write, column by column, constant text and a figure.
 *
 *	schema:  0 1 2 3 4 5 6 7 8 ...           cells of the object
 *	             \_____/     \_/             ranges: runs that the file
 *needs values:  0   1 2 3 4     5 6             slots; slot 0 is always zero
 *
 * Columns whose item the schema lacks use slot 0. Gaps of a few cells are
 *folded along, which is cheaper than another pass over the units.
 *
 * A plan is made for a schema id and a layout and made again when either
 *changes.
 */
#ifndef SP_RENDER_PLAN_H
#define SP_RENDER_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <statplane/reader.h>
#include <statplane/render.h>

#include "render/columns.h"

enum sp_file {
	SP_FILE_SNMP,
	SP_FILE_NETSTAT,
	SP_FILE_SNMP6,
	SP_FILE_DEV,
	SP_FILE_DEV_SNMP6,
	SP_FILE_SOCKSTAT,
	SP_FILE_SOCKSTAT6,
	SP_FILE_SOFTNET,
	SP_NR_PLANS,
	/* No cells: rows of the namespace's table, in the order of socket_files[]
	 * (render/sockets.c). */
	SP_FILE_TCP = SP_NR_PLANS,
	SP_FILE_TCP6,
	SP_FILE_UDP,
	SP_FILE_UDP6,
	SP_FILE_UDPLITE,
	SP_FILE_UDPLITE6,
	SP_FILE_RAW,
	SP_FILE_RAW6,
	SP_NR_FILES
};

enum sp_format {
	SP_FORMAT_CELL,       /* unsigned, also a gauge's sum below 0 */
	SP_FORMAT_AT_LEAST_0, /* a gauge; 0 if its sum is below */
	SP_FORMAT_CONSTANT,   /* signed, from the column */
	SP_FORMAT_ATTR,       /* an attribute of the object */
	SP_FORMAT_TYPES, /* no figure: here come the nonzero message types */
	SP_FORMAT_ROW,   /* the number of the row */
};

/* What each reading needs of a column, kept small and apart from the rest. */
struct sp_plan_step {
	uint16_t slot;
	uint16_t lead_off; /* text before the figure */
	uint16_t lead_len;
	uint16_t format; /* enum sp_format */
};

struct sp_plan_column {
	const struct sp_column *column; /* NULL for SP_FORMAT_TYPES */
	const struct sp_column_group *group;
	uint32_t cell; /* while the plan is made */
};

struct sp_plan_range {
	uint32_t cell_idx;
	uint32_t nr;
	uint32_t slot;
};

struct sp_plan {
	uint64_t schema; /* id; 0: not made yet */
	enum sp_layout layout;
	struct sp_plan_column *columns;
	struct sp_plan_step *steps; /* one a column */
	size_t nr_columns;
	struct sp_plan_range *ranges;
	size_t nr_ranges;
	char *leads; /* 8 bytes beyond the last may be read */
	size_t leads_len;
	uint32_t in_slot; /* 256 received types, 0: the schema has none */
	uint32_t out_slot;
};

/* Room that the values of the largest file need, in cells. */
size_t sp_plan_max_slots(void);

/* Memory for the plan of @file in any layout. Return: 0, -ENOMEM. */
int sp_plan_init(struct sp_plan *plan, enum sp_file file);
void sp_plan_fini(struct sp_plan *plan);

/**
 * sp_plan_make() - have @plan fit a schema and a layout
 * @schema: id of the schema of the object that will be shown
 *
 * Nothing to do if it fits already. Allocates nothing.
 *
 * Return: 0; -EBADMSG if there is no such schema or it contradicts itself;
 * -EPROTO for one in another format.
 */
int sp_plan_make(struct sp_plan *plan, enum sp_file file,
		 struct sp_reader *reader, uint64_t schema,
		 enum sp_layout layout);

/**
 * sp_plan_fold() - the object's figures, summed over all units
 * @values: sp_plan_max_slots() places; slot 0 is set to 0
 *
 * Return: 0; -ESTALE; -EBADMSG if the cells are not inside the object.
 */
int sp_plan_fold(const struct sp_plan *plan, struct sp_reader *reader,
		 const struct sp_object *object, uint64_t *values);
/* The same of one unit. Return: as above, or -ENODATA: it was never written. */
int sp_plan_unit(const struct sp_plan *plan, struct sp_reader *reader,
		 const struct sp_object *object, uint32_t unit,
		 uint64_t *values);

/* The first word of a net/sockstat item's name, e.g. TCP of TCP_inuse. */
size_t sp_sockstat_word_len(const struct sp_column *column);

#endif
