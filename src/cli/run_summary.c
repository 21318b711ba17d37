// SPDX-License-Identifier: MIT
/*
 * cli/run_summary.c - what was counted, for a person.
 *
 * Every counter that is not zero, with its value, unit and meaning, in columns
 * as wide as they need to be. On a terminal the meaning is wrapped.
 */
#include "cli/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/items.h"
#include "cli/term.h"

#define MIN_HELP_WIDTH 24
#define NS_PER_S       UINT64_C(1000000000)

struct columns {
	int name, value, unit;
};

/* One counter with a value. */
struct line {
	const char *name;
	const char *unit;
	const char *help;
	uint64_t value;
	bool is_gauge;
};

/* Lines are made twice: to see how wide they are, and to print them. */
typedef void line_fn(void *ctx, const char *group, const struct line *line);

static int max_int(int a, int b)
{
	return a > b ? a : b;
}

static int value_len(const struct line *line)
{
	return line->is_gauge
		       ? snprintf(NULL, 0, "%" PRId64, (int64_t)line->value)
		       : snprintf(NULL, 0, "%" PRIu64, line->value);
}

static void widen(void *ctx, const char *group, const struct line *line)
{
	struct columns *columns = ctx;

	(void)group;
	columns->name = max_int(columns->name, (int)strlen(line->name));
	columns->unit = max_int(columns->unit, (int)strlen(line->unit));
	columns->value = max_int(columns->value, value_len(line));
}

struct printer {
	struct columns columns;
	struct sp_term term;
	const char *group; /* of the last line, or NULL */
};

/* Words of @text, broken before the terminal's edge, each line indented. */
static void print_wrapped(const char *text, int indent, unsigned width)
{
	size_t room = width - (unsigned)indent;
	size_t used = 0;

	while (*text) {
		size_t len = strcspn(text, " ");

		if (used && used + 1 + len > room) {
			printf("\n%*s", indent, "");
			used = 0;
		}
		used += (size_t)printf("%s%.*s", used ? " " : "", (int)len,
				       text);
		text += len;
		text += strspn(text, " ");
	}
}

static void print_help(const struct printer *printer, const char *help)
{
	const struct columns *columns = &printer->columns;
	int indent =
		2 + columns->name + 2 + columns->value + 1 + columns->unit + 2;

	printf("%s", printer->term.dim);
	if (printer->term.width < (unsigned)indent + MIN_HELP_WIDTH)
		printf("%s", help);
	else
		print_wrapped(help, indent, printer->term.width);
	printf("%s\n", printer->term.plain);
}

static void print_line(void *ctx, const char *group, const struct line *line)
{
	struct printer *printer = ctx;
	const struct columns *columns = &printer->columns;

	if (!printer->group || strcmp(printer->group, group) != 0)
		printf("\n%s%s%s\n", printer->term.bold, group,
		       printer->term.plain);
	printer->group = group;
	printf("  %-*s  ", columns->name, line->name);
	if (line->is_gauge)
		printf("%*" PRId64, columns->value, (int64_t)line->value);
	else
		printf("%*" PRIu64, columns->value, line->value);
	printf(" %-*s  ", columns->unit, line->unit);
	print_help(printer, line->help);
}

/* @group NULL: the item's own. */
static void each_item(const struct sp_item *items, size_t nr,
		      const uint64_t *cells, const char *group, line_fn *fn,
		      void *ctx)
{
	for (size_t i = 0; i < nr; i++) {
		const struct sp_item *item = &items[i];
		struct line line = {item->name, item->unit, item->help,
				    cells[item->cell_idx], item->is_gauge};

		if (line.value)
			fn(ctx, group ? group : item->group, &line);
	}
}

/* ICMP types that no item names. */
static void each_type(const uint64_t *cells, line_fn *fn, void *ctx)
{
	char name[SP_TYPE_NAME];
	struct sp_type_item type = {0};

	while (sp_next_type(&type, cells, name)) {
		struct line line = {name, "messages", type.help, type.value,
				    false};

		if (!type.has_item)
			fn(ctx, type.group, &line);
	}
}

