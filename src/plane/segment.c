// SPDX-License-Identifier: MIT
/*
 * plane/segment.c - create, publish and close a segment.
 *
 * One process writes; any process may map the segment read-only. Readers can be
 * slow, stopped or dead, so nothing here ever waits for one. Byte layout:
 * plane/layout.h and docs/segment-format.md.
 *
 * Access            creating thread   any thread of the writer   readers
 *   hdr, sections   store             load                       load once
 *   hdr.state       [P1] release      -                          acquire
 *   heartbeat       -                 store                      load
 *   directory       -                 directory.c                reader.c
 *   units           -                 units.c, percpu/           percpu/
 */
#include "plane/plane.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/host.h"
#include "plane/area.h"
#include "plane/directory.h"
#include "plane/life.h"
#include "plane/name.h"
#include "plane/populate.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

#define DEFAULT_MODE        0640
#define DEFAULT_LANES       64
#define DEFAULT_UNIT_BYTES  (UINT64_C(64) << 20)
#define DEFAULT_OBJECTS     65536
#define DEFAULT_BLOB_BYTES  (UINT64_C(4) << 20)
#define DEFAULT_TABLE_BYTES (UINT64_C(32) << 30)
#define DEFAULT_PROGRAM     "statplane"

#define MAX_OBJECTS     (1u << 24)
#define MAX_UNIT_BYTES  (UINT64_C(1) << 40)
#define MAX_BLOB_BYTES  (UINT64_C(1) << 40)
#define MAX_TABLE_BYTES (UINT64_C(1) << 44)

/* What a version without this library's newest fields passed. */
#define OPTS_MIN_SZ offsetof(struct sp_plane_opts, table_bytes)

/* What huge pages are: areas of tables are aligned to it, in the file and here. */
#define HUGE_BYTES (UINT64_C(2) << 20)

struct geometry {
	uint64_t dir_off, dir_len;
	uint64_t blob_off, blob_len;
	uint64_t unit_off, unit_len; /* of all units */
	uint64_t table_off, table_len;
	uint64_t stride;
	uint64_t file_len;
	uint32_t nr_units;
};

static bool is_name_sane(const char *name, size_t max)
{
	size_t len = strlen(name);

	if (!len || len > max)
		return false;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)name[i] < ' ' || name[i] == 0x7f)
			return false;
	return true;
}

/* Copy what the caller's version knows; what ours doesn't must be zero. */
static int load_opts(struct sp_plane_opts *opts,
		     const struct sp_plane_opts *from)
{
	memset(opts, 0, sizeof(*opts));
	if (!from)
		return 0;
	if (from->sz < OPTS_MIN_SZ || from->sz > 4096)
		return -EINVAL;
	for (size_t i = sizeof(*opts); i < from->sz; i++)
		if (((const char *)from)[i])
			return -EINVAL;
	memcpy(opts, from, from->sz < sizeof(*opts) ? from->sz : sizeof(*opts));
	return 0;
}

static void default_cpus(struct sp_plane_opts *opts)
{
	uint32_t most = SP_MAX_UNITS - 1 - opts->nr_lanes;

	/* CPUs beyond the limit add to the shared unit. */
	opts->nr_cpus = sp_host_possible_cpus();
	if (opts->nr_cpus > most)
		opts->nr_cpus = most;
}

static int complete_opts(struct sp_plane_opts *opts)
{
	if (!opts->program)
		opts->program = DEFAULT_PROGRAM;
	if (!opts->mode)
		opts->mode = DEFAULT_MODE;
	if (!opts->nr_lanes)
		opts->nr_lanes = DEFAULT_LANES;
	if (!opts->nr_objects)
		opts->nr_objects = DEFAULT_OBJECTS;
	if (!opts->unit_bytes)
		opts->unit_bytes = DEFAULT_UNIT_BYTES;
	if (!opts->blob_bytes)
		opts->blob_bytes = DEFAULT_BLOB_BYTES;
	if (!opts->table_bytes)
		opts->table_bytes = DEFAULT_TABLE_BYTES;
	if (opts->nr_lanes > SP_MAX_UNITS - 2)
		return -EINVAL;
	if (!opts->nr_cpus)
		default_cpus(opts);
	if (opts->nr_cpus > SP_MAX_UNITS - 1 - opts->nr_lanes ||
	    opts->mode > 0777 || opts->nr_objects > MAX_OBJECTS ||
	    opts->unit_bytes > MAX_UNIT_BYTES ||
	    opts->blob_bytes > MAX_BLOB_BYTES ||
	    opts->table_bytes > MAX_TABLE_BYTES ||
	    !is_name_sane(opts->program, 31))
		return -EINVAL;
	return 0;
}

