// SPDX-License-Identifier: MIT
/*
 * Reading a plane, a good one or not: statplane/reader.h.
 */
#include "small_plane.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

#include "base/host.h"
#include "plane/life.h"
#include "plane/reader.h"

static struct sp_plane *plane;
static struct sp_plane_hdr good; /* too long for a frame */

static int setup(void **state)
{
	plane = small_segment(NULL);
	return sp_plane_populate_units(plane, 4096);
}

static int teardown(void **state)
{
	sp_segment_close(plane);
	return 0;
}

static uint64_t *cell(uint32_t unit, uint64_t off)
{
	return (uint64_t *)(void *)(sp_plane_unit(plane, unit) + off);
}

static struct sp_dir_entry *entry_at(unsigned slot)
{
	return (struct sp_dir_entry *)(void *)(plane->base +
					       plane->dir_section->off) +
	       slot;
}

/* --- attach ------------------------------------------------------------- */

static int try_attach(void)
{
	struct sp_reader *reader = (void *)1;
	int err = sp_reader_attach_fd(plane->fd, &reader);

	if (err)
		assert_ptr_equal(reader, (void *)1);
	else
		sp_reader_detach(reader);
	return err;
}

/* One thing wrong with the header at a time. */
static void headers_that_lie_are_refused(void **state)
{
	struct sp_plane_hdr *hdr = plane->hdr;
	struct sp_section *dir = &hdr->section[0], *blob = &hdr->section[1],
			  *units = &hdr->section[2];

	good = *hdr;
	assert_int_equal(try_attach(), 0);
#define CHECK(change, err)                                                     \
	do {                                                                   \
		change;                                                        \
		assert_int_equal(try_attach(), err);                           \
		*hdr = good;                                                   \
	} while (0)
	CHECK(hdr->magic ^= 1, -EBADMSG);
	CHECK(hdr->magic = __builtin_bswap64(hdr->magic), -EPROTO);
	CHECK(hdr->version_major = 2, -EPROTO);
	CHECK(hdr->version_major = 0, -EPROTO);
	CHECK(hdr->endian = 0x04030201, -EBADMSG);
	CHECK(hdr->page_size = 0, -EBADMSG);
	CHECK(hdr->page_size = 2048, -EBADMSG);
	CHECK(hdr->page_size = 4097, -EBADMSG);
	CHECK(hdr->page_size = 1u << 31, -EBADMSG);
	CHECK(hdr->state = SP_STATE_INIT, -EAGAIN);
	CHECK(hdr->state = 3, -EBADMSG);
	CHECK(hdr->feature_incompat = 1, -EPROTO);
	CHECK(hdr->file_len = 0, -EBADMSG);
	CHECK(hdr->file_len = 1791, -EBADMSG);
	CHECK(hdr->file_len += 1, -EBADMSG);
	CHECK(hdr->file_len -= 1, -EBADMSG); /* cuts the last section */
	CHECK(hdr->file_len = UINT64_MAX, -EBADMSG);
	CHECK(hdr->nr_units = 0, -EBADMSG);
	CHECK(hdr->nr_units = 4, -EBADMSG);
	CHECK(hdr->nr_units = 4097, -EBADMSG);
	CHECK((hdr->nr_cpus = UINT32_MAX, hdr->nr_lanes = 5), -EBADMSG);
	CHECK(hdr->units_written[0] |= 1u << 5, -EBADMSG);
	CHECK(hdr->units_written[63] |= UINT64_C(1) << 63, -EBADMSG);
	CHECK(hdr->nr_sections = 0, -EBADMSG);
	CHECK(hdr->nr_sections = 2, -EBADMSG);
	CHECK(hdr->nr_sections = 17, -EBADMSG);
	for (int i = 0; i < 3; i++) {
		struct sp_section *section = &hdr->section[i];

		CHECK(section->type = 99, -EBADMSG);
		CHECK(section->type = 1 + section->type % 3, -EBADMSG);
		CHECK(section->off = 0, -EBADMSG);
		CHECK(section->off = UINT64_MAX - 4095, -EBADMSG);
		CHECK(section->off = hdr->file_len + 4096, -EBADMSG);
		CHECK(section->off = hdr->section[(i + 1) % 3].off, -EBADMSG);
		CHECK(section->len = UINT64_MAX, -EBADMSG);
		CHECK(section->len = hdr->file_len - section->off + 1,
		      -EBADMSG);
		CHECK(section->used = section->len + 1, -EBADMSG);
	}
	CHECK(dir->off += 4, -EBADMSG);
	CHECK(dir->item_len = 0, -EBADMSG);
	CHECK(dir->item_len = 184, -EBADMSG);
	CHECK(dir->item_len = 196, -EBADMSG);
	CHECK(dir->item_len = dir->len + 8, -EBADMSG);
	CHECK(blob->used = UINT64_MAX, -EBADMSG);
	CHECK(units->item_len = 0, -EBADMSG);
	CHECK(units->item_len += 8, -EBADMSG);
	CHECK(units->item_len += 4096, -EBADMSG);
	CHECK(units->item_len = UINT64_MAX - 4095, -EBADMSG);
	CHECK(units->used = units->item_len + 1, -EBADMSG);
	CHECK((units->off += 8, units->len -= 8), -EBADMSG);
	CHECK(units->len = 5 * units->item_len - 1, -EBADMSG);
#undef CHECK
	assert_int_equal(try_attach(), 0);
}

