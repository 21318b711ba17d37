// SPDX-License-Identifier: MIT
/*
 * Lines of net/tcp, net/udp and their kin: hand-written ones, and every line that
 * the kernel wrote in the recordings, taken apart and put together again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <arpa/inet.h>
#include <glob.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <cmocka.h>

#include "kernel_sockets.h"
#include "render/socket_row.h"

static char text[SP_SOCKET_ROW_MAX + 1];

static const char *tcp_row(uint64_t sl, const struct sp_conn *conn,
			   uint64_t now_ns)
{
	*sp_put_tcp_row(text, sl, conn, now_ns) = '\0';
	return text;
}

static const char *udp_row(const struct sp_conn *conn)
{
	*sp_put_udp_row(text, conn) = '\0';
	return text;
}

static struct sp_conn make(int family, int protocol, const char *local,
			   uint16_t local_port, const char *remote,
			   uint16_t remote_port, enum sp_tcp_state state)
{
	struct sp_conn conn = {
		.key = {.family = (uint8_t)family,
			.protocol = (uint8_t)protocol,
			.local_port = local_port,
			.remote_port = remote_port},
		.state = (uint8_t)state,
	};

	assert_int_equal(inet_pton(family, local, conn.key.local), 1);
	assert_int_equal(inet_pton(family, remote, conn.key.remote), 1);
	return conn;
}

static struct sp_conn make_tcp(enum sp_tcp_state state)
{
	return make(AF_INET, IPPROTO_TCP, "10.231.0.2", 5201, "10.231.0.1",
		    47312, state);
}

static void a_listener_shows_what_the_kernel_begins_with(void **state)
{
	struct sp_conn conn = make(AF_INET, IPPROTO_TCP, "0.0.0.0", 5201,
				   "0.0.0.0", 0, SP_TCP_LISTEN);

	conn.inode = 34665;
	conn.rx_queue = 2;
	conn.tx_queue = 128; /* the length it may reach: not in this file */
	assert_string_equal(
		tcp_row(0, &conn, 0),
		"   0: 00000000:1451 00000000:0000 0A 00000000:00000002 "
		"00:00000000 00000000     0        0 34665 1 0000000000000000 "
		"100 0 0 10 0                     \n");
	assert_int_equal(strlen(text), 150);
}

static void a_connection_shows_queues_timer_and_windows(void **state)
{
	struct sp_conn conn = make_tcp(SP_TCP_ESTABLISHED);

	conn.tx_queue = 0xabcdef01;
	conn.rx_queue = 0x23456789;
	conn.timer = SP_CONN_TIMER_RETRANSMIT;
	conn.expires_ns = 1000000000 + 2287 * 10000000ull + 9999999;
	conn.retransmits = 3;
	conn.uid = 1000;
	conn.probes = 2;
	conn.inode = 738695;
	conn.rto_us = 201000;
	conn.ato_us = 40000;
	conn.cwnd = 22;
	conn.ssthresh = 17;
	assert_string_equal(
		tcp_row(17, &conn, 1000000000),
		"  17: 0200E70A:1451 0100E70A:B8D0 01 ABCDEF01:23456789 "
		"01:000008EF 00000003  1000        2 738695 2 0000000000000000 "
		"20 4 0 22 17                    \n");
	assert_int_equal(strlen(text), 150);
}

static void a_threshold_that_was_never_met_is_minus_one(void **state)
{
	struct sp_conn conn = make_tcp(SP_TCP_ESTABLISHED);

	conn.rto_us = 200000;
	assert_non_null(strstr(tcp_row(1, &conn, 0), " 20 0 0 10 -1 "));
	conn.ssthresh = 0x7fffffff;
	assert_non_null(strstr(tcp_row(1, &conn, 0), " 20 0 0 10 -1 "));
	conn.ssthresh = 0x7ffffffe;
	assert_non_null(strstr(tcp_row(1, &conn, 0), " 10 2147483646 "));
}

static void a_timer_that_is_over_or_off_shows_zero(void **state)
{
	struct sp_conn conn = make_tcp(SP_TCP_ESTABLISHED);

	conn.timer = SP_CONN_TIMER_KEEPALIVE;
	conn.expires_ns = 5;
	assert_non_null(strstr(tcp_row(1, &conn, 6), " 02:00000000 "));
	conn.timer = SP_CONN_TIMER_NONE;
	conn.expires_ns = 1ull << 40;
	assert_non_null(strstr(tcp_row(1, &conn, 6), " 00:00000000 "));
}

