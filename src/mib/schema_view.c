/* SPDX-License-Identifier: MIT */
/*
 * mib/schema_view.c - bounded reading of an encoded schema.
 *
 * copy_in() and text_at() are the only places that touch the foreign bytes.
 */
#include "mib/schema_view.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* [off, off + len) of the view into @to, or false if any byte is outside. */
static bool copy_in(const struct sp_schema_view *view, uint64_t off, void *to,
		    size_t len)
{
	if (off > view->total_len || len > view->total_len - off)
		return false;
	memcpy(to, view->base + off, len);
	return true;
}

/* The string at @off, if its NUL comes within @max bytes and inside the view.
 */
static bool text_at(const struct sp_schema_view *view, uint32_t off, size_t max,
		    struct sp_schema_text *ret_text)
{
	size_t room, len;

	if (off >= view->total_len)
		return false;
	room = view->total_len - off;
	if (room > max + 1)
		room = max + 1;
	len = strnlen(view->base + off, room);
	if (len == room)
		return false;
	*ret_text = (struct sp_schema_text){view->base + off, len};
	return true;
}

static bool is_name_char(char c, bool first)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
	       (!first && c >= '0' && c <= '9');
}

static bool is_name(const char *s)
{
	if (!is_name_char(s[0], true))
		return false;
	for (s++; *s; s++)
		if (!is_name_char(*s, false))
			return false;
	return true;
}

/* Copy the string at @off to @to, which has SP_SCHEMA_NAME_MAX + 1 bytes. */
static bool copy_text(const struct sp_schema_view *view, uint32_t off, char *to)
{
	struct sp_schema_text text;

	if (!text_at(view, off, SP_SCHEMA_NAME_MAX, &text))
		return false;
	memcpy(to, text.s, text.len);
	to[text.len] = '\0';
	return true;
}

static bool copy_name(const struct sp_schema_view *view, uint32_t off, char *to)
{
	return copy_text(view, off, to) && is_name(to);
}

static bool records_fit(uint32_t off, uint32_t nr, uint32_t record_len,
			uint32_t total_len)
{
	return off <= total_len && (uint64_t)nr * record_len <= total_len - off;
}

int sp_schema_view_init(const void *bytes, uint64_t len,
			struct sp_schema_view *ret_view)
{
	struct sp_schema_hdr hdr;

	if (len < sizeof(hdr))
		return -EBADMSG;
	memcpy(&hdr, bytes, sizeof(hdr));
	if (hdr.magic != SP_SCHEMA_MAGIC)
		return -EBADMSG;
	if (hdr.version != SP_SCHEMA_VERSION)
		return -EPROTO;
	if (hdr.hdr_len < sizeof(hdr) || hdr.hdr_len > hdr.total_len ||
	    hdr.total_len > len)
		return -EBADMSG;
	if (hdr.group_len < sizeof(struct sp_schema_group) ||
	    hdr.item_len < sizeof(struct sp_schema_item) ||
	    hdr.nr_cells > SP_SCHEMA_MAX_CELLS)
		return -EBADMSG;
	if (!records_fit(hdr.groups_off, hdr.nr_groups, hdr.group_len,
			 hdr.total_len) ||
	    !records_fit(hdr.items_off, hdr.nr_items, hdr.item_len,
			 hdr.total_len))
		return -EBADMSG;
	*ret_view = (struct sp_schema_view){
		.base = bytes,
		.total_len = hdr.total_len,
		.nr_groups = hdr.nr_groups,
		.nr_items = hdr.nr_items,
		.nr_cells = hdr.nr_cells,
		.groups_off = hdr.groups_off,
		.items_off = hdr.items_off,
		.name_off = hdr.name_off,
		.group_len = hdr.group_len,
		.item_len = hdr.item_len,
	};
	return 0;
}

int sp_schema_view_name(const struct sp_schema_view *view, char *name)
{
	char copy[SP_SCHEMA_NAME_MAX + 1];

	if (!copy_name(view, view->name_off, copy))
		return -EBADMSG;
	memcpy(name, copy, sizeof(copy));
	return 0;
}

int sp_schema_view_group(const struct sp_schema_view *view, uint32_t idx,
			 struct sp_schema_group_view *ret_group)
{
	struct sp_schema_group_view group;
	struct sp_schema_group raw;

	if (idx >= view->nr_groups ||
	    !copy_in(view, view->groups_off + (uint64_t)idx * view->group_len,
		     &raw, sizeof(raw)))
		return -EBADMSG;
	if (raw.first_item > view->nr_items ||
	    raw.nr_items > view->nr_items - raw.first_item)
		return -EBADMSG;
	if (!copy_name(view, raw.name_off, group.name) ||
	    !text_at(view, raw.help_off, SP_SCHEMA_HELP_MAX, &group.help))
		return -EBADMSG;
	group.first_item = raw.first_item;
	group.nr_items = raw.nr_items;
	*ret_group = group;
	return 0;
}

static bool cells_fit(const struct sp_schema_view *view,
		      const struct sp_schema_item *raw)
{
	size_t expected = sp_schema_kind_cells(raw->kind);

	if (expected && raw->nr_cells != expected)
		return false;
	return raw->cell_idx <= view->nr_cells &&
	       raw->nr_cells <= view->nr_cells - raw->cell_idx;
}

int sp_schema_view_item(const struct sp_schema_view *view, uint32_t idx,
			struct sp_schema_item_view *ret_item)
{
	struct sp_schema_item_view item;
	struct sp_schema_item raw;

	if (idx >= view->nr_items ||
	    !copy_in(view, view->items_off + (uint64_t)idx * view->item_len,
		     &raw, sizeof(raw)))
		return -EBADMSG;
	if (!cells_fit(view, &raw))
		return -EBADMSG;
	if (!copy_name(view, raw.name_off, item.name) ||
	    !copy_text(view, raw.unit_off, item.unit) ||
	    !text_at(view, raw.help_off, SP_SCHEMA_HELP_MAX, &item.help))
		return -EBADMSG;
	item.kind = raw.kind;
	item.cell_idx = raw.cell_idx;
	item.nr_cells = raw.nr_cells;
	*ret_item = item;
	return 0;
}

int sp_schema_view_find_group(const struct sp_schema_view *view,
			      const char *name,
			      struct sp_schema_group_view *ret_group)
{
	struct sp_schema_group_view group;

	for (uint32_t i = 0; i < view->nr_groups; i++) {
		int err = sp_schema_view_group(view, i, &group);

		if (err)
			return err;
		if (!strcmp(group.name, name)) {
			*ret_group = group;
			return 0;
		}
	}
	return -ENOENT;
}

int sp_schema_view_find_item(const struct sp_schema_view *view,
			     const struct sp_schema_group_view *group,
			     const char *name, uint32_t hint,
			     struct sp_schema_item_view *ret_item)
{
	struct sp_schema_item_view item;

	for (uint32_t i = 0; i < group->nr_items; i++) {
		uint32_t idx =
			(uint32_t)(((uint64_t)hint + i) % group->nr_items);
		int err = sp_schema_view_item(view, group->first_item + idx,
					      &item);

		if (err)
			return err;
		if (!strcmp(item.name, name)) {
			*ret_item = item;
			return 0;
		}
	}
	return -ENOENT;
}
