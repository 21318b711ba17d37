/* SPDX-License-Identifier: MIT */
/*
 * percpu/alloc.c - size classes over spans of pages, page runs for the rest.
 *
 * A span is one or more pages cut into slots of one class, with one bit a slot
 * and one bit for each word of those bits: a free slot is two find-first-sets
 * away however full the span is. A class keeps a list of its spans that have a
 * free slot. So an allocation costs the same in an empty and in a full plane.
 *
 * Alignment costs no search either. Spans start on a page, and slot i stands at
 * i times the slot size; a size that is rounded up to the alignment leads to a
 * class whose slot size is a multiple of it: to 128 every multiple of 8 is a
 * class, and above, with classes a quarter of a power of two apart, either that
 * distance is a multiple of the alignment or the rounded size is a class
 * itself. So every slot of the class is aligned.
 *
 * All or none: first the spans for @nr slots are made sure of, which may fail
 * and is undone, then slots are taken, which cannot fail. Large objects are
 * chained through their descriptors until all are had.
 *
 * A slot that was in use once is stale: its cells may be nonzero. So are all
 * slots of a span on pages that were in use. Fresh slots are zero in every
 * unit.
 */
#include "percpu/alloc.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>

#define CELL           8u
#define LINEAR_MAX     128u /* classes every 8 bytes to here */
#define LINEAR_NR      (LINEAR_MAX / CELL)
#define LINEAR_SHIFT   7
#define MAX_SPAN_PAGES 8u

static unsigned class_of(size_t size)
{
	unsigned shift;
	size_t above, step;

	if (size <= LINEAR_MAX)
		return (unsigned)((size + CELL - 1) / CELL) - 1;
	shift = 63u - (unsigned)__builtin_clzll(size - 1);
	step = (size_t)1 << (shift - 2);
	above = size - ((size_t)1 << shift);
	return LINEAR_NR + (shift - LINEAR_SHIFT) * 4 +
	       (unsigned)((above + step - 1) / step) - 1;
}

static uint32_t class_bytes(unsigned c)
{
	unsigned shift;

	if (c < LINEAR_NR)
		return (c + 1) * CELL;
	c -= LINEAR_NR;
	shift = LINEAR_SHIFT + c / 4;
	return (1u << shift) + (c % 4 + 1) * (1u << (shift - 2));
}

/* The shortest span that leaves at most an eighth unused. */
static uint32_t span_pages(uint32_t slot_bytes)
{
	uint32_t n = 1;

	while (n < MAX_SPAN_PAGES &&
	       n * SP_PAGE_BYTES % slot_bytes > n * SP_PAGE_BYTES / 8)
		n++;
	return n;
}

int sp_alloc_init(struct sp_alloc *alloc, uint64_t unit_bytes,
		  sp_pages_populate_fn *populate, void *ctx)
{
	*alloc = (struct sp_alloc){0};
	for (unsigned c = 0; c < SP_ALLOC_NR_CLASSES; c++) {
		struct sp_alloc_class *sc = &alloc->classes[c];
		uint32_t bytes = class_bytes(c), n = span_pages(bytes);

		sc->slot_bytes = (uint16_t)bytes;
		sc->span_pages = (uint8_t)n;
		sc->span_slots = (uint16_t)(n * SP_PAGE_BYTES / bytes);
	}
	return sp_pages_init(&alloc->pages, unit_bytes, populate, ctx);
}

void sp_alloc_fini(struct sp_alloc *alloc)
{
	sp_pages_fini(&alloc->pages);
}

static void partial_add(struct sp_alloc *alloc, struct sp_alloc_class *sc,
			sp_page_idx idx)
{
	struct sp_page *page = alloc->pages.page;

	page[idx].prev = 0;
	page[idx].next = sc->partial;
	if (sc->partial)
		page[sc->partial].prev = idx;
	sc->partial = idx;
}

