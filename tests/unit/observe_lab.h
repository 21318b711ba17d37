/* SPDX-License-Identifier: MIT */
/*
 * observe_lab.h - a host under observation, packets by hand, and expectations.
 *
 * lab_open() makes the host B: MAC_B, 10.0.0.2/24 and fd00::2/64. receive() and
 * send_out() pass one packet in an Ethernet frame; expect() then names every
 * counter that must have moved since the last expect(), and no other may have:
 *
 *	receive(ip4((struct ip4){ .version = 5 }));
 *	expect("Ip.InReceives IpExt.InOctets=28 Ip.InHdrErrors");
 *
 * A name alone means 1. Counters of the device that repeat those of the
 * namespace (Ip6, Icmp6) are held to be equal. net/dev and softnet_stat are left
 * to expect_device(). Packets live until some thousand others were made.
 */
#ifndef OBSERVE_LAB_H
#define OBSERVE_LAB_H

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <statplane/net.h>
#include <statplane/observe.h>
#include <statplane/plane.h>

#include "packet/checksum.h"

#define NR_NET_CELLS (sizeof(struct sp_net_cells) / 8)
#define NR_DEV_CELLS (sizeof(struct sp_netdev_cells) / 8)
#define MS_NS        1000000ull
#define SECOND_NS    1000000000ull

static const uint8_t MAC_A[6] = {2, 0, 0, 0, 0, 0xa};
static const uint8_t MAC_B[6] = {2, 0, 0, 0, 0, 0xb};
static const uint8_t MAC_C[6] = {2, 0, 0, 0, 0, 0xc};
static const uint8_t MAC_ALL[6] = {255, 255, 255, 255, 255, 255};
static const uint8_t MAC_GROUP[6] = {1, 0, 0x5e, 0, 0, 1};

#define A4 0x0a000001u /* a neighbour */
#define B4 0x0a000002u /* the host */
#define C4 0x0a000103u /* beyond */

static const uint8_t A6[16] = {0xfd, [15] = 1};
static const uint8_t B6[16] = {0xfd, [15] = 2};
static const uint8_t C6[16] = {0xfd, 1, [15] = 3};

struct lab {
	struct sp_plane *plane;
	struct sp_net *net;
	struct sp_netdev *dev;
	struct sp_lane lane;
	struct sp_observer *observer;
	uint64_t now_ns;
	uint64_t net_before[NR_NET_CELLS];
	uint64_t dev_before[NR_DEV_CELLS];
	uint64_t now_cells[NR_NET_CELLS];
	uint64_t expected[NR_NET_CELLS];
};

static struct lab lab;

struct bytes {
	const uint8_t *data;
	uint32_t len;
};

/* Memory of packets: used in turn. */
static inline uint8_t *lab_memory(uint32_t len)
{
	static uint8_t memory[1 << 20];
	static size_t used;
	uint8_t *got;

	if (used + len > sizeof(memory))
		used = 0;
	got = memory + used;
	used += len;
	memset(got, 0, len);
	return got;
}

static inline void put(uint8_t *p, struct bytes bytes)
{
	if (bytes.len)
		memcpy(p, bytes.data, bytes.len);
}

static inline void put16(uint8_t *p, unsigned value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}

static inline void put32(uint8_t *p, uint32_t value)
{
	put16(p, value >> 16);
	put16(p + 2, value & 0xffff);
}

/*
 * Names of cells.
 */
struct cell_name {
	const char *name;
	size_t off;
};

#define LAB_CELL(group, item)     SP_NET_CELL(group, item)
#define CELL_COUNTER(group, item) {#group "." #item, LAB_CELL(LAB_GROUP, item)},
#define CELL_GAUGE(group, item)   CELL_COUNTER(group, item)
#define CELL_CONSTANT(group, item)
#define SP_ITEM(group, name, kind, ...) CELL_##kind(group, name)
#define SP_ICMP_TYPE(...)
#define SP_ICMP6_TYPE(...)

