/* SPDX-License-Identifier: MIT */
/*
 * observe/forward.c - see forward.h.
 *
 * A packet is forwarded unless "no route" follows: that waits in pending.c. The
 * kernel counts ForwDatagrams before it compares the size with the MTU, so that
 * a packet that is then refused as too big counts too.
 *
 * A fragment that leaves exactly as it came was only passed on. One that is
 * shorter than the packet that came with the same offset is the first piece of
 * what this host cut, and the pieces behind it belong to the same cut; the last
 * cuts are remembered in a small table where newer ones replace older ones.
 *
 * Rules: net/ipv4/ip_forward.c, net/ipv4/ip_output.c (ip_do_fragment),
 * net/ipv6/ip6_output.c (ip6_forward).
 */
#include "observe/forward.h"

#include <errno.h>
#include <stdlib.h>

#include "observe/flow.h"
#include "observe/host.h"
#include "observe/pending.h"
#include "packet/ip.h"

#define NR_CUTS 1024u

struct forward {
	struct sp_hash_key key;
	uint64_t cuts[NR_CUTS]; /* names of datagrams being cut */
};

int forward_create(struct forward **ret_forward)
{
	struct forward *forward = calloc(1, sizeof(*forward));

	if (!forward)
		return -ENOMEM;
	sp_hash_key_init(&forward->key);
	*ret_forward = forward;
	return 0;
}

void forward_destroy(struct forward *forward)
{
	free(forward);
}

/* What an error quotes and what tells fragments apart: protocol, id, offset. */
static uint64_t tag4(const uint8_t *ip)
{
	return (uint64_t)(sp_get_be16(ip + 6) & 0x1fff) << 32 |
	       (uint64_t)sp_get_be16(ip + 4) << 16 | ip[9];
}

/* The header without its hop limit, and what follows it. */
static uint64_t tag6(const uint8_t *ip, uint32_t cap_len)
{
	uint64_t tag = (uint64_t)sp_get_be32(ip) << 24 |
		       (uint64_t)sp_get_be16(ip + 4) << 8 | ip[6];

	if (cap_len >= 48)
		tag ^= flow_load(ip + 40, 8) * 0x9e3779b97f4a7c15ull;
	return tag & 0x00ffffffffffffffull;
}

void forward4_input(struct sp_observer *o, const struct packet *packet)
{
	if (!packet->to_host)
		return;
	if (packet->data[8] <= 1) {
		NET_INC(o, ip, InHdrErrors);
		return;
	}
	pending_add(o, PENDING_FORWARD, packet->data + 12, false,
		    tag4(packet->data), packet->len);
}

static bool is_link_local(const uint8_t *addr)
{
	return addr[0] == 0xfe && (addr[1] & 0xc0) == 0x80;
}

void forward6_input(struct sp_observer *o, const struct packet *packet)
{
	const uint8_t *src = packet->data + 8;

	if (!packet->to_host)
		return;
	if (packet->data[7] <= 1) {
		NET6_INC(o, ip6, InHdrErrors);
		return;
	}
	/* Not to be carried beyond the link. */
	if (is_link_local(src) || is_zero(src, 16)) {
		NET6_INC(o, ip6, InAddrErrors);
		return;
	}
	pending_add(o, PENDING_FORWARD6, src, true,
		    tag6(packet->data, packet->cap_len), packet->len);
}

void forward6_foreign(struct sp_observer *o, const struct packet *packet)
{
	pending_add(o, PENDING_FOREIGN6, packet->data + 8, true,
		    tag6(packet->data, packet->cap_len), packet->len);
}

void forward4_no_route(struct sp_observer *o, const uint8_t *quote)
{
	pending_answer(o, PENDING_FORWARD, quote + 12, false, tag4(quote));
}

void forward6_no_route(struct sp_observer *o, const uint8_t *quote,
		       uint32_t quote_len)
{
	pending_answer(o, o->forwards ? PENDING_FORWARD6 : PENDING_FOREIGN6,
		       quote + 8, true, tag6(quote, quote_len));
}

static uint64_t *cut_of(struct forward *forward, const uint8_t *ip,
			uint64_t *ret_name)
{
	*ret_name = flow_hash(&forward->key, ip + 12, ip + 16, false,
			      tag4(ip) & 0xffffffff);
	return &forward->cuts[*ret_name % NR_CUTS];
}

void forward4_fragment_output(struct sp_observer *o,
			      const struct packet *packet)
{
	uint32_t came_len;
	uint64_t name;
	uint64_t *cut = cut_of(o->forward, packet->data, &name);

	if (pending_find(o, PENDING_FORWARD, packet->data + 12, false,
			 tag4(packet->data), &came_len)) {
		if (came_len <= packet->len)
			return;
		NET_INC(o, ip, FragOKs);
		*cut = name;
	}
	if (*cut == name)
		NET_INC(o, ip, FragCreates);
}