static void partial_del(struct sp_alloc *alloc, struct sp_alloc_class *sc,
			sp_page_idx idx)
{
	struct sp_page *page = alloc->pages.page;

	if (page[idx].next)
		page[page[idx].next].prev = page[idx].prev;
	if (page[idx].prev)
		page[page[idx].prev].next = page[idx].next;
	else
		sc->partial = page[idx].next;
}

static int span_create(struct sp_alloc *alloc, unsigned c)
{
	struct sp_alloc_class *sc = &alloc->classes[c];
	struct sp_page *span;
	sp_page_idx idx;
	uint32_t nr = sc->span_slots;
	int r;

	r = sp_pages_take(&alloc->pages, sc->span_pages, SP_PAGE_SPAN, &idx);
	if (r)
		return r;
	span = &alloc->pages.page[idx];
	span->class_idx = (uint8_t)c;
	span->nr_slots = (uint16_t)nr;
	span->nr_free = (uint16_t)nr;
	span->words = 0;
	for (uint32_t w = 0; w < SP_SPAN_WORDS; w++) {
		uint32_t here = nr < 64 ? nr : 64;

		span->free[w] = here ? ~0ull >> (64 - here) : 0;
		span->stale_slots[w] = span->stale ? span->free[w] : 0;
		if (here)
			span->words |= (uint8_t)(1u << w);
		nr -= here;
	}
	sc->nr_free += span->nr_slots;
	partial_add(alloc, sc, idx);
	return 0;
}

/* Take an empty span out of its class and give its pages back. */
static void span_destroy(struct sp_alloc *alloc, sp_page_idx idx, bool used)
{
	struct sp_page *span = &alloc->pages.page[idx];
	struct sp_alloc_class *sc = &alloc->classes[span->class_idx];

	partial_del(alloc, sc, idx);
	sc->nr_free -= span->nr_slots;
	sp_pages_give(&alloc->pages, idx, used);
}

/* Not even if every page that is left were usable: do not begin. */
static bool hopeless(const struct sp_alloc *alloc, size_t nr, size_t per_run,
		     uint32_t run_pages)
{
	size_t left = alloc->pages.nr_pages - 1 - alloc->pages.nr_used;

	return nr / per_run > left / run_pages;
}

static int class_reserve(struct sp_alloc *alloc, unsigned c, size_t nr)
{
	struct sp_alloc_class *sc = &alloc->classes[c];
	size_t made = 0;
	int r;

	if (sc->nr_free < nr &&
	    hopeless(alloc, nr - sc->nr_free, sc->span_slots, sc->span_pages))
		return -ENOSPC;
	for (; sc->nr_free < nr; made++) {
		r = span_create(alloc, c);
		if (r)
			goto undo;
	}
	return 0;
undo:
	/* The new ones are the first of the list, and no slot is taken yet. */
	while (made--)
		span_destroy(alloc, sc->partial, false);
	return r;
}

/* The search: a free slot of a class that has one. */
static uint64_t class_take(struct sp_alloc *alloc, struct sp_alloc_class *sc)
{
	sp_page_idx idx = sc->partial;
	struct sp_page *span = &alloc->pages.page[idx];
	unsigned w = (unsigned)__builtin_ctz(span->words);
	unsigned b = (unsigned)__builtin_ctzll(span->free[w]);
	uint64_t off = ((uint64_t)idx << SP_PAGE_SHIFT) +
		       (uint64_t)(64 * w + b) * sc->slot_bytes;

	if (span->stale_slots[w] >> b & 1)
		off |= SP_ALLOC_STALE;
	span->free[w] &= span->free[w] - 1;
	if (!span->free[w])
		span->words &= (uint8_t) ~(1u << w);
	sc->nr_free--;
	if (!--span->nr_free)
		partial_del(alloc, sc, idx);
	return off;
}

static int small_take(struct sp_alloc *alloc, size_t size, size_t nr,
		      uint64_t *ret_off)
{
	unsigned c = class_of(size);
	struct sp_alloc_class *sc = &alloc->classes[c];
	int r;

	r = class_reserve(alloc, c, nr);
	if (r)
		return r;
	for (size_t i = 0; i < nr; i++)
		ret_off[i] = class_take(alloc, sc);
	alloc->used_bytes += nr * sc->slot_bytes;
	return 0;
}

