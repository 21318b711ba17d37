/* SPDX-License-Identifier: MIT */
/*
 * plane/name.h - how a segment's file gets its name.
 *
 * The file is made without one in the same directory, and gets it when it is
 * complete. At most one of any number of creators that race
 * for a name becomes its writer; all others are told -EBUSY.
 */
#ifndef SP_PLANE_NAME_H
#define SP_PLANE_NAME_H

#include <sys/types.h>

struct sp_segment_name;

/**
 * sp_name_open() - open the directory of @path
 *
 * Return: 0; -EINVAL for a path without a file name; -ENOMEM; any errno of
 * open(2).
 */
int sp_name_open(const char *path, struct sp_segment_name **ret_name);

/* Could the name be taken now? Return: as sp_name_take(). */
int sp_name_check(struct sp_segment_name *name);

/*
 * Make the file. Return: its descriptor, the caller's, to be kept open until
 * sp_name_take(); or -errno.
 */
int sp_name_create_file(struct sp_segment_name *name, mode_t mode);

/**
 * sp_name_take() - give the file its name
 *
 * Return: 0; -EBUSY if a live writer has the name or somebody else is taking
 * it; -EEXIST if what has the name is no plane; any errno of link(2),
 * rename(2).
 */
int sp_name_take(struct sp_segment_name *name);

/* A file that has not got its name is gone with its descriptor. NULL is fine. */
void sp_name_close(struct sp_segment_name *name);

#endif
