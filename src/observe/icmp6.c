/* SPDX-License-Identifier: MIT */
/*
 * observe/icmp6.c - ICMPv6.
 *
 * Rules: net/ipv6/icmp.c (icmpv6_rcv, icmpv6_notify), and for quoted packets the
 * error handlers of net/ipv6/tcp_ipv6.c and net/ipv6/udp.c.
 */
#include "observe/forward.h"
#include "observe/observer.h"
#include "observe/ports.h"
#include "observe/tcp.h"
#include "observe/verify.h"
#include "packet/ip.h"

#define HEADER_LEN 8
#define IPV6_LEN   40

enum icmp6_type {
	UNREACHABLE = 1,
	PACKET_TOO_BIG = 2,
	PARAMETER_PROBLEM = 4,
	FIRST_INFORMATIONAL = 128,
};

enum unreachable_code {
	NO_ROUTE = 0,
	PROHIBITED = 1,
	NO_PORT = 4,
	REFUSED_SOURCE = 5,
	REFUSED_ROUTE = 6,
};

/* The packet that an error quotes, its upper-layer header found. */
struct quote {
	const uint8_t *ip;
	const uint8_t *transport;
	uint32_t cap_len;       /* octets of the quote */
	uint32_t transport_cap; /* octets from the upper-layer header on */
	uint8_t protocol;
};

enum quote_state {
	QUOTE_GOOD,
	QUOTE_BAD,     /* the kernel would not find 8 octets to look at */
	QUOTE_UNKNOWN, /* that part was not captured */
};

static enum quote_state quote_find(const struct payload *payload,
				   struct quote *ret_quote)
{
	const uint8_t *ip = payload->data + HEADER_LEN;
	uint32_t len = payload->len - HEADER_LEN;
	uint32_t cap_len = payload->cap_len - HEADER_LEN;
	bool cut = cap_len < len;
	bool is_later_fragment;
	uint8_t nexthdr;
	long off;

	if (len < IPV6_LEN)
		return QUOTE_BAD;
	if (cap_len < IPV6_LEN)
		return QUOTE_UNKNOWN;
	nexthdr = ip[6];
	off = sp_ipv6_skip_headers(ip + IPV6_LEN, cap_len - IPV6_LEN, &nexthdr,
				   &is_later_fragment);
	if (off < 0)
		return cut ? QUOTE_UNKNOWN : QUOTE_BAD;
	off += IPV6_LEN;
	if (len < (uint32_t)off + 8)
		return QUOTE_BAD;
	if (cap_len < (uint32_t)off + 8)
		return QUOTE_UNKNOWN;
	*ret_quote = (struct quote){
		.ip = ip,
		.transport = ip + off,
		.cap_len = cap_len,
		.transport_cap = cap_len - (uint32_t)off,
		.protocol = nexthdr,
	};
	return QUOTE_GOOD;
}

static struct tcp_end end_of(const struct quote *quote)
{
	return (struct tcp_end){
		.local = quote->ip + 8,
		.remote = quote->ip + 24,
		.local_port = sp_get_be16(quote->transport),
		.remote_port = sp_get_be16(quote->transport + 2),
		.ipv6 = true,
	};
}

static bool is_udp(uint8_t protocol)
{
	return protocol == SP_PROTO_UDP || protocol == SP_PROTO_UDPLITE;
}

/* Does the host have a socket for a packet that it is said to have sent? */
static bool has_socket(struct sp_observer *o, const struct quote *quote)
{
	struct tcp_end end = end_of(quote);

	if (quote->protocol == SP_PROTO_TCP)
		return tcp_exists(o, &end);
	if (!is_udp(quote->protocol)) /* nobody asks */
		return true;
	return udp_port_known(
		o->ports, UDP_SPACE(true, quote->protocol == SP_PROTO_UDPLITE),
		end.local_port);
}

/* Errors that the kernel takes for final (icmpv6_err_convert). */
static bool is_fatal(uint8_t type, uint8_t code)
{
	if (type == PARAMETER_PROBLEM)
		return true;
	return type == UNREACHABLE &&
	       (code == PROHIBITED || code == NO_PORT ||
		code == REFUSED_SOURCE || code == REFUSED_ROUTE);
}

static void tell_tcp(struct sp_observer *o, const struct payload *payload,
		     const struct quote *quote)
{
	uint8_t type = payload->data[0];
	struct tcp_end end = end_of(quote);

	tcp_error(o, &end, sp_get_be32(quote->transport + 4),
		  type != PACKET_TOO_BIG, is_fatal(type, payload->data[1]));
}

/* An error that quotes a packet of the host. Return: whether it is a fault. */
static bool error_input(struct sp_observer *o, const struct payload *payload)
{
	struct quote quote;

	switch (quote_find(payload, &quote)) {
	case QUOTE_GOOD:
		if (!has_socket(o, &quote))
			return true;
		if (quote.protocol == SP_PROTO_TCP)
			tell_tcp(o, payload, &quote);
		return false;
	case QUOTE_BAD:
		return true;
	default:
		return false;
	}
}

void icmp6_input(struct sp_observer *o, const struct payload *payload)
{
	NET6_INC(o, icmp6, InMsgs);
	if (!verify_pseudo(o, payload, 2, payload->len, payload->len)) {
		NET6_INC(o, icmp6, InCsumErrors);
		NET6_INC(o, icmp6, InErrors);
		return;
	}
	if (payload->len < HEADER_LEN) {
		NET6_INC(o, icmp6, InErrors);
		return;
	}
	if (!payload->cap_len)
		return;
	NET6_INC(o, icmp6msg, InType[payload->data[0]]);
	/* An unknown type is no error, but below 128 it is taken for one that
	 * quotes a packet. */
	if (payload->cap_len >= HEADER_LEN &&
	    payload->data[0] < FIRST_INFORMATIONAL && error_input(o, payload))
		NET6_INC(o, icmp6, InErrors);
}

/* A port unreachable tells what became of a datagram, and of the port. */
static void refuse_port(struct sp_observer *o, const struct quote *quote)
{
	unsigned space = UDP_SPACE(true, quote->protocol == SP_PROTO_UDPLITE);
	uint16_t sport = sp_get_be16(quote->transport);
	uint16_t dport = sp_get_be16(quote->transport + 2);

	if (!is_udp(quote->protocol))
		return;
	udp_refuse(o, quote->ip + 8, space, sport, dport);
}

/* What an error says about the packet that it quotes. */
static void error_output(struct sp_observer *o, const struct payload *payload)
{
	uint8_t type = payload->data[0], code = payload->data[1];
	const uint8_t *ip = payload->data + HEADER_LEN;
	uint32_t ip_cap = payload->cap_len - HEADER_LEN;
	struct quote quote;

	if (ip_cap < IPV6_LEN)
		return;
	if (type == UNREACHABLE && code == NO_PORT &&
	    quote_find(payload, &quote) == QUOTE_GOOD)
		refuse_port(o, &quote);
	if (o->forward)
		forward6_error(o, type, code, ip, ip_cap);
	else if (type == UNREACHABLE && code == NO_ROUTE)
		ipv6_no_route(o, ip, ip_cap);
}

void icmp6_output(struct sp_observer *o, const struct payload *payload)
{
	uint8_t type;

	NET6_INC(o, icmp6, OutMsgs);
	if (!payload->cap_len)
		return;
	type = payload->data[0];
	NET6_INC(o, icmp6msg, OutType[type]);
	if (type < FIRST_INFORMATIONAL && payload->cap_len >= HEADER_LEN)
		error_output(o, payload);
	mld_output(o, payload);
}
