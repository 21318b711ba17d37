/* SPDX-License-Identifier: MIT */
/*
 * percpu/pages.c - runs of pages: bins by length, boundary tags, a fresh end.
 *
 *	0      1                         fresh            nr_populated nr_pages
 *	| none | runs in use and free ... | not in use ...       |  ...       |
 *
 * A free run carries its length in its first and last descriptor, so that a run
 * given back finds its free neighbours at once and grows together with them;
 *one that ends at fresh lowers fresh instead. Runs are searched in the bin of
 *their length for a few steps, then in longer bins, then at the fresh end.
 */
#include "percpu/pages.h"

#include <assert.h>
#include <errno.h>
#include <sys/mman.h>

#define BIN_STEPS 8

int sp_pages_init(struct sp_pages *pages, uint64_t unit_bytes,
		  sp_pages_populate_fn *populate, void *ctx)
{
	uint64_t nr = unit_bytes >> SP_PAGE_SHIFT;
	void *mem;

	if (nr > UINT32_MAX)
		nr = UINT32_MAX;
	mem = mmap(NULL, nr * sizeof(struct sp_page), PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mem == MAP_FAILED)
		return -ENOMEM;
	*pages = (struct sp_pages){
		.page = mem,
		.nr_pages = (uint32_t)nr,
		.fresh = 1,
		.populate = populate,
		.ctx = ctx,
	};
	return 0;
}

void sp_pages_fini(struct sp_pages *pages)
{
	if (pages->page)
		munmap(pages->page, pages->nr_pages * sizeof(struct sp_page));
	pages->page = NULL;
}

static unsigned bin_of(uint32_t nr)
{
	return 31u - (unsigned)__builtin_clz(nr);
}

static void bin_add(struct sp_pages *pages, sp_page_idx first, uint32_t nr)
{
	struct sp_page *page = pages->page;
	unsigned b = bin_of(nr);

	page[first].state = SP_PAGE_FREE;
	page[first].nr_pages = nr;
	page[first + nr - 1].state = SP_PAGE_FREE;
	page[first + nr - 1].nr_pages = nr;
	page[first].prev = 0;
	page[first].next = pages->bin[b];
	if (pages->bin[b])
		page[pages->bin[b]].prev = first;
	pages->bin[b] = first;
	pages->bins |= 1u << b;
}

static void bin_del(struct sp_pages *pages, sp_page_idx first)
{
	struct sp_page *page = pages->page, *run = &page[first];
	unsigned b = bin_of(run->nr_pages);

	if (run->next)
		page[run->next].prev = run->prev;
	if (run->prev)
		page[run->prev].next = run->next;
	else
		pages->bin[b] = run->next;
	if (!pages->bin[b])
		pages->bins &= ~(1u << b);
}

/* A run of at least @nr pages from the bin of that length, or 0. */
static sp_page_idx search_bin(const struct sp_pages *pages, uint32_t nr,
			      uint32_t max_steps)
{
	sp_page_idx run = pages->bin[bin_of(nr)];

	for (; run && max_steps; run = pages->page[run].next, max_steps--)
		if (pages->page[run].nr_pages >= nr)
			return run;
	return 0;
}

static sp_page_idx search_longer(const struct sp_pages *pages, uint32_t nr)
{
	uint32_t longer = pages->bins & ~(2u * (1u << bin_of(nr)) - 1);

	return longer ? pages->bin[__builtin_ctz(longer)] : 0;
}

/* Take @nr pages of the free run at @first; the rest stays free. */
static void cut(struct sp_pages *pages, sp_page_idx first, uint32_t nr)
{
	uint32_t len = pages->page[first].nr_pages;

	bin_del(pages, first);
	if (len > nr)
		bin_add(pages, first + nr, len - nr);
}

static int populate(struct sp_pages *pages, uint32_t upto)
{
	uint64_t bytes;
	int r;

	if (upto <= pages->nr_populated)
		return 0;
	r = pages->populate(pages->ctx, (uint64_t)upto << SP_PAGE_SHIFT,
			    &bytes);
	if (!r)
		pages->nr_populated = (uint32_t)(bytes >> SP_PAGE_SHIFT);
	return r;
}

static int take_fresh(struct sp_pages *pages, uint32_t nr,
		      sp_page_idx *ret_first)
{
	int r;

	if (nr > pages->nr_pages - pages->fresh)
		return -ENOSPC;
	r = populate(pages, pages->fresh + nr);
	if (r)
		return r;
	*ret_first = pages->fresh;
	pages->fresh += nr;
	return 0;
}

int sp_pages_take(struct sp_pages *pages, uint32_t nr, enum sp_page_state state,
		  sp_page_idx *ret_first)
{
	struct sp_page *page = pages->page;
	sp_page_idx first = search_bin(pages, nr, BIN_STEPS);
	bool stale = false;
	int r;

	if (!first)
		first = search_longer(pages, nr);
	if (first) {
		cut(pages, first, nr);
	} else {
		r = take_fresh(pages, nr, &first);
		if (r) {
			first = search_bin(pages, nr, UINT32_MAX);
			if (!first)
				return r;
			cut(pages, first, nr);
		}
	}
	for (uint32_t i = 0; i < nr; i++) {
		stale |= page[first + i].stale;
		page[first + i].state = SP_PAGE_INNER;
		page[first + i].first = first;
	}
	page[first].state = (uint8_t)state;
	page[first].nr_pages = nr;
	page[first].stale = stale;
	pages->nr_used += nr;
	*ret_first = first;
	return 0;
}

void sp_pages_give(struct sp_pages *pages, sp_page_idx first, bool used)
{
	struct sp_page *page = pages->page;
	uint32_t nr = page[first].nr_pages;
	bool stale = used || page[first].stale;

	assert(page[first].state == SP_PAGE_RUN ||
	       page[first].state == SP_PAGE_SPAN);
	pages->nr_used -= nr;
	for (uint32_t i = 0; i < nr; i++) {
		page[first + i].stale |= stale;
		page[first + i].state = SP_PAGE_FRESH;
	}
	if (first + nr < pages->fresh &&
	    page[first + nr].state == SP_PAGE_FREE) {
		uint32_t len = page[first + nr].nr_pages;

		bin_del(pages, first + nr);
		nr += len;
	}
	if (first > 1 && page[first - 1].state == SP_PAGE_FREE) {
		uint32_t len = page[first - 1].nr_pages;

		bin_del(pages, first - len);
		first -= len;
		nr += len;
	}
	if (first + nr == pages->fresh)
		pages->fresh = first;
	else
		bin_add(pages, first, nr);
}
