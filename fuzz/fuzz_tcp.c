// SPDX-License-Identifier: MIT
/*
 * fuzz/fuzz_tcp.c - segments in any order through the connections of both ends.
 *
 * Two hosts are observed at once, on the same frames, with tables of a few rows.
 * Each segment is 12 octets of the input:
 *
 *	octet 0      bit 0 who sends; bits 1-2 which connection; bits 3-4 how long
 *	             after the one before; bits 5-7 which options
 *	octet 1      flags
 *	octets 2-3   sequence number, from the sender's next one
 *	octets 4-5   acknowledgement, from the peer's next one
 *	octet 6      octets of data
 *	octet 7      window
 *	octets 8-11  what the options say
 *
 * What must hold after each segment: who does not send it has received it; the gauge says how many rows are established; what is known of the
 * sequence space is in order and adds up; and no memory is lost.
 */
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <statplane/net.h>
#include <statplane/observe.h>
#include <statplane/plane.h>

#include "conn/conn.h"
#include "observe/observer.h"
#include "observe/tcp.h"
#include "packet/checksum.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	NR_CONNS = 4,
	RECORD_LEN = 12,
	MAX_ROWS = 6, /* two of them listeners' */
	IP_OFF = 14,
	TCP_OFF = 34,
};

static const uint8_t macs[2][6] = {{2, 0, 0, 0, 0, 0xa}, {2, 0, 0, 0, 0, 0xb}};
static const uint8_t addrs[2][4] = {{10, 0, 0, 1}, {10, 0, 0, 2}};

/* One of the two hosts. */
struct end {
	struct sp_net *net;
	struct sp_netdev *dev;
	struct sp_lane lane;
	struct sp_observer *observer;
	uint64_t nr_in;
	uint64_t in_before, gauge_before;
};

static struct sp_plane *plane;
static struct end ends[2];
static uint32_t next_seq[NR_CONNS][2];
static uint64_t now_ns;

static void must(bool holds)
{
	if (!holds)
		abort();
}

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static void put16(uint8_t *p, unsigned value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}

static void put32(uint8_t *p, uint32_t value)
{
	put16(p, value >> 16);
	put16(p + 2, value & 0xffff);
}

static uint64_t cell(const struct end *end, size_t off)
{
	return sp_percpu_read(plane, sp_net_off(end->net) + off);
}

static void set_up(struct end *end, int which)
{
	char name[2] = {(char)('a' + which), '\0'};

	must(!sp_net_create(plane, name, NULL, &end->net));
	must(!sp_netdev_create(end->net, "eth0", 0, macs[which], &end->dev));
	must(!sp_lane_claim(plane, &end->lane));
}

static void begin(struct end *end, int which)
{
	struct sp_addr addr = {.family = AF_INET, .prefix_len = 24};
	struct sp_listen listen = {IPPROTO_TCP, 80};
	struct sp_observer_opts opts = {
		.sz = sizeof(opts),
		.net = end->net,
		.dev = end->dev,
		.lane = &end->lane,
		.linktype = SP_LINKTYPE_ETHERNET,
		.mac = macs[which],
		.addrs = &addr,
		.nr_addrs = 1,
		.listens = &listen,
		.nr_listens = 1,
		.reasm_bytes = 4096,
		.max_sockets = MAX_ROWS,
	};

	memcpy(addr.octets, addrs[which], 4);
	must(!sp_observer_create(&opts, &end->observer));
	end->nr_in = 0;
	end->in_before = cell(end, SP_NET_CELL(tcp, InSegs));
	end->gauge_before = cell(end, SP_NET_CELL(tcp, CurrEstab));
}

/* Return: their length, a multiple of 4. */
static uint32_t put_options(uint8_t *p, unsigned kind, const uint8_t *say,
			    uint32_t una)
{
	static const uint8_t syn[12] = {2, 4, 5, 0xb4, 4, 2, 1, 1, 1, 3, 3, 2};
	static const uint8_t stamp[4] = {1, 1, 8, 10};
	static const uint8_t sack[4] = {1, 1, 5, 10}, sack2[4] = {1, 1, 5, 18};

	switch (kind) {
	case 1:
		memcpy(p, syn, 12);
		p[3] = say[0];
		p[11] = say[1];
		return 12;
	case 2:
		memcpy(p, stamp, 4);
		put32(p + 4, 1000u + say[0]);
		put32(p + 8, say[1]);
		return 12;
	case 3:
	case 4:
		memcpy(p, kind == 3 ? sack : sack2, 4);
		put32(p + 4, una + say[0]);
		put32(p + 8, una + say[0] + say[1]);
		put32(p + 12, una + say[2]);
		put32(p + 16, una + say[2] + say[3]);
		return kind == 3 ? 12 : 20;
	case 5: /* SYN options and timestamps */
		memcpy(p, syn, 12);
		memcpy(p + 12, stamp, 4);
		put32(p + 16, 1000u + say[0]);
		put32(p + 20, say[1]);
		return 24;
	case 6:
		memcpy(p, say, 4);
		return 4;
	default:
		return 0;
	}
}

