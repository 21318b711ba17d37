// SPDX-License-Identifier: MIT
/*
 * plane/units.c - which bytes of which units are backed by memory.
 *
 * The populated part is a rectangle: [0, section.used) of unit 0 and of every
 * unit whose bit in hdr.units_written is set. It grows in both directions under
 * grow_lock, and each growth is published only when its memory is there:
 *
 *   [P3] memory populated -> section.used or units_written (release). Readers
 *        load with acquire, in any order: under the lock a unit is marked with
 *        all of `used`, and `used` grows with all marked units.
 *
 * Access         grow_lock holder    adders            readers
 *   used         store               load              load
 *   written      set a bit           load              load
 *   cells        -                   own unit          load
 */
#include "plane/plane.h"

#include <errno.h>

#include "base/bits.h"
#include "plane/populate.h"

static uint64_t unit_off(const struct sp_plane *plane, uint32_t unit)
{
	return plane->unit_section->off + plane->unit_stride * unit;
}

static bool is_populated(const struct sp_plane *plane, uint32_t unit)
{
	return sp_plane_unit_written(plane, unit);
}

static void set_written(struct sp_plane *plane, uint32_t unit)
{
	/* [P3] */
	__atomic_fetch_or(&plane->hdr->units_written[unit / 64],
			  UINT64_C(1) << (unit % 64), __ATOMIC_RELEASE);
}

/* Populate [used, @upto) of all units that have [0, used); all or none. */
static int grow(struct sp_plane *plane, uint64_t upto)
{
	uint64_t used = plane->unit_section->used;
	uint32_t unit;
	int err = 0;

	for (unit = 0; unit < plane->nr_units && !err; unit++)
		if (is_populated(plane, unit))
			err = sp_populate(plane, unit_off(plane, unit) + used,
					  upto - used);
	if (err) {
		/* The unit that failed is the one before @unit. */
		for (unit--; unit-- > 0;)
			if (is_populated(plane, unit))
				sp_depopulate(plane,
					      unit_off(plane, unit) + used,
					      upto - used);
		return err;
	}
	/* [P3] */
	__atomic_store_n(&plane->unit_section->used, upto, __ATOMIC_RELEASE);
	return 0;
}

static int mark(struct sp_plane *plane, uint32_t unit)
{
	uint64_t used = plane->unit_section->used;
	int err;

	if (is_populated(plane, unit))
		return 0;
	err = sp_populate(plane, unit_off(plane, unit), used);
	if (!err)
		set_written(plane, unit);
	return err;
}

int sp_plane_populate_units(struct sp_plane *plane, uint64_t upto)
{
	uint64_t page = plane->page_size;
	uint64_t chunk = page > SP_POPULATE_CHUNK ? page : SP_POPULATE_CHUNK;
	uint64_t least, wish;
	int err;

	if (upto <= sp_plane_units_used(plane))
		return 0;
	if (upto > plane->unit_bytes)
		return -ENOSPC;
	least = sp_round_up(upto, page);
	wish = sp_round_up(upto, chunk);
	if (wish > plane->unit_bytes)
		wish = plane->unit_bytes;

	sp_lock_acquire(&plane->grow_lock);
	err = 0;
	if (upto > plane->unit_section->used) {
		err = mark(plane, 0);
		if (!err)
			err = grow(plane, wish);
		if (err == -ENOSPC && least < wish)
			err = grow(plane, least);
	}
	sp_lock_release(&plane->grow_lock);
	return err;
}

int sp_plane_mark_unit(struct sp_plane *plane, uint32_t unit)
{
	int err;

	if (sp_plane_unit_written(plane, unit))
		return 0;
	sp_lock_acquire(&plane->grow_lock);
	err = mark(plane, unit);
	sp_lock_release(&plane->grow_lock);
	return err;
}

int sp_plane_try_mark_unit(struct sp_plane *plane, uint32_t unit)
{
	int saved = errno;
	int err;

	if (sp_plane_unit_written(plane, unit))
		return 0;
	if (!sp_lock_try(&plane->grow_lock))
		return -EBUSY;
	err = mark(plane, unit);
	sp_lock_release(&plane->grow_lock);
	errno = saved;
	return err;
}
