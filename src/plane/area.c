// SPDX-License-Identifier: MIT
/*
 * plane/area.c - which run of the tables section belongs to which table.
 *
 * Runs are handed out one behind the other; section.used says how far. One that
 * is given back waits for a table of the same shape. All under area_lock.
 */
#include "plane/area.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"

#define HUGE_BYTES (UINT64_C(2) << 20)

/* The first one of that shape among those that were given back. */
static struct sp_plane_area *take_old(struct sp_plane *plane, uint64_t len,
				      uint64_t shape)
{
	for (struct sp_plane_area **at = &plane->areas; *at;
	     at = &(*at)->next) {
		struct sp_plane_area *area = *at;

		if (area->len == len && area->shape == shape) {
			*at = area->next;
			return area;
		}
	}
	return NULL;
}

static int take_new(struct sp_plane *plane, uint64_t len, uint64_t shape,
		    struct sp_plane_area **ret_area)
{
	struct sp_section *section = plane->table_section;
	uint64_t align = len < HUGE_BYTES ? plane->page_size : HUGE_BYTES;
	uint64_t off = sp_round_up(section->used, align);
	struct sp_plane_area *area;

	if (!sp_range_inside(off, len, section->len))
		return -ENOSPC;
	area = calloc(1, sizeof(*area));
	if (!area)
		return -ENOMEM;
	area->off = off;
	area->len = len;
	area->shape = shape;
	/* [P3] says nothing of memory here: each table's header does. */
	__atomic_store_n(&section->used, off + len, __ATOMIC_RELEASE);
	*ret_area = area;
	return 0;
}

int sp_area_get(struct sp_plane *plane, uint64_t len, uint64_t shape,
		struct sp_plane_area **ret_area)
{
	struct sp_plane_area *area;
	int err = 0;

	len = sp_round_up(len, plane->page_size);
	sp_lock_acquire(&plane->area_lock);
	area = take_old(plane, len, shape);
	if (!area)
		err = take_new(plane, len, shape, &area);
	sp_lock_release(&plane->area_lock);
	if (!err)
		*ret_area = area;
	return err;
}

void sp_area_put(struct sp_plane *plane, struct sp_plane_area *area)
{
	sp_lock_acquire(&plane->area_lock);
	area->next = plane->areas;
	plane->areas = area;
	sp_lock_release(&plane->area_lock);
}

void sp_area_fini(struct sp_plane *plane)
{
	while (plane->areas) {
		struct sp_plane_area *area = plane->areas;

		plane->areas = area->next;
		free(area);
	}
}
