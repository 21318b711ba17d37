/* SPDX-License-Identifier: MIT */
/* The figures as JSON, read by a JSON parser: docs/json.md. */
#include "render_help.h"

#include <jansson.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <statplane/conn.h>

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

/* The object of a file; the caller puts it back. */
static json_t *parse(const char *name)
{
	json_error_t error;
	const char *text = render_json(&f, name);
	json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	if (!json)
		print_error("%s: %s\n%s", name, error.text, text);
	assert_non_null(json);
	assert_string_equal(json_string_value(json_object_get(json, "file")),
			    name);
	assert_int_equal(output.text[output.len - 1], '\n');
	assert_null(memchr(output.text, '\n', output.len - 1));
	return json;
}

static json_int_t number(const json_t *json, const char *outer,
			 const char *group, const char *item)
{
	const json_t *value = json_object_get(
		json_object_get(json_object_get(json, outer), group), item);

	assert_true(json_is_integer(value));
	return json_integer_value(value);
}

static void figures_are_grouped(void **state)
{
	sp_percpu_t off = sp_net_off(f.net);
	json_t *json;

	add(&f, off + SP_NET_CELL(ip, InReceives), 123);
	add(&f, off + SP_NET_CELL(icmpmsg, InType[8]), 7);
	add(&f, off + SP_NET_CELL(tcpext, TCPTimeouts), 9);
	json = parse("net/snmp");
	assert_string_equal(json_string_value(json_object_get(json, "netns")),
			    "host");
	assert_string_equal(json_string_value(json_object_get(json, "layout")),
			    "6.18");
	assert_int_equal(number(json, "groups", "Ip", "InReceives"), 123);
	assert_int_equal(number(json, "groups", "Ip", "Forwarding"), 2);
	assert_int_equal(number(json, "groups", "Icmp", "InEchos"), 7);
	assert_int_equal(number(json, "groups", "IcmpMsg", "InType8"), 7);
	assert_int_equal(number(json, "groups", "Tcp", "MaxConn"), -1);
	assert_int_equal(json_object_size(json_object_get(
				 json_object_get(json, "groups"), "IcmpMsg")),
			 1);
	json_decref(json);
	json = parse("net/netstat");
	assert_int_equal(number(json, "groups", "TcpExt", "TCPTimeouts"), 9);
	json_decref(json);
}

static void gauges_are_signed(void **state)
{
	sp_percpu_t off = sp_net_off(f.net);
	json_t *json;

	add(&f, off + SP_NET_CELL(tcp, CurrEstab), (uint64_t)-4);
	add(&f, off + SP_NET_CELL(sockstat, UDP6_inuse), (uint64_t)-1);
	json = parse("net/snmp");
	assert_int_equal(number(json, "groups", "Tcp", "CurrEstab"), -4);
	json_decref(json);
	json = parse("net/sockstat6");
	assert_int_equal(number(json, "groups", "UDP6", "inuse"), -1);
	json_decref(json);
}

static void counters_keep_all_their_bits(void **state)
{
	add(&f, sp_net_off(f.net) + SP_NET_CELL(ip, InReceives), UINT64_MAX);
	assert_non_null(strstr(render_json(&f, "net/snmp"),
			       "\"InReceives\":18446744073709551615,"));
}

static void ipv6_types_have_a_group(void **state)
{
	struct sp_netdev *dev;
	json_t *json;

	assert_int_equal(sp_netdev_create(f.net, "eth0", 7, NULL, &dev), 0);
	add(&f, sp_netdev_off(dev) + SP_NETDEV_CELL(icmp6msg, OutType[136]), 3);
	add(&f, sp_net_off(f.net) + SP_NET_CELL(udp6, NoPorts), 5);
	json = parse("net/dev_snmp6/eth0");
	assert_string_equal(json_string_value(json_object_get(json, "device")),
			    "eth0");
	assert_int_equal(json_integer_value(json_object_get(json, "ifIndex")),
			 7);
	assert_int_equal(
		number(json, "groups", "Icmp6", "OutNeighborAdvertisements"),
		3);
	assert_int_equal(number(json, "groups", "Icmp6Msg", "OutType136"), 3);
	json_decref(json);
	json = parse("net/snmp6");
	assert_int_equal(number(json, "groups", "Udp6", "NoPorts"), 5);
	json_decref(json);
}

static void rows_are_devices_or_units(void **state)
{
	struct sp_netdev *lo, *dev;
	const json_t *rows;
	json_t *json;

	json = parse("net/dev");
	assert_int_equal(json_object_size(json_object_get(json, "devices")), 0);
	json_decref(json);
	assert_int_equal(sp_netdev_create(f.net, "lo", 0, NULL, &lo), 0);
	assert_int_equal(sp_netdev_create(f.net, "eth0", 0, NULL, &dev), 0);
	add(&f, sp_netdev_off(dev) + SP_NETDEV_CELL(dev, tx_bytes), 99);
	add(&f, sp_net_off(f.net) + SP_NET_CELL(softnet, processed),
	    1ull << 40);
	json = parse("net/dev");
	assert_int_equal(number(json, "devices", "eth0", "tx_bytes"), 99);
	assert_int_equal(number(json, "devices", "lo", "tx_bytes"), 0);
	json_decref(json);
	json = parse("net/softnet_stat");
	rows = json_object_get(json, "rows");
	assert_int_equal(json_array_size(rows), 1);
	assert_int_equal(json_integer_value(json_object_get(
				 json_array_get(rows, 0), "processed")),
			 1ull << 40);
	assert_int_equal(json_integer_value(json_object_get(
				 json_array_get(rows, 0), "cpu")),
			 f.lane.unit - 1);
	json_decref(json);
}

