// SPDX-License-Identifier: MIT
/*
 * plane/attach.c - check a segment that nobody vouches for, and map it.
 *
 * The header is copied; every value that an address will be made of is checked
 * in the copy and kept in struct sp_reader, where the writer cannot change it.
 * The file is mapped only after that.
 */
#include "plane/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/fence.h"

/* A cell of a page needs at most this alignment of its unit. */
#define UNIT_ALIGN 4096u

#define MIN_PAGE 4096u
#define MAX_PAGE (1u << 30)

/* Feature bits of feature_incompat that are understood. */
#define KNOWN_INCOMPAT UINT64_C(0)

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
	uint32_t table_idx; /* SP_MAX_SECTIONS: none */
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
	ret_at->table_idx = SP_MAX_SECTIONS;
	find_section(hdr, SP_SECTION_TABLES, &ret_at->table_idx);
	if (ret_at->table_idx < SP_MAX_SECTIONS &&
	    hdr->section[ret_at->table_idx].off % MIN_PAGE)
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
	if (at->table_idx < SP_MAX_SECTIONS) {
		reader->tables =
			reader->base + checked->section[at->table_idx].off;
		reader->tables_len = checked->section[at->table_idx].len;
	}
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
	reader->nr_retries = SP_READER_RETRIES;
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
