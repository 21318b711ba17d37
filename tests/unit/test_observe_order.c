/* SPDX-License-Identifier: MIT */
/*
 * test_observe_order.c - the same frames give the same figures, however they
 * are handed over; and damaged frames do no more than count.
 */
#include "observe_lab.h"

#define NR_FRAMES 3000

static struct sp_frame frames[NR_FRAMES];

/* A small generator: the same stream in every run. */
static uint64_t random_state;

static uint32_t random_below(uint32_t bound)
{
	random_state =
		random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(random_state >> 33) % bound;
}

static struct bytes any_upper(uint8_t *ret_protocol)
{
	static const uint8_t flags[] = {SYN, SYN | ACK, ACK, FIN | ACK, RST};
	unsigned port = random_below(4) ? 7 : 5000;

	switch (random_below(6)) {
	case 0:
		*ret_protocol = 6;
		return tcp(9, 80 + random_below(3), flags[random_below(5)],
			   random_below(100));
	case 1:
		*ret_protocol = 136;
		return udp_of(9, port, 20, random_below(30));
	case 2:
		*ret_protocol = (uint8_t)random_below(256);
		return zeros(random_below(60));
	default:
		*ret_protocol = 17;
		return udp(port, port, random_below(100));
	}
}

static struct bytes any_ip4(void)
{
	static const uint32_t addrs[] = {A4, B4,         C4,        0xffffffff,
					 B4, 0xe0000001, 0x0a0000ff};
	struct ip4 p = {
		.src = addrs[random_below(3)],
		.dst = addrs[random_below(7)],
		.tos = (uint8_t)random_below(256),
		.ttl = (uint8_t)random_below(3),
		.sum = (enum sum)random_below(4),
	};

	p.data = any_upper(&p.protocol);
	if (!random_below(4)) {
		p.id = (uint16_t)random_below(20);
		p.frag = (uint16_t)(random_below(2) * 0x2000 + random_below(6));
		p.data = zeros(8 + 8 * random_below(4));
	}
	if (!random_below(8))
		p.data = icmp(3, random_below(5), ip4(p)), p.protocol = 1;
	return ip4(p);
}

static struct bytes any_ip6(void)
{
	const uint8_t *const addrs[] = {A6, B6, C6};
	struct ip6 p = {
		.src = addrs[random_below(3)],
		.dst = addrs[random_below(3)],
		.class = (uint8_t)random_below(4),
		.sum = (enum sum)random_below(4),
	};

	p.data = any_upper(&p.nexthdr);
	if (!random_below(4)) {
		p.nexthdr = 44;
		p.data = joined(OCTETS(17, 0, 0, (uint8_t)random_below(40), 0,
				       0, 0, (uint8_t)random_below(9)),
				zeros(16));
	}
	if (!random_below(8))
		p.data = icmp(1, random_below(5), ip6(p)), p.nexthdr = 58;
	return ip6(p);
}

/* Changes a few octets. */
static void damage(struct bytes frame)
{
	uint8_t *data = (uint8_t *)(uintptr_t)frame.data;

	for (uint32_t i = random_below(4); i; i--)
		data[random_below(frame.len)] = (uint8_t)random_below(256);
}

static void make_frames(bool damaged)
{
	uint64_t now_ns = 1000 * SECOND_NS;

	random_state = 1;
	for (size_t i = 0; i < NR_FRAMES; i++) {
		struct bytes packet = random_below(2) ? any_ip4() : any_ip6();
		bool sent = random_below(3) == 0;
		struct bytes frame =
			ethernet(sent ? MAC_A : MAC_B, sent ? MAC_B : MAC_A,
				 ethertype_of(packet), packet);
		uint8_t *copy;

		if (damaged)
			damage(frame);
		now_ns += random_below(100) * MS_NS;
		frames[i] = (struct sp_frame){
			.time_ns = now_ns,
			.len = frame.len,
			.cap_len = damaged ? random_below(frame.len + 1)
					   : frame.len,
		};
		copy = malloc(frames[i].cap_len ? frames[i].cap_len : 1);
		assert_non_null(copy);
		memcpy(copy, frame.data, frames[i].cap_len);
		frames[i].data = copy;
	}
}

