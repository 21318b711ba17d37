/* SPDX-License-Identifier: MIT */
/*
 * render/render.c - the renderer: which file, which object, which figures.
 *
 * render/proc.c and render/json.c turn the figures into text. What may go wrong
 * with the plane (an object that went away, an entry that changes) is met here,
 * before the first byte of text.
 */
#include <statplane/render.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "render/internal.h"

#define BUF_LEN (64u * 1024)

static const char *const layout_names[SP_NR_LAYOUTS] = {
	[SP_LAYOUT_6_18] = "6.18",
	[SP_LAYOUT_6_12] = "6.12",
	[SP_LAYOUT_6_1] = "6.1",
	[SP_LAYOUT_5_15] = "5.15",
};

/* Files of a namespace; those of devices follow in sp_render_next_file(). */
static const struct {
	const char *name;
	enum sp_file file;
} net_files[] = {
	{"net/dev", SP_FILE_DEV},
	{"net/netstat", SP_FILE_NETSTAT},
	{"net/raw", SP_FILE_RAW},
	{"net/raw6", SP_FILE_RAW6},
	{"net/snmp", SP_FILE_SNMP},
	{"net/snmp6", SP_FILE_SNMP6},
	{"net/sockstat", SP_FILE_SOCKSTAT},
	{"net/sockstat6", SP_FILE_SOCKSTAT6},
	{"net/softnet_stat", SP_FILE_SOFTNET},
	{"net/tcp", SP_FILE_TCP},
	{"net/tcp6", SP_FILE_TCP6},
	{"net/udp", SP_FILE_UDP},
	{"net/udp6", SP_FILE_UDP6},
	{"net/udplite", SP_FILE_UDPLITE},
	{"net/udplite6", SP_FILE_UDPLITE6},
};

#define NR_NET_FILES (sizeof(net_files) / sizeof(net_files[0]))
#define DEV_SNMP6    "net/dev_snmp6/"

const char *sp_layout_name(enum sp_layout layout)
{
	if ((unsigned)layout >= SP_NR_LAYOUTS)
		return NULL;
	return layout_names[layout];
}

int sp_layout_parse(const char *name, enum sp_layout *ret_layout)
{
	for (unsigned i = 0; i < SP_NR_LAYOUTS; i++) {
		if (strcmp(name, layout_names[i]) == 0) {
			*ret_layout = (enum sp_layout)i;
			return 0;
		}
	}
	return -EINVAL;
}

int sp_render_create(struct sp_reader *reader, struct sp_render **ret_render)
{
	struct sp_render *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->reader = reader;
	r->any_net = true;
	r->buf = malloc(BUF_LEN);
	r->values = calloc(sp_plan_max_slots(), sizeof(*r->values));
	r->shared = calloc(sp_plan_max_slots(), sizeof(*r->shared));
	r->devs = calloc(SP_RENDER_DEVS, sizeof(*r->devs));
	r->metrics = sp_metrics_create();
	if (!r->buf || !r->values || !r->shared || !r->devs || !r->metrics ||
	    sp_conn_walk_create(&r->conns))
		goto err;
	for (int file = 0; file < SP_NR_PLANS; file++)
		if (sp_plan_init(&r->plan[file], (enum sp_file)file))
			goto err;
	sp_text_init(&r->text, r->buf, BUF_LEN);
	*ret_render = r;
	return 0;

err:
	sp_render_destroy(r);
	return -ENOMEM;
}

void sp_render_destroy(struct sp_render *render)
{
	if (!render)
		return;
	for (int file = 0; file < SP_NR_PLANS; file++)
		sp_plan_fini(&render->plan[file]);
	sp_conn_walk_destroy(render->conns);
	sp_metrics_destroy(render->metrics);
	free(render->devs);
	free(render->shared);
	free(render->values);
	free(render->buf);
	free(render);
}

void sp_render_set_layout(struct sp_render *render, enum sp_layout layout)
{
	if ((unsigned)layout < SP_NR_LAYOUTS)
		render->layout = layout;
}

