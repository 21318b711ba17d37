// SPDX-License-Identifier: MIT
/*
 * cli/tree.c - the files of a plane as a directory that tools take for /proc.
 *
 * All texts are written beside their places, then all are renamed. A lock on the
 * directory keeps another run from doing so meanwhile: the files are always those
 * of one run, and what a killed one left is in nobody's way.
 */
#include "cli/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

#define TEMPORARY_MAX (SP_RENDER_NAME_MAX + 16)

/* Writing a tree takes milliseconds. */
#define LOCK_TRIES    500
#define LOCK_PAUSE_NS 20000000

/* A directory; one that is there already is fine. Return: 0, -errno. */
static int make_directory(int dir, const char *name)
{
	struct stat st;

	if (!mkdirat(dir, name, 0777))
		return 0;
	if (errno != EEXIST)
		return -errno;
	if (fstatat(dir, name, &st, 0))
		return -errno;
	return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

static int refuse(const char *path, const char *name, int error)
{
	return sp_cli_error("cannot write %s%s%s: %s", path, *name ? "/" : "",
			    name, strerror(-error));
}

/* Return: a descriptor of @path, -errno. */
static int open_root(const char *path)
{
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return dir < 0 ? -errno : dir;
}

/* net/.snmp.new: hidden. */
static void temporary_name(const char *name, char temporary[TEMPORARY_MAX])
{
	const char *slash = strrchr(name, '/');
	int parent = slash ? (int)(slash + 1 - name) : 0;

	snprintf(temporary, TEMPORARY_MAX, "%.*s.%s.new", parent, name,
		 name + parent);
}

/* Whatever has the name is not followed or written into. Return: a
 * descriptor, -errno. */
static int create(int dir, const char *name)
{
	int fd;

	unlinkat(dir, name, 0);
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	return fd < 0 ? -errno : fd;
}

/* Held until @dir is closed. Return: 0, also where there are no locks; -EBUSY.
 */
static int lock(int dir)
{
	const struct timespec pause = {0, LOCK_PAUSE_NS};

	for (int i = 0; i < LOCK_TRIES; i++) {
		if (!flock(dir, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK)
			return 0;
		nanosleep(&pause, NULL);
	}
	return -EBUSY;
}

/* Access rights do not tell, least of all to root. Return: 0, -errno. */
static int try_to_write(int dir)
{
	char name[TEMPORARY_MAX];
	int fd;

	snprintf(name, sizeof(name), "net/.try.%d", getpid());
	fd = create(dir, name);
	if (fd < 0)
		return fd;
	close(fd);
	return unlinkat(dir, name, 0) ? -errno : 0;
}

int sp_tree_prepare(const char *path)
{
	int dir, r = make_directory(AT_FDCWD, path);

	if (r)
		return refuse(path, "", r);
	dir = open_root(path);
	if (dir < 0)
		return refuse(path, "", dir);
	r = make_directory(dir, "net");
	if (!r)
		r = try_to_write(dir);
	close(dir);
	return r ? refuse(path, "net", r) : SP_EXIT_OK;
}

/* The directories above @name, below @dir. */
static int make_parents(int dir, const char *name)
{
	char parent[SP_RENDER_NAME_MAX];

	for (const char *slash = strchr(name, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		int r;

		memcpy(parent, name, (size_t)(slash - name));
		parent[slash - name] = '\0';
		r = make_directory(dir, parent);
		if (r)
			return r;
	}
	return 0;
}

/* @name's text beside its place. Return: 0, -errno. */
static int write_temporary(struct sp_render *render, int dir, const char *name)
{
	char temporary[TEMPORARY_MAX];
	FILE *file;
	int fd, r;

	r = make_parents(dir, name);
	if (r)
		return r;
	temporary_name(name, temporary);
	fd = create(dir, temporary);
	if (fd < 0)
		return fd;
	file = fdopen(fd, "w");
	if (!file) {
		close(fd);
		return -ENOMEM;
	}
	r = sp_render_file(render, name, sp_cli_write, file);
	errno = 0;
	if (fclose(file) && !r)
		r = errno ? -errno : -EIO;
	return r;
}

/* Can @name's place be taken? Return: 0, -EISDIR. */
static int check_place(int dir, const char *name)
{
	struct stat st;

	return !fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) &&
			       S_ISDIR(st.st_mode)
		       ? -EISDIR
		       : 0;
}

static int take_place(int dir, const char *name)
{
	char temporary[TEMPORARY_MAX];

	temporary_name(name, temporary);
	return renameat(dir, temporary, dir, name) ? -errno : 0;
}

static void remove_temporaries(struct sp_render *render, int dir)
{
	char name[SP_RENDER_NAME_MAX], temporary[TEMPORARY_MAX];
	uint64_t cursor = 0;

	while (sp_render_next_file(render, &cursor, name) == 0) {
		temporary_name(name, temporary);
		unlinkat(dir, temporary, 0);
	}
}

/* First all texts, then all places. Return: 0, -errno with @name. */
static int write_all(struct sp_render *render, int dir,
		     char name[SP_RENDER_NAME_MAX])
{
	uint64_t cursor = 0;
	int r = 0;

	while (!r && sp_render_next_file(render, &cursor, name) == 0) {
		r = write_temporary(render, dir, name);
		if (!r)
			r = check_place(dir, name);
	}
	cursor = 0;
	while (!r && sp_render_next_file(render, &cursor, name) == 0)
		r = take_place(dir, name);
	if (r)
		remove_temporaries(render, dir);
	return r;
}

int sp_tree_write(struct sp_render *render, const char *path)
{
	char name[SP_RENDER_NAME_MAX] = "";
	int dir = open_root(path);
	int r;

	if (dir < 0)
		return refuse(path, "", dir);
	r = lock(dir);
	if (!r)
		r = write_all(render, dir, name);
	close(dir);
	return r ? refuse(path, name, r) : SP_EXIT_OK;
}
