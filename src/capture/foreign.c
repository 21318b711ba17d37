// SPDX-License-Identifier: MIT
/*
 * capture/foreign.c - every format that libpcap reads: pcapng, old pcap.
 *
 * libpcap gets a stdio stream whose bytes come from the source. It returns one
 * packet at a time, in a buffer that the next one overwrites: the frames of a
 * vector are copied into an arena.
 *
 * Being woken while libpcap waits for bytes is final: it has lost its place.
 */
#include "capture/foreign.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_BYTES  (1024 * 1024)
#define STREAM_BYTES (64 * 1024)
#define NS_PER_S     1000000000ull

static ssize_t stream_read(void *cookie, char *bytes, size_t len)
{
	struct sp_foreign *foreign = cookie;
	ssize_t n = sp_source_read(foreign->source, bytes, len);

	if (n >= 0)
		return n;
	foreign->woken = n == -EINTR;
	errno = (int)-n;
	return -1;
}

static FILE *open_stream(struct sp_foreign *foreign)
{
	FILE *file = fopencookie(foreign, "r",
				 (cookie_io_functions_t){.read = stream_read});

	if (file)
		setvbuf(file, NULL, _IOFBF, STREAM_BYTES);
	return file;
}

/* What to say after libpcap stopped with @text. */
static int pcap_fault(struct sp_foreign *foreign, const char *text)
{
	if (foreign->woken)
		return -EINTR;
	if (!foreign->nr)
		return sp_fault(foreign->source->fault, -EBADMSG, "%s", text);
	return sp_fault(foreign->source->fault, -EBADMSG,
			"after packet %llu: %s",
			(unsigned long long)foreign->nr, text);
}

int sp_foreign_init(struct sp_foreign *foreign, struct sp_source *source)
{
	char text[PCAP_ERRBUF_SIZE] = "";
	FILE *file;
	int r;

	*foreign = (struct sp_foreign){.source = source};
	foreign->arena = malloc(ARENA_BYTES);
	file = foreign->arena ? open_stream(foreign) : NULL;
	if (!file) {
		r = sp_fault(source->fault, -ENOMEM, "no memory to read it");
		goto fail;
	}
	foreign->pcap = pcap_fopen_offline_with_tstamp_precision(
		file, PCAP_TSTAMP_PRECISION_NANO, text);
	if (!foreign->pcap) {
		fclose(file);
		r = pcap_fault(foreign, text);
		goto fail;
	}
	foreign->linktype = (uint32_t)pcap_datalink(foreign->pcap);
	return 0;
fail:
	sp_foreign_fini(foreign);
	return r;
}

void sp_foreign_fini(struct sp_foreign *foreign)
{
	if (foreign->pcap)
		pcap_close(foreign->pcap);
	foreign->pcap = NULL;
	free(foreign->arena);
	foreign->arena = NULL;
}

/* libpcap hands on seconds of 32 bits as signed ones; the fraction unchecked.
 */
static uint64_t to_ns(const struct timeval *time)
{
	int64_t seconds = time->tv_sec;
	int64_t ns = time->tv_usec;

	if (seconds < 0)
		seconds = (uint32_t)seconds;
	if (ns < 0 || ns >= (int64_t)NS_PER_S)
		ns = (int64_t)NS_PER_S - 1;
	return (uint64_t)seconds * NS_PER_S + (uint64_t)ns;
}

static struct sp_frame to_frame(const struct pcap_pkthdr *header,
				const uint8_t *data)
{
	return (struct sp_frame){
		.data = data,
		.time_ns = to_ns(&header->ts),
		.cap_len = header->caplen,
		.len = header->len < header->caplen ? header->caplen
						    : header->len,
	};
}

/* Have a packet in @header. Return: true if there is one. */
static bool advance(struct sp_foreign *foreign)
{
	int r;

	if (foreign->header)
		return true;
	if (foreign->stopped)
		return false;
	r = pcap_next_ex(foreign->pcap, &foreign->header, &foreign->data);
	if (r == 1) {
		foreign->nr++;
		return true;
	}
	foreign->header = NULL;
	foreign->stopped =
		r == PCAP_ERROR_BREAK
			? 1
			: pcap_fault(foreign, pcap_geterr(foreign->pcap));
	return false;
}

int sp_foreign_next(struct sp_foreign *foreign, struct sp_frame *frames,
		    size_t max)
{
	size_t used = 0, n = 0;

	while (n < max && advance(foreign)) {
		size_t len = foreign->header->caplen;

		if (len > ARENA_BYTES - used) {
			if (n)
				break; /* it stays in libpcap's buffer */
			frames[n++] = to_frame(foreign->header, foreign->data);
			foreign->header = NULL;
			break;
		}
		memcpy(foreign->arena + used, foreign->data, len);
		frames[n++] = to_frame(foreign->header, foreign->arena + used);
		used += len;
		foreign->header = NULL;
	}
	if (n)
		return (int)n;
	return foreign->stopped < 0 ? foreign->stopped : 0;
}
