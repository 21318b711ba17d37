// SPDX-License-Identifier: MIT
/*
 * table/walk.c - all entries, each once, while the table changes and doubles.
 *
 * The walk goes through the space of hashes, not of buckets. When it begins, M
 * low bits of a hash tell the buckets apart: it visits the 2^M classes of hashes
 * with equal low bits in their order, whatever has become of them since. As long
 * as the table does not grow, a class is a bucket, and the walk goes through
 * memory from one end to the other. A bucket that was split since is visited as
 * two halves of its class, or four; the halves are ordered by their next bits
 * from the lowest on, so that what has been visited and what not can be said by
 * one number, however far splitting goes on. So the cursor is
 *
 *	63    58      31         0
 *	| M + 1 | class | fraction |
 *
 * where fraction is how much of the class was visited, of 2^32, 0 if none, and
 * M + 1 of 0 stands for a walk that has not begun. Its end is the class 2^M,
 * which for M of 26 still fits.
 *
 * A hash is in one class, and at any time in one bucket. So an entry that lives
 * all the time is found once if each look at a part of a class sees every entry
 * of that part. A look at a bucket is that if the bucket was not changed during
 * it [T2], and if afterwards the number of buckets still says that the part lies
 * in that bucket [T4]. Empty buckets are passed over by the bitmap: bits that are
 * clear mean what they say if no bucket of theirs was split meanwhile, which
 * again the number of buckets tells: a bucket's bit is cleared, for entries that
 * moved, behind the new number [T6].
 */
#include "table/view.h"

#include <errno.h>
#include <sched.h>

#include "base/fence.h"

#define SPINS_A_YIELD 64
#define COPY_TRIES    256

/* A place in the walk; see above. */
struct place {
	unsigned depth; /* M */
	uint32_t class;
	uint32_t fraction;
};

/* A set of hashes: those with these low bits. */
struct part {
	unsigned depth;
	uint64_t bits;
};

static uint64_t low_bits(unsigned depth)
{
	return (UINT64_C(1) << depth) - 1;
}

static uint32_t reverse(uint32_t x)
{
	x = (x & 0x55555555u) << 1 | (x >> 1 & 0x55555555u);
	x = (x & 0x33333333u) << 2 | (x >> 2 & 0x33333333u);
	x = (x & 0x0f0f0f0fu) << 4 | (x >> 4 & 0x0f0f0f0fu);
	return __builtin_bswap32(x);
}

static struct place place_load(uint64_t cursor,
			       const struct sp_table_view *view)
{
	struct place at;
	unsigned depth = (unsigned)(cursor >> 59);

	if (!depth)
		return (struct place){
			.depth = sp_log2(sp_view_nr_buckets(view))};
	at.depth = depth - 1;
	at.class = (uint32_t)(cursor >> 32) & ((1u << 27) - 1);
	at.fraction = (uint32_t)cursor;
	return at;
}

static uint64_t place_store(const struct place *at)
{
	return (uint64_t)(at->depth + 1) << 59 | (uint64_t)at->class << 32 |
	       at->fraction;
}

static bool is_at_end(const struct place *at)
{
	return at->class >> at->depth;
}

static void next_class(struct place *at, uint32_t class)
{
	at->class = class;
	at->fraction = 0;
}

/* --- passing over what is empty ------------------------------------------- */

static uint64_t load_word(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE); /* [T6] */
}

/*
 * Bit i of the result: is any bucket of class @class + i occupied? For up to 64
 * classes, from a multiple of 64 on. The bits of a class are 2^depth apart.
 */
static uint64_t occupied(const struct sp_table_view *view, unsigned depth,
			 uint32_t class, uint32_t nr)
{
	uint64_t word = 0;

	if (depth >= 6) {
		for (uint64_t b = class; b < nr; b += UINT64_C(1) << depth)
			word |= load_word(&view->bitmap[b / 64]);
		return word;
	}
	for (uint32_t w = 0; w <= (nr - 1) / 64; w++)
		word |= load_word(&view->bitmap[w]);
	for (unsigned span = 64; span > 1u << depth; span /= 2)
		word |= word >> span / 2;
	return word & (UINT64_MAX >> (64 - (1u << depth)));
}

/* The same a level up: bit i is about 64 classes from @class + 64 * i on. */
static uint64_t occupied_words(const struct sp_table_view *view, unsigned depth,
			       uint32_t class, uint32_t nr)
{
	uint64_t word = 0;

	for (uint64_t b = class; b < nr; b += UINT64_C(1) << depth)
		word |= load_word(&view->summary[b / 4096]);
	return word;
}

/* Was a bucket of a class in [@from, @to) split while N grew @before -> @now? */
static bool was_split(unsigned depth, uint32_t from, uint32_t to,
		      uint32_t before, uint32_t now)
{
	uint32_t mask = (uint32_t)low_bits(depth);
	uint32_t nr = now - before;

	if (!nr)
		return false;
	if (nr > mask)
		return true;
	/* The new buckets' classes: nr of them, from that of @before on. */
	return ((from - before) & mask) < nr ||
	       ((before - from) & mask) < to - from;
}

