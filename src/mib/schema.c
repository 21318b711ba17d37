/* SPDX-License-Identifier: MIT */
/*
 * mib/schema.c - check a program's schema and encode it for the plane.
 *
 * Encoding walks the schema twice: once to measure, once to write. Both walks
 * go through the same put functions, so that they cannot disagree.
 */
#include "mib/schema.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

size_t sp_schema_kind_cells(enum sp_mib_kind kind)
{
	switch (kind) {
	case SP_MIB_COUNTER:
	case SP_MIB_GAUGE:
		return 1;
	case SP_MIB_HISTOGRAM:
		return SP_MIB_HISTOGRAM_CELLS;
	case SP_MIB_ARRAY:
		return SP_MIB_ARRAY_CELLS;
	}
	return 0;
}

static bool name_ok(const char *name)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "abcdefghijklmnopqrstuvwxyz_";
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz_0123456789";
	size_t len;

	if (!name || !*name || !strchr(letters, *name))
		return false;
	len = strspn(name, digits);
	return !name[len] && len <= SP_SCHEMA_NAME_MAX;
}

/* One line of at most @max bytes; NULL is an empty one. */
static bool line_ok(const char *line, size_t max)
{
	size_t len = 0;

	if (!line)
		return true;
	for (; line[len]; len++)
		if ((unsigned char)line[len] < 0x20 || line[len] == 0x7f ||
		    len == max)
			return false;
	return true;
}

static bool item_ok(const struct sp_mib_item *item)
{
	return name_ok(item->name) && line_ok(item->help, SP_SCHEMA_HELP_MAX) &&
	       line_ok(item->unit, SP_SCHEMA_NAME_MAX) &&
	       sp_schema_kind_cells(item->kind) > 0;
}

static bool group_ok(const struct sp_mib_group *group)
{
	if (!name_ok(group->name) ||
	    !line_ok(group->help, SP_SCHEMA_HELP_MAX) || !group->items ||
	    !group->nr_items)
		return false;
	for (size_t i = 0; i < group->nr_items; i++) {
		if (!item_ok(&group->items[i]))
			return false;
		for (size_t k = 0; k < i; k++)
			if (!strcmp(group->items[i].name, group->items[k].name))
				return false;
	}
	return true;
}

int sp_schema_check(const struct sp_mib_schema *schema)
{
	size_t nr_cells = 0;

	if (!name_ok(schema->name) || !schema->groups || !schema->nr_groups)
		return -EINVAL;
	for (size_t g = 0; g < schema->nr_groups; g++) {
		const struct sp_mib_group *group = &schema->groups[g];

		/* Before the items are compared each with each. */
		if (group->nr_items > SP_SCHEMA_MAX_CELLS || !group_ok(group))
			return -EINVAL;
		for (size_t k = 0; k < g; k++)
			if (!strcmp(group->name, schema->groups[k].name))
				return -EINVAL;
		for (size_t i = 0; i < group->nr_items; i++)
			nr_cells += sp_schema_kind_cells(group->items[i].kind);
		if (nr_cells > SP_SCHEMA_MAX_CELLS)
			return -EINVAL;
	}
	return 0;
}

size_t sp_mib_nr_cells(const struct sp_mib_schema *schema)
{
	size_t nr = 0;

	for (size_t g = 0; g < schema->nr_groups; g++)
		for (size_t i = 0; i < schema->groups[g].nr_items; i++)
			nr += sp_schema_kind_cells(
				schema->groups[g].items[i].kind);
	return nr;
}

size_t sp_mib_cell_idx(const struct sp_mib_schema *schema, size_t group_idx,
		       size_t item_idx)
{
	size_t nr = 0;

	assert(group_idx < schema->nr_groups);
	assert(item_idx < schema->groups[group_idx].nr_items);
	for (size_t g = 0; g <= group_idx; g++) {
		const struct sp_mib_group *group = &schema->groups[g];
		size_t end = g == group_idx ? item_idx : group->nr_items;

		for (size_t i = 0; i < end; i++)
			nr += sp_schema_kind_cells(group->items[i].kind);
	}
	return nr;
}

