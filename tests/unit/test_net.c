/* SPDX-License-Identifier: MIT */
/* Namespaces and devices: statplane/net.h. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <statplane/net.h>
#include <statplane/reader.h>

#include "mib/schema_view.h"
#include "net/kernel_schema.h"

static struct sp_plane *plane;
static struct sp_reader *reader;

static int begin(void **state)
{
	assert_int_equal(sp_plane_create(NULL, &plane), 0);
	assert_int_equal(sp_reader_attach_fd(sp_plane_fd(plane), &reader), 0);
	return 0;
}

static int end(void **state)
{
	sp_reader_detach(reader);
	sp_plane_close(plane);
	return 0;
}

static struct sp_object find(enum sp_object_type type, const char *name)
{
	struct sp_object object;

	assert_int_equal(sp_reader_find(reader, type, 0, name, &object), 0);
	return object;
}

static bool is_there(enum sp_object_type type, const char *name)
{
	struct sp_object object;

	return !sp_reader_find(reader, type, 0, name, &object);
}

static void a_namespace_states_its_settings(void **state)
{
	struct sp_net_opts opts = {
		.sz = sizeof(opts),
		.forwarding = 1,
		.default_ttl = 255,
	};
	struct sp_net *plain, *router;
	struct sp_object object;

	assert_int_equal(sp_net_create(plane, "plain", NULL, &plain), 0);
	assert_int_equal(sp_net_create(plane, "router", &opts, &router), 0);
	object = find(SP_OBJECT_NETNS, "plain");
	assert_int_equal(object.attr[SP_NET_ATTR_FORWARDING], 2);
	assert_int_equal(object.attr[SP_NET_ATTR_DEFAULT_TTL], 64);
	assert_int_equal(object.cells_off, sp_net_off(plain));
	assert_int_equal(object.nr_cells, sizeof(struct sp_net_cells) / 8);
	object = find(SP_OBJECT_NETNS, "router");
	assert_int_equal(object.attr[SP_NET_ATTR_FORWARDING], 1);
	assert_int_equal(object.attr[SP_NET_ATTR_DEFAULT_TTL], 255);
	sp_net_destroy(plain);
	sp_net_destroy(router);
}

/* A caller built against a shorter struct does not know the later fields. */
static void a_short_options_struct_is_read_as_far_as_it_goes(void **state)
{
	struct sp_net_opts opts = {
		.sz = offsetof(struct sp_net_opts, default_ttl),
		.forwarding = 1,
		.default_ttl = 77,
	};
	struct sp_object object;
	struct sp_net *net;

	assert_int_equal(sp_net_create(plane, "old", &opts, &net), 0);
	object = find(SP_OBJECT_NETNS, "old");
	assert_int_equal(object.attr[SP_NET_ATTR_FORWARDING], 1);
	assert_int_equal(object.attr[SP_NET_ATTR_DEFAULT_TTL], 64);
	sp_net_destroy(net);
}

static void names_are_unique_and_plain(void **state)
{
	struct sp_net *net, *other = NULL;
	struct sp_netdev *dev, *twin = NULL;

	assert_int_equal(sp_net_create(plane, "a", NULL, &net), 0);
	assert_int_equal(sp_net_create(plane, "a", NULL, &other), -EEXIST);
	assert_int_equal(sp_net_create(plane, "a/b", NULL, &other), -EINVAL);
	assert_int_equal(sp_net_create(plane, "", NULL, &other), -EINVAL);
	assert_null(other);
	assert_int_equal(sp_netdev_create(net, "eth0", 0, NULL, &dev), 0);
	assert_int_equal(sp_netdev_create(net, "eth0", 0, NULL, &twin),
			 -EEXIST);
	assert_int_equal(sp_netdev_create(net, "a b", 0, NULL, &twin), -EINVAL);
	assert_int_equal(sp_netdev_create(net, "a:1", 0, NULL, &twin), -EINVAL);
	assert_int_equal(sp_netdev_create(net, "..", 0, NULL, &twin), -EINVAL);
	assert_int_equal(sp_netdev_create(net, "a/b", 0, NULL, &twin), -EINVAL);
	assert_int_equal(sp_netdev_create(net, "", 0, NULL, &twin), -EINVAL);
	assert_int_equal(
		sp_netdev_create(net, "sixteen-letters-", 0, NULL, &twin),
		-EINVAL);
	assert_null(twin);
	assert_int_equal(
		sp_netdev_create(net, "fifteen-letters", 0, NULL, &twin), 0);
	/* The same device name in another namespace is another device. */
	assert_int_equal(sp_net_create(plane, "b", NULL, &other), 0);
	assert_int_equal(sp_netdev_create(other, "eth0", 0, NULL, &twin), 0);
	sp_net_destroy(other);
	sp_net_destroy(net);
}

static uint64_t ifindex_of(const char *name)
{
	return find(SP_OBJECT_NETDEV, name).attr[SP_NETDEV_ATTR_IFINDEX];
}

static void interface_indexes_are_unique_in_a_namespace(void **state)
{
	struct sp_netdev *dev, *mine = NULL;
	struct sp_net *net;

	assert_int_equal(sp_net_create(plane, "a", NULL, &net), 0);
	assert_int_equal(sp_netdev_create(net, "lo", 0, NULL, &dev), 0);
	assert_int_equal(sp_netdev_create(net, "e7", 7, NULL, &dev), 0);
	assert_int_equal(sp_netdev_create(net, "next", 0, NULL, &dev), 0);
	assert_int_equal(sp_netdev_create(net, "e3", 3, NULL, &dev), 0);
	assert_int_equal(ifindex_of("lo"), 1);
	assert_int_equal(ifindex_of("e7"), 7);
	assert_int_equal(ifindex_of("next"), 8);
	assert_int_equal(ifindex_of("e3"), 3);
	assert_int_equal(sp_netdev_create(net, "no", 3, NULL, &mine), -EEXIST);
	assert_int_equal(sp_netdev_create(net, "no", 1u << 31, NULL, &mine),
			 -EINVAL);
	assert_null(mine);
	sp_netdev_destroy(dev);
	assert_int_equal(sp_netdev_create(net, "e3", 3, NULL, &dev), 0);
	assert_int_equal(sp_netdev_create(net, "max", INT32_MAX, NULL, &dev),
			 0);
	assert_int_equal(sp_netdev_create(net, "no", 0, NULL, &mine), -ENOSPC);
	sp_net_destroy(net);
}

