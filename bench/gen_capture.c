// SPDX-License-Identifier: MIT
/*
 * bench/gen_capture.c - write a capture of one host's traffic for measurements.
 *
 * usage: gen_capture FILE PACKETS FLOWS [SNAPLEN]
 *
 * The host 198.18.0.1 / 2001:db8::1 (MAC 02:00:00:00:00:01) serves FLOWS peers
 * with random addresses: two thirds TCP, one third UDP, a tenth IPv6, half of
 * the packets on the busiest hundredth of the flows. Sizes are 64 (58 %), 594
 * (33 %) and 1514 (9 %) octets. Every checksum is right. The same arguments
 * give the same file.
 */
#include <arpa/inet.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct flow {
	uint32_t seq[2];
	uint16_t port;
	uint8_t opened;
};

static uint64_t random_state = 88172645463325252ull;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static uint64_t mix(uint64_t value)
{
	value = (value ^ (value >> 31)) * 0x7fb5d329728ea185ull;
	value = (value ^ (value >> 27)) * 0x81dadef4bc2dd44dull;
	return value ^ (value >> 33);
}

static void put16(uint8_t *p, uint32_t value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}

static void put32(uint8_t *p, uint32_t value)
{
	put16(p, value >> 16);
	put16(p + 2, value & 0xffff);
}

static uint32_t sum16(uint32_t sum, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i + 1 < len; i += 2)
		sum += (uint32_t)p[i] << 8 | p[i + 1];
	if (len & 1)
		sum += (uint32_t)p[len - 1] << 8;
	return sum;
}

static uint16_t finish(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* Network header of @flow_idx; returns where the transport header begins. */
static size_t put_network(uint8_t *frame, size_t len, size_t flow_idx, bool v6,
			  bool sent, uint8_t protocol)
{
	static const uint8_t macs[12] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1};
	static const uint8_t own4[4] = {198, 18, 0, 1};
	static const uint8_t own6[16] = {0x20, 1, 0xd, 0xb8, [15] = 1};
	uint8_t peer[16] = {0x20, 1, 0xd, 0xb8, 0, 1};
	uint64_t hash = mix(flow_idx + 1);
	uint8_t *ip = frame + 14;

	memcpy(frame, sent ? macs : macs + 6, 6);
	memcpy(frame + 6, sent ? macs + 6 : macs, 6);
	put16(frame + 12, v6 ? 0x86dd : 0x800);
	if (v6) {
		memcpy(peer + 8, &hash, 8);
		ip[0] = 0x60;
		put16(ip + 4, (uint32_t)(len - 54));
		ip[6] = protocol;
		ip[7] = 64;
		memcpy(ip + 8, sent ? own6 : peer, 16);
		memcpy(ip + 24, sent ? peer : own6, 16);
		return 54;
	}
	memcpy(peer, &hash, 4);
	peer[0] = (uint8_t)(20 + peer[0] % 90);
	ip[0] = 0x45;
	put16(ip + 2, (uint32_t)(len - 14));
	ip[8] = 64;
	ip[9] = protocol;
	memcpy(ip + 12, sent ? own4 : peer, 4);
	memcpy(ip + 16, sent ? peer : own4, 4);
	put16(ip + 10, finish(sum16(0, ip, 20)));
	return 34;
}