static const struct cell_name lab_names[] = {
#define LAB_GROUP ip
#include <statplane/kernel/ip.def>
#undef LAB_GROUP
#define LAB_GROUP ipext
#include <statplane/kernel/ipext.def>
#undef LAB_GROUP
#define LAB_GROUP icmp
#include <statplane/kernel/icmp.def>
#undef LAB_GROUP
#define LAB_GROUP tcp
#include <statplane/kernel/tcp.def>
#undef LAB_GROUP
#define LAB_GROUP tcpext
#include <statplane/kernel/tcpext.def>
#undef LAB_GROUP
#define LAB_GROUP udp
#include <statplane/kernel/udp.def>
#undef LAB_GROUP
#define LAB_GROUP udplite
#include <statplane/kernel/udplite.def>
#undef LAB_GROUP
#define LAB_GROUP ip6
#include <statplane/kernel/ip6.def>
#undef LAB_GROUP
#define LAB_GROUP icmp6
#include <statplane/kernel/icmp6.def>
#undef LAB_GROUP
#define LAB_GROUP udp6
#include <statplane/kernel/udp6.def>
#undef LAB_GROUP
#define LAB_GROUP udplite6
#include <statplane/kernel/udplite6.def>
#undef LAB_GROUP
#define LAB_GROUP sockstat
#include <statplane/kernel/sockstat.def>
#undef LAB_GROUP
};

#undef SP_ITEM
#undef SP_ICMP_TYPE
#undef SP_ICMP6_TYPE

/* Counters by ICMP type: a name and a number. */
static const struct cell_name lab_arrays[] = {
	{"IcmpMsg.InType", SP_NET_CELL(icmpmsg, InType)},
	{"IcmpMsg.OutType", SP_NET_CELL(icmpmsg, OutType)},
	{"Icmp6.InType", SP_NET_CELL(icmp6msg, InType)},
	{"Icmp6.OutType", SP_NET_CELL(icmp6msg, OutType)},
};

#define NR_NAMES  (sizeof(lab_names) / sizeof(lab_names[0]))
#define NR_ARRAYS (sizeof(lab_arrays) / sizeof(lab_arrays[0]))

/* Return: NULL for cells that are not looked at here. */
static inline const char *cell_name(size_t off)
{
	static char name[40];

	for (size_t i = 0; i < NR_ARRAYS; i++) {
		size_t first_off = lab_arrays[i].off;

		if (off < first_off || off >= first_off + 256 * 8)
			continue;
		snprintf(name, sizeof(name), "%s%zu", lab_arrays[i].name,
			 (off - first_off) / 8);
		return name;
	}
	for (size_t i = 0; i < NR_NAMES; i++)
		if (lab_names[i].off == off)
			return lab_names[i].name;
	return NULL;
}

static inline size_t cell_index(const char *name)
{
	for (size_t i = 0; i < NR_ARRAYS; i++) {
		size_t len = strlen(lab_arrays[i].name);

		if (!strncmp(name, lab_arrays[i].name, len))
			return lab_arrays[i].off / 8 +
			       strtoul(name + len, NULL, 10);
	}
	for (size_t i = 0; i < NR_NAMES; i++)
		if (!strcmp(lab_names[i].name, name))
			return lab_names[i].off / 8;
	fail_msg("no counter %s", name);
	return 0;
}

/*
 * The host.
 */
static inline void lab_fold(uint64_t *net, uint64_t *dev)
{
	sp_percpu_fold(lab.plane, sp_net_off(lab.net), NR_NET_CELLS, net);
	sp_percpu_fold(lab.plane, sp_netdev_off(lab.dev), NR_DEV_CELLS, dev);
}

static inline void lab_remember(void)
{
	lab_fold(lab.net_before, lab.dev_before);
}

static inline void lab_observe(const struct sp_observer_opts *opts)
{
	sp_observer_destroy(lab.observer);
	lab.observer = NULL;
	assert_int_equal(sp_observer_create(opts, &lab.observer), 0);
	lab_remember();
}

/* What lab_open() uses; a test may change it and call lab_observe(). */
static inline struct sp_observer_opts lab_opts(void)
{
	static const struct sp_addr addrs[] = {
		{AF_INET, 24, {10, 0, 0, 2}},
		{AF_INET6, 64, {0xfd, [15] = 2}},
	};
	static const struct sp_listen listens[] = {
		{IPPROTO_UDP, 7},
		{IPPROTO_UDPLITE, 7},
		{IPPROTO_TCP, 80},
	};

	return (struct sp_observer_opts){
		.sz = sizeof(struct sp_observer_opts),
		.net = lab.net,
		.dev = lab.dev,
		.lane = &lab.lane,
		.linktype = SP_LINKTYPE_ETHERNET,
		.mac = MAC_B,
		.addrs = addrs,
		.nr_addrs = 2,
		.listens = listens,
		.nr_listens = 3,
	};
}

