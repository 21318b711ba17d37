// SPDX-License-Identifier: MIT
/*
 * fuzz/fuzz_frame.c - hostile frames through everything in packet/.
 *
 * An input is one octet that picks the link type, then frames in the order in
 * which they passed:
 *
 *	octet 0     seconds since the one before
 *	octet 1     octets that the wire had more than the capture
 *	octets 2-3  captured octets, low octet first; as many as are left, at most
 *
 * Each frame is decoded, its headers are checked and summed, and fragments go
 * to reassembly, much as observe/ does it. What must hold for any input is
 * checked: nothing is read outside the frame, all ways of summing agree, a whole
 * datagram is no longer than one can be, and no octet and no queue is lost.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <statplane/frame.h>

#include "packet/checksum.h"
#include "packet/frame.h"
#include "packet/ip.h"
#include "packet/reasm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SECOND UINT64_C(1000000000)

enum {
	MAX_QUEUES = 4,
	MAX_BYTES = 1 << 17,
	IPV4_LEN = 20,
	IPV6_LEN = 40,
	FRAGMENT_LEN = 8,
};

static const uint32_t linktypes[] = {
	SP_LINKTYPE_ETHERNET,
	SP_LINKTYPE_NULL,
	SP_LINKTYPE_RAW_DLT,
	SP_LINKTYPE_RAW_OPENBSD,
	SP_LINKTYPE_RAW,
	SP_LINKTYPE_LOOP,
	SP_LINKTYPE_LINUX_SLL,
	SP_LINKTYPE_IPV4,
	SP_LINKTYPE_IPV6,
	SP_LINKTYPE_LINUX_SLL2,
	9, /* PPP: not known */
};

struct world {
	uint32_t linktype;
	struct sp_reasm *reasm4;
	struct sp_reasm *reasm6;
	uint64_t now_ns;
};

static void must(bool holds)
{
	if (!holds)
		abort();
}

static struct sp_reasm *table(bool ipv6)
{
	struct sp_reasm_opts opts = {
		.ipv6 = ipv6,
		.timeout_ns = (ipv6 ? 60 : 30) * SECOND,
		.max_bytes = MAX_BYTES,
		.max_queues = MAX_QUEUES,
		.max_distance = ipv6 ? 0 : 4,
	};
	struct sp_reasm *reasm;

	must(sp_reasm_create(&opts, &reasm) == 0);
	return reasm;
}

/* The sum by every way of adding; whole, and in two pieces. */
static uint16_t sum(uint64_t start, const uint8_t *data, size_t len)
{
	uint16_t expected = sp_csum_fold(sp_csum_add(start, data, len));
	size_t half = len / 4 * 2;
	uint64_t pieces = sp_csum_add(start, data, half);

	for (enum sp_csum_kind kind = SP_CSUM_SCALAR; kind <= SP_CSUM_AVX512;
	     kind++)
		if (sp_csum_kind_usable(kind))
			must(sp_csum_fold(sp_csum_add_kind(kind, start, data,
							   len)) == expected);
	pieces = sp_csum_add(pieces, data + half, len - half);
	must(sp_csum_fold(pieces) == expected);
	return expected;
}

/* As a branch, so that the fuzzer sees a good sum. */
static bool sum_good(uint64_t start, const uint8_t *data, size_t len)
{
	return sum(start, data, len) == 0xffff;
}

static uint32_t nr_queues(const struct sp_reasm *reasm)
{
	uint32_t queues, bytes;

	sp_reasm_held(reasm, &queues, &bytes);
	must(queues <= MAX_QUEUES && bytes <= MAX_BYTES);
	must(queues > 0 || bytes == 0);
	must((queues == 0) == (sp_reasm_next_expiry_ns(reasm) == UINT64_MAX));
	return queues;
}

static void check_datagram(const struct sp_datagram *datagram)
{
	must(datagram->len > 0 && datagram->len <= 65535);
	must(datagram->cap_len <= datagram->len);
	must(datagram->ecn <= 3);
	sum(0, datagram->data, datagram->cap_len);
}

static void expire(struct world *world, struct sp_reasm *reasm)
{
	struct sp_reasm_expired expired;

	while (sp_reasm_expire(reasm, world->now_ns, &expired))
		must(expired.has_first || expired.user == 0);
	must(sp_reasm_next_expiry_ns(reasm) > world->now_ns);
}