static void put_transport(uint8_t *frame, size_t off, size_t len, bool sent,
			  uint8_t protocol, struct flow *flow)
{
	static const uint16_t services[2] = {443, 53};
	uint8_t *l4 = frame + off;
	uint16_t service = services[protocol == 17];
	size_t l4_len = len - off;
	size_t addrs_len = off == 54 ? 32 : 8;
	uint32_t sum;

	put16(l4, sent ? service : flow->port);
	put16(l4 + 2, sent ? flow->port : service);
	if (protocol == 6) {
		bool syn = flow->opened < 2;

		put32(l4 + 4, flow->seq[sent]);
		put32(l4 + 8, flow->opened ? flow->seq[!sent] : 0);
		l4[12] = 0x50;
		l4[13] = (uint8_t)((syn ? 2 : 0) | (flow->opened ? 16 : 0));
		put16(l4 + 14, 65535);
		flow->seq[sent] += syn ? 1 : (uint32_t)(l4_len - 20);
		if (syn)
			flow->opened++;
	} else {
		put16(l4 + 4, (uint32_t)l4_len);
		flow->opened = 2;
	}
	sum = sum16(protocol + (uint32_t)l4_len, frame + off - addrs_len,
		    addrs_len);
	put16(l4 + (protocol == 6 ? 16 : 6), finish(sum16(sum, l4, l4_len)));
}

/* One frame into @frame; returns its length. */
static size_t make_frame(uint8_t *frame, struct flow *flows, size_t nr_flows)
{
	uint64_t r = next_random();
	size_t busy = nr_flows >= 100 ? nr_flows / 100 : 1;
	size_t idx = (r >> 8) % ((r & 1) ? busy : nr_flows);
	struct flow *flow = &flows[idx];
	bool v6 = idx % 10 == 9;
	uint8_t protocol = idx % 3 == 2 ? 17 : 6;
	bool sent = (r >> 1) & 1;
	unsigned dice = (r >> 40) % 100;
	size_t len = dice < 58 ? 64 : dice < 91 ? 594 : 1514;
	size_t off;

	if (protocol == 6 && flow->opened < 2) {
		sent = flow->opened;
		len = 64;
	} else if (!flow->opened) {
		sent = false;
	}
	if (len == 64 && v6)
		len = 54 + 20 + 4;
	if (protocol == 6 && flow->opened < 2)
		len = v6 ? 74 : 54;
	memset(frame + 14, 0, 80);
	off = put_network(frame, len, idx, v6, sent, protocol);
	put_transport(frame, off, len, sent, protocol, flow);
	return len;
}

static int write_capture(FILE *out, long nr_packets, size_t nr_flows,
			 uint32_t snaplen)
{
	struct flow *flows = calloc(nr_flows, sizeof(*flows));
	static uint8_t frame[1600];
	uint32_t header[6] = {0xa1b2c3d4, 4u << 16 | 2, 0, 0, snaplen, 1};

	if (!flows)
		return -1;
	for (size_t i = 0; i < nr_flows; i++)
		flows[i].port = (uint16_t)(1024 + mix(i) % 60000);
	for (size_t i = 0; i < sizeof(frame); i++)
		frame[i] = (uint8_t)(i * 7);
	fwrite(header, sizeof(header), 1, out);
	for (long i = 0; i < nr_packets; i++) {
		size_t len = make_frame(frame, flows, nr_flows);
		uint32_t kept = len < snaplen ? (uint32_t)len : snaplen;
		uint64_t us = (uint64_t)i * 10;
		uint32_t record[4] = {(uint32_t)(1700000000 + us / 1000000),
				      (uint32_t)(us % 1000000), kept,
				      (uint32_t)len};

		fwrite(record, sizeof(record), 1, out);
		fwrite(frame, kept, 1, out);
	}
	free(flows);
	return ferror(out) ? -1 : 0;
}

int main(int argc, char **argv)
{
	long nr_packets = argc > 2 ? atol(argv[2]) : 0;
	long nr_flows = argc > 3 ? atol(argv[3]) : 0;
	long snaplen = argc > 4 ? atol(argv[4]) : 65535;
	FILE *out;

	if (nr_packets <= 0 || nr_flows <= 0 || snaplen < 64) {
		fprintf(stderr,
			"usage: gen_capture FILE PACKETS FLOWS [SNAPLEN]\n");
		return 2;
	}
	out = fopen(argv[1], "w");
	if (!out || write_capture(out, nr_packets, (size_t)nr_flows,
				  (uint32_t)snaplen) ||
	    fclose(out)) {
		perror(argv[1]);
		return 1;
	}
	return 0;
}
