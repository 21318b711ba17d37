/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/small_plane.h - planes of a few pages, and a folder for their files.
 */
#ifndef SP_TEST_SMALL_PLANE_H
#define SP_TEST_SMALL_PLANE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <statplane/plane.h>
#include <statplane/reader.h>

#include "plane/plane.h"

/* A folder on a tmpfs, gone after the group of tests. */
static char small_dir[64];

static inline int small_dir_make(void **state)
{
	(void)state;
	strcpy(small_dir, access("/dev/shm", W_OK) ? "/tmp/statplane.XXXXXX"
						   : "/dev/shm/test.XXXXXX");
	return mkdtemp(small_dir) ? 0 : -1;
}

static inline int small_remove_one(const char *path, const struct stat *st,
				   int flag, struct FTW *at)
{
	(void)st, (void)flag, (void)at;
	return remove(path);
}

static inline int small_dir_remove(void **state)
{
	(void)state;
	return nftw(small_dir, small_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* small_dir/@name; good until the next call but three. */
static inline const char *small_path(const char *name)
{
	static char paths[4][128];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", small_dir, name);
	return path;
}

static inline struct sp_plane_opts small_opts(const char *path)
{
	struct sp_plane_opts opts = {
		.sz = sizeof(opts),
		.path = path,
		.program = "test",
		.nr_cpus = 2,
		.nr_lanes = 2,
		.nr_objects = 64,
		.unit_bytes = 256 * 1024,
		.blob_bytes = 128 * 1024,
		.table_bytes = 64 * 1024 * 1024,
	};

	return opts;
}

/* Published, without the per-CPU room: NULL for an anonymous one. */
static inline struct sp_plane *small_segment(const char *path)
{
	struct sp_plane_opts opts = small_opts(path);
	struct sp_plane *plane = NULL;

	assert_int_equal(sp_segment_create(&opts, &plane), 0);
	assert_int_equal(sp_segment_publish(plane), 0);
	return plane;
}

static inline struct sp_reader *small_reader(const struct sp_plane *plane)
{
	struct sp_reader *reader = NULL;

	assert_int_equal(sp_reader_attach_fd(sp_plane_fd(plane), &reader), 0);
	return reader;
}

/* Bytes of memory that a file holds. */
static inline uint64_t small_backed_bytes(int fd)
{
	struct stat st = {0};

	assert_int_equal(fstat(fd, &st), 0);
	return (uint64_t)st.st_blocks * 512;
}

static inline struct sp_object small_object(const char *name)
{
	struct sp_object object = {.type = SP_OBJECT_MIB};

	strcpy(object.name, name);
	return object;
}

static inline uint64_t small_add(struct sp_plane *plane, const char *name,
				 uint64_t cells_off, uint32_t nr_cells)
{
	struct sp_object object = small_object(name);
	uint64_t id = 0;

	object.cells_off = cells_off;
	object.nr_cells = nr_cells;
	assert_int_equal(sp_dir_add(plane, &object, &id), 0);
	assert_true(id != 0);
	return id;
}

/* Wait for a child; its exit status, 1000 + the signal that ended it. */
static inline int small_wait(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status)
				 : 1000 + WTERMSIG(status);
}

#endif
