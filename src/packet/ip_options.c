/* SPDX-License-Identifier: MIT */
/*
 * packet/ip_options.c - IPv4 options of a received packet.
 *
 * The walk stops at the first fault, as the kernel's does; one list may hold
 * one source route (of either kind), one record route, one timestamp and one
 * CIPSO label. Options that the kernel does not know are passed over by their
 * length.
 */
#include "packet/ip.h"

enum {
	OPT_END = 0,
	OPT_NOOP = 1,
	OPT_RECORD_ROUTE = 7,
	OPT_TIMESTAMP = 68,
	OPT_LSRR = 131,
	OPT_CIPSO = 134,
	OPT_SSRR = 137,
	OPT_ROUTER_ALERT = 148,
};

/* The low four bits of a timestamp option's fourth octet. */
enum {
	TS_ONLY = 0,
	TS_AND_ADDR = 1,
	TS_PRESPEC = 3,
};

enum {
	ADDR_LEN = 4
};

/* Options of which a list may hold one. */
struct seen {
	bool source_route;
	bool record_route;
	bool timestamp;
};

/* Octet 2 points, counted from 1, at the next free slot. */
static bool source_route_ok(const uint8_t *opt, size_t len, struct seen *seen)
{
	if (len < 3 || opt[2] < 4 || seen->source_route)
		return false;
	seen->source_route = true;
	return true;
}

/* A pointer behind the end says that the route is full, which is no fault. */
static bool record_route_ok(const uint8_t *opt, size_t len, struct seen *seen)
{
	if (seen->record_route || len < 3 || opt[2] < 4)
		return false;
	seen->record_route = true;
	return opt[2] > len || opt[2] + (size_t)ADDR_LEN - 1 <= len;
}

static bool timestamp_ok(const uint8_t *opt, size_t len, struct seen *seen)
{
	unsigned flag;
	size_t pointer;

	if (seen->timestamp || len < 4 || opt[2] < 5)
		return false;
	seen->timestamp = true;
	pointer = opt[2];
	flag = opt[3] & 0xf;
	if (pointer > len) /* full: the overflow counter would wrap at 15 */
		return flag == TS_PRESPEC || opt[3] >> 4 != 15;
	if (pointer + 3 > len)
		return false;
	if (flag == TS_AND_ADDR || flag == TS_PRESPEC)
		return pointer + ADDR_LEN + 3 <= len;
	return true;
}

static bool option_ok(const uint8_t *opt, size_t len, struct seen *seen)
{
	switch (opt[0]) {
	case OPT_LSRR:
	case OPT_SSRR:
		return source_route_ok(opt, len, seen);
	case OPT_RECORD_ROUTE:
		return record_route_ok(opt, len, seen);
	case OPT_TIMESTAMP:
		return timestamp_ok(opt, len, seen);
	case OPT_ROUTER_ALERT:
		return len >= 4;
	case OPT_CIPSO: /* no domain is configured, so none is a known one */
		return false;
	default:
		return true;
	}
}

enum sp_ipv4_options sp_ipv4_options_check(const uint8_t *options, size_t len)
{
	struct seen seen = {0};

	while (len > 0 && options[0] != OPT_END) {
		size_t opt_len;

		if (options[0] == OPT_NOOP) {
			options++;
			len--;
			continue;
		}
		if (len < 2)
			return SP_IPV4_OPTIONS_MALFORMED;
		opt_len = options[1];
		if (opt_len < 2 || opt_len > len ||
		    !option_ok(options, opt_len, &seen))
			return SP_IPV4_OPTIONS_MALFORMED;
		options += opt_len;
		len -= opt_len;
	}
	return seen.source_route ? SP_IPV4_OPTIONS_SOURCE_ROUTE
				 : SP_IPV4_OPTIONS_OK;
}
