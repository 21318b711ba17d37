// SPDX-License-Identifier: MIT
/*
 * capture/gunzip.c - inflate what a source reads (RFC 1952), in constant
 * memory.
 *
 * Between two members, zeros may fill a block up (tapes and some archivers do
 * so); anything else that is no member is damage.
 */
#include "capture/gunzip.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "capture/source.h"

#define IN_BYTES  (64 * 1024)
#define OUT_BYTES (1024 * 1024) /* at most, at once */
#define ONLY_GZIP (15 + 16)     /* largest window, gzip header */

struct sp_gunzip {
	z_stream z;
	bool between; /* members: the last one is complete */
	uint64_t out; /* uncompressed bytes so far */
	uint8_t in[IN_BYTES];
};

int sp_gunzip_create(const uint8_t *head, size_t len,
		     struct sp_gunzip **ret_gunzip)
{
	struct sp_gunzip *gunzip = malloc(sizeof(*gunzip));

	if (!gunzip)
		return -ENOMEM;
	memset(&gunzip->z, 0, sizeof(gunzip->z));
	gunzip->between = false;
	gunzip->out = 0;
	memcpy(gunzip->in, head, len);
	gunzip->z.next_in = gunzip->in;
	gunzip->z.avail_in = (uInt)len;
	if (inflateInit2(&gunzip->z, ONLY_GZIP) != Z_OK) {
		free(gunzip);
		return -ENOMEM;
	}
	*ret_gunzip = gunzip;
	return 0;
}

void sp_gunzip_destroy(struct sp_gunzip *gunzip)
{
	if (!gunzip)
		return;
	inflateEnd(&gunzip->z);
	free(gunzip);
}

static int damaged(struct sp_gunzip *gunzip, struct sp_source *source,
		   const char *what)
{
	return sp_fault(source->fault, -EBADMSG,
			"the gzip data are damaged after %llu uncompressed "
			"bytes: %s",
			(unsigned long long)gunzip->out, what);
}

/* Return: 1 with bytes in @in, 0 at the end of the source, -errno. */
static int fill(struct sp_gunzip *gunzip, struct sp_source *source)
{
	ssize_t n;

	if (gunzip->z.avail_in)
		return 1;
	n = sp_source_read_raw(source, gunzip->in, IN_BYTES);
	if (n <= 0)
		return (int)n;
	gunzip->z.next_in = gunzip->in;
	gunzip->z.avail_in = (uInt)n;
	return 1;
}

/* Skip zeros up to the next member. Return: as fill(). */
static int next_member(struct sp_gunzip *gunzip, struct sp_source *source)
{
	int r;

	while ((r = fill(gunzip, source)) > 0) {
		if (*gunzip->z.next_in) {
			if (*gunzip->z.next_in != 0x1f)
				return damaged(gunzip, source,
					       "other data follow them");
			inflateReset(&gunzip->z);
			gunzip->between = false;
			return 1;
		}
		gunzip->z.next_in++;
		gunzip->z.avail_in--;
	}
	return r;
}

/*
 * Inflate into the space that there is. What does not fit stays inside zlib, so
 * this comes before more input is asked for.
 *
 * Return: 1 to go on, -errno.
 */
static int inflate_some(struct sp_gunzip *gunzip, struct sp_source *source)
{
	z_stream *z = &gunzip->z;
	const uInt room = z->avail_out;
	int r = inflate(z, Z_NO_FLUSH);

	gunzip->out += room - z->avail_out;
	if (r == Z_STREAM_END)
		gunzip->between = true;
	if (r == Z_STREAM_END || z->avail_out < room)
		return 1;
	if (r != Z_OK && r != Z_BUF_ERROR)
		return damaged(gunzip, source, z->msg ? z->msg : "not gzip");
	r = fill(gunzip, source);
	return r ? r : damaged(gunzip, source, "they end too early");
}

ssize_t sp_gunzip_read(struct sp_gunzip *gunzip, struct sp_source *source,
		       void *bytes, size_t len)
{
	z_stream *z = &gunzip->z;

	len = len > OUT_BYTES ? OUT_BYTES : len;
	z->next_out = bytes;
	z->avail_out = (uInt)len;
	while (z->avail_out == len) {
		int r = gunzip->between ? next_member(gunzip, source) : 1;

		if (r > 0)
			r = inflate_some(gunzip, source);
		if (r <= 0)
			return r;
	}
	return (ssize_t)(len - z->avail_out);
}
