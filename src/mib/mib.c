/* SPDX-License-Identifier: MIT */
/*
 * mib/mib.c - instances of a program's own schemas.
 *
 * A MIB is a run of per-CPU cells and a directory object that points to its
 * schema. The handle is private to the writer's process and constant, so that
 * any thread may use it; create and destroy take the locks of the plane's
 * directory and of the allocator, one after the other, never both.
 */
#include <statplane/mib.h>

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <statplane/reader.h>

#include "mib/schema.h"
#include "plane/plane.h"

struct sp_mib {
	struct sp_plane *plane;
	uint64_t id;
	sp_percpu_t off;
	size_t nr_cells;
};

int sp_mib_create(struct sp_plane *plane, const char *name,
		  const struct sp_mib_schema *schema, struct sp_mib **ret_mib)
{
	struct sp_object object = {.type = SP_OBJECT_MIB};
	struct sp_mib *mib;
	int err;

	if (strlen(name) > SP_OBJECT_NAME_MAX)
		return -EINVAL;
	memcpy(object.name, name, strlen(name));
	err = sp_schema_put(plane, schema, &object.schema);
	if (err)
		return err;

	mib = calloc(1, sizeof(*mib));
	if (!mib)
		return -ENOMEM;
	mib->plane = plane;
	mib->nr_cells = sp_mib_nr_cells(schema);
	err = sp_percpu_alloc(plane, mib->nr_cells * 8, 64, &mib->off);
	if (err)
		goto err_free;
	object.cells_off = mib->off;
	object.nr_cells = (uint32_t)mib->nr_cells;
	err = sp_dir_add(plane, &object, &mib->id);
	if (err)
		goto err_cells;
	*ret_mib = mib;
	return 0;

err_cells:
	sp_percpu_free(plane, mib->off, mib->nr_cells * 8);
err_free:
	free(mib);
	return err;
}

void sp_mib_destroy(struct sp_mib *mib)
{
	if (!mib)
		return;
	sp_dir_remove(mib->plane, mib->id);
	sp_percpu_free(mib->plane, mib->off, mib->nr_cells * 8);
	free(mib);
}

sp_percpu_t sp_mib_off(const struct sp_mib *mib, size_t cell_idx)
{
	assert(cell_idx < mib->nr_cells);
	return mib->off + 8 * cell_idx;
}

uint64_t sp_mib_read(const struct sp_mib *mib, size_t cell_idx)
{
	return sp_percpu_read(mib->plane, sp_mib_off(mib, cell_idx));
}

void sp_mib_fold(const struct sp_mib *mib, uint64_t *cells)
{
	sp_percpu_fold(mib->plane, mib->off, mib->nr_cells, cells);
}
