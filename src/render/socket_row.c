/* SPDX-License-Identifier: MIT */
/*
 * render/socket_row.c - one socket as a line of net/tcp, net/udp and their kin.
 *
 * A machine may have a million of them: no division, no format string, and eight
 * hexadecimal digits at a time.
 */
#include "render/socket_row.h"

#include <endian.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "render/text.h"

#define TCP_WIDTH 149 /* of a line of net/tcp without its newline */
#define UDP_WIDTH 127

#define TICK_US 10000u /* of the ticks that the kernel shows times in */
#define TICK_NS 10000000u

/* What the kernel begins with, for a socket of which nobody knows better. */
#define RTO_FIRST_TICKS 100u
#define CWND_FIRST      10u
#define SSTHRESH_NONE   0x7fffffffu

#define POINTER "0000000000000000"

const char *sp_socket_state_name(unsigned state)
{
	static const char *const names[] = {
		[SP_TCP_ESTABLISHED] = "established",
		[SP_TCP_SYN_SENT] = "syn-sent",
		[SP_TCP_SYN_RECV] = "syn-recv",
		[SP_TCP_FIN_WAIT1] = "fin-wait-1",
		[SP_TCP_FIN_WAIT2] = "fin-wait-2",
		[SP_TCP_TIME_WAIT] = "time-wait",
		[SP_TCP_CLOSE] = "unconnected",
		[SP_TCP_CLOSE_WAIT] = "close-wait",
		[SP_TCP_LAST_ACK] = "last-ack",
		[SP_TCP_LISTEN] = "listening",
		[SP_TCP_CLOSING] = "closing",
	};

	if (state >= sizeof(names) / sizeof(names[0]) || !names[state])
		return "unknown";
	return names[state];
}

const char *sp_socket_timer_name(unsigned timer)
{
	static const char *const names[] = {
		[SP_CONN_TIMER_NONE] = "none",
		[SP_CONN_TIMER_RETRANSMIT] = "retransmit",
		[SP_CONN_TIMER_KEEPALIVE] = "keepalive",
		[SP_CONN_TIMER_TIME_WAIT] = "time-wait",
		[SP_CONN_TIMER_PROBE] = "probe",
	};

	return timer < sizeof(names) / sizeof(names[0]) ? names[timer]
							: "unknown";
}

/* Eight upper-case digits, by arithmetic on all of them at once. */
static inline char *put_hex8(char *p, uint32_t value)
{
	uint64_t x = htobe32(value), letters;

	/* One digit a byte, the highest first in memory. */
	x = (x | x << 16) & 0x0000ffff0000ffffull;
	x = (x | x << 8) & 0x00ff00ff00ff00ffull;
	x = (x >> 4 | x << 8) & 0x0f0f0f0f0f0f0f0full;
	letters = (x + 0x0606060606060606ull) >> 4 & 0x0101010101010101ull;
	x += 0x3030303030303030ull + letters * ('A' - '9' - 1);
	memcpy(p, &x, 8);
	return p + 8;
}

/* Writes eight bytes, of which four count. */
static inline char *put_hex4(char *p, uint32_t value)
{
	put_hex8(p, value << 16);
	return p + 4;
}

static inline char *put_hex2(char *p, uint32_t value)
{
	put_hex8(p, value << 24);
	return p + 2;
}

/* As %08lX. */
static char *put_hex_long(char *p, uint64_t value)
{
	if (value >> 32) {
		char digits[8];
		unsigned skip = 0;

		put_hex8(digits, (uint32_t)(value >> 32));
		while (digits[skip] == '0')
			skip++;
		p = sp_put_bytes(p, digits + skip, 8 - skip);
	}
	return put_hex8(p, (uint32_t)value);
}

/* Words of the address as this machine reads them, as the kernel prints it. */
static inline char *put_end(char *p, const uint8_t *addr, bool is_v6,
			    uint32_t port)
{
	for (unsigned i = 0; i < (is_v6 ? 4 : 1); i++) {
		uint32_t word;

		memcpy(&word, addr + 4 * i, 4);
		p = put_hex8(p, word);
	}
	*p++ = ':';
	p = put_hex4(p, port);
	*p++ = ' ';
	return p;
}

static inline char *put_ends(char *p, const struct sp_conn_key *key)
{
	bool is_v6 = key->family == AF_INET6;

	p = put_end(p, key->local, is_v6, key->local_port);
	return put_end(p, key->remote, is_v6, key->remote_port);
}

/* "00000000:00000001 " */
static inline char *put_queues(char *p, uint32_t tx, uint32_t rx)
{
	p = put_hex8(p, tx);
	*p++ = ':';
	p = put_hex8(p, rx);
	*p++ = ' ';
	return p;
}

/* "01:0000001E 00000002 " */
static inline char *put_timer(char *p, uint32_t timer, uint64_t ticks,
			      uint32_t retransmits)
{
	p = put_hex2(p, timer);
	*p++ = ':';
	p = put_hex_long(p, ticks);
	*p++ = ' ';
	p = put_hex8(p, retransmits);
	*p++ = ' ';
	return p;
}

