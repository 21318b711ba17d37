/* SPDX-License-Identifier: MIT */
/*
 * packet/tcp.h - the header and the options of a TCP segment.
 *
 * Pure functions over bytes. Sequence numbers are compared modulo 2^32 (RFC 9293
 * 3.4).
 */
#ifndef SP_PACKET_TCP_H
#define SP_PACKET_TCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SP_TCP_HEADER_LEN 20

enum sp_tcp_flag {
	SP_TCP_FIN = 0x01,
	SP_TCP_SYN = 0x02,
	SP_TCP_RST = 0x04,
	SP_TCP_PSH = 0x08,
	SP_TCP_ACK = 0x10,
	SP_TCP_URG = 0x20,
	SP_TCP_ECE = 0x40,
	SP_TCP_CWR = 0x80,
};

#define SP_TCP_MAX_SACK   4
#define SP_TCP_MAX_WSCALE 14 /* RFC 7323 2.3 */

struct sp_tcp_sack {
	uint32_t start;
	uint32_t end;
};

/* What the options say; SYN options count only in a SYN. */
struct sp_tcp_options {
	bool has_timestamps;
	bool has_mss;
	bool has_wscale;
	bool sack_permitted;
	bool has_fastopen;
	uint8_t wscale; /* at most SP_TCP_MAX_WSCALE */
	uint8_t nr_sacks;
	uint16_t mss;
	uint32_t tsval;
	uint32_t tsecr;
	struct sp_tcp_sack
		sacks[SP_TCP_MAX_SACK]; /* in the order of the option */
};

/* A segment, as the state of a connection sees it. */
struct sp_tcp_segment {
	uint32_t seq;
	uint32_t end_seq; /* behind data, SYN and FIN */
	uint32_t ack;
	uint32_t len; /* octets of data */
	uint16_t sport;
	uint16_t dport;
	uint16_t window; /* as in the header */
	uint8_t flags;
	struct sp_tcp_options options;
};

/**
 * sp_tcp_decode() - read a segment
 * @data: its first @cap_len octets, at least SP_TCP_HEADER_LEN
 * @len: octets of the whole segment, header included
 * @ret_segment: always set
 *
 * Options behind @cap_len, malformed ones and all behind them are passed over,
 * as the kernel does (tcp_parse_options). A data offset below 5 is taken for 5.
 */
void sp_tcp_decode(const uint8_t *data, uint32_t cap_len, uint32_t len,
		   struct sp_tcp_segment *ret_segment);

static inline bool sp_seq_before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

static inline bool sp_seq_after(uint32_t a, uint32_t b)
{
	return (int32_t)(b - a) < 0;
}

static inline uint32_t sp_seq_max(uint32_t a, uint32_t b)
{
	return sp_seq_before(a, b) ? b : a;
}

static inline uint32_t sp_seq_min(uint32_t a, uint32_t b)
{
	return sp_seq_before(a, b) ? a : b;
}

#endif