static inline int lab_open(void **state)
{
	struct sp_observer_opts opts;

	(void)state;
	memset(&lab, 0, sizeof(lab));
	lab.now_ns = 1000 * SECOND_NS;
	assert_int_equal(sp_plane_create(NULL, &lab.plane), 0);
	assert_int_equal(sp_net_create(lab.plane, "lab", NULL, &lab.net), 0);
	assert_int_equal(sp_netdev_create(lab.net, "eth0", 0, MAC_B, &lab.dev),
			 0);
	assert_int_equal(sp_lane_claim(lab.plane, &lab.lane), 0);
	opts = lab_opts();
	lab_observe(&opts);
	return 0;
}

static inline int lab_close(void **state)
{
	(void)state;
	sp_observer_destroy(lab.observer);
	sp_lane_release(&lab.lane);
	sp_netdev_destroy(lab.dev);
	sp_net_destroy(lab.net);
	sp_plane_close(lab.plane);
	return 0;
}

static inline void wait_ns(uint64_t ns)
{
	lab.now_ns += ns;
	sp_observer_advance(lab.observer, lab.now_ns);
}

/* One frame, a millisecond after the last. */
static inline void pass_frame(struct bytes frame, uint32_t cap_len)
{
	/* A copy of just this size, so that a sanitizer sees every read
	 * behind its end. */
	uint8_t *copy = malloc(cap_len ? cap_len : 1);
	struct sp_frame sp_frame = {
		.data = copy,
		.cap_len = cap_len,
		.len = frame.len,
	};

	assert_non_null(copy);
	memcpy(copy, frame.data, cap_len);
	lab.now_ns += MS_NS;
	sp_frame.time_ns = lab.now_ns;
	sp_observer_frames(lab.observer, &sp_frame, 1);
	free(copy);
}

static inline struct bytes ethernet(const uint8_t *dst, const uint8_t *src,
				    unsigned type, struct bytes payload)
{
	uint8_t *data = lab_memory(payload.len + 14);

	memcpy(data, dst, 6);
	memcpy(data + 6, src, 6);
	put16(data + 12, type);
	put(data + 14, payload);
	return (struct bytes){data, payload.len + 14};
}

static inline unsigned ethertype_of(struct bytes packet)
{
	return packet.len && packet.data[0] >> 4 == 6 ? 0x86dd : 0x0800;
}

static inline void receive_in(const uint8_t *dst_mac, struct bytes packet)
{
	struct bytes frame =
		ethernet(dst_mac, MAC_A, ethertype_of(packet), packet);

	pass_frame(frame, frame.len);
}

static inline void receive(struct bytes packet)
{
	receive_in(MAC_B, packet);
}

/* Of which only the first @cap_len octets were captured. */
static inline void receive_cut(struct bytes packet, uint32_t cap_len)
{
	pass_frame(ethernet(MAC_B, MAC_A, ethertype_of(packet), packet),
		   14 + cap_len);
}

static inline void send_out(struct bytes packet)
{
	struct bytes frame =
		ethernet(MAC_A, MAC_B, ethertype_of(packet), packet);

	pass_frame(frame, frame.len);
}

/*
 * Expectations.
 */
static inline void parse_expected(const char *names)
{
	char word[64];
	int used;

	memset(lab.expected, 0, sizeof(lab.expected));
	while (sscanf(names, " %63s%n", word, &used) == 1) {
		char *value = strchr(word, '=');

		if (value)
			*value++ = '\0';
		lab.expected[cell_index(word)] =
			value ? strtoull(value, NULL, 10) : 1;
		names += used;
	}
}

/* The device's copies of the namespace's cells. */
static inline void check_device_copies(const uint64_t *dev_now)
{
	size_t net = SP_NET_CELL(ip6, InReceives) / 8;
	size_t dev = SP_NETDEV_CELL(ip6, InReceives) / 8;
	size_t nr = sizeof(((struct sp_net_cells *)0)->ip6) / 8 +
		    sizeof(((struct sp_net_cells *)0)->icmp6) / 8;

	for (size_t i = 0; i < nr; i++)
		assert_int_equal(lab.now_cells[net + i] -
					 lab.net_before[net + i],
				 dev_now[dev + i] - lab.dev_before[dev + i]);
}

