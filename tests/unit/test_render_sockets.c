// SPDX-License-Identifier: MIT
/*
 * net/tcp, net/udp and their kin, and net/sockstat, from a table that a program
 * publishes: which rows, in which order, and the sums over them.
 */
#include "render_help.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <statplane/conn.h>

#include "kernel_sockets.h"

static struct fixture f;
static struct sp_conn_table *table;

static int begin(void **state)
{
	open_fixture(&f, NULL);
	table = NULL;
	return 0;
}

static int end(void **state)
{
	sp_conn_table_destroy(table);
	close_fixture(&f);
	return 0;
}

static void make_table(uint32_t max_conns)
{
	const struct sp_conn_opts opts = {.sz = sizeof(opts),
					  .max_conns = max_conns};

	assert_int_equal(sp_conn_table_create(f.net, &opts, &table), 0);
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

static void publish(const struct sp_conn *conn)
{
	sp_conn_id id;

	assert_int_equal(sp_conn_open(table, conn, &id), 0);
}

static void publish_tcp(uint16_t remote_port, enum sp_tcp_state state)
{
	struct sp_conn conn = make(AF_INET, IPPROTO_TCP, "10.0.0.1", 80,
				   "10.0.0.2", remote_port, state);

	conn.mini = state == SP_TCP_TIME_WAIT || state == SP_TCP_SYN_RECV;
	publish(&conn);
}

static const char *const names[] = {
	"net/tcp",     "net/tcp6",     "net/udp", "net/udp6",
	"net/udplite", "net/udplite6", "net/raw", "net/raw6",
};

static unsigned nr_lines(const char *text)
{
	unsigned nr = 0;

	for (; (text = strchr(text, '\n')); text++)
		nr++;
	return nr;
}

static void without_a_table_there_are_heads_only(void **state)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(nr_lines(render_file(&f, names[i])), 1);
}

/* Of one recording, whose first lines are those of every kernel of the layouts. */
static void heads_are_those_of_the_kernel(void **state)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[128], *want;

		snprintf(path, sizeof(path),
			 "tests/oracle/recordings/basic/after/%s", names[i]);
		want = read_source_file(path);
		/* The same as another file's, or not recorded. */
		if (!want)
			continue;
		*(strchr(want, '\n') + 1) = '\0';
		assert_string_equal(render_file(&f, names[i]), want);
		free(want);
	}
	assert_int_equal(strncmp(render_file(&f, "net/udplite"), "   sl  ", 7),
			 0);
	assert_int_equal(output.len, 128);
}

static void each_socket_is_in_its_file_alone(void **state)
{
	static const struct {
		int family, protocol;
	} kinds[] = {
		{AF_INET, IPPROTO_TCP},     {AF_INET6, IPPROTO_TCP},
		{AF_INET, IPPROTO_UDP},     {AF_INET6, IPPROTO_UDP},
		{AF_INET, IPPROTO_UDPLITE}, {AF_INET6, IPPROTO_UDPLITE},
	};

	make_table(64);
	for (size_t i = 0; i < 6; i++) {
		struct sp_conn conn = make(
			kinds[i].family, kinds[i].protocol,
			kinds[i].family == AF_INET ? "10.0.0.1" : "fd00::1",
			(uint16_t)(1000 + i),
			kinds[i].family == AF_INET ? "10.0.0.2" : "fd00::2", 7,
			SP_TCP_ESTABLISHED);

		publish(&conn);
	}
	for (size_t i = 0; i < 6; i++) {
		char port[16];

		snprintf(port, sizeof(port), ":%04X ", (unsigned)(1000 + i));
		assert_non_null(strstr(render_file(&f, names[i]), port));
		assert_int_equal(nr_lines(output.text), 2);
	}
	assert_int_equal(nr_lines(render_file(&f, "net/raw")), 1);
	assert_int_equal(nr_lines(render_file(&f, "net/raw6")), 1);
}

