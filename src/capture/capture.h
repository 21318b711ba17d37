/* SPDX-License-Identifier: MIT */
/*
 * capture/capture.h - the frames of a capture, in order.
 *
 * pcap and pcapng, from a file, a pipe or standard input, each also in gzip.
 * Only link types that the library understands. Every byte is hostile: damage
 * is an error with a place, and all frames before it are returned first.
 *
 * A capture belongs to one thread at a time.
 */
#ifndef SP_CAPTURE_CAPTURE_H
#define SP_CAPTURE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <statplane/frame.h>

#include "capture/fault.h"

/* As many frames as make a good vector. */
#define SP_CAPTURE_VECTOR 64

struct sp_capture;

struct sp_capture_opts {
	const char *path; /* "-": standard input; NULL: read @fd */
	int fd;           /* stays the caller's */
	int wake_fd;      /* readable: stop waiting for bytes; or -1 */
	bool use_libpcap; /* also for what our own reader can read */
};

/**
 * sp_capture_open() - begin to read a capture
 * @opts: borrowed for the call
 * @ret_fault: set on failure
 *
 * Waits for the first bytes of a pipe.
 *
 * Return: 0; -errno of open(2) and read(2); -EBADMSG if it is no capture;
 * -EPROTONOSUPPORT for a link type that is not understood; -EINTR when woken;
 * -ENOMEM.
 */
int sp_capture_open(const struct sp_capture_opts *opts,
		    struct sp_capture_fault *ret_fault,
		    struct sp_capture **ret_capture);
void sp_capture_close(struct sp_capture *capture);

/**
 * sp_capture_next() - the next frames, as many as are at hand
 * @frames: @max places; the data are valid until the next call
 *
 * Frames that say they were longer in the file than on the wire get the larger
 * length for both.
 *
 * Return: how many, at most @max; 0 at the end; -errno, described by
 * sp_capture_fault(); -EINTR when woken.
 */
int sp_capture_next(struct sp_capture *capture, struct sp_frame *frames,
		    size_t max);

/* Valid until the capture is closed. */
const struct sp_capture_fault *
sp_capture_fault(const struct sp_capture *capture);

/* LINKTYPE_ of all frames; SP_LINKTYPE_RAW for all numbers of raw IP. */
uint32_t sp_capture_linktype(const struct sp_capture *capture);

/* Can it be read again from the start? False for a pipe. */
bool sp_capture_is_file(const struct sp_capture *capture);

/* For a progress report: bytes of the file read, and all; 0 if unknown. */
struct sp_capture_position {
	uint64_t done_bytes, all_bytes;
};
struct sp_capture_position
sp_capture_position(const struct sp_capture *capture);

/* A name for a link type, such as "Ethernet"; never NULL. */
const char *sp_capture_linktype_name(uint32_t linktype);

#endif
