// SPDX-License-Identifier: MIT
/*
 * fuzz/make_segment_seeds.c - the first inputs of the segment fuzzer.
 *
 *	make_segment_seeds DIRECTORY
 *
 * Makes small planes through the library's own writer, damages some, and packs
 * each as fuzz/segment_input.h says. Run it again when the format changes.
 */
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <statplane/plane.h>
#include <statplane/reader.h>

#include "plane/plane.h"

#include "segment_input.h"

/* Zeros that end a record. */
#define GAP_BYTES 16

static const char *directory;

static void put_record(FILE *out, uint32_t off, const char *data, uint32_t len)
{
	for (int i = 0; i < 4; i++)
		putc((int)(off >> 8 * i & 0xff), out);
	putc((int)(len & 0xff), out);
	putc((int)(len >> 8), out);
	fwrite(data, 1, len, out);
}

/* Records for all that is not zero in [0, @len). */
static void put_segment(FILE *out, const char *base, uint32_t len)
{
	uint32_t pos = 0;

	while (pos < len) {
		uint32_t end = pos, last = pos;

		if (!base[pos]) {
			pos++;
			continue;
		}
		for (;
		     end < len && end - last < GAP_BYTES && end - pos < 0xffff;
		     end++)
			if (base[end])
				last = end;
		put_record(out, pos, base + pos, last + 1 - pos);
		pos = last + 1;
	}
}

static FILE *begin_seed(const char *name, int flags)
{
	char path[512];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	out = fopen(path, "wb");
	if (!out)
		err(1, "%s", path);
	putc(flags, out);
	return out;
}

static void end_seed(FILE *out)
{
	if (fclose(out))
		err(1, "%s", directory);
}

static void put_seed(const char *name, int flags, const struct sp_plane *plane)
{
	FILE *out = begin_seed(name, flags);

	put_segment(out, plane->base, (uint32_t)plane->len);
	end_seed(out);
}

static struct sp_plane *make_plane(void)
{
	struct sp_plane_opts opts = {
		.sz = sizeof(opts),
		.program = "seed",
		.nr_cpus = 2,
		.nr_lanes = 1,
		.nr_objects = 8,
		.unit_bytes = 4096,
		.blob_bytes = 4096,
		.table_bytes = 4096,
	};
	struct sp_plane *plane;

	if (sp_segment_create(&opts, &plane) ||
	    sp_plane_populate_units(plane, 4096) || sp_segment_publish(plane))
		errx(1, "cannot make a plane");
	/* The same bytes each time, and no process of this machine. */
	memset(plane->hdr->uuid, 0x11, 16);
	memset(plane->hdr->boot_id, 0x22, 16);
	plane->hdr->pid = 4;
	plane->hdr->pid_ns = 5;
	plane->hdr->pid_start_ticks = 6;
	plane->hdr->birth_realtime_ns = 7;
	plane->hdr->birth_monotonic_ns = 8;
	return plane;
}

static uint64_t add(struct sp_plane *plane, enum sp_object_type type,
		    uint64_t parent, const char *name, uint64_t cells_off,
		    uint32_t nr_cells)
{
	static const char text[] = "a few bytes of text";
	struct sp_object object = {
		.type = type,
		.parent = parent,
		.cells_off = cells_off,
		.nr_cells = nr_cells,
		.attr = {1, 2, 3},
	};
	uint64_t id;

	strcpy(object.name, name);
	if (type == SP_OBJECT_SCHEMA) {
		object.blob_bytes = sizeof(text);
		if (sp_blob_append(plane, text, sizeof(text), &object.blob_off))
			errx(1, "no room for a text");
	}
	if (sp_dir_add(plane, &object, &id))
		errx(1, "no room for %s", name);
	return id;
}

static void add_cells(struct sp_plane *plane)
{
	for (uint32_t unit = 0; unit < plane->nr_units; unit += 2) {
		uint64_t *cells =
			(uint64_t *)(void *)sp_plane_unit(plane, unit);

		sp_plane_mark_unit(plane, unit);
		cells[8] = 1000 + unit;
		cells[20] = UINT64_MAX;
	}
}

static struct sp_plane *make_full_plane(void)
{
	struct sp_plane *plane = make_plane();
	uint64_t net;

	add(plane, SP_OBJECT_SCHEMA, 0, "schema", 0, 0);
	net = add(plane, SP_OBJECT_NETNS, 0, "host", 64, 16);
	add(plane, SP_OBJECT_NETDEV, net, "eth0", 192, 40);
	add(plane, SP_OBJECT_MIB, 0, "app", 0, 512);
	add_cells(plane);
	return plane;
}

static struct sp_dir_entry *entry_at(struct sp_plane *plane, unsigned slot)
{
	return (struct sp_dir_entry *)(void *)(plane->base +
					       plane->dir_section->off) +
	       slot;
}

static void make_damaged(void)
{
	struct sp_plane *plane = make_full_plane();

	entry_at(plane, 0)->seq++;
	entry_at(plane, 1)->cells_off = UINT64_MAX - 8;
	memset(entry_at(plane, 2)->name, 'x', 64);
	entry_at(plane, 3)->nr_cells = UINT32_MAX;
	put_seed("entries_damaged", SEGMENT_REPAIR, plane);

	plane->dir_section->item_len = 8;
	put_seed("entry_too_short", SEGMENT_REPAIR, plane);
	plane->dir_section->item_len = 192;
	plane->blob_section->off = UINT64_MAX - 4095;
	put_seed("section_wraps", SEGMENT_REPAIR, plane);
	sp_segment_close(plane);
}

/* A writer that lies after the reader has attached. */
static void make_changing(void)
{
	struct sp_plane *plane = make_full_plane();
	FILE *out = begin_seed("changes_later", SEGMENT_REPAIR);

	put_segment(out, plane->base, (uint32_t)plane->len);
	put_record(out, 0, "", 0);
	plane->dir_section->used = UINT64_MAX;
	plane->blob_section->used = UINT64_MAX - 7;
	plane->unit_section->used = UINT64_MAX;
	memset(plane->hdr->units_written, 0xff, 512);
	entry_at(plane, 1)->nr_cells = 1u << 20;
	put_segment(out, plane->base, (uint32_t)plane->blob_section->off);
	end_seed(out);
	memset(plane->hdr->units_written, 0, 512);
	sp_segment_close(plane);
}

int main(int argc, char **argv)
{
	struct sp_plane *plane;

	if (argc != 2)
		errx(2, "usage: make_segment_seeds DIRECTORY");
	directory = argv[1];

	plane = make_plane();
	put_seed("empty", 0, plane);
	plane->hdr->state = SP_STATE_INIT;
	put_seed("init", 0, plane);
	sp_segment_close(plane);

	plane = make_full_plane();
	put_seed("full", 0, plane);
	put_seed("truncated", SEGMENT_SHORT, plane);
	sp_dir_remove(plane, sp_dir_find(plane, SP_OBJECT_MIB, 0, "app"));
	add(plane, SP_OBJECT_MIB, 0, "again", 8, 2);
	plane->hdr->state = SP_STATE_CLEAN;
	put_seed("clean_and_reused", 0, plane);
	sp_segment_close(plane);

	make_damaged();
	make_changing();
	return 0;
}