/* Where encoding stands; only counts while base is NULL. */
struct writer {
	char *base;
	size_t len;
};

static void put_at(const struct writer *w, size_t off, const void *from,
		   size_t len)
{
	if (w->base)
		memcpy(w->base + off, from, len);
}

/* Append a string. Return: its offset. */
static uint32_t put_string(struct writer *w, const char *s)
{
	size_t off = w->len, len;

	if (!s)
		s = "";
	len = strlen(s) + 1;
	put_at(w, off, s, len);
	w->len += len;
	return (uint32_t)off;
}

static size_t nr_items_of(const struct sp_mib_schema *schema)
{
	size_t nr = 0;

	for (size_t g = 0; g < schema->nr_groups; g++)
		nr += schema->groups[g].nr_items;
	return nr;
}

static void put_group(struct writer *w, const struct sp_mib_group *group,
		      size_t off, uint32_t first_item)
{
	struct sp_schema_group raw = {
		.name_off = put_string(w, group->name),
		.first_item = first_item,
		.nr_items = (uint32_t)group->nr_items,
	};

	raw.help_off = put_string(w, group->help);
	put_at(w, off, &raw, sizeof(raw));
}

static void put_item(struct writer *w, const struct sp_mib_item *item,
		     size_t off, uint32_t cell_idx)
{
	struct sp_schema_item raw = {
		.name_off = put_string(w, item->name),
		.kind = item->kind,
		.cell_idx = cell_idx,
		.nr_cells = (uint32_t)sp_schema_kind_cells(item->kind),
	};

	raw.help_off = put_string(w, item->help);
	raw.unit_off = put_string(w, item->unit);
	put_at(w, off, &raw, sizeof(raw));
}

static void put_groups(struct writer *w, const struct sp_mib_schema *schema,
		       size_t groups_off, size_t items_off)
{
	uint32_t item_idx = 0, cell_idx = 0;

	for (size_t g = 0; g < schema->nr_groups; g++) {
		const struct sp_mib_group *group = &schema->groups[g];

		put_group(w, group,
			  groups_off + g * sizeof(struct sp_schema_group),
			  item_idx);
		for (size_t i = 0; i < group->nr_items; i++, item_idx++) {
			const struct sp_mib_item *item = &group->items[i];

			put_item(w, item,
				 items_off +
					 item_idx *
						 sizeof(struct sp_schema_item),
				 cell_idx);
			cell_idx += (uint32_t)sp_schema_kind_cells(item->kind);
		}
	}
}

static void put_schema(struct writer *w, const struct sp_mib_schema *schema)
{
	size_t nr_items = nr_items_of(schema);
	struct sp_schema_hdr hdr = {
		.magic = SP_SCHEMA_MAGIC,
		.version = SP_SCHEMA_VERSION,
		.hdr_len = sizeof(hdr),
		.nr_groups = (uint32_t)schema->nr_groups,
		.nr_items = (uint32_t)nr_items,
		.nr_cells = (uint32_t)sp_mib_nr_cells(schema),
		.group_len = sizeof(struct sp_schema_group),
		.item_len = sizeof(struct sp_schema_item),
		.groups_off = sizeof(hdr),
	};

	hdr.items_off =
		(uint32_t)(hdr.groups_off + schema->nr_groups * hdr.group_len);
	w->len = hdr.items_off + nr_items * hdr.item_len;
	hdr.name_off = put_string(w, schema->name);
	put_groups(w, schema, hdr.groups_off, hdr.items_off);
	hdr.total_len = (uint32_t)w->len;
	put_at(w, 0, &hdr, sizeof(hdr));
}

size_t sp_schema_len(const struct sp_mib_schema *schema)
{
	struct writer w = {.base = NULL};

	put_schema(&w, schema);
	return w.len;
}

void sp_schema_encode(const struct sp_mib_schema *schema, void *buf)
{
	struct writer w = {.base = buf};

	put_schema(&w, schema);
}
