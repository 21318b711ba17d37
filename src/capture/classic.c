// SPDX-License-Identifier: MIT
/*
 * capture/classic.c - our reader of pcap files of version 2.4.
 *
 * Format: draft-ietf-opsawg-pcap. One buffer: whole packets are handed out
 * where they lie; what remains of the last one moves to the front, and the next
 * piece of the file is read behind it.
 *
 * Invariant: pos <= end <= BUF_BYTES. Nothing is read from buf at or after end.
 */
#include "capture/classic.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define FILE_HEADER   24
#define PACKET_HEADER 16

/* Read at once; stays in the second level cache with the rest of a packet. */
#define PIECE_BYTES (512 * 1024)
#define BUF_BYTES   (PIECE_BYTES + SP_CLASSIC_MAX_CAPLEN + PACKET_HEADER)

#define MAGIC_MICROSECONDS 0xa1b2c3d4u
#define MAGIC_NANOSECONDS  0xa1b23c4du

#define NS_PER_S 1000000000ull

static uint32_t load32(const uint8_t *p, bool swapped)
{
	uint32_t value;

	memcpy(&value, p, sizeof(value));
	return swapped ? __builtin_bswap32(value) : value;
}

static uint16_t load16(const uint8_t *p, bool swapped)
{
	uint16_t value;

	memcpy(&value, p, sizeof(value));
	return swapped ? __builtin_bswap16(value) : value;
}

static bool is_magic(uint32_t value)
{
	return value == MAGIC_MICROSECONDS || value == MAGIC_NANOSECONDS;
}

bool sp_classic_knows(const uint8_t *head, size_t len)
{
	bool swapped;

	if (len < 8)
		return false;
	if (!is_magic(load32(head, false)) && !is_magic(load32(head, true)))
		return false;
	swapped = !is_magic(load32(head, false));
	return load16(head + 4, swapped) == 2 && load16(head + 6, swapped) == 4;
}

/* Return: 1 with more bytes, 0 at the end of the file, -errno. */
static int refill(struct sp_classic *classic)
{
	size_t rest = classic->end - classic->pos; /* less than a packet */
	ssize_t n;

	if (classic->eof)
		return 0;
	assert(rest <= BUF_BYTES - PIECE_BYTES);
	memmove(classic->buf, classic->buf + classic->pos, rest);
	classic->buf_off += classic->pos;
	classic->pos = 0;
	classic->end = rest;
	n = sp_source_read(classic->source, classic->buf + rest, PIECE_BYTES);
	if (n < 0)
		return (int)n;
	classic->eof = n == 0;
	classic->end += (size_t)n;
	return n > 0;
}

static int read_header(struct sp_classic *classic)
{
	const uint8_t *header = classic->buf;
	uint32_t snaplen;

	while (classic->end < FILE_HEADER) {
		int r = refill(classic);

		if (r < 0)
			return r;
		if (r == 0)
			return sp_fault(classic->source->fault, -EBADMSG,
					"ends inside the file header, after "
					"%zu of %d bytes",
					classic->end, FILE_HEADER);
	}
	classic->swapped = !is_magic(load32(header, false));
	classic->nanoseconds =
		load32(header, classic->swapped) == MAGIC_NANOSECONDS;
	snaplen = load32(header + 16, classic->swapped);
	classic->snaplen = snaplen == 0 || snaplen > INT_MAX
				   ? SP_CLASSIC_MAX_CAPLEN
				   : snaplen;
	/* the bits above say whether frames end with their checksum */
	classic->linktype = load32(header + 20, classic->swapped) & 0x03ffffff;
	classic->pos = FILE_HEADER;
	return 0;
}

int sp_classic_init(struct sp_classic *classic, struct sp_source *source)
{
	int r;

	*classic = (struct sp_classic){.source = source};
	classic->buf = malloc(BUF_BYTES);
	if (!classic->buf)
		return sp_fault(source->fault, -ENOMEM, "no memory to read it");
	r = read_header(classic);
	if (r)
		sp_classic_fini(classic);
	return r;
}

void sp_classic_fini(struct sp_classic *classic)
{
	free(classic->buf);
	classic->buf = NULL;
}

/* A fraction that is none counts as the last nanosecond of its second. */
static uint64_t to_ns(uint32_t seconds, uint32_t fraction, uint32_t scale)
{
	uint64_t ns = (uint64_t)fraction * scale;

	if (ns >= NS_PER_S)
		ns = NS_PER_S - 1;
	return seconds * NS_PER_S + ns;
}

/* Frames that lie whole in the buffer. Stops before one that is damaged. */
static inline int take(struct sp_classic *classic, struct sp_frame *frames,
		       size_t max, bool swapped)
{
	const uint32_t scale = classic->nanoseconds ? 1 : 1000;
	const uint32_t snaplen = classic->snaplen;
	size_t n = 0;

	while (n < max && classic->end - classic->pos >= PACKET_HEADER) {
		const uint8_t *header = classic->buf + classic->pos;
		size_t rest = classic->end - classic->pos - PACKET_HEADER;
		uint32_t cap_len = load32(header + 8, swapped);
		uint32_t len = load32(header + 12, swapped);

		if (cap_len > SP_CLASSIC_MAX_CAPLEN || cap_len > rest)
			break;
		classic->pos += PACKET_HEADER + cap_len;
		if (cap_len > snaplen)
			cap_len = snaplen;
		frames[n++] = (struct sp_frame){
			.data = header + PACKET_HEADER,
			.time_ns = to_ns(load32(header, swapped),
					 load32(header + 4, swapped), scale),
			.cap_len = cap_len,
			.len = len < cap_len ? cap_len : len,
		};
	}
	return (int)n;
}

/* Why take() took none: damage, or not all of the packet has been read. */
static int check_damage(const struct sp_classic *classic)
{
	const uint8_t *header = classic->buf + classic->pos;
	uint32_t cap_len;

	if (classic->end - classic->pos < PACKET_HEADER)
		return 0;
	cap_len = load32(header + 8, classic->swapped);
	if (cap_len <= SP_CLASSIC_MAX_CAPLEN)
		return 0;
	return sp_fault(classic->source->fault, -EBADMSG,
			"packet %llu at byte %llu says that it has %u octets, "
			"more than any has; the file is damaged from there on",
			(unsigned long long)classic->nr + 1,
			(unsigned long long)(classic->buf_off + classic->pos),
			cap_len);
}

static int cut_short(const struct sp_classic *classic)
{
	size_t rest = classic->end - classic->pos;
	size_t whole = PACKET_HEADER;

	if (rest >= PACKET_HEADER)
		whole += load32(classic->buf + classic->pos + 8,
				classic->swapped);
	return sp_fault(classic->source->fault, -EBADMSG,
			"ends inside packet %llu at byte %llu, after %zu of "
			"its %zu bytes; the capture was not written or copied "
			"to its end",
			(unsigned long long)classic->nr + 1,
			(unsigned long long)(classic->buf_off + classic->pos),
			rest, whole);
}

int sp_classic_next(struct sp_classic *classic, struct sp_frame *frames,
		    size_t max)
{
	for (;;) {
		int n = classic->swapped ? take(classic, frames, max, true)
					 : take(classic, frames, max, false);
		int r;

		if (n > 0) {
			classic->nr += (uint64_t)n;
			return n;
		}
		r = check_damage(classic);
		if (r)
			return r;
		r = refill(classic);
		if (r < 0)
			return r;
		if (r == 0)
			return classic->pos == classic->end
				       ? 0
				       : cut_short(classic);
	}
}
