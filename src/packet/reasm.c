/* SPDX-License-Identifier: MIT */
/*
 * packet/reasm.c - reassembly of IPv4 and IPv6 datagrams by the kernel's rules.
 *
 * A datagram's octets are kept at their place in it: the space is divided into
 * spans of 64 units of 8 octets, and a span that has data has a block of the
 * arena, with one bit a unit for "there" and one for "a run starts here". So a
 * fragment is judged and stored in time that its own length bounds, however
 * many came before it, and a datagram never takes more blocks than it has
 * spans. The end of the last fragment need not be a multiple of 8; its last
 * unit counts as whole, as nothing can come behind it.
 *
 * Queues are found by a hash with a secret key. They stand in one list in the
 * order in which their time will be up, which is also the order of age: all
 * have the same timeout and time never goes back. From its head queues expire
 * and are evicted.
 *
 * The limit of fragments between two of one queue counts all fragments of the
 * source. A peer holds that count for as long as any queue of the source lives.
 *
 * Everything is allocated by sp_reasm_create(); one thread at a time.
 */
#include "packet/reasm.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum {
	UNIT_LEN = 8,
	SPAN_UNITS = 64,
	SPAN_LEN = SPAN_UNITS * UNIT_LEN,
	MAX_OFF = 65528,
	MAX_LEN = 65535,
	NR_SPANS = (MAX_OFF + MAX_LEN) / SPAN_LEN + 1,
	MAX_QUEUES = 1 << 20,
};

/* ECN marks seen, one bit each. */
enum {
	ECN_NOT_ECT = 0,
	ECN_CE = 3,
	SEEN_NOT_ECT = 1 << ECN_NOT_ECT,
	SEEN_CE = 1 << ECN_CE,
};

struct block {
	uint64_t there;  /* bit i: unit i of the span is filled */
	uint64_t starts; /* bit i: a run starts at unit i */
	uint8_t data[SPAN_LEN];
};

/* Hashed and compared as a whole; unused octets are 0, and there is no gap. */
struct key {
	uint8_t addrs[32];
	uint32_t id;
	uint32_t protocol; /* IPv4 only */
};

/* A source while it has queues. */
struct peer {
	struct peer *next; /* in the bucket, or among the free ones */
	uint32_t addr;
	uint32_t nr_queues;
	uint32_t nr_fragments; /* that came from it, modulo 2^32 */
};

struct queue {
	struct key key;
	struct queue *next;            /* in the bucket, or free */
	struct queue *older, *younger; /* in the order of expiry */
	struct peer *peer;             /* NULL without max_distance */
	uint32_t last_fragment; /* peer's count at the last one of ours */
	uint64_t expiry_ns;
	uint64_t user; /* this and the next three: of offset 0 */
	uint32_t head_len;
	uint8_t protocol;
	uint8_t ecn;
	uint8_t ecn_seen; /* SEEN_ bits of all fragments */
	bool has_first;
	bool has_last;
	uint32_t len;             /* the datagram's, as far as known */
	uint32_t filled;          /* octets there */
	uint32_t tail;            /* where the last run ends; 0: no data */
	uint32_t captured;        /* no octet before this one is missing
				   * from the capture where it is there */
	uint32_t block[NR_SPANS]; /* index + 1, 0 for none */
};

struct sp_reasm {
	struct sp_reasm_opts opts;
	struct sp_hash_key hash_key;
	uint64_t now_ns; /* the latest time seen */
	struct queue *oldest, *youngest;
	uint32_t nr_queues;
	uint32_t nr_blocks;
	uint32_t nr_free_blocks;
	uint32_t bucket_mask;
	struct queue **queue_bucket;
	struct peer **peer_bucket;
	struct queue *free_queues; /* used before */
	struct peer *free_peers;
	uint32_t nr_used_queues; /* ever; what is behind was never touched */
	uint32_t nr_used_peers;
	struct queue *queues;
	struct peer *peers;
	struct block *blocks;
	uint32_t *free_blocks; /* a stack of indices */
	uint8_t datagram[MAX_LEN];
};

/* A piece of a datagram within one span, as a mask of units. */
struct piece {
	uint32_t span;
	uint64_t mask;
	uint32_t end; /* octet behind it, in the datagram */
};

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* The first piece of [off, end). */
static struct piece first_piece(uint32_t off, uint32_t end)
{
	uint32_t span = off / SPAN_LEN;
	uint32_t piece_end = min_u32(end, (span + 1) * SPAN_LEN);
	uint32_t first_unit = off % SPAN_LEN / UNIT_LEN;
	uint32_t nr_units = (piece_end - off + UNIT_LEN - 1) / UNIT_LEN;

