/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/full_tmpfs.h - a file system that is full when the test says so.
 *
 * A tmpfs of a few hundred KiB, mounted over small_dir in a mount namespace of
 * this process alone; without privileges inside a user namespace of its own.
 */
#ifndef SP_TEST_FULL_TMPFS_H
#define SP_TEST_FULL_TMPFS_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

#include "small_plane.h"

static inline bool full_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) > 0;

	if (fd >= 0)
		close(fd);
	return ok;
}

/* A mount namespace; without privileges, as root of a user namespace. */
static inline bool full_unshare(void)
{
	unsigned uid = getuid(), gid = getgid();
	char uids[32], gids[32];

	if (!unshare(CLONE_NEWNS))
		return true;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return false;
	snprintf(uids, sizeof(uids), "0 %u 1", uid);
	snprintf(gids, sizeof(gids), "0 %u 1", gid);
	return full_write("/proc/self/setgroups", "deny") &&
	       full_write("/proc/self/uid_map", uids) &&
	       full_write("/proc/self/gid_map", gids);
}

/*
 * Run @body in a child that has a tmpfs of @kib KiB at small_dir. Skips the
 * test if this process may not mount.
 */
static inline void full_run(unsigned kib, void (*body)(void))
{
	pid_t child = fork();
	char size[32];
	int status;

	if (!child) {
		snprintf(size, sizeof(size), "size=%uk", kib);
		if (!full_unshare() ||
		    mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) ||
		    mount("tmpfs", small_dir, "tmpfs", 0, size))
			_exit(77);
		body();
		_exit(0);
	}
	status = small_wait(child);
	if (status == 77) {
		print_message("skipped: mounting a tmpfs is not permitted\n");
		skip();
	}
	assert_int_equal(status, 0);
}

/* For the child: cmocka's assertions would jump into the parent's frames. */
#define full_require(truth)                                                    \
	do {                                                                   \
		if (!(truth)) {                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,     \
				#truth);                                       \
			_exit(1);                                              \
		}                                                              \
	} while (0)

static inline struct sp_plane *full_segment(void)
{
	struct sp_plane_opts opts = small_opts(small_path("p"));
	struct sp_plane *plane = NULL;

	full_require(!sp_segment_create(&opts, &plane));
	full_require(!sp_segment_publish(plane));
	return plane;
}

/* Use up all room but @left_bytes. */
static inline void full_fill(uint64_t left_bytes)
{
	int fd =
		open(small_path("ballast"), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	off_t pos = 0;

	full_require(fd >= 0);
	while (!fallocate(fd, 0, pos, 4096))
		pos += 4096;
	full_require(errno == ENOSPC);
	full_require(pos >= (off_t)left_bytes);
	full_require(!ftruncate(fd, pos - (off_t)left_bytes));
	close(fd);
}

static inline void full_free(void)
{
	full_require(!unlink(small_path("ballast")));
}

#endif