static void listeners_come_first_and_lines_are_numbered(void **state)
{
	char *line, *rest;
	unsigned nr_listeners = 0, nr = 0;

	make_table(1024);
	for (uint16_t i = 0; i < 500; i++) {
		publish_tcp((uint16_t)(1 + i), SP_TCP_ESTABLISHED);
		if (i < 100) {
			struct sp_conn conn =
				make(AF_INET, IPPROTO_TCP, "0.0.0.0",
				     (uint16_t)(1000 + i), "0.0.0.0", 0,
				     SP_TCP_LISTEN);

			publish(&conn);
		}
	}
	render_file(&f, "net/tcp");
	strtok_r(output.text, "\n", &rest);
	while ((line = strtok_r(NULL, "\n", &rest))) {
		unsigned sl, st;

		assert_int_equal(strlen(line), 149);
		assert_int_equal(sscanf(line, "%u: %*s %*s %x", &sl, &st), 2);
		assert_int_equal(sl, nr);
		assert_true(st != SP_TCP_LISTEN || nr < 100);
		nr_listeners += st == SP_TCP_LISTEN;
		nr++;
	}
	assert_int_equal(nr_listeners, 100);
	assert_int_equal(nr, 600);
}

/* How long a timer still runs is the table's to say: it drives them itself. */
static void blank_timer(char *line)
{
	char *timer = line;

	/* Number, ends, state, queues: the sixth word. */
	for (int i = 0; i < 5; i++) {
		timer += strspn(timer, " ");
		timer += strcspn(timer, " ");
	}
	timer = strchr(timer, ':');
	memset(timer + 1, '*', strcspn(timer + 1, " "));
}

/* The lines of a real kernel go into a table, and come out of it. */
static void round_trip(const char *name, int family, int protocol)
{
	char path[128], *lines, *line, *rest;
	unsigned nr = 0;

	snprintf(path, sizeof(path), "tests/oracle/recordings/%s", name);
	lines = read_source_file(path);
	assert_non_null(lines);
	make_table(4096);
	strtok_r(lines, "\n", &rest);
	while ((line = strtok_r(NULL, "\n", &rest))) {
		static char want[512], got[512];
		struct sp_conn conn;
		unsigned sl;
		char *found;

		assert_int_equal(
			kernel_socket_parse(line, family, protocol, &conn, &sl),
			0);
		publish(&conn);
		render_file(&f, strstr(name, "net/"));
		found = strchr(output.text, '\n') + 1;
		kernel_socket_blank(line, protocol, want);
		kernel_socket_blank(found, protocol, got);
		blank_timer(want);
		blank_timer(got);
		/* Behind the number; the table has one row. */
		assert_string_equal(strchr(got, ':'), strchr(want, ':'));
		sp_conn_table_destroy(table);
		table = NULL;
		make_table(16);
		nr++;
	}
	sp_conn_table_destroy(table);
	table = NULL;
	free(lines);
	assert_in_range(nr, 2, 100000);
}

static void rows_of_a_real_kernel_come_back(void **state)
{
	round_trip("tcp-life/after/net/tcp", AF_INET, IPPROTO_TCP);
	round_trip("tcp-life/after/net/tcp6", AF_INET6, IPPROTO_TCP);
	round_trip("forward/after/net/udp", AF_INET, IPPROTO_UDP);
	round_trip("forward/after/net/udp6", AF_INET6, IPPROTO_UDP);
}

static void gauges_count_where_there_are_no_rows(void **state)
{
	add(&f, sp_net_off(f.net) + SP_NET_CELL(sockstat, TCP_inuse), 5);
	add(&f, sp_net_off(f.net) + SP_NET_CELL(sockstat, TCP_mem), 3);
	assert_non_null(strstr(render_file(&f, "net/sockstat"),
			       "\nTCP: inuse 5 orphan 0 tw 0 alloc 0 mem 3\n"));
	make_table(64);
	assert_non_null(strstr(render_file(&f, "net/sockstat"),
			       "\nTCP: inuse 5 orphan 0 tw 0 alloc 0 mem 3\n"));
}

