/* SPDX-License-Identifier: MIT */
/*
 * test_conn.c - the table of connections: publishing, reading, timers, and what
 * goes for want of room.
 */
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <statplane/conn.h>
#include <statplane/plane.h>

#include "conn/conn.h"

#define SECOND_NS 1000000000ull

static struct sp_plane *plane;
static struct sp_net *net;
static struct sp_conn_table *table;

static int open_with(uint32_t max, uint64_t idle_ns)
{
	struct sp_conn_opts opts = {
		.sz = sizeof(opts),
		.max_conns = max,
		.idle_ns = idle_ns,
	};

	assert_int_equal(sp_plane_create(NULL, &plane), 0);
	assert_int_equal(sp_net_create(plane, "net", NULL, &net), 0);
	assert_int_equal(sp_conn_table_create(net, &opts, &table), 0);
	sp_conn_advance(table, 1000 * SECOND_NS);
	return 0;
}

static int open_small(void **state)
{
	(void)state;
	return open_with(8, 0);
}

static int open_large(void **state)
{
	(void)state;
	return open_with(0, 100 * SECOND_NS);
}

static int close_all(void **state)
{
	(void)state;
	sp_conn_table_destroy(table);
	sp_net_destroy(net);
	sp_plane_close(plane);
	return 0;
}

static struct sp_conn a_conn(uint16_t port, enum sp_tcp_state state)
{
	return (struct sp_conn){
		.key = {.local = {10, 0, 0, 2},
			.remote = {10, 0, 0, 1},
			.local_port = 80,
			.remote_port = port,
			.family = AF_INET,
			.protocol = IPPROTO_TCP},
		.state = (uint8_t)state,
		.inode = 1000u + port,
	};
}

/* Return: 0 if it was refused. */
static sp_conn_id add(uint16_t port, enum sp_tcp_state state)
{
	struct sp_conn conn = a_conn(port, state);
	sp_conn_id id = 0;

	conn.last_ns = 1000 * SECOND_NS + port;
	sp_conn_open(table, &conn, &id);
	return id;
}

static bool is_there(sp_conn_id id)
{
	struct sp_conn conn;

	return sp_conn_read(table, id, &conn) == 0;
}

static struct sp_conn_stats stats(void)
{
	struct sp_conn_stats s;

	sp_conn_read_stats(table, &s);
	return s;
}

/* Rows that a reader sees; the sum of their inodes. */
static unsigned walk(uint64_t *ret_inodes)
{
	struct sp_conn_walk *rows;
	struct sp_object object;
	struct sp_reader *reader;
	struct sp_conn conn;
	unsigned nr = 0;

	*ret_inodes = 0;
	assert_int_equal(sp_reader_attach_fd(sp_plane_fd(plane), &reader), 0);
	assert_int_equal(
		sp_reader_find(reader, SP_OBJECT_NETNS, 0, "net", &object), 0);
	assert_int_equal(sp_conn_walk_create(&rows), 0);
	assert_int_equal(sp_conn_walk_begin(rows, reader, &object), 0);
	while (!sp_conn_walk_next(rows, &conn)) {
		assert_int_equal(conn.key.protocol, IPPROTO_TCP);
		*ret_inodes += conn.inode;
		nr++;
	}
	sp_conn_walk_destroy(rows);
	sp_reader_detach(reader);
	return nr;
}

static void what_is_published_is_read(void **state)
{
	struct sp_conn conn = a_conn(9, SP_TCP_ESTABLISHED), copy;
	sp_conn_id id, other;

	(void)state;
	conn.tx_queue = 17;
	conn.rx_queue = 18;
	conn.uid = 1234;
	conn.inode = 0x123456789abcull;
	conn.cwnd = 11;
	conn.ssthresh = 12;
	conn.rto_us = 204000;
	conn.ato_us = 40000;
	conn.rtt_us = 777;
	conn.timer = SP_CONN_TIMER_RETRANSMIT;
	conn.expires_ns = 1234567890123ull;
	conn.bytes_in = 1ull << 40;
	assert_int_equal(sp_conn_open(table, &conn, &id), 0);
	assert_int_equal(sp_conn_find(table, &conn.key), id);
	assert_int_equal(sp_conn_open(table, &conn, &other), -EEXIST);
	assert_int_equal(sp_conn_read(table, id, &copy), 0);
	/* Field by field: padding is anybody's. */
	assert_memory_equal(&copy.key, &conn.key, sizeof(conn.key));
	assert_int_equal(copy.state, conn.state);
	assert_int_equal(copy.tx_queue, conn.tx_queue);
	assert_int_equal(copy.rx_queue, conn.rx_queue);
	assert_int_equal(copy.uid, conn.uid);
	assert_int_equal(copy.inode, conn.inode);
	assert_int_equal(copy.cwnd, conn.cwnd);
	assert_int_equal(copy.ssthresh, conn.ssthresh);
	assert_int_equal(copy.rto_us, conn.rto_us);
	assert_int_equal(copy.ato_us, conn.ato_us);
	assert_int_equal(copy.rtt_us, conn.rtt_us);
	assert_int_equal(copy.timer, conn.timer);
	assert_int_equal(copy.expires_ns, conn.expires_ns);
	assert_int_equal(copy.bytes_in, conn.bytes_in);
}

