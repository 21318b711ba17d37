/* SPDX-License-Identifier: MIT */
/*
 * statplane/reader.h - read a plane, from any process, live or after a crash.
 *
 * A reader maps the segment read-only and trusts nothing in it: every offset
 * is checked against the mapped length, every retry is bounded. It never waits
 * for the writer and never changes what the writer sees. A row that keeps
 * changing under it, or cannot be true, is reported as unstable and counted.
 *
 * The owner of a plane's file is trusted with one thing: not to truncate it
 * while it is mapped, and not to claim memory that a full file system does not
 * have. Truncation is looked for when a walk begins; one that happens during a
 * walk raises SIGBUS, as for any mapped file. Anonymous planes are sealed
 * against it.
 *
 * A reader belongs to one thread at a time.
 */
#ifndef STATPLANE_READER_H
#define STATPLANE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <statplane/export.h>
#include <statplane/mib.h>
#include <statplane/plane.h>

SP_BEGIN_DECLS

struct sp_reader;

/**
 * sp_reader_attach() - map the plane at @path
 *
 * Return: 0; -ENOENT and other errno of open(2) and mmap(2); -EBADMSG if it is
 * no plane or its header contradicts itself; -EPROTO if it needs a feature, a
 * major version or a byte order that this library lacks; -EAGAIN if the writer
 * has not finished creating it; -ENOMEM. A plane of a newer minor version or of
 * another page size is fine.
 */
SP_API int sp_reader_attach(const char *path, struct sp_reader **ret_reader);
/* The same from a descriptor, which stays the caller's. */
SP_API int sp_reader_attach_fd(int fd, struct sp_reader **ret_reader);
/* NULL is fine. */
SP_API void sp_reader_detach(struct sp_reader *reader);

enum sp_plane_state {
	SP_PLANE_LIVE,      /* its writer runs */
	SP_PLANE_CLEAN,     /* its writer closed it */
	SP_PLANE_ABANDONED, /* its writer is gone without closing it */
};

/**
 * sp_reader_state() - what has become of the writer
 *
 * Where pids can be compared (the same boot and pid namespace), /proc decides by
 * the writer's pid and its start time. Elsewhere the writer is taken for alive
 * while its lock on the file is held, or for 5 seconds after its last sign of
 * life (sp_plane_heartbeat()). A plane whose file was truncated is abandoned.
 *
 * Context: a few system calls.
 */
SP_API enum sp_plane_state sp_reader_state(const struct sp_reader *reader);

struct sp_plane_info {
	char program[32];
	uint8_t uuid[16];
	uint16_t version_major, version_minor;
	uint32_t pid;
	uint64_t birth_realtime_ns;
	uint64_t heartbeat_realtime_ns; /* last sign of life, 0 for none */
	uint32_t nr_cpus, nr_lanes; /* units: overflow, then CPUs, then lanes */
	uint32_t nr_units;
	uint32_t nr_units_written;
	uint64_t unit_stride;     /* bytes from unit to unit */
	uint64_t unit_used_bytes; /* populated in each written unit */
	uint64_t nr_objects;      /* live directory entries */
	uint64_t max_objects;
	uint64_t mapped_bytes;
	uint32_t percpu_mode; /* enum sp_percpu_mode */
	uint64_t nr_unstable; /* reads this reader gave up */
};

SP_API void sp_reader_info(const struct sp_reader *reader,
			   struct sp_plane_info *ret_info);

enum sp_object_type {
	SP_OBJECT_NONE,
	SP_OBJECT_SCHEMA, /* names and help of a MIB's cells */
	SP_OBJECT_MIB,    /* a group that a program declared */
	SP_OBJECT_NETNS,  /* a network namespace */
	SP_OBJECT_NETDEV, /* a device; its parent is a namespace */
	SP_OBJECT_TABLE,  /* rows found by key: statplane/table.h */
};

#define SP_OBJECT_NAME_MAX 63
#define SP_OBJECT_NR_ATTRS 8

/* A copy of one directory entry. */
struct sp_object {
	uint64_t id;     /* slot and incarnation; never used twice */
	uint64_t parent; /* id, or 0 */
	uint64_t schema; /* id of a SP_OBJECT_SCHEMA, or 0 */
	enum sp_object_type type;
	sp_percpu_t cells_off; /* its cells in every unit */
	uint32_t nr_cells;
	uint64_t blob_off; /* a schema's text in the blob section */
	uint64_t blob_bytes;
	uint64_t
		attr[SP_OBJECT_NR_ATTRS]; /* meaning by type: statplane/net.h */
	char name[SP_OBJECT_NAME_MAX + 1];
};

/**
 * sp_reader_next() - the live object after *@cursor in directory order
 * @cursor: 0 to start; moved on
 *
 * An object that lives through the whole walk is returned once; one that comes
 * or goes meanwhile, at most once.
 *
 * Return: 0; -ENOENT at the end; -EAGAIN for an entry that changed all the
 * time or cannot be true (skipped; the cursor has moved on; counted); -EBADMSG
 * at the start of a walk if the file was truncated.
 */
SP_API int sp_reader_next(struct sp_reader *reader, uint64_t *cursor,
			  struct sp_object *ret_object);
/* The object with this id; -ENOENT if it is gone, others as above. */
SP_API int sp_reader_get(struct sp_reader *reader, uint64_t id,
			 struct sp_object *ret_object);
/*
 * The first object of a type and name under a parent (0: any parent). -ENOENT
 * if there is none; -EAGAIN if it may be one that could not be read.
 */
SP_API int sp_reader_find(struct sp_reader *reader, enum sp_object_type type,
			  uint64_t parent, const char *name,
			  struct sp_object *ret_object);

/**
 * sp_reader_fold() - sum @nr cells of @object from @cell_idx over all units
 *
 * Return: 0; -EINVAL if the cells are not inside the object; -ESTALE if the
 * object went away before or during the fold (the sums are then void).
 *
 * Context: allocates nothing; skips units that were never written.
 */
SP_API int sp_reader_fold(struct sp_reader *reader,
			  const struct sp_object *object, size_t cell_idx,
			  size_t nr, uint64_t *sum);
/* The same cells of one unit; zeros and -ENODATA if it was never written. */
SP_API int sp_reader_unit(struct sp_reader *reader,
			  const struct sp_object *object, uint32_t unit,
			  size_t cell_idx, size_t nr, uint64_t *cells);

/**
 * sp_reader_blob() - @bytes of the blob section from @off
 *
 * Return: a pointer into the mapping, NULL if any byte lies outside. The blob
 * section is append-only: what a live schema names does not change, but a
 * hostile writer may change it; parse with care.
 */
SP_API const void *sp_reader_blob(const struct sp_reader *reader, uint64_t off,
				  uint64_t bytes);

SP_END_DECLS

#endif
