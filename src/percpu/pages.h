/* SPDX-License-Identifier: MIT */
/*
 * percpu/pages.h - the offset space of a unit, in pages.
 *
 * Hands out runs of 4 KiB pages of the offset space that all units share. Used
 * by the allocator (percpu/alloc.h) for the spans of its size classes and for
 * objects above a page. All functions run under the allocator's lock.
 *
 * Every page has a descriptor in process-private memory. That memory is
 * reserved once for the whole offset space and touched only as pages come into
 * use, so it never has to grow and never fails after the start.
 */
#ifndef SP_PERCPU_PAGES_H
#define SP_PERCPU_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SP_PAGE_SHIFT 12
#define SP_PAGE_BYTES (1u << SP_PAGE_SHIFT)

/* An index of a page; 0 is none: page 0 is never handed out. */
typedef uint32_t sp_page_idx;

enum sp_page_state {
	SP_PAGE_FRESH, /* never in use, or above the highest page in use */
	SP_PAGE_FREE,  /* first or last page of a free run */
	SP_PAGE_RUN,   /* first page of one large object */
	SP_PAGE_SPAN,  /* first page of a span of slots */
	SP_PAGE_INNER, /* inside a run or span in use: see first */
};

#define SP_SPAN_WORDS 8 /* 512 slots of 8 bytes in one page */

struct sp_page {
	uint8_t state;     /* enum sp_page_state */
	uint8_t class_idx; /* SPAN: its size class */
	bool stale;        /* the page was in use: cells may be nonzero */
	uint8_t words;     /* SPAN: bit w: free[w] is not 0 */
	uint16_t nr_free;  /* SPAN: free slots */
	uint16_t nr_slots; /* SPAN */
	uint32_t nr_pages; /* length of the run that starts or, FREE, ends here
			    */
	sp_page_idx first; /* INNER */
	sp_page_idx next, prev;              /* FREE: bin; SPAN: class list */
	uint64_t free[SP_SPAN_WORDS];        /* SPAN: bit: slot is free */
	uint64_t stale_slots[SP_SPAN_WORDS]; /* SPAN: bit: slot was in use */
};

#define SP_PAGE_BINS 32

/*
 * Populate the first @upto_bytes of every unit, or more, and say how many are;
 * 0 or -errno.
 */
typedef int sp_pages_populate_fn(void *ctx, uint64_t upto_bytes,
				 uint64_t *ret_populated_bytes);

struct sp_pages {
	struct sp_page *page;
	uint32_t nr_pages;     /* of the offset space */
	uint32_t fresh;        /* pages from here on are not in use */
	uint32_t nr_populated; /* pages backed by memory */
	uint32_t nr_used;      /* pages in runs that are taken */
	uint32_t bins;         /* bit b: bin[b] is not empty */
	sp_page_idx
		bin[SP_PAGE_BINS]; /* free runs of 2^b .. 2^(b+1) - 1 pages */
	sp_pages_populate_fn *populate;
	void *ctx;
};

/* Return: 0; -ENOMEM. */
int sp_pages_init(struct sp_pages *pages, uint64_t unit_bytes,
		  sp_pages_populate_fn *populate, void *ctx);
void sp_pages_fini(struct sp_pages *pages);

/**
 * sp_pages_take() - take a run of @nr pages
 *
 * The descriptor of the first page has state and nr_pages set, stale if any
 * page of the run is stale; those of the others lead to it.
 *
 * Return: 0; -ENOSPC or what populate returned, with nothing changed.
 * Cost: constant, but for populating, and for a last search when all else
 * fails.
 */
int sp_pages_take(struct sp_pages *pages, uint32_t nr, enum sp_page_state state,
		  sp_page_idx *ret_first);

/* Give a run back; @used: its pages held objects, so their cells are stale. */
void sp_pages_give(struct sp_pages *pages, sp_page_idx first, bool used);

#endif