/* The namespace by name, or the first one. Return: 0, -ENOENT, -EAGAIN. */
static int search_net(struct sp_render *r)
{
	uint64_t cursor = 0;
	struct sp_object object;
	int err, missed = -ENOENT;

	if (!r->any_net)
		return sp_reader_find(r->reader, SP_OBJECT_NETNS, 0,
				      r->net_name, &r->net);
	while ((err = sp_reader_next(r->reader, &cursor, &object)) != -ENOENT) {
		if (err == -EAGAIN) {
			missed = -EAGAIN;
			continue;
		}
		if (err)
			return err;
		if (object.type == SP_OBJECT_NETNS) {
			r->net = object;
			return 0;
		}
	}
	return missed;
}

/* Have r->net as it is now. Return: 0, -ENOENT, -EAGAIN. */
static int find_net(struct sp_render *r)
{
	int err = -ENOENT;

	if (r->net.id)
		err = sp_reader_get(r->reader, r->net.id, &r->net);
	if (err != -ENOENT)
		return err;
	r->net.id = 0;
	return search_net(r);
}

int sp_render_set_net(struct sp_render *render, const char *name)
{
	render->net.id = 0;
	render->any_net = !name;
	render->net_name[0] = '\0';
	if (name) {
		if (strlen(name) > SP_OBJECT_NAME_MAX)
			return -ENOENT;
		strcpy(render->net_name, name);
	}
	return find_net(render) == 0 ? 0 : -ENOENT;
}

static int parse_name(const char *name, struct sp_file_ref *ret_ref)
{
	size_t len = strlen(DEV_SNMP6);

	for (size_t i = 0; i < NR_NET_FILES; i++) {
		if (strcmp(name, net_files[i].name) == 0) {
			ret_ref->file = net_files[i].file;
			ret_ref->dev = NULL;
			return 0;
		}
	}
	if (strncmp(name, DEV_SNMP6, len) != 0)
		return -ENOENT;
	ret_ref->file = SP_FILE_DEV_SNMP6;
	ret_ref->dev = name + len;
	return 0;
}

static int find_object(struct sp_render *r, const struct sp_file_ref *ref,
		       struct sp_object *ret_object)
{
	int err = find_net(r);

	if (err)
		return err;
	if (ref->dev)
		return sp_reader_find(r->reader, SP_OBJECT_NETDEV, r->net.id,
				      ref->dev, ret_object);
	*ret_object = r->net;
	return 0;
}

static int try_prepare(struct sp_render *r, const struct sp_file_ref *ref,
		       struct sp_object *object)
{
	struct sp_plan *plan;
	int err = find_object(r, ref, object);

	/* The plan of net/dev is made for the first device. */
	if (err || ref->file == SP_FILE_DEV || sp_file_is_sockets(ref->file))
		return err;
	plan = &r->plan[ref->file];
	err = sp_plan_make(plan, ref->file, r->reader, object->schema,
			   r->layout);
	if (err || ref->file == SP_FILE_SOFTNET)
		return err;
	err = sp_plan_fold(plan, r->reader, object, r->values);
	if (!err &&
	    (ref->file == SP_FILE_SOCKSTAT || ref->file == SP_FILE_SOCKSTAT6))
		err = sp_render_count_sockets(r, object, ref->file);
	return err;
}

int sp_render_prepare(struct sp_render *render, const struct sp_file_ref *ref,
		      struct sp_object *ret_object)
{
	int err = -EAGAIN;

	for (int i = 0; i < SP_RENDER_TRIES; i++) {
		err = try_prepare(render, ref, ret_object);
		if (err != -EAGAIN && err != -ESTALE)
			break;
	}
	return err;
}

/* The first cell from @i on that is not zero. Most are zero: eight at a time. */
static unsigned next_nonzero(const uint64_t *cells, unsigned i)
{
	while (i < SP_MIB_ARRAY_CELLS && !cells[i]) {
		const uint64_t *c = &cells[++i];

		while (i % 8 == 0 && i < SP_MIB_ARRAY_CELLS &&
		       !(c[0] | c[1] | c[2] | c[3] | c[4] | c[5] | c[6] |
			 c[7])) {
			i += 8;
			c += 8;
		}
	}
	return i;
}