static void plan(struct geometry *geo, const struct sp_plane_opts *opts,
		 uint64_t page)
{
	/* 2^40 bytes times 2^12 units fit into 64 bits with room to spare. */
	geo->nr_units = 1 + opts->nr_cpus + opts->nr_lanes;
	geo->dir_off = sp_round_up(sizeof(struct sp_plane_hdr), page);
	geo->dir_len = sp_round_up(
		opts->nr_objects * sizeof(struct sp_dir_entry), page);
	geo->blob_off = geo->dir_off + geo->dir_len;
	geo->blob_len = sp_round_up(opts->blob_bytes, page);
	geo->unit_off = geo->blob_off + geo->blob_len;
	/* One page more than a power of two that was likely asked for: equal
	 * offsets of different units must not meet in the same cache sets. */
	geo->stride = sp_round_up(opts->unit_bytes, page) + page;
	geo->unit_len = geo->stride * geo->nr_units;
	geo->table_len = sp_round_up(opts->table_bytes, page);
	geo->table_off =
		sp_round_up(geo->unit_off + geo->unit_len,
			    geo->table_len < HUGE_BYTES ? page : HUGE_BYTES);
	geo->file_len = geo->table_off + geo->table_len;
}

static int create_memfd(void)
{
	int fd = memfd_create("statplane", MFD_CLOEXEC | MFD_NOEXEC_SEAL);

	/* Kernels before 6.3 do not know the second flag. */
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("statplane", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return fd < 0 ? -errno : fd;
}

/* Beyond this limit ftruncate(2) would send SIGXFSZ. */
static bool exceeds_limit(uint64_t len)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_FSIZE, &limit) &&
	       limit.rlim_cur != RLIM_INFINITY && len > limit.rlim_cur;
}

