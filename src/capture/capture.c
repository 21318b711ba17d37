// SPDX-License-Identifier: MIT
/*
 * capture/capture.c - the frames of a capture: chooses a reader.
 */
#include "capture/capture.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdlib.h>
#include <string.h>

#include "capture/classic.h"
#include "capture/foreign.h"
#include "capture/source.h"
#include "packet/frame.h"

struct sp_capture {
	struct sp_capture_fault fault;
	struct sp_source source;
	bool use_libpcap;
	union {
		struct sp_classic classic;
		struct sp_foreign foreign;
	};
};

/* Files that people take for captures, or compress captures with. */
static const struct {
	const char *magic;
	size_t len;
	const char *advice;
} others[] = {
	{"\x28\xb5\x2f\xfd", 4,
	 "is compressed by zstd, which is not read here; use: zstd -dc FILE | "
	 "statplane run -r -"},
	{"\xfd"
	 "7zXZ",
	 5,
	 "is compressed by xz, which is not read here; use: xz -dc FILE | "
	 "statplane run -r -"},
	{"BZh", 3,
	 "is compressed by bzip2, which is not read here; use: bzip2 -dc FILE "
	 "| statplane run -r -"},
	{"\x04\x22\x4d\x18", 4,
	 "is compressed by lz4, which is not read here; use: lz4 -dc FILE | "
	 "statplane run -r -"},
	{"PK\x03\x04", 4, "is a zip archive; unpack it first"},
	{"snoop\0\0\0", 8,
	 "is a snoop capture; convert it first: editcap -F pcap FILE "
	 "FILE.pcap"},
};

static int refuse_other(struct sp_capture *capture, const uint8_t *head,
			size_t len)
{
	if (len == 0)
		return sp_fault(&capture->fault, -EBADMSG,
				"is empty; a capture has at least a header");
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (len >= others[i].len &&
		    memcmp(head, others[i].magic, others[i].len) == 0)
			return sp_fault(&capture->fault, -EBADMSG, "%s",
					others[i].advice);
	}
	return 0;
}

/* Magic numbers of formats that libpcap reads, in both byte orders. */
static bool libpcap_knows(const uint8_t *head, size_t len)
{
	static const uint8_t magics[][4] = {
		{0xa1, 0xb2, 0xc3, 0xd4}, {0xd4, 0xc3, 0xb2, 0xa1},
		{0xa1, 0xb2, 0x3c, 0x4d}, {0x4d, 0x3c, 0xb2, 0xa1},
		{0xa1, 0xb2, 0xcd, 0x34}, {0x34, 0xcd, 0xb2, 0xa1},
		{0x0a, 0x0d, 0x0d, 0x0a},
	};

	if (len < 4)
		return false;
	for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++) {
		if (memcmp(head, magics[i], 4) == 0)
			return true;
	}
	return false;
}

static int init_reader(struct sp_capture *capture, bool use_libpcap)
{
	const uint8_t *head;
	ssize_t len = sp_source_peek(&capture->source, &head);
	int r;

	if (len < 0)
		return (int)len;
	r = refuse_other(capture, head, (size_t)len);
	if (r)
		return r;
	if (!libpcap_knows(head, (size_t)len))
		return sp_fault(&capture->fault, -EBADMSG,
				"is not a capture: neither pcap nor pcapng, "
				"nor one of them in gzip");
	capture->use_libpcap =
		use_libpcap || !sp_classic_knows(head, (size_t)len);
	return capture->use_libpcap
		       ? sp_foreign_init(&capture->foreign, &capture->source)
		       : sp_classic_init(&capture->classic, &capture->source);
}

static void fini_reader(struct sp_capture *capture)
{
	if (capture->use_libpcap)
		sp_foreign_fini(&capture->foreign);
	else
		sp_classic_fini(&capture->classic);
}

static int check_linktype(struct sp_capture *capture)
{
	uint32_t linktype = sp_capture_linktype(capture);

	if (sp_linktype_known(linktype))
		return 0;
	return sp_fault(&capture->fault, -EPROTONOSUPPORT,
			"has link type %u (%s); understood are Ethernet, raw "
			"IP, Linux cooked v1 and v2, and BSD loopback",
			linktype, sp_capture_linktype_name(linktype));
}

int sp_capture_open(const struct sp_capture_opts *opts,
		    struct sp_capture_fault *ret_fault,
		    struct sp_capture **ret_capture)
{
	struct sp_capture *capture = calloc(1, sizeof(*capture));
	int r;

	if (!capture) {
		ret_fault->error = 0;
		return sp_fault(ret_fault, -ENOMEM, "no memory to read it");
	}
	r = sp_source_open(&capture->source, opts->path, opts->fd,
			   opts->wake_fd, &capture->fault);
	if (r)
		goto free_capture;
	r = init_reader(capture, opts->use_libpcap);
	if (r)
		goto close_source;
	r = check_linktype(capture);
	if (r)
		goto fini_reader;
	*ret_capture = capture;
	return 0;
fini_reader:
	fini_reader(capture);
close_source:
	sp_source_close(&capture->source);
free_capture:
	*ret_fault = capture->fault;
	free(capture);
	return r;
}

void sp_capture_close(struct sp_capture *capture)
{
	if (!capture)
		return;
	fini_reader(capture);
	sp_source_close(&capture->source);
	free(capture);
}

int sp_capture_next(struct sp_capture *capture, struct sp_frame *frames,
		    size_t max)
{
	return capture->use_libpcap
		       ? sp_foreign_next(&capture->foreign, frames, max)
		       : sp_classic_next(&capture->classic, frames, max);
}

const struct sp_capture_fault *
sp_capture_fault(const struct sp_capture *capture)
{
	return &capture->fault;
}

uint32_t sp_capture_linktype(const struct sp_capture *capture)
{
	uint32_t linktype = capture->use_libpcap ? capture->foreign.linktype
						 : capture->classic.linktype;

	if (linktype == SP_LINKTYPE_RAW_DLT ||
	    linktype == SP_LINKTYPE_RAW_OPENBSD)
		return SP_LINKTYPE_RAW;
	return linktype;
}

bool sp_capture_is_file(const struct sp_capture *capture)
{
	return capture->source.seekable;
}

struct sp_capture_position sp_capture_position(const struct sp_capture *capture)
{
	return (struct sp_capture_position){capture->source.off,
					    capture->source.size};
}

const char *sp_capture_linktype_name(uint32_t linktype)
{
	const char *text = NULL;

	if (linktype == SP_LINKTYPE_RAW)
		return "Raw IP";
	if (linktype <= INT16_MAX)
		text = pcap_datalink_val_to_description((int)linktype);
	return text ? text : "not a known one";
}