	return (struct piece){
		.span = span,
		.mask = UINT64_MAX >> (SPAN_UNITS - nr_units) << first_unit,
		.end = piece_end,
	};
}

static void advance_clock(struct sp_reasm *reasm, uint64_t now_ns)
{
	if (now_ns > reasm->now_ns)
		reasm->now_ns = now_ns;
}

/*
 * Peers.
 */
static struct peer **peer_slot(const struct sp_reasm *reasm, uint32_t addr)
{
	struct peer **slot = &reasm->peer_bucket[sp_hash(&reasm->hash_key,
							 &addr, sizeof(addr)) &
						 reasm->bucket_mask];

	while (*slot && (*slot)->addr != addr)
		slot = &(*slot)->next;
	return slot;
}

/* There are as many peers as queues, so one is always free. */
static struct peer *peer_take(struct sp_reasm *reasm)
{
	struct peer *peer = reasm->free_peers;

	if (!peer)
		return &reasm->peers[reasm->nr_used_peers++];
	reasm->free_peers = peer->next;
	return peer;
}

static struct peer *peer_get(struct sp_reasm *reasm, uint32_t addr)
{
	struct peer **slot = peer_slot(reasm, addr);
	struct peer *peer = *slot;

	if (!peer) {
		peer = peer_take(reasm);
		*peer = (struct peer){.addr = addr};
		*slot = peer;
	}
	peer->nr_queues++;
	return peer;
}

static void peer_put(struct sp_reasm *reasm, struct peer *peer)
{
	struct peer **slot;

	if (!peer || --peer->nr_queues > 0)
		return;
	slot = peer_slot(reasm, peer->addr);
	*slot = peer->next;
	peer->next = reasm->free_peers;
	reasm->free_peers = peer;
}

/*
 * Queues.
 */
static void age_link(struct sp_reasm *reasm, struct queue *queue)
{
	if (__builtin_add_overflow(reasm->now_ns, reasm->opts.timeout_ns,
				   &queue->expiry_ns))
		queue->expiry_ns = UINT64_MAX;
	queue->younger = NULL;
	queue->older = reasm->youngest;
	if (reasm->youngest)
		reasm->youngest->younger = queue;
	else
		reasm->oldest = queue;
	reasm->youngest = queue;
}

static void age_unlink(struct sp_reasm *reasm, struct queue *queue)
{
	if (queue->older)
		queue->older->younger = queue->younger;
	else
		reasm->oldest = queue->younger;
	if (queue->younger)
		queue->younger->older = queue->older;
	else
		reasm->youngest = queue->older;
}

static void key_fill(const struct sp_reasm *reasm,
		     const struct sp_fragment *fragment, struct key *ret_key)
{
	memset(ret_key, 0, sizeof(*ret_key));
	memcpy(ret_key->addrs, fragment->addrs, reasm->opts.ipv6 ? 32 : 8);
	ret_key->id = fragment->id;
	if (!reasm->opts.ipv6)
		ret_key->protocol = fragment->protocol;
}

/* Where the queue with this key is hung up, or would be. */
static struct queue **queue_slot(const struct sp_reasm *reasm,
				 const struct key *key)
{
	uint64_t hash = sp_hash(&reasm->hash_key, key, sizeof(*key));
	struct queue **slot = &reasm->queue_bucket[hash & reasm->bucket_mask];

	while (*slot && memcmp(&(*slot)->key, key, sizeof(*key)) != 0)
		slot = &(*slot)->next;
	return slot;
}

/* Give all data back and forget what was known, but keep the queue. */
static void queue_empty(struct sp_reasm *reasm, struct queue *queue)
{
	uint32_t nr_spans = (queue->tail + SPAN_LEN - 1) / SPAN_LEN;

	for (uint32_t i = 0; i < nr_spans; i++) {
		if (queue->block[i] == 0)
			continue;
		reasm->free_blocks[reasm->nr_free_blocks++] =
			queue->block[i] - 1;
		queue->block[i] = 0;
	}
	queue->ecn_seen = 0;
	queue->has_first = false;
	queue->has_last = false;
	queue->len = 0;
	queue->filled = 0;
	queue->tail = 0;
	queue->captured = UINT32_MAX;
}

/* A free queue has no blocks, as a fresh one. */
static void queue_free(struct sp_reasm *reasm, struct queue *queue)
{
	struct queue **slot = queue_slot(reasm, &queue->key);

	*slot = queue->next;
	age_unlink(reasm, queue);
	queue_empty(reasm, queue);
	peer_put(reasm, queue->peer);
	queue->next = reasm->free_queues;
	reasm->free_queues = queue;
	reasm->nr_queues--;
}