/* What a later minor version, or another machine, may have. */
static void what_is_only_unknown_is_accepted(void **state)
{
	struct sp_plane_hdr *hdr = plane->hdr;
	struct sp_section *section = &hdr->section[3];

	good = *hdr;
#define CHECK(change)                                                          \
	do {                                                                   \
		change;                                                        \
		assert_int_equal(try_attach(), 0);                             \
		*hdr = good;                                                   \
	} while (0)
	CHECK(hdr->version_minor = 77);
	CHECK(hdr->feature_compat = UINT64_MAX);
	CHECK(hdr->feature_ro_compat = UINT64_MAX);
	CHECK(hdr->page_size = 65536);
	CHECK(hdr->state = SP_STATE_CLEAN);
	CHECK((hdr->nr_sections = 4, section->type = 99, section->off = 2048,
	       section->len = 512));
	CHECK(hdr->section[0].item_len = 200);
#undef CHECK
}

static void longer_entries_are_walked_by_their_length(void **state)
{
	struct sp_dir_entry second;
	struct sp_reader *reader;
	struct sp_object object;
	uint64_t cursor = 0;

	small_add(plane, "a", 0, 0);
	small_add(plane, "b", 0, 0);
	second = *entry_at(1);
	memcpy((char *)entry_at(0) + 256, &second, 192);
	plane->dir_section->item_len = 256;
	plane->dir_section->used = 512;
	reader = small_reader(plane);
	assert_int_equal(sp_reader_next(reader, &cursor, &object), 0);
	assert_string_equal(object.name, "a");
	assert_int_equal(sp_reader_next(reader, &cursor, &object), 0);
	assert_string_equal(object.name, "b");
	assert_int_equal(sp_reader_next(reader, &cursor, &object), -ENOENT);
	sp_reader_detach(reader);
}

static int attach_path(const char *path)
{
	struct sp_reader *reader;
	int err = sp_reader_attach(path, &reader);

	if (!err)
		sp_reader_detach(reader);
	return err;
}

