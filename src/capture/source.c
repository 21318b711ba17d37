// SPDX-License-Identifier: MIT
/*
 * capture/source.c - the bytes of a capture: a file, a pipe, either in gzip.
 */
#include "capture/source.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/gunzip.h"

static int inspect(struct sp_source *source)
{
	struct stat st;
	off_t off;

	if (fstat(source->fd, &st))
		return sp_fault(source->fault, -errno, "cannot look at it: %s",
				strerror(errno));
	if (S_ISDIR(st.st_mode))
		return sp_fault(source->fault, -EISDIR,
				"is a directory, not a capture");
	if (!S_ISREG(st.st_mode))
		return 0;
	off = lseek(source->fd, 0, SEEK_CUR);
	if (off < 0)
		return 0;
	source->seekable = true;
	source->off = (uint64_t)off;
	source->size = (uint64_t)st.st_size;
	return 0;
}

/* After a look at the first bytes. */
static int start_gunzip(struct sp_source *source)
{
	const uint8_t *head;
	ssize_t len = sp_source_peek(source, &head);
	int r;

	if (len < 0)
		return (int)len;
	if (len < 2 || head[0] != 0x1f || head[1] != 0x8b)
		return 0;
	r = sp_gunzip_create(head, (size_t)len, &source->gunzip);
	if (r)
		return sp_fault(source->fault, r, "cannot inflate it: %s",
				strerror(-r));
	source->head_len = 0;
	return 0;
}

int sp_source_open(struct sp_source *source, const char *path, int fd,
		   int wake_fd, struct sp_capture_fault *fault)
{
	int r;

	*source = (struct sp_source){
		.fd = fd, .wake_fd = wake_fd, .fault = fault};
	if (path && strcmp(path, "-") == 0) {
		source->fd = STDIN_FILENO;
	} else if (path) {
		/* O_NONBLOCK: else a FIFO waits here, where nothing wakes it */
		source->fd = open(path,
				  O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
		if (source->fd < 0)
			return sp_fault(fault, -errno, "cannot open it: %s",
					strerror(errno));
		source->owned = true;
	}
	r = inspect(source);
	if (!r)
		r = start_gunzip(source);
	if (r)
		sp_source_close(source);
	return r;
}

void sp_source_close(struct sp_source *source)
{
	sp_gunzip_destroy(source->gunzip);
	source->gunzip = NULL;
	if (source->owned)
		close(source->fd);
	source->owned = false;
}

/* Until there is something to read, or the end, or the wake-up. */
static int wait_readable(const struct sp_source *source)
{
	struct pollfd fds[2] = {
		{.fd = source->fd, .events = POLLIN},
		{.fd = source->wake_fd, .events = POLLIN},
	};

	while (poll(fds, 2, -1) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return fds[1].revents ? -EINTR : 0;
}

static ssize_t read_some(struct sp_source *source, void *bytes, size_t len)
{
	int r;

	if (source->seekable)
		return pread(source->fd, bytes, len, (off_t)source->off);
	r = wait_readable(source);
	if (r) {
		errno = -r;
		return -1;
	}
	return read(source->fd, bytes, len);
}

ssize_t sp_source_read_raw(struct sp_source *source, void *bytes, size_t len)
{
	ssize_t n;

	do {
		n = read_some(source, bytes, len);
	} while (n < 0 && errno == EAGAIN);
	if (n < 0 && errno == EINTR)
		return -EINTR;
	if (n < 0)
		return sp_fault(
			source->fault, -errno, "cannot read at byte %llu: %s",
			(unsigned long long)source->off, strerror(errno));
	source->off += (uint64_t)n;
	return n;
}

static ssize_t read_plain(struct sp_source *source, void *bytes, size_t len)
{
	return source->gunzip
		       ? sp_gunzip_read(source->gunzip, source, bytes, len)
		       : sp_source_read_raw(source, bytes, len);
}

ssize_t sp_source_read(struct sp_source *source, void *bytes, size_t len)
{
	if (!source->head_len)
		return read_plain(source, bytes, len);
	if (len > source->head_len)
		len = source->head_len;
	memcpy(bytes, source->head + source->head_off, len);
	source->head_off += len;
	source->head_len -= len;
	return (ssize_t)len;
}

ssize_t sp_source_peek(struct sp_source *source, const uint8_t **ret_head)
{
	while (source->head_len < SP_SOURCE_HEAD) {
		ssize_t n = read_plain(source, source->head + source->head_len,
				       SP_SOURCE_HEAD - source->head_len);

		if (n < 0)
			return n;
		if (n == 0)
			break;
		source->head_len += (size_t)n;
	}
	*ret_head = source->head;
	return (ssize_t)source->head_len;
}