static void a_device_states_its_address_and_parent(void **state)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0xab, 0xcd};
	struct sp_object object;
	struct sp_netdev *dev;
	struct sp_net *net;

	assert_int_equal(sp_net_create(plane, "a", NULL, &net), 0);
	assert_int_equal(sp_netdev_create(net, "eth0", 0, mac, &dev), 0);
	object = find(SP_OBJECT_NETDEV, "eth0");
	assert_int_equal(object.attr[SP_NETDEV_ATTR_MAC], 0x02000000abcdull);
	assert_int_equal(object.parent, find(SP_OBJECT_NETNS, "a").id);
	assert_int_equal(object.cells_off, sp_netdev_off(dev));
	sp_net_destroy(net);
}

static void a_namespace_takes_its_devices_along(void **state)
{
	struct sp_percpu_stats before, after;
	struct sp_netdev *dev;
	struct sp_net *net;

	sp_percpu_read_stats(plane, &before);
	assert_int_equal(sp_net_create(plane, "a", NULL, &net), 0);
	for (int i = 0; i < 5; i++) {
		char name[16];

		snprintf(name, sizeof(name), "e%d", i);
		assert_int_equal(sp_netdev_create(net, name, 0, NULL, &dev), 0);
	}
	sp_netdev_destroy(dev);
	assert_false(is_there(SP_OBJECT_NETDEV, "e4"));
	assert_true(is_there(SP_OBJECT_NETDEV, "e3"));
	sp_net_destroy(net);
	assert_false(is_there(SP_OBJECT_NETDEV, "e0"));
	assert_false(is_there(SP_OBJECT_NETNS, "a"));
	sp_percpu_read_stats(plane, &after);
	assert_int_equal(before.used_bytes, after.used_bytes);
	sp_net_destroy(NULL);
	sp_netdev_destroy(NULL);
}

/* A reader in another version finds by name what the writer meant by offset. */
static void names_in_the_plane_lead_to_the_cells(void **state)
{
	struct sp_object object, schema;
	struct sp_schema_group_view group;
	struct sp_schema_item_view item;
	struct sp_schema_view view;
	struct sp_net *net;
	const void *bytes;

	assert_int_equal(sp_net_create(plane, "a", NULL, &net), 0);
	object = find(SP_OBJECT_NETNS, "a");
	assert_int_equal(sp_reader_get(reader, object.schema, &schema), 0);
	bytes = sp_reader_blob(reader, schema.blob_off, schema.blob_bytes);
	assert_non_null(bytes);
	assert_int_equal(sp_schema_view_init(bytes, schema.blob_bytes, &view),
			 0);
	assert_int_equal(view.nr_cells, object.nr_cells);
	assert_int_equal(sp_schema_view_find_group(&view, "TcpExt", &group), 0);
	assert_int_equal(sp_schema_view_find_item(&view, &group, "TCPTimeouts",
						  0, &item),
			 0);
	assert_int_equal(8 * item.cell_idx, SP_NET_CELL(tcpext, TCPTimeouts));
	assert_int_equal(sp_schema_view_find_group(&view, "Icmp6Msg", &group),
			 0);
	assert_int_equal(
		sp_schema_view_find_item(&view, &group, "OutType", 0, &item),
		0);
	assert_int_equal(8 * item.cell_idx, SP_NET_CELL(icmp6msg, OutType));
	assert_int_equal(sizeof(struct sp_net_cells),
			 8 * sp_mib_nr_cells(&sp_net_schema));
	sp_net_destroy(net);
}

static void making_a_namespace_writes_no_unit(void **state)
{
	struct sp_percpu_stats before, after;
	static struct sp_net *nets[100];
	struct sp_netdev *dev;
	char name[16];

	sp_percpu_read_stats(plane, &before);
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		assert_int_equal(sp_net_create(plane, name, NULL, &nets[i]), 0);
		assert_int_equal(sp_netdev_create(nets[i], "lo", 0, NULL, &dev),
				 0);
	}
	sp_percpu_read_stats(plane, &after);
	assert_int_equal(before.nr_written, after.nr_written);
	for (int i = 0; i < 100; i++)
		sp_net_destroy(nets[i]);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_namespace_states_its_settings,
						begin, end),
		cmocka_unit_test_setup_teardown(
			a_short_options_struct_is_read_as_far_as_it_goes, begin,
			end),
		cmocka_unit_test_setup_teardown(names_are_unique_and_plain,
						begin, end),
		cmocka_unit_test_setup_teardown(
			interface_indexes_are_unique_in_a_namespace, begin,
			end),
		cmocka_unit_test_setup_teardown(
			a_device_states_its_address_and_parent, begin, end),
		cmocka_unit_test_setup_teardown(
			a_namespace_takes_its_devices_along, begin, end),
		cmocka_unit_test_setup_teardown(
			names_in_the_plane_lead_to_the_cells, begin, end),
		cmocka_unit_test_setup_teardown(
			making_a_namespace_writes_no_unit, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
