/* SPDX-License-Identifier: MIT */
/*
 * packet/tcp.c - see tcp.h.
 *
 * Rules: RFC 9293 3.1 and 3.2, RFC 2018 (SACK), RFC 7323 (window scale,
 * timestamps), RFC 7413 (Fast Open); net/ipv4/tcp_input.c (tcp_parse_options).
 */
#include "packet/tcp.h"

#include <string.h>

#include "packet/ip.h"

enum option {
	OPT_END = 0,
	OPT_NOP = 1,
	OPT_MSS = 2,
	OPT_WSCALE = 3,
	OPT_SACK_PERMITTED = 4,
	OPT_SACK = 5,
	OPT_TIMESTAMPS = 8,
	OPT_FASTOPEN = 34,
};

/* NOP, NOP, timestamps: what nearly every segment carries. */
#define ALIGNED_TIMESTAMPS 0x0101080a

static void read_timestamps(struct sp_tcp_options *options, const uint8_t *p)
{
	options->has_timestamps = true;
	options->tsval = sp_get_be32(p);
	options->tsecr = sp_get_be32(p + 4);
}

static void read_sacks(struct sp_tcp_options *options, const uint8_t *p,
		       size_t len)
{
	if (!len || len % 8)
		return;
	options->nr_sacks = (uint8_t)(len / 8);
	if (options->nr_sacks > SP_TCP_MAX_SACK)
		options->nr_sacks = SP_TCP_MAX_SACK;
	for (unsigned i = 0; i < options->nr_sacks; i++) {
		options->sacks[i].start = sp_get_be32(p + 8 * i);
		options->sacks[i].end = sp_get_be32(p + 8 * i + 4);
	}
}

/* One option: @len octets at @p behind kind and length. */
static void read_option(struct sp_tcp_options *options, uint8_t kind,
			const uint8_t *p, size_t len, bool syn)
{
	switch (kind) {
	case OPT_MSS:
		options->has_mss = syn && len == 2 && sp_get_be16(p);
		if (options->has_mss)
			options->mss = sp_get_be16(p);
		break;
	case OPT_WSCALE:
		options->has_wscale = syn && len == 1;
		if (options->has_wscale)
			options->wscale = p[0] > SP_TCP_MAX_WSCALE
						  ? SP_TCP_MAX_WSCALE
						  : p[0];
		break;
	case OPT_SACK_PERMITTED:
		options->sack_permitted |= syn && !len;
		break;
	case OPT_SACK:
		read_sacks(options, p, len);
		break;
	case OPT_TIMESTAMPS:
		if (len == 8)
			read_timestamps(options, p);
		break;
	case OPT_FASTOPEN:
		options->has_fastopen |= syn;
		break;
	}
}

static void read_options(struct sp_tcp_options *options, const uint8_t *p,
			 size_t len, bool syn)
{
	while (len && *p != OPT_END) {
		uint8_t kind = *p;

		if (kind == OPT_NOP) {
			p++;
			len--;
			continue;
		}
		if (len < 2 || p[1] < 2 || p[1] > len)
			return;
		read_option(options, kind, p + 2, p[1] - 2u, syn);
		len -= p[1];
		p += p[1];
	}
}

void sp_tcp_decode(const uint8_t *data, uint32_t cap_len, uint32_t len,
		   struct sp_tcp_segment *ret_segment)
{
	struct sp_tcp_segment *segment = ret_segment;
	uint32_t header_len = (data[12] >> 4) * 4u;
	uint32_t cap_header;

	if (header_len < SP_TCP_HEADER_LEN)
		header_len = SP_TCP_HEADER_LEN;
	if (header_len > len)
		header_len = len;
	cap_header = header_len < cap_len ? header_len : cap_len;
	memset(&segment->options, 0, offsetof(struct sp_tcp_options, sacks));
	segment->sport = sp_get_be16(data);
	segment->dport = sp_get_be16(data + 2);
	segment->seq = sp_get_be32(data + 4);
	segment->ack = sp_get_be32(data + 8);
	segment->flags = data[13];
	segment->window = sp_get_be16(data + 14);
	segment->len = len - header_len;
	segment->end_seq = segment->seq + segment->len +
			   !!(segment->flags & SP_TCP_SYN) +
			   (segment->flags & SP_TCP_FIN);
	if (cap_header == 32 &&
	    sp_get_be32(data + SP_TCP_HEADER_LEN) == ALIGNED_TIMESTAMPS)
		read_timestamps(&segment->options, data + 24);
	else if (cap_header > SP_TCP_HEADER_LEN)
		read_options(&segment->options, data + SP_TCP_HEADER_LEN,
			     cap_header - SP_TCP_HEADER_LEN,
			     segment->flags & SP_TCP_SYN);
}