static int create_file(struct sp_plane *plane, const struct sp_plane_opts *opts)
{
	int fd, err;

	if (exceeds_limit(plane->len))
		return -EFBIG;
	if (opts->path) {
		err = sp_name_open(opts->path, &plane->name);
		if (!err)
			err = sp_name_check(plane->name);
		if (err)
			return err;
		fd = sp_name_create_file(plane->name, opts->mode);
	} else {
		fd = create_memfd();
	}
	if (fd < 0)
		return fd;
	plane->fd = fd;
	if (ftruncate(fd, (off_t)plane->len))
		return -errno;
	/* An anonymous plane can promise that it will not shrink. A plain file
	 * cannot, and a kernel without sealing need not. */
	if (!opts->path)
		fcntl(fd, F_ADD_SEALS,
		      F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	sp_life_lock(fd);
	return 0;
}

/* At a multiple of HUGE_BYTES, as the tables section has it in the file. */
static int map_file(struct sp_plane *plane)
{
	void *base = mmap(NULL, plane->len + HUGE_BYTES, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint64_t lead;

	if (base == MAP_FAILED)
		return -errno;
	lead = -(uintptr_t)base & (HUGE_BYTES - 1);
	plane->base = (char *)base + lead;
	if (mmap(plane->base, plane->len, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_NORESERVE | MAP_FIXED, plane->fd,
		 0) == MAP_FAILED) {
		int err = -errno;

		plane->base = NULL;
		munmap(base, plane->len + HUGE_BYTES);
		return err;
	}
	/* Failing only costs address space. */
	if (lead)
		munmap(base, lead);
	munmap(plane->base + sp_round_up(plane->len, plane->page_size),
	       sp_round_down(HUGE_BYTES - lead, plane->page_size));
	base = plane->base;
	/* A core dump would carry gigabytes of holes. */
	madvise(base, plane->len, MADV_DONTDUMP);
	return 0;
}

static void add_section(struct sp_plane_hdr *hdr, enum sp_section_type type,
			uint64_t off, uint64_t len, uint64_t item_len)
{
	struct sp_section *section = &hdr->section[hdr->nr_sections++];

	section->type = type;
	section->off = off;
	section->len = len;
	section->item_len = item_len;
}

static void make_uuid(uint8_t uuid[16])
{
	uint64_t now[2] = {sp_host_realtime_ns(), sp_host_monotonic_ns()};

	if (getrandom(uuid, 16, 0) != 16)
		memcpy(uuid, now, 16);
	uuid[6] = (uint8_t)((uuid[6] & 0x0f) | 0x40); /* version 4: random */
	uuid[8] = (uint8_t)((uuid[8] & 0x3f) | 0x80);
}

static void fill_header(struct sp_plane_hdr *hdr,
			const struct sp_plane_opts *opts,
			const struct geometry *geo, uint64_t page)
{
	hdr->magic = SP_PLANE_MAGIC;
	hdr->version_major = SP_PLANE_MAJOR;
	hdr->version_minor = SP_PLANE_MINOR;
	hdr->endian = SP_PLANE_ENDIAN;
	hdr->page_size = (uint32_t)page;
	hdr->state = SP_STATE_INIT;
	make_uuid(hdr->uuid);
	sp_life_sign(hdr);
	hdr->birth_realtime_ns = sp_host_realtime_ns();
	hdr->birth_monotonic_ns = sp_host_monotonic_ns();
	hdr->file_len = geo->file_len;
	hdr->nr_units = geo->nr_units;
	hdr->nr_cpus = opts->nr_cpus;
	hdr->nr_lanes = opts->nr_lanes;
	strcpy(hdr->program, opts->program); /* length checked */
	add_section(hdr, SP_SECTION_DIRECTORY, geo->dir_off, geo->dir_len,
		    sizeof(struct sp_dir_entry));
	add_section(hdr, SP_SECTION_BLOB, geo->blob_off, geo->blob_len, 0);
	add_section(hdr, SP_SECTION_UNITS, geo->unit_off, geo->unit_len,
		    geo->stride);
	add_section(hdr, SP_SECTION_TABLES, geo->table_off, geo->table_len, 0);
}

static void fill_plane(struct sp_plane *plane, const struct geometry *geo)
{
	struct sp_plane_hdr *hdr = (struct sp_plane_hdr *)(void *)plane->base;

	plane->hdr = hdr;
	plane->units = plane->base + geo->unit_off;
	plane->unit_stride = geo->stride;
	plane->unit_bytes = geo->stride - plane->page_size;
	plane->nr_units = geo->nr_units;
	plane->nr_cpus = hdr->nr_cpus;
	plane->nr_lanes = hdr->nr_lanes;
	plane->dir_section = &hdr->section[0];
	plane->blob_section = &hdr->section[1];
	plane->unit_section = &hdr->section[2];
	plane->table_section = &hdr->section[3];
	plane->tables = plane->base + geo->table_off;
}

int sp_segment_create(const struct sp_plane_opts *opts,
		      struct sp_plane **ret_plane)
{
	struct sp_plane_opts want;
	struct sp_plane *plane;
	struct geometry geo;
	int err = load_opts(&want, opts);

	if (!err)
		err = complete_opts(&want);
	if (err)
		return err;
	plane = calloc(1, sizeof(*plane));
	if (!plane)
		return -ENOMEM;
	plane->fd = -1;
	plane->page_size = (uint64_t)sysconf(_SC_PAGESIZE);
	plan(&geo, &want, plane->page_size);
	plane->len = geo.file_len;

	err = create_file(plane, &want);
	if (!err)
		err = map_file(plane);
	if (!err)
		err = sp_populate(plane, 0, geo.dir_off);
	if (err)
		goto out_close;
	fill_header((struct sp_plane_hdr *)(void *)plane->base, &want, &geo,
		    plane->page_size);
	fill_plane(plane, &geo);
	err = sp_dir_create(want.nr_objects, &plane->dir);
	if (err)
		goto out_close;
	*ret_plane = plane;
	return 0;

out_close:
	sp_segment_close(plane);
	return err;
}

static void set_state(struct sp_plane *plane, uint32_t state)
{
	/* [P1] */
	__atomic_store_n(&plane->hdr->state, state, __ATOMIC_RELEASE);
}

int sp_segment_publish(struct sp_plane *plane)
{
	int err;

	set_state(plane, SP_STATE_LIVE);
	if (!plane->name)
		return 0;
	err = sp_name_take(plane->name);
	if (err)
		return err;
	sp_name_close(plane->name);
	plane->name = NULL;
	return 0;
}

void sp_segment_close(struct sp_plane *plane)
{
	if (!plane)
		return;
	sp_area_fini(plane);
	sp_dir_destroy(plane->dir);
	if (plane->hdr)
		set_state(plane, SP_STATE_CLEAN);
	if (plane->base)
		munmap(plane->base, plane->len);
	sp_name_close(plane->name);
	if (plane->fd >= 0)
		close(plane->fd);
	free(plane);
}

void sp_plane_heartbeat(struct sp_plane *plane)
{
	__atomic_store_n(&plane->hdr->heartbeat_realtime_ns,
			 sp_host_realtime_ns(), __ATOMIC_RELAXED);
}

int sp_plane_fd(const struct sp_plane *plane)
{
	return plane->fd;
}
