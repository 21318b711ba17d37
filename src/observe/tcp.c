/* SPDX-License-Identifier: MIT */
/*
 * observe/tcp.c - what one TCP segment tells by itself.
 *
 * Every sent segment counts as OutSegs here: which of them are retransmissions,
 * only the state of connections tells.
 *
 * Rules: net/ipv4/tcp_ipv4.c (tcp_v4_rcv), net/ipv6/tcp_ipv6.c,
 * net/ipv4/tcp_input.c (tcp_validate_incoming).
 */
#include "observe/connections.h"
#include "observe/observer.h"
#include "observe/verify.h"
#include "packet/ip.h"

#define HEADER_LEN 20

/* @local_first: the host's own address and port come first, that is, it sent
 * the segment. */
static struct tcp_end end_of(const struct payload *payload, bool local_first)
{
	const uint8_t *src = payload->addrs;
	const uint8_t *dst = src + (payload->ipv6 ? 16 : 4);
	uint16_t sport = sp_get_be16(payload->data);
	uint16_t dport = sp_get_be16(payload->data + 2);

	return (struct tcp_end){
		.local = local_first ? src : dst,
		.remote = local_first ? dst : src,
		.local_port = local_first ? sport : dport,
		.remote_port = local_first ? dport : sport,
		.ipv6 = payload->ipv6,
	};
}

void tcp_input(struct sp_observer *o, const struct payload *payload)
{
	uint32_t header_len;
	struct tcp_end end;

	if (!payload->to_host) /* not to the host's own MAC address */
		return;
	NET_INC(o, tcp, InSegs);
	if (payload->len < HEADER_LEN)
		return;
	if (payload->cap_len < HEADER_LEN) {
		o->stats.nr_unchecked++;
		return;
	}
	header_len = (payload->data[12] >> 4) * 4u;
	if (header_len < HEADER_LEN) {
		NET_INC(o, tcp, InErrs);
		return;
	}
	if (header_len > payload->len)
		return;
	if (!verify_pseudo(o, payload, 16, payload->len, payload->len)) {
		NET_INC(o, tcp, InCsumErrors);
		NET_INC(o, tcp, InErrs);
		return;
	}
	end = end_of(payload, false);
	if (tcp_received(o, &end, payload->data[13]))
		NET_INC(o, tcp, InErrs);
}

void tcp_output(struct sp_observer *o, const struct payload *payload)
{
	struct tcp_end end;

	NET_INC(o, tcp, OutSegs);
	if (payload->cap_len < HEADER_LEN)
		return;
	if (payload->data[13] & TCP_RST)
		NET_INC(o, tcp, OutRsts);
	end = end_of(payload, true);
	tcp_sent(o, &end, payload->data[13]);
}
