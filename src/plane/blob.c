// SPDX-License-Identifier: MIT
/*
 * plane/blob.c - append-only bytes: the texts of schemas.
 *
 * Guarded by plane->lock. Readers see nothing beyond section.used:
 *
 *   [P3] bytes copied -> section.used (release); acquire in reader.c.
 */
#include "plane/plane.h"

#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "plane/populate.h"

static int append(struct sp_plane *plane, const void *data, size_t bytes,
		  uint64_t *ret_off)
{
	struct sp_section *section = plane->blob_section;
	uint64_t off = sp_round_up(section->used, 8);
	int err;

	if (!sp_range_inside(off, bytes, section->len))
		return -ENOSPC;
	err = sp_populate_section(plane, section, off + bytes,
				  &plane->blob_populated);
	if (err)
		return err;
	if (bytes)
		memcpy(plane->base + section->off + off, data, bytes);
	/* [P3] */
	__atomic_store_n(&section->used, off + bytes, __ATOMIC_RELEASE);
	*ret_off = off;
	return 0;
}

int sp_blob_append(struct sp_plane *plane, const void *data, size_t bytes,
		   uint64_t *ret_off)
{
	int err;

	sp_lock_acquire(&plane->lock);
	err = append(plane, data, bytes, ret_off);
	sp_lock_release(&plane->lock);
	return err;
}