static void rows_are_updated_and_closed(void **state)
{
	struct sp_conn conn = a_conn(9, SP_TCP_SYN_SENT), copy;
	sp_conn_id id = add(9, SP_TCP_SYN_SENT);

	(void)state;
	assert_int_equal(sp_conn_set_state(table, id, SP_TCP_ESTABLISHED), 0);
	assert_int_equal(sp_conn_read(table, id, &copy), 0);
	assert_int_equal(copy.state, SP_TCP_ESTABLISHED);
	conn.state = SP_TCP_CLOSE_WAIT;
	conn.tx_queue = 99;
	assert_int_equal(sp_conn_update(table, id, &conn), 0);
	assert_int_equal(sp_conn_read(table, id, &copy), 0);
	assert_int_equal(copy.state, SP_TCP_CLOSE_WAIT);
	assert_int_equal(copy.tx_queue, 99);
	assert_int_equal(sp_conn_close(table, id), 0);
	assert_int_equal(sp_conn_close(table, id), -ENOENT);
	assert_int_equal(sp_conn_update(table, id, &conn), -ENOENT);
	assert_int_equal(sp_conn_set_state(table, id, SP_TCP_CLOSING), -ENOENT);
	assert_int_equal(sp_conn_find(table, &conn.key), 0);
	/* The same key again is another row. */
	assert_int_not_equal(add(9, SP_TCP_ESTABLISHED), id);
}

static void what_cannot_be_is_refused(void **state)
{
	struct sp_conn conn = a_conn(9, SP_TCP_ESTABLISHED);
	struct sp_conn_table *second;
	sp_conn_id id = 77;

	(void)state;
	conn.state = 0;
	assert_int_equal(sp_conn_open(table, &conn, &id), -EINVAL);
	conn.state = SP_TCP_NEW_SYN_RECV;
	assert_int_equal(sp_conn_open(table, &conn, &id), -EINVAL);
	conn = a_conn(9, SP_TCP_ESTABLISHED);
	conn.key.family = 99;
	assert_int_equal(sp_conn_open(table, &conn, &id), -EINVAL);
	conn = a_conn(9, SP_TCP_ESTABLISHED);
	conn.key.protocol = IPPROTO_ICMP;
	assert_int_equal(sp_conn_open(table, &conn, &id), -EINVAL);
	conn = a_conn(9, SP_TCP_ESTABLISHED);
	conn.key.remote[15] = 1;
	assert_int_equal(sp_conn_open(table, &conn, &id), -EINVAL);
	assert_int_equal(id, 77);
	assert_int_equal(sp_conn_table_create(net, NULL, &second), -EEXIST);
}

static void readers_walk_all_rows(void **state)
{
	uint64_t inodes, expected = 0;

	(void)state;
	assert_int_equal(walk(&inodes), 0);
	for (uint16_t i = 1; i <= 5000; i++) {
		add(i, SP_TCP_ESTABLISHED);
		expected += 1000u + i;
	}
	assert_int_equal(walk(&inodes), 5000);
	assert_int_equal(inodes, expected);
}

static void rows_expire_by_state(void **state)
{
	static const struct {
		enum sp_tcp_state state;
		unsigned after_s;
	} cases[] = {
		{SP_TCP_TIME_WAIT, 60}, {SP_TCP_FIN_WAIT2, 60},
		{SP_TCP_SYN_RECV, 63},  {SP_TCP_SYN_SENT, 131},
		{SP_TCP_LISTEN, 0},     {SP_TCP_CLOSE_WAIT, 0},
	};
	enum {
		NR = sizeof(cases) / sizeof(cases[0])
	};
	sp_conn_id ids[NR];

	(void)state;
	for (unsigned i = 0; i < NR; i++)
		ids[i] = add((uint16_t)(i + 1), cases[i].state);
	for (unsigned s = 1; s < 400; s++) {
		sp_conn_advance(table, (1000 + s) * SECOND_NS);
		for (unsigned i = 0; i < NR; i++) {
			unsigned after = cases[i].after_s;

			/* Up to a tick late. */
			if (!after || s < after)
				assert_true(is_there(ids[i]));
			else if (s > after)
				assert_false(is_there(ids[i]));
		}
	}
	assert_int_equal(stats().nr_expired, 4);
}

