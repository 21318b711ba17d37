/* SPDX-License-Identifier: MIT */
/*
 * observe/icmp.c - ICMP.
 *
 * Rules: net/ipv4/icmp.c (icmp_rcv, icmp_unreach, icmp_redirect,
 * icmp_socket_deliver), and for quoted packets the error handlers of
 * net/ipv4/tcp_ipv4.c and net/ipv4/udp.c.
 */
#include "observe/forward.h"
#include "observe/observer.h"
#include "observe/ports.h"
#include "observe/tcp.h"
#include "observe/verify.h"
#include "packet/ip.h"

#define HEADER_LEN 8

enum icmp_type {
	ECHO_REPLY = 0,
	UNREACHABLE = 3,
	SOURCE_QUENCH = 4,
	REDIRECT = 5,
	TIME_EXCEEDED = 11,
	PARAMETER_PROBLEM = 12,
	TIMESTAMP = 13,
	TIMESTAMP_REPLY = 14,
	ADDRESS_MASK = 17,
	ADDRESS_MASK_REPLY = 18, /* the highest that the kernel knows */
	EXTENDED_ECHO = 42,
	EXTENDED_ECHO_REPLY = 43,
};

enum unreachable_code {
	NO_NETWORK = 0,
	NO_HOST = 1,
	NO_PORT = 3,
	TOO_BIG = 4,
	LAST_CODE = 15,
};

#define REASSEMBLY_CODE 1 /* of TIME_EXCEEDED */

/* The packet that an error quotes. */
struct quote {
	const uint8_t *ip;
	uint32_t len;
	uint32_t cap_len;
};

static struct quote quote_of(const struct payload *payload)
{
	return (struct quote){
		.ip = payload->data + HEADER_LEN,
		.len = payload->len - HEADER_LEN,
		.cap_len = payload->cap_len - HEADER_LEN,
	};
}

static uint32_t header_len_of(const struct quote *quote)
{
	return (quote->ip[0] & 0xf) * 4u;
}

/* The header and 8 octets behind it are captured. */
static struct tcp_end end_of(const struct quote *quote)
{
	const uint8_t *transport = quote->ip + header_len_of(quote);

	return (struct tcp_end){
		.local = quote->ip + 12,
		.remote = quote->ip + 16,
		.local_port = sp_get_be16(transport),
		.remote_port = sp_get_be16(transport + 2),
	};
}

/* Does the host have a socket for a packet that it is said to have sent? */
static bool has_socket(const struct sp_observer *o, const struct quote *quote)
{
	struct tcp_end end = end_of(quote);
	uint8_t protocol = quote->ip[9];

	if (protocol == SP_PROTO_TCP)
		return tcp_exists(o, &end);
	return udp_port_known(o->ports,
			      UDP_SPACE(false, protocol == SP_PROTO_UDPLITE),
			      end.local_port);
}

static bool has_sockets(uint8_t protocol)
{
	return protocol == SP_PROTO_TCP || protocol == SP_PROTO_UDP ||
	       protocol == SP_PROTO_UDPLITE;
}

static bool is_looked_at(uint8_t type, uint8_t code)
{
	if (type == UNREACHABLE)
		return code <= LAST_CODE;
	return type != TIME_EXCEEDED || code != REASSEMBLY_CODE;
}

static bool is_bad_quote(struct sp_observer *o, const struct payload *payload,
			 uint8_t type)
{
	struct quote quote = quote_of(payload);
	uint32_t header_len;

	if (quote.len < 20)
		return true;
	if (quote.cap_len < 20)
		return false;
	header_len = header_len_of(&quote);
	if (type != REDIRECT && header_len < 20)
		return true;
	if (!is_looked_at(type, payload->data[1]))
		return false;
	if (quote.len < header_len + 8)
		return true;
	if (quote.cap_len < header_len + 8 || !has_sockets(quote.ip[9]))
		return false;
	return !has_socket(o, &quote);
}