static void files_that_are_no_planes(void **state)
{
	const char *path = small_path("f");
	int fd;

	assert_int_equal(attach_path(small_path("none")), -ENOENT);
	assert_int_equal(attach_path(small_dir), -EBADMSG);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(attach_path(path), -EBADMSG); /* and does not block */
	unlink(path);
	fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(attach_path(path), -EBADMSG);
	/* Its start alone. */
	assert_int_equal(write(fd, plane->hdr, 1791), 1791);
	assert_int_equal(attach_path(path), -EBADMSG);
	assert_int_equal(pwrite(fd, plane->hdr, 1792, 0), 1792);
	assert_int_equal(attach_path(path), -EBADMSG);
	assert_int_equal(ftruncate(fd, (off_t)plane->len - 1), 0);
	assert_int_equal(attach_path(path), -EBADMSG);
	assert_int_equal(ftruncate(fd, (off_t)plane->len), 0);
	assert_int_equal(attach_path(path), 0);
	close(fd);
	unlink(path);
}

static void a_descriptor_stays_the_callers(void **state)
{
	struct sp_reader *reader = NULL;
	int fd = dup(sp_plane_fd(plane));

	assert_int_equal(sp_reader_attach_fd(-1, &reader), -EBADF);
	assert_int_equal(sp_reader_attach_fd(fd, &reader), 0);
	assert_int_equal(close(fd), 0);
	assert_int_equal(sp_reader_state(reader), SP_PLANE_LIVE);
	sp_reader_detach(reader);
	sp_reader_detach(NULL);
}

static void info_is_what_the_plane_is(void **state)
{
	struct sp_reader *reader = small_reader(plane);
	struct sp_plane_info info;

	small_add(plane, "x", 0, 0);
	sp_plane_mark_unit(plane, 4);
	sp_plane_heartbeat(plane);
	sp_reader_info(reader, &info);
	assert_string_equal(info.program, "test");
	assert_memory_equal(info.uuid, plane->hdr->uuid, 16);
	assert_int_equal(info.version_major, SP_PLANE_MAJOR);
	assert_int_equal(info.version_minor, SP_PLANE_MINOR);
	assert_int_equal(info.pid, getpid());
	assert_true(info.birth_realtime_ns);
	assert_true(info.heartbeat_realtime_ns >= info.birth_realtime_ns);
	assert_int_equal(info.nr_cpus, 2);
	assert_int_equal(info.nr_lanes, 2);
	assert_int_equal(info.nr_units, 5);
	assert_int_equal(info.nr_units_written, 2);
	assert_int_equal(info.unit_stride, plane->unit_stride);
	assert_int_equal(info.unit_used_bytes, sp_plane_units_used(plane));
	assert_int_equal(info.nr_objects, 1);
	assert_int_equal(info.max_objects, 64);
	assert_int_equal(info.mapped_bytes, plane->len);
	assert_int_equal(info.nr_unstable, 0);
	sp_reader_detach(reader);
}

static void info_of_a_liar_is_harmless(void **state)
{
	struct sp_reader *reader = small_reader(plane);
	struct sp_plane_info info;

	memset(plane->hdr->program, 0x1b, 32);
	memset(plane->hdr->units_written, 0xff, 512);
	plane->unit_section->used = UINT64_MAX;
	plane->hdr->nr_objects = UINT64_MAX;
	sp_reader_info(reader, &info);
	assert_int_equal(strlen(info.program), 31);
	assert_null(strchr(info.program, 0x1b));
	assert_int_equal(info.nr_units_written, 5);
	assert_true(info.unit_used_bytes <= info.unit_stride);
	assert_int_equal(info.nr_objects, 64);
	sp_reader_detach(reader);
}

/* --- directory ---------------------------------------------------------- */

static void objects_come_in_directory_order(void **state)
{
	struct sp_reader *reader = small_reader(plane);
	struct sp_object object;
	uint64_t cursor = 0;

	small_add(plane, "a", 0, 0);
	uint64_t b = small_add(plane, "b", 0, 0);
	small_add(plane, "c", 0, 0);
	sp_dir_remove(plane, b);
	assert_int_equal(sp_reader_next(reader, &cursor, &object), 0);
	assert_string_equal(object.name, "a");
	assert_int_equal(sp_reader_next(reader, &cursor, &object), 0);
	assert_string_equal(object.name, "c");
	assert_int_equal(sp_reader_next(reader, &cursor, &object), -ENOENT);
	/* At the end is not for ever. */
	small_add(plane, "b2", 0, 0);
	small_add(plane, "d", 0, 0);
	assert_int_equal(sp_reader_next(reader, &cursor, &object), 0);
	assert_string_equal(object.name, "d");
	cursor = UINT64_MAX;
	assert_int_equal(sp_reader_next(reader, &cursor, &object), -ENOENT);
	sp_reader_detach(reader);
}

