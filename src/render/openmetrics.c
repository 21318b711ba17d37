/* SPDX-License-Identifier: MIT */
/*
 * render/openmetrics.c - the whole plane as OpenMetrics 1.0.0 text.
 *
 * The format wants all samples of a family together, a family being an item of a
 * schema; the plane is cheap to read object by object. So the objects of one
 * schema are listed once, with their labels written out, and then its items go by
 * in windows: as many items of a group as fit into a fixed buffer for all objects
 * at once. For each window every object is folded once, then the window's families
 * are written. With up to a few hundred objects a window is a whole group. The
 * memory is fixed; more objects than the list holds are folded item by item.
 *
 * docs/openmetrics.md states names, labels and types.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mib/schema_view.h"
#include "render/internal.h"
#include "render/metric.h"

#define MAX_ROWS       65536u
#define LABELS_LEN     (4u * 1024 * 1024)
#define MAX_CELLS      262144u
#define ONE_LABELS_LEN (2 * SP_TEXT_ITEM_MAX)

struct row {
	uint64_t id; /* 0: went away */
	uint32_t label_off;
	uint32_t label_len;
};

/* A group of the schema and the items of it that are written next. */
struct window {
	struct sp_schema_group_view group;
	uint32_t first, end; /* items of the schema */
	uint32_t cell_idx, nr_cells;
};

/* Buffers, and where sp_render_openmetrics() stands. */
struct sp_metrics {
	struct row *rows;
	char *labels;
	uint64_t *cells;
	struct sp_names names;
	struct sp_text one; /* labels of one object */
	char one_buf[ONE_LABELS_LEN];

	struct sp_render *r;
	/* The schema that is being written, and its objects. */
	uint64_t schema; /* id */
	uint64_t tag;    /* enum sp_schema_tag */
	char schema_name[SP_SCHEMA_NAME_MAX + 1];
	struct sp_schema_view view;
	size_t nr_rows;
	bool fits;               /* all objects are in rows */
	struct sp_object parent; /* the last one looked up */
	struct window window;
	struct sp_family family;
};

void sp_metrics_destroy(struct sp_metrics *metrics)
{
	if (!metrics)
		return;
	free(metrics->rows);
	free(metrics->labels);
	free(metrics->cells);
	sp_names_fini(&metrics->names);
	free(metrics);
}

struct sp_metrics *sp_metrics_create(void)
{
	struct sp_metrics *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->rows = calloc(MAX_ROWS, sizeof(*m->rows));
	m->labels = malloc(LABELS_LEN);
	m->cells = calloc(MAX_CELLS, sizeof(*m->cells));
	if (m->rows && m->labels && m->cells && !sp_names_init(&m->names)) {
		sp_text_init(&m->one, m->one_buf, sizeof(m->one_buf));
		return m;
	}
	sp_metrics_destroy(m);
	return NULL;
}

/* statplane_Ip_InReceives, statplane_dev_rx_bytes, proxy_rx_RxDrop. */
static void compose_name(const struct sp_metrics *m, const char *item,
			 struct sp_family *family)
{
	const char *prefix = m->schema_name;
	const char *group = m->window.group.name, *bar = "_";

	if (m->tag == SP_SCHEMA_NET)
		prefix = "statplane";
	else if (m->tag == SP_SCHEMA_NETDEV)
		prefix = "statplane_dev";
	if (m->tag == SP_SCHEMA_NETDEV && strcmp(group, "Dev") == 0)
		group = bar = "";
	snprintf(family->name, sizeof(family->name), "%s%s%s_%s", prefix, bar,
		 group, item);
}

static void put_label(struct sp_text *t, const char *key, const char *value)
{
	sp_text_str(t, key);
	sp_text_str(t, "=\"");
	sp_text_label(t, value, strnlen(value, SP_OBJECT_NAME_MAX));
	sp_text_str(t, "\"");
}

/* Write the labels of @object to m->one. Return: 0; -ENOENT if its
 * namespace went away. */