/* Remarks that change how far the figures can be trusted. */
static void each_note(const struct sp_observer_stats *stats, line_fn *fn,
		      void *ctx)
{
	const struct line lines[] = {
		{"truncated", "packets",
		 "Captured shorter than they were (snapshot length); what is "
		 "missing could not be checked",
		 stats->nr_truncated, false},
		{"link errors", "packets", "Link-layer header cut short",
		 stats->nr_link_errors, false},
		{"other protocol", "packets", "Neither IPv4 nor IPv6 nor ARP",
		 stats->nr_other_proto, false},
		{"ARP", "packets", "Seen and passed over", stats->nr_arp,
		 false},
		{"other host", "packets", "Unicast to another MAC address",
		 stats->nr_other_host, false},
		{"other VLAN", "packets",
		 "Not of the VLAN that was asked for (--vlan)",
		 stats->nr_other_vlan, false},
		{"unchecked", "checksums",
		 "Could not be checked, since not all octets were captured",
		 stats->nr_unchecked, false},
		{"offloaded", "checksums",
		 "Not filled in yet when the packet was captured; taken for "
		 "good",
		 stats->nr_offloaded, false},
		{"reassembly full", "datagrams",
		 "Fragments given up for want of room", stats->nr_reasm_evicted,
		 false},
		{"connections evicted", "connections",
		 "Forgotten for want of room, half-open ones first",
		 stats->nr_sockets_evicted, false},
		{"connections refused", "connections",
		 "Not followed for want of room: what is counted of their "
		 "segments is what each tells by itself",
		 stats->nr_sockets_refused, false},
		{"segments joined", "segments",
		 "Could not be told apart for want of room; TcpExt counters of "
		 "losses may be off",
		 stats->nr_ranges_joined, false},
		{"ports full", "datagrams",
		 "UDP datagrams counted before it was known whether their "
		 "port is open",
		 stats->nr_ports_evicted, false},
		{"groups full", "groups",
		 "Multicast groups not joined for want of room",
		 stats->nr_groups_refused, false},
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (lines[i].value)
			fn(ctx, "Observer", &lines[i]);
	}
}

static void each_line(const struct sp_run_result *result,
		      const struct sp_run_cells *cells, line_fn *fn, void *ctx)
{
	each_note(&result->stats, fn, ctx);
	each_item(sp_net_items, sp_nr_net_items, cells->net, NULL, fn, ctx);
	each_type(cells->net, fn, ctx);
	each_item(sp_netdev_items, sp_nr_netdev_items, cells->netdev,
		  result->options->iface, fn, ctx);
}

static void print_time(const char *before, uint64_t ns)
{
	time_t seconds = (time_t)(ns / NS_PER_S);
	char text[64] = "?";
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	printf("%s%s.%06" PRIu64, before, text, ns % NS_PER_S / 1000);
}

static void print_span(const struct sp_run_result *result)
{
	uint64_t span_ns = result->last_ns - result->first_ns;
	double span_s = (double)span_ns / 1e9;

	print_time("Time     ", result->first_ns);
	print_time(" to ", result->last_ns);
	printf(" UTC, %.6f s\n", span_s);
	if (!span_ns)
		return;
	printf("Rate     %.1f packets/s, %.1f kbit/s\n",
	       (double)result->stats.nr_frames / span_s,
	       (double)result->stats.nr_octets * 8 / 1000 / span_s);
}

static void print_host(const struct sp_run_options *options)
{
	char text[SP_ADDR_TEXT];

	printf("Host    ");
	for (size_t i = 0; i < options->nr_addrs; i++)
		printf(" %s", sp_addr_text(&options->addrs[i], text));
	if (!options->nr_addrs)
		printf(" no address");
	if (options->have_mac)
		printf(", MAC %s", sp_mac_text(options->mac, text));
	printf(", device %s%s\n", options->iface,
	       options->forward ? ", router" : "");
}

void sp_run_print(const struct sp_run_result *result,
		  const struct sp_run_cells *cells)
{
	struct printer printer = {.term = sp_term_inspect(stdout)};
	double elapsed_s = (double)result->elapsed_ns / 1e9;
	const struct sp_observer_stats *stats = &result->stats;

	printf("Packets  %" PRIu64 " with %" PRIu64 " octets, from %zu "
	       "capture%s\n",
	       stats->nr_frames, stats->nr_octets, result->input->nr_opened,
	       result->input->nr_opened == 1 ? "" : "s");
	if (stats->nr_frames)
		print_span(result);
	print_host(result->options);
	printf("Counted  in %.3f s, %.0f packets/s\n", elapsed_s,
	       elapsed_s > 0 ? (double)stats->nr_frames / elapsed_s : 0);
	if (result->signal)
		printf("%sStopped by %s: not all packets are counted%s\n",
		       printer.term.alarm, sigabbrev_np(result->signal),
		       printer.term.plain);
	if (result->input->nr_faults)
		printf("%sIncomplete: %zu capture%s could not be read to the "
		       "end%s\n",
		       printer.term.alarm, result->input->nr_faults,
		       result->input->nr_faults == 1 ? "" : "s",
		       printer.term.plain);
	each_line(result, cells, widen, &printer.columns);
	each_line(result, cells, print_line, &printer);
}