static void a_timer_of_many_years_takes_the_room_that_it_needs(void **state)
{
	struct sp_conn conn = make_tcp(SP_TCP_ESTABLISHED);

	conn.timer = SP_CONN_TIMER_KEEPALIVE;
	conn.expires_ns = 0x123456789aull * 10000000;
	assert_non_null(strstr(tcp_row(1, &conn, 0), " 02:123456789A 0000"));
}

static void time_wait_is_a_short_line(void **state)
{
	static const char want[] =
		"   1: 0200E70A:1451 0100E70A:B8D0 06 00000000:00000000 "
		"03:000016CE 00000000     0        0 0 3 0000000000000000"
		"                                      \n";
	struct sp_conn conn = make_tcp(SP_TCP_TIME_WAIT);

	conn.mini = true;
	conn.timer = SP_CONN_TIMER_TIME_WAIT;
	conn.expires_ns = 0x16ce * 10000000ull;
	assert_string_equal(tcp_row(1, &conn, 0), want);
	/* Whatever else is known of it: the kernel has forgotten. */
	conn.mini = false;
	conn.timer = SP_CONN_TIMER_NONE;
	conn.uid = 5;
	conn.inode = 6;
	conn.tx_queue = 7;
	conn.retransmits = 8;
	assert_string_equal(tcp_row(1, &conn, 0), want);
	assert_int_equal(strlen(want), 150);
}

static void fin_wait_2_is_short_or_long(void **state)
{
	struct sp_conn conn = make_tcp(SP_TCP_FIN_WAIT2);

	conn.rto_us = 200000;
	assert_non_null(strstr(tcp_row(1, &conn, 0),
			       " 05 00000000:00000000 00:00000000 00000000     "
			       "0        0 0 1 0000000000000000 20 0 0 10 -1"));
	conn.mini = true;
	conn.expires_ns = 10000000;
	assert_non_null(strstr(tcp_row(1, &conn, 0),
			       " 05 00000000:00000000 03:00000001 00000000     "
			       "0        0 0 3 0000000000000000    "));
}

static void syn_recv_is_a_short_line_with_its_owner(void **state)
{
	struct sp_conn conn = make_tcp(SP_TCP_SYN_RECV);

	conn.mini = true;
	conn.timer = SP_CONN_TIMER_RETRANSMIT;
	conn.retransmits = 2;
	conn.uid = 33;
	conn.expires_ns = 0x131 * 10000000ull;
	assert_string_equal(
		tcp_row(4, &conn, 0),
		"   4: 0200E70A:1451 0100E70A:B8D0 03 00000000:00000000 "
		"01:00000131 00000002    33        0 0 0 0000000000000000"
		"                                      \n");
}

static void ipv6_lines_are_not_padded(void **state)
{
	struct sp_conn conn = make(AF_INET6, IPPROTO_TCP, "fd31::2", 5201,
				   "fd31::1", 56114, SP_TCP_CLOSE_WAIT);

	conn.rx_queue = 1;
	conn.inode = 757900;
	conn.rto_us = 200000;
	conn.ato_us = 40000;
	assert_string_equal(
		tcp_row(6, &conn, 0),
		"   6: 000031FD000000000000000002000000:1451 "
		"000031FD000000000000000001000000:DB32 08 00000000:00000001 "
		"00:00000000 00000000     0        0 757900 1 "
		"0000000000000000 20 4 0 10 -1\n");
}

static void udp_shows_drops(void **state)
{
	struct sp_conn conn = make(AF_INET, IPPROTO_UDP, "0.0.0.0", 3502,
				   "0.0.0.0", 0, SP_TCP_CLOSE);

	conn.inode = 735512;
	conn.drops = 1;
	assert_string_equal(
		udp_row(&conn),
		" 3502: 00000000:0DAE 00000000:0000 07 00000000:00000000 "
		"00:00000000 00000000     0        0 735512 2 "
		"0000000000000000 1        \n");
	assert_int_equal(strlen(text), 128);
	conn = make(AF_INET6, IPPROTO_UDP, "::", 7, "::", 0, SP_TCP_CLOSE);
	assert_string_equal(
		udp_row(&conn),
		"    7: 00000000000000000000000000000000:0007 "
		"00000000000000000000000000000000:0000 07 00000000:00000000 "
		"00:00000000 00000000     0        0 0 2 0000000000000000 0\n");
}