static void free_frames(void)
{
	for (size_t i = 0; i < NR_FRAMES; i++)
		free((void *)(uintptr_t)frames[i].data);
}

/* Hand all frames over in pieces of @most at the most. */
static void run(bool router, size_t most, uint64_t *net, uint64_t *dev)
{
	struct sp_observer_opts opts = lab_opts();
	size_t i = 0;

	opts.forward = router;
	lab_observe(&opts);
	while (i < NR_FRAMES) {
		size_t nr =
			most > 100 ? most : 1 + random_below((uint32_t)most);

		if (nr > NR_FRAMES - i)
			nr = NR_FRAMES - i;
		sp_observer_frames(lab.observer, frames + i, nr);
		i += nr;
	}
	sp_observer_finish(lab.observer);
	lab_fold(net, dev);
	for (size_t k = 0; k < NR_NET_CELLS; k++)
		net[k] -= lab.net_before[k];
	for (size_t k = 0; k < NR_DEV_CELLS; k++)
		dev[k] -= lab.dev_before[k];
}

static void check_pieces(bool router, bool damaged)
{
	static const size_t pieces[] = {1, 2, 31, 32, 33, 64, NR_FRAMES};
	uint64_t *net[2], *dev[2];

	for (size_t i = 0; i < 2; i++) {
		net[i] = calloc(NR_NET_CELLS, sizeof(uint64_t));
		dev[i] = calloc(NR_DEV_CELLS, sizeof(uint64_t));
		assert_non_null(net[i]);
		assert_non_null(dev[i]);
	}
	make_frames(damaged);
	run(router, 1, net[0], dev[0]);
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		/* FRAG gauges of the run before are not taken back. */
		run(router, pieces[i], net[1], dev[1]);
		assert_memory_equal(net[0], net[1],
				    NR_NET_CELLS * sizeof(uint64_t));
		assert_memory_equal(dev[0], dev[1],
				    NR_DEV_CELLS * sizeof(uint64_t));
	}
	free_frames();
	for (size_t i = 0; i < 2; i++) {
		free(net[i]);
		free(dev[i]);
	}
}

static void vectors_of_any_size_give_the_same_on_a_host(void **state)
{
	(void)state;
	check_pieces(false, false);
}

static void vectors_of_any_size_give_the_same_on_a_router(void **state)
{
	(void)state;
	check_pieces(true, false);
}

static void damaged_and_cut_frames_do_no_more_than_count(void **state)
{
	(void)state;
	check_pieces(false, true);
	check_pieces(true, true);
}

/* Each frame is received or sent, and what was received is delivered, refused
 * for a reason, or kept. */
static void every_received_ipv4_packet_has_one_fate(void **state)
{
	(void)state;
	make_frames(false);
	for (size_t i = 0; i < NR_FRAMES; i++) {
		sp_observer_frames(lab.observer, &frames[i], 1);
		sp_observer_finish(lab.observer);
		assert_true(moved_by("Ip.InDelivers") +
				    moved_by("Ip.InHdrErrors") +
				    moved_by("Ip.InAddrErrors") +
				    moved_by("Ip.InUnknownProtos") +
				    moved_by("IpExt.InTruncatedPkts") <=
			    moved_by("Ip.InReceives"));
		assert_true(moved_by("Ip.ReasmOKs") +
				    moved_by("Ip.ReasmFails") <=
			    moved_by("Ip.ReasmReqds"));
	}
	free_frames();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_open, lab_close)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(vectors_of_any_size_give_the_same_on_a_host),
		TEST(vectors_of_any_size_give_the_same_on_a_router),
		TEST(damaged_and_cut_frames_do_no_more_than_count),
		TEST(every_received_ipv4_packet_has_one_fate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