static void idle_rows_go_unless_something_came(void **state)
{
	sp_conn_id idle = add(1, SP_TCP_ESTABLISHED);
	sp_conn_id busy = add(2, SP_TCP_ESTABLISHED);
	struct sp_conn conn = a_conn(2, SP_TCP_ESTABLISHED);

	(void)state;
	conn.last_ns = 1050 * SECOND_NS;
	assert_int_equal(sp_conn_update(table, busy, &conn), 0);
	sp_conn_advance(table, 1099 * SECOND_NS);
	assert_true(is_there(idle));
	sp_conn_advance(table, 1101 * SECOND_NS);
	assert_false(is_there(idle));
	assert_true(is_there(busy));
	sp_conn_advance(table, 1149 * SECOND_NS);
	assert_true(is_there(busy));
	sp_conn_advance(table, 1151 * SECOND_NS);
	assert_false(is_there(busy));
}

static void a_clock_that_jumps_expires_all(void **state)
{
	(void)state;
	for (uint16_t i = 1; i <= 1000; i++)
		add(i, SP_TCP_TIME_WAIT);
	sp_conn_advance(table, 1000000 * SECOND_NS);
	assert_int_equal(stats().nr_rows, 0);
	assert_int_equal(stats().nr_expired, 1000);
	/* And it goes on from there. */
	add(1, SP_TCP_TIME_WAIT);
	sp_conn_advance(table, 1000059 * SECOND_NS);
	assert_int_equal(stats().nr_rows, 1);
	sp_conn_advance(table, 1000061 * SECOND_NS);
	assert_int_equal(stats().nr_rows, 0);
}

/* A table of 8. */
static void the_oldest_half_open_one_goes_first(void **state)
{
	sp_conn_id waiting = add(1, SP_TCP_TIME_WAIT);
	sp_conn_id old = add(2, SP_TCP_SYN_RECV);
	sp_conn_id young = add(3, SP_TCP_SYN_RECV);

	(void)state;
	for (uint16_t i = 4; i <= 8; i++)
		add(i, SP_TCP_ESTABLISHED);
	assert_int_equal(stats().nr_evicted, 0);
	assert_true(add(9, SP_TCP_ESTABLISHED));
	assert_false(is_there(old));
	assert_true(add(10, SP_TCP_ESTABLISHED));
	assert_false(is_there(young));
	assert_true(is_there(waiting));
	assert_true(add(11, SP_TCP_ESTABLISHED));
	assert_false(is_there(waiting));
	assert_int_equal(stats().nr_evicted, 3);
	assert_int_equal(stats().nr_rows, 8);
}

static void half_open_ones_never_oust_connections(void **state)
{
	(void)state;
	for (uint16_t i = 1; i <= 8; i++)
		add(i, SP_TCP_ESTABLISHED);
	assert_false(add(9, SP_TCP_SYN_RECV));
	assert_int_equal(stats().nr_refused, 1);
	assert_int_equal(stats().nr_evicted, 0);
}

static void the_one_that_was_silent_for_longest_goes_last(void **state)
{
	sp_conn_id ids[9];

	(void)state;
	for (uint16_t i = 1; i <= 8; i++)
		ids[i] = add(i, SP_TCP_ESTABLISHED);
	assert_true(add(9, SP_TCP_ESTABLISHED));
	assert_false(is_there(ids[1])); /* its last packet is the oldest */
	for (uint16_t i = 2; i <= 8; i++)
		assert_true(is_there(ids[i]));
}

static void listeners_never_go(void **state)
{
	sp_conn_id ids[9];

	(void)state;
	for (uint16_t i = 1; i <= 8; i++)
		ids[i] = add(i, SP_TCP_LISTEN);
	assert_false(add(9, SP_TCP_ESTABLISHED));
	for (uint16_t i = 1; i <= 8; i++)
		assert_true(is_there(ids[i]));
	assert_int_equal(stats().nr_refused, 1);
}

#define TEST(name, opener)                                                     \
	cmocka_unit_test_setup_teardown(name, opener, close_all)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(what_is_published_is_read, open_large),
		TEST(rows_are_updated_and_closed, open_large),
		TEST(what_cannot_be_is_refused, open_large),
		TEST(readers_walk_all_rows, open_large),
		TEST(rows_expire_by_state, open_large),
		TEST(idle_rows_go_unless_something_came, open_large),
		TEST(a_clock_that_jumps_expires_all, open_large),
		TEST(the_oldest_half_open_one_goes_first, open_small),
		TEST(half_open_ones_never_oust_connections, open_small),
		TEST(the_one_that_was_silent_for_longest_goes_last, open_small),
		TEST(listeners_never_go, open_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