/* State, queues, timer: most sockets rest. */
static inline char *put_state(char *p, uint32_t state, uint32_t tx, uint32_t rx,
			      uint32_t timer, uint64_t ticks,
			      uint32_t retransmits)
{
	static const char rest[] = "00000000:00000000 00:00000000 00000000 ";

	p = put_hex2(p, state);
	*p++ = ' ';
	if (!(tx | rx | timer | retransmits))
		return sp_put_bytes(p, rest, sizeof(rest) - 1);
	p = put_queues(p, tx, rx);
	return put_timer(p, timer, ticks, retransmits);
}

/* "    0        0 34665 1 0000000000000000" */
static inline char *put_owner(char *p, uint32_t uid, uint32_t probes,
			      uint64_t inode, uint32_t references)
{
	if (!(uid | probes)) {
		p = sp_put_bytes(p, "    0        0 ", 15);
	} else {
		p = sp_put_u64_right(p, uid, 5);
		*p++ = ' ';
		p = sp_put_u64_right(p, probes, 8);
		*p++ = ' ';
	}
	p = sp_put_u64(p, inode);
	*p++ = ' ';
	*p++ = (char)('0' + references);
	*p++ = ' ';
	return sp_put_bytes(p, POINTER, sizeof(POINTER) - 1);
}

/* " 20 4 0 10 -1": timeouts, acknowledgement mode, windows. */
static char *put_windows(char *p, const struct sp_conn *c)
{
	uint32_t rto = c->rto_us ? c->rto_us / TICK_US : RTO_FIRST_TICKS;

	*p++ = ' ';
	p = sp_put_u64(p, rto);
	*p++ = ' ';
	p = sp_put_u64(p, c->ato_us / TICK_US);
	p = sp_put_bytes(p, " 0 ", 3);
	p = sp_put_u64(p, c->cwnd ? c->cwnd : CWND_FIRST);
	*p++ = ' ';
	if (c->state == SP_TCP_LISTEN)
		*p++ = '0'; /* longest queue of connections by TCP Fast Open */
	else if (!c->ssthresh || c->ssthresh >= SSTHRESH_NONE)
		p = sp_put_bytes(p, "-1", 2);
	else
		p = sp_put_u64(p, c->ssthresh);
	return p;
}

/* Writes up to 64 bytes more than it says. */
static inline char *end_line(char *p, char *start, size_t width)
{
	static const char blank[65] = "                                "
				      "                                ";
	size_t len = (size_t)(p - start);

	if (len < width) {
		for (; len < width; len += 64)
			memcpy(start + len, blank, 64);
		p = start + width;
	}
	*p++ = '\n';
	return p;
}

/* A half-open connection has no socket, one that waits has no more than one. */
static char *put_mini(char *p, const struct sp_conn *c, uint64_t ticks)
{
	bool is_open = c->state == SP_TCP_SYN_RECV;

	p = put_state(p, c->state, 0, 0,
		      is_open ? SP_CONN_TIMER_RETRANSMIT
			      : SP_CONN_TIMER_TIME_WAIT,
		      ticks, is_open ? c->retransmits : 0);
	return put_owner(p, is_open ? c->uid : 0, 0, 0, is_open ? 0 : 3);
}

static char *put_full(char *p, const struct sp_conn *c, uint64_t ticks)
{
	bool is_timed = c->timer != SP_CONN_TIMER_NONE;

	/* The length that a listener's queue may reach is not in this file. */
	p = put_state(p, c->state, c->state == SP_TCP_LISTEN ? 0 : c->tx_queue,
		      c->rx_queue, c->timer, is_timed ? ticks : 0,
		      c->retransmits);
	p = put_owner(p, c->uid, c->probes, c->inode, is_timed ? 2 : 1);
	return put_windows(p, c);
}

char *sp_put_tcp_row(char *p, uint64_t sl, const struct sp_conn *conn,
		     uint64_t now_ns)
{
	char *start = p;
	uint64_t ticks = 0;

	if (conn->expires_ns > now_ns)
		ticks = (conn->expires_ns - now_ns) / TICK_NS;
	p = sp_put_u64_right(p, sl, 4);
	*p++ = ':';
	*p++ = ' ';
	p = put_ends(p, &conn->key);
	if (conn->mini || conn->state == SP_TCP_TIME_WAIT)
		p = put_mini(p, conn, ticks);
	else
		p = put_full(p, conn, ticks);
	return end_line(p, start, conn->key.family == AF_INET6 ? 0 : TCP_WIDTH);
}

char *sp_put_udp_row(char *p, const struct sp_conn *conn)
{
	char *start = p;

	p = sp_put_u64_right(p, conn->key.local_port, 5);
	*p++ = ':';
	*p++ = ' ';
	p = put_ends(p, &conn->key);
	p = put_state(p, conn->state, conn->tx_queue, conn->rx_queue, 0, 0, 0);
	p = put_owner(p, conn->uid, 0, conn->inode, 2);
	*p++ = ' ';
	p = sp_put_u64(p, conn->drops);
	return end_line(p, start, conn->key.family == AF_INET6 ? 0 : UDP_WIDTH);
}