bool sp_render_next_type(const struct sp_render *render,
			 const struct sp_plan *plan, unsigned *idx, bool *is_in,
			 unsigned *type, uint64_t *value)
{
	for (; *idx < 2 * SP_MIB_ARRAY_CELLS;
	     *idx = (*idx | (SP_MIB_ARRAY_CELLS - 1)) + 1) {
		unsigned i = *idx % SP_MIB_ARRAY_CELLS;
		uint32_t slot;

		*is_in = *idx < SP_MIB_ARRAY_CELLS;
		slot = *is_in ? plan->in_slot : plan->out_slot;
		if (!slot)
			continue;
		i = next_nonzero(render->values + slot, i);
		if (i == SP_MIB_ARRAY_CELLS)
			continue;
		*type = i;
		*value = render->values[slot + i];
		*idx = (*is_in ? 0 : SP_MIB_ARRAY_CELLS) + i + 1;
		return true;
	}
	return false;
}

/*
 * Kernels before 6.12 keep devices in 256 lists by the low bits of the index
 * and print list by list, the newest of a list first.
 */
static uint64_t dev_key(enum sp_layout layout, const struct sp_object *dev)
{
	uint64_t ifindex = (uint32_t)dev->attr[SP_NETDEV_ATTR_IFINDEX];

	if (layout == SP_LAYOUT_6_1 || layout == SP_LAYOUT_5_15)
		return (ifindex & 0xff) << 32 | (uint32_t)~ifindex;
	return ifindex;
}

/* Insert into the sorted devs[0..nr), dropping the greatest when it is full. */
static size_t insert_dev(struct sp_dev_ref *devs, size_t nr,
			 struct sp_dev_ref dev)
{
	size_t i = nr;

	while (i > 0 &&
	       (devs[i - 1].key > dev.key ||
		(devs[i - 1].key == dev.key && devs[i - 1].id > dev.id)))
		i--;
	if (i == SP_RENDER_DEVS)
		return nr;
	if (nr == SP_RENDER_DEVS)
		nr--;
	memmove(&devs[i + 1], &devs[i], (nr - i) * sizeof(*devs));
	devs[i] = dev;
	return nr + 1;
}

/* Put the next SP_RENDER_DEVS devices behind the last one in order. */
static int list_devs(struct sp_render *r, struct sp_dev_walk *walk)
{
	uint64_t cursor = 0;
	struct sp_object object;
	size_t nr = 0, nr_seen = 0;
	int err;

	while ((err = sp_reader_next(r->reader, &cursor, &object)) != -ENOENT) {
		struct sp_dev_ref dev;

		if (err == -EAGAIN)
			continue;
		if (err)
			return err;
		if (object.type != SP_OBJECT_NETDEV ||
		    object.parent != r->net.id)
			continue;
		dev.key = dev_key(r->layout, &object);
		dev.id = object.id;
		if (walk->started &&
		    (dev.key < walk->last_key ||
		     (dev.key == walk->last_key && dev.id <= walk->last_id)))
			continue;
		nr = insert_dev(r->devs, nr, dev);
		nr_seen++;
	}
	walk->nr = nr;
	walk->next = 0;
	walk->complete = nr_seen <= SP_RENDER_DEVS;
	walk->started = true;
	if (nr) {
		walk->last_key = r->devs[nr - 1].key;
		walk->last_id = r->devs[nr - 1].id;
	}
	return 0;
}

int sp_render_next_dev(struct sp_render *render, struct sp_dev_walk *walk,
		       struct sp_object *ret_dev)
{
	struct sp_plan *plan = &render->plan[SP_FILE_DEV];
	int err;

	for (;;) {
		if (walk->next == walk->nr) {
			if (walk->started && walk->complete)
				return -ENOENT;
			err = list_devs(render, walk);
			if (err)
				return err;
			continue;
		}
		err = sp_reader_get(render->reader,
				    render->devs[walk->next++].id, ret_dev);
		if (!err)
			err = sp_plan_make(plan, SP_FILE_DEV, render->reader,
					   ret_dev->schema, render->layout);
		if (!err)
			err = sp_plan_fold(plan, render->reader, ret_dev,
					   render->values);
		if (err != -ENOENT && err != -EAGAIN && err != -ESTALE)
			return err;
	}
}

/* The figures of the shared unit, for the first row. */
static int start_units(struct sp_render *r, const struct sp_object *net,
		       struct sp_unit_walk *walk)
{
	struct sp_plane_info info;
	int err;

