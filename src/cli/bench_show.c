/* SPDX-License-Identifier: MIT */
/*
 * cli/bench_show.c - `statplane bench show`: the text of net/snmp and net/netstat
 * from a plane with N written units.
 *
 *   per_item   as the kernel did until 2016: for each item that is printed, walk
 *              all units for its sum, then format name and figure with printf
 *   ours       sp_render_file(): fold all items unit by unit, then copy constant
 *              text and format the figures
 *
 * Both write the same bytes, which is checked before anything is timed. The peer
 * has two things easier than a kernel: the addresses of the units stand ready in
 * a table, and the message types of ICMP, which the kernel counts in one place for
 * all CPUs, are in one place for it too, while ours sums them over the units.
 *
 * --cachegrind runs each side alone under valgrind, with few repetitions and with
 * many, and prints what one more reading costs.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <statplane/net.h>
#include <statplane/render.h>

#include "cli/bench.h"

#define MAX_UNITS  512
#define WARM_NS    3000000 /* of each sample, about */
#define TEXT_MAX   (32 * 1024)
#define NR_WARM    10 /* under valgrind */
#define NR_REPEATS 100

struct text {
	char buf[TEXT_MAX];
	size_t len;
};

struct show_bench {
	const struct sp_bench_opts *opts;
	struct sp_plane *plane;
	struct sp_net *net;
	struct sp_reader *reader;
	struct sp_render *render;
	struct sp_lane lanes[MAX_UNITS];
	unsigned nr_lanes;
	const char *unit[MAX_UNITS]; /* the namespace's cells in each unit */
	unsigned nr_units;
	uint64_t icmpmsg[512]; /* as the kernel keeps them: summed */
};

/* ---- the peer */

struct item {
	const char *name;
	long off; /* cell; -1: a constant */
	int type; /* -1, or index in icmpmsg[] */
	long constant;
	int pos;
};

