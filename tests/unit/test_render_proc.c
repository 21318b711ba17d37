/* SPDX-License-Identifier: MIT */
/*
 * The kernel's files, byte for byte.
 *
 * Three kinds of evidence: an empty namespace against tests/data/layouts; every
 * counter with a figure of its own against text put together here from the .def
 * files with printf(); the figures of real kernels, read from the recordings by
 * name, against those kernels' own files.
 */
#include "render_help.h"

#include <errno.h>

#include "plane/plane.h"

static struct fixture f;

static int begin(void **state)
{
	open_fixture(&f, NULL);
	return 0;
}

static int end(void **state)
{
	close_fixture(&f);
	return 0;
}

/* ---- every item with its own figure, from the .def files */

struct item {
	const char *group, *name;
	int pos[SP_NR_LAYOUTS];
	long off; /* in the cells; -1: a constant */
	long long constant;
};

#define OFF_COUNTER(type, member, name)  (long)offsetof(struct type, member.name)
#define OFF_GAUGE(type, member, name)    OFF_COUNTER(type, member, name)
#define OFF_CONSTANT(type, member, name) -1
#define POS(a, b, c, d)                                                        \
	{                                                                      \
		[SP_LAYOUT_5_15] = a, [SP_LAYOUT_6_1] = b,                     \
		[SP_LAYOUT_6_12] = c, [SP_LAYOUT_6_18] = d                     \
	}
