/* SPDX-License-Identifier: MIT */
/*
 * plane/life.h - does the writer of a segment still run?
 *
 * A header is untrusted here; judging it reads it once and has no side effect.
 */
#ifndef SP_PLANE_LIFE_H
#define SP_PLANE_LIFE_H

#include <stdbool.h>

#include "plane/layout.h"

/* A writer whose pid cannot be looked up is dead without a sign for so long. */
#define SP_LIFE_TIMEOUT_NS 5000000000ull

/* Name this process as the writer. /proc may be missing: then 0. */
void sp_life_sign(struct sp_plane_hdr *hdr);

/**
 * sp_life_lock() - hold the lock that ends with the writer
 *
 * An open-file-description lock on the first byte; the kernel drops it when the
 * last process that has the descriptor is gone. It lets processes of other pid
 * namespaces see a death at once. Some file systems have no such locks: then
 * the heartbeat must do.
 */
void sp_life_lock(int fd);

/**
 * sp_life_writer_runs() - judge the writer that @hdr names
 * @fd: the segment, from an open(2) of the caller's own
 *
 * Not asked: hdr.state. In this order:
 *   another boot                     no
 *   pids can be compared             as /proc says: no for a pid that is gone,
 *                                    yes for pid and start time; for another
 *                                    start time the life lock decides
 *   somebody holds the life lock     yes
 *   birth or heartbeat is young      yes, if younger than SP_LIFE_TIMEOUT_NS
 */
bool sp_life_writer_runs(int fd, const struct sp_plane_hdr *hdr);

#endif