static int write_labels(struct sp_metrics *m, const struct sp_object *object)
{
	struct sp_text *t = &m->one;

	sp_text_start(t, NULL, NULL);
	if (object->type == SP_OBJECT_MIB) {
		put_label(t, "mib", object->name);
		return 0;
	}
	if (object->type == SP_OBJECT_NETNS) {
		put_label(t, "netns", object->name);
		return 0;
	}
	if (m->parent.id != object->parent &&
	    sp_reader_get(m->r->reader, object->parent, &m->parent)) {
		m->parent.id = 0;
		return -ENOENT;
	}
	put_label(t, "netns", m->parent.name);
	sp_text_str(t, ",");
	put_label(t, "device", object->name);
	return 0;
}

static bool is_shown(const struct sp_metrics *m, const struct sp_object *object)
{
	return object->schema == m->schema &&
	       (object->type == SP_OBJECT_MIB ||
		object->type == SP_OBJECT_NETNS ||
		object->type == SP_OBJECT_NETDEV);
}

/*
 * The next object of the job's schema, its labels in m->one. Objects that keep
 * changing or whose namespace went away are left out. Return: 0; -ENOENT at the
 * end.
 */
static int next_object(struct sp_metrics *m, uint64_t *cursor,
		       struct sp_object *object)
{
	int err;

	while ((err = sp_reader_next(m->r->reader, cursor, object)) !=
	       -ENOENT) {
		if (err == -EAGAIN)
			continue;
		if (err)
			return err;
		if (is_shown(m, object) && !write_labels(m, object))
			return 0;
	}
	return -ENOENT;
}

/* Fill m->rows. Return: 0, also when they don't all fit (m->fits). */
static int list_rows(struct sp_metrics *m)
{
	struct sp_object object;
	uint64_t cursor = 0;
	size_t labels_len = 0;
	int err;

	m->nr_rows = 0;
	m->fits = true;
	while (!(err = next_object(m, &cursor, &object))) {
		size_t len = m->one.len_bytes;

		if (m->nr_rows == MAX_ROWS || len > LABELS_LEN - labels_len) {
			m->fits = false;
			return 0;
		}
		memcpy(m->labels + labels_len, m->one_buf, len);
		m->rows[m->nr_rows++] = (struct row){
			object.id,
			(uint32_t)labels_len,
			(uint32_t)len,
		};
		labels_len += len;
	}
	return err == -ENOENT ? 0 : err;
}

/* Fold cells of a row's object. Return: 0; -ENOENT if it went away; -EBADMSG.
 */
static int fold_object(struct sp_metrics *m, const struct sp_object *object,
		       uint32_t cell_idx, uint32_t nr, uint64_t *cells)
{
	int err = sp_reader_fold(m->r->reader, object, cell_idx, nr, cells);

	if (err == -EINVAL)
		return -EBADMSG;
	return err == -ESTALE || err == -EAGAIN ? -ENOENT : err;
}

/* Fold [cell_idx, cell_idx + nr) of every row, one behind the other. */
static int fold_window(struct sp_metrics *m, uint32_t cell_idx, uint32_t nr)
{
	for (size_t i = 0; i < m->nr_rows; i++) {
		struct row *row = &m->rows[i];
		struct sp_object object;
		int err;

		if (!row->id)
			continue;
		err = sp_reader_get(m->r->reader, row->id, &object);
		if (!err)
			err = fold_object(m, &object, cell_idx, nr,
					  m->cells + i * nr);
		if (err == -ENOENT || err == -EAGAIN)
			row->id = 0;
		else if (err)
			return err;
	}
	return 0;
}

/*
 * Let the window take items from its first on, as many as fit into the buffer
 * for all rows. Return: 0, with end == first if not even one fits; -EBADMSG.
 */