static void sums_are_those_of_the_rows(void **state)
{
	struct sp_conn conn;

	add(&f, sp_net_off(f.net) + SP_NET_CELL(sockstat, TCP_inuse), 5);
	add(&f, sp_net_off(f.net) + SP_NET_CELL(sockstat, TCP_mem), 3);
	make_table(64);
	publish_tcp(1, SP_TCP_ESTABLISHED);
	publish_tcp(2, SP_TCP_TIME_WAIT);
	publish_tcp(3, SP_TCP_TIME_WAIT);
	publish_tcp(4, SP_TCP_SYN_RECV);
	publish_tcp(5, SP_TCP_LAST_ACK);
	conn = make(AF_INET, IPPROTO_TCP, "10.0.0.1", 80, "10.0.0.2", 6,
		    SP_TCP_FIN_WAIT1);
	conn.inode = 77; /* a program has it */
	publish(&conn);
	conn = make(AF_INET6, IPPROTO_TCP, "fd00::1", 80, "fd00::2", 7,
		    SP_TCP_FIN_WAIT2);
	conn.mini = true;
	publish(&conn);
	conn.key.remote_port = 8;
	conn.mini = false;
	publish(&conn);
	conn = make(AF_INET, IPPROTO_UDP, "0.0.0.0", 7, "0.0.0.0", 0,
		    SP_TCP_CLOSE);
	publish(&conn);
	conn.key.protocol = IPPROTO_UDPLITE;
	publish(&conn);
	conn = make(AF_INET6, IPPROTO_UDP, "::", 7, "::", 0, SP_TCP_CLOSE);
	publish(&conn);
	conn.key.local_port = 8;
	publish(&conn);
	assert_string_equal(render_file(&f, "net/sockstat"),
			    "sockets: used 8\n"
			    "TCP: inuse 3 orphan 1 tw 3 alloc 4 mem 3\n"
			    "UDP: inuse 1 mem 0\n"
			    "UDPLITE: inuse 1\n"
			    "RAW: inuse 0\n"
			    "FRAG: inuse 0 memory 0\n");
	assert_string_equal(render_file(&f, "net/sockstat6"),
			    "TCP6: inuse 1\n"
			    "UDP6: inuse 2\n"
			    "UDPLITE6: inuse 0\n"
			    "RAW6: inuse 0\n"
			    "FRAG6: inuse 0 memory 0\n");
}

static int take_and_forget(void *ctx, const char *text, size_t len)
{
	size_t *nr_bytes = ctx;

	assert_in_range(len, 1, 64 * 1024);
	assert_int_equal(text[len - 1], '\n');
	*nr_bytes += len;
	return 0;
}

static void pieces_are_bounded_and_end_with_a_line(void **state)
{
	size_t nr_bytes = 0;

	make_table(8192);
	for (uint16_t i = 0; i < 5000; i++)
		publish_tcp((uint16_t)(1 + i), SP_TCP_ESTABLISHED);
	assert_int_equal(
		sp_render_file(f.render, "net/tcp", take_and_forget, &nr_bytes),
		0);
	assert_int_equal(nr_bytes, 150 * 5001);
}

static int refuse(void *ctx, const char *text, size_t len)
{
	return -EPIPE;
}

static void an_error_of_the_writer_is_returned(void **state)
{
	make_table(64);
	publish_tcp(1, SP_TCP_ESTABLISHED);
	assert_int_equal(sp_render_file(f.render, "net/tcp", refuse, NULL),
			 -EPIPE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(without_a_table_there_are_heads_only),
		TEST(heads_are_those_of_the_kernel),
		TEST(each_socket_is_in_its_file_alone),
		TEST(listeners_come_first_and_lines_are_numbered),
		TEST(rows_of_a_real_kernel_come_back),
		TEST(gauges_count_where_there_are_no_rows),
		TEST(sums_are_those_of_the_rows),
		TEST(pieces_are_bounded_and_end_with_a_line),
		TEST(an_error_of_the_writer_is_returned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
