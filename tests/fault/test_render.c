/* SPDX-License-Identifier: MIT */
/*
 * The n-th allocation fails, for every n until none fails: groups, namespaces,
 * devices, renderers. What failed left nothing behind and did not touch its
 * output; afterwards the same call succeeds. And: reading allocates nothing but what
 * walks a table of sockets.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cmocka.h>

#include <statplane/conn.h>
#include <statplane/net.h>
#include <statplane/render.h>

static struct {
	bool on;
	bool always;        /* every call fails, not only one */
	unsigned countdown; /* calls until one fails; 0 is this one */
	unsigned nr_hits;
} fault;

static bool fails(int err)
{
	if (!fault.on)
		return false;
	if (!fault.always && (fault.nr_hits || fault.countdown--))
		return false;
	fault.nr_hits++;
	errno = err;
	return true;
}

#define WRAP(type, name, failure, err, args, names)                            \
	type __real_##name args;                                               \
	type __wrap_##name args;                                               \
	type __wrap_##name args                                                \
	{                                                                      \
		return fails(err) ? (failure) : __real_##name names;           \
	}

WRAP(void *, malloc, NULL, ENOMEM, (size_t n), (n))
WRAP(void *, calloc, NULL, ENOMEM, (size_t n, size_t size), (n, size))
WRAP(void *, realloc, NULL, ENOMEM, (void *p, size_t n), (p, n))
WRAP(int, fallocate64, -1, ENOSPC, (int fd, int mode, int64_t off, int64_t len),
     (fd, mode, off, len))

static struct sp_plane *plane;
static struct sp_reader *reader;

