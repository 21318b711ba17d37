/* SPDX-License-Identifier: MIT */
/*
 * What the tests of render/ share: a plane with a namespace, a lane to count in,
 * a reader and a renderer over it, and the text of a file.
 */
#ifndef SP_TEST_RENDER_HELP_H
#define SP_TEST_RENDER_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <statplane/net.h>
#include <statplane/render.h>

#include "net/kernel_schema.h"

struct fixture {
	struct sp_plane *plane;
	struct sp_lane lane;
	struct sp_net *net;
	struct sp_reader *reader;
	struct sp_render *render;
};

/* What the renderer wrote; grows as needed, always terminated. */
struct output {
	char *text;
	size_t len;
	size_t cap;
	unsigned nr_pieces;
};

static struct output output;

static inline int take(void *ctx, const char *text, size_t len)
{
	struct output *o = ctx;

	if (o->len + len + 1 > o->cap) {
		o->cap = 2 * (o->len + len + 1);
		o->text = realloc(o->text, o->cap);
		assert_non_null(o->text);
	}
	memcpy(o->text + o->len, text, len);
	o->len += len;
	o->text[o->len] = '\0';
	o->nr_pieces++;
	return 0;
}

static inline void clear_output(void)
{
	free(output.text);
	memset(&output, 0, sizeof(output));
}

static inline void open_fixture(struct fixture *f,
				const struct sp_net_opts *opts)
{
	struct sp_plane_opts plane_opts = {
		.sz = sizeof(plane_opts),
		.program = "test",
	};

	memset(f, 0, sizeof(*f));
	assert_int_equal(sp_plane_create(&plane_opts, &f->plane), 0);
	assert_int_equal(sp_net_create(f->plane, "host", opts, &f->net), 0);
	assert_int_equal(sp_lane_claim(f->plane, &f->lane), 0);
	assert_int_equal(sp_reader_attach_fd(sp_plane_fd(f->plane), &f->reader),
			 0);
	assert_int_equal(sp_render_create(f->reader, &f->render), 0);
}

static inline void close_fixture(struct fixture *f)
{
	sp_render_destroy(f->render);
	sp_reader_detach(f->reader);
	sp_net_destroy(f->net);
	sp_lane_release(&f->lane);
	sp_plane_close(f->plane);
	clear_output();
}

/* Return: the text of a file, until the next call. */
static inline const char *render_file(struct fixture *f, const char *name)
{
	clear_output();
	assert_int_equal(sp_render_file(f->render, name, take, &output), 0);
	assert_non_null(output.text);
	return output.text;
}

static inline const char *render_json(struct fixture *f, const char *name)
{
	clear_output();
	assert_int_equal(sp_render_file_json(f->render, name, take, &output),
			 0);
	assert_non_null(output.text);
	return output.text;
}

static inline void add(struct fixture *f, sp_percpu_t off, uint64_t value)
{
	sp_lane_add(&f->lane, off, value);
}

/* Byte offset of an item in the cells of @schema, by name; (size_t)-1: none. */
static inline size_t find_cell(const struct sp_mib_schema *schema,
			       const char *group, const char *item)
{
	for (size_t g = 0; g < schema->nr_groups; g++) {
		const struct sp_mib_group *grp = &schema->groups[g];

		for (size_t i = 0; i < grp->nr_items; i++)
			if (!strcmp(grp->name, group) &&
			    !strcmp(grp->items[i].name, item))
				return 8 * sp_mib_cell_idx(schema, g, i);
	}
	return (size_t)-1;
}

/* A file of the source tree; NULL if there is none. The caller frees it. */
static inline char *read_source_file(const char *path)
{
	char full[512], *text;
	FILE *file;
	long len;

	snprintf(full, sizeof(full), "%s/%s", SP_SOURCE_ROOT, path);
	file = fopen(full, "r");
	if (!file)
		return NULL;
	fseek(file, 0, SEEK_END);
	len = ftell(file);
	rewind(file);
	text = malloc((size_t)len + 1);
	assert_non_null(text);
	assert_int_equal(fread(text, 1, (size_t)len, file), len);
	text[len] = '\0';
	fclose(file);
	return text;
}

#endif
