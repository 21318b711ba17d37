/* SPDX-License-Identifier: MIT */
/*
 * test_observe_link.c - the device, whom a frame is for, VLANs, link types and
 * the life of an observer.
 */
#include <errno.h>

#include "observe_lab.h"

/* What one counter of net/dev has moved by since the last expectation. */
#define moved_dev(item)                                                        \
	(sp_percpu_read(lab.plane,                                             \
			sp_netdev_off(lab.dev) + SP_NETDEV_CELL(dev, item)) -  \
	 lab.dev_before[SP_NETDEV_CELL(dev, item) / 8])

#define moved_softnet()                                                        \
	(sp_percpu_read(lab.plane, sp_net_off(lab.net) +                       \
					   SP_NET_CELL(softnet, processed)) -  \
	 lab.net_before[SP_NET_CELL(softnet, processed) / 8])

static struct bytes packet4(void)
{
	return ip4((struct ip4){.data = udp(9, 7, 4)});
}

static struct bytes tagged(unsigned type, unsigned id, struct bytes frame)
{
	uint8_t *data = lab_memory(frame.len + 4);

	memcpy(data, frame.data, 12);
	put16(data + 12, type);
	put16(data + 14, id);
	memcpy(data + 16, frame.data + 12, frame.len - 12);
	return (struct bytes){data, frame.len + 4};
}

static void pass(struct bytes frame)
{
	pass_frame(frame, frame.len);
}

/* A frame as the capture marks it. */
static void pass_marked(struct bytes frame, enum sp_direction direction)
{
	struct sp_frame sp_frame = {
		.data = frame.data,
		.cap_len = frame.len,
		.len = frame.len,
		.time_ns = lab.now_ns += MS_NS,
		.direction = (uint8_t)direction,
	};

	sp_observer_frames(lab.observer, &sp_frame, 1);
}

static void observe_as(uint32_t linktype, const uint8_t *mac)
{
	struct sp_observer_opts opts = lab_opts();

	opts.linktype = linktype;
	opts.mac = mac;
	lab_observe(&opts);
}

static void every_frame_counts_for_the_device(void **state)
{
	(void)state;
	pass(ethernet(MAC_B, MAC_A, 0x0800, packet4()));
	assert_int_equal(moved_dev(rx_packets), 1);
	assert_int_equal(moved_dev(rx_bytes), 46);
	assert_int_equal(moved_dev(tx_packets), 0);
	assert_int_equal(moved_softnet(), 1);
	lab_remember();
	pass(ethernet(MAC_A, MAC_B, 0x88cc, zeros(50)));
	assert_int_equal(moved_dev(tx_packets), 1);
	assert_int_equal(moved_dev(tx_bytes), 64);
	assert_int_equal(moved_dev(rx_packets), 0);
	assert_int_equal(moved_softnet(), 0);
	assert_int_equal(lab_stats().nr_other_proto, 1);
	lab_remember();
	pass(ethernet(MAC_ALL, MAC_A, 0x0806, zeros(28)));
	pass(ethernet(MAC_GROUP, MAC_A, 0x88cc, zeros(28)));
	assert_int_equal(moved_dev(rx_packets), 2);
	assert_int_equal(moved_dev(rx_multicast), 1);
	assert_int_equal(lab_stats().nr_arp, 1);
	expect("");
}

static void packets_count_for_the_device_too(void **state)
{
	(void)state;
	pass(ethernet(
		MAC_A, MAC_B, 0x0800,
		ip4((struct ip4){.src = B4, .dst = A4, .data = udp(7, 9, 4)})));
	assert_int_equal(moved_dev(tx_packets), 1);
	assert_int_equal(moved_dev(tx_bytes), 46);
	pass(ethernet(MAC_B, MAC_A, 0x0800, packet4()));
	pass(ethernet(MAC_ALL, MAC_A, 0x0800, packet4()));
	assert_int_equal(moved_dev(rx_packets), 2);
	assert_int_equal(moved_dev(rx_multicast), 0);
	pass(ethernet(MAC_GROUP, MAC_A, 0x0800, packet4()));
	assert_int_equal(moved_dev(rx_multicast), 1);
}

static void every_octet_of_a_mac_counts(void **state)
{
	(void)state;
	for (size_t i = 0; i < 6; i++) {
		uint8_t mac[6];

		memcpy(mac, MAC_B, 6);
		mac[i] ^= 0x40;
		pass(ethernet(mac, MAC_A, 0x0800, packet4()));
		pass(ethernet(MAC_A, mac, 0x0800, packet4()));
	}
	assert_int_equal(lab_stats().nr_other_host, 12);
	assert_int_equal(moved_dev(tx_packets), 0);
	expect("");
}