static struct queue *queue_take(struct sp_reasm *reasm)
{
	struct queue *queue = reasm->free_queues;

	if (!queue)
		return &reasm->queues[reasm->nr_used_queues++];
	reasm->free_queues = queue->next;
	return queue;
}

static struct queue *queue_new(struct sp_reasm *reasm, const struct key *key)
{
	struct queue *queue = queue_take(reasm);
	struct queue **slot = queue_slot(reasm, key);
	uint32_t source;

	queue->key = *key;
	queue->next = NULL;
	*slot = queue;
	age_link(reasm, queue);
	queue->captured = UINT32_MAX;
	queue->peer = NULL;
	if (reasm->opts.max_distance != 0) {
		memcpy(&source, key->addrs, sizeof(source));
		queue->peer = peer_get(reasm, source);
	}
	reasm->nr_queues++;
	return queue;
}

static struct queue *queue_find(struct sp_reasm *reasm,
				const struct sp_fragment *fragment,
				uint32_t *nr_evicted)
{
	struct key key;
	struct queue *queue;

	key_fill(reasm, fragment, &key);
	queue = *queue_slot(reasm, &key);
	if (queue)
		return queue;
	if (reasm->nr_queues == reasm->opts.max_queues) {
		queue_free(reasm, reasm->oldest);
		++*nr_evicted;
	}
	return queue_new(reasm, &key);
}

/* Whether too many fragments of the source came since the last one of ours. */
static bool queue_too_far(const struct sp_reasm *reasm, struct queue *queue)
{
	uint32_t distance;

	if (!queue->peer)
		return false;
	distance = ++queue->peer->nr_fragments - queue->last_fragment;
	queue->last_fragment = queue->peer->nr_fragments;
	return queue->tail != 0 && distance > reasm->opts.max_distance;
}

/*
 * Data.
 */
enum place {
	PLACE_FREE,    /* nothing is there */
	PLACE_INSIDE,  /* inside one run */
	PLACE_OVERLAP, /* anything else */
};

static enum place find_place(const struct sp_reasm *reasm,
			     const struct queue *queue, uint32_t off,
			     uint32_t end)
{
	uint64_t start_bit = UINT64_C(1) << (off % SPAN_LEN / UNIT_LEN);
	bool some = false, all = true, split = false;

	while (off < end) {
		struct piece piece = first_piece(off, end);
		uint32_t idx = queue->block[piece.span];
		uint64_t there = 0;

		if (idx != 0) {
			const struct block *block = &reasm->blocks[idx - 1];

			there = block->there & piece.mask;
			if (block->starts & piece.mask & ~start_bit)
				split = true;
		}
		some |= there != 0;
		all &= there == piece.mask;
		start_bit = 0; /* a run may start where the fragment does */
		off = piece.end;
	}
	if (!some)
		return PLACE_FREE;
	return all && !split ? PLACE_INSIDE : PLACE_OVERLAP;
}

static uint32_t count_missing_blocks(const struct queue *queue, uint32_t off,
				     uint32_t end)
{
	uint32_t nr = 0;

	for (uint32_t i = off / SPAN_LEN; i <= (end - 1) / SPAN_LEN; i++)
		nr += queue->block[i] == 0;
	return nr;
}

/* The arena holds any one datagram, so that this ends. */
static void make_room(struct sp_reasm *reasm, const struct queue *queue,
		      uint32_t nr_blocks, uint32_t *nr_evicted)
{
	while (reasm->nr_free_blocks < nr_blocks) {
		struct queue *victim = reasm->oldest;

		if (victim == queue)
			victim = victim->younger;
		queue_free(reasm, victim);
		++*nr_evicted;
	}
}

static struct block *block_at(struct sp_reasm *reasm, struct queue *queue,
			      uint32_t span)
{
	uint32_t idx;
	struct block *block;

	if (queue->block[span] != 0)
		return &reasm->blocks[queue->block[span] - 1];
	idx = reasm->free_blocks[--reasm->nr_free_blocks];
	queue->block[span] = idx + 1;
	block = &reasm->blocks[idx];
	block->there = 0;
	block->starts = 0;
	return block;
}