#define OFF_COUNTER(member, name)  (long)SP_NET_CELL(member, name)
#define OFF_GAUGE(member, name)    (long)SP_NET_CELL(member, name)
#define OFF_CONSTANT(member, name) -1
#define SP_ITEM(group, name, kind, unit, a, b, c, pos, help)                   \
	{#name, OFF_##kind(MEMBER, name), -1, 0, pos},
#define SP_ICMP_TYPE(name, dir, type, a, b, c, pos, help)                      \
	{#name, -1, TYPE_##dir + type, 0, pos},
#define TYPE_IN  0
#define TYPE_OUT 256

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

/* In the order of the two files; NULL: here come the types of IcmpMsg. */
static struct group {
	const char *name;
	struct item *items;
	size_t nr_items;
} groups[] = {
#define GROUP(name, items)                                                     \
	{                                                                      \
		name, items, sizeof(items) / sizeof((items)[0])                \
	}
	GROUP("Ip", ip_items),
	GROUP("Icmp", icmp_items),
	{NULL, NULL, 0},
	GROUP("Tcp", tcp_items),
	GROUP("Udp", udp_items),
	GROUP("UdpLite", udplite_items),
	GROUP("TcpExt", tcpext_items),
	GROUP("IpExt", ipext_items),
	GROUP("MPTcpExt", mptcpext_items),
};

#define NR_GROUPS (sizeof(groups) / sizeof(groups[0]))

static int compare_pos(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return x->pos - y->pos;
}

static void set_constant(struct item *items, size_t nr, const char *name,
			 long value)
{
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(items[i].name, name))
			items[i].constant = value;
}

/* Items in the order of the newest layout, those that it lacks left out. */
static void prepare_items(void)
{
	for (size_t g = 0; g < NR_GROUPS; g++) {
		struct group *group = &groups[g];
		size_t gone = 0;

		if (!group->name)
			continue;
		qsort(group->items, group->nr_items, sizeof(*group->items),
		      compare_pos);
		while (gone < group->nr_items && !group->items[gone].pos)
			gone++;
		group->items += gone;
		group->nr_items -= gone;
	}
	set_constant(groups[0].items, groups[0].nr_items, "Forwarding", 2);
	set_constant(groups[0].items, groups[0].nr_items, "DefaultTTL", 64);
	set_constant(groups[3].items, groups[3].nr_items, "RtoAlgorithm", 1);
	set_constant(groups[3].items, groups[3].nr_items, "RtoMin", 200);
	set_constant(groups[3].items, groups[3].nr_items, "RtoMax", 120000);
	set_constant(groups[3].items, groups[3].nr_items, "MaxConn", -1);
}

/* As the kernel's seq_printf(). */
static void __attribute__((format(printf, 2, 3)))
put(struct text *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	text->len += (size_t)vsnprintf(text->buf + text->len,
				       TEXT_MAX - text->len, format, args);
	va_end(args);
}

/* The sum of one cell: a walk over all units. */
static uint64_t fold_field(const struct show_bench *bench, long off)
{
	uint64_t sum = 0;

	for (unsigned u = 0; u < bench->nr_units; u++)
		sum += *(const volatile uint64_t
				 *)(const void *)(bench->unit[u] + off);
	return sum;
}

static void put_group(const struct show_bench *bench, struct text *text,
		      const struct group *group)
{
	put(text, "%s:", group->name);
	for (size_t i = 0; i < group->nr_items; i++)
		put(text, " %s", group->items[i].name);
	put(text, "\n%s:", group->name);
	for (size_t i = 0; i < group->nr_items; i++) {
		const struct item *item = &group->items[i];

		if (item->type >= 0)
			put(text, " %" PRIu64, bench->icmpmsg[item->type]);
		else if (item->off < 0)
			put(text, " %ld", item->constant);
		else
			put(text, " %" PRIu64, fold_field(bench, item->off));
	}
	put(text, "\n");
}

static void put_icmpmsg_pair(const struct show_bench *bench, struct text *text,
			     const unsigned *types, unsigned nr)
{
	if (!nr)
		return;
	put(text, "IcmpMsg:");
	for (unsigned i = 0; i < nr; i++)
		put(text, " %sType%u", types[i] & 0x100 ? "Out" : "In",
		    types[i] & 0xff);
	put(text, "\nIcmpMsg:");
	for (unsigned i = 0; i < nr; i++)
		put(text, " %" PRIu64, bench->icmpmsg[types[i]]);
	put(text, "\n");
}

static void put_icmpmsg(const struct show_bench *bench, struct text *text)
{
	unsigned types[16], nr = 0;

	for (unsigned i = 0; i < 512; i++) {
		if (!*(const volatile uint64_t *)&bench->icmpmsg[i])
			continue;
		types[nr++] = i;
		if (nr == 16) {
			put_icmpmsg_pair(bench, text, types, nr);
			nr = 0;
		}
	}
	put_icmpmsg_pair(bench, text, types, nr);
}

static void show_per_item(const struct show_bench *bench, struct text *text)
{
	text->len = 0;
	for (size_t g = 0; g < NR_GROUPS; g++) {
		if (groups[g].name)
			put_group(bench, text, &groups[g]);
		else
			put_icmpmsg(bench, text);
	}
}

/* ---- ours */

static int append(void *ctx, const char *s, size_t len)
{
	struct text *text = ctx;

	if (len > TEXT_MAX - text->len)
		return -ENOSPC;
	memcpy(text->buf + text->len, s, len);
	text->len += len;
	return 0;
}

/* The peer's text stays where it was made too. */
static int leave(void *ctx, const char *s, size_t len)
{
	struct text *text = ctx;

	(void)s;
	text->len += len;
	return 0;
}

static void show_to(const struct show_bench *bench, sp_render_write_fn *write,
		    struct text *text)
{
	text->len = 0;
	if (sp_render_file(bench->render, "net/snmp", write, text) ||
	    sp_render_file(bench->render, "net/netstat", write, text))
		text->len = 0;
}

static void show_ours(const struct show_bench *bench, struct text *text)
{
	show_to(bench, leave, text);
}

/* ---- both */

static const struct side {
	const char *name;
	void (*show)(const struct show_bench *bench, struct text *text);
} sides[] = {
	{"per_item", show_per_item},
	{"ours", show_ours},
};

/* Zero for a third of the items, the others of up to nine digits. */
static uint64_t figure(unsigned unit, size_t cell)
{
	if (cell % 3 == 0)
		return 0;
	return ((uint32_t)(cell * 2654435761u) >> (4 + cell % 24)) + unit;
}

/* One more unit, with figures in all cells of the namespace. */
static int grow_by_one(struct show_bench *bench)
{
	struct sp_lane *lane = &bench->lanes[bench->nr_lanes];
	sp_percpu_t off = sp_net_off(bench->net);
	size_t types = SP_NET_CELL(icmpmsg, InType) / 8;
	struct sp_plane_info info;
	int r;

	r = sp_lane_claim(bench->plane, lane);
	if (r)
		return r;
	bench->nr_lanes++;
	for (size_t i = 0; i < types; i++)
		sp_lane_add(lane, off + 8 * i, figure(lane->unit, i));
	/* Of ICMP the types that a host meets. */
	for (size_t i = 0; i < 512; i++) {
		if (i % 256 != 0 && i % 256 != 3 && i % 256 != 8)
			continue;
		sp_lane_add(lane, off + 8 * (types + i), 1000 + i);
		bench->icmpmsg[i] += 1000 + i;
	}
	sp_reader_info(bench->reader, &info);
	if (bench->nr_units == 0) /* the shared unit */
		bench->unit[bench->nr_units++] =
			lane->base - lane->unit * info.unit_stride + off;
	bench->unit[bench->nr_units++] = lane->base + off;
	return 0;
}

static int grow(struct show_bench *bench, unsigned nr_units)
{
	while (bench->nr_units < nr_units) {
		int r = grow_by_one(bench);

		if (r)
			return r;
	}
	return 0;
}

static struct text texts[2];

/* Both sides must write the same before any is timed. */
static int check(const struct show_bench *bench)
{
	show_per_item(bench, &texts[0]);
	show_to(bench, append, &texts[1]);
	if (texts[0].len != texts[1].len ||
	    memcmp(texts[0].buf, texts[1].buf, texts[0].len))
		return -EIO;
	return 0;
}

static double time_side(const struct show_bench *bench, const struct side *side)
{
	uint64_t start = sp_bench_ticks();
	unsigned nr;

	side->show(bench, &texts[0]);
	nr = 1 +
	     (unsigned)(WARM_NS / (sp_bench_ns(sp_bench_ticks() - start) + 1));
	start = sp_bench_ticks();
	for (unsigned i = 0; i < nr; i++)
		side->show(bench, &texts[0]);
	return sp_bench_ns(sp_bench_ticks() - start) / nr;
}

static int measure(struct show_bench *bench, struct sp_series *series,
		   unsigned nr_units)
{
	char name[32];
	int r;

	r = grow(bench, nr_units);
	if (!r)
		r = check(bench);
	if (r)
		return r;
	series[0].nr = series[1].nr = 0;
	for (unsigned round = 0; round < bench->opts->nr_rounds; round++)
		for (unsigned i = 0; i < 2; i++) {
			unsigned s = round % 2 ? 1 - i : i;

			sp_series_add(&series[s], time_side(bench, &sides[s]));
		}
	snprintf(name, sizeof(name), "show/%u", nr_units);
	sp_bench_case(bench->opts, "show", name, &series[1], "per_item",
		      &series[0]);
	if (!bench->opts->json)
		sp_bench_case(bench->opts, "show", "  (per_item)", &series[0],
			      NULL, NULL);
	return 0;
}

static int open_bench(struct show_bench *bench,
		      const struct sp_bench_opts *opts)
{
	const struct sp_plane_opts plane_opts = {
		.sz = sizeof(plane_opts),
		.program = "bench show",
		.nr_cpus = 1,
		.nr_lanes = MAX_UNITS - 1,
	};
	int r;

	bench->opts = opts;
	r = sp_plane_create(&plane_opts, &bench->plane);
	if (!r)
		r = sp_net_create(bench->plane, "bench", NULL, &bench->net);
	if (!r)
		r = sp_reader_attach_fd(sp_plane_fd(bench->plane),
					&bench->reader);
	if (!r)
		r = sp_render_create(bench->reader, &bench->render);
	prepare_items();
	return r;
}

static void close_bench(struct show_bench *bench)
{
	sp_render_destroy(bench->render);
	sp_reader_detach(bench->reader);
	while (bench->nr_lanes)
		sp_lane_release(&bench->lanes[--bench->nr_lanes]);
	sp_net_destroy(bench->net);
	sp_plane_close(bench->plane);
}

static const unsigned sizes[] = {2, 16, 64, 160, MAX_UNITS};

static int time_all(struct show_bench *bench)
{
	struct sp_series series[2] = {{.nr = 0}, {.nr = 0}};
	int r;

	r = sp_series_init(&series[0], bench->opts->nr_rounds);
	if (!r)
		r = sp_series_init(&series[1], bench->opts->nr_rounds);
	if (!r) {
		sp_bench_pin(0);
		sp_bench_begin(bench->opts,
			       "Text of net/snmp and net/netstat from N "
			       "written units");
	}
	for (size_t i = 0; !r && i < sizeof(sizes) / sizeof(sizes[0]); i++)
		r = measure(bench, series, sizes[i]);
	sp_bench_note(bench->opts,
		      "\nPeer per_item: for each item walk all units, then "
		      "printf. More units than CPUs\nare a simulation: one CPU "
		      "reads what it wrote itself.");
	sp_series_fini(&series[0]);
	sp_series_fini(&series[1]);
	return r;
}

/* ---- cachegrind */

enum {
	INSTRUCTIONS,
	D1_MISSES,
	LL_MISSES,
	NR_EVENTS
};

static const struct {
	const char *label, *name;
} events[NR_EVENTS] = {
	[INSTRUCTIONS] = {"I refs:", "instructions"},
	[D1_MISSES] = {"D1 misses:", "D1_misses"},
	[LL_MISSES] = {"LLd misses:", "LL_misses"},
};

/* "==7==  D1  misses:   1,234  (...": is it @label, and which number? */
static bool parse_event(const char *line, const char *label, uint64_t *ret_nr)
{
	uint64_t nr = 0;

	if (strncmp(line, "==", 2) || !(line = strstr(line + 2, "== ")))
		return false;
	for (line += 3; *label; line++) {
		/* Runs of blanks count as one. */
		if (*line == ' ' && line[1] == ' ')
			continue;
		if (*line != *label++)
			return false;
	}
	for (line += strspn(line, " "); *line; line++) {
		if (*line >= '0' && *line <= '9')
			nr = 10 * nr + (uint64_t)(*line - '0');
		else if (*line != ',')
			break;
	}
	*ret_nr = nr;
	return true;
}

/* Run one side under valgrind. Return: 0; -ENOENT: there is no valgrind, or it
 * said nothing that could be read. */
static int run_cachegrind(const char *self, const char *side, unsigned nr_units,
			  unsigned nr_repeats, uint64_t *ret_events)
{
	static char command[PATH_MAX + 256];
	char line[512];
	unsigned found = 0;
	FILE *pipe;

	snprintf(command, sizeof(command),
		 "valgrind --tool=cachegrind --cache-sim=yes "
		 "--cachegrind-out-file=/dev/null '%s' bench show --side %s "
		 "--units %u --repeats %u 2>&1",
		 self, side, nr_units, nr_repeats);
	pipe = popen(command, "r");
	if (!pipe)
		return -errno;
	while (fgets(line, sizeof(line), pipe))
		for (unsigned e = 0; e < NR_EVENTS; e++)
			if (parse_event(line, events[e].label, &ret_events[e]))
				found |= 1u << e;
	return pclose(pipe) == 0 && found == (1u << NR_EVENTS) - 1 ? 0
								   : -ENOENT;
}

/* What one reading costs: the difference of two runs. */
static int cost_of(const char *self, const char *side, unsigned nr_units,
		   double *ret_cost)
{
	uint64_t with[NR_EVENTS], without[NR_EVENTS];
	int r;

	r = run_cachegrind(self, side, nr_units, NR_WARM + NR_REPEATS, with);
	if (!r)
		r = run_cachegrind(self, side, nr_units, NR_WARM, without);
	for (unsigned e = 0; !r && e < NR_EVENTS; e++)
		ret_cost[e] =
			(double)(int64_t)(with[e] - without[e]) / NR_REPEATS;
	return r;
}

static void report_event(const struct sp_bench_opts *opts, unsigned nr_units,
			 const char *event, double ours, double theirs)
{
	double ratio = theirs / (ours > 0 ? ours : 1);
	char name[64];

	snprintf(name, sizeof(name), "show/%u/%s", nr_units, event);
	if (opts->json)
		printf("{\"bench\":\"show\",\"case\":\"%s\",\"unit\":\"%s\","
		       "\"min\":%.1f,\"median\":%.1f,\"max\":%.1f,"
		       "\"ratio\":%.3f,\"peer\":\"per_item\"}\n",
		       name, event, ours, ours, ours, ratio);
	else
		printf("%-26s %14.1f %14.1f   %6.2f\n", name, ours, theirs,
		       ratio);
	fflush(stdout);
}

static int cachegrind(const struct sp_bench_opts *opts)
{
	static char self[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (len < 0 || memchr(self, '\'', (size_t)len))
		return len < 0 ? -errno : -EINVAL;
	self[len] = '\0';
	if (!opts->json)
		printf("One reading of net/snmp and net/netstat under "
		       "cachegrind, without start-up\n\n%-26s %14s %14s   %s\n",
		       "case", "ours", "per_item", "ratio");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		double ours[NR_EVENTS], theirs[NR_EVENTS];
		int r = cost_of(self, "ours", sizes[i], ours);

		if (!r)
			r = cost_of(self, "per_item", sizes[i], theirs);
		if (r)
			return r;
		for (unsigned e = 0; e < NR_EVENTS; e++)
			report_event(opts, sizes[i], events[e].name, ours[e],
				     theirs[e]);
	}
	sp_bench_note(opts, "\nValgrind knows no AVX-512: ours folds by AVX2 "
			    "here.");
	return 0;
}

/* One side alone, for --cachegrind; writes nothing. */
static int run_side(struct show_bench *bench)
{
	const struct sp_bench_opts *opts = bench->opts;
	int r = grow(bench, opts->nr_units);

	for (size_t s = 0; !r && s < 2; s++) {
		if (strcmp(sides[s].name, opts->side) != 0)
			continue;
		for (unsigned i = 0; i < opts->nr_repeats; i++)
			sides[s].show(bench, &texts[0]);
		return 0;
	}
	return r ? r : -EINVAL;
}

int sp_bench_show(const struct sp_bench_opts *opts)
{
	static struct show_bench bench;
	int r;

	if (opts->cachegrind) {
		r = cachegrind(opts);
		if (r == -ENOENT)
			fprintf(stderr, "statplane bench show: --cachegrind "
					"needs valgrind\n");
		else if (r)
			fprintf(stderr, "statplane bench show: %s\n",
				strerror(-r));
		return r ? EXIT_FAILURE : EXIT_SUCCESS;
	}
	r = open_bench(&bench, opts);
	if (!r)
		r = opts->side ? run_side(&bench) : time_all(&bench);
	if (r)
		fprintf(stderr, "statplane bench show: %s\n", strerror(-r));
	close_bench(&bench);
	return r ? EXIT_FAILURE : EXIT_SUCCESS;
}