static int begin(void **state)
{
	memset(&fault, 0, sizeof(fault));
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

static uint64_t used_bytes(void)
{
	struct sp_percpu_stats stats;

	sp_percpu_read_stats(plane, &stats);
	return stats.used_bytes;
}

static unsigned nr_objects(enum sp_object_type type)
{
	struct sp_object object;
	uint64_t cursor = 0;
	unsigned nr = 0;

	while (!sp_reader_next(reader, &cursor, &object))
		nr += object.type == type;
	return nr;
}

/* Run @step, which gives back what it made, failing call by call. */
static void fail_each(int (*step)(void))
{
	unsigned n = 0;
	int err;

	do {
		uint64_t used = used_bytes();

		fault.on = true;
		fault.countdown = n++;
		fault.nr_hits = 0;
		err = step();
		fault.on = false;
		if (err)
			assert_true(err == -ENOMEM || err == -ENOSPC);
		if (!fault.nr_hits)
			assert_int_equal(err, 0);
		assert_int_equal(used_bytes(), used);
		assert_int_equal(nr_objects(SP_OBJECT_MIB), 0);
		assert_int_equal(nr_objects(SP_OBJECT_NETNS), 0);
		assert_int_equal(nr_objects(SP_OBJECT_NETDEV), 0);
		assert_true(n < 1000);
	} while (fault.nr_hits);
	assert_true(n > 1);
	assert_int_equal(step(), 0);
}

static const struct sp_mib_item items[] = {
	{"a", "first", "things", SP_MIB_COUNTER},
	{"b", "second", "things", SP_MIB_HISTOGRAM},
};
static const struct sp_mib_group group = {"g", "", items, 2};
static const struct sp_mib_schema schema = {"s", &group, 1};

static int make_mib(void)
{
	struct sp_mib *mib = NULL;
	int err = sp_mib_create(plane, "m", &schema, &mib);

	assert_true(!err == !!mib);
	sp_mib_destroy(mib);
	return err;
}

static int make_net(void)
{
	struct sp_netdev *dev = NULL;
	struct sp_net *net = NULL;
	int err = sp_net_create(plane, "n", NULL, &net);

	assert_true(!err == !!net);
	if (!err) {
		err = sp_netdev_create(net, "lo", 0, NULL, &dev);
		assert_true(!err == !!dev);
	}
	sp_net_destroy(net);
	return err;
}

static int make_render(void)
{
	struct sp_render *render = NULL;
	int err = sp_render_create(reader, &render);

	assert_true(!err == !!render);
	sp_render_destroy(render);
	return err;
}

static void a_group_fails_whole(void **state)
{
	fail_each(make_mib);
}

static void a_namespace_fails_whole(void **state)
{
	fail_each(make_net);
}

static void a_renderer_fails_whole(void **state)
{
	fail_each(make_render);
}

static int count_bytes(void *ctx, const char *text, size_t len)
{
	*(size_t *)ctx += len;
	return 0;
}

/* What walks a table of sockets is allocated; without it there is no text. */
static bool has_sockets(const char *name)
{
	return strncmp(name, "net/tcp", 7) == 0 ||
	       strncmp(name, "net/udp", 7) == 0 ||
	       strncmp(name, "net/sockstat", 12) == 0;
}

static void fail_to_read(struct sp_render *render, const char *name)
{
	size_t len = 0;

	assert_int_equal(sp_render_file(render, name, count_bytes, &len),
			 -ENOMEM);
	assert_int_equal(len, 0);
	assert_int_equal(sp_render_file_json(render, name, count_bytes, &len),
			 -ENOMEM);
}

static void read_all(struct sp_render *render)
{
	char name[SP_RENDER_NAME_MAX];
	uint64_t cursor = 0;
	size_t len = 0;
	unsigned nr = 0;

	while (!sp_render_next_file(render, &cursor, name)) {
		nr++;
		if (has_sockets(name)) {
			unsigned nr_hits = fault.nr_hits;

			fail_to_read(render, name);
			fault.nr_hits = nr_hits;
			continue;
		}
		assert_int_equal(
			sp_render_file(render, name, count_bytes, &len), 0);
		assert_int_equal(
			sp_render_file_json(render, name, count_bytes, &len),
			0);
	}
	assert_int_equal(nr, 16);
	assert_int_equal(sp_render_openmetrics(render, count_bytes, &len), 0);
	assert_true(len > 100000);
}

static struct sp_render *shown;

static int read_sockets(void)
{
	size_t len = 0;
	int err = sp_render_file(shown, "net/tcp", count_bytes, &len);

	assert_int_equal(len, err ? 0 : 2 * 150);
	return err;
}

static void sockets_are_shown_whole_or_not_at_all(void **state)
{
	const struct sp_conn conn = {
		.key = {.family = AF_INET, .protocol = IPPROTO_TCP},
		.state = SP_TCP_LISTEN,
	};
	struct sp_conn_table *table;
	struct sp_net *net;
	sp_conn_id id;

	assert_int_equal(sp_net_create(plane, "n", NULL, &net), 0);
	assert_int_equal(sp_conn_table_create(net, NULL, &table), 0);
	assert_int_equal(sp_conn_open(table, &conn, &id), 0);
	assert_int_equal(sp_render_create(reader, &shown), 0);
	for (unsigned n = 0; !n || fault.nr_hits; n++) {
		int err;

		fault.on = true;
		fault.countdown = n;
		fault.nr_hits = 0;
		err = read_sockets();
		fault.on = false;
		assert_int_equal(err, fault.nr_hits ? -ENOMEM : 0);
		assert_in_range(n, 0, 100);
	}
	sp_render_destroy(shown);
	sp_conn_table_destroy(table);
	sp_net_destroy(net);
}

static void reading_allocates_nothing(void **state)
{
	struct sp_render *render;
	struct sp_netdev *dev;
	struct sp_net *net;
	struct sp_mib *mib;

	assert_int_equal(sp_net_create(plane, "n", NULL, &net), 0);
	assert_int_equal(sp_netdev_create(net, "lo", 0, NULL, &dev), 0);
	assert_int_equal(sp_mib_create(plane, "m", &schema, &mib), 0);
	assert_int_equal(sp_render_create(reader, &render), 0);
	fault.on = fault.always = true;
	for (unsigned layout = 0; layout < SP_NR_LAYOUTS; layout++) {
		sp_render_set_layout(render, (enum sp_layout)layout);
		read_all(render);
	}
	fault.on = false;
	assert_int_equal(fault.nr_hits, 0);
	sp_render_destroy(render);
	sp_mib_destroy(mib);
	sp_net_destroy(net);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_group_fails_whole),
		TEST(a_namespace_fails_whole),
		TEST(a_renderer_fails_whole),
		TEST(sockets_are_shown_whole_or_not_at_all),
		TEST(reading_allocates_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