/* Fill [off, end), where nothing is yet; @cap_len octets of it are known. */
static void store(struct sp_reasm *reasm, struct queue *queue, uint32_t off,
		  uint32_t end, const uint8_t *data, uint32_t cap_len)
{
	uint32_t cap_end = off + cap_len;
	bool starts_run = queue->tail == 0 || off != queue->tail;

	if (cap_end < end && cap_end < queue->captured)
		queue->captured = cap_end;
	queue->filled += end - off;
	if (end > queue->tail)
		queue->tail = end;
	while (off < end) {
		struct piece piece = first_piece(off, end);
		struct block *block = block_at(reasm, queue, piece.span);

		block->there |= piece.mask;
		if (starts_run)
			block->starts |= piece.mask & -piece.mask;
		starts_run = false;
		if (off < cap_end) {
			uint32_t len = min_u32(piece.end, cap_end) - off;

			memcpy(block->data + off % SPAN_LEN, data, len);
			data += len;
		}
		off = piece.end;
	}
}

/*
 * Settle where the fragment ends, and what it says of the datagram's end, also
 * when it turns out to be a duplicate.
 */
static bool settle_end(struct queue *queue, const struct sp_fragment *fragment,
		       uint32_t *ret_end)
{
	uint32_t end = fragment->off + fragment->len;

	if (!fragment->more) {
		if (end < queue->len || (queue->has_last && end != queue->len))
			return false;
		queue->has_last = true;
		queue->len = end;
	} else {
		end -= end % UNIT_LEN;
		if (end > queue->len) {
			if (queue->has_last)
				return false;
			queue->len = end;
		}
	}
	*ret_end = end;
	return end != fragment->off;
}

/* RFC 3168 5.3: CE survives, and Not-ECT beside any other mark does not. */
static bool join_ecn(const struct queue *queue, uint8_t *ret_ecn)
{
	uint8_t others = queue->ecn_seen & (uint8_t)~SEEN_NOT_ECT;

	if ((queue->ecn_seen & SEEN_NOT_ECT) && others)
		return false;
	*ret_ecn = queue->ecn_seen & SEEN_CE ? ECN_CE : queue->ecn;
	return true;
}

static enum sp_reasm_verdict join(struct sp_reasm *reasm,
				  const struct queue *queue,
				  struct sp_datagram *ret_datagram)
{
	uint32_t cap_len = min_u32(queue->captured, queue->len);
	uint8_t ecn;

	if (!join_ecn(queue, &ecn) || queue->head_len + queue->len > MAX_LEN)
		return SP_REASM_BAD;
	for (uint32_t off = 0; off < cap_len; off += SPAN_LEN)
		memcpy(reasm->datagram + off,
		       reasm->blocks[queue->block[off / SPAN_LEN] - 1].data,
		       min_u32(SPAN_LEN, cap_len - off));
	*ret_datagram = (struct sp_datagram){
		.data = reasm->datagram,
		.len = queue->len,
		.cap_len = cap_len,
		.protocol = queue->protocol,
		.ecn = ecn,
		.user = queue->user,
	};
	return SP_REASM_WHOLE;
}

static void note_first(struct queue *queue, const struct sp_fragment *fragment)
{
	queue->has_first = true;
	queue->user = fragment->user;
	queue->head_len = fragment->head_len;
	queue->protocol = fragment->protocol;
	queue->ecn = fragment->ecn;
}

static enum sp_reasm_verdict queue_add(struct sp_reasm *reasm,
				       struct queue *queue,
				       const struct sp_fragment *fragment,
				       struct sp_reasm_result *result)
{
	uint32_t off = fragment->off;
	uint32_t end;

	if (!settle_end(queue, fragment, &end))
		return SP_REASM_BAD;
	switch (find_place(reasm, queue, off, end)) {
	case PLACE_INSIDE:
		return SP_REASM_HELD;
	case PLACE_OVERLAP:
		return SP_REASM_OVERLAP;
	case PLACE_FREE:
		break;
	}
	make_room(reasm, queue, count_missing_blocks(queue, off, end),
		  &result->nr_evicted);
	store(reasm, queue, off, end, fragment->data,
	      min_u32(fragment->cap_len, end - off));
	queue->ecn_seen |= (uint8_t)(1u << (fragment->ecn & 3));
	if (off == 0)
		note_first(queue, fragment);
	if (queue->has_first && queue->has_last && queue->filled == queue->len)
		return join(reasm, queue, &result->datagram);
	return SP_REASM_HELD;
}

void sp_reasm_add(struct sp_reasm *reasm, const struct sp_fragment *fragment,
		  struct sp_reasm_result *ret_result)
{
	struct queue *queue;

	assert(fragment->off <= MAX_OFF && fragment->off % UNIT_LEN == 0);
	assert(fragment->len <= MAX_LEN);
	assert(fragment->cap_len <= fragment->len);
	*ret_result = (struct sp_reasm_result){.verdict = SP_REASM_HELD};
	advance_clock(reasm, fragment->time_ns);
	queue = queue_find(reasm, fragment, &ret_result->nr_evicted);
	if (queue_too_far(reasm, queue)) {
		ret_result->restarted = true;
		queue_empty(reasm, queue);
		age_unlink(reasm, queue);
		age_link(reasm, queue);
	}
	ret_result->verdict = queue_add(reasm, queue, fragment, ret_result);
	if (ret_result->verdict != SP_REASM_HELD)
		queue_free(reasm, queue);
}

