// SPDX-License-Identifier: MIT
/*
 * plane/reader.c - read a segment that nobody vouches for.
 *
 * The writer may be alive, dead in the middle of a change, or hostile. So:
 *
 *   - What addresses are made of was checked by plane/attach.c and stands in
 *     struct sp_reader. The few words that the writer changes later (used,
 *     units_written, the entries) are loaded once for each use, and clamped.
 *   - A copy of an entry that cannot be had between two equal, even values of
 *     seq is given up after a while. Nothing here waits for the writer.
 *   - Holes are never touched: a read fault in a hole of a tmpfs file would
 *     allocate the page.
 *
 * The file's owner is trusted with one thing: not to truncate the file, and not
 * to name holes as populated on a file system that is full. Either raises
 * SIGBUS in whoever touches the page. An anonymous plane is sealed against the
 * first; for others each walk begins with a look at the file's length, which
 * catches all but a truncation during the walk. (Reading by pread(2) would be
 * safe from both, at a system call for each unit of each object.)
 *
 * Memory ordering: tags in plane/layout.h.
 */
#include "plane/reader.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bits.h"
#include "base/fence.h"
#include "plane/directory.h"
#include "plane/life.h"

/*
 * After so many retries the CPU is offered to the writer, who may have been
 * preempted in the middle of a change.
 */
#define RETRIES_A_YIELD 8

/* --- state -------------------------------------------------------------- */

static bool is_clean(const struct sp_reader *reader)
{
	/* [P1] */
	return __atomic_load_n(&reader->hdr->state, __ATOMIC_ACQUIRE) ==
	       SP_STATE_CLEAN;
}

/* Has the file still all bytes that are mapped? */
static bool is_whole(const struct sp_reader *reader)
{
	struct stat st = {0};

	return reader->is_sealed ||
	       (!fstat(reader->fd, &st) && (uint64_t)st.st_size >= reader->len);
}

enum sp_plane_state sp_reader_state(const struct sp_reader *reader)
{
	if (!is_whole(reader))
		return SP_PLANE_ABANDONED;
	if (is_clean(reader))
		return SP_PLANE_CLEAN;
	if (sp_life_writer_runs(reader->fd, reader->hdr))
		return SP_PLANE_LIVE;
	/* It may have closed the plane, and ended, in between. */
	return is_clean(reader) ? SP_PLANE_CLEAN : SP_PLANE_ABANDONED;
}

static void copy_program(const struct sp_reader *reader,
			 char program[static 32])
{
	memcpy(program, reader->hdr->program, 31);
	program[31] = '\0';
	for (char *c = program; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
}

static uint32_t count_written(const struct sp_reader *reader)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < SP_MAX_UNITS / 64; i++)
		nr += (uint32_t)__builtin_popcountll(
			sp_reader_units_written(reader, i));
	return nr;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void sp_reader_info(const struct sp_reader *reader,
		    struct sp_plane_info *ret_info)
{
	const struct sp_plane_hdr *hdr = reader->hdr;
	struct sp_plane_info info = {
		.nr_cpus = reader->nr_cpus,
		.nr_lanes = reader->nr_lanes,
		.nr_units = reader->nr_units,
		.unit_stride = reader->unit_stride,
		.max_objects = reader->max_objects,
		.mapped_bytes = reader->len,
		.nr_unstable = reader->nr_unstable,
	};

	if (is_whole(reader)) {
		copy_program(reader, info.program);
		memcpy(info.uuid, hdr->uuid, sizeof(info.uuid));
		info.version_major = hdr->version_major;
		info.version_minor = hdr->version_minor;
		info.pid = hdr->pid;
		info.birth_realtime_ns = hdr->birth_realtime_ns;
		info.heartbeat_realtime_ns = __atomic_load_n(
			&hdr->heartbeat_realtime_ns, __ATOMIC_RELAXED);
		info.nr_units_written = count_written(reader);
		info.unit_used_bytes = sp_reader_units_used(reader);
		info.nr_objects = least(
			__atomic_load_n(&hdr->nr_objects, __ATOMIC_RELAXED),
			info.max_objects);
		info.percpu_mode = hdr->percpu_mode;
	}
	*ret_info = info;
}