static void an_object_is_got_by_id_while_it_lives(void **state)
{
	struct sp_reader *reader = small_reader(plane);
	uint64_t id = small_add(plane, "a", 0, 0), new;
	struct sp_object object;

	assert_int_equal(sp_reader_get(reader, id, &object), 0);
	assert_string_equal(object.name, "a");
	assert_true(object.id == id);
	sp_dir_remove(plane, id);
	assert_int_equal(sp_reader_get(reader, id, &object), -ENOENT);
	new = small_add(plane, "a", 0, 0);
	assert_int_equal(sp_reader_get(reader, id, &object), -ENOENT);
	assert_int_equal(sp_reader_get(reader, new, &object), 0);
	assert_int_equal(sp_reader_get(reader, 0, &object), -ENOENT);
	assert_int_equal(sp_reader_get(reader, 64, &object), -ENOENT);
	assert_int_equal(sp_reader_get(reader, UINT32_MAX, &object), -ENOENT);
	assert_int_equal(sp_reader_get(reader, UINT64_MAX, &object), -ENOENT);
	sp_reader_detach(reader);
}

static void an_object_is_found_by_name(void **state)
{
	struct sp_reader *reader = small_reader(plane);
	struct sp_object object = small_object("x");
	uint64_t first, second;

	object.parent = 5;
	assert_int_equal(sp_dir_add(plane, &object, &first), 0);
	object.parent = 6;
	assert_int_equal(sp_dir_add(plane, &object, &second), 0);
	assert_int_equal(sp_reader_find(reader, SP_OBJECT_MIB, 6, "x", &object),
			 0);
	assert_true(object.id == second);
	assert_int_equal(sp_reader_find(reader, SP_OBJECT_MIB, 0, "x", &object),
			 0);
	assert_true(object.id == first);
	assert_int_equal(sp_reader_find(reader, SP_OBJECT_MIB, 7, "x", &object),
			 -ENOENT);
	assert_int_equal(
		sp_reader_find(reader, SP_OBJECT_NETNS, 5, "x", &object),
		-ENOENT);
	sp_reader_detach(reader);
}

/* As a writer leaves it that is killed in the middle of a change. */
static void an_entry_that_never_gets_ready_is_counted(void **state)
{
	struct sp_reader *reader = small_reader(plane);
	uint64_t id = small_add(plane, "a", 0, 0), cursor = 0;
	struct sp_object object;
	struct sp_plane_info info;

	small_add(plane, "b", 0, 0);
	entry_at(0)->seq++;
	assert_int_equal(sp_reader_next(reader, &cursor, &object), -EAGAIN);
	assert_int_equal(sp_reader_next(reader, &cursor, &object), 0);
	assert_string_equal(object.name, "b");
	assert_int_equal(sp_reader_get(reader, id, &object), -EAGAIN);
	assert_int_equal(sp_reader_find(reader, SP_OBJECT_MIB, 0, "b", &object),
			 0);
	assert_int_equal(sp_reader_find(reader, SP_OBJECT_MIB, 0, "z", &object),
			 -EAGAIN);
	sp_reader_info(reader, &info);
	assert_int_equal(info.nr_unstable, 4);
	entry_at(0)->seq++;
	assert_int_equal(sp_reader_get(reader, id, &object), 0);
	sp_reader_detach(reader);
}

