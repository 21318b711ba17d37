// SPDX-License-Identifier: MIT
/*
 * fuzz/fuzz_segment.c - attach to a hostile segment and read all of it.
 *
 * The reader must neither crash nor loop, whatever the bytes say and however
 * they change after it has attached. Input: fuzz/segment_input.h.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <statplane/reader.h>

#include "plane/layout.h"

#include "segment_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Bounds on the work for one input. */
#define MAX_OBJECTS 256
#define MAX_CELLS   512
#define MAX_PHASES  8

static struct {
	int fd;
	struct sp_plane_hdr *hdr; /* our own view, to repair it */
	const uint8_t *pos, *end;
	uint64_t last_byte; /* where the furthest record ends */
} file = {.fd = -1};

/* Keeps a compiler from dropping reads whose result nobody needs. */
static volatile uint64_t sink;

static uint32_t load_u16(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static uint32_t load_u32(const uint8_t *p)
{
	return load_u16(p) | load_u16(p + 2) << 16;
}

/* Write records up to the end of the phase. */
static void write_phase(void)
{
	while (file.end - file.pos >= 6) {
		uint32_t off = load_u32(file.pos) % SEGMENT_MAX_BYTES;
		size_t len = load_u16(file.pos + 4);
		size_t left = (size_t)(file.end - file.pos) - 6;

		file.pos += 6;
		if (!len)
			return;
		if (len > left)
			len = left;
		if (len > SEGMENT_MAX_BYTES - off)
			len = SEGMENT_MAX_BYTES - off;
		if (pwrite(file.fd, file.pos, len, off) != (ssize_t)len)
			abort();
		if (off + len > file.last_byte)
			file.last_byte = off + len;
		file.pos += len;
	}
	file.pos = file.end;
}

static void repair(void)
{
	struct sp_plane_hdr *hdr = file.hdr;

	hdr->magic = SP_PLANE_MAGIC;
	hdr->version_major = SP_PLANE_MAJOR;
	hdr->endian = SP_PLANE_ENDIAN;
	hdr->page_size = 4096;
	hdr->feature_incompat = 0;
	if (hdr->state != SP_STATE_CLEAN)
		hdr->state = SP_STATE_LIVE;
}

static void open_file(const uint8_t *data, size_t size)
{
	uint64_t len;

	file.fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (file.fd < 0 || ftruncate(file.fd, SEGMENT_MAX_BYTES))
		abort();
	file.hdr = mmap(NULL, sizeof(*file.hdr), PROT_READ | PROT_WRITE,
			MAP_SHARED, file.fd, 0);
	if (file.hdr == MAP_FAILED)
		abort();
	file.pos = data + 1;
	file.end = data + size;
	file.last_byte = 0;
	write_phase();
	if (data[0] & SEGMENT_REPAIR)
		repair();
	len = data[0] & SEGMENT_SHORT ? file.last_byte : file.hdr->file_len;
	if (len < SEGMENT_MAX_BYTES && ftruncate(file.fd, (off_t)len))
		abort();
}

static void close_file(void)
{
	munmap(file.hdr, sizeof(*file.hdr));
	close(file.fd);
}

static void require(bool truth)
{
	if (!truth)
		abort();
}

static void read_cells(struct sp_reader *reader, const struct sp_object *object,
		       uint32_t nr_units)
{
	static uint64_t cells[MAX_CELLS];
	size_t nr = object->nr_cells < MAX_CELLS ? object->nr_cells : MAX_CELLS;
	int err = sp_reader_fold(reader, object, 0, nr, cells);

	require(!err || err == -EINVAL || err == -ESTALE);
	sp_reader_fold(reader, object, object->nr_cells - nr, nr, cells);
	for (uint32_t unit = 0; unit <= nr_units && unit < 8; unit++)
		sp_reader_unit(reader, object, unit, 0, nr, cells);
	if (nr)
		sink += cells[nr - 1];
	require(sp_reader_fold(reader, object, object->nr_cells, 1, cells) ==
		-EINVAL);
}

static void read_blob(const struct sp_reader *reader,
		      const struct sp_object *object)
{
	const char *text =
		sp_reader_blob(reader, object->blob_off, object->blob_bytes);
	uint64_t sum = 0;

	if (!text)
		return;
	for (uint64_t i = 0; i < object->blob_bytes; i += 61)
		sum += (unsigned char)text[i];
	if (object->blob_bytes)
		sum += (unsigned char)text[object->blob_bytes - 1];
	sink += sum;
}

static void read_object(struct sp_reader *reader, struct sp_object *object,
			uint32_t nr_units)
{
	struct sp_object again;

	require(strnlen(object->name, sizeof(object->name)) <=
		SP_OBJECT_NAME_MAX);
	require(object->type != SP_OBJECT_NONE);
	read_cells(reader, object, nr_units);
	read_blob(reader, object);
	if (!sp_reader_get(reader, object->id, &again))
		require(again.id == object->id);
	/* A caller may hand over anything as an object. */
	object->cells_off *= 3;
	object->nr_cells += 7;
	object->blob_off += 0x1000;
	read_cells(reader, object, nr_units);
	read_blob(reader, object);
}

static void walk(struct sp_reader *reader)
{
	struct sp_plane_info info;
	struct sp_object object;
	uint64_t cursor = 0, last = 0;
	int err;

	sp_reader_info(reader, &info);
	require(memchr(info.program, 0, sizeof(info.program)) != NULL);
	require(info.nr_units_written <= info.nr_units);
	sink += sp_reader_state(reader);
	sp_reader_find(reader, SP_OBJECT_NETNS, 0, "host", &object);
	for (int i = 0; i < MAX_OBJECTS; i++) {
		err = sp_reader_next(reader, &cursor, &object);
		if (err == -ENOENT || err == -EBADMSG)
			return;
		require(cursor > last);
		last = cursor;
		if (!err)
			read_object(reader, &object, info.nr_units);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sp_reader *reader;

	if (!size)
		return 0;
	open_file(data, size);
	if (!sp_reader_attach_fd(file.fd, &reader)) {
		walk(reader);
		for (int i = 1; i < MAX_PHASES && file.pos < file.end; i++) {
			write_phase();
			walk(reader);
		}
		sp_reader_detach(reader);
	}
	close_file();
	return 0;
}