#define SP_ITEM(group, name, kind, unit, a, b, c, d, help)                     \
	{#group, #name, POS(a, b, c, d), OFF_##kind(CELLS, MEMBER, name), 0},
#define SP_ICMP_TYPE(name, dir, type, a, b, c, d, help)                        \
	{"Icmp", #name, POS(a, b, c, d),                                       \
	 (long)offsetof(struct sp_net_cells, icmpmsg) +                        \
		 8 * (TYPE_##dir + type),                                      \
	 0},
#define TYPE_IN  0
#define TYPE_OUT 256

#define CELLS  sp_net_cells
#define MEMBER ip
static struct item ip_items[] = {
#include <statplane/kernel/ip.def>
};
#undef MEMBER
#define MEMBER icmp
static struct item icmp_items[] = {
#include <statplane/kernel/icmp.def>
};
#undef MEMBER
#define MEMBER tcp
static struct item tcp_items[] = {
#include <statplane/kernel/tcp.def>
};
#undef MEMBER
#define MEMBER udp
static struct item udp_items[] = {
#include <statplane/kernel/udp.def>
};
#undef MEMBER
#define MEMBER udplite
static struct item udplite_items[] = {
#include <statplane/kernel/udplite.def>
};
#undef MEMBER
#define MEMBER tcpext
static struct item tcpext_items[] = {
#include <statplane/kernel/tcpext.def>
};
#undef MEMBER
#define MEMBER ipext
static struct item ipext_items[] = {
#include <statplane/kernel/ipext.def>
};
#undef MEMBER
#define MEMBER mptcpext
static struct item mptcpext_items[] = {
#include <statplane/kernel/mptcpext.def>
};
#undef MEMBER
#define MEMBER ip6
static struct item ip6_items[] = {
#include <statplane/kernel/ip6.def>
};
#undef MEMBER
#define MEMBER icmp6
static struct item icmp6_items[] = {
#include <statplane/kernel/icmp6.def>
};
#undef MEMBER
#define MEMBER udp6
static struct item udp6_items[] = {
#include <statplane/kernel/udp6.def>
};
#undef MEMBER
#define MEMBER udplite6
static struct item udplite6_items[] = {
#include <statplane/kernel/udplite6.def>
};
#undef MEMBER
#define MEMBER sockstat
static struct item sockstat_items[] = {
#include <statplane/kernel/sockstat.def>
};
#undef MEMBER
#undef CELLS

#define SP_ICMP6_TYPE(name, dir, type, help)                                   \
	{"Icmp6", #name, POS(1, 1, 1, 1), 8 * (TYPE_##dir + type), 0},
static struct item icmp6type_items[] = {
#include <statplane/kernel/icmp6type.def>
};

/* A text that grows by printf(). */
static char expected[1 << 16];
static size_t expected_len;

static void __attribute__((format(printf, 1, 2))) put(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	expected_len += (size_t)vsnprintf(expected + expected_len,
					  sizeof(expected) - expected_len,
					  format, args);
	va_end(args);
	assert_true(expected_len < sizeof(expected));
}

static void clear_expected(void)
{
	expected_len = 0;
	expected[0] = '\0';
}

/* The figure that fill() gave the cell at a byte offset: of any length up to 20
 * digits, and no two are equal, since the last four digits are the index. */
static uint64_t figure(long off)
{
	uint64_t i = (uint64_t)off / 8, high = i % 1000;

	for (uint64_t zeros = 4 + i % 13; zeros; zeros--)
		high *= 10;
	return high + i + 1;
}

static void fill(sp_percpu_t base, size_t nr_cells)
{
	for (size_t i = 0; i < nr_cells; i++)
		add(&f, base + 8 * i, figure((long)(8 * i)));
}

static void set_constant(struct item *items, size_t nr, const char *name,
			 long long value)
{
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(items[i].name, name))
			items[i].constant = value;
}

#define NR(a) (sizeof(a) / sizeof((a)[0]))

static void set_constants(void)
{
	set_constant(ip_items, NR(ip_items), "Forwarding", 2);
	set_constant(ip_items, NR(ip_items), "DefaultTTL", 64);
	set_constant(tcp_items, NR(tcp_items), "RtoAlgorithm", 1);
	set_constant(tcp_items, NR(tcp_items), "RtoMin", 200);
	set_constant(tcp_items, NR(tcp_items), "RtoMax", 120000);
	set_constant(tcp_items, NR(tcp_items), "MaxConn", -1);
}

static const struct item *at(const struct item *items, size_t nr,
			     unsigned layout, int pos)
{
	for (size_t i = 0; i < nr; i++)
		if (items[i].pos[layout] == pos)
			return &items[i];
	return NULL;
}

static void put_pair(const struct item *items, size_t nr, unsigned layout)
{
	const struct item *item;

	put("%s:", items[0].group);
	for (int pos = 1; (item = at(items, nr, layout, pos)); pos++)
		put(" %s", item->name);
	put("\n%s:", items[0].group);
	for (int pos = 1; (item = at(items, nr, layout, pos)); pos++) {
		if (item->off < 0)
			put(" %lld", item->constant);
		else
			put(" %llu", (unsigned long long)figure(item->off));
	}
	put("\n");
}

/* All 512 types are nonzero: 32 pairs of lines of 16. */
static void put_icmpmsg(void)
{
	long base = (long)offsetof(struct sp_net_cells, icmpmsg);

	for (int line = 0; line < 32; line++) {
		put("IcmpMsg:");
		for (int i = 16 * line; i < 16 * line + 16; i++)
			put(" %sType%d", i < 256 ? "In" : "Out", i % 256);
		put("\nIcmpMsg:");
		for (int i = 16 * line; i < 16 * line + 16; i++)
			put(" %llu", (unsigned long long)figure(base + 8 * i));
		put("\n");
	}
}

static void check_layout(const char *name, unsigned layout)
{
	const char *text;

	sp_render_set_layout(f.render, (enum sp_layout)layout);
	text = render_file(&f, name);
	if (strcmp(text, expected) != 0)
		print_error("%s in layout %s\n", name,
			    sp_layout_name((enum sp_layout)layout));
	assert_string_equal(text, expected);
}

static void every_counter_stands_in_its_column(void **state)
{
	set_constants();
	fill(sp_net_off(f.net), sizeof(struct sp_net_cells) / 8);
	for (unsigned layout = 0; layout < SP_NR_LAYOUTS; layout++) {
		clear_expected();
		put_pair(ip_items, NR(ip_items), layout);
		put_pair(icmp_items, NR(icmp_items), layout);
		put_icmpmsg();
		put_pair(tcp_items, NR(tcp_items), layout);
		put_pair(udp_items, NR(udp_items), layout);
		put_pair(udplite_items, NR(udplite_items), layout);
		check_layout("net/snmp", layout);

		clear_expected();
		put_pair(tcpext_items, NR(tcpext_items), layout);
		put_pair(ipext_items, NR(ipext_items), layout);
		put_pair(mptcpext_items, NR(mptcpext_items), layout);
		check_layout("net/netstat", layout);
	}
}

static void put_line(const char *group, const char *name, uint64_t value)
{
	char full[64];

	snprintf(full, sizeof(full), "%s%s", group, name);
	put("%-32s\t%llu\n", full, (unsigned long long)value);
}

/* @shift: from offsets in sp_net_cells to those of the object. */
static void put_lines(const struct item *items, size_t nr, unsigned layout,
		      long shift, const char *without)
{
	const struct item *item;

	for (int pos = 1; (item = at(items, nr, layout, pos)); pos++)
		if (!without || strcmp(item->name, without) != 0)
			put_line(item->group, item->name,
				 figure(item->off + shift));
}

static void put_icmp6_types(long base)
{
	for (size_t i = 0; i < NR(icmp6type_items); i++)
		put_line("Icmp6", icmp6type_items[i].name,
			 figure(base + icmp6type_items[i].off));
	for (int i = 0; i < 512; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%sType%d", i < 256 ? "In" : "Out",
			 i % 256);
		put_line("Icmp6", name, figure(base + 8 * i));
	}
}

static void every_ipv6_counter_stands_in_its_line(void **state)
{
	fill(sp_net_off(f.net), sizeof(struct sp_net_cells) / 8);
	for (unsigned layout = 0; layout < SP_NR_LAYOUTS; layout++) {
		clear_expected();
		put_lines(ip6_items, NR(ip6_items), layout, 0, NULL);
		put_lines(icmp6_items, NR(icmp6_items), layout, 0, NULL);
		put_icmp6_types((long)offsetof(struct sp_net_cells, icmp6msg));
		put_lines(udp6_items, NR(udp6_items), layout, 0, NULL);
		put_lines(udplite6_items, NR(udplite6_items), layout, 0, NULL);
		check_layout("net/snmp6", layout);
	}
}

static void a_device_has_its_own_ipv6_counters(void **state)
{
	long ip6_shift = (long)offsetof(struct sp_netdev_cells, ip6) -
			 (long)offsetof(struct sp_net_cells, ip6);
	long icmp6_shift = (long)offsetof(struct sp_netdev_cells, icmp6) -
			   (long)offsetof(struct sp_net_cells, icmp6);
	struct sp_netdev *dev;

	assert_int_equal(sp_netdev_create(f.net, "eth0", 42, NULL, &dev), 0);
	fill(sp_netdev_off(dev), sizeof(struct sp_netdev_cells) / 8);
	for (unsigned layout = 0; layout < SP_NR_LAYOUTS; layout++) {
		clear_expected();
		put("%-32s\t42\n", "ifIndex");
		put_lines(ip6_items, NR(ip6_items), layout, ip6_shift, NULL);
		put_lines(icmp6_items, NR(icmp6_items), layout, icmp6_shift,
			  layout == SP_LAYOUT_6_18 ? "OutRateLimitHost" : NULL);
		put_icmp6_types(
			(long)offsetof(struct sp_netdev_cells, icmp6msg));
		check_layout("net/dev_snmp6/eth0", layout);
	}
}

static void put_sockstat(bool is_v6)
{
	const char *last = "";

	for (size_t i = 0; i < NR(sockstat_items); i++) {
		const char *name = sockstat_items[i].name;
		size_t len = (size_t)(strchr(name, '_') - name);
		int64_t value = (int64_t)figure(sockstat_items[i].off);

		if ((name[len - 1] == '6') != is_v6)
			continue;
		if (strncmp(last, name, len + 1) != 0)
			put("%s%.*s:", *last ? "\n" : "", (int)len, name);
		put(" %s %lld", name + len + 1,
		    value < 0 ? 0 : (long long)value);
		last = name;
	}
	put("\n");
}

static void sockstat_shows_the_gauges(void **state)
{
	fill(sp_net_off(f.net), sizeof(struct sp_net_cells) / 8);
	for (unsigned layout = 0; layout < SP_NR_LAYOUTS; layout++) {
		clear_expected();
		put_sockstat(false);
		check_layout("net/sockstat", layout);
		clear_expected();
		put_sockstat(true);
		check_layout("net/sockstat6", layout);
	}
}

static void put_dev_head(void)
{
	put("Inter-|   Receive                                                "
	    "|  Transmit\n"
	    " face |bytes    packets errs drop fifo frame compressed multicast"
	    "|bytes    packets errs drop fifo colls carrier compressed\n");
}

static void put_dev_row(const char *name, const uint64_t *v)
{
	put("%6s: %7llu %7llu %4llu %4llu %4llu %5llu %10llu %9llu "
	    "%8llu %7llu %4llu %4llu %4llu %5llu %7llu %10llu\n",
	    name, (unsigned long long)v[0], (unsigned long long)v[1],
	    (unsigned long long)v[2], (unsigned long long)v[3],
	    (unsigned long long)v[4], (unsigned long long)v[5],
	    (unsigned long long)v[6], (unsigned long long)v[7],
	    (unsigned long long)v[8], (unsigned long long)v[9],
	    (unsigned long long)v[10], (unsigned long long)v[11],
	    (unsigned long long)v[12], (unsigned long long)v[13],
	    (unsigned long long)v[14], (unsigned long long)v[15]);
}

/* Names of 1 to 15 bytes, figures from 0 to 2^64 - 1. */
static void device_rows_keep_their_widths(void **state)
{
	clear_expected();
	put_dev_head();
	for (unsigned len = 1; len <= 15; len++) {
		char name[16] = {0};
		struct sp_netdev *dev;
		uint64_t v[16];

		memset(name, 'a' + (int)len, len);
		assert_int_equal(sp_netdev_create(f.net, name, 0, NULL, &dev),
				 0);
		for (unsigned i = 0; i < 16; i++) {
			v[i] = len == 15 ? UINT64_MAX : 1ull << (len * i % 64);
			add(&f, sp_netdev_off(dev) + 8 * i, v[i]);
		}
		put_dev_row(name, v);
	}
	for (unsigned layout = 0; layout < SP_NR_LAYOUTS; layout++)
		check_layout("net/dev", layout);
}

/* ---- rows */

static void devices_come_by_interface_index(void **state)
{
	static const struct {
		const char *name;
		uint32_t ifindex;
	} devs[] = {
		{"e300", 300}, {"e256", 256}, {"lo", 1},
		{"e260", 260}, {"e44", 44},
	};
	static const char *const new_order[] = {"lo", "e44", "e256", "e260",
						"e300"};
	/* 0, 1, 4, 44 and 44 of the low bits; the later of equals first. */
	static const char *const old_order[] = {"e256", "lo", "e260", "e300",
						"e44"};
	static const uint64_t zeros[16];
	struct sp_netdev *dev;

	for (size_t i = 0; i < NR(devs); i++)
		assert_int_equal(sp_netdev_create(f.net, devs[i].name,
						  devs[i].ifindex, NULL, &dev),
				 0);
	for (unsigned layout = 0; layout < SP_NR_LAYOUTS; layout++) {
		bool is_old =
			layout == SP_LAYOUT_5_15 || layout == SP_LAYOUT_6_1;

		clear_expected();
		put_dev_head();
		for (size_t i = 0; i < NR(devs); i++)
			put_dev_row(is_old ? old_order[i] : new_order[i],
				    zeros);
		check_layout("net/dev", layout);
	}
}

/* More than are put in order at once, made in another order than shown. */
static void thousands_of_devices_are_all_shown(void **state)
{
	enum {
		NR_DEVS = 3000
	};
	const char *line;
	uint64_t last = 0;
	unsigned nr = 0;

	for (uint32_t i = 0; i < NR_DEVS; i++) {
		uint32_t ifindex = 1 + i * 1009 % NR_DEVS;
		struct sp_netdev *dev;
		char name[16];

		snprintf(name, sizeof(name), "d%u", ifindex);
		assert_int_equal(
			sp_netdev_create(f.net, name, ifindex, NULL, &dev), 0);
	}
	line = render_file(&f, "net/dev");
	line = strchr(strchr(line, '\n') + 1, '\n') + 1;
	for (; *line; line = strchr(line, '\n') + 1) {
		unsigned ifindex;

		assert_int_equal(sscanf(line, " d%u: 0 0", &ifindex), 1);
		assert_true(ifindex == last + 1);
		last = ifindex;
		nr++;
	}
	assert_int_equal(nr, NR_DEVS);
	assert_true(output.nr_pieces > 1);
}

static void softnet_has_a_row_for_each_written_unit(void **state)
{
	sp_percpu_t off = sp_net_off(f.net);
	struct sp_plane_info info;
	struct sp_lane second;
	static char want[600];
	int len;

	assert_int_equal(sp_lane_claim(f.plane, &second), 0);
	add(&f, off + SP_NET_CELL(softnet, processed), 0x1234567890ull);
	add(&f, off + SP_NET_CELL(softnet, time_squeeze), 0xabcdef);
	sp_lane_add(&second, off + SP_NET_CELL(softnet, dropped), 7);
	sp_lane_add(&second, off + SP_NET_CELL(softnet, input_qlen), 9);
	sp_lane_add(&second, off + SP_NET_CELL(softnet, received_rps), 2);
	sp_reader_info(f.reader, &info);
	len = snprintf(want, sizeof(want),
		       "34567890 00000000 00abcdef 00000000 00000000 00000000 "
		       "00000000 00000000 00000000 00000000 00000000 00000000 "
		       "%08x 00000000 00000000\n"
		       "00000000 00000007 00000000 00000000 00000000 00000000 "
		       "00000000 00000000 00000000 00000002 00000000 00000000 "
		       "%08x 00000009 00000000\n",
		       f.lane.unit - 1, second.unit - 1);
	assert_true(len > 0 && (size_t)len < sizeof(want));
	assert_string_equal(render_file(&f, "net/softnet_stat"), want);
	sp_render_set_layout(f.render, SP_LAYOUT_6_1);
	len = snprintf(want, sizeof(want),
		       "34567890 00000000 00abcdef 00000000 00000000 00000000 "
		       "00000000 00000000 00000000 00000000 00000000 00000000 "
		       "%08x\n"
		       "00000000 00000007 00000000 00000000 00000000 00000000 "
		       "00000000 00000000 00000000 00000002 00000000 00000000 "
		       "%08x\n",
		       f.lane.unit - 1, second.unit - 1);
	assert_string_equal(render_file(&f, "net/softnet_stat"), want);
	sp_lane_release(&second);
}

/* What CPUs without memory of their own counted must not get lost. */
static void the_first_softnet_row_has_the_shared_units_counts(void **state)
{
	sp_percpu_t off = sp_net_off(f.net) + SP_NET_CELL(softnet, processed);
	uint64_t *shared = (void *)(sp_plane_unit(f.plane, 0) + off);
	struct sp_lane second;
	const char *text;

	assert_int_equal(sp_lane_claim(f.plane, &second), 0);
	sp_lane_add(&f.lane, off, 0x100);
	sp_lane_add(&second, off, 0x200);
	*shared = 0x11;
	text = render_file(&f, "net/softnet_stat");
	assert_memory_equal(text, "00000111 ", 9);
	assert_memory_equal(strchr(text, '\n') + 1, "00000200 ", 9);
	sp_lane_release(&second);
}

/* ---- extremes */

static void extremes_are_printed_as_the_kernel_would(void **state)
{
	sp_percpu_t off = sp_net_off(f.net);
	const char *text;

	add(&f, off + SP_NET_CELL(ip, InReceives), UINT64_MAX);
	add(&f, off + SP_NET_CELL(tcp, CurrEstab), (uint64_t)-2);
	add(&f, off + SP_NET_CELL(sockstat, TCP_tw), (uint64_t)-3);
	add(&f, off + SP_NET_CELL(sockstat, TCP_mem), INT64_MAX);
	text = render_file(&f, "net/snmp");
	assert_non_null(strstr(text, "Ip: 2 64 18446744073709551615 0 "));
	assert_non_null(strstr(text, "Tcp: 1 200 120000 -1 0 0 0 0 "
				     "18446744073709551614 0 "));
	text = render_file(&f, "net/sockstat");
	assert_non_null(strstr(text, "TCP: inuse 0 orphan 0 tw 0 alloc 0 mem "
				     "9223372036854775807\n"));
}

static void settings_are_shown(void **state)
{
	struct sp_net_opts opts = {
		.sz = sizeof(opts),
		.forwarding = 1,
		.default_ttl = 255,
	};
	struct sp_net *router;

	assert_int_equal(sp_net_create(f.plane, "router", &opts, &router), 0);
	assert_int_equal(sp_render_set_net(f.render, "router"), 0);
	assert_non_null(strstr(render_file(&f, "net/snmp"), "Ip: 1 255 0 "));
	assert_int_equal(sp_render_set_net(f.render, NULL), 0);
	assert_non_null(strstr(render_file(&f, "net/snmp"), "Ip: 2 64 0 "));
	sp_net_destroy(router);
}

static void a_pair_of_icmpmsg_lines_holds_sixteen_types(void **state)
{
	sp_percpu_t off = sp_net_off(f.net);
	const char *text;

	for (unsigned i = 0; i < 10; i++) {
		add(&f, off + SP_NET_CELL(icmpmsg, InType) + 8 * i, i + 1);
		add(&f, off + SP_NET_CELL(icmpmsg, OutType) + 8 * (i + 246),
		    i + 1);
	}
	text = render_file(&f, "net/snmp");
	text = strstr(text, "IcmpMsg:");
	assert_non_null(text);
	assert_memory_equal(
		text,
		"IcmpMsg: InType0 InType1 InType2 InType3 InType4 InType5 "
		"InType6 InType7 InType8 InType9 OutType246 OutType247 "
		"OutType248 OutType249 OutType250 OutType251\n"
		"IcmpMsg: 1 2 3 4 5 6 7 8 9 10 1 2 3 4 5 6\n"
		"IcmpMsg: OutType252 OutType253 OutType254 OutType255\n"
		"IcmpMsg: 7 8 9 10\n"
		"Tcp: ",
		strlen("IcmpMsg: InType0 InType1 InType2 InType3 InType4 "
		       "InType5 InType6 InType7 InType8 InType9 OutType246 "
		       "OutType247 OutType248 OutType249 OutType250 "
		       "OutType251\nIcmpMsg: 1 2 3 4 5 6 7 8 9 10 1 2 3 4 5 6\n"
		       "IcmpMsg: OutType252 OutType253 OutType254 OutType255\n"
		       "IcmpMsg: 7 8 9 10\nTcp: "));
}

/* ---- samples of the layouts */

static void check_sample(const char *layout, const char *name)
{
	char path[128], *sample;

	snprintf(path, sizeof(path), "tests/data/layouts/%s/%s", layout,
		 name + strlen("net/"));
	sample = read_source_file(path);
	assert_non_null(sample);
	assert_string_equal(render_file(&f, name), sample);
	free(sample);
}

static void an_empty_namespace_reads_as_the_samples(void **state)
{
	static const char *const names[] = {
		"net/snmp",     "net/netstat",   "net/snmp6",       "net/dev",
		"net/sockstat", "net/sockstat6", "net/dev_snmp6/lo"};
	struct sp_netdev *lo;

	assert_int_equal(sp_netdev_create(f.net, "lo", 0, NULL, &lo), 0);
	for (unsigned layout = 0; layout < SP_NR_LAYOUTS; layout++) {
		sp_render_set_layout(f.render, (enum sp_layout)layout);
		for (size_t i = 0; i < NR(names); i++)
			check_sample(sp_layout_name((enum sp_layout)layout),
				     names[i]);
	}
}

/* The sample is of a plane that nobody has written: one row of zeros. */
static void an_unwritten_plane_has_one_softnet_row(void **state)
{
	close_fixture(&f);
	assert_int_equal(sp_plane_create(NULL, &f.plane), 0);
	assert_int_equal(sp_net_create(f.plane, "host", NULL, &f.net), 0);
	assert_int_equal(sp_reader_attach_fd(sp_plane_fd(f.plane), &f.reader),
			 0);
	assert_int_equal(sp_render_create(f.reader, &f.render), 0);
	for (unsigned layout = 0; layout < SP_NR_LAYOUTS; layout++) {
		sp_render_set_layout(f.render, (enum sp_layout)layout);
		check_sample(sp_layout_name((enum sp_layout)layout),
			     "net/softnet_stat");
	}
	assert_int_equal(sp_lane_claim(f.plane, &f.lane), 0);
}

/* ---- the figures of real kernels */

static void inject(const struct sp_mib_schema *schema, sp_percpu_t base,
		   const char *group, const char *item, uint64_t value)
{
	size_t off = find_cell(schema, group, item);

	if (off != (size_t)-1)
		add(&f, base + off, value);
}

/* InType8: cell 8 of the array InType. */
static void inject_type(const struct sp_mib_schema *schema, sp_percpu_t base,
			const char *group, const char *item, uint64_t value)
{
	char array[16] = {0};
	size_t off;

	snprintf(array, sizeof(array), "%.*s", (int)strcspn(item, "0123456789"),
		 item);
	off = find_cell(schema, group, array);
	assert_true(off != (size_t)-1);
	add(&f, base + off + 8 * strtoul(item + strlen(array), NULL, 10),
	    value);
}

static bool is_numbered_type(const char *item)
{
	return !strncmp(item, "InType", 6) || !strncmp(item, "OutType", 7);
}

/* One line of names and one of figures; both are cut up. */
static void inject_pair(char *names, char *values)
{
	char *names_at, *values_at, *name, *value;
	const char *group = strtok_r(names, ": ", &names_at);

	strtok_r(values, ": ", &values_at);
	while ((name = strtok_r(NULL, " ", &names_at))) {
		value = strtok_r(NULL, " ", &values_at);
		if (!strcmp(group, "IcmpMsg"))
			inject_type(&sp_net_schema, sp_net_off(f.net), group,
				    name, strtoull(value, NULL, 10));
		else
			inject(&sp_net_schema, sp_net_off(f.net), group, name,
			       strtoull(value, NULL, 10));
	}
}

static void inject_pairs(char *text)
{
	char *at, *names = strtok_r(text, "\n", &at);

	for (; names; names = strtok_r(NULL, "\n", &at))
		inject_pair(names, strtok_r(NULL, "\n", &at));
}

/* "Icmp6InType8   \t3": the longest group whose name begins the word. */
static void inject_line(const struct sp_mib_schema *schema, sp_percpu_t base,
			char *line)
{
	static const char *const groups[] = {"UdpLite6", "Udp6", "Icmp6",
					     "Ip6"};
	char *tab = strchr(line, '\t');
	uint64_t value = strtoull(tab + 1, NULL, 10);

	line[strcspn(line, " \t")] = '\0';
	for (size_t i = 0; i < NR(groups); i++) {
		const char *item = line + strlen(groups[i]);

		if (strncmp(line, groups[i], strlen(groups[i])) != 0)
			continue;
		if (is_numbered_type(item))
			inject_type(schema, base, "Icmp6Msg", item, value);
		else
			inject(schema, base, groups[i], item, value);
		return;
	}
}

static void inject_lines(const struct sp_mib_schema *schema, sp_percpu_t base,
			 char *text)
{
	char *at, *line = strtok_r(text, "\n", &at);

	for (; line; line = strtok_r(NULL, "\n", &at))
		inject_line(schema, base, line);
}

static void inject_sockstat(char *text)
{
	char *line_at, *line = strtok_r(text, "\n", &line_at);

	for (; line; line = strtok_r(NULL, "\n", &line_at)) {
		char *at, *item, full[32];
		const char *word = strtok_r(line, ": ", &at);

		while ((item = strtok_r(NULL, " ", &at))) {
			snprintf(full, sizeof(full), "%s_%s", word, item);
			inject(&sp_net_schema, sp_net_off(f.net), "Sockstat",
			       full,
			       strtoull(strtok_r(NULL, " ", &at), NULL, 10));
		}
	}
}

static void inject_dev(char *line, uint32_t ifindex)
{
	char *at, *name = strtok_r(line, ": ", &at), *value;
	struct sp_netdev *dev;
	size_t off = 0;

	assert_int_equal(sp_netdev_create(f.net, name, ifindex, NULL, &dev), 0);
	while ((value = strtok_r(NULL, " ", &at))) {
		add(&f, sp_netdev_off(dev) + off, strtoull(value, NULL, 10));
		off += 8;
	}
	assert_int_equal(off, 16 * 8);
}

static char *read_recorded(const char *recording, const char *name)
{
	char path[160];

	snprintf(path, sizeof(path), "tests/oracle/recordings/%s/after/%s",
		 recording, name);
	return read_source_file(path);
}

static void inject_file(const char *recording, const char *name,
			void (*inject_text)(char *))
{
	char *text = read_recorded(recording, name);

	assert_non_null(text);
	inject_text(text);
	free(text);
}

static void inject_snmp6(char *text)
{
	inject_lines(&sp_net_schema, sp_net_off(f.net), text);
}

static sp_percpu_t dev_off(const char *name)
{
	struct sp_object object;

	assert_int_equal(
		sp_reader_find(f.reader, SP_OBJECT_NETDEV, 0, name, &object),
		0);
	return object.cells_off;
}

static void check_recorded(const char *recording, const char *name)
{
	char *text = read_recorded(recording, name);

	assert_non_null(text);
	if (strcmp(render_file(&f, name), text) != 0)
		print_error("%s of recording %s\n", name, recording);
	assert_string_equal(output.text, text);
	free(text);
}

/* The devices of net/dev in its order, each with its dev_snmp6 file if any. */
static void check_devs(const char *recording)
{
	char *text = read_recorded(recording, "net/dev"), *at, *line;

	assert_non_null(text);
	line = strtok_r(text, "\n", &at);
	for (line = strtok_r(NULL, "\n", &at), line = strtok_r(NULL, "\n", &at);
	     line; line = strtok_r(NULL, "\n", &at)) {
		char name[64], dev[32], *dev_text;

		assert_int_equal(sscanf(line, " %31[^:]:", dev), 1);
		snprintf(name, sizeof(name), "net/dev_snmp6/%s", dev);
		dev_text = read_recorded(recording, name);
		inject_dev(line,
			   dev_text ? (uint32_t)strtoul(strchr(dev_text, '\t'),
							NULL, 10)
				    : 0);
		if (!dev_text)
			continue;
		inject_lines(&sp_netdev_schema, dev_off(dev), dev_text);
		free(dev_text);
		check_recorded(recording, name);
	}
	free(text);
	check_recorded(recording, "net/dev");
}

/* Whether the recorded host forwards. */
static struct sp_net_opts recorded_opts(const char *recording)
{
	struct sp_net_opts opts = {.sz = sizeof(opts)};
	char *text = read_recorded(recording, "net/snmp");
	const char *values;

	assert_non_null(text);
	values = strstr(text + 1, "\nIp: ");
	assert_non_null(values);
	assert_int_equal(sscanf(values, "\nIp: %u %u ", &opts.forwarding,
				&opts.default_ttl),
			 2);
	free(text);
	return opts;
}

static void check_recording(const char *recording)
{
	struct sp_net_opts opts = recorded_opts(recording);

	open_fixture(&f, &opts);
	inject_file(recording, "net/snmp", inject_pairs);
	inject_file(recording, "net/netstat", inject_pairs);
	inject_file(recording, "net/snmp6", inject_snmp6);
	inject_file(recording, "net/sockstat", inject_sockstat);
	inject_file(recording, "net/sockstat6", inject_sockstat);
	check_recorded(recording, "net/snmp");
	check_recorded(recording, "net/netstat");
	check_recorded(recording, "net/snmp6");
	check_recorded(recording, "net/sockstat");
	check_recorded(recording, "net/sockstat6");
	check_devs(recording);
	close_fixture(&f);
}

static void recorded_files_come_out_again(void **state)
{
	static const char *const recordings[] = {
		"bad",      "basic", "bulk", "ecn-mcast-bcast",
		"frag",     "icmp",  "loss", "many",
		"tcp-life", "v6",    "vlan"};

	for (size_t i = 0; i < NR(recordings); i++)
		check_recording(recordings[i]);
}

/* ---- planes of another version, damage, changes */

/* Put a namespace's object over the cells of a MIB. */
static void show_as_namespace(const char *mib_name)
{
	struct sp_object object;

	assert_int_equal(
		sp_reader_find(f.reader, SP_OBJECT_MIB, 0, mib_name, &object),
		0);
	object.type = SP_OBJECT_NETNS;
	object.attr[SP_NET_ATTR_FORWARDING] = 2;
	object.attr[SP_NET_ATTR_DEFAULT_TTL] = 64;
	assert_int_equal(sp_dir_add(f.plane, &object, &object.id), 0);
}

/* A namespace whose schema has other items, in another order, and more kinds. */
static void columns_go_by_the_names_in_the_plane(void **state)
{
	static const struct sp_mib_item udp[] = {
		{"NoPorts", "", "", SP_MIB_COUNTER},
		{"FromTheFuture", "", "", SP_MIB_HISTOGRAM},
		{"InDatagrams", "", "", SP_MIB_COUNTER},
		/* Of a kind that cannot be a column. */
		{"InErrors", "", "", SP_MIB_ARRAY},
	};
	static const struct sp_mib_item types[] = {
		{"OutType", "", "", SP_MIB_ARRAY},
	};
	static const struct sp_mib_group other_groups[] = {
		{"IcmpMsg", "", types, NR(types)},
		{"Udp", "", udp, NR(udp)},
	};
	static const struct sp_mib_schema other = {"net", other_groups, 2};
	struct sp_mib *mib;
	const char *text;

	assert_int_equal(sp_mib_create(f.plane, "other", &other, &mib), 0);
	sp_lane_add(&f.lane, sp_mib_off(mib, 8), 1); /* OutType8 */
	sp_lane_add(&f.lane, sp_mib_off(mib, 256), 11);
	sp_lane_add(&f.lane, sp_mib_off(mib, 256 + 1 + 66), 22);
	sp_lane_add(&f.lane, sp_mib_off(mib, 256 + 1 + 66 + 1), 33);
	show_as_namespace("other");
	/* One after the other: what was worked out for one schema must not be
	 * used for the other. */
	assert_non_null(strstr(render_file(&f, "net/snmp"),
			       "\nUdp: 0 0 0 0 0 0 0 0 0\n"));
	assert_int_equal(sp_render_set_net(f.render, "other"), 0);
	text = render_file(&f, "net/snmp");
	assert_non_null(strstr(text, "\nUdp: 22 11 0 0 0 0 0 0 0\n"));
	assert_non_null(strstr(text, "\nIcmpMsg: OutType8\nIcmpMsg: 1\n"));
	assert_non_null(strstr(text, "\nTcp: 1 200 120000 -1 0 0 0 0 0 0 0 0 "
				     "0 0 0\n"));
	text = render_file(&f, "net/softnet_stat");
	/* No such group: one row of zeros. */
	assert_int_equal(strspn(text, "0 "), strlen(text) - 1);
	sp_mib_destroy(mib);
}

static void what_there_is_not_is_an_error(void **state)
{
	clear_output();
	assert_int_equal(sp_render_file(f.render, "net/tcp7", take, &output),
			 -ENOENT);
	assert_int_equal(sp_render_file(f.render, "snmp", take, &output),
			 -ENOENT);
	assert_int_equal(
		sp_render_file(f.render, "net/dev_snmp6/none", take, &output),
		-ENOENT);
	assert_int_equal(
		sp_render_file(f.render, "net/dev_snmp6/", take, &output),
		-ENOENT);
	assert_int_equal(sp_render_set_net(f.render, "nowhere"), -ENOENT);
	assert_int_equal(sp_render_file(f.render, "net/snmp", take, &output),
			 -ENOENT);
	assert_int_equal(output.len, 0);
}

static int refuse(void *ctx, const char *text, size_t len)
{
	return -EPIPE;
}

static void an_error_of_the_callback_is_passed_on(void **state)
{
	assert_int_equal(sp_render_file(f.render, "net/snmp", refuse, NULL),
			 -EPIPE);
	assert_int_equal(
		sp_render_file_json(f.render, "net/snmp", refuse, NULL),
		-EPIPE);
	/* The renderer is as good as before. */
	assert_non_null(strstr(render_file(&f, "net/snmp"), "Ip: "));
}

static void a_namespace_that_comes_again_is_found_again(void **state)
{
	assert_int_equal(sp_render_set_net(f.render, "host"), 0);
	add(&f, sp_net_off(f.net) + SP_NET_CELL(udp, NoPorts), 5);
	assert_non_null(strstr(render_file(&f, "net/snmp"), "\nUdp: 0 5 "));
	sp_net_destroy(f.net);
	f.net = NULL;
	assert_int_equal(sp_render_file(f.render, "net/snmp", take, &output),
			 -ENOENT);
	assert_int_equal(sp_net_create(f.plane, "host", NULL, &f.net), 0);
	assert_non_null(strstr(render_file(&f, "net/snmp"), "\nUdp: 0 0 "));
}

static void all_files_are_named(void **state)
{
	char name[SP_RENDER_NAME_MAX], all[512] = "";
	struct sp_netdev *dev;
	uint64_t cursor = 0;

	assert_int_equal(sp_netdev_create(f.net, "lo", 0, NULL, &dev), 0);
	assert_int_equal(sp_netdev_create(f.net, "eth0", 0, NULL, &dev), 0);
	while (!sp_render_next_file(f.render, &cursor, name)) {
		assert_true(*render_file(&f, name) != '\0');
		assert_true(*render_json(&f, name) == '{');
		strcat(all, name);
		strcat(all, "\n");
	}
	assert_string_equal(all, "net/dev\nnet/netstat\nnet/raw\nnet/raw6\n"
				 "net/snmp\nnet/snmp6\n"
				 "net/sockstat\nnet/sockstat6\n"
				 "net/softnet_stat\nnet/tcp\nnet/tcp6\n"
				 "net/udp\nnet/udp6\nnet/udplite\n"
				 "net/udplite6\nnet/dev_snmp6/lo\n"
				 "net/dev_snmp6/eth0\n");
	assert_int_equal(sp_render_next_file(f.render, &cursor, name), -ENOENT);
}

/* Overwrite the name of a device in the directory, as only a damaged or hostile
 * plane would have it. */
static void rename_device(const char *from, const char *to)
{
	struct sp_dir_entry *entry =
		(void *)(f.plane->base + f.plane->dir_section->off);
	uint64_t nr = f.plane->dir_section->len / sizeof(*entry);

	for (; nr && strcmp(entry->name, from) != 0; nr--)
		entry++;
	assert_true(nr > 0);
	strcpy(entry->name, to);
}

static void unsafe_names_lead_to_no_file(void **state)
{
	static const char *const unsafe[] = {"../x", "..", ".", "a/b", ""};
	char name[SP_RENDER_NAME_MAX], last[16] = "eth0";
	struct sp_netdev *dev;

	assert_int_equal(sp_netdev_create(f.net, last, 0, NULL, &dev), 0);
	for (size_t i = 0; i < NR(unsafe); i++) {
		uint64_t cursor = 0;
		unsigned nr = 0;

		rename_device(last, unsafe[i]);
		while (!sp_render_next_file(f.render, &cursor, name))
			nr++;
		assert_int_equal(nr, 15);
		rename_device(unsafe[i], last);
	}
	/* White space would shift the columns of net/dev. */
	rename_device(last, "a b");
	assert_non_null(strstr(render_file(&f, "net/dev"), "\n   a?b:"));
	rename_device("a b", last);
}

static void layouts_have_names(void **state)
{
	enum sp_layout layout;

	for (unsigned i = 0; i < SP_NR_LAYOUTS; i++) {
		assert_int_equal(
			sp_layout_parse(sp_layout_name((enum sp_layout)i),
					&layout),
			0);
		assert_int_equal(layout, i);
	}
	assert_null(sp_layout_name(SP_NR_LAYOUTS));
	assert_int_equal(sp_layout_parse("6.19", &layout), -EINVAL);
	assert_int_equal(sp_layout_parse("", &layout), -EINVAL);
}

/* Counts of other CPUs and lanes are in every sum. */
static void a_figure_is_the_sum_over_all_units(void **state)
{
	sp_percpu_t off = sp_net_off(f.net) + SP_NET_CELL(udp, OutDatagrams);
	struct sp_lane lanes[3];

	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(sp_lane_claim(f.plane, &lanes[i]), 0);
		sp_lane_add(&lanes[i], off, 100 + i);
	}
	sp_percpu_add(sp_plane_percpu(f.plane), off, 1000);
	assert_non_null(
		strstr(render_file(&f, "net/snmp"), "\nUdp: 0 0 0 1303 "));
	for (unsigned i = 0; i < 3; i++)
		sp_lane_release(&lanes[i]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(an_empty_namespace_reads_as_the_samples),
		TEST(an_unwritten_plane_has_one_softnet_row),
		TEST(every_counter_stands_in_its_column),
		TEST(every_ipv6_counter_stands_in_its_line),
		TEST(a_device_has_its_own_ipv6_counters),
		TEST(sockstat_shows_the_gauges),
		TEST(device_rows_keep_their_widths),
		TEST(devices_come_by_interface_index),
		TEST(thousands_of_devices_are_all_shown),
		TEST(softnet_has_a_row_for_each_written_unit),
		TEST(the_first_softnet_row_has_the_shared_units_counts),
		TEST(extremes_are_printed_as_the_kernel_would),
		TEST(settings_are_shown),
		TEST(a_pair_of_icmpmsg_lines_holds_sixteen_types),
		cmocka_unit_test(recorded_files_come_out_again),
		TEST(columns_go_by_the_names_in_the_plane),
		TEST(what_there_is_not_is_an_error),
		TEST(an_error_of_the_callback_is_passed_on),
		TEST(a_namespace_that_comes_again_is_found_again),
		TEST(all_files_are_named),
		TEST(unsafe_names_lead_to_no_file),
		cmocka_unit_test(layouts_have_names),
		TEST(a_figure_is_the_sum_over_all_units),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
