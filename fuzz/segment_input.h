/* SPDX-License-Identifier: MIT */
/*
 * fuzz/segment_input.h - how a sparse segment is packed into a fuzz input.
 *
 *	flags (1 byte) { off (4 bytes) len (2 bytes) data (len bytes) }...
 *
 * Little-endian. Each record is written to the file at off modulo
 * SEGMENT_MAX_BYTES; the last one may be cut short. A record of length 0 ends
 * the first phase: what follows is written after the reader has attached, as a
 * writer that lies would do it.
 */
#ifndef SP_FUZZ_SEGMENT_INPUT_H
#define SP_FUZZ_SEGMENT_INPUT_H

#define SEGMENT_MAX_BYTES (4u << 20)

enum {
	/* Make magic, version, byte order and features right. */
	SEGMENT_REPAIR = 1,
	/* The file ends with the last record, not with hdr.file_len. */
	SEGMENT_SHORT = 2,
};

#endif