static void entries_that_cannot_be_true_are_skipped(void **state)
{
	struct sp_reader *reader = small_reader(plane);
	uint64_t id = small_add(plane, "a", 0, 4);
	struct sp_dir_entry *entry = entry_at(0), sane = *entry;
	struct sp_object object;
	uint64_t nr = 0;

	small_add(plane, "b", 0, 0);
#define CHECK(change)                                                          \
	do {                                                                   \
		uint64_t cursor = 0;                                           \
		change;                                                        \
		assert_int_equal(sp_reader_next(reader, &cursor, &object),     \
				 -EAGAIN);                                     \
		assert_int_equal(cursor, 1);                                   \
		assert_int_equal(sp_reader_get(reader, id, &object), -EAGAIN); \
		assert_int_equal(reader->nr_unstable, nr += 2);                \
		*entry = sane;                                                 \
	} while (0)
	CHECK(entry->name[0] = '\0');
	CHECK(entry->name[0] = '/');
	CHECK(entry->name[0] = '\x1b');
	CHECK(memset(entry->name, 'x', 64));
	CHECK(entry->cells_off = 4);
	CHECK(entry->cells_off = UINT64_MAX - 7);
	CHECK(entry->cells_off = sp_plane_units_used(plane) - 24);
	CHECK(entry->nr_cells = UINT32_MAX);
	CHECK(entry->blob_bytes = 1);
	CHECK(entry->blob_off = UINT64_MAX);
#undef CHECK
	assert_int_equal(sp_reader_get(reader, id, &object), 0);
	sp_reader_detach(reader);
}

static void counts_that_grow_beyond_the_file_are_clamped(void **state)
{
	struct sp_reader *reader = small_reader(plane);
	struct sp_object object;
	uint64_t cursor = 0;

	small_add(plane, "a", 0, 0);
	plane->dir_section->used = UINT64_MAX;
	plane->blob_section->used = UINT64_MAX;
	assert_int_equal(sp_reader_next(reader, &cursor, &object), 0);
	assert_int_equal(sp_reader_next(reader, &cursor, &object), -ENOENT);
	assert_int_equal(cursor, 64);
	assert_null(sp_reader_blob(reader, 0, plane->blob_section->len + 1));
	sp_reader_detach(reader);
}

/* --- cells -------------------------------------------------------------- */

static void sums_are_of_the_written_units(void **state)
{
	struct sp_reader *reader = small_reader(plane);
	uint64_t id = small_add(plane, "a", 80, 3), sum[3], cells[3];
	struct sp_object object;

	assert_int_equal(sp_reader_get(reader, id, &object), 0);
	*cell(0, 80) = 1;
	*cell(0, 96) = UINT64_MAX;
	assert_int_equal(sp_plane_mark_unit(plane, 3), 0);
	*cell(3, 80) = 10;
	*cell(3, 96) = 3;
	*cell(3, 104) = 77; /* a neighbour's */
	assert_int_equal(sp_reader_fold(reader, &object, 0, 3, sum), 0);
	assert_int_equal(sum[0], 11);
	assert_int_equal(sum[1], 0);
	assert_int_equal(sum[2], 2);
	assert_int_equal(sp_reader_fold(reader, &object, 2, 1, sum), 0);
	assert_int_equal(sum[0], 2);
	assert_int_equal(sp_reader_fold(reader, &object, 3, 1, sum), -EINVAL);
	assert_int_equal(sp_reader_fold(reader, &object, SIZE_MAX, 2, sum),
			 -EINVAL);
	assert_int_equal(sp_reader_unit(reader, &object, 3, 0, 3, cells), 0);
	assert_int_equal(cells[0], 10);
	assert_int_equal(sp_reader_unit(reader, &object, 2, 0, 3, cells),
			 -ENODATA);
	assert_int_equal(cells[0], 0);
	assert_int_equal(sp_reader_unit(reader, &object, 5, 0, 3, cells),
			 -EINVAL);
	sp_reader_detach(reader);
}