static void a_frame_for_another_mac_goes_no_further(void **state)
{
	(void)state;
	pass(ethernet(MAC_C, MAC_A, 0x0800, packet4()));
	assert_int_equal(moved_dev(rx_packets), 1);
	assert_int_equal(lab_stats().nr_other_host, 1);
	expect("");
}

static void a_frame_that_is_cut_short_counts_for_the_device(void **state)
{
	(void)state;
	for (uint32_t cap = 0; cap < 14; cap++)
		pass_frame(ethernet(MAC_B, MAC_A, 0x0800, packet4()), cap);
	assert_int_equal(moved_dev(rx_packets), 14);
	assert_int_equal(moved_dev(rx_bytes), 14 * 46);
	assert_int_equal(lab_stats().nr_link_errors, 14);
	assert_int_equal(lab_stats().nr_truncated, 14);
	expect("");
}

#define DELIVERED                                                              \
	"Ip.InReceives IpExt.InOctets=32 IpExt.InNoECTPkts Ip.InDelivers "     \
	"Udp.InDatagrams"

static void without_a_vlan_only_untagged_frames_go_further(void **state)
{
	struct bytes frame = ethernet(MAC_B, MAC_A, 0x0800, packet4());

	(void)state;
	pass(tagged(0x8100, 10, frame));
	assert_int_equal(moved_dev(rx_bytes), 50);
	assert_int_equal(lab_stats().nr_other_vlan, 1);
	expect("");
	/* A priority tag names no VLAN. */
	pass(tagged(0x8100, 0xe000, frame));
	expect(DELIVERED);
}

static void of_tagged_frames_only_the_own_vlans_go_further(void **state)
{
	struct bytes frame = ethernet(MAC_B, MAC_A, 0x0800, packet4());
	struct sp_observer_opts opts = lab_opts();

	(void)state;
	opts.vlan_id = 10;
	lab_observe(&opts);
	pass(tagged(0x8100, 0x600a, frame));
	expect(DELIVERED);
	pass(frame);
	pass(tagged(0x8100, 11, frame));
	pass(tagged(0x8100, 0, frame));
	pass(tagged(0x88a8, 10, tagged(0x8100, 10, frame)));
	assert_int_equal(lab_stats().nr_other_vlan, 4);
	expect("");
}

static void a_mark_of_direction_comes_before_the_mac(void **state)
{
	(void)state;
	pass_marked(ethernet(MAC_B, MAC_A, 0x0800, packet4()),
		    SP_DIRECTION_OUT);
	assert_int_equal(moved_dev(tx_packets), 1);
	expect("Ip.OutRequests Ip.OutTransmits IpExt.OutOctets=32 "
	       "Udp.OutDatagrams");
	pass_marked(ethernet(MAC_B, MAC_B, 0x0800, packet4()), SP_DIRECTION_IN);
	assert_int_equal(moved_dev(rx_packets), 1);
	expect(DELIVERED);
}

static void without_a_mac_the_source_address_tells(void **state)
{
	struct bytes arp = zeros(28);

	(void)state;
	observe_as(SP_LINKTYPE_ETHERNET, NULL);
	pass(ethernet(MAC_C, MAC_A, 0x0800, packet4()));
	expect(DELIVERED);
	pass(ethernet(
		MAC_C, MAC_A, 0x0800,
		ip4((struct ip4){.src = B4, .dst = A4, .data = udp(7, 9, 4)})));
	expect("Ip.OutRequests Ip.OutTransmits IpExt.OutOctets=32 "
	       "Udp.OutDatagrams");
	put32((uint8_t *)(uintptr_t)arp.data + 14, B4);
	pass(ethernet(MAC_ALL, MAC_A, 0x0806, arp));
	assert_int_equal(moved_dev(tx_packets), 1);
}

static void raw_packets_have_no_header_to_count(void **state)
{
	(void)state;
	observe_as(SP_LINKTYPE_RAW, NULL);
	pass(packet4());
	assert_int_equal(moved_dev(rx_bytes), 32);
	expect(DELIVERED);
	pass(ip6((struct ip6){.src = B6, .dst = A6, .data = udp(7, 9, 4)}));
	assert_int_equal(moved_dev(tx_bytes), 52);
	expect("Ip6.OutRequests Ip6.OutTransmits Ip6.OutOctets=52 "
	       "Udp6.OutDatagrams");
}