static inline void expect_at(const char *names, const char *file, int line)
{
	uint64_t *dev = malloc(sizeof(uint64_t) * NR_DEV_CELLS);
	unsigned nr_wrong = 0;

	assert_non_null(dev);
	parse_expected(names);
	lab_fold(lab.now_cells, dev);
	check_device_copies(dev);
	free(dev);
	for (size_t i = 0; i < NR_NET_CELLS; i++) {
		uint64_t moved = lab.now_cells[i] - lab.net_before[i];

		if (moved == lab.expected[i] || !cell_name(i * 8))
			continue; /* a group of no interest here */
		print_error("%s:%d: %s moved by %lld, expected %lld\n", file,
			    line, cell_name(i * 8), (long long)moved,
			    (long long)lab.expected[i]);
		nr_wrong++;
	}
	lab_remember();
	assert_int_equal(nr_wrong, 0);
}

#define expect(names) expect_at(names, __FILE__, __LINE__)

/* What one counter has moved by since the last expect(). */
static inline uint64_t moved_by(const char *name)
{
	size_t i = cell_index(name);

	return sp_percpu_read(lab.plane, sp_net_off(lab.net) + i * 8) -
	       lab.net_before[i];
}

static inline struct sp_observer_stats lab_stats(void)
{
	struct sp_observer_stats stats;

	sp_observer_read_stats(lab.observer, &stats);
	return stats;
}

/*
 * Packets. Zero means what a sound packet from A to B has there.
 */
enum sum {
	SUM_GOOD,
	SUM_BAD,
	SUM_NONE,    /* the field is 0 */
	SUM_PARTIAL, /* the sum of the pseudo-header, for the device to fill */
};

struct ip4 {
	uint32_t src, dst;
	uint8_t version, ihl, tos, ttl, protocol;
	uint16_t total_len;
	uint16_t id, frag;
	struct bytes options;
	struct bytes data;
	uint32_t padding; /* octets of the frame behind the packet */
	bool bad_checksum;
	bool no_protocol; /* protocol 0 is meant */
	enum sum sum;     /* of the upper layer */
};

struct ip6 {
	const uint8_t *src, *dst;
	uint8_t version, class, hop_limit, nexthdr;
	bool no_payload_len; /* the field is 0 */
	uint16_t payload_len;
	struct bytes data;
	uint32_t padding;
	uint8_t upper; /* protocol behind extension headers, for the sum */
	uint32_t upper_off;
	enum sum sum;
};

static inline int sum_off_of(uint8_t protocol)
{
	switch (protocol) {
	case 1:
	case 58:
		return 2;
	case 6:
		return 16;
	case 17:
	case 136:
		return 6;
	default:
		return -1;
	}
}

static inline void fill_sum(uint8_t *data, uint32_t len, uint8_t protocol,
			    uint64_t pseudo, enum sum sum)
{
	int off = sum_off_of(protocol);
	uint32_t covered = len;
	uint16_t value;

	if (off < 0 || len < (uint32_t)off + 2 || sum == SUM_NONE)
		return;
	if (protocol == 136 && (data[4] || data[5]))
		covered = (uint32_t)data[4] << 8 | data[5];
	if (covered > len)
		covered = len;
	value = sp_csum_fold(pseudo);
	if (sum != SUM_PARTIAL)
		value = (uint16_t)~sp_csum_fold(
			sp_csum_add(pseudo, data, covered));
	if (sum == SUM_BAD)
		value ^= 0x5555;
	memcpy(data + off, &value, 2);
}

static inline struct bytes ip4(struct ip4 p)
{
	uint32_t header_len = 20 + p.options.len;
	uint8_t *ip = lab_memory(header_len + p.data.len + p.padding);
	uint16_t sum;

	p.protocol = p.protocol || p.no_protocol ? p.protocol : 17;
	ip[0] = (uint8_t)((p.version ? p.version : 4) << 4 |
			  (p.ihl ? p.ihl : header_len / 4));
	ip[1] = p.tos;
	put16(ip + 2, p.total_len ? p.total_len : header_len + p.data.len);
	put16(ip + 4, p.id);
	put16(ip + 6, p.frag);
	ip[8] = p.ttl ? p.ttl : 64;
	ip[9] = p.protocol;
	put32(ip + 12, p.src ? p.src : A4);
	put32(ip + 16, p.dst ? p.dst : B4);
	put(ip + 20, p.options);
	put(ip + header_len, p.data);
	sum = (uint16_t)~sp_csum_fold(sp_csum_add(0, ip, header_len));
	sum ^= p.bad_checksum ? 0x1111 : 0;
	memcpy(ip + 10, &sum, 2);
	if (!(p.frag & 0x3fff))
		fill_sum(ip + header_len, p.data.len, p.protocol,
			 p.protocol == 1 ? 0
					 : sp_csum_pseudo4(ip + 12, p.protocol,
							   p.data.len),
			 p.sum);
	return (struct bytes){ip, header_len + p.data.len + p.padding};
}

