/* SPDX-License-Identifier: MIT */
/*
 * Files are rendered while devices and namespaces come and go, so that their cells
 * and directory entries are used again all the time.
 *
 * Device d17 counts 17 in each column, once. So a row of net/dev named d17 may show
 * 0 or 17 and nothing else: anything else would be cells that belonged to another
 * device, before or after. In net/dev_snmp6/d17 the same. Namespaces n5 count 5 in
 * all of Udp. Every row is whole, and rendering fails only in the ways that the
 * contract names.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <statplane/net.h>
#include <statplane/render.h>

#define NR_DEVS   24
#define NR_ROUNDS 8000

static struct sp_plane *plane;
static struct sp_net *host;
static bool stop;

static void require(bool truth, const char *what, const char *text)
{
	if (truth)
		return;
	fprintf(stderr, "%s:\n%s\n", what, text);
	exit(1);
}

/* One device or namespace after the other is replaced by a new one. */
static void *churn(void *arg)
{
	static struct sp_netdev *devs[NR_DEVS];
	static struct sp_net *nets[NR_DEVS];
	struct sp_lane lane;
	char name[16];

	require(!sp_lane_claim(plane, &lane), "no lane", "");
	for (unsigned n = 1; !__atomic_load_n(&stop, __ATOMIC_RELAXED); n++) {
		unsigned i = n % NR_DEVS;
		sp_percpu_t off;

		sp_netdev_destroy(devs[i]);
		snprintf(name, sizeof(name), "d%u", n);
		require(!sp_netdev_create(host, name, n, NULL, &devs[i]),
			"no device", name);
		off = sp_netdev_off(devs[i]);
		for (size_t at = 0; at < sizeof(struct sp_netdev_cells);
		     at += 8)
			sp_lane_add(&lane, off + at, n);
		sp_net_destroy(nets[i]);
		snprintf(name, sizeof(name), "n%u", n);
		require(!sp_net_create(plane, name, NULL, &nets[i]),
			"no namespace", name);
		off = sp_net_off(nets[i]) + SP_NET_CELL(udp, InDatagrams);
		for (unsigned k = 0; k < 9; k++)
			sp_lane_add(&lane, off + 8 * k, n);
	}
	sp_lane_release(&lane);
	return NULL;
}

static struct {
	char text[8 << 20];
	size_t len;
} output;

static int take(void *ctx, const char *text, size_t len)
{
	require(output.len + len < sizeof(output.text), "too much text", "");
	memcpy(output.text + output.len, text, len);
	output.len += len;
	output.text[output.len] = '\0';
	return 0;
}

/* Return: is there a text? */
static bool render(struct sp_render *r, const char *name)
{
	int err;

	output.len = 0;
	output.text[0] = '\0';
	err = sp_render_file(r, name, take, NULL);
	require(!err || err == -ENOENT || err == -EAGAIN || err == -ESTALE,
		"unexpected error of", name);
	return !err;
}

/* @line without its newline: are all its numbers 0 or @n? */
static void check_numbers(const char *line, unsigned long n, unsigned nr_least)
{
	unsigned nr = 0;

	for (;;) {
		unsigned long value;
		char *end;

		line += strspn(line, " ");
		if (!*line || *line == '\n')
			break;
		value = strtoul(line, &end, 10);
		require(end > line && (value == 0 || value == n),
			"another's figure", output.text);
		line = end;
		nr++;
	}
	require(nr >= nr_least, "a row is cut", output.text);
}

static unsigned check_dev(struct sp_render *r)
{
	const char *line;
	unsigned nr = 0;

	if (!render(r, "net/dev"))
		return 0;
	line = strchr(strchr(output.text, '\n') + 1, '\n') + 1;
	for (; *line; line = strchr(line, '\n') + 1) {
		unsigned n;
		int at = 0;

		require(sscanf(line, " d%u:%n", &n, &at) == 1 && at > 0,
			"a row without a name", line);
		check_numbers(line + at, n, 16);
		nr++;
	}
	return nr;
}

/* net/dev_snmp6 of the device whose row came last. */
static unsigned check_dev_snmp6(struct sp_render *r)
{
	char name[SP_RENDER_NAME_MAX];
	uint64_t cursor = 0;
	unsigned nr = 0, n;
	const char *line;

	while (!sp_render_next_file(r, &cursor, name)) {
		if (sscanf(name, "net/dev_snmp6/d%u", &n) != 1 ||
		    !render(r, name))
			continue;
		for (line = output.text; *line; line = strchr(line, '\n') + 1)
			check_numbers(strchr(line, '\t') + 1, n, 1);
		nr++;
	}
	return nr;
}

static unsigned check_nets(struct sp_render *r, struct sp_reader *reader)
{
	struct sp_object object;
	uint64_t cursor = 0;
	unsigned nr = 0, n;
	int err;

	while ((err = sp_reader_next(reader, &cursor, &object)) != -ENOENT) {
		const char *line;

		if (err || object.type != SP_OBJECT_NETNS ||
		    sscanf(object.name, "n%u", &n) != 1 ||
		    sp_render_set_net(r, object.name) || !render(r, "net/snmp"))
			continue;
		line = strstr(strstr(output.text, "Udp: In") + 1, "Udp: ");
		check_numbers(line + 5, n, 9);
		nr++;
	}
	sp_render_set_net(r, "host");
	return nr;
}

/* All of it ends well, and every family is closed by the end mark. */
static void check_metrics(struct sp_render *r)
{
	int err;

	output.len = 0;
	err = sp_render_openmetrics(r, take, NULL);
	require(!err, "no metrics", output.text);
	require(output.len > 6 &&
			!strcmp(output.text + output.len - 6, "# EOF\n"),
		"no end mark", output.text + output.len - 6);
}

int main(void)
{
	unsigned long nr_rows = 0, nr_files = 0, nr_nets = 0;
	struct sp_plane_opts opts = {.sz = sizeof(opts), .nr_objects = 1024};
	struct sp_reader *reader;
	struct sp_plane_info info;
	struct sp_render *r;
	pthread_t thread;

	require(!sp_plane_create(&opts, &plane) &&
			!sp_net_create(plane, "host", NULL, &host) &&
			!sp_reader_attach_fd(sp_plane_fd(plane), &reader) &&
			!sp_render_create(reader, &r) &&
			!sp_render_set_net(r, "host"),
		"cannot begin", "");
	require(!pthread_create(&thread, NULL, churn, NULL), "no thread", "");
	for (unsigned i = 0; i < NR_ROUNDS; i++) {
		nr_rows += check_dev(r);
		if (i % 16 == 0)
			nr_files += check_dev_snmp6(r);
		if (i % 16 == 8)
			nr_nets += check_nets(r, reader);
		if (i % 256 == 255)
			check_metrics(r);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	sp_reader_info(reader, &info);
	printf("%lu rows, %lu device files, %lu namespaces, %llu unstable\n",
	       nr_rows, nr_files, nr_nets,
	       (unsigned long long)info.nr_unstable);
	require(nr_rows > NR_ROUNDS && nr_files && nr_nets, "nothing seen", "");
	sp_render_destroy(r);
	sp_reader_detach(reader);
	sp_net_destroy(host);
	sp_plane_close(plane);
	return 0;
}