	sp_reader_info(r->reader, &info);
	walk->started = true;
	walk->next = 1;
	/* A schema without the group says nothing of any unit. */
	if (r->plan[SP_FILE_SOFTNET].nr_ranges)
		walk->nr_units = info.nr_units;
	err = sp_plan_unit(&r->plan[SP_FILE_SOFTNET], r->reader, net, 0,
			   r->shared);
	return err == -ENODATA ? 0 : err;
}

static void add_shared(struct sp_render *r, const struct sp_plan *plan)
{
	for (size_t i = 0; i < plan->nr_ranges; i++) {
		const struct sp_plan_range *range = &plan->ranges[i];

		for (uint32_t k = 0; k < range->nr; k++)
			r->values[range->slot + k] +=
				r->shared[range->slot + k];
	}
}

int sp_render_next_unit(struct sp_render *render, const struct sp_object *net,
			struct sp_unit_walk *walk, uint32_t *ret_row)
{
	const struct sp_plan *plan = &render->plan[SP_FILE_SOFTNET];
	bool is_first = !walk->started;
	int err = 0;

	if (is_first)
		err = start_units(render, net, walk);
	if (err)
		return err;
	while (walk->next < walk->nr_units) {
		uint32_t unit = walk->next++;

		err = sp_plan_unit(plan, render->reader, net, unit,
				   render->values);
		if (err == -ENODATA)
			continue;
		if (err)
			return err;
		if (is_first)
			add_shared(render, plan);
		*ret_row = unit - 1;
		return 0;
	}
	if (!is_first)
		return -ENOENT;
	/* Nobody but the shared unit: one row, so that the file has one. */
	memcpy(render->values, render->shared,
	       sp_plan_max_slots() * sizeof(*render->values));
	*ret_row = 0;
	return 0;
}

int sp_render_file(struct sp_render *render, const char *name,
		   sp_render_write_fn *write, void *ctx)
{
	struct sp_file_ref ref;
	int err = parse_name(name, &ref), text_err;

	if (err)
		return err;
	sp_text_start(&render->text, write, ctx);
	err = sp_render_proc(render, &ref);
	text_err = sp_text_finish(&render->text);
	return text_err ? text_err : err;
}

int sp_render_file_json(struct sp_render *render, const char *name,
			sp_render_write_fn *write, void *ctx)
{
	struct sp_file_ref ref;
	int err = parse_name(name, &ref), text_err;

	if (err)
		return err;
	sp_text_start(&render->text, write, ctx);
	err = sp_render_json(render, &ref, name);
	text_err = sp_text_finish(&render->text);
	return text_err ? text_err : err;
}

/* A device whose file could leave its directory has none. */
static bool is_file_name(const char *name)
{
	return *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
	       !strchr(name, '/');
}

/* The bit that tells a cursor over devices from one over net_files[]. */
#define CURSOR_DEVS (1ull << 63)

static int next_dev_file(struct sp_render *r, uint64_t *cursor, char *name)
{
	uint64_t dir_cursor = *cursor & ~CURSOR_DEVS;
	struct sp_object object;
	int err;

	while ((err = sp_reader_next(r->reader, &dir_cursor, &object)) !=
	       -ENOENT) {
		*cursor = dir_cursor | CURSOR_DEVS;
		if (err == -EAGAIN)
			continue;
		if (err)
			return err;
		if (object.type != SP_OBJECT_NETDEV ||
		    object.parent != r->net.id || !is_file_name(object.name))
			continue;
		strcpy(name, DEV_SNMP6);
		strcat(name, object.name);
		return 0;
	}
	return -ENOENT;
}

_Static_assert(sizeof(DEV_SNMP6) + SP_OBJECT_NAME_MAX <= SP_RENDER_NAME_MAX,
	       "the longest name must fit");

int sp_render_next_file(struct sp_render *render, uint64_t *cursor, char *name)
{
	if (find_net(render))
		return -ENOENT;
	if (*cursor < NR_NET_FILES) {
		strcpy(name, net_files[*cursor].name);
		if (++*cursor == NR_NET_FILES)
			*cursor = CURSOR_DEVS;
		return 0;
	}
	return next_dev_file(render, cursor, name);
}
