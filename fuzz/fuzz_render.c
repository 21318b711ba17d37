// SPDX-License-Identifier: MIT
/*
 * fuzz/fuzz_render.c - render a plane whose bytes somebody changes.
 *
 * A plane with a namespace, devices and a program's group is made once. An input
 * says what is rendered, and is then a list of changes to the plane's header,
 * directory and schemas:
 *
 *	what (1 byte) { where (1 byte) off (2 bytes) len (1 byte) data (len bytes) }...
 *
 * what: bit 0 files as text, bit 1 as JSON, bit 2 OpenMetrics, bits 6-7 the layout.
 * Little-endian. where: 0 header, 1 directory, 2 blob, others modulo 3; off counts
 * 8 bytes in the blob, 1 byte elsewhere. A change of length 0 ends what is made
 * before the reader attaches; each that follows is made when a piece of text comes
 * out, as a writer that lies would do it. Afterwards the plane is put right again.
 *
 * Rendering must neither crash nor loop nor write text that breaks its format: the
 * text of JSON and OpenMetrics has no control characters but newlines, whatever
 * the names in the plane are.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <statplane/net.h>
#include <statplane/render.h>

#include "plane/layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
	struct sp_plane *plane;
	char *base;  /* our own view */
	char *right; /* what it should be */
	size_t len;
	uint64_t start[3], room[3]; /* header, directory, blob */
} made;

static const uint8_t *pos, *end;

static const struct sp_mib_item items[] = {
	{"drops", "frames dropped", "frames", SP_MIB_COUNTER},
	{"size", "frame sizes", "octets", SP_MIB_HISTOGRAM},
	{"level", "how full", "frames", SP_MIB_GAUGE},
	{"kind", "by kind", "frames", SP_MIB_ARRAY},
};
static const struct sp_mib_group group = {"rx", "receiving", items, 4};
static const struct sp_mib_schema schema = {"fuzz", &group, 1};

static void require(bool truth)
{
	if (!truth)
		abort();
}

static void count_something(struct sp_net *net, struct sp_netdev *dev)
{
	struct sp_lane lane;

	require(!sp_lane_claim(made.plane, &lane));
	for (size_t off = 0; off < sizeof(struct sp_net_cells); off += 8)
		sp_lane_add(&lane, sp_net_off(net) + off, off % 40 ? off : 0);
	sp_lane_add(&lane, sp_netdev_off(dev), 5);
	sp_lane_release(&lane);
}

static void make(void)
{
	const struct sp_plane_opts opts = {
		.sz = sizeof(opts),
		.nr_cpus = 1,
		.nr_lanes = 2,
		.nr_objects = 16,
		.unit_bytes = 128 * 1024,
		.blob_bytes = 256 * 1024,
	};
	const struct sp_plane_hdr *hdr;
	/* Never given back: kept where a leak checker sees them. */
	static struct sp_netdev *lo, *dev;
	static struct sp_net *net;
	static struct sp_mib *mib;

	require(!sp_plane_create(&opts, &made.plane));
	require(!sp_net_create(made.plane, "host", NULL, &net));
	require(!sp_netdev_create(net, "lo", 0, NULL, &lo));
	require(!sp_netdev_create(net, "eth0", 0, NULL, &dev));
	require(!sp_mib_create(made.plane, "mine", &schema, &mib));
	count_something(net, dev);

	hdr = mmap(NULL, 4096, PROT_READ, MAP_SHARED, sp_plane_fd(made.plane),
		   0);
	require(hdr != MAP_FAILED);
	made.room[0] = sizeof(*hdr);
	for (int i = 0; i < SP_MAX_SECTIONS; i++) {
		const struct sp_section *s = &hdr->section[i];
		int where = s->type == SP_SECTION_DIRECTORY ? 1
			    : s->type == SP_SECTION_BLOB    ? 2
							    : 0;

		if (!where)
			continue;
		made.start[where] = s->off;
		made.room[where] = s->used;
		if (s->off + s->used > made.len)
			made.len = s->off + s->used;
	}
	made.base = mmap(NULL, made.len, PROT_READ | PROT_WRITE, MAP_SHARED,
			 sp_plane_fd(made.plane), 0);
	made.right = malloc(made.len);
	require(made.base != MAP_FAILED && made.right);
	memcpy(made.right, made.base, made.len);
}

/* Make one change. Return: false at the end of the phase or of the input. */
static bool change(void)
{
	unsigned where;
	uint64_t off;
	size_t len;

	if (end - pos < 4)
		return false;
	where = pos[0] % 3;
	off = (uint64_t)pos[1] | (uint64_t)pos[2] << 8;
	len = pos[3];
	pos += 4;
	if (!len)
		return false;
	if (len > (size_t)(end - pos))
		len = (size_t)(end - pos);
	if (where == 2)
		off *= 8;
	off %= made.room[where];
	if (len > made.room[where] - off)
		len = made.room[where] - off;
	memcpy(made.base + made.start[where] + off, pos, len);
	pos += len;
	return true;
}

static int take_text(void *ctx, const char *text, size_t len)
{
	require(len > 0);
	change();
	return 0;
}

static int take_clean(void *ctx, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		require((unsigned char)text[i] >= 0x20 || text[i] == '\n');
	return take_text(ctx, text, len);
}

/* A label or help text may hold any control character but a newline. */
static int take_metrics(void *ctx, const char *text, size_t len)
{
	require(memchr(text, '\0', len) == NULL);
	return take_text(ctx, text, len);
}

static void check_error(int err)
{
	require(err == 0 || err == -ENOENT || err == -EAGAIN ||
		err == -ESTALE || err == -EBADMSG || err == -EPROTO ||
		err == -E2BIG);
}

enum {
	FILES = 1,
	JSON = 2,
	METRICS = 4
};

static void render_all(struct sp_render *render, unsigned what)
{
	char name[SP_RENDER_NAME_MAX];
	uint64_t cursor = 0;

	for (int i = 0; i < 32; i++) {
		if (sp_render_next_file(render, &cursor, name))
			break;
		require(!strstr(name, "/../") && strlen(name) > 4);
		check_error(sp_render_file(render, name, take_text, NULL));
		check_error(
			sp_render_file_json(render, name, take_clean, NULL));
	}
	check_error(sp_render_openmetrics(render, take_metrics, NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sp_reader *reader;
	struct sp_render *render;

	if (!made.plane)
		make();
	if (!size)
		return 0;
	pos = data + 1;
	end = data + size;
	while (change())
		;
	if (!sp_reader_attach_fd(sp_plane_fd(made.plane), &reader)) {
		require(!sp_render_create(reader, &render));
		sp_render_set_layout(render, (enum sp_layout)(data[0] >> 6));
		render_all(render, data[0]);
		sp_render_destroy(render);
		sp_reader_detach(reader);
	}
	memcpy(made.base, made.right, made.len);
	return 0;
}
