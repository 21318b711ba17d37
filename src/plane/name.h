/* SPDX-License-Identifier: MIT */
/*
 * plane/name.h - how a segment's file gets its name.
 *
 * The file is made under a temporary name in the same directory and moved to
 * its own when it is complete. At most one of any number of creators that race
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

/* Make the file under a temporary name. Return: the descriptor or -errno. */
int sp_name_create_file(struct sp_segment_name *name, mode_t mode);

/**
 * sp_name_take() - move the file to its name
 *
 * Return: 0; -EBUSY if a live writer has the name or somebody else is taking
 * it; -EEXIST if what has the name is no plane; any errno of link(2),
 * rename(2).
 */
int sp_name_take(struct sp_segment_name *name);

/* Removes a file that is still under its temporary name. NULL is fine. */
void sp_name_close(struct sp_segment_name *name);

#endif
