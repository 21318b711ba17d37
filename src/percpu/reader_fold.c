/* SPDX-License-Identifier: MIT */
/*
 * percpu/reader_fold.c - sums over units, in a reading process.
 *
 * The plane's room checks that the cells lie inside the mapping and belong to
 * the object before and after; here they are only summed.
 */
#include <errno.h>
#include <string.h>

#include "percpu/fold.h"
#include "plane/reader.h"

int sp_reader_fold(struct sp_reader *reader, const struct sp_object *object,
		   size_t cell_idx, size_t nr, uint64_t *sum)
{
	uint64_t written[SP_MAX_UNITS / 64], off;
	struct sp_fold_units units = {
		.base = reader->units,
		.stride = reader->unit_stride,
		.written = written,
		.nr_words = (reader->nr_units + 63) / 64,
	};
	int r;

	r = sp_reader_cells(reader, object, cell_idx, nr, &off);
	if (!r)
		r = sp_reader_check(reader, object->id);
	if (r)
		return r;
	for (size_t w = 0; w < units.nr_words; w++)
		written[w] = sp_reader_units_written(reader, (uint32_t)w);
	sp_fold(&units, off, nr, sum);
	return sp_reader_check(reader, object->id);
}

int sp_reader_unit(struct sp_reader *reader, const struct sp_object *object,
		   uint32_t unit, size_t cell_idx, size_t nr, uint64_t *cells)
{
	uint64_t off;
	const uint64_t *from;
	int r;

	r = sp_reader_cells(reader, object, cell_idx, nr, &off);
	if (!r)
		r = sp_reader_check(reader, object->id);
	if (r)
		return r;
	if (unit >= reader->nr_units)
		return -EINVAL;
	if (!sp_reader_unit_written(reader, unit)) {
		memset(cells, 0, nr * sizeof(*cells));
		return -ENODATA;
	}
	from = (const void *)(reader->units + reader->unit_stride * unit + off);
	for (size_t i = 0; i < nr; i++)
		cells[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
	return sp_reader_check(reader, object->id);
}
