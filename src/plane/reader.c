// SPDX-License-Identifier: MIT
/*
 * plane/reader.c - read a segment that nobody vouches for.
 *
 * The writer may be alive, dead in the middle of a change, or hostile. So:
 *
 *   - The header is copied once and every value that an address is made of is
 *     checked in the copy and kept in struct sp_reader. The few words that the
 *     writer changes later (used, units_written, seq and the entries) are
 * loaded once each time they are needed, and clamped.
 *   - A copy of an entry that cannot be had between two equal, even seq is
 * given up after NR_RETRIES. Nothing here waits for the writer.
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
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/fence.h"
#include "plane/directory.h"
#include "plane/life.h"

/*
 * Retries to copy an entry; after each RETRIES_A_YIELD the CPU is offered to
 * the writer, who may have been preempted in the middle of a change. An honest
 * writer changes one entry at a time, so after one that was given up the next
 * ones get half as many each, until one is found stable.
 */
#define NR_RETRIES      128
#define RETRIES_A_YIELD 8

/* A cell of a page needs at most this alignment of its unit. */
#define UNIT_ALIGN 4096u

#define MIN_PAGE 4096u
#define MAX_PAGE (1u << 30)

/* Feature bits of feature_incompat that are understood. */
#define KNOWN_INCOMPAT UINT64_C(0)

/* --- attach ------------------------------------------------------------- */

static int check_identity(const struct sp_plane_hdr *hdr)
{
	if (hdr->magic == __builtin_bswap64(SP_PLANE_MAGIC))
		return -EPROTO; /* written in the other byte order */
	if (hdr->magic != SP_PLANE_MAGIC)
		return -EBADMSG;
	if (hdr->version_major != SP_PLANE_MAJOR)
		return -EPROTO;
	if (hdr->endian != SP_PLANE_ENDIAN)
		return -EBADMSG;
	if (hdr->state == SP_STATE_INIT)
		return -EAGAIN;
	if (hdr->feature_incompat & ~KNOWN_INCOMPAT)
		return -EPROTO;
	return hdr->state > SP_STATE_CLEAN ? -EBADMSG : 0;
}

static bool are_units_sane(const struct sp_plane_hdr *hdr)
{
	if (!hdr->nr_units || hdr->nr_units > SP_MAX_UNITS)
		return false;
	if ((uint64_t)hdr->nr_cpus + hdr->nr_lanes + 1 != hdr->nr_units)
		return false;
	for (uint32_t unit = hdr->nr_units; unit < SP_MAX_UNITS; unit++)
		if (hdr->units_written[unit / 64] >> (unit % 64) & 1)
			return false;
	return true;
}

static bool overlap(const struct sp_section *a, const struct sp_section *b)
{
	return a->off < b->off + b->len && b->off < a->off + a->len;
}

/* Inside the file, behind the header, and apart from the sections before. */
static bool is_section_sane(const struct sp_plane_hdr *hdr, uint32_t idx)
{
	const struct sp_section *section = &hdr->section[idx];

	if (section->off < sizeof(*hdr) || section->used > section->len ||
	    !sp_range_inside(section->off, section->len, hdr->file_len))
		return false;
	for (uint32_t i = 0; i < idx; i++)
		if (overlap(section, &hdr->section[i]))
			return false;
	return true;
}

static bool is_directory_sane(const struct sp_section *section)
{
	return section->off % 8 == 0 && section->item_len % 8 == 0 &&
	       section->item_len >= sizeof(struct sp_dir_entry) &&
	       section->item_len <= section->len &&
	       section->len / section->item_len < UINT32_MAX;
}

static bool is_unit_section_sane(const struct sp_section *section,
				 uint32_t nr_units)
{
	return section->off % UNIT_ALIGN == 0 && section->item_len &&
	       section->item_len % UNIT_ALIGN == 0 &&
	       section->used <= section->item_len &&
	       section->item_len <= section->len / nr_units;
}

/* Find the section of a type, of which there must be exactly one. */
static bool find_section(const struct sp_plane_hdr *hdr, uint32_t type,
			 uint32_t *ret_idx)
{
	bool found = false;

	for (uint32_t i = 0; i < hdr->nr_sections; i++) {
		if (hdr->section[i].type != type)
			continue;
		if (found)
			return false;
		found = true;
		*ret_idx = i;
	}
	return found;
}

/* Where the known sections stand in the table. */
struct places {
	uint32_t dir_idx, blob_idx, unit_idx;
};

static int check_layout(const struct sp_plane_hdr *hdr, uint64_t file_size,
			struct places *ret_at)
{
	if (!sp_is_power_of_two(hdr->page_size) || hdr->page_size < MIN_PAGE ||
	    hdr->page_size > MAX_PAGE)
		return -EBADMSG;
	if (hdr->file_len < sizeof(*hdr) || hdr->file_len > file_size)
		return -EBADMSG;
	if (!are_units_sane(hdr) || hdr->nr_sections > SP_MAX_SECTIONS)
		return -EBADMSG;
	for (uint32_t i = 0; i < hdr->nr_sections; i++)
		if (!is_section_sane(hdr, i))
			return -EBADMSG;
	if (!find_section(hdr, SP_SECTION_DIRECTORY, &ret_at->dir_idx) ||
	    !find_section(hdr, SP_SECTION_BLOB, &ret_at->blob_idx) ||
	    !find_section(hdr, SP_SECTION_UNITS, &ret_at->unit_idx))
		return -EBADMSG;
	if (!is_directory_sane(&hdr->section[ret_at->dir_idx]) ||
	    !is_unit_section_sane(&hdr->section[ret_at->unit_idx],
				  hdr->nr_units))
		return -EBADMSG;
	return 0;
}