static void cooked_frames_bring_their_direction(void **state)
{
	uint8_t header[16] = {0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 0xa, 0, 0, 8, 0};

	(void)state;
	observe_as(SP_LINKTYPE_LINUX_SLL, NULL);
	pass(joined(octets(header, 16), packet4()));
	assert_int_equal(moved_dev(rx_bytes), 46); /* as on Ethernet */
	expect(DELIVERED);
	header[1] = 4;
	pass(joined(octets(header, 16), packet4()));
	assert_int_equal(moved_dev(tx_bytes), 46);
	expect("Ip.OutRequests Ip.OutTransmits IpExt.OutOctets=32 "
	       "Udp.OutDatagrams");
	header[1] = 3;
	pass(joined(octets(header, 16), packet4()));
	assert_int_equal(lab_stats().nr_other_host, 1);
	expect("");
}

static void what_goes_from_the_host_to_itself_is_sent_and_received(void **state)
{
	static const struct sp_addr loopback[] = {
		{AF_INET, 8, {127, 0, 0, 1}},
		{AF_INET6, 128, {[15] = 1}},
	};
	static const uint8_t none[6];
	struct sp_observer_opts opts = lab_opts();

	(void)state;
	opts.mac = NULL;
	opts.addrs = loopback;
	lab_observe(&opts);
	pass(ethernet(none, none, 0x0800,
		      ip4((struct ip4){.src = 0x7f000001,
				       .dst = 0x7f000001,
				       .data = udp(9, 7, 4),
				       .sum = SUM_BAD})));
	assert_int_equal(moved_dev(tx_packets), 1);
	assert_int_equal(moved_dev(rx_packets), 1);
	expect("Ip.OutRequests Ip.OutTransmits IpExt.OutOctets=32 "
	       "Udp.OutDatagrams " DELIVERED);
	pass(ethernet(none, none, 0x86dd,
		      ip6((struct ip6){.src = loopback[1].octets,
				       .dst = loopback[1].octets,
				       .data = udp(9, 7, 4)})));
	expect("Ip6.OutRequests Ip6.OutTransmits Ip6.OutOctets=52 "
	       "Udp6.OutDatagrams Ip6.InReceives Ip6.InOctets=52 "
	       "Ip6.InNoECTPkts Ip6.InDelivers Udp6.InDatagrams");
}

static void time_that_goes_back_does_no_harm(void **state)
{
	(void)state;
	receive(ip4((struct ip4){.frag = 0x2000, .data = zeros(16)}));
	lab.now_ns -= 100 * SECOND_NS;
	receive(packet4());
	assert_int_equal(moved_by("Ip.ReasmFails"), 0);
	wait_ns(29 * SECOND_NS);
	assert_int_equal(moved_by("Ip.ReasmFails"), 0);
	wait_ns(SECOND_NS);
	assert_int_equal(moved_by("Ip.ReasmFails"), 1);
}

static void a_length_below_what_was_captured_is_taken_for_it(void **state)
{
	struct bytes frame = ethernet(MAC_B, MAC_A, 0x0800, packet4());

	(void)state;
	pass_frame((struct bytes){frame.data, 20}, frame.len);
	expect(DELIVERED);
}

static void options_out_of_range_are_refused(void **state)
{
	static const struct sp_addr bad_family = {99, 24, {1}};
	static const struct sp_addr bad_prefix = {AF_INET, 33, {1}};
	struct sp_observer *observer = (void *)&lab;
	static struct sp_observer_opts opts[8];

	(void)state;
	for (size_t i = 0; i < 8; i++)
		opts[i] = lab_opts();
	opts[0].linktype = 9999;
	opts[1].net = NULL;
	opts[2].lane = NULL;
	opts[3].addrs = &bad_family;
	opts[3].nr_addrs = 1;
	opts[4].addrs = &bad_prefix;
	opts[4].nr_addrs = 1;
	opts[5].vlan_id = 4095;
	opts[6].sz = 8;
	opts[7].max_sockets = UINT32_MAX;
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(sp_observer_create(&opts[i], &observer),
				 -EINVAL);
	assert_ptr_equal(observer, &lab);
	sp_observer_destroy(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_open, lab_close)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(every_frame_counts_for_the_device),
		TEST(packets_count_for_the_device_too),
		TEST(every_octet_of_a_mac_counts),
		TEST(a_frame_for_another_mac_goes_no_further),
		TEST(a_frame_that_is_cut_short_counts_for_the_device),
		TEST(without_a_vlan_only_untagged_frames_go_further),
		TEST(of_tagged_frames_only_the_own_vlans_go_further),
		TEST(a_mark_of_direction_comes_before_the_mac),
		TEST(without_a_mac_the_source_address_tells),
		TEST(raw_packets_have_no_header_to_count),
		TEST(cooked_frames_bring_their_direction),
		TEST(what_goes_from_the_host_to_itself_is_sent_and_received),
		TEST(time_that_goes_back_does_no_harm),
		TEST(a_length_below_what_was_captured_is_taken_for_it),
		TEST(options_out_of_range_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
