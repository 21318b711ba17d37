/* SPDX-License-Identifier: MIT */
/*
 * tcp_talk.h - TCP conversations for tests of observe/: the two ends A (the peer)
 * and B (the host), each with its next sequence number.
 *
 * in() and out() pass a segment in order and move the sender's number on; a test
 * that wants another number sets seq or ack first, or uses in_at() and out_at().
 */
#ifndef TCP_TALK_H
#define TCP_TALK_H

#include "observe_lab.h"

#define PSH 8

#define A_ISS 5000u
#define B_ISS 90000u

#define A_PORT 4000
#define B_PORT 80

struct talk {
	uint32_t a, b;         /* next sequence number of either end */
	uint32_t a_ack, b_ack; /* what it acknowledges */
	unsigned a_port, b_port;
	struct bytes options; /* of every segment */
	unsigned a_window, b_window;
	bool b_closed, a_closed; /* windows of 0 */
};

static struct talk talk;

static inline void talk_start(unsigned a_port, unsigned b_port)
{
	talk = (struct talk){
		.a = A_ISS, .b = B_ISS, .a_port = a_port, .b_port = b_port};
}

static inline uint32_t space_of(unsigned flags, uint32_t len)
{
	return len + !!(flags & SYN) + (flags & FIN);
}

static inline void in_with(unsigned flags, uint32_t seq, uint32_t ack,
			   uint32_t len, struct bytes options)
{
	receive(ip4((struct ip4){.protocol = 6,
				 .data = tcp_with((struct tcp_segment){
					 .sport = talk.a_port,
					 .dport = talk.b_port,
					 .flags = flags,
					 .seq = seq,
					 .ack = flags & ACK ? ack : 0,
					 .len = len,
					 .window = talk.a_window,
					 .closed = talk.a_closed,
					 .options = options,
				 })}));
}

static inline void out_with(unsigned flags, uint32_t seq, uint32_t ack,
			    uint32_t len, struct bytes options)
{
	send_out(ip4((struct ip4){.src = B4,
				  .dst = A4,
				  .protocol = 6,
				  .data = tcp_with((struct tcp_segment){
					  .sport = talk.b_port,
					  .dport = talk.a_port,
					  .flags = flags,
					  .seq = seq,
					  .ack = flags & ACK ? ack : 0,
					  .len = len,
					  .window = talk.b_window,
					  .closed = talk.b_closed,
					  .options = options,
				  })}));
}

static inline void in_at(unsigned flags, uint32_t seq, uint32_t ack,
			 uint32_t len)
{
	in_with(flags, seq, ack, len, talk.options);
}

static inline void out_at(unsigned flags, uint32_t seq, uint32_t ack,
			  uint32_t len)
{
	out_with(flags, seq, ack, len, talk.options);
}

/* The next segment of A, which has got all of B. */
static inline void in(unsigned flags, uint32_t len)
{
	talk.a_ack = talk.b;
	in_at(flags, talk.a, talk.a_ack, len);
	talk.a += space_of(flags, len);
}

static inline void out(unsigned flags, uint32_t len)
{
	talk.b_ack = talk.a;
	out_at(flags, talk.b, talk.b_ack, len);
	talk.b += space_of(flags, len);
}

#define SACK_OK OCTETS(4, 2, 1, 1)

static inline struct bytes timestamps(uint32_t value, uint32_t echo)
{
	uint8_t option[12] = {1, 1, 8, 10};

	put32(option + 4, value);
	put32(option + 8, echo);
	return octets(option, sizeof(option));
}

static inline struct bytes sack(uint32_t start, uint32_t end)
{
	uint8_t option[12] = {1, 1, 5, 10};

	put32(option + 4, start);
	put32(option + 8, end);
	return octets(option, sizeof(option));
}

static inline struct bytes sack2(uint32_t start, uint32_t end, uint32_t start2,
				 uint32_t end2)
{
	uint8_t option[20] = {1, 1, 5, 18};

	put32(option + 4, start);
	put32(option + 8, end);
	put32(option + 12, start2);
	put32(option + 16, end2);
	return octets(option, sizeof(option));
}

/* B opens; @options in both SYNs. */
static inline void talk_out(struct bytes options)
{
	talk_start(A_PORT, 5000);
	out_with(SYN, talk.b++, 0, 0, options);
	in_with(SYN | ACK, talk.a++, talk.b, 0, options);
	out(ACK, 0);
}

/* A opens. */
static inline void talk_in(struct bytes options)
{
	talk_start(A_PORT, B_PORT);
	in_with(SYN, talk.a++, 0, 0, options);
	out_with(SYN | ACK, talk.b++, talk.a, 0, options);
	in(ACK, 0);
}

#define NOTHING ((struct bytes){0})

/* Counters of TCP that have moved since expect_tcp() or lab_remember(); those of
 * other protocols are passed over. */
static inline void expect_tcp_at(const char *names, const char *file, int line)
{
	unsigned nr_wrong = 0;
	uint64_t *dev = malloc(sizeof(uint64_t) * NR_DEV_CELLS);

	assert_non_null(dev);
	parse_expected(names);
	lab_fold(lab.now_cells, dev);
	free(dev);
	for (size_t i = 0; i < NR_NET_CELLS; i++) {
		uint64_t moved = lab.now_cells[i] - lab.net_before[i];
		const char *name = cell_name(i * 8);

		if (moved == lab.expected[i] || !name ||
		    strncmp(name, "Tcp", 3) || !strcmp(name, "Tcp.InSegs"))
			continue;
		print_error("%s:%d: %s moved by %lld, expected %lld\n", file,
			    line, name, (long long)moved,
			    (long long)lab.expected[i]);
		nr_wrong++;
	}
	lab_remember();
	assert_int_equal(nr_wrong, 0);
}

#define expect_tcp(names) expect_tcp_at(names, __FILE__, __LINE__)

/* Whether an ICMP error that quotes the connection finds it. */
static inline bool exists(unsigned b_port, unsigned a_port)
{
	uint64_t before = moved_by("Icmp.InErrors");
	/* A source quench looks for the socket, and then does nothing. */
	struct bytes quote = ip4((struct ip4){
		.src = B4,
		.dst = A4,
		.protocol = 6,
		.data = tcp_with((struct tcp_segment){
			.sport = b_port, .dport = a_port, .flags = ACK})});

	receive(ip4((struct ip4){.protocol = 1, .data = icmp(4, 0, quote)}));
	return moved_by("Icmp.InErrors") == before;
}

#endif
