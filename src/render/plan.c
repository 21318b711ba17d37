/* SPDX-License-Identifier: MIT */
/*
 * render/plan.c - make a plan: choose columns, find their cells, lay out text.
 *
 * Three steps: list_columns() fills the columns in the order of the file, with
 * the cell of each; make_ranges() turns the cells into
 * ranges and the columns' cells into slots; lay_text() writes the constant
 * text.
 */
#include "render/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mib/schema_view.h"

/* Cells that nobody asked for are folded along up to this many in a row. */
#define GAP_CELLS 24
#define NO_CELL   UINT32_MAX
#define NR_TYPES  SP_MIB_ARRAY_CELLS

/* How the constant text of a file is laid out. */
enum style {
	STYLE_PAIRS,    /* a line of names, a line of figures */
	STYLE_LINES,    /* a line an item: name, tab, figure */
	STYLE_SOCKSTAT, /* word: item figure item figure */
	STYLE_ROWS,     /* no text: a line is an object or a unit */
};

#define MAX_GROUPS 6

struct file_spec {
	enum style style;
	const char *array_name; /* group of the arrays, shown by number */
	/* In the order of the file; NULL: here come the nonzero types. */
	const struct sp_column_group *groups[MAX_GROUPS];
	size_t nr_groups;
};

static const struct file_spec specs[SP_NR_PLANS] = {
	[SP_FILE_SNMP] = {STYLE_PAIRS,
			  "IcmpMsg",
			  {&sp_columns_ip, &sp_columns_icmp, NULL,
			   &sp_columns_tcp, &sp_columns_udp,
			   &sp_columns_udplite},
			  6},
	[SP_FILE_NETSTAT] = {STYLE_PAIRS,
			     NULL,
			     {&sp_columns_tcpext, &sp_columns_ipext,
			      &sp_columns_mptcpext},
			     3},
	[SP_FILE_SNMP6] = {STYLE_LINES,
			   "Icmp6Msg",
			   {&sp_columns_ip6, &sp_columns_icmp6,
			    &sp_columns_icmp6type, NULL, &sp_columns_udp6,
			    &sp_columns_udplite6},
			   6},
	[SP_FILE_DEV] = {STYLE_ROWS, NULL, {&sp_columns_dev}, 1},
	[SP_FILE_DEV_SNMP6] = {STYLE_LINES,
			       "Icmp6Msg",
			       {&sp_columns_ip6, &sp_columns_icmp6,
				&sp_columns_icmp6type, NULL},
			       4},
	[SP_FILE_SOCKSTAT] = {STYLE_SOCKSTAT, NULL, {&sp_columns_sockstat}, 1},
	[SP_FILE_SOCKSTAT6] = {STYLE_SOCKSTAT, NULL, {&sp_columns_sockstat}, 1},
	[SP_FILE_SOFTNET] = {STYLE_ROWS, NULL, {&sp_columns_softnet}, 1},
};

size_t sp_sockstat_word_len(const struct sp_column *column)
{
	return (size_t)(strchr(column->name, '_') - column->name);
}

/* What a file leaves out of a group that it shows. */
static bool is_shown(enum sp_file file, const struct sp_column_group *group,
		     const struct sp_column *column, enum sp_layout layout)
{
	bool is_v6;

	if (group == &sp_columns_sockstat) {
		is_v6 = column->name[sp_sockstat_word_len(column) - 1] == '6';
		return is_v6 == (file == SP_FILE_SOCKSTAT6);
	}
	/* Not counted per device; the newest layout does not pretend to. */
	if (file == SP_FILE_DEV_SNMP6 && layout == SP_LAYOUT_6_18)
		return group != &sp_columns_icmp6 ||
		       strcmp(column->name, "OutRateLimitHost") != 0;
	return true;
}

static size_t nr_columns_max(enum sp_file file)
{
	const struct file_spec *spec = &specs[file];
	size_t nr = 1; /* the nonzero types */

	for (size_t g = 0; g < spec->nr_groups; g++)
		if (spec->groups[g])
			nr += spec->groups[g]->nr_columns;
	return nr;
}

static size_t leads_len_max(enum sp_file file)
{
	const struct file_spec *spec = &specs[file];
	size_t len = 16;

	for (size_t g = 0; g < spec->nr_groups; g++) {
		const struct sp_column_group *group = spec->groups[g];

		if (!group)
			continue;
		/* The name, its group twice, padding to 32, separators. */
		for (size_t i = 0; i < group->nr_columns; i++)
			len += group->columns[i].name_len +
			       2 * strlen(group->name) + 40;
	}
	return len;
}