static void lines_beyond_9999_grow_as_the_kernels_do(void **state)
{
	struct sp_conn conn = make(AF_INET, IPPROTO_TCP, "0.0.0.0", 5201,
				   "0.0.0.0", 0, SP_TCP_LISTEN);

	assert_memory_equal(tcp_row(10000, &conn, 0), "10000: 0000", 11);
	assert_int_equal(strlen(text), 150);
}

/* Whatever a damaged plane holds. */
static void the_longest_line_fits(void **state)
{
	struct sp_conn conn;

	for (unsigned family = AF_INET; family <= AF_INET6;
	     family += AF_INET6 - AF_INET) {
		memset(&conn, 0xff, sizeof(conn));
		conn.mini = false;
		conn.key.family = (uint8_t)family;
		conn.ssthresh = 0x7ffffffe;
		memset(text, 0, sizeof(text));
		tcp_row(UINT64_MAX, &conn, 0);
		assert_in_range(strlen(text), 1, SP_SOCKET_ROW_MAX - 8);
		assert_int_equal(text[strlen(text) - 1], '\n');
		udp_row(&conn);
		assert_in_range(strlen(text), 1, SP_SOCKET_ROW_MAX - 8);
	}
}

static unsigned check_file(const char *path, int family, int protocol)
{
	static char line[512], want[512], got[512];
	FILE *file = fopen(path, "r");
	unsigned nr = 0;

	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	while (fgets(line, sizeof(line), file)) {
		struct sp_conn conn;
		unsigned sl;

		assert_int_equal(
			kernel_socket_parse(line, family, protocol, &conn, &sl),
			0);
		if (protocol == IPPROTO_TCP)
			tcp_row(sl, &conn, 0);
		else
			udp_row(&conn);
		if (family == AF_INET)
			assert_int_equal(strlen(text), strlen(line));
		kernel_socket_blank(line, protocol, want);
		kernel_socket_blank(text, protocol, got);
		assert_string_equal(got, want);
		nr++;
	}
	fclose(file);
	return nr;
}

static void lines_of_the_kernel_come_back(void **state)
{
	static const struct {
		const char *name;
		int family, protocol;
		unsigned least;
	} files[] = {
		{"tcp", AF_INET, IPPROTO_TCP, 200},
		{"tcp6", AF_INET6, IPPROTO_TCP, 40},
		{"udp", AF_INET, IPPROTO_UDP, 10},
		{"udp6", AF_INET6, IPPROTO_UDP, 10},
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		static char pattern[512];
		unsigned nr = 0;
		glob_t found;

		snprintf(pattern, sizeof(pattern),
			 SP_SOURCE_ROOT
			 "/tests/oracle/recordings/*/after/net/%s",
			 files[i].name);
		assert_int_equal(glob(pattern, 0, NULL, &found), 0);
		for (size_t k = 0; k < found.gl_pathc; k++)
			nr += check_file(found.gl_pathv[k], files[i].family,
					 files[i].protocol);
		globfree(&found);
		assert_in_range(nr, files[i].least, 1000000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_listener_shows_what_the_kernel_begins_with),
		cmocka_unit_test(a_connection_shows_queues_timer_and_windows),
		cmocka_unit_test(a_threshold_that_was_never_met_is_minus_one),
		cmocka_unit_test(a_timer_that_is_over_or_off_shows_zero),
		cmocka_unit_test(
			a_timer_of_many_years_takes_the_room_that_it_needs),
		cmocka_unit_test(time_wait_is_a_short_line),
		cmocka_unit_test(fin_wait_2_is_short_or_long),
		cmocka_unit_test(syn_recv_is_a_short_line_with_its_owner),
		cmocka_unit_test(ipv6_lines_are_not_padded),
		cmocka_unit_test(udp_shows_drops),
		cmocka_unit_test(lines_beyond_9999_grow_as_the_kernels_do),
		cmocka_unit_test(the_longest_line_fits),
		cmocka_unit_test(lines_of_the_kernel_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