/* The first class from @class on that looks occupied, at most the end. */
static uint32_t find_occupied(const struct sp_table_view *view, unsigned depth,
			      uint32_t class, uint32_t nr)
{
	const uint64_t end = UINT64_C(1) << depth;
	uint64_t c = class;

	while (c < end) {
		uint64_t word;

		if (depth >= 12 && c % 64 == 0) {
			word = occupied_words(view, depth, (uint32_t)c & ~4095u,
					      nr) >>
			       (c / 64 % 64);
			if (!word) {
				c = (c | 4095) + 1;
				continue;
			}
			c += 64 * (uint64_t)__builtin_ctzll(word);
		}
		word = occupied(view, depth, (uint32_t)c & ~63u, nr) >>
		       (c % 64);
		if (word)
			return (uint32_t)c + (unsigned)__builtin_ctzll(word);
		c = (c | 63) + 1;
	}
	return (uint32_t)end;
}

/* Go to the next class that is not known to be empty. */
static void pass_empty(const struct sp_walk *walk, struct place *at,
		       uint32_t *nr)
{
	uint32_t class, now;

	if (at->fraction)
		return;
	for (unsigned i = 0;; i++) {
		class = find_occupied(walk->view, at->depth, at->class, *nr);
		now = sp_view_nr_buckets(walk->view);
		if (class == at->class ||
		    !was_split(at->depth, at->class, class, *nr, now))
			break;
		*nr = now;
		/* Nothing is lost but time if it is taken as it comes. */
		if (walk->max_tries && i > walk->max_tries)
			return;
	}
	*nr = now;
	next_class(at, class);
}

/* --- one bucket ----------------------------------------------------------- */

/* The largest part from the place on that lies in one of @nr buckets. */
static struct part choose_part(const struct place *at, uint32_t nr)
{
	unsigned more =
		at->fraction ? 32 - (unsigned)__builtin_ctz(at->fraction) : 0;
	struct part part;
	unsigned depth;

	part.bits = at->class | (uint64_t)reverse(at->fraction) << at->depth;
	depth = sp_bucket_depth(sp_bucket_of(part.bits, nr), nr);
	part.depth = at->depth + more > depth ? at->depth + more : depth;
	return part;
}

static void pass_part(struct place *at, const struct part *part)
{
	unsigned more = part->depth - at->depth;

	if (more)
		at->fraction += UINT32_C(1) << (32 - more);
	if (!at->fraction)
		next_class(at, at->class + 1);
}

static bool is_in_part(const struct sp_table_head *entry,
		       const struct part *part)
{
	uint64_t hash = __atomic_load_n(&entry->hash, __ATOMIC_RELAXED);

	return ((hash ^ part->bits) & low_bits(part->depth)) == 0;
}

/* What one look has found. */
struct look {
	unsigned nr;
	bool is_insane;
	uint32_t idx[SP_TABLE_WALK_MIN];
};

static void look_at(const struct sp_walk *walk,
		    const struct sp_table_bucket *bucket,
		    const struct part *part, bool is_whole, struct look *look)
{
	const struct sp_table_view *view = walk->view;
	uint32_t nr_slots = __atomic_load_n(&view->hdr->nr_slots,
					    __ATOMIC_ACQUIRE); /* [P3] */

	if (nr_slots > view->max_slots)
		nr_slots = view->max_slots;
	for (unsigned i = 0; i < SP_BUCKET_SLOTS; i++) {
		uint16_t tag = __atomic_load_n(&bucket->tag[i],
					       __ATOMIC_ACQUIRE); /* [T1] */
		uint32_t idx;

		if (!tag)
			continue;
		idx = __atomic_load_n(&bucket->idx[i],
				      __ATOMIC_ACQUIRE); /* [T2] */
		if (idx >= nr_slots)
			look->is_insane = true;
		else if (is_whole || is_in_part(sp_view_entry(view, idx), part))
			look->idx[look->nr++] = idx;
	}
}

/* The whole chain. */
static void look_at_chain(const struct sp_walk *walk,
			  const struct sp_table_bucket *bucket,
			  const struct part *part, bool is_whole,
			  struct look *look)
{
	const struct sp_table_view *view = walk->view;
	uint32_t nr_overflow, next;

	look->nr = 0;
	look->is_insane = false;
	for (unsigned i = 0; i < SP_CHAIN_MAX; i++) {
		look_at(walk, bucket, part, is_whole, look);
		next = __atomic_load_n(&bucket->overflow,
				       __ATOMIC_ACQUIRE); /* [T2] */
		if (__builtin_expect(!next, 1))
			return;
		nr_overflow = __atomic_load_n(&view->hdr->nr_overflow,
					      __ATOMIC_ACQUIRE); /* [P3] */
		if (next > nr_overflow || next > view->max_overflow)
			break;
		bucket = &view->overflow[next - 1];
	}
	look->is_insane = true;
}