static void sums_of_what_is_gone_are_void(void **state)
{
	struct sp_reader *reader = small_reader(plane);
	uint64_t id = small_add(plane, "a", 0, 4), sum[4];
	struct sp_object object;

	assert_int_equal(sp_reader_get(reader, id, &object), 0);
	assert_int_equal(sp_reader_fold(reader, &object, 0, 4, sum), 0);
	sp_dir_update(plane, id, 0, 1);
	assert_int_equal(sp_reader_fold(reader, &object, 0, 4, sum), 0);
	sp_dir_remove(plane, id);
	assert_int_equal(sp_reader_fold(reader, &object, 0, 4, sum), -ESTALE);
	small_add(plane, "a", 0, 4);
	assert_int_equal(sp_reader_fold(reader, &object, 0, 4, sum), -ESTALE);
	assert_int_equal(sp_reader_unit(reader, &object, 0, 0, 4, sum),
			 -ESTALE);
	sp_reader_detach(reader);
}

static void an_object_made_up_by_the_caller_is_checked(void **state)
{
	struct sp_reader *reader = small_reader(plane);
	uint64_t id = small_add(plane, "a", 0, 4), sum[4];
	struct sp_object found, object;

	assert_int_equal(sp_reader_get(reader, id, &found), 0);
#define CHECK(change)                                                          \
	do {                                                                   \
		object = found;                                                \
		change;                                                        \
		assert_int_equal(sp_reader_fold(reader, &object, 0, 1, sum),   \
				 -EINVAL);                                     \
	} while (0)
	CHECK(object.cells_off = 1);
	CHECK(object.cells_off = UINT64_MAX - 7);
	CHECK(object.cells_off = sp_plane_units_used(plane));
	CHECK(object.nr_cells = UINT32_MAX);
#undef CHECK
	sp_reader_detach(reader);
}

/* A read fault in a hole of a tmpfs file allocates the page. */
static void reading_takes_no_memory(void **state)
{
	struct sp_reader *reader = small_reader(plane);
	uint64_t nr_cells = sp_plane_units_used(plane) / 8;
	uint64_t *sum = calloc(nr_cells, 8), before, cursor = 0;
	struct sp_object object;
	struct sp_plane_info info;

	small_add(plane, "all", 0, (uint32_t)nr_cells);
	before = small_backed_bytes(plane->fd);
	sp_reader_info(reader, &info);
	while (!sp_reader_next(reader, &cursor, &object)) {
		assert_int_equal(
			sp_reader_fold(reader, &object, 0, nr_cells, sum), 0);
		for (uint32_t unit = 0; unit < info.nr_units; unit++)
			sp_reader_unit(reader, &object, unit, 0, nr_cells, sum);
	}
	assert_int_equal(small_backed_bytes(plane->fd), before);
	free(sum);
	sp_reader_detach(reader);
}

/* --- state -------------------------------------------------------------- */

static enum sp_plane_state state_of(const char *path)
{
	struct sp_reader *reader = NULL;
	enum sp_plane_state found;

	assert_int_equal(sp_reader_attach(path, &reader), 0);
	found = sp_reader_state(reader);
	sp_reader_detach(reader);
	return found;
}

