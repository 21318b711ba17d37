/* SPDX-License-Identifier: MIT */
/*
 * plane/reader.h - inside a reader, for the fold that percpu/ puts on top.
 *
 * Everything here but the mapping itself was checked and copied when the reader
 * attached. What the writer may change later (used, units_written) is loaded by
 * the functions below, which never give more than the mapping holds.
 */
#ifndef SP_PLANE_READER_H
#define SP_PLANE_READER_H

#include <stdbool.h>
#include <stdint.h>

#include <statplane/reader.h>

#include "plane/layout.h"

/*
 * Retries to copy an entry. An entry that is given up halves what the next one
 * gets, until one is found stable: so that many bad ones do not add up.
 */
#define SP_READER_RETRIES 128

struct sp_reader {
	const struct sp_plane_hdr *hdr; /* the mapping: hostile, changing */
	const char *base;
	uint64_t len;
	int fd;

	/* Checked copies: inside the mapping, aligned, constant. */
	const char *units;    /* unit 0, aligned to 4096 */
	uint64_t unit_stride; /* a multiple of 4096 */
	uint64_t unit_bytes;  /* <= unit_stride */
	uint32_t nr_units;    /* 1 .. SP_MAX_UNITS */
	uint32_t nr_cpus;
	uint32_t nr_lanes;
	const struct sp_section *unit_section;
	const struct sp_section *dir_section;
	const struct sp_section *blob_section;
	const char *dir; /* slot 0, aligned to 8 */
	uint64_t dir_item_len;
	uint64_t max_objects;
	const char *blob;
	uint64_t blob_len;
	const char *tables; /* NULL: the plane has no such section */
	uint64_t tables_len;

	bool is_sealed;      /* the file cannot shrink */
	unsigned nr_retries; /* the next entry gets */
	uint64_t nr_unstable;
};

/* Bytes of each written unit that may be read: <= unit_bytes. */
uint64_t sp_reader_units_used(const struct sp_reader *reader);

/* Was @unit (below nr_units) ever written? Others may be holes: keep away. */
static inline bool sp_reader_unit_written(const struct sp_reader *reader,
					  uint32_t unit)
{
	/* [P3] */
	return __atomic_load_n(&reader->hdr->units_written[unit / 64],
			       __ATOMIC_ACQUIRE) >>
		       (unit % 64) &
	       1;
}

/* Word @idx of the bitmap of written units, without bits beyond nr_units. */
uint64_t sp_reader_units_written(const struct sp_reader *reader, uint32_t idx);

/**
 * sp_reader_cells() - check that @nr cells of @object from @cell_idx may be
 * read
 * @ret_off: their byte offset in each written unit, a multiple of 8
 *
 * Trusts nothing in @object.
 *
 * Return: 0; -EINVAL if they are not inside the object, or the object's cells
 * not inside what is populated.
 */
int sp_reader_cells(const struct sp_reader *reader,
		    const struct sp_object *object, size_t cell_idx, size_t nr,
		    uint64_t *ret_off);

/**
 * sp_reader_check() - is the object with this id still the one it was?
 *
 * Call it before reading cells, and again after: what was loaded in between
 * belongs to the object if both return 0 [P4].
 *
 * Return: 0; -ESTALE.
 */
int sp_reader_check(const struct sp_reader *reader, uint64_t id);

#endif
