// SPDX-License-Identifier: MIT
/*
 * plane/name.c - see plane/name.h.
 *
 * The file has no name at all while it is being made (O_TMPFILE), so that nothing
 * is left of it if its writer is killed; where the file system or a missing /proc
 * forbids that, a temporary one.
 *
 * A free name is taken by a link, or a rename that replaces nothing; the kernel
 * lets one creator win. A name that a dead or finished writer left is taken by a plain
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
#include <limits.h>
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
	int fd;       /* the file, the caller's; -1 before there is one */
	bool has_tmp; /* its name is .tmp now; else it has none */
	char tmp[NAME_MAX + 1];
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
	name->fd = -1;
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

static void choose_tmp(struct sp_segment_name *name, unsigned try_idx)
{
	uint64_t tag;

	if (getrandom(&tag, sizeof(tag), 0) != (ssize_t)sizeof(tag))
		tag = (uint64_t)getpid() << 32 | try_idx;
	snprintf(name->tmp, sizeof(name->tmp), ".statplane-%016llx",
		 (unsigned long long)tag);
}

/* How a file without a name can be named. */
static void format_link(char path[static 32], int fd)
{
	snprintf(path, 32, "/proc/self/fd/%d", fd);
}

static int open_nameless(const struct sp_segment_name *name)
{
	int fd =
		openat(name->dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char path[32];

	if (fd < 0)
		return -errno;
	format_link(path, fd);
	if (!access(path, F_OK))
		return fd;
	close(fd);
	return -ENOENT;
}

static int open_tmp(struct sp_segment_name *name)
{
	for (unsigned i = 0; i < NR_TRIES; i++) {
		int fd;

		choose_tmp(name, i);
		fd = openat(name->dir_fd, name->tmp,
			    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd >= 0) {
			name->has_tmp = true;
			return fd;
		}
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

int sp_name_create_file(struct sp_segment_name *name, mode_t mode)
{
	int fd = open_nameless(name);

	if (fd < 0)
		fd = open_tmp(name);
	if (fd < 0)
		return fd;
	if (fchmod(fd, mode)) {
		int err = -errno;

		close(fd);
		return err;
	}
	name->fd = fd;
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
	struct stat ours = {0}, named = {0};

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
	struct stat st = {0};
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

/* Give the nameless file a name that is free. Return: 0 or -errno. */
static int link_as(const struct sp_segment_name *name, const char *leaf)
{
	char path[32];

	format_link(path, name->fd);
	return linkat(AT_FDCWD, path, name->dir_fd, leaf, AT_SYMLINK_FOLLOW)
		       ? -errno
		       : 0;
}

static int take_free(const struct sp_segment_name *name)
{
	if (!name->has_tmp)
		return link_as(name, name->leaf);
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

/*
 * A rename replaces, a link does not: so the file needs some name first. The
 * caller holds the lock of the file to be replaced, so what has this name was
 * left by one who was killed between link and rename.
 */
static int have_tmp(struct sp_segment_name *name)
{
	int len, err;

	if (name->has_tmp)
		return 0;
	len = snprintf(name->tmp, sizeof(name->tmp), ".%s.statplane",
		       name->leaf);
	if (len < 0 || (size_t)len >= sizeof(name->tmp))
		return -ENAMETOOLONG;
	unlinkat(name->dir_fd, name->tmp, 0);
	err = link_as(name, name->tmp);
	name->has_tmp = !err;
	return err;
}

/* Return: 0; -ESTALE if the name changed hands; as sp_name_take(). */
static int take_old(struct sp_segment_name *name, int old_fd)
{
	int err;

	if (flock(old_fd, LOCK_EX | LOCK_NB))
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	err = compare(name, old_fd);
	if (!err)
		err = have_tmp(name);
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
			name->has_tmp = false;
		return err;
	}
	return -EBUSY;
}

void sp_name_close(struct sp_segment_name *name)
{
	if (!name)
		return;
	if (name->has_tmp)
		unlinkat(name->dir_fd, name->tmp, 0);
	close(name->dir_fd);
	free(name);
}
