/* SPDX-License-Identifier: MIT */
/*
 * cli/planes.h - find the plane that the user means.
 */
#ifndef SP_CLI_PLANES_H
#define SP_CLI_PLANES_H

#include <limits.h>
#include <stddef.h>

#include <statplane/reader.h>

struct sp_planes {
	char **names; /* sorted, without the prefix */
	size_t nr;
};

/* Names of the files below SP_PLANE_DIR. Return: 0; -errno. */
int sp_planes_list(struct sp_planes *planes);
void sp_planes_free(struct sp_planes *planes);

/*
 * A name with a slash is a path, another one stands below SP_PLANE_DIR. Return:
 * 0; -ENAMETOOLONG.
 */
int sp_plane_path(const char *name, char path[PATH_MAX]);

/**
 * sp_plane_guard() - end with a message if the plane's memory goes away
 * @path: for the message
 *
 * Whoever may write the file of a plane can take its bytes away under those who
 * have mapped it; a full file system has none for the holes of a copy. Either is
 * a SIGBUS, which ends the program by SP_EXIT_FAILURE from here on.
 */
void sp_plane_guard(const char *path);

/* "live" and so on. */
const char *sp_plane_state_name(enum sp_plane_state state);
const char *sp_plane_mode_name(unsigned mode);

/**
 * sp_plane_attach() - attach to @name, or to the only plane there is
 * @command: who asks, for the message
 * @name: NULL for the only one
 * @path: the file that it was
 *
 * Return: exit status, with a message unless SP_EXIT_OK.
 */
int sp_plane_attach(const char *command, const char *name, char path[PATH_MAX],
		    struct sp_reader **ret_reader);

#endif