static int grow_window(struct sp_metrics *m)
{
	struct window *w = &m->window;
	uint64_t most = m->nr_rows ? MAX_CELLS / m->nr_rows : 0;
	uint32_t group_end = w->group.first_item + w->group.nr_items;

	w->nr_cells = 0;
	for (w->end = w->first; w->end < group_end; w->end++) {
		struct sp_schema_item_view item;
		int err = sp_schema_view_item(&m->view, w->end, &item);

		if (err)
			return err;
		if (w->end == w->first)
			w->cell_idx = item.cell_idx;
		/* Cells out of order: the rest is another window. */
		if (item.cell_idx != w->cell_idx + w->nr_cells ||
		    w->nr_cells + item.nr_cells > most)
			break;
		w->nr_cells += item.nr_cells;
	}
	return 0;
}

/* Samples of the family from the window's cells. */
static void put_rows(struct sp_metrics *m, uint32_t cell_idx)
{
	const struct window *w = &m->window;

	for (size_t i = 0; i < m->nr_rows; i++) {
		const struct row *row = &m->rows[i];

		if (row->id)
			sp_family_put_samples(&m->family, &m->r->text,
					      m->labels + row->label_off,
					      row->label_len,
					      m->cells + i * w->nr_cells +
						      (cell_idx - w->cell_idx));
	}
}

/* Samples of the family, folded object by object. */
static int put_streamed(struct sp_metrics *m, uint32_t cell_idx,
			uint32_t nr_cells)
{
	struct sp_object object;
	uint64_t cursor = 0;
	int err;

	while (!(err = next_object(m, &cursor, &object))) {
		err = fold_object(m, &object, cell_idx, nr_cells, m->cells);
		if (err == -ENOENT)
			continue;
		if (err)
			return err;
		sp_family_put_samples(&m->family, &m->r->text, m->one_buf,
				      m->one.len_bytes, m->cells);
	}
	return err == -ENOENT ? 0 : err;
}

/* Item @idx of the schema; from the window if @is_folded. */
static int put_family(struct sp_metrics *m, uint32_t idx, bool is_folded)
{
	const struct window *w = &m->window;
	struct sp_schema_item_view item;
	int err = sp_schema_view_item(&m->view, idx, &item);

	if (err)
		return err;
	/* Of a kind that came after this version. */
	if (!sp_schema_kind_cells((enum sp_mib_kind)item.kind))
		return 0;
	/* Checked when the window grew; the schema may have changed since. */
	if (is_folded &&
	    (item.cell_idx < w->cell_idx ||
	     item.cell_idx - w->cell_idx + item.nr_cells > w->nr_cells))
		return -EBADMSG;
	compose_name(m, item.name, &m->family);
	m->family.kind = (enum sp_mib_kind)item.kind;
	err = sp_family_take_name(&m->family, &m->names);
	if (err)
		return err == -EEXIST ? 0 : err;
	sp_family_put_head(&m->family, &m->r->text, &item);
	if (!is_folded)
		return put_streamed(m, item.cell_idx, item.nr_cells);
	put_rows(m, item.cell_idx);
	return 0;
}

static int put_window(struct sp_metrics *m)
{
	struct window *w = &m->window;
	bool is_folded;
	int err = 0;

	w->end = w->first;
	if (m->fits)
		err = grow_window(m);
	if (err)
		return err;
	is_folded = w->end > w->first;
	if (is_folded)
		err = fold_window(m, w->cell_idx, w->nr_cells);
	else
		w->end = w->first + 1;
	for (uint32_t i = w->first; !err && i < w->end; i++)
		err = put_family(m, i, is_folded);
	w->first = w->end;
	return err;
}

static int put_group(struct sp_metrics *m, uint32_t idx)
{
	struct window *w = &m->window;
	int err = sp_schema_view_group(&m->view, idx, &w->group);

	w->first = w->group.first_item;
	while (!err && w->first < w->group.first_item + w->group.nr_items)
		err = put_window(m);
	return err;
}

