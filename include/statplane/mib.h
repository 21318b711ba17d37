/* SPDX-License-Identifier: MIT */
/*
 * statplane/mib.h - groups of named statistics.
 *
 * A schema says what there is: groups of items, each with a name, a help text,
 * a unit and a kind. A MIB is one instance of a schema: a run of per-CPU cells
 * and a name in the plane's directory. The kernel's own groups are schemas too
 * (statplane/net.h); a program declares its own in the same way:
 *
 *	static const struct sp_mib_item items[] = {
 *		[RX_DROP] = { "RxDrop", "frames dropped: ring full", "frames",
 *			      SP_MIB_COUNTER },
 *		[RX_SIZE] = { "RxSize", "frame sizes", "octets",
 *			      SP_MIB_HISTOGRAM },
 *	};
 *
 * The item's index is its id. Schemas are copied into the plane, equal ones once
 * however many MIBs use them, and stay there for as long as the plane lives.
 * Their bytes: docs/schema-format.md.
 */
#ifndef STATPLANE_MIB_H
#define STATPLANE_MIB_H

#include <stddef.h>
#include <stdint.h>

#include <statplane/export.h>
#include <statplane/percpu.h>

SP_BEGIN_DECLS

enum sp_mib_kind {
	SP_MIB_COUNTER,   /* one cell; only grows, modulo 2^64 */
	SP_MIB_GAUGE,     /* one cell; the sum of all +n and -n, signed */
	SP_MIB_HISTOGRAM, /* SP_MIB_HISTOGRAM_CELLS cells */
	SP_MIB_ARRAY,     /* SP_MIB_ARRAY_CELLS counters named Name0..Name255 */
};

/*
 * A histogram's cells: [0] the sum of all values, [1] how many were 0, and
 * [1 + b] for b = 1..64 how many were in 2^(b-1) .. 2^b - 1.
 */
#define SP_MIB_HISTOGRAM_CELLS 66
#define SP_MIB_ARRAY_CELLS 256

struct sp_mib_item {
	const char *name; /* [A-Za-z_][A-Za-z0-9_]*, at most 63 bytes */
	const char *help; /* one line of at most 1023 bytes, or NULL */
	const char *unit; /* plural: "packets", "octets"; at most 63 bytes, or
			   * NULL */
	enum sp_mib_kind kind;
};

struct sp_mib_group {
	const char *name; /* as an item's; unique in the schema */
	const char *help;
	const struct sp_mib_item *items; /* at least one, names unique */
	size_t nr_items;
};

struct sp_mib_schema {
	const char *name; /* as an item's; prefix of its OpenMetrics names */
	const struct sp_mib_group *groups; /* at least one */
	size_t nr_groups;
};

/**
 * sp_mib_cell_idx() - index of the first cell of an item in its MIB
 *
 * Cells are numbered in the order of groups and items, without gaps.
 */
SP_API size_t sp_mib_cell_idx(const struct sp_mib_schema *schema,
			      size_t group_idx, size_t item_idx);

/* Cells of a whole MIB. */
SP_API size_t sp_mib_nr_cells(const struct sp_mib_schema *schema);

struct sp_mib;

/**
 * sp_mib_create() - make an instance of a schema
 * @name: unique among the plane's MIBs, at most 63 bytes, no '/' or control
 *        characters
 * @schema: borrowed for the call. A schema that the plane has already, with the
 *        same content, is not stored again.
 * @ret_mib: give it back with sp_mib_destroy()
 *
 * Return: 0; -EEXIST for a name in use; -EINVAL for a name or schema that
 * breaks the rules above, or one with more than SP_PERCPU_MAX_SIZE / 8 cells;
 * -ENOSPC if the plane is full; -ENOMEM.
 *
 * Context: any thread; takes locks; may block on the file system.
 */
SP_API int sp_mib_create(struct sp_plane *plane, const char *name,
			 const struct sp_mib_schema *schema,
			 struct sp_mib **ret_mib);

/* Remove it from the directory. No thread may use it any more. NULL is fine. */
SP_API void sp_mib_destroy(struct sp_mib *mib);

/**
 * sp_mib_off() - the per-CPU offset of cell @cell_idx, for the inline adds:
 *
 *	drop = sp_mib_off(mib, sp_mib_cell_idx(&schema, 0, RX_DROP));
 *	sp_percpu_add(percpu, drop, 1);
 *
 * The item's id is not the cell's index: a histogram or an array before it takes
 * many cells.
 */
SP_API sp_percpu_t sp_mib_off(const struct sp_mib *mib, size_t cell_idx);

/**
 * sp_mib_read() - sum a cell over all CPUs and lanes
 *
 * Return: a total that was reached between call and return, modulo 2^64. Two
 * calls for two counters are not a consistent pair; use sp_pair_read() for
 * packets and bytes.
 *
 * Context: any thread; one cache miss for each unit that was ever written.
 */
SP_API uint64_t sp_mib_read(const struct sp_mib *mib, size_t cell_idx);

/* All cells at once, unit by unit; @cells has sp_mib_nr_cells() places. */
SP_API void sp_mib_fold(const struct sp_mib *mib, uint64_t *cells);

/* Which cell of a histogram, beside its first, counts @value. */
static inline unsigned sp_mib_histogram_cell(uint64_t value)
{
	return value ? 65 - (unsigned)__builtin_clzll(value) : 1;
}

/**
 * sp_histogram_add() - count @value in the histogram whose first cell is @off
 *
 * Context: any thread. The sum and the bucket are two adds: a reader may see
 * one without the other.
 */
static inline void sp_histogram_add(const struct sp_percpu *percpu,
				    sp_percpu_t off, uint64_t value)
{
	sp_percpu_add(percpu, off, value);
	sp_percpu_add(percpu, off + 8 * sp_mib_histogram_cell(value), 1);
}

SP_END_DECLS

#endif