/* Return: the frame's length. */
static uint32_t make_frame(uint8_t *frame, const uint8_t *record)
{
	int from = record[0] & 1, to = !from;
	unsigned which = record[0] >> 1 & 3;
	uint32_t *next = next_seq[which];
	uint32_t seq = next[from] + (uint32_t)(int16_t)get16(record + 2);
	uint32_t ack = next[to] + (uint32_t)(int16_t)get16(record + 4);
	uint8_t *tcp = frame + TCP_OFF;
	uint32_t header_len, len = record[6], end;
	uint16_t sum;

	memset(frame, 0, TCP_OFF + 20);
	memcpy(frame, macs[to], 6);
	memcpy(frame + 6, macs[from], 6);
	frame[12] = 8;
	/* The first two connections are opened by end 0, the others by end 1. */
	put16(tcp, from == (which >= 2) ? 5000 + which : 80);
	put16(tcp + 2, from == (which >= 2) ? 80 : 5000 + which);
	put32(tcp + 4, seq);
	put32(tcp + 8, ack);
	tcp[13] = record[1];
	put16(tcp + 14, record[7] * 100u);
	header_len =
		20 + put_options(tcp + 20, record[0] >> 5, record + 8, ack);
	tcp[12] = (uint8_t)(header_len / 4 << 4);
	memset(tcp + header_len, 0, len);
	frame[IP_OFF] = 0x45;
	put16(frame + IP_OFF + 2, 20 + header_len + len);
	frame[IP_OFF + 8] = 64;
	frame[IP_OFF + 9] = IPPROTO_TCP;
	memcpy(frame + IP_OFF + 12, addrs[from], 4);
	memcpy(frame + IP_OFF + 16, addrs[to], 4);
	sum = (uint16_t)~sp_csum_fold(sp_csum_add(0, frame + IP_OFF, 20));
	memcpy(frame + IP_OFF + 10, &sum, 2);
	sum = (uint16_t)~sp_csum_fold(
		sp_csum_add(sp_csum_pseudo4(frame + IP_OFF + 12, IPPROTO_TCP,
					    header_len + len),
			    tcp, header_len + len));
	memcpy(tcp + 16, &sum, 2);
	end = seq + len + !!(record[1] & SP_TCP_SYN) + (record[1] & SP_TCP_FIN);
	if (sp_seq_after(end, next[from]))
		next[from] = end;
	return TCP_OFF + header_len + len;
}

/* Return: ranges of the row's lists. */
static uint32_t check_lists(const struct ranges *ranges,
			    const struct conn *conn)
{
	uint32_t nr = 0, nr_segments = 0, last = 0;

	for (uint32_t i = conn->sent_head; i; i = ranges->pool[i].next) {
		const struct range *range = &ranges->pool[i];

		must(sp_seq_before(range->seq, range->end) && range->size);
		must(!nr || !sp_seq_before(range->seq, last));
		must(!sp_seq_after(range->end, conn->snd_nxt));
		last = range->end;
		nr_segments += (range->end - range->seq + range->size - 1) /
			       range->size;
		must(range->next || conn->sent_tail == i);
		nr++;
	}
	must(nr || !conn->sent_tail);
	must(nr_segments == conn->nr_sent_out);
	last = conn->rcv_nxt;
	for (uint32_t i = conn->early_head; i; i = ranges->pool[i].next) {
		const struct range *range = &ranges->pool[i];

		must(sp_seq_before(range->seq, range->end));
		must(sp_seq_after(range->seq, last));
		last = range->end;
		nr++;
	}
	return nr;
}

static uint32_t nr_free(const struct ranges *ranges)
{
	uint32_t nr = 0;

	for (uint32_t i = ranges->free; i; i = ranges->pool[i].next)
		nr++;
	return nr;
}

static void check(const struct end *end)
{
	const struct tcp *tcp = end->observer->tcp;
	uint64_t nr_established = 0, nr_ranges = 0, nr_rows = 0;

	for (uint32_t i = 1; i <= tcp->conns->nr_rows; i++) {
		const struct conn *conn = conn_at(tcp->conns, i);

		if (!conn_is_alive(conn))
			continue;
		must(conn->head.seq % 2 == 0);
		nr_rows++;
		nr_ranges += check_lists(&tcp->ranges, conn);
		nr_established += conn->state == SP_TCP_ESTABLISHED ||
				  conn->state == SP_TCP_CLOSE_WAIT;
	}
	must(nr_rows == tcp->conns->stats.nr_rows && nr_rows <= MAX_ROWS);
	must(cell(end, SP_NET_CELL(tcp, CurrEstab)) - end->gauge_before ==
	     nr_established);
	must(nr_ranges + nr_free(&tcp->ranges) + 1 == tcp->ranges.nr_fresh);
	must(cell(end, SP_NET_CELL(tcp, InSegs)) - end->in_before ==
	     end->nr_in);
	must(tcp->ranges.nr_joined == 0);
}

static void pass(const uint8_t *record)
{
	static const uint64_t steps_ns[4] = {1000, 1000000, 1000000000,
					     70000000000};
	static uint8_t frame[512];
	struct sp_frame sp_frame = {.data = frame};

	sp_frame.cap_len = sp_frame.len = make_frame(frame, record);
	sp_frame.time_ns = now_ns += steps_ns[record[0] >> 3 & 3];
	ends[!(record[0] & 1)].nr_in++;
	for (int i = 0; i < 2; i++) {
		sp_observer_frames(ends[i].observer, &sp_frame, 1);
		check(&ends[i]);
	}
}

/* What is left of the gauge belongs to rows that go with the observer. */
static void finish(struct end *end)
{
	sp_observer_finish(end->observer);
	sp_observer_destroy(end->observer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!plane) {
		must(!sp_plane_create(NULL, &plane));
		set_up(&ends[0], 0);
		set_up(&ends[1], 1);
	}
	now_ns = UINT64_C(1700000000000000000);
	for (int i = 0; i < 2; i++)
		begin(&ends[i], i);
	for (int i = 0; i < NR_CONNS; i++)
		next_seq[i][0] = next_seq[i][1] = 0xffffff00u;
	for (; size >= RECORD_LEN; data += RECORD_LEN, size -= RECORD_LEN)
		pass(data);
	for (int i = 0; i < 2; i++)
		finish(&ends[i]);
	return 0;
}
