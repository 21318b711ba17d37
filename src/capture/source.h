/* SPDX-License-Identifier: MIT */
/*
 * capture/source.h - the bytes of a capture: a file, a pipe, either in gzip.
 *
 * Files are read by pread(2) and never mapped: a file that shrinks while it is
 * read is then a short file, not a SIGBUS. It is also the fastest way: 346 MB
 * in the page cache take 35 ms in pieces of 512 KiB, which stay in the second
 * level cache, and 90 ms through a mapping, populated ahead or not.
 *
 * Everything else is waited for with poll(2), together with a descriptor that
 * ends the waiting.
 */
#ifndef SP_CAPTURE_SOURCE_H
#define SP_CAPTURE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/fault.h"

/* Enough for every magic number that is looked for. */
#define SP_SOURCE_HEAD 8

struct sp_gunzip;

struct sp_source {
	int fd;
	int wake_fd; /* readable: stop waiting; or -1 */
	bool owned;  /* @fd is closed with the source */
	bool seekable;
	uint64_t off;  /* raw bytes read; in a file, where to go on */
	uint64_t size; /* raw bytes there were at the start, 0 if unknown */
	struct sp_gunzip *gunzip;
	uint8_t head[SP_SOURCE_HEAD]; /* read ahead */
	size_t head_off, head_len;    /* what of it nobody has taken yet */
	struct sp_capture_fault *fault;
};

/**
 * sp_source_open() - begin to read @path, or @fd if @path is NULL
 * @path: borrowed; "-" is standard input
 * @fd: stays the caller's
 * @fault: outlives the source
 *
 * A FIFO without a writer is no error: reading waits for one.
 *
 * Return: 0, or -errno with @fault set.
 */
int sp_source_open(struct sp_source *source, const char *path, int fd,
		   int wake_fd, struct sp_capture_fault *fault);
void sp_source_close(struct sp_source *source);

/**
 * sp_source_read() - the next bytes, uncompressed
 *
 * Return: bytes read, at least 1; 0 at the end; -errno with the fault set;
 * -EINTR when woken, after which reading may go on.
 */
ssize_t sp_source_read(struct sp_source *source, void *bytes, size_t len);

/* The same before decompression. */
ssize_t sp_source_read_raw(struct sp_source *source, void *bytes, size_t len);

/**
 * sp_source_peek() - the first bytes, which stay to be read
 *
 * Only before the first sp_source_read().
 *
 * Return: how many there are, less than SP_SOURCE_HEAD only if the source ends
 * before; -errno as sp_source_read().
 */
ssize_t sp_source_peek(struct sp_source *source, const uint8_t **ret_head);

#endif
