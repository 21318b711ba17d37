/* SPDX-License-Identifier: MIT */
/*
 * mib/schema_view.h - walk an encoded schema that nobody vouches for.
 *
 * The bytes lie in another process's memory, which may be damaged, hostile, and
 * changing at this moment. So every record is copied before it is looked at,
 * every offset is checked at every use against the length that was mapped, and
 * every name is copied out and checked. Nothing is allocated. A view is a plain
 * value and needs no clean-up.
 *
 * Format: docs/schema-format.md. Writer's side: mib/schema.c.
 */
#ifndef SP_MIB_SCHEMA_VIEW_H
#define SP_MIB_SCHEMA_VIEW_H

#include <stddef.h>
#include <stdint.h>

#include "mib/schema.h"

/* Field copies, so that later checks don't depend on what the bytes become. */
struct sp_schema_view {
	const char *base;
	uint32_t total_len;
	uint32_t nr_groups;
	uint32_t nr_items;
	uint32_t nr_cells;
	uint32_t groups_off;
	uint32_t items_off;
	uint32_t name_off;
	uint16_t group_len;
	uint16_t item_len;
};

/* A text in the mapping, not terminated; may change while it is read. */
struct sp_schema_text {
	const char *s;
	size_t len;
};

struct sp_schema_group_view {
	char name[SP_SCHEMA_NAME_MAX + 1];
	struct sp_schema_text help;
	uint32_t first_item; /* first_item + nr_items <= view.nr_items */
	uint32_t nr_items;
};

struct sp_schema_item_view {
	char name[SP_SCHEMA_NAME_MAX + 1];
	char unit[SP_SCHEMA_NAME_MAX + 1];
	struct sp_schema_text help;
	uint32_t kind;     /* may be one that this library does not know */
	uint32_t cell_idx; /* cell_idx + nr_cells <= view.nr_cells */
	uint32_t nr_cells; /* as the kind says, if it is a known one */
};

/**
 * sp_schema_view_init() - look at @len bytes
 *
 * Return: 0; -EBADMSG if they are no schema or contradict themselves; -EPROTO
 * for another version of the format.
 */
int sp_schema_view_init(const void *bytes, uint64_t len,
			struct sp_schema_view *ret_view);

/* The schema's name. Return: 0, -EBADMSG. @name has SP_SCHEMA_NAME_MAX + 1. */
int sp_schema_view_name(const struct sp_schema_view *view, char *name);

/* Group @idx below nr_groups; item @idx below nr_items. Return: 0, -EBADMSG. */
int sp_schema_view_group(const struct sp_schema_view *view, uint32_t idx,
			 struct sp_schema_group_view *ret_group);
int sp_schema_view_item(const struct sp_schema_view *view, uint32_t idx,
			struct sp_schema_item_view *ret_item);

/**
 * sp_schema_view_find_group() - the first group of that name
 * Return: 0; -ENOENT; -EBADMSG.
 */
int sp_schema_view_find_group(const struct sp_schema_view *view,
			      const char *name,
			      struct sp_schema_group_view *ret_group);
/**
 * sp_schema_view_find_item() - the first item of that name in @group
 * @hint: index in the group where to look first
 *
 * Return: 0; -ENOENT; -EBADMSG.
 */
int sp_schema_view_find_item(const struct sp_schema_view *view,
			     const struct sp_schema_group_view *group,
			     const char *name, uint32_t hint,
			     struct sp_schema_item_view *ret_item);

#endif