/* Does @part lie in bucket number @b, all of it? */
static bool is_part_of(const struct part *part, uint32_t b, uint32_t nr)
{
	return sp_bucket_of(part->bits, nr) == b &&
	       sp_bucket_depth(b, nr) <= part->depth;
}

/*
 * Return: how many; -EAGAIN if the bucket changed, or is not the one any more;
 * -ENOSPC if with the @found before they are more than @max.
 */
static int visit(const struct sp_walk *walk, const struct part *part,
		 uint32_t nr, unsigned found, unsigned max)
{
	uint32_t b = sp_bucket_of(part->bits, nr);
	const struct sp_table_bucket *bucket = &walk->view->buckets[b];
	bool is_whole = sp_bucket_depth(b, nr) == part->depth;
	struct look look;
	uint32_t seq;
	int err = 0;

	seq = __atomic_load_n(&bucket->seq, __ATOMIC_ACQUIRE); /* [T2] */
	if (seq % 2)
		return -EAGAIN;
	look_at_chain(walk, bucket, part, is_whole, &look);
	if (look.is_insane)
		return -EAGAIN;
	if (look.nr > max - found)
		err = -ENOSPC;
	else if (look.nr)
		err = walk->fn(walk->arg, found, look.idx, look.nr);
	if (err == -EAGAIN)
		return err;
	sp_fence_acquire(); /* [T2] the copies were loaded before */
	if (__atomic_load_n(&bucket->seq, __ATOMIC_ACQUIRE) != seq ||
	    !is_part_of(part, b, sp_view_nr_buckets(walk->view)))
		return -EAGAIN;
	return err ? err : (int)look.nr;
}

/* visit() until it works. Return: as there; -EAGAIN: given up. */
static int visit_patiently(const struct sp_walk *walk, const struct place *at,
			   struct part *ret_part, unsigned found, unsigned max)
{
	int r;

	for (unsigned i = 1;; i++) {
		uint32_t nr = sp_view_nr_buckets(walk->view);

		*ret_part = choose_part(at, nr);
		r = visit(walk, ret_part, nr, found, max);
		if (r != -EAGAIN || (walk->max_tries && i >= walk->max_tries))
			return r;
		if (i % SPINS_A_YIELD)
			sp_table_relax();
		else
			sched_yield();
	}
}

unsigned sp_walk_next(struct sp_walk *walk, uint64_t *cursor, unsigned max)
{
	struct place at = place_load(*cursor, walk->view);
	uint32_t nr = sp_view_nr_buckets(walk->view);
	struct part part;
	unsigned found = 0;
	int r;

	/* A cursor that no walk can have come to is taken for the end. */
	while (!is_at_end(&at) && at.depth <= sp_log2(nr)) {
		pass_empty(walk, &at, &nr);
		if (is_at_end(&at))
			break;
		r = visit_patiently(walk, &at, &part, found, max);
		if (r == -ENOSPC)
			break;
		if (r < 0)
			walk->nr_skipped++;
		else
			found += (unsigned)r;
		pass_part(&at, &part);
	}
	*cursor = place_store(&at);
	return found;
}

/* --- one entry ------------------------------------------------------------ */

int sp_entry_copy(const struct sp_table_head *entry, uint32_t bytes,
		  void *ret_copy)
{
	const uint64_t *from = (const uint64_t *)(const void *)entry;
	uint64_t *to = ret_copy;

	for (unsigned i = 1; i <= COPY_TRIES; i++) {
		uint32_t seq = __atomic_load_n(&entry->seq,
					       __ATOMIC_ACQUIRE); /* [T5] */

		if (seq % 2 == 0) {
			for (uint32_t w = 1; w < bytes / 8; w++)
				to[w] = __atomic_load_n(
					&from[w], __ATOMIC_ACQUIRE); /* [T5] */
			/* seq and incarnation in one piece: the word of both. */
			to[0] = __atomic_load_n(&from[0], __ATOMIC_ACQUIRE);
			if (((const struct sp_table_head *)ret_copy)->seq ==
			    seq)
				return 0;
		}
		if (i % SPINS_A_YIELD)
			sp_table_relax();
		else
			sched_yield();
	}
	return -EAGAIN;
}

/* --- figures -------------------------------------------------------------- */

static uint64_t load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

void sp_view_figures(const struct sp_table_view *view,
		     struct sp_table_figures *ret_figures)
{
	const struct sp_table_hdr *hdr = view->hdr;

	*ret_figures = (struct sp_table_figures){
		.nr_entries = load(&hdr->nr_entries),
		.nr_buckets = sp_view_nr_buckets(view),
		.max_buckets = view->max_buckets,
		.nr_overflow =
			__atomic_load_n(&hdr->nr_overflow, __ATOMIC_RELAXED),
		.nr_full = load(&hdr->nr_full),
		.nr_no_memory = load(&hdr->nr_no_memory),
		.nr_evicted = load(&hdr->nr_evicted),
		.nr_stuck = load(&hdr->nr_stuck),
		.memory_bytes = load(&hdr->memory_bytes),
		.key_bytes = view->key_bytes,
		.entry_bytes = view->entry_bytes,
	};
}