/* A child that writes @path until it is killed. */
static pid_t start_writer(const char *path)
{
	int ready[2];
	pid_t child;
	char byte;

	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (!child) {
		small_segment(path);
		if (write(ready[1], "r", 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return child;
}

static void a_killed_writer_leaves_an_abandoned_plane(void **state)
{
	const char *path = small_path("p");
	pid_t child = start_writer(path);

	assert_int_equal(state_of(path), SP_PLANE_LIVE);
	kill(child, SIGSTOP);
	assert_int_equal(state_of(path), SP_PLANE_LIVE);
	kill(child, SIGKILL);
	/* Not yet waited for: a zombie is gone as well. */
	siginfo_t info;
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT),
			 0);
	assert_int_equal(state_of(path), SP_PLANE_ABANDONED);
	small_wait(child);
	assert_int_equal(state_of(path), SP_PLANE_ABANDONED);
	unlink(path);
}

static void closing_leaves_a_clean_plane(void **state)
{
	struct sp_reader *reader;

	sp_segment_close(small_segment(small_path("p")));
	assert_int_equal(state_of(small_path("p")), SP_PLANE_CLEAN);
	/* And for who was attached. */
	reader = small_reader(plane);
	assert_int_equal(sp_reader_state(reader), SP_PLANE_LIVE);
	sp_segment_close(plane);
	assert_int_equal(sp_reader_state(reader), SP_PLANE_CLEAN);
	sp_reader_detach(reader);
	plane = small_segment(NULL);
}

/* The header of a named plane, to be changed. */
static struct sp_plane_hdr *map_header(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct sp_plane_hdr *hdr = mmap(
		NULL, sizeof(*hdr), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	assert_ptr_not_equal(hdr, MAP_FAILED);
	close(fd);
	return hdr;
}

static void a_pid_used_again_is_another_writer(void **state)
{
	const char *path = small_path("p");
	pid_t child = start_writer(path);
	struct sp_plane_hdr *hdr = map_header(path);

	if (hdr->pid_ns) {
		/* Alive, but by another clock: its lock tells. */
		hdr->pid_start_ticks++;
		assert_int_equal(state_of(path), SP_PLANE_LIVE);
	}
	kill(child, SIGKILL);
	small_wait(child);
	assert_int_equal(state_of(path), SP_PLANE_ABANDONED);
	if (hdr->pid_ns) {
		/* There is a process with this pid; it is not the writer. */
		hdr->pid = (uint32_t)getpid();
		hdr->pid_start_ticks = 1;
		assert_int_equal(state_of(path), SP_PLANE_ABANDONED);
	}
	munmap(hdr, sizeof(*hdr));
	unlink(path);
}

static void another_boot_is_abandoned(void **state)
{
	struct sp_reader *reader = small_reader(plane);
	uint8_t boot_id[16];

	if (sp_host_boot_id(boot_id))
		skip();
	plane->hdr->boot_id[3] ^= 1;
	assert_int_equal(sp_reader_state(reader), SP_PLANE_ABANDONED);
	/* Unknown to the writer: go by the rest. */
	memset(plane->hdr->boot_id, 0, 16);
	assert_int_equal(sp_reader_state(reader), SP_PLANE_LIVE);
	sp_reader_detach(reader);
}

/* A writer of another pid namespace: first the lock, then the heartbeat. */
static void where_pids_cannot_be_compared(void **state)
{
	const char *path = small_path("p");
	pid_t child = start_writer(path);
	struct sp_plane_hdr *hdr = map_header(path);
	struct sp_reader *reader = NULL;

	hdr->pid_ns ^= 1;
	hdr->birth_realtime_ns -= 2 * SP_LIFE_TIMEOUT_NS;
	assert_int_equal(sp_reader_attach(path, &reader), 0);
	assert_int_equal(sp_reader_state(reader), SP_PLANE_LIVE);
	kill(child, SIGKILL);
	small_wait(child);
	assert_int_equal(sp_reader_state(reader), SP_PLANE_ABANDONED);
	hdr->heartbeat_realtime_ns = sp_host_realtime_ns();
	assert_int_equal(sp_reader_state(reader), SP_PLANE_LIVE);
	hdr->heartbeat_realtime_ns -= SP_LIFE_TIMEOUT_NS;
	assert_int_equal(sp_reader_state(reader), SP_PLANE_ABANDONED);
	/* Ahead, for a clock that was set back. */
	hdr->heartbeat_realtime_ns += 20 * SP_LIFE_TIMEOUT_NS;
	assert_int_equal(sp_reader_state(reader), SP_PLANE_ABANDONED);
	hdr->heartbeat_realtime_ns = 0;
	hdr->birth_realtime_ns = sp_host_realtime_ns();
	assert_int_equal(sp_reader_state(reader), SP_PLANE_LIVE);
	sp_reader_detach(reader);
	munmap(hdr, sizeof(*hdr));
	unlink(path);
}

/* Pids of the reader's own say nothing about a writer outside. */
static void a_reader_in_another_pid_namespace(void **state)
{
	const char *path = small_path("p");
	struct sp_plane *named = small_segment(path);
	pid_t outer = fork();
	int status;

	if (!outer) {
		if (unshare(CLONE_NEWPID) &&
		    unshare(CLONE_NEWUSER | CLONE_NEWPID))
			_exit(77);
		pid_t inner = fork();

		if (!inner)
			_exit(state_of(path) == SP_PLANE_LIVE ? 0 : 1);
		_exit(small_wait(inner));
	}
	status = small_wait(outer);
	sp_segment_close(named);
	unlink(path);
	if (status == 77) {
		print_message("skipped: no pid namespaces\n");
		skip();
	}
	assert_int_equal(status, 0);
}

static void a_truncated_file_is_noticed(void **state)
{
	const char *path = small_path("p");
	struct sp_plane *named = small_segment(path);
	struct sp_reader *reader = NULL;
	struct sp_plane_info info;
	struct sp_object object;
	uint64_t cursor = 0, id = small_add(named, "a", 0, 0);

	assert_int_equal(sp_reader_attach(path, &reader), 0);
	sp_segment_close(named);
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(sp_reader_next(reader, &cursor, &object), -EBADMSG);
	assert_int_equal(sp_reader_get(reader, id, &object), -EBADMSG);
	assert_int_equal(sp_reader_find(reader, SP_OBJECT_MIB, 0, "a", &object),
			 -EBADMSG);
	assert_int_equal(sp_reader_state(reader), SP_PLANE_ABANDONED);
	sp_reader_info(reader, &info);
	assert_string_equal(info.program, "");
	sp_reader_detach(reader);
	unlink(path);
}

static void a_reader_outlives_name_and_writer(void **state)
{
	const char *path = small_path("p");
	struct sp_plane *named = small_segment(path);
	struct sp_reader *reader = NULL;
	struct sp_object object;
	uint64_t cursor = 0;

	small_add(named, "a", 0, 0);
	assert_int_equal(sp_reader_attach(path, &reader), 0);
	unlink(path);
	sp_segment_close(named);
	assert_int_equal(sp_reader_next(reader, &cursor, &object), 0);
	assert_string_equal(object.name, "a");
	sp_reader_detach(reader);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	static const struct CMUnitTest tests[] = {
		T(headers_that_lie_are_refused),
		T(what_is_only_unknown_is_accepted),
		T(longer_entries_are_walked_by_their_length),
		T(files_that_are_no_planes),
		T(a_descriptor_stays_the_callers),
		T(info_is_what_the_plane_is),
		T(info_of_a_liar_is_harmless),
		T(objects_come_in_directory_order),
		T(an_object_is_got_by_id_while_it_lives),
		T(an_object_is_found_by_name),
		T(an_entry_that_never_gets_ready_is_counted),
		T(entries_that_cannot_be_true_are_skipped),
		T(counts_that_grow_beyond_the_file_are_clamped),
		T(sums_are_of_the_written_units),
		T(sums_of_what_is_gone_are_void),
		T(an_object_made_up_by_the_caller_is_checked),
		T(reading_takes_no_memory),
		T(a_killed_writer_leaves_an_abandoned_plane),
		T(closing_leaves_a_clean_plane),
		T(a_pid_used_again_is_another_writer),
		T(another_boot_is_abandoned),
		T(where_pids_cannot_be_compared),
		T(a_reader_in_another_pid_namespace),
		T(a_truncated_file_is_noticed),
		T(a_reader_outlives_name_and_writer),
	};

	return cmocka_run_group_tests(tests, small_dir_make, small_dir_remove);
}
