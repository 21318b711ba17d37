/* SPDX-License-Identifier: MIT */
/*
 * render/proc.c - the text of the kernel's files, byte for byte.
 *
 * The formats stand in mib/kernel/README.md, with samples in
 * tests/data/layouts.
 */
#include <errno.h>

#include "render/internal.h"

/* Pairs of IcmpMsg lines hold so many types. */
#define TYPES_PER_LINE 16

static void put_type_name(struct sp_text *t, const char *prefix, bool is_in,
			  unsigned type)
{
	sp_text_str(t, prefix);
	sp_text_str(t, is_in ? "InType" : "OutType");
	sp_text_u64(t, type);
}

/* Up to TYPES_PER_LINE types from *@idx; a line of names and one of figures. */
static bool put_icmpmsg_pair(struct sp_render *r, const struct sp_plan *plan,
			     unsigned *idx)
{
	unsigned nr = 0, type;
	uint64_t values[TYPES_PER_LINE];
	bool is_in;

	while (nr < TYPES_PER_LINE &&
	       sp_render_next_type(r, plan, idx, &is_in, &type, &values[nr])) {
		if (nr == 0)
			sp_text_str(&r->text, "\nIcmpMsg:");
		put_type_name(&r->text, " ", is_in, type);
		nr++;
	}
	if (nr == 0)
		return false;
	sp_text_str(&r->text, "\nIcmpMsg:");
	for (unsigned i = 0; i < nr; i++) {
		sp_text_str(&r->text, " ");
		sp_text_u64(&r->text, values[i]);
	}
	return true;
}

static void put_icmpmsg(struct sp_render *r, const struct sp_plan *plan)
{
	unsigned idx = 0;

	while (put_icmpmsg_pair(r, plan, &idx))
		;
}

/* "\nIcmp6InType128                  \t6" */
static void put_icmp6_types(struct sp_render *r, const struct sp_plan *plan)
{
	unsigned idx = 0, type;
	uint64_t value;
	bool is_in;

	while (sp_render_next_type(r, plan, &idx, &is_in, &type, &value)) {
		char *p = sp_text_reserve(&r->text, 96), *start;

		*p++ = '\n';
		start = p;
		p = is_in ? sp_put_bytes(p, "Icmp6InType", 11)
			  : sp_put_bytes(p, "Icmp6OutType", 12);
		p = sp_put_u64(p, type);
		while (p - start < 32)
			*p++ = ' ';
		*p++ = '\t';
		sp_text_commit(&r->text, sp_put_u64(p, value));
	}
}

/* The figure of column @i, where it is not the plain sum. */
static char *put_special(char *p, const struct sp_plan *plan, size_t i,
			 const struct sp_object *object, uint64_t value)
{
	int32_t constant = plan->columns[i].column->value;

	switch (plan->steps[i].format) {
	case SP_FORMAT_AT_LEAST_0:
		return sp_put_u64(p, (int64_t)value < 0 ? 0 : value);
	case SP_FORMAT_CONSTANT:
		return sp_put_s64(p, constant);
	case SP_FORMAT_ATTR:
		return sp_put_u64(p, object->attr[constant]);
	default:
		return sp_put_u64(p, value);
	}
}

static void put_columns(struct sp_render *r, const struct sp_plan *plan,
			const struct sp_object *object, bool is_v6)
{
	struct sp_text *t = &r->text;

	for (size_t i = 0; i < plan->nr_columns; i++) {
		const struct sp_plan_step *step = &plan->steps[i];
		const char *lead = plan->leads + step->lead_off;
		uint64_t value = r->values[step->slot];
		char *p;

		if (step->format == SP_FORMAT_TYPES) {
			if (is_v6)
				put_icmp6_types(r, plan);
			else
				put_icmpmsg(r, plan);
			continue;
		}
		p = sp_text_reserve(t, step->lead_len + 8 + SP_TEXT_U64_MAX);
		p = step->lead_len <= 8 ? sp_put_short(p, lead, step->lead_len)
					: sp_put_bytes(p, lead, step->lead_len);
		p = step->format == SP_FORMAT_CELL
			    ? sp_put_u64(p, value)
			    : put_special(p, plan, i, object, value);
		sp_text_commit(t, p);
	}
	sp_text_str(t, "\n");
}

