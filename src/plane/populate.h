/* SPDX-License-Identifier: MIT */
/*
 * plane/populate.h - back holes of a segment with memory, or say that there is
 * none.
 */
#ifndef SP_PLANE_POPULATE_H
#define SP_PLANE_POPULATE_H

#include <stdint.h>

#include "plane/plane.h"

/* What sections grow by while there is room: saves system calls. */
#define SP_POPULATE_CHUNK 65536u

/**
 * sp_populate() - back [@off, @off + @len) of the file, a hole until now
 *
 * Return: 0; -ENOSPC with the hole as it was; another errno of fallocate(2).
 * Context: signal handlers too; errno changes.
 */
int sp_populate(const struct sp_plane *plane, uint64_t off, uint64_t len);

/* Make it a hole again. */
void sp_depopulate(const struct sp_plane *plane, uint64_t off, uint64_t len);

/**
 * sp_populate_section() - have at least @need bytes of @section populated
 * @populated: how many are; grows
 */
int sp_populate_section(const struct sp_plane *plane,
			const struct sp_section *section, uint64_t need,
			uint64_t *populated);

#endif