size_t sp_plan_max_slots(void)
{
	size_t most = 0;

	for (int file = 0; file < SP_NR_PLANS; file++) {
		size_t nr = 1 + 2 * NR_TYPES +
			    nr_columns_max(file) * (1 + GAP_CELLS);

		if (nr > most)
			most = nr;
	}
	return most;
}

int sp_plan_init(struct sp_plan *plan, enum sp_file file)
{
	size_t nr = nr_columns_max(file);

	*plan = (struct sp_plan){.schema = 0};
	plan->columns = calloc(nr, sizeof(*plan->columns));
	plan->steps = calloc(nr, sizeof(*plan->steps));
	plan->ranges = calloc(nr + 2, sizeof(*plan->ranges));
	plan->leads = calloc(1, leads_len_max(file));
	if (plan->columns && plan->steps && plan->ranges && plan->leads)
		return 0;
	sp_plan_fini(plan);
	return -ENOMEM;
}

void sp_plan_fini(struct sp_plan *plan)
{
	free(plan->columns);
	free(plan->steps);
	free(plan->ranges);
	free(plan->leads);
	*plan = (struct sp_plan){.schema = 0};
}

/* First cell of an array of message types, NO_CELL if the schema has none. */
static int find_array(const struct sp_schema_view *view, const char *group_name,
		      const char *name, uint32_t *ret_cell)
{
	struct sp_schema_group_view group;
	struct sp_schema_item_view item;
	int err;

	*ret_cell = NO_CELL;
	err = sp_schema_view_find_group(view, group_name, &group);
	if (!err)
		err = sp_schema_view_find_item(view, &group, name, 0, &item);
	if (err)
		return err == -ENOENT ? 0 : err;
	if (item.kind == SP_MIB_ARRAY)
		*ret_cell = item.cell_idx;
	return 0;
}

/* The cell of @column, NO_CELL if the schema has none. */
static int find_cell(const struct sp_schema_view *view,
		     const struct sp_schema_group_view *group,
		     const struct sp_column *column, uint32_t *hint,
		     uint32_t *ret_cell)
{
	struct sp_schema_item_view item;
	int err;

	*ret_cell = NO_CELL;
	err = sp_schema_view_find_item(view, group, column->name, *hint, &item);
	if (err)
		return err == -ENOENT ? 0 : err;
	/* Items are nearly in the order of the columns. */
	++*hint;
	if (item.kind == SP_MIB_COUNTER || item.kind == SP_MIB_GAUGE)
		*ret_cell = item.cell_idx;
	return 0;
}

static enum sp_format format_of(enum sp_file file,
				const struct sp_column *column)
{
	switch (column->source) {
	case SP_SOURCE_CONSTANT:
		return SP_FORMAT_CONSTANT;
	case SP_SOURCE_ATTR:
		return SP_FORMAT_ATTR;
	case SP_SOURCE_CPU:
		return SP_FORMAT_ROW;
	default:
		return specs[file].style == STYLE_SOCKSTAT
			       ? SP_FORMAT_AT_LEAST_0
			       : SP_FORMAT_CELL;
	}
}

static uint32_t array_cell(uint32_t array, int32_t type)
{
	return array == NO_CELL ? NO_CELL : array + (uint32_t)type;
}

/* What list_columns() knows of the schema. */
struct making {
	const struct sp_schema_view *view;
	enum sp_file file;
	enum sp_layout layout;
	uint32_t in_cell; /* of the file's arrays of types */
	uint32_t out_cell;
};

static int list_group(struct sp_plan *plan, const struct making *m,
		      const struct sp_column_group *columns)
{
	struct sp_schema_group_view group = {.nr_items = 0};
	size_t nr = sp_columns_nr(columns, m->layout);
	uint32_t hint = 0;
	int err;

	err = sp_schema_view_find_group(m->view, columns->name, &group);
	if (err && err != -ENOENT)
		return err;
	for (size_t pos = 1; pos <= nr; pos++) {
		const struct sp_column *column =
			sp_columns_at(columns, m->layout, pos);
		struct sp_plan_column *c = &plan->columns[plan->nr_columns];
		uint32_t cell = NO_CELL;

		if (!is_shown(m->file, columns, column, m->layout))
			continue;
		if (column->source == SP_SOURCE_CELL)
			err = find_cell(m->view, &group, column, &hint, &cell);
		else if (column->source == SP_SOURCE_IN_TYPE)
			cell = array_cell(m->in_cell, column->value);
		else if (column->source == SP_SOURCE_OUT_TYPE)
			cell = array_cell(m->out_cell, column->value);
		if (err && err != -ENOENT)
			return err;
		*c = (struct sp_plan_column){
			.column = column,
			.group = columns,
			.cell = cell,
		};
		plan->steps[plan->nr_columns].format =
			(uint16_t)format_of(m->file, column);
		plan->nr_columns++;
	}
	return 0;
}