/* Columns of a row of net/dev, and the most bytes of one. */
static const uint8_t dev_widths[] = {7, 7, 4, 4, 4, 5, 10, 9,
				     8, 7, 4, 4, 4, 5, 7,  10};
#define NR_DEV_COLUMNS sizeof(dev_widths)
#define DEV_ROW_MAX    (NR_DEV_COLUMNS * (1 + SP_TEXT_U64_MAX) + 1)

static void put_dev_row(struct sp_render *r, const struct sp_object *dev)
{
	const struct sp_plan *plan = &r->plan[SP_FILE_DEV];
	size_t name_len = strnlen(dev->name, SP_OBJECT_NAME_MAX);
	char *p;

	/* One reservation for the row: it goes out whole. */
	sp_text_reserve(&r->text, 8 + SP_OBJECT_NAME_MAX + DEV_ROW_MAX);
	for (size_t pad = name_len; pad < 6; pad++)
		sp_text_str(&r->text, " ");
	sp_text_word(&r->text, dev->name, name_len);
	sp_text_str(&r->text, ":");
	p = sp_text_reserve(&r->text, DEV_ROW_MAX);
	for (size_t i = 0; i < NR_DEV_COLUMNS; i++) {
		uint64_t value = 0;

		if (i < plan->nr_columns)
			value = r->values[plan->steps[i].slot];
		*p++ = ' ';
		p = sp_put_u64_right(p, value, dev_widths[i]);
	}
	*p++ = '\n';
	sp_text_commit(&r->text, p);
}

static int put_dev(struct sp_render *r)
{
	struct sp_dev_walk walk = {.nr = 0};
	struct sp_object dev;
	int err;

	sp_text_str(&r->text,
		    "Inter-|   Receive                            "
		    "                    |  Transmit\n"
		    " face |bytes    packets errs drop fifo frame compressed "
		    "multicast|bytes    packets errs drop fifo colls carrier "
		    "compressed\n");
	while (!(err = sp_render_next_dev(r, &walk, &dev)))
		put_dev_row(r, &dev);
	return err == -ENOENT ? 0 : err;
}

static void put_softnet_row(struct sp_render *r, uint32_t row)
{
	const struct sp_plan *plan = &r->plan[SP_FILE_SOFTNET];
	char *p = sp_text_reserve(&r->text, 9 * (SP_COLUMNS_MAX + 1));

	for (size_t i = 0; i < plan->nr_columns; i++) {
		const struct sp_plan_step *step = &plan->steps[i];
		uint64_t value = r->values[step->slot];

		if (step->format == SP_FORMAT_ROW)
			value = row;
		else if (step->format == SP_FORMAT_CONSTANT)
			value = (uint32_t)plan->columns[i].column->value;
		if (i > 0)
			*p++ = ' ';
		p = sp_put_hex32(p, (uint32_t)value);
	}
	*p++ = '\n';
	sp_text_commit(&r->text, p);
}

static int put_softnet(struct sp_render *r, const struct sp_object *net)
{
	struct sp_unit_walk walk = {.next = 0};
	uint32_t row;
	int err;

	while (!(err = sp_render_next_unit(r, net, &walk, &row)))
		put_softnet_row(r, row);
	return err == -ENOENT ? 0 : err;
}

/* "ifIndex                         \t2" */
static void put_ifindex(struct sp_text *t, const struct sp_object *dev)
{
	sp_text_str(t, "ifIndex                         \t");
	sp_text_u64(t, (uint32_t)dev->attr[SP_NETDEV_ATTR_IFINDEX]);
	sp_text_str(t, "\n");
}

int sp_render_proc(struct sp_render *render, const struct sp_file_ref *ref)
{
	struct sp_object object;
	int err = sp_render_prepare(render, ref, &object);

	if (err)
		return err;
	if (sp_file_is_sockets(ref->file))
		return sp_render_sockets(render, &object, ref->file);
	switch (ref->file) {
	case SP_FILE_DEV:
		return put_dev(render);
	case SP_FILE_SOFTNET:
		return put_softnet(render, &object);
	case SP_FILE_DEV_SNMP6:
		put_ifindex(&render->text, &object);
		/* fall through */
	default:
		put_columns(render, &render->plan[ref->file], &object,
			    ref->file != SP_FILE_SNMP);
	}
	return 0;
}