/* --- units -------------------------------------------------------------- */

static uint64_t load_used(const struct sp_section *section, uint64_t limit)
{
	/* [P3] */
	return least(__atomic_load_n(&section->used, __ATOMIC_ACQUIRE), limit);
}

uint64_t sp_reader_units_used(const struct sp_reader *reader)
{
	return load_used(reader->unit_section, reader->unit_bytes);
}

uint64_t sp_reader_units_written(const struct sp_reader *reader, uint32_t idx)
{
	/* [P3] */
	uint64_t word = __atomic_load_n(&reader->hdr->units_written[idx],
					__ATOMIC_ACQUIRE);
	uint32_t first = idx * 64;

	if (first >= reader->nr_units)
		return 0;
	if (reader->nr_units - first < 64)
		word &= (UINT64_C(1) << (reader->nr_units - first)) - 1;
	return word;
}

int sp_reader_cells(const struct sp_reader *reader,
		    const struct sp_object *object, size_t cell_idx, size_t nr,
		    uint64_t *ret_off)
{
	if (!sp_range_inside(cell_idx, nr, object->nr_cells) ||
	    object->cells_off % 8 ||
	    !sp_range_inside(object->cells_off, object->nr_cells * UINT64_C(8),
			     sp_reader_units_used(reader)))
		return -EINVAL;
	*ret_off = object->cells_off + cell_idx * 8;
	return 0;
}

/* --- directory ---------------------------------------------------------- */

static const struct sp_dir_entry *entry_at(const struct sp_reader *reader,
					   uint64_t slot)
{
	return (const struct sp_dir_entry
			*)(const void *)(reader->dir +
					 slot * reader->dir_item_len);
}

/* Slots that were ever used: populated, and worth a look. */
static uint64_t nr_slots(const struct sp_reader *reader)
{
	uint64_t used = __atomic_load_n(&reader->dir_section->used,
					__ATOMIC_ACQUIRE); /* [P3] */

	return least(used / reader->dir_item_len, reader->max_objects);
}

static uint32_t load_seq(const struct sp_dir_entry *entry)
{
	return __atomic_load_n(&entry->seq, __ATOMIC_ACQUIRE); /* [P2] */
}

/* Copy everything but seq. */
static void copy_words(const struct sp_dir_entry *entry,
		       struct sp_dir_entry *copy)
{
	const uint64_t *from = (const uint64_t *)(const void *)entry;
	uint64_t *to = (uint64_t *)(void *)copy;

	copy->incarnation = __atomic_load_n(&entry->incarnation,
					    __ATOMIC_ACQUIRE); /* [P2] */
	for (size_t i = 1; i < sizeof(*copy) / 8; i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_ACQUIRE); /* [P2] */
}

/* Return: false if the entry kept changing. */
static bool copy_entry(struct sp_reader *reader,
		       const struct sp_dir_entry *entry,
		       struct sp_dir_entry *copy)
{
	for (unsigned i = 0; i <= reader->nr_retries; i++) {
		uint32_t seq = load_seq(entry);

		if (seq % 2 == 0) {
			copy_words(entry, copy);
			if (load_seq(entry) == seq) {
				reader->nr_retries = SP_READER_RETRIES;
				return true;
			}
		}
		if (i % RETRIES_A_YIELD == RETRIES_A_YIELD - 1)
			sched_yield();
	}
	/* An honest writer changes one entry at a time. */
	reader->nr_retries /= 2;
	return false;
}

/* Can everything that the entry says be true? */
static bool is_entry_sane(const struct sp_reader *reader,
			  const struct sp_dir_entry *entry)
{
	return sp_dir_name_is_sane(entry->name, sizeof(entry->name)) &&
	       entry->cells_off % 8 == 0 &&
	       sp_range_inside(entry->cells_off, entry->nr_cells * UINT64_C(8),
			       sp_reader_units_used(reader)) &&
	       sp_range_inside(
		       entry->blob_off, entry->blob_bytes,
		       load_used(reader->blob_section, reader->blob_len));
}

