// SPDX-License-Identifier: MIT
/*
 * fuzz/fuzz_capture.c - any bytes as a capture, by both readers.
 *
 * Our own reader and libpcap must return the same frames and stop in the same
 * place, and neither may read a byte that is not there. Bytes that only libpcap
 * reads go through it twice, which still covers the code around it.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/capture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* gzip makes much out of little; this is enough to see what happens. */
#define MAX_FRAMES 4096

struct reading {
	struct sp_capture *capture;
	struct sp_frame frames[SP_CAPTURE_VECTOR];
	int nr, next; /* frames, and which of them is to be looked at */
	int opened;
};

static struct reading ours, theirs;

static void must(bool condition)
{
	if (!condition)
		abort();
}

static void begin(struct reading *reading, int fd, bool use_libpcap)
{
	struct sp_capture_opts opts = {
		.fd = fd, .wake_fd = -1, .use_libpcap = use_libpcap};
	struct sp_capture_fault fault = {0};

	reading->capture = NULL;
	reading->nr = reading->next = 0;
	reading->opened = sp_capture_open(&opts, &fault, &reading->capture);
	must(reading->opened == fault.error);
	must(!reading->opened || *fault.text);
}

/* NULL at the end, and then nr says which end. */
static const struct sp_frame *next(struct reading *reading)
{
	if (reading->next == reading->nr) {
		reading->nr = sp_capture_next(reading->capture, reading->frames,
					      SP_CAPTURE_VECTOR);
		reading->next = 0;
		if (reading->nr <= 0)
			return NULL;
	}
	return &reading->frames[reading->next++];
}

static void compare(void)
{
	for (int i = 0; i < MAX_FRAMES; i++) {
		const struct sp_frame *a = next(&ours);
		const struct sp_frame *b = next(&theirs);

		must(!a == !b);
		if (!a) {
			must(ours.nr == theirs.nr);
			return;
		}
		must(a->time_ns == b->time_ns);
		must(a->cap_len == b->cap_len && a->len == b->len);
		must(a->len >= a->cap_len);
		must(memcmp(a->data, b->data, a->cap_len) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	must(fd >= 0 && ftruncate(fd, 0) == 0);
	must(pwrite(fd, data, size, 0) == (ssize_t)size);
	begin(&ours, fd, false);
	begin(&theirs, fd, true);
	must(ours.opened == theirs.opened);
	if (!ours.opened) {
		must(sp_capture_linktype(ours.capture) ==
		     sp_capture_linktype(theirs.capture));
		compare();
	}
	sp_capture_close(ours.capture);
	sp_capture_close(theirs.capture);
	return 0;
}