static inline struct bytes ip6(struct ip6 p)
{
	uint8_t *ip = lab_memory(40 + p.data.len + p.padding);
	uint8_t upper = p.upper ? p.upper : p.nexthdr ? p.nexthdr : 17;
	uint32_t upper_len = p.data.len - p.upper_off;

	ip[0] = (uint8_t)((p.version ? p.version : 6) << 4 | p.class >> 4);
	ip[1] = (uint8_t)(p.class << 4);
	if (!p.no_payload_len)
		put16(ip + 4, p.payload_len ? p.payload_len : p.data.len);
	ip[6] = p.nexthdr ? p.nexthdr : p.upper ? 0 : 17;
	ip[7] = p.hop_limit ? p.hop_limit : 64;
	memcpy(ip + 8, p.src ? p.src : A6, 16);
	memcpy(ip + 24, p.dst ? p.dst : B6, 16);
	put(ip + 40, p.data);
	fill_sum(ip + 40 + p.upper_off, upper_len, upper,
		 sp_csum_pseudo6(ip + 8, upper, upper_len), p.sum);
	return (struct bytes){ip, 40 + p.data.len + p.padding};
}

static inline struct bytes octets(const void *data, uint32_t len)
{
	uint8_t *copy = lab_memory(len);

	memcpy(copy, data, len);
	return (struct bytes){copy, len};
}

#define OCTETS(...)                                                            \
	octets((const uint8_t[]){__VA_ARGS__},                                 \
	       sizeof((const uint8_t[]){__VA_ARGS__}))

static inline struct bytes joined(struct bytes a, struct bytes b)
{
	uint8_t *data = lab_memory(a.len + b.len);

	put(data, a);
	put(data + a.len, b);
	return (struct bytes){data, a.len + b.len};
}

static inline struct bytes first(struct bytes all, uint32_t len)
{
	return (struct bytes){all.data, len < all.len ? len : all.len};
}

static inline struct bytes zeros(uint32_t len)
{
	return (struct bytes){lab_memory(len), len};
}

/* A UDP datagram with @len octets of data and a length field of @length. */
static inline struct bytes udp_of(unsigned sport, unsigned dport, uint32_t len,
				  unsigned length)
{
	uint8_t *data = lab_memory(8 + len);

	put16(data, sport);
	put16(data + 2, dport);
	put16(data + 4, length);
	for (uint32_t i = 0; i < len; i++)
		data[8 + i] = (uint8_t)(i + 1);
	return (struct bytes){data, 8 + len};
}

static inline struct bytes udp(unsigned sport, unsigned dport, uint32_t len)
{
	return udp_of(sport, dport, len, 8 + len);
}

#define FIN 1
#define SYN 2
#define RST 4
#define ACK 16

static inline struct bytes tcp(unsigned sport, unsigned dport, unsigned flags,
			       uint32_t len)
{
	uint8_t *data = lab_memory(20 + len);

	put16(data, sport);
	put16(data + 2, dport);
	put32(data + 4, 1000);
	data[12] = 5 << 4;
	data[13] = (uint8_t)flags;
	put16(data + 14, 1000);
	return (struct bytes){data, 20 + len};
}

/* One TCP segment in full. */
struct tcp_segment {
	unsigned sport, dport, flags;
	uint32_t seq, ack, len;
	unsigned window;      /* 0: 1000 */
	bool closed;          /* a window of 0 is meant */
	struct bytes options; /* a multiple of 4 octets */
};

static inline struct bytes tcp_with(struct tcp_segment s)
{
	uint32_t header_len = 20 + s.options.len;
	uint8_t *data = lab_memory(header_len + s.len);

	put16(data, s.sport);
	put16(data + 2, s.dport);
	put32(data + 4, s.seq);
	put32(data + 8, s.ack);
	data[12] = (uint8_t)(header_len / 4 << 4);
	data[13] = (uint8_t)s.flags;
	put16(data + 14, s.window || s.closed ? s.window : 1000);
	put(data + 20, s.options);
	return (struct bytes){data, header_len + s.len};
}

/* ICMP or ICMPv6: type, code, four octets of whatever, @rest. */
static inline struct bytes icmp(unsigned type, unsigned code, struct bytes rest)
{
	uint8_t *data = lab_memory(8 + rest.len);

	data[0] = (uint8_t)type;
	data[1] = (uint8_t)code;
	put(data + 8, rest);
	return (struct bytes){data, 8 + rest.len};
}

#endif
