/* SPDX-License-Identifier: MIT */
/*
 * packet/ip.h - what the kernel checks in IPv4 options and IPv6 extension
 * headers, as pure functions over bytes.
 *
 * The order in which the kernel applies these checks, and what it counts when
 * one fails, is observe/'s business.
 */
#ifndef SP_PACKET_IP_H
#define SP_PACKET_IP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sp_ip_proto {
	SP_PROTO_HOPOPTS = 0,
	SP_PROTO_ICMP = 1,
	SP_PROTO_IGMP = 2,
	SP_PROTO_TCP = 6,
	SP_PROTO_UDP = 17,
	SP_PROTO_IPV6 = 41,
	SP_PROTO_ROUTING = 43,
	SP_PROTO_FRAGMENT = 44,
	SP_PROTO_AH = 51,
	SP_PROTO_ICMPV6 = 58,
	SP_PROTO_NONE = 59,
	SP_PROTO_DSTOPTS = 60,
	SP_PROTO_UDPLITE = 136,
};

/* Unaligned big-endian fields. */
static inline uint16_t sp_get_be16(const uint8_t *p)
{
	return (uint16_t)((p[0] << 8) | p[1]);
}

static inline uint32_t sp_get_be32(const uint8_t *p)
{
	return ((uint32_t)p[0] << 24) | ((uint32_t)p[1] << 16) |
	       ((uint32_t)p[2] << 8) | p[3];
}

enum sp_ipv4_options {
	SP_IPV4_OPTIONS_OK,
	SP_IPV4_OPTIONS_MALFORMED,    /* answered with ICMP parameter problem */
	SP_IPV4_OPTIONS_SOURCE_ROUTE, /* well formed, LSRR or SSRR in it */
};

/**
 * sp_ipv4_options_check() - the checks of the kernel's option compiler
 * @options: the @len octets between the fixed header and the payload, at most
 * 40
 *
 * The verdict is that of a host which has no CIPSO domain configured: it takes
 * every CIPSO label for malformed. Source: RFC 791 3.1, RFC 2113;
 * net/ipv4/ip_options.c, cipso_ipv4.c.
 */
enum sp_ipv4_options sp_ipv4_options_check(const uint8_t *options, size_t len);

/* Whose options: the two headers know different ones. */
enum sp_ipv6_options_kind {
	SP_IPV6_DSTOPTS,
	SP_IPV6_HOPOPTS,
	SP_IPV6_HOPOPTS_JUMBO, /* hop-by-hop; payload length field is 0 */
};

/**
 * sp_ipv6_options_check() - a hop-by-hop or destination options header
 * @header: the header from its next-header octet on; a hop-by-hop header stands
 *          right behind the fixed header
 * @len: octets left in the packet from there
 * @ret_len: length of the header, set when it is good
 *
 * Return: false for every fault that makes the kernel discard the packet: a
 * header longer than the packet, an option past the end, more than 7 octets of
 * padding in a row, PadN that is not zero, more than 8 options, an unknown
 * option whose action bits are not 00; hop-by-hop: a router alert not of 2
 * octets, a jumbo payload that is misplaced or contradicted, an IOAM option out
 * of alignment, any CALIPSO label (a host without a configured domain takes
 * none). Source: RFC 8200 4.2, RFC 2675, RFC 5570; net/ipv6/exthdrs.c.
 */
bool sp_ipv6_options_check(const uint8_t *header, size_t len,
			   enum sp_ipv6_options_kind kind, size_t *ret_len);

/**
 * sp_ipv6_skip_headers() - find the upper-layer header as the kernel's
 * ipv6_skip_exthdr() does, without checking what is inside
 * @payload, @len: from the header named by *@nexthdr
 * @nexthdr: in: its type; out: type of the header at the returned offset;
 *           untouched on failure
 * @ret_frag: whether a fragment header with an offset other than 0 was met;
 *            the walk stops there, *@nexthdr is then SP_PROTO_FRAGMENT
 *
 * Return: the offset of the first header that is no extension header, or -1 if
 * the chain is cut or ends in "no next header". It lies behind @len if the last
 * extension header says so: compare before reading there.
 */
long sp_ipv6_skip_headers(const uint8_t *payload, size_t len, uint8_t *nexthdr,
			  bool *ret_frag);

#endif