static void fill_object(struct sp_object *object, uint32_t slot,
			const struct sp_dir_entry *entry)
{
	object->id = sp_dir_id(slot, entry->incarnation);
	object->parent = entry->parent;
	object->schema = entry->schema;
	object->type = (enum sp_object_type)entry->type;
	object->cells_off = entry->cells_off;
	object->nr_cells = entry->nr_cells;
	object->blob_off = entry->blob_off;
	object->blob_bytes = entry->blob_bytes;
	memcpy(object->attr, entry->attr, sizeof(object->attr));
	memcpy(object->name, entry->name, sizeof(object->name));
}

/*
 * The object in a slot. Return: 0; -ENOENT for a free slot; -EAGAIN, counted,
 * for an entry that cannot be read or cannot be true.
 */
static int load_object(struct sp_reader *reader, uint64_t slot,
		       struct sp_object *ret_object)
{
	struct sp_dir_entry entry;

	if (!copy_entry(reader, entry_at(reader, slot), &entry))
		goto out_unstable;
	if (!entry.type)
		return -ENOENT;
	if (!is_entry_sane(reader, &entry))
		goto out_unstable;
	fill_object(ret_object, (uint32_t)slot, &entry);
	return 0;

out_unstable:
	reader->nr_unstable++;
	return -EAGAIN;
}

int sp_reader_next(struct sp_reader *reader, uint64_t *cursor,
		   struct sp_object *ret_object)
{
	uint64_t end;

	if (!*cursor && !is_whole(reader))
		return -EBADMSG;
	end = nr_slots(reader);
	while (*cursor < end) {
		int err = load_object(reader, (*cursor)++, ret_object);

		if (err != -ENOENT)
			return err;
	}
	return -ENOENT;
}

int sp_reader_get(struct sp_reader *reader, uint64_t id,
		  struct sp_object *ret_object)
{
	struct sp_object object;
	uint32_t slot;
	int err;

	if (!is_whole(reader))
		return -EBADMSG;
	if (!sp_dir_slot(id, &slot) || slot >= nr_slots(reader))
		return -ENOENT;
	err = load_object(reader, slot, &object);
	if (err)
		return err;
	if (object.id != id)
		return -ENOENT;
	*ret_object = object;
	return 0;
}

int sp_reader_find(struct sp_reader *reader, enum sp_object_type type,
		   uint64_t parent, const char *name,
		   struct sp_object *ret_object)
{
	struct sp_object object;
	uint64_t cursor = 0;
	bool unstable = false;
	int err;

	while ((err = sp_reader_next(reader, &cursor, &object)) != -ENOENT) {
		if (err == -EAGAIN) {
			unstable = true;
			continue;
		}
		if (err)
			return err;
		if (object.type == type &&
		    (!parent || object.parent == parent) &&
		    !strcmp(object.name, name)) {
			*ret_object = object;
			return 0;
		}
	}
	return unstable ? -EAGAIN : -ENOENT;
}

int sp_reader_check(const struct sp_reader *reader, uint64_t id)
{
	const struct sp_dir_entry *entry;
	uint32_t slot;

	if (!sp_dir_slot(id, &slot) || slot >= nr_slots(reader))
		return -ESTALE;
	entry = entry_at(reader, slot);
	sp_fence_acquire(); /* [P4] */
	/* Once removed, an incarnation never comes back. */
	if (!__atomic_load_n(&entry->type, __ATOMIC_RELAXED) ||
	    __atomic_load_n(&entry->incarnation, __ATOMIC_RELAXED) != id >> 32)
		return -ESTALE;
	return 0;
}

const void *sp_reader_blob(const struct sp_reader *reader, uint64_t off,
			   uint64_t bytes)
{
	if (!sp_range_inside(off, bytes,
			     load_used(reader->blob_section, reader->blob_len)))
		return NULL;
	return reader->blob + off;
}