uint32_t sp_reasm_touch(struct sp_reasm *reasm,
			const struct sp_fragment *fragment)
{
	uint32_t nr_evicted = 0;

	advance_clock(reasm, fragment->time_ns);
	queue_find(reasm, fragment, &nr_evicted);
	return nr_evicted;
}

bool sp_reasm_expire(struct sp_reasm *reasm, uint64_t now_ns,
		     struct sp_reasm_expired *ret_expired)
{
	struct queue *queue = reasm->oldest;

	advance_clock(reasm, now_ns);
	if (!queue || reasm->now_ns < queue->expiry_ns)
		return false;
	*ret_expired = (struct sp_reasm_expired){
		.has_first = queue->has_first,
		.user = queue->has_first ? queue->user : 0,
	};
	queue_free(reasm, queue);
	return true;
}

uint64_t sp_reasm_next_expiry_ns(const struct sp_reasm *reasm)
{
	return reasm->oldest ? reasm->oldest->expiry_ns : UINT64_MAX;
}

void sp_reasm_held(const struct sp_reasm *reasm, uint32_t *ret_queues,
		   uint32_t *ret_bytes)
{
	*ret_queues = reasm->nr_queues;
	*ret_bytes = (reasm->nr_blocks - reasm->nr_free_blocks) * SPAN_LEN;
}

/*
 * The table.
 */
static uint32_t buckets_for(uint32_t nr_queues)
{
	uint32_t nr = 1;

	while (nr < nr_queues)
		nr *= 2;
	return nr;
}

static uint32_t blocks_for(uint32_t max_bytes)
{
	return max_bytes / SPAN_LEN > NR_SPANS ? max_bytes / SPAN_LEN
					       : NR_SPANS;
}

/* What calloc() gives is not written to, so that it costs memory when used. */
static int allocate(struct sp_reasm *reasm)
{
	size_t nr_queues = reasm->opts.max_queues;
	size_t nr_buckets = (size_t)reasm->bucket_mask + 1;

	reasm->queue_bucket = calloc(nr_buckets, sizeof(*reasm->queue_bucket));
	reasm->peer_bucket = calloc(nr_buckets, sizeof(*reasm->peer_bucket));
	reasm->queues = calloc(nr_queues, sizeof(*reasm->queues));
	reasm->peers = calloc(nr_queues, sizeof(*reasm->peers));
	reasm->blocks = calloc(reasm->nr_blocks, sizeof(*reasm->blocks));
	reasm->free_blocks =
		calloc(reasm->nr_blocks, sizeof(*reasm->free_blocks));
	if (!reasm->queue_bucket || !reasm->peer_bucket || !reasm->queues ||
	    !reasm->peers || !reasm->blocks || !reasm->free_blocks)
		return -ENOMEM;
	return 0;
}

static void fill_free_blocks(struct sp_reasm *reasm)
{
	for (uint32_t i = reasm->nr_blocks; i-- > 0;)
		reasm->free_blocks[reasm->nr_free_blocks++] = i;
}

int sp_reasm_create(const struct sp_reasm_opts *opts,
		    struct sp_reasm **ret_reasm)
{
	struct sp_reasm *reasm;
	int err;

	if (opts->max_queues == 0 || opts->max_queues > MAX_QUEUES)
		return -EINVAL;
	reasm = calloc(1, sizeof(*reasm));
	if (!reasm)
		return -ENOMEM;
	reasm->opts = *opts;
	if (opts->ipv6)
		reasm->opts.max_distance = 0;
	reasm->nr_blocks = blocks_for(opts->max_bytes);
	reasm->bucket_mask = buckets_for(opts->max_queues) - 1;
	err = allocate(reasm);
	if (err)
		goto fail;
	sp_hash_key_init(&reasm->hash_key);
	fill_free_blocks(reasm);
	*ret_reasm = reasm;
	return 0;

fail:
	sp_reasm_destroy(reasm);
	return err;
}

void sp_reasm_destroy(struct sp_reasm *reasm)
{
	if (!reasm)
		return;
	free(reasm->queue_bucket);
	free(reasm->peer_bucket);
	free(reasm->queues);
	free(reasm->peers);
	free(reasm->blocks);
	free(reasm->free_blocks);
	free(reasm);
}
