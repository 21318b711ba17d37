// SPDX-License-Identifier: MIT
/*
 * plane/name.c - see plane/name.h.
 *
 * A free name is taken by a rename that replaces nothing; the kernel lets one
 * creator win. A name that a dead or finished writer left is taken by a plain
 * rename under flock(2) of the old file: whoever gets that lock looks whether
 * the name still means that file, and nobody else replaces it meanwhile. The
 * loser of either race starts over and finds the winner, who is alive.
 *
 * flock needs no write permission, so any process that may read the file can
 * hold the lock and keep its name from being taken; it could as well keep the
 * name itself busy if the directory is everybody's.
 */
#include "plane/name.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plane/layout.h"
#include "plane/life.h"

#define NR_TRIES 16

struct sp_segment_name {
	int dir_fd;
	bool has_file; /* .tmp exists */
	char tmp[40];
	char leaf[];
};

int sp_name_open(const char *path, struct sp_segment_name **ret_name)
{
	const char *slash = strrchr(path, '/');
	const char *leaf = slash ? slash + 1 : path;
	struct sp_segment_name *name;
	char *dir;
	int err;

	if (!*leaf)
		return -EINVAL;
	dir = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	name = calloc(1, sizeof(*name) + strlen(leaf) + 1);
	if (!dir || !name) {
		err = -ENOMEM;
		goto out_free;
	}
	strcpy(name->leaf, leaf);
	name->dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (name->dir_fd < 0) {
		err = -errno;
		goto out_free;
	}
	free(dir);
	*ret_name = name;
	return 0;

out_free:
	free(name);
	free(dir);
	return err;
}

int sp_name_create_file(struct sp_segment_name *name, mode_t mode)
{
	int fd, err;

	for (int i = 0; i < NR_TRIES; i++) {
		uint64_t tag;

		if (getrandom(&tag, sizeof(tag), 0) != (ssize_t)sizeof(tag))
			tag = (uint64_t)getpid() << 32 | (unsigned)i;
		snprintf(name->tmp, sizeof(name->tmp), ".statplane-%016llx",
			 (unsigned long long)tag);
		fd = openat(name->dir_fd, name->tmp,
			    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd >= 0)
			break;
		if (errno != EEXIST)
			return -errno;
	}
	if (fd < 0)
		return -EEXIST;
	name->has_file = true;
	if (fchmod(fd, mode)) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

/* Is @fd a plane whose writer is dead or done? 0, -EBUSY, -EEXIST or -errno. */
static int judge(int fd)
{
	struct sp_plane_hdr *hdr = calloc(1, sizeof(*hdr));
	ssize_t got;
	int err = 0;

	if (!hdr)
		return -ENOMEM;
	got = pread(fd, hdr, sizeof(*hdr), 0);
	if (got < 0)
		err = -errno;
	else if ((size_t)got < sizeof(*hdr) || hdr->magic != SP_PLANE_MAGIC ||
		 hdr->version_major != SP_PLANE_MAJOR)
		err = -EEXIST;
	else if (hdr->state != SP_STATE_CLEAN && sp_life_writer_runs(fd, hdr))
		err = -EBUSY;
	free(hdr);
	return err;
}

/* Does the name mean the file behind @fd? 0, -ESTALE, or -errno. */
static int compare(const struct sp_segment_name *name, int fd)
{
	struct stat ours, named;

	if (fstat(fd, &ours))
		return -errno;
	if (fstatat(name->dir_fd, name->leaf, &named, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? -ESTALE : -errno;
	return ours.st_dev == named.st_dev && ours.st_ino == named.st_ino
		       ? 0
		       : -ESTALE;
}

/*
 * Open what has the name and judge it. Return: a descriptor to replace it by,
 * -1 as *ret_fd if nothing has the name.
 */
static int open_old(const struct sp_segment_name *name, int *ret_fd)
{
	int fd = openat(name->dir_fd, name->leaf,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
				O_CLOEXEC);
	struct stat st;
	int err = 0;

	if (fd < 0 && errno == ENOENT) {
		*ret_fd = -1;
		return 0;
	}
	if (fd < 0)
		return errno == ELOOP || errno == ENXIO ? -EEXIST : -errno;
	if (fstat(fd, &st))
		err = -errno;
	else
		err = S_ISREG(st.st_mode) ? judge(fd) : -EEXIST;
	if (err) {
		close(fd);
		return err;
	}
	*ret_fd = fd;
	return 0;
}

int sp_name_check(struct sp_segment_name *name)
{
	int fd, err = open_old(name, &fd);

	if (!err && fd >= 0)
		close(fd);
	return err;
}

static int take_free(struct sp_segment_name *name)
{
	if (!renameat2(name->dir_fd, name->tmp, name->dir_fd, name->leaf,
		       RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	/* This file system cannot: two steps that come to the same. */
	if (linkat(name->dir_fd, name->tmp, name->dir_fd, name->leaf, 0))
		return -errno;
	unlinkat(name->dir_fd, name->tmp, 0);
	return 0;
}

/* Return: 0; -ESTALE if the name changed hands; as sp_name_take(). */
static int take_old(struct sp_segment_name *name, int fd)
{
	int err;

	if (flock(fd, LOCK_EX | LOCK_NB))
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	err = compare(name, fd);
	if (!err && renameat(name->dir_fd, name->tmp, name->dir_fd, name->leaf))
		err = -errno;
	return err;
}

int sp_name_take(struct sp_segment_name *name)
{
	for (int i = 0; i < NR_TRIES; i++) {
		int fd, err = open_old(name, &fd);

		if (err)
			return err;
		if (fd < 0) {
			err = take_free(name);
			if (err == -EEXIST)
				continue;
		} else {
			err = take_old(name, fd);
			close(fd);
			if (err == -ESTALE)
				continue;
		}
		if (!err)
			name->has_file = false;
		return err;
	}
	return -EBUSY;
}

void sp_name_close(struct sp_segment_name *name)
{
	if (!name)
		return;
	if (name->has_file)
		unlinkat(name->dir_fd, name->tmp, 0);
	close(name->dir_fd);
	free(name);
}
