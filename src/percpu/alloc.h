/* SPDX-License-Identifier: MIT */
/*
 * percpu/alloc.h - objects in the offset space of a plane's units.
 *
 * Pure bookkeeping in process-private memory: it knows offsets, never touches a
 * unit, and costs the same for any number of units. The public functions around
 * it (percpu/object.c) lock, count, and clear reused cells.
 *
 * This is the whole interface that the public functions use; how a free slot is
 * found (alloc.c: class_take) and what is done about cells that are not zero
 * (object.c: renew) can each be replaced behind it.
 */
#ifndef SP_PERCPU_ALLOC_H
#define SP_PERCPU_ALLOC_H

#include <stddef.h>
#include <stdint.h>

#include "percpu/pages.h"

/* Sizes: each multiple of 8 to 128, then four per doubling to a page. */
#define SP_ALLOC_NR_CLASSES 36
#define SP_ALLOC_MAX_SMALL  SP_PAGE_BYTES

struct sp_alloc_class {
	uint16_t slot_bytes;
	uint8_t span_pages;
	uint16_t span_slots;
	sp_page_idx partial; /* spans with a free slot, the latest first */
	uint64_t nr_free;    /* slots free in all of them */
};

struct sp_alloc {
	struct sp_pages pages;
	struct sp_alloc_class classes[SP_ALLOC_NR_CLASSES];
	uint64_t nr_alloc;
	uint64_t nr_dealloc;
	uint64_t nr_failed;
	uint64_t used_bytes;
};

/* Return: 0; -ENOMEM. */
int sp_alloc_init(struct sp_alloc *alloc, uint64_t unit_bytes,
		  sp_pages_populate_fn *populate, void *ctx);
void sp_alloc_fini(struct sp_alloc *alloc);

/* Bit 0 of an offset from sp_alloc_take(): its cells were in use before. */
#define SP_ALLOC_STALE 1u

/**
 * sp_alloc_take() - find room for @nr objects, all or none
 * @size: 1 to SP_PERCPU_MAX_SIZE
 * @align: a power of two, at most SP_PAGE_BYTES
 * @ret_off: @nr offsets with SP_ALLOC_STALE or without; untouched on failure
 *
 * Return: 0; -ENOSPC or what the populate function returned.
 */
int sp_alloc_take(struct sp_alloc *alloc, size_t size, size_t align, size_t nr,
		  uint64_t *ret_off);

/* Give one object back. A caller's bug (not an object, free already) asserts.
 */
void sp_alloc_give(struct sp_alloc *alloc, uint64_t off, size_t size);

#endif
