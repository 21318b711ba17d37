/* SPDX-License-Identifier: MIT */
/*
 * statplane/percpu.h - per-CPU memory inside a plane.
 *
 * A per-CPU pointer (sp_percpu_t) is an offset that is valid in every unit. A
 * unit is the copy of one CPU, or of one lane. Two ways to own a unit:
 *
 *   this CPU   any thread, at any time: sp_percpu_add(). Exact under migration,
 *              preemption and signals. Safe in signal handlers.
 *   lane       a thread claims a unit for itself: sp_lane_add(), a plain add.
 *              For poll-mode workers. Not safe in signal handlers of the thread
 *              that owns the lane.
 *
 * A reader sums all units: sp_percpu_read(), sp_percpu_fold().
 *
 * When not to use it: for a value that is read more often than it is written.
 */
#ifndef STATPLANE_PERCPU_H
#define STATPLANE_PERCPU_H

#include <stddef.h>
#include <stdint.h>

#include <statplane/export.h>
#include <statplane/plane.h>

SP_BEGIN_DECLS

/* Byte offset of an object in every unit; 0 is no object. */
typedef uint64_t sp_percpu_t;

/* Sizes and alignments that can be asked for. */
#define SP_PERCPU_MAX_SIZE (1024u * 1024u)
#define SP_PERCPU_MAX_ALIGN 4096u

/**
 * sp_percpu_alloc() - allocate zeroed per-CPU memory
 * @size:  bytes in every unit, 1 to SP_PERCPU_MAX_SIZE; rounded up to 8
 * @align: a power of two, at most SP_PERCPU_MAX_ALIGN; raised to 8. Use 16 for
 *         an object that holds pairs.
 * @ret_off: the offset
 *
 * Return: 0; -EINVAL for a size or alignment out of range; -ENOSPC if the plane
 * or the file system is full (counted, see sp_percpu_read_stats()).
 *
 * Context: any thread; takes the allocator's lock; may call fallocate(2).
 */
SP_API int sp_percpu_alloc(struct sp_plane *plane, size_t size, size_t align,
			   sp_percpu_t *ret_off);

/**
 * sp_percpu_alloc_bulk() - allocate @nr objects of one size, all or none
 * @ret_off: array of @nr offsets, untouched on failure
 *
 * Return and context: as sp_percpu_alloc().
 */
SP_API int sp_percpu_alloc_bulk(struct sp_plane *plane, size_t size,
				size_t align, size_t nr, sp_percpu_t *ret_off);

/**
 * sp_percpu_free() - give an object back
 * @off:  from sp_percpu_alloc(), or 0
 * @size: the size that was asked for
 *
 * No thread may add to the object any more; its cells read as zero when they
 * are allocated again.
 *
 * Context: any thread; takes the allocator's lock.
 */
SP_API void sp_percpu_free(struct sp_plane *plane, sp_percpu_t off,
			   size_t size);

/**
 * sp_percpu_read() - sum one cell over all units
 *
 * Return: a total that was reached between call and return, modulo 2^64.
 *
 * Context: any thread; one cache miss for each unit that was ever written.
 */
SP_API uint64_t sp_percpu_read(const struct sp_plane *plane, sp_percpu_t off);

/**
 * sp_percpu_fold() - sum @nr cells over all units, unit by unit
 * @sum: @nr totals; each as sp_percpu_read(), together no snapshot
 *
 * Context: any thread; allocates nothing.
 */
SP_API void sp_percpu_fold(const struct sp_plane *plane, sp_percpu_t off,
			   size_t nr, uint64_t *sum);

/* Two counters that change together: packets and bytes. 16-byte aligned. */
struct sp_pair {
	uint64_t packets;
	uint64_t bytes;
} __attribute__((aligned(16)));

/**
 * sp_pair_read() - sum a pair over all units
 * @off: 16-byte aligned
 *
 * Every unit's pair is read whole: bytes of a packet are in the total exactly
 * if the packet is. One 16-byte load where the CPU promises that it is one
 * access (x86-64 with AVX, aarch64 with LSE2); elsewhere packets, bytes and
 * packets again until the two agree, at most a thousand times.
 *
 * Context: any thread; one cache miss for each unit that was ever written.
 */
SP_API struct sp_pair sp_pair_read(const struct sp_plane *plane,
				   sp_percpu_t off);

/*
 * How this-CPU adds are made; chosen when the first plane is created. It says
 * what the process can do: a thread that has no rseq area of its own adds to
 * the shared unit with a lock, and an object compiled without the fast path
 * takes the library's.
 */
enum sp_percpu_mode {
	SP_PERCPU_RSEQ,     /* CPU id of the rseq area; x86-64: a restartable
			     * sequence and no lock; aarch64: an LSE add */
	SP_PERCPU_FALLBACK, /* sched_getcpu() and a locked add */
};

SP_API enum sp_percpu_mode sp_percpu_mode(void);

/* State of the allocator, for tests, reports and operators. */
struct sp_percpu_stats {
	uint64_t unit_size;      /* bytes that can be allocated, each unit */
	uint64_t nr_units;       /* units there are */
	uint64_t nr_written;     /* units ever written */
	uint64_t nr_alloc;       /* allocations made */
	uint64_t nr_dealloc;     /* objects given back */
	uint64_t nr_failed;      /* allocations refused for want of space */
	uint64_t used_bytes;     /* bytes of live objects, each unit */
	uint64_t populated_bytes; /* bytes backed by memory, each written unit */
	uint64_t nr_overflow;    /* adds that went to the shared unit: of threads
				  * without an rseq area, of CPUs beyond
				  * nr_cpus or without memory for a unit, or
				  * interrupted again and again */
};

SP_API void sp_percpu_read_stats(const struct sp_plane *plane,
			    struct sp_percpu_stats *ret_stats);

/**
 * struct sp_lane - a unit that one thread owns
 *
 * The caller's memory; the fields are for the inline functions only.
 */
struct sp_lane {
	char *base;
	char *pair_base; /* NULL where a 16-byte store is not one access */
	struct sp_plane *plane;
	uint32_t unit;
};

/**
 * sp_lane_claim() - own a unit until sp_lane_release()
 *
 * Return: 0; -EAGAIN if all lanes are taken; -ENOSPC if its memory cannot be
 * had.
 *
 * Context: any thread. The lane may be handed to another thread as any object
 * may, but only one at a time adds to it.
 */
SP_API int sp_lane_claim(struct sp_plane *plane, struct sp_lane *ret_lane);
SP_API void sp_lane_release(struct sp_lane *lane);

SP_END_DECLS

#include <statplane/percpu_inline.h>

#endif