static bool is_fault(struct sp_observer *o, const struct payload *payload)
{
	uint8_t type = payload->data[0];

	if (type == EXTENDED_ECHO || type == EXTENDED_ECHO_REPLY)
		return false;
	if (type > ADDRESS_MASK_REPLY)
		return true;
	/* Echo and timestamp requests to a group are ignored by default (sysctl
	 * icmp_echo_ignore_broadcasts), the rest is not allowed there. */
	if (payload->group && type != ADDRESS_MASK &&
	    type != ADDRESS_MASK_REPLY)
		return true;
	switch (type) {
	case UNREACHABLE:
	case SOURCE_QUENCH:
	case REDIRECT:
	case TIME_EXCEEDED:
	case PARAMETER_PROBLEM:
		return is_bad_quote(o, payload, type);
	case TIMESTAMP:
		return payload->len < HEADER_LEN + 4;
	default:
		return false;
	}
}

/* An error about a segment of the host that is no fault itself. */
static void tell_tcp(struct sp_observer *o, const struct payload *payload)
{
	uint8_t type = payload->data[0], code = payload->data[1];
	struct quote quote = quote_of(payload);
	struct tcp_end end;
	const uint8_t *seq;
	bool hard;

	if (type != UNREACHABLE && type != TIME_EXCEEDED &&
	    type != PARAMETER_PROBLEM)
		return;
	if (!is_looked_at(type, code) || quote.cap_len < 20 ||
	    quote.cap_len < header_len_of(&quote) + 8 ||
	    quote.ip[9] != SP_PROTO_TCP)
		return;
	end = end_of(&quote);
	seq = quote.ip + header_len_of(&quote) + 4;
	hard = type != UNREACHABLE || code != TOO_BIG;
	tcp_error(o, &end, sp_get_be32(seq), hard,
		  type != UNREACHABLE || code == NO_NETWORK || code == NO_HOST);
}

void icmp_input(struct sp_observer *o, const struct payload *payload)
{
	NET_INC(o, icmp, InMsgs);
	if (!verify_plain(o, payload)) {
		NET_INC(o, icmp, InCsumErrors);
		NET_INC(o, icmp, InErrors);
		return;
	}
	if (payload->len < HEADER_LEN) {
		NET_INC(o, icmp, InErrors);
		return;
	}
	if (!payload->cap_len)
		return;
	NET_INC(o, icmpmsg, InType[payload->data[0]]);
	if (payload->cap_len < HEADER_LEN)
		return;
	if (is_fault(o, payload))
		NET_INC(o, icmp, InErrors);
	else
		tell_tcp(o, payload);
}

/* A port unreachable tells what became of a datagram, and of the port. */
static void refuse_port(struct sp_observer *o, const struct quote *quote)
{
	const uint8_t *transport = quote->ip + header_len_of(quote);
	uint8_t protocol = quote->ip[9];
	unsigned space = UDP_SPACE(false, protocol == SP_PROTO_UDPLITE);
	uint16_t sport, dport;

	if ((protocol != SP_PROTO_UDP && protocol != SP_PROTO_UDPLITE) ||
	    quote->cap_len < header_len_of(quote) + 4)
		return;
	sport = sp_get_be16(transport);
	dport = sp_get_be16(transport + 2);
	udp_refuse(o, quote->ip + 12, space, sport, dport);
}

/* What an error says about the packet that it quotes. */
static void error_output(struct sp_observer *o, const struct payload *payload)
{
	uint8_t type = payload->data[0], code = payload->data[1];
	struct quote quote = quote_of(payload);

	if (quote.cap_len < 20)
		return;
	if (type == UNREACHABLE && code == NO_PORT)
		refuse_port(o, &quote);
	if (o->forward)
		forward4_error(o, type, code, quote.ip);
}

void icmp_output(struct sp_observer *o, const struct payload *payload)
{
	uint8_t type;

	NET_INC(o, icmp, OutMsgs);
	if (!payload->cap_len)
		return;
	type = payload->data[0];
	/* The kernel counts its timestamp replies as type 0. */
	NET_INC(o, icmpmsg,
		OutType[type == TIMESTAMP_REPLY ? ECHO_REPLY : type]);
	if (type == UNREACHABLE && payload->cap_len >= HEADER_LEN)
		error_output(o, payload);
}