static int list_columns(struct sp_plan *plan, const struct making *m)
{
	const struct file_spec *spec = &specs[m->file];

	plan->nr_columns = 0;
	for (size_t g = 0; g < spec->nr_groups; g++) {
		int err;

		if (!spec->groups[g]) {
			plan->columns[plan->nr_columns] =
				(struct sp_plan_column){.cell = NO_CELL};
			plan->steps[plan->nr_columns].format = SP_FORMAT_TYPES;
			plan->nr_columns++;
			continue;
		}
		err = list_group(plan, m, spec->groups[g]);
		if (err)
			return err;
	}
	return 0;
}

/* Keep plan->ranges sorted by cell; slots are not known yet. */
static void add_range(struct sp_plan *plan, uint32_t cell, uint32_t nr)
{
	size_t i = plan->nr_ranges++;

	for (; i > 0 && plan->ranges[i - 1].cell_idx > cell; i--)
		plan->ranges[i] = plan->ranges[i - 1];
	plan->ranges[i] = (struct sp_plan_range){cell, nr, 0};
}

static void merge_ranges(struct sp_plan *plan)
{
	size_t to = 0;

	for (size_t i = 1; i < plan->nr_ranges; i++) {
		struct sp_plan_range *last = &plan->ranges[to];
		const struct sp_plan_range *next = &plan->ranges[i];
		uint32_t end = last->cell_idx + last->nr;
		uint32_t next_end = next->cell_idx + next->nr;

		if (next->cell_idx > end + GAP_CELLS)
			plan->ranges[++to] = *next;
		else if (next_end > end)
			last->nr = next_end - last->cell_idx;
	}
	if (plan->nr_ranges)
		plan->nr_ranges = to + 1;
}

/* Slot of a cell that is in one of the ranges; 0 for NO_CELL. */
static uint32_t slot_of(const struct sp_plan *plan, uint32_t cell)
{
	if (cell == NO_CELL)
		return 0;
	for (size_t i = 0; i < plan->nr_ranges; i++) {
		const struct sp_plan_range *r = &plan->ranges[i];

		if (cell >= r->cell_idx && cell - r->cell_idx < r->nr)
			return r->slot + (cell - r->cell_idx);
	}
	return 0;
}

static void make_ranges(struct sp_plan *plan, uint32_t in_cell,
			uint32_t out_cell)
{
	uint32_t slot = 1;

	plan->nr_ranges = 0;
	for (size_t i = 0; i < plan->nr_columns; i++) {
		const struct sp_column *column = plan->columns[i].column;

		if (plan->columns[i].cell != NO_CELL &&
		    column->source == SP_SOURCE_CELL)
			add_range(plan, plan->columns[i].cell, 1);
	}
	if (in_cell != NO_CELL)
		add_range(plan, in_cell, NR_TYPES);
	if (out_cell != NO_CELL)
		add_range(plan, out_cell, NR_TYPES);
	merge_ranges(plan);
	for (size_t i = 0; i < plan->nr_ranges; i++) {
		plan->ranges[i].slot = slot;
		slot += plan->ranges[i].nr;
	}
	for (size_t i = 0; i < plan->nr_columns; i++)
		plan->steps[i].slot =
			(uint16_t)slot_of(plan, plan->columns[i].cell);
	plan->in_slot = slot_of(plan, in_cell);
	plan->out_slot = slot_of(plan, out_cell);
}

static void put(struct sp_plan *plan, const char *s, size_t len)
{
	memcpy(plan->leads + plan->leads_len, s, len);
	plan->leads_len += len;
}

static void put_str(struct sp_plan *plan, const char *s)
{
	put(plan, s, strlen(s));
}

/* "\nIp: Forwarding DefaultTTL ...\nIp:" before the first, " " before each. */
static void lead_of_pairs(struct sp_plan *plan, size_t i)
{
	const struct sp_column_group *group = plan->columns[i].group;

	if (i == 0 || plan->columns[i - 1].group != group) {
		if (i > 0)
			put_str(plan, "\n");
		put_str(plan, group->name);
		put_str(plan, ":");
		for (size_t k = i;
		     k < plan->nr_columns && plan->columns[k].group == group;
		     k++) {
			put_str(plan, " ");
			put_str(plan, plan->columns[k].column->name);
		}
		put_str(plan, "\n");
		put_str(plan, group->name);
		put_str(plan, ":");
	}
	put_str(plan, " ");
}