/* All families of one schema. */
static int put_schema(struct sp_metrics *m, const struct sp_object *schema)
{
	const void *bytes = sp_reader_blob(m->r->reader, schema->blob_off,
					   schema->blob_bytes);
	int err;

	if (!bytes)
		return -EBADMSG;
	m->schema = schema->id;
	m->tag = schema->attr[0];
	err = sp_schema_view_init(bytes, schema->blob_bytes, &m->view);
	if (!err)
		err = sp_schema_view_name(&m->view, m->schema_name);
	if (!err)
		err = list_rows(m);
	if (err || (m->fits && !m->nr_rows))
		return err;
	for (uint32_t g = 0; !err && g < m->view.nr_groups; g++)
		err = put_group(m, g);
	return err;
}

static void put_hex(struct sp_text *t, const uint8_t *bytes, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		char *p = sp_text_reserve(t, 2);

		p[0] = "0123456789abcdef"[bytes[i] >> 4];
		p[1] = "0123456789abcdef"[bytes[i] & 15];
		sp_text_commit(t, p + 2);
	}
}

static void put_state(struct sp_text *t, enum sp_plane_state state)
{
	static const char *const names[] = {
		[SP_PLANE_LIVE] = "live",
		[SP_PLANE_CLEAN] = "clean",
		[SP_PLANE_ABANDONED] = "abandoned",
	};

	sp_text_str(t, "# TYPE statplane_plane_state stateset\n"
		       "# HELP statplane_plane_state Whether the plane's "
		       "writer runs, has closed it, or is gone\n");
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		sp_text_str(t,
			    "statplane_plane_state{statplane_plane_state=\"");
		sp_text_str(t, names[i]);
		sp_text_str(t, i == (unsigned)state ? "\"} 1\n" : "\"} 0\n");
	}
}

/* What there is to say of the plane itself; takes the names. */
static int put_plane(struct sp_metrics *m)
{
	static const struct sp_family own[] = {
		{"statplane_plane", 0, SP_MIB_GAUGE},
		{"statplane_plane_info", 0, SP_MIB_GAUGE},
		{"statplane_plane_state", 0, SP_MIB_GAUGE},
		{"statplane_reader_unstable", 0, SP_MIB_COUNTER},
	};
	struct sp_plane_info info;
	struct sp_text *t = &m->r->text;
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(own) / sizeof(own[0]); i++) {
		m->family = own[i];
		err = sp_family_take_name(&m->family, &m->names);
	}
	sp_reader_info(m->r->reader, &info);
	sp_text_str(t, "# TYPE statplane_plane info\n"
		       "# HELP statplane_plane The plane and the program that "
		       "writes it\n"
		       "statplane_plane_info{program=\"");
	sp_text_label(t, info.program,
		      strnlen(info.program, sizeof(info.program)));
	sp_text_str(t, "\",uuid=\"");
	put_hex(t, info.uuid, sizeof(info.uuid));
	sp_text_str(t, "\"} 1\n");
	put_state(t, sp_reader_state(m->r->reader));
	sp_text_str(t,
		    "# TYPE statplane_reader_unstable counter\n"
		    "# HELP statplane_reader_unstable Reads that this reader "
		    "gave up as the plane kept changing\n"
		    "statplane_reader_unstable_total ");
	sp_text_u64(t, info.nr_unstable);
	sp_text_str(t, "\n");
	return err;
}

static int put_schemas(struct sp_metrics *m)
{
	struct sp_object object;
	uint64_t cursor = 0;
	int err;

	while ((err = sp_reader_next(m->r->reader, &cursor, &object)) !=
	       -ENOENT) {
		if (err == -EAGAIN)
			continue;
		if (!err && object.type == SP_OBJECT_SCHEMA)
			err = put_schema(m, &object);
		if (err)
			return err;
	}
	return 0;
}

int sp_render_openmetrics(struct sp_render *render, sp_render_write_fn *write,
			  void *ctx)
{
	struct sp_metrics *m = render->metrics;
	int err, text_err;

	m->r = render;
	m->parent.id = 0;
	sp_names_clear(&m->names);
	sp_text_start(&render->text, write, ctx);
	err = put_plane(m);
	if (!err)
		err = put_schemas(m);
	if (!err)
		sp_text_str(&render->text, "# EOF\n");
	text_err = sp_text_finish(&render->text);
	return text_err ? text_err : err;
}