/* A whole header from the file, without mapping it. */
static int load_header(int fd, struct sp_plane_hdr *hdr)
{
	ssize_t got;

	do {
		got = pread(fd, hdr, sizeof(*hdr), 0);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	return (size_t)got < sizeof(*hdr) ? -EBADMSG : 0;
}

/*
 * Load and check. Twice: what is loaded after the state was seen to be "live"
 * is complete [P1]; what came with it in one piece need not be.
 */
static int check_file(int fd, struct sp_plane_hdr *hdr, struct places *ret_at)
{
	struct stat st = {0};
	int err;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EBADMSG;
	for (int i = 0; i < 2; i++) {
		err = load_header(fd, hdr);
		if (!err)
			err = check_identity(hdr);
		if (err)
			return err;
		sp_fence_acquire(); /* [P1] */
	}
	return check_layout(hdr, (uint64_t)st.st_size, ret_at);
}

static void fill_reader(struct sp_reader *reader,
			const struct sp_plane_hdr *checked,
			const struct places *at)
{
	const struct sp_section *dir = &checked->section[at->dir_idx];
	const struct sp_section *blob = &checked->section[at->blob_idx];
	const struct sp_section *units = &checked->section[at->unit_idx];

	reader->hdr = (const struct sp_plane_hdr *)(const void *)reader->base;
	reader->dir_section = &reader->hdr->section[at->dir_idx];
	reader->dir = reader->base + dir->off;
	reader->dir_item_len = dir->item_len;
	reader->max_objects = dir->len / dir->item_len;
	reader->blob_section = &reader->hdr->section[at->blob_idx];
	reader->blob = reader->base + blob->off;
	reader->blob_len = blob->len;
	reader->unit_section = &reader->hdr->section[at->unit_idx];
	reader->units = reader->base + units->off;
	reader->unit_stride = units->item_len;
	reader->unit_bytes = units->item_len;
	reader->nr_units = checked->nr_units;
	reader->nr_cpus = checked->nr_cpus;
	reader->nr_lanes = checked->nr_lanes;
}

static int map_file(struct sp_reader *reader)
{
	void *base = mmap(NULL, reader->len, PROT_READ,
			  MAP_SHARED | MAP_NORESERVE, reader->fd, 0);
	int seals;

	if (base == MAP_FAILED)
		return -errno;
	madvise(base, reader->len, MADV_DONTDUMP);
	reader->base = base;
	seals = fcntl(reader->fd, F_GET_SEALS);
	reader->is_sealed = seals >= 0 && (seals & F_SEAL_SHRINK);
	return 0;
}

/* Takes over @fd, also on failure. */
static int attach(int fd, struct sp_reader **ret_reader)
{
	struct sp_reader *reader = calloc(1, sizeof(*reader));
	struct sp_plane_hdr *hdr = malloc(sizeof(*hdr));
	struct places at = {0};
	int err = -ENOMEM;

	if (!reader || !hdr)
		goto out_free;
	err = check_file(fd, hdr, &at);
	if (err)
		goto out_free;
	reader->fd = fd;
	reader->len = hdr->file_len;
	err = map_file(reader);
	if (err)
		goto out_free;
	fill_reader(reader, hdr, &at);
	reader->nr_retries = NR_RETRIES;
	free(hdr);
	*ret_reader = reader;
	return 0;

out_free:
	free(hdr);
	free(reader);
	close(fd);
	return err;
}

int sp_reader_attach(const char *path, struct sp_reader **ret_reader)
{
	/* O_NONBLOCK: what has the name may be a fifo. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	return fd < 0 ? -errno : attach(fd, ret_reader);
}

int sp_reader_attach_fd(int fd, struct sp_reader **ret_reader)
{
	char path[32];
	int own;

	/*
	 * An opening of our own, if we are allowed one: the writer's lock does
	 * not show on a descriptor that shares the writer's.
	 */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = fd < 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (own < 0)
		own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return own < 0 ? -errno : attach(own, ret_reader);
}

void sp_reader_detach(struct sp_reader *reader)
{
	if (!reader)
		return;
	munmap((void *)(uintptr_t)reader->base, reader->len);
	close(reader->fd);
	free(reader);
}

/* --- state -------------------------------------------------------------- */

static bool is_clean(const struct sp_reader *reader)
{
	return __atomic_load_n(&reader->hdr->state, __ATOMIC_ACQUIRE) /* [P1] */
	       == SP_STATE_CLEAN;
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
				reader->nr_retries = NR_RETRIES;
				return true;
			}
		}
		if (i % RETRIES_A_YIELD == RETRIES_A_YIELD - 1)
			sched_yield();
	}
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
