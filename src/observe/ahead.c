/* SPDX-License-Identifier: MIT */
/*
 * observe/ahead.c - see ahead.h.
 */
#include "observe/ahead.h"

#include <netinet/in.h>
#include <string.h>

#include "observe/tcp.h"
#include "packet/ip.h"

#define ETHERNET_LEN 14u
#define IPV4_LEN     20u
#define IPV6_LEN     40u
#define FRAGMENT     0x3fff /* more to come, or not the first */

enum ethertype {
	TYPE_IPV4 = 0x0800,
	TYPE_IPV6 = 0x86dd,
};

/* Return: the segment, NULL if it is not a plain one of TCP. */
static const uint8_t *find_segment(const struct sp_frame *frame,
				   const uint8_t **ret_addrs, bool *ret_ipv6)
{
	const uint8_t *ip = frame->data + ETHERNET_LEN;
	uint32_t off;

	if (frame->cap_len < ETHERNET_LEN + IPV6_LEN)
		return NULL;
	switch (sp_get_be16(frame->data + 12)) {
	case TYPE_IPV4:
		off = (ip[0] & 0xf) * 4u;
		if (ip[9] != SP_PROTO_TCP || off < IPV4_LEN ||
		    sp_get_be16(ip + 6) & FRAGMENT)
			return NULL;
		*ret_addrs = ip + 12;
		*ret_ipv6 = false;
		break;
	case TYPE_IPV6:
		off = IPV6_LEN;
		if (ip[6] != SP_PROTO_TCP)
			return NULL;
		*ret_addrs = ip + 8;
		*ret_ipv6 = true;
		break;
	default:
		return NULL;
	}
	if (frame->cap_len < ETHERNET_LEN + off + 4)
		return NULL;
	return ip + off;
}

static void fill_key(struct sp_conn_key *key, const uint8_t *addrs,
		     const uint8_t *segment, bool ipv6, bool sent)
{
	uint16_t sport = sp_get_be16(segment), dport = sp_get_be16(segment + 2);
	uint8_t *src = sent ? key->local : key->remote;
	uint8_t *dst = sent ? key->remote : key->local;

	*key = (struct sp_conn_key){
		.local_port = sent ? sport : dport,
		.remote_port = sent ? dport : sport,
		.family = ipv6 ? AF_INET6 : AF_INET,
		.protocol = IPPROTO_TCP,
	};
	if (ipv6) {
		memcpy(src, addrs, 16);
		memcpy(dst, addrs + 16, 16);
	} else {
		memcpy(src, addrs, 4);
		memcpy(dst, addrs + 4, 4);
	}
}

static void make_keys(const struct sp_observer *o, struct ahead *ahead,
		      const struct sp_frame *frames, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const uint8_t *addrs, *segment;
		bool ipv6;

		if (frames[i].direction != SP_DIRECTION_UNKNOWN)
			continue;
		segment = find_segment(&frames[i], &addrs, &ipv6);
		if (!segment)
			continue;
		fill_key(&ahead->keys[ahead->nr], addrs, segment, ipv6,
			 link_is_own_mac(o, frames[i].data + 6));
		ahead->transports[ahead->nr++] = segment;
	}
}

static void fetch_rows(const struct sp_observer *o, const struct ahead *ahead)
{
	const struct range *pool = o->tcp->ranges.pool;

	for (unsigned i = 0; i < ahead->nr; i++) {
		const char *row = (const char *)ahead->rows[i];

		if (!row)
			continue;
		__builtin_prefetch(row + 64, 1);
		__builtin_prefetch(row + 128, 1);
		__builtin_prefetch(row + 192, 1);
	}
	for (unsigned i = 0; i < ahead->nr; i++) {
		const struct conn *row =
			(const struct conn *)(const void *)ahead->rows[i];

		if (row && row->sent_tail)
			__builtin_prefetch(&pool[row->sent_tail], 1);
	}
}

void ahead_look(struct sp_observer *o, const struct sp_frame *frames, size_t nr)
{
	struct ahead *ahead = &o->tcp->ahead;

	ahead->nr = ahead->next = 0;
	if (!o->is_plain)
		return;
	make_keys(o, ahead, frames, nr);
	sp_table_lookup_batch(o->tcp->conns->table, ahead->keys,
			      sizeof(ahead->keys[0]), ahead->nr, ahead->hashes,
			      ahead->rows);
	ahead->nr_opened = o->tcp->conns->stats.nr_opened;
	fetch_rows(o, ahead);
}

bool ahead_find(struct sp_observer *o, const uint8_t *transport,
		const struct sp_conn_key **ret_key, uint64_t *ret_hash,
		struct conn **ret_conn)
{
	struct ahead *ahead = &o->tcp->ahead;
	const struct sp_conn_table *conns = o->tcp->conns;
	unsigned i = ahead->next;
	struct conn *conn;

	/* Those of frames that did not get as far as this are passed over. */
	while (i < ahead->nr && ahead->transports[i] != transport)
		i++;
	if (i == ahead->nr)
		return false;
	ahead->next = i + 1;
	conn = (struct conn *)(void *)ahead->rows[i];
	*ret_key = &ahead->keys[i];
	*ret_hash = ahead->hashes[i];
	if (conn ? !conn_is_alive(conn)
		 : conns->stats.nr_opened != ahead->nr_opened)
		conn = conn_find(conns, ahead->hashes[i], &ahead->keys[i]);
	*ret_conn = conn;
	return true;
}
