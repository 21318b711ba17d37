/* SPDX-License-Identifier: MIT */
/*
 * plane/plane.h - the writer's side of a segment, for the rooms above.
 *
 * A plane is made in two steps, so that its file appears under its name only
 * when everything in it is ready:
 *
 *	sp_segment_create()     a nameless segment, mapped, state "init"
 *	...                     the rooms above prepare their part
 *	sp_segment_publish()    state "live", and the name
 *	sp_segment_close()      state "clean"; not published: gone without trace
 *
 * sp_plane_create() and sp_plane_close() stand in percpu/, which is the last
 * room that has something to prepare.
 *
 * What is populated: bytes of a section below its `used` are backed by memory
 * and may be touched; all others are holes, and touching them could raise
 * SIGBUS. Of the units that holds for unit 0 and those whose bit is set in
 * hdr.units_written. Nothing populated is ever given up here.
 *
 * Locks: `lock` guards the directory and the blob, `grow_lock` what is
 * populated in the units, `area_lock` which areas are whose. `lock` is taken
 * first.
 */
#ifndef SP_PLANE_PLANE_H
#define SP_PLANE_PLANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <statplane/plane.h>
#include <statplane/reader.h>

#include "base/lock.h"
#include "plane/layout.h"

/* Private to directory.c. */
struct sp_dir;

struct sp_plane {
	struct sp_plane_hdr *hdr; /* = base */
	char *base;
	uint64_t len;
	int fd;

	/* Constant from creation on. */
	char *units;          /* unit 0 */
	uint64_t unit_stride; /* bytes from unit to unit */
	uint64_t unit_bytes;  /* of each unit, at most populated */
	uint32_t nr_units;
	uint32_t nr_cpus;  /* units 1 .. nr_cpus */
	uint32_t nr_lanes; /* the rest */
	uint64_t page_size;

	struct sp_section *dir_section;
	struct sp_section *blob_section;
	struct sp_section *unit_section;
	struct sp_section *table_section;
	char *tables; /* its first byte */

	struct sp_lock lock;
	struct sp_dir *dir;
	uint64_t blob_populated;

	struct sp_lock grow_lock;

	struct sp_lock area_lock;    /* guards the areas */
	struct sp_plane_area *areas; /* given back, to be used again */

	void *percpu; /* the percpu room's state; it allocates and frees it */

	struct sp_segment_name *name; /* NULL: anonymous or published */
};

/**
 * sp_segment_create() - map a fresh segment without a name
 * @opts: as for sp_plane_create()
 *
 * hdr.state is SP_STATE_INIT, no unit is populated, unit_section->used is 0.
 *
 * Return: as sp_plane_create(); -EBUSY already here if a live writer has the
 * name.
 */
int sp_segment_create(const struct sp_plane_opts *opts,
		      struct sp_plane **ret_plane);

/**
 * sp_segment_publish() - let readers in: state "live", and the file's name
 *
 * Return: 0; -EBUSY if another writer took the name meanwhile; -EEXIST if
 * something that is no plane has it; any errno of link(2) and rename(2). After
 * a failure only sp_segment_close() is allowed.
 */
int sp_segment_publish(struct sp_plane *plane);

/*
 * A run of the tables section that belongs to one table. Memory that was
 * populated stays so for ever: an area that is given back goes to the next table
 * that is laid out in the same way, which finds in `populated` what it may
 * touch.
 */
#define SP_AREA_RANGES 4

struct sp_plane_area {
	uint64_t off; /* from the start of the section */
	uint64_t len;
	uint64_t shape; /* equal: laid out in the same way */
	/* Of each range of the table's own. */
	uint64_t populated[SP_AREA_RANGES];
	struct sp_plane_area *next;
};

/**
 * sp_area_get() - room for a table
 * @len: bytes; the area begins at a multiple of 2 MiB if it has as many, else
 *       of a page
 * @ret_area: populated memory in it holds what its last owner left
 *
 * Return: 0; -ENOSPC if the section is used up; -ENOMEM.
 */
int sp_area_get(struct sp_plane *plane, uint64_t len, uint64_t shape,
		struct sp_plane_area **ret_area);

