/* SPDX-License-Identifier: MIT */
/*
 * render/columns.h - what each file of /proc shows, per layout: the .def files
 * as tables.
 *
 * These tables are this library's own and know nothing of a plane. A plane
 * states in its schemas which cells it has; the two are matched by name
 * (render/plan.c), so that a plane of another version can be shown.
 */
#ifndef SP_RENDER_COLUMNS_H
#define SP_RENDER_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include <statplane/render.h>

/* Where a column's figure comes from. */
enum sp_source {
	SP_SOURCE_CELL,     /* the item of that name in the column's group */
	SP_SOURCE_IN_TYPE,  /* cell @value of the array of received types */
	SP_SOURCE_OUT_TYPE, /* cell @value of the array of sent types */
	SP_SOURCE_CONSTANT, /* @value itself */
	SP_SOURCE_ATTR,     /* attribute @value of the object */
	SP_SOURCE_CPU,      /* the number of the row */
};

struct sp_column {
	const char *name;
	uint8_t name_len;
	uint8_t source;
	uint8_t is_signed;          /* a gauge */
	uint8_t pos[SP_NR_LAYOUTS]; /* 1 is the first, 0 not shown */
	int32_t value;
};

struct sp_column_group {
	const char *name;       /* group in the schema and prefix in the file */
	const char *array_name; /* group with the arrays of types, or NULL */
	const struct sp_column *columns;
	size_t nr_columns;
};

extern const struct sp_column_group sp_columns_ip;
extern const struct sp_column_group sp_columns_icmp;
extern const struct sp_column_group sp_columns_tcp;
extern const struct sp_column_group sp_columns_udp;
extern const struct sp_column_group sp_columns_udplite;
extern const struct sp_column_group sp_columns_tcpext;
extern const struct sp_column_group sp_columns_ipext;
extern const struct sp_column_group sp_columns_mptcpext;
extern const struct sp_column_group sp_columns_ip6;
extern const struct sp_column_group sp_columns_icmp6;
extern const struct sp_column_group sp_columns_icmp6type;
extern const struct sp_column_group sp_columns_udp6;
extern const struct sp_column_group sp_columns_udplite6;
extern const struct sp_column_group sp_columns_dev;
extern const struct sp_column_group sp_columns_sockstat;
extern const struct sp_column_group sp_columns_softnet;

/* The most positions that a group may have in a layout. */
#define SP_COLUMNS_MAX 255

/* Columns that @group shows in @layout, and the one at @pos, counted from 1. */
size_t sp_columns_nr(const struct sp_column_group *group,
		     enum sp_layout layout);
const struct sp_column *sp_columns_at(const struct sp_column_group *group,
				      enum sp_layout layout, size_t pos);

#endif