static void names_are_escaped(void **state)
{
	struct sp_netdev *dev;
	struct sp_net *odd;
	json_t *json;

	assert_int_equal(sp_net_create(f.plane, "a\"b\\c\xff", NULL, &odd), 0);
	assert_int_equal(sp_netdev_create(odd, "d\"e\\", 0, NULL, &dev), 0);
	assert_int_equal(sp_render_set_net(f.render, "a\"b\\c\xff"), 0);
	json = parse("net/dev");
	assert_string_equal(json_string_value(json_object_get(json, "netns")),
			    "a\"b\\c\xef\xbf\xbd");
	assert_int_equal(number(json, "devices", "d\"e\\", "rx_bytes"), 0);
	json_decref(json);
	sp_net_destroy(odd);
}

/* The columns of the layout, no others. */
static void the_layout_chooses_the_items(void **state)
{
	json_t *json;

	for (unsigned layout = 0; layout < SP_NR_LAYOUTS; layout++) {
		bool is_new =
			layout == SP_LAYOUT_6_18 || layout == SP_LAYOUT_6_12;
		const json_t *ip;

		sp_render_set_layout(f.render, (enum sp_layout)layout);
		json = parse("net/snmp");
		ip = json_object_get(json_object_get(json, "groups"), "Ip");
		assert_int_equal(json_object_size(ip), is_new ? 20 : 19);
		assert_true(!json_object_get(ip, "OutTransmits") == !is_new);
		json_decref(json);
	}
}

static void all_files_are_json_in_all_layouts(void **state)
{
	char name[SP_RENDER_NAME_MAX];
	struct sp_netdev *dev;

	assert_int_equal(sp_netdev_create(f.net, "lo", 0, NULL, &dev), 0);
	assert_int_equal(sp_netdev_create(f.net, "eth0", 0, NULL, &dev), 0);
	for (size_t i = 0; i < sizeof(struct sp_net_cells) / 8; i++)
		add(&f, sp_net_off(f.net) + 8 * i, i + 1);
	for (unsigned layout = 0; layout < SP_NR_LAYOUTS; layout++) {
		uint64_t cursor = 0;

		sp_render_set_layout(f.render, (enum sp_layout)layout);
		while (!sp_render_next_file(f.render, &cursor, name))
			json_decref(parse(name));
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

static void sockets_are_rows(void **state)
{
	struct sp_conn conn = {
		.key = {.family = AF_INET6,
			.protocol = IPPROTO_TCP,
			.local = {0xfd, [15] = 1},
			.remote = {0xfd, [15] = 2},
			.local_port = 443,
			.remote_port = 65535},
		.state = SP_TCP_CLOSE_WAIT,
		.rx_queue = UINT32_MAX,
		.bytes_in = 1ull << 62,
		.uid = 1000,
	};
	struct sp_conn_table *table;
	sp_conn_id id;
	json_t *json, *rows, *row;

	assert_int_equal(sp_conn_table_create(f.net, NULL, &table), 0);
	assert_int_equal(sp_conn_open(table, &conn, &id), 0);
	json = parse("net/tcp6");
	rows = json_object_get(json, "rows");
	assert_int_equal(json_array_size(rows), 1);
	row = json_array_get(rows, 0);
	assert_string_equal(json_string_value(json_object_get(row, "local")),
			    "fd00::1");
	assert_string_equal(json_string_value(json_object_get(row, "remote")),
			    "fd00::2");
	assert_string_equal(json_string_value(json_object_get(row, "state")),
			    "close-wait");
	assert_true(json_is_false(json_object_get(row, "mini")));
	assert_int_equal(
		json_integer_value(json_object_get(row, "remote_port")), 65535);
	assert_int_equal(json_integer_value(json_object_get(row, "rx_queue")),
			 UINT32_MAX);
	assert_true(json_integer_value(json_object_get(row, "bytes_in")) ==
		    (json_int_t)1 << 62);
	assert_int_equal(json_integer_value(json_object_get(row, "uid")), 1000);
	json_decref(json);
	json = parse("net/tcp");
	assert_int_equal(json_array_size(json_object_get(json, "rows")), 0);
	json_decref(json);
	json = parse("net/raw");
	assert_int_equal(json_array_size(json_object_get(json, "rows")), 0);
	json_decref(json);
	sp_conn_table_destroy(table);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(figures_are_grouped),
		TEST(gauges_are_signed),
		TEST(counters_keep_all_their_bits),
		TEST(ipv6_types_have_a_group),
		TEST(rows_are_devices_or_units),
		TEST(names_are_escaped),
		TEST(the_layout_chooses_the_items),
		TEST(all_files_are_json_in_all_layouts),
		TEST(sockets_are_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
