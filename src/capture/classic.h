/* SPDX-License-Identifier: MIT */
/*
 * capture/classic.h - our reader of pcap files of version 2.4.
 *
 * The fast path. Microseconds and nanoseconds, both byte orders. It takes and
 * refuses exactly what libpcap does, which the unit tests and a fuzzer check;
 * every other version and format is left to libpcap.
 */
#ifndef SP_CAPTURE_CLASSIC_H
#define SP_CAPTURE_CLASSIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <statplane/frame.h>

#include "capture/source.h"

/* Larger packets are damage (libpcap's limit for the link types we know). */
#define SP_CLASSIC_MAX_CAPLEN (256 * 1024)

struct sp_classic {
	struct sp_source *source;
	uint8_t *buf;
	size_t pos, end;  /* unread bytes of @buf */
	uint64_t buf_off; /* of buf[0] in the uncompressed file */
	uint64_t nr;      /* packets returned */
	uint32_t linktype;
	uint32_t snaplen;
	bool swapped; /* the other byte order */
	bool nanoseconds;
	bool eof;
};

/* Does a file that starts with @head belong to this reader? */
bool sp_classic_knows(const uint8_t *head, size_t len);

/**
 * sp_classic_init() - read the file header
 *
 * Return: 0; -errno with the source's fault set; -EINTR when woken; then too
 * nothing is left to be cleaned up.
 */
int sp_classic_init(struct sp_classic *classic, struct sp_source *source);
void sp_classic_fini(struct sp_classic *classic);

/**
 * sp_classic_next() - up to @max frames, valid until the next call
 *
 * Return: how many; 0 at the end; -errno and -EINTR as sp_classic_init().
 */
int sp_classic_next(struct sp_classic *classic, struct sp_frame *frames,
		    size_t max);

#endif