/* "\nIp6InReceives                   \t"; the name in at least 32 columns. */
static void lead_of_lines(struct sp_plan *plan, size_t i)
{
	size_t start;

	if (i > 0)
		put_str(plan, "\n");
	start = plan->leads_len;
	put_str(plan, plan->columns[i].group->name);
	put_str(plan, plan->columns[i].column->name);
	while (plan->leads_len - start < 32)
		put_str(plan, " ");
	put_str(plan, "\t");
}

/* "\nTCP: inuse " before the first of a line, " orphan " before the others. */
static void lead_of_sockstat(struct sp_plan *plan, size_t i)
{
	const struct sp_column *column = plan->columns[i].column;
	size_t len = sp_sockstat_word_len(column) + 1;

	if (i == 0 ||
	    strncmp(column->name, plan->columns[i - 1].column->name, len)) {
		if (i > 0)
			put_str(plan, "\n");
		put(plan, column->name, len - 1);
		put_str(plan, ":");
	}
	put_str(plan, " ");
	put_str(plan, column->name + len);
	put_str(plan, " ");
}

static void lay_text(struct sp_plan *plan, enum style style)
{
	plan->leads_len = 0;
	for (size_t i = 0; i < plan->nr_columns; i++) {
		struct sp_plan_step *c = &plan->steps[i];

		c->lead_off = (uint16_t)plan->leads_len;
		c->lead_len = 0;
		if (c->format == SP_FORMAT_TYPES || style == STYLE_ROWS)
			continue;
		if (style == STYLE_PAIRS)
			lead_of_pairs(plan, i);
		else if (style == STYLE_LINES)
			lead_of_lines(plan, i);
		else
			lead_of_sockstat(plan, i);
		c->lead_len = (uint16_t)(plan->leads_len - c->lead_off);
	}
}

/* Return: 0; -ENOENT; -EAGAIN; -EBADMSG; -EPROTO. */
static int view_schema(struct sp_reader *reader, uint64_t id,
		       struct sp_schema_view *ret_view)
{
	struct sp_object object;
	const void *bytes;
	int err;

	err = sp_reader_get(reader, id, &object);
	if (err)
		return err == -EAGAIN ? err : -EBADMSG;
	bytes = sp_reader_blob(reader, object.blob_off, object.blob_bytes);
	if (object.type != SP_OBJECT_SCHEMA || !bytes)
		return -EBADMSG;
	return sp_schema_view_init(bytes, object.blob_bytes, ret_view);
}

int sp_plan_make(struct sp_plan *plan, enum sp_file file,
		 struct sp_reader *reader, uint64_t schema,
		 enum sp_layout layout)
{
	const struct file_spec *spec = &specs[file];
	struct sp_schema_view view;
	struct making m = {&view, file, layout, NO_CELL, NO_CELL};
	int err;

	if (plan->schema == schema && schema && plan->layout == layout)
		return 0;
	plan->schema = 0;
	err = view_schema(reader, schema, &view);
	if (!err && spec->array_name)
		err = find_array(&view, spec->array_name, "InType", &m.in_cell);
	if (!err && spec->array_name)
		err = find_array(&view, spec->array_name, "OutType",
				 &m.out_cell);
	if (!err)
		err = list_columns(plan, &m);
	if (err)
		return err;
	make_ranges(plan, m.in_cell, m.out_cell);
	lay_text(plan, spec->style);
	plan->schema = schema;
	plan->layout = layout;
	return 0;
}

int sp_plan_fold(const struct sp_plan *plan, struct sp_reader *reader,
		 const struct sp_object *object, uint64_t *values)
{
	values[0] = 0;
	for (size_t i = 0; i < plan->nr_ranges; i++) {
		const struct sp_plan_range *r = &plan->ranges[i];
		int err = sp_reader_fold(reader, object, r->cell_idx, r->nr,
					 values + r->slot);

		if (err)
			return err == -EINVAL ? -EBADMSG : err;
	}
	return 0;
}

int sp_plan_unit(const struct sp_plan *plan, struct sp_reader *reader,
		 const struct sp_object *object, uint32_t unit,
		 uint64_t *values)
{
	values[0] = 0;
	for (size_t i = 0; i < plan->nr_ranges; i++) {
		const struct sp_plan_range *r = &plan->ranges[i];
		int err = sp_reader_unit(reader, object, unit, r->cell_idx,
					 r->nr, values + r->slot);

		if (err)
			return err == -EINVAL ? -EBADMSG : err;
	}
	return 0;
}