/* Give it back. The plane frees it. */
void sp_area_put(struct sp_plane *plane, struct sp_plane_area *area);

/* NULL is fine. @plane->percpu must be gone already. */
void sp_segment_close(struct sp_plane *plane);

/* The address of @unit's first byte; see above what may be touched there. */
static inline char *sp_plane_unit(const struct sp_plane *plane, uint32_t unit)
{
	return plane->units + plane->unit_stride * unit;
}

static inline bool sp_plane_unit_written(const struct sp_plane *plane,
					 uint32_t unit)
{
	/* [P3] */
	return __atomic_load_n(&plane->hdr->units_written[unit / 64],
			       __ATOMIC_ACQUIRE) >>
		       (unit % 64) &
	       1;
}

/* Bytes that are populated in unit 0 and each written unit. */
static inline uint64_t sp_plane_units_used(const struct sp_plane *plane)
{
	/* [P3] */
	return __atomic_load_n(&plane->unit_section->used, __ATOMIC_ACQUIRE);
}

/**
 * sp_plane_populate_units() - make [0, @upto) of the units usable
 *
 * Populates unit 0 and every written unit, then publishes the new
 * unit_section->used, which may be more than @upto (it grows by chunks). Unit
 * 0's bit is set with the first call. Populated bytes are zero.
 *
 * Return: 0, also if there was nothing to do; -ENOSPC with nothing changed if
 * @upto is beyond unit_bytes or the file system has no room.
 *
 * Context: any thread; waits for others that populate; not signal handlers.
 */
int sp_plane_populate_units(struct sp_plane *plane, uint64_t upto);

/**
 * sp_plane_mark_unit() - populate @unit up to unit_section->used, set its bit
 *
 * Return: 0, also if it was marked; -ENOSPC with nothing changed.
 *
 * Context: any thread; may wait for others that populate; not signal handlers.
 */
int sp_plane_mark_unit(struct sp_plane *plane, uint32_t unit);

/**
 * sp_plane_try_mark_unit() - the same without waiting
 *
 * Return: as above, or -EBUSY while somebody else populates (who may be the
 * interrupted thread): add to unit 0 and try again with a later add.
 *
 * Context: any thread, signal handlers too; errno is kept.
 */
int sp_plane_try_mark_unit(struct sp_plane *plane, uint32_t unit);

/**
 * sp_dir_add() - add an object to the directory
 * @object: borrowed; its id is ignored
 *
 * Return: 0; -EINVAL for type 0, a name that is empty, longer than
 * SP_OBJECT_NAME_MAX, or contains '/' or a control character, or for cells or a
 * blob that are not populated; -EEXIST if an object of this type and parent has
 * the name; -ENOSPC if the directory or the file system is full.
 *
 * Context: any thread; takes plane->lock; constant time for any number of
 * objects.
 */
int sp_dir_add(struct sp_plane *plane, const struct sp_object *object,
	       uint64_t *ret_id);

/**
 * sp_dir_remove() - take an object out
 *
 * From here on no reader takes the cells for the object's own; free them
 * after this call.
 *
 * Return: 0; -ENOENT if there is no such object.
 */
int sp_dir_remove(struct sp_plane *plane, uint64_t id);

/* Set one attribute. Return: 0; -ENOENT; -EINVAL for an index out of range. */
int sp_dir_update(struct sp_plane *plane, uint64_t id, unsigned attr_idx,
		  uint64_t value);

/* Return: the id of the object of this type, parent and name; 0 for none. */
uint64_t sp_dir_find(struct sp_plane *plane, enum sp_object_type type,
		     uint64_t parent, const char *name);

/**
 * sp_blob_append() - copy @bytes to the end of the blob
 * @ret_off: for sp_object.blob_off and sp_reader_blob(); a multiple of 8
 *
 * Return: 0; -ENOSPC with nothing changed if the blob or the file system is
 * full.
 *
 * Context: any thread; takes plane->lock.
 */
int sp_blob_append(struct sp_plane *plane, const void *data, size_t bytes,
		   uint64_t *ret_off);

#endif