static void reassemble(struct world *world, struct sp_reasm *reasm,
		       struct sp_fragment *frag)
{
	struct sp_reasm_result result;
	uint32_t before, opened;

	frag->time_ns = world->now_ns;
	frag->user = world->now_ns;
	expire(world, reasm);
	before = nr_queues(reasm);
	sp_reasm_add(reasm, frag, &result);
	/* at most one was opened, and none was lost */
	opened = nr_queues(reasm) + result.nr_evicted +
		 (result.verdict != SP_REASM_HELD) - before;
	must(opened <= 1);
	if (result.verdict == SP_REASM_WHOLE)
		check_datagram(&result.datagram);
	else if (result.verdict == SP_REASM_HELD)
		must(nr_queues(reasm) > 0);
}

static void eat_ipv4_fragment(struct world *world, const uint8_t *ip,
			      uint32_t cap_len, uint32_t len)
{
	uint32_t head_len = (ip[0] & 15u) * 4;
	uint16_t frag_off = sp_get_be16(ip + 6);
	struct sp_fragment frag = {
		.addrs = ip + 12,
		.id = sp_get_be16(ip + 4),
		.protocol = ip[9],
		.ecn = ip[1] & 3,
		.more = frag_off & 0x2000,
		.off = (frag_off & 0x1fffu) * 8,
		.len = len - head_len,
		.cap_len = cap_len - head_len,
		.head_len = head_len,
		.data = ip + head_len,
	};

	reassemble(world, world->reasm4, &frag);
}

static void eat_ipv4(struct world *world, const uint8_t *ip, uint32_t cap_len,
		     uint32_t len)
{
	uint32_t head_len, total_len;

	if (cap_len < IPV4_LEN || ip[0] >> 4 != 4)
		return;
	head_len = (ip[0] & 15u) * 4;
	total_len = sp_get_be16(ip + 2);
	if (head_len < IPV4_LEN || head_len > cap_len || total_len < head_len ||
	    total_len > len)
		return;
	if (cap_len > total_len)
		cap_len = total_len;
	sum_good(0, ip, head_len);
	if (sp_ipv4_options_check(ip + IPV4_LEN, head_len - IPV4_LEN) ==
	    SP_IPV4_OPTIONS_MALFORMED)
		return;
	if (sp_get_be16(ip + 6) & 0x3fff)
		eat_ipv4_fragment(world, ip, cap_len, total_len);
	else
		sum_good(sp_csum_pseudo4(ip + 12, ip[9], total_len - head_len),
			 ip + head_len, cap_len - head_len);
}

/* @off: of the fragment header, from the fixed header's end. */
static void eat_ipv6_fragment(struct world *world, const uint8_t *ip,
			      uint32_t off, uint32_t cap_len, uint32_t len)
{
	const uint8_t *header = ip + IPV6_LEN + off;
	uint32_t before = off + FRAGMENT_LEN;
	struct sp_fragment frag = {
		.addrs = ip + 8,
		.head_len = off,
	};

	if (cap_len < before)
		return;
	frag.id = sp_get_be32(header + 4);
	frag.protocol = header[0];
	frag.ecn = ip[1] >> 4 & 3;
	frag.more = header[3] & 1;
	frag.off = sp_get_be16(header + 2) & 0xfff8u;
	frag.len = len - before;
	frag.cap_len = cap_len - before;
	frag.data = header + FRAGMENT_LEN;
	frag.time_ns = world->now_ns;
	if (frag.off + frag.len > 65535 || (frag.more && frag.len % 8 != 0))
		must(sp_reasm_touch(world->reasm6, &frag) <= 1);
	else
		reassemble(world, world->reasm6, &frag);
}

