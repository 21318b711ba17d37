/* SPDX-License-Identifier: MIT */
/*
 * packet/ipv6_headers.c - IPv6 options headers, and the way past all extension
 * headers.
 *
 * The limits are the kernel's defaults (net.ipv6.max_hbh_opts_number and
 * max_dst_opts_number). The home address option stands in no list: where the
 * kernel knows it, it discards the packet for want of a binding, and where it
 * does not, for the option's action bits.
 */
#include "packet/ip.h"

enum {
	OPT_PAD1 = 0,
	OPT_PADN = 1,
	OPT_ROUTER_ALERT = 5,
	OPT_CALIPSO = 7,
	OPT_IOAM = 49,
	OPT_JUMBO = 194,
	OPT_ACTION_MASK = 0xc0, /* what to do about it when it is unknown */
};

enum {
	MAX_OPTIONS = 8,
	MAX_PADDING = 7,
	MAX_PAYLOAD = 65535,
};

/* An options header while it is walked. */
struct walk {
	const uint8_t *header;
	size_t packet_len; /* octets from the header to the packet's end */
	enum sp_ipv6_options_kind kind;
	unsigned nr_options;
	size_t pad_len; /* octets of padding in a row so far */
};

/*
 * RFC 2675: aligned to 4n + 2, longer than a plain payload can be, alone in
 * saying how long, and not longer than what came.
 */
static bool jumbo_ok(const struct walk *walk, size_t off)
{
	const uint8_t *opt = walk->header + off;
	uint32_t jumbo_len;

	if (opt[1] != 4 || (off & 3) != 2)
		return false;
	jumbo_len = sp_get_be32(opt + 2);
	return jumbo_len > MAX_PAYLOAD && walk->kind == SP_IPV6_HOPOPTS_JUMBO &&
	       jumbo_len <= walk->packet_len;
}

static bool unknown_ok(uint8_t type)
{
	return (type & OPT_ACTION_MASK) == 0;
}

static bool hop_option_ok(const struct walk *walk, size_t off)
{
	switch (walk->header[off]) {
	case OPT_ROUTER_ALERT:
		return walk->header[off + 1] == 2;
	case OPT_JUMBO:
		return jumbo_ok(walk, off);
	case OPT_IOAM: /* not enabled on a device: passed over */
		return (off & 3) == 0;
	case OPT_CALIPSO: /* no domain is configured */
		return false;
	default:
		return unknown_ok(walk->header[off]);
	}
}

static bool padding_ok(struct walk *walk, size_t off, size_t opt_len)
{
	walk->pad_len += opt_len;
	if (walk->pad_len > MAX_PADDING)
		return false;
	for (size_t i = 2; i < opt_len; i++)
		if (walk->header[off + i] != 0)
			return false;
	return true;
}

/* The option at @off, all of whose @opt_len octets are there. */
static bool option_ok(struct walk *walk, size_t off, size_t opt_len)
{
	if (walk->header[off] <= OPT_PADN)
		return padding_ok(walk, off, opt_len);
	walk->pad_len = 0;
	if (++walk->nr_options > MAX_OPTIONS)
		return false;
	return walk->kind == SP_IPV6_DSTOPTS ? unknown_ok(walk->header[off])
					     : hop_option_ok(walk, off);
}

bool sp_ipv6_options_check(const uint8_t *header, size_t len,
			   enum sp_ipv6_options_kind kind, size_t *ret_len)
{
	struct walk walk = {
		.header = header,
		.packet_len = len,
		.kind = kind,
	};
	size_t header_len;

	if (len < 8)
		return false;
	header_len = ((size_t)header[1] + 1) * 8;
	if (header_len > len)
		return false;
	for (size_t off = 2; off < header_len;) {
		size_t opt_len = 1;

		if (header[off] != OPT_PAD1) {
			if (header_len - off < 2)
				return false;
			opt_len = (size_t)header[off + 1] + 2;
			if (opt_len > header_len - off)
				return false;
		}
		if (!option_ok(&walk, off, opt_len))
			return false;
		off += opt_len;
	}
	*ret_len = header_len;
	return true;
}

long sp_ipv6_skip_headers(const uint8_t *payload, size_t len, uint8_t *nexthdr,
			  bool *ret_frag)
{
	uint8_t type = *nexthdr;
	size_t off = 0;

	*ret_frag = false;
	for (;;) {
		size_t header_len;

		switch (type) {
		case SP_PROTO_HOPOPTS:
		case SP_PROTO_ROUTING:
		case SP_PROTO_FRAGMENT:
		case SP_PROTO_AH:
		case SP_PROTO_DSTOPTS:
			break;
		case SP_PROTO_NONE:
			return -1;
		default:
			*nexthdr = type;
			return (long)off;
		}
		if (off > len || len - off < 2)
			return -1;
		header_len = ((size_t)payload[off + 1] + 1) * 8;
		if (type == SP_PROTO_FRAGMENT) {
			if (len - off < 4)
				return -1;
			if (sp_get_be16(payload + off + 2) & 0xfff8) {
				*ret_frag = true;
				*nexthdr = type;
				return (long)off;
			}
			header_len = 8;
		} else if (type == SP_PROTO_AH) { /* RFC 4302: 4-octet units */
			header_len = ((size_t)payload[off + 1] + 2) * 4;
		}
		type = payload[off];
		off += header_len;
	}
}