static int large_take(struct sp_alloc *alloc, size_t size, size_t nr,
		      uint64_t *ret_off)
{
	struct sp_page *page = alloc->pages.page;
	uint32_t nr_pages =
		(uint32_t)((size + SP_PAGE_BYTES - 1) >> SP_PAGE_SHIFT);
	sp_page_idx chain = 0, idx;
	int r;

	if (hopeless(alloc, nr, 1, nr_pages))
		return -ENOSPC;
	for (size_t i = 0; i < nr; i++) {
		r = sp_pages_take(&alloc->pages, nr_pages, SP_PAGE_RUN, &idx);
		if (r)
			goto undo;
		page[idx].next = chain;
		chain = idx;
	}
	for (size_t i = nr; i--; chain = page[chain].next)
		ret_off[i] = ((uint64_t)chain << SP_PAGE_SHIFT) |
			     (page[chain].stale ? SP_ALLOC_STALE : 0);
	alloc->used_bytes += (uint64_t)nr * nr_pages << SP_PAGE_SHIFT;
	return 0;
undo:
	while (chain) {
		idx = chain;
		chain = page[chain].next;
		sp_pages_give(&alloc->pages, idx, false);
	}
	return r;
}

int sp_alloc_take(struct sp_alloc *alloc, size_t size, size_t align, size_t nr,
		  uint64_t *ret_off)
{
	int r;

	size = (size + align - 1) & ~(align - 1);
	if (size <= SP_ALLOC_MAX_SMALL)
		r = small_take(alloc, size, nr, ret_off);
	else
		r = large_take(alloc, size, nr, ret_off);
	if (r)
		alloc->nr_failed += nr;
	else
		alloc->nr_alloc += nr;
	return r;
}

static void small_give(struct sp_alloc *alloc, sp_page_idx idx, uint64_t off,
		       size_t size)
{
	struct sp_page *span = &alloc->pages.page[idx];
	struct sp_alloc_class *sc = &alloc->classes[span->class_idx];
	uint32_t at = (uint32_t)(off - ((uint64_t)idx << SP_PAGE_SHIFT));
	uint32_t slot = at / sc->slot_bytes;
	uint64_t bit = 1ull << slot % 64;

	assert(at % sc->slot_bytes == 0 && slot < span->nr_slots);
	assert(size <= sc->slot_bytes);
	assert(!(span->free[slot / 64] & bit));
	span->free[slot / 64] |= bit;
	span->stale_slots[slot / 64] |= bit;
	span->words |= (uint8_t)(1u << slot / 64);
	alloc->used_bytes -= sc->slot_bytes;
	sc->nr_free++;
	if (!span->nr_free++)
		partial_add(alloc, sc, idx);
	/* Keep one empty span, so that one object that comes and goes does not
	 * make and unmake it every time. */
	if (span->nr_free == span->nr_slots && sc->nr_free > span->nr_slots)
		span_destroy(alloc, idx, true);
}

void sp_alloc_give(struct sp_alloc *alloc, uint64_t off, size_t size)
{
	struct sp_page *page = alloc->pages.page;
	uint64_t at = off >> SP_PAGE_SHIFT;
	sp_page_idx idx = (sp_page_idx)at;

	assert(at < alloc->pages.fresh);
	if (page[idx].state == SP_PAGE_INNER)
		idx = page[idx].first;
	alloc->nr_dealloc++;
	if (page[idx].state == SP_PAGE_SPAN) {
		small_give(alloc, idx, off, size);
		return;
	}
	assert(page[idx].state == SP_PAGE_RUN);
	assert(off == (uint64_t)idx << SP_PAGE_SHIFT);
	assert(size <= (uint64_t)page[idx].nr_pages << SP_PAGE_SHIFT);
	alloc->used_bytes -= (uint64_t)page[idx].nr_pages << SP_PAGE_SHIFT;
	sp_pages_give(&alloc->pages, idx, true);
}
