/* SPDX-License-Identifier: MIT */
/*
 * statplane/plane.h - the shared-memory segment that holds all statistics.
 *
 * One process creates a plane and writes it with any number of threads. Any
 * other process may read it (statplane/reader.h), while the writer runs and
 * after it has exited or crashed. A plane is a tmpfs file, or an anonymous
 * memfd that only this process and its children can reach.
 *
 * The process that created a plane is its writer: after a fork(2) only the
 * parent may go on writing. A program that turns itself into a daemon creates
 * its planes afterwards.
 *
 * When not to use it: for one counter in one thread that nobody else reads.
 *
 * Errors are negative errno values; outputs stay untouched on failure. The
 * library never logs, prints, exits or reads the environment.
 */
#ifndef STATPLANE_PLANE_H
#define STATPLANE_PLANE_H

#include <stddef.h>
#include <stdint.h>

#include <statplane/export.h>

SP_BEGIN_DECLS

struct sp_plane;
struct sp_percpu;

/* Where `statplane` looks for planes when it is told a name, not a path. */
#define SP_PLANE_DIR    "/dev/shm"
#define SP_PLANE_PREFIX "statplane-"

/**
 * struct sp_plane_opts - how to create a plane; zero means the default
 * @sz:         sizeof(struct sp_plane_opts) of the caller, so that it can grow
 * @path:       file to create, on a tmpfs; NULL for an anonymous memfd
 * @program:    name shown to readers, NULL for "statplane"; at most 31 bytes,
 *              no control characters
 * @mode:       permission bits of the file, whatever the umask (default 0640)
 * @nr_cpus:    units for this-CPU adds, indexed by cpu id (default: the number
 *              of possible CPUs)
 * @nr_lanes:   units that threads may claim as lanes (default 64)
 * @unit_bytes: the most per-CPU bytes that can ever be allocated, each unit
 *              (default 64 MiB, at most 1 TiB; only what is used costs
 *              memory)
 * @nr_objects: the most named objects at one time (default 65536, at most
 *              2^24)
 * @blob_bytes: the most bytes of item names and help texts (default 4 MiB)
 * @table_bytes: address space for tables (statplane/table.h), each of which
 *              takes what its most entries would need (default 32 GiB, at most
 *              16 TiB; only what is used costs memory)
 */
struct sp_plane_opts {
	size_t sz;
	const char *path;
	const char *program;
	uint32_t mode;
	uint32_t nr_cpus;
	uint32_t nr_lanes;
	uint32_t nr_objects;
	uint64_t unit_bytes;
	uint64_t blob_bytes;
	uint64_t table_bytes;
};

/**
 * sp_plane_create() - make a plane and become its writer
 * @opts: options, borrowed for the call; NULL for all defaults
 * @ret_plane: the plane; give it back with sp_plane_close()
 *
 * The file appears under its name only when it is complete. A plane that a dead
 * or finished writer left under the name is replaced; its readers keep the old
 * one. Of several that race for a name one wins. Units and lanes together are
 * at most 4095.
 *
 * Return: 0; -EBUSY if a live process writes a plane of that name, or is just
 * taking it; -EEXIST if something that is no plane of this version has the
 * name; -EINVAL for options out of range; -ENOSPC or -ENOMEM if the file system
 * or the address space has no room; -EFBIG beyond the limit on file sizes; any
 * errno of open(2), ftruncate(2), mmap(2), rename(2).
 *
 * Context: any thread; may block on the file system.
 */
SP_API int sp_plane_create(const struct sp_plane_opts *opts,
			   struct sp_plane **ret_plane);

/**
 * sp_plane_close() - mark the plane cleanly closed and give it up
 * @plane: the plane, or NULL
 *
 * The file stays, so that what was counted can still be read; remove it with
 * unlink(2). All lanes must have been released and no thread may add any more.
 *
 * Context: any thread, once.
 */
SP_API void sp_plane_close(struct sp_plane *plane);

/**
 * sp_plane_heartbeat() - tell readers that the writer is alive
 *
 * Needed only where readers can neither compare process ids (another pid
 * namespace) nor see the writer's lock (file systems without open-file-
 * description locks, or a descriptor that was passed on); once a second is
 * enough, and 5 seconds of silence mean that the writer is gone.
 *
 * Context: any thread; one store.
 */
SP_API void sp_plane_heartbeat(struct sp_plane *plane);

/**
 * sp_plane_percpu() - the handle that the inline add functions take
 *
 * Return: valid until sp_plane_close(). Never fails.
 */
SP_API const struct sp_percpu *sp_plane_percpu(const struct sp_plane *plane);

/**
 * sp_plane_fd() - the file descriptor of the segment
 *
 * Return: owned by the plane; pass a duplicate to sp_reader_attach_fd() of
 * another process to share an anonymous plane.
 */
SP_API int sp_plane_fd(const struct sp_plane *plane);

SP_END_DECLS

#endif