/* Options headers that are good, up to a fragment header. */
static void walk_ipv6(struct world *world, const uint8_t *ip, uint32_t cap_len,
		      uint32_t len)
{
	const uint8_t *payload = ip + IPV6_LEN;
	uint8_t type = ip[6];
	size_t off = 0, header_len;

	while (off < cap_len) {
		enum sp_ipv6_options_kind kind = SP_IPV6_DSTOPTS;

		if (type == SP_PROTO_FRAGMENT) {
			eat_ipv6_fragment(world, ip, (uint32_t)off, cap_len,
					  len);
			return;
		}
		if (type == SP_PROTO_HOPOPTS)
			kind = sp_get_be16(ip + 4) ? SP_IPV6_HOPOPTS
						   : SP_IPV6_HOPOPTS_JUMBO;
		else if (type != SP_PROTO_DSTOPTS)
			return;
		if (!sp_ipv6_options_check(payload + off, cap_len - off, kind,
					   &header_len))
			return;
		must(header_len >= 8 && header_len <= cap_len - off);
		type = payload[off];
		off += header_len;
	}
}

static void eat_ipv6(struct world *world, const uint8_t *ip, uint32_t cap_len,
		     uint32_t len)
{
	uint8_t upper;
	uint32_t payload_len;
	bool frag;
	long off;

	if (cap_len < IPV6_LEN || ip[0] >> 4 != 6)
		return;
	payload_len = sp_get_be16(ip + 4);
	if (payload_len > len - IPV6_LEN)
		return;
	cap_len -= IPV6_LEN;
	if (cap_len > payload_len)
		cap_len = payload_len;
	upper = ip[6];
	off = sp_ipv6_skip_headers(ip + IPV6_LEN, cap_len, &upper, &frag);
	must(off >= -1 && off <= (long)cap_len + 2048);
	if (off >= 0 && off <= (long)cap_len && !frag)
		sum_good(sp_csum_pseudo6(ip + 8, upper,
					 payload_len - (uint32_t)off),
			 ip + IPV6_LEN + off, cap_len - (size_t)off);
	walk_ipv6(world, ip, cap_len, payload_len);
}

static void eat_frame(struct world *world, const struct sp_frame *frame)
{
	struct sp_link link;
	const uint8_t *l3;

	if (!sp_link_decode(world->linktype, frame, &link))
		return;
	must(sp_linktype_known(world->linktype));
	must(link.l3_off <= frame->cap_len);
	must(link.nr_vlans <= link.nr_tags && link.nr_tags <= SP_LINK_MAX_TAGS);
	must((link.nr_tags == 0) == (link.vlan_id == SP_VLAN_NONE));
	must((link.nr_vlans == 0) ==
	     (link.vlan_id == 0 || link.vlan_id == SP_VLAN_NONE));
	l3 = frame->data + link.l3_off;
	if (link.ethertype == 0x0800)
		eat_ipv4(world, l3, frame->cap_len - link.l3_off,
			 frame->len - link.l3_off);
	else if (link.ethertype == 0x86dd)
		eat_ipv6(world, l3, frame->cap_len - link.l3_off,
			 frame->len - link.l3_off);
}

/* The next frame in memory of just its length. Return: octets of input used. */
static size_t eat_record(struct world *world, const uint8_t *data, size_t size)
{
	struct sp_frame frame = {0};
	size_t len = data[2] | (size_t)data[3] << 8;
	uint8_t *copy;

	if (len > size - 4)
		len = size - 4;
	copy = malloc(len ? len : 1);
	must(copy != NULL);
	memcpy(copy, data + 4, len);
	world->now_ns += data[0] * SECOND;
	frame.data = copy;
	frame.time_ns = world->now_ns;
	frame.cap_len = (uint32_t)len;
	frame.len = (uint32_t)len + data[1];
	eat_frame(world, &frame);
	free(copy);
	return 4 + len;
}

static void close_table(struct world *world, struct sp_reasm *reasm)
{
	world->now_ns += 60 * SECOND;
	expire(world, reasm);
	must(nr_queues(reasm) == 0);
	sp_reasm_destroy(reasm);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world world = {0};

	if (size == 0)
		return 0;
	world.linktype =
		linktypes[data[0] % (sizeof(linktypes) / sizeof(*linktypes))];
	world.reasm4 = table(false);
	world.reasm6 = table(true);
	for (data++, size--; size >= 4;) {
		size_t used = eat_record(&world, data, size);

		data += used;
		size -= used;
	}
	close_table(&world, world.reasm4);
	close_table(&world, world.reasm6);
	return 0;
}
