// SPDX-License-Identifier: MIT
/*
 * cli/run_summary.c - what was counted, for a person.
 *
 * Every counter that is not zero, with its value, unit and meaning, one a line, in
 * columns as wide as their group needs. On a terminal no line is longer than the
 * terminal is wide: the meaning is cut, and has no reference to its source.
 */
#include "cli/run.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <statplane/net.h>

#include "cli/items.h"
#include "cli/term.h"

#define MIN_HELP_WIDTH 20
#define LABEL_WIDTH    9
#define DAY_LEN        11 /* "2026-12-01 " */
#define TIME_TEXT      48
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

/* Lines are made several times: to see how wide they are, and to print them. */
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

struct printer {
	const struct sp_run_result *result;
	const struct sp_run_cells *cells;
	struct columns columns; /* of the group */
	struct sp_term term;
	const char *group; /* of the last line, or NULL */
};

/* Columns for the lines of one group. */
static void widen(void *ctx, const char *group, const struct line *line)
{
	struct printer *printer = ctx;
	struct columns *columns = &printer->columns;

	if (strcmp(printer->group, group) != 0)
		return;
	columns->name = max_int(columns->name, (int)strlen(line->name));
	columns->unit = max_int(columns->unit, (int)strlen(line->unit));
	columns->value = max_int(columns->value, value_len(line));
}

/* Length of @help without the reference in parentheses at its end. */
static size_t without_source(const char *help)
{
	size_t len = strlen(help);
	const char *source = strrchr(help, '(');

	return len && help[len - 1] == ')' && source > help + 1
		       ? (size_t)(source - 1 - help)
		       : len;
}

/* How much of the @len octets of @help leaves room for "..." in @room: up to a
 * mark, if that is more than a few words, else to the end of a word. */
static size_t cut(const char *help, size_t len, size_t room)
{
	size_t word = 0, clause = 0;

	for (size_t i = 1; i < len && i <= room - 3; i++) {
		if (strchr(",;:", help[i]))
			clause = i;
		if (help[i] == ' ' && !strchr(",;:", help[i - 1]))
			word = i;
	}
	return clause >= MIN_HELP_WIDTH ? clause : word ? word : room - 3;
}

/* The unit and the meaning, as far as there is room behind the value. */
static void print_help(const struct printer *printer, const struct line *line)
{
	const struct columns *columns = &printer->columns;
	const struct sp_term *term = &printer->term;
	size_t before = 2 + (size_t)columns->name + 2 + (size_t)columns->value +
			1 + (size_t)columns->unit + 2;
	size_t len = without_source(line->help);
	size_t room;

	if (!term->is_terminal) {
		printf("%-*s  %s\n", columns->unit, line->unit, line->help);
		return;
	}
	if (term->width < before + MIN_HELP_WIDTH) {
		puts(line->unit);
		return;
	}
	room = term->width - before;
	printf("%-*s  %s%.*s%s%s\n", columns->unit, line->unit, term->dim,
	       (int)(len <= room ? len : cut(line->help, len, room)),
	       line->help, len <= room ? "" : "...", term->plain);
}

static void each_line(const struct sp_run_result *result,
		      const struct sp_run_cells *cells, line_fn *fn, void *ctx);

static void start_group(struct printer *printer, const char *group)
{
	printf("\n%s%s%s\n", printer->term.bold, group, printer->term.plain);
	printer->group = group;
	printer->columns = (struct columns){0};
	each_line(printer->result, printer->cells, widen, printer);
}

static void print_line(void *ctx, const char *group, const struct line *line)
{
	struct printer *printer = ctx;
	const struct columns *columns = &printer->columns;

	if (!printer->group || strcmp(printer->group, group) != 0)
		start_group(printer, group);
	printf("  %-*s  ", columns->name, line->name);
	if (line->is_gauge)
		printf("%*" PRId64, columns->value, (int64_t)line->value);
	else
		printf("%*" PRIu64, columns->value, line->value);
	putchar(' ');
	print_help(printer, line);
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

/* Words behind a label, broken before the terminal's edge. */
struct words {
	size_t room;
	size_t used;
};

static struct words start_words(const struct sp_term *term, const char *label)
{
	printf("%-*s", LABEL_WIDTH, label);
	return (struct words){
		.room = term->width > 2 * LABEL_WIDTH
				? term->width - LABEL_WIDTH
				: SIZE_MAX,
	};
}

__attribute__((format(printf, 2, 3))) static void
put_words(struct words *words, const char *format, ...)
{
	char text[SP_ADDR_TEXT + 32];
	size_t len;
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	len = strlen(text);
	if (words->used && words->used + 1 + len > words->room) {
		printf("\n%*s", LABEL_WIDTH, "");
		words->used = 0;
	}
	words->used += (size_t)printf("%s%s", words->used ? " " : "", text);
}

/* "2026-12-01 03:31:46.846867" */
static void time_text(uint64_t ns, char text[TIME_TEXT])
{
	time_t seconds = (time_t)(ns / NS_PER_S);
	char whole[32] = "?";
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		strftime(whole, sizeof(whole), "%Y-%m-%d %H:%M:%S", &tm);
	snprintf(text, TIME_TEXT, "%s.%06" PRIu64, whole, ns % NS_PER_S / 1000);
}

static void print_span(const struct sp_term *term,
		       const struct sp_run_result *result)
{
	uint64_t span_ns = result->last_ns - result->first_ns;
	double span_s = (double)span_ns / 1e9;
	struct words words = start_words(term, "Time");
	char first[TIME_TEXT], last[TIME_TEXT];
	bool same_day;

	time_text(result->first_ns, first);
	time_text(result->last_ns, last);
	same_day = !strncmp(first, last, DAY_LEN);
	put_words(&words, "%s to", first);
	put_words(&words, "%s UTC,", last + (same_day ? DAY_LEN : 0));
	put_words(&words, "%.6f s", span_s);
	putchar('\n');
	if (!span_ns)
		return;
	printf("Rate     %.1f packets/s, %.1f kbit/s\n",
	       (double)result->stats.nr_frames / span_s,
	       (double)result->stats.nr_octets * 8 / 1000 / span_s);
}

static void print_host(const struct sp_term *term,
		       const struct sp_run_options *options)
{
	struct words words = start_words(term, "Host");
	char text[SP_ADDR_TEXT];

	for (size_t i = 0; i < options->nr_addrs; i++)
		put_words(&words, "%s%s",
			  sp_addr_text(&options->addrs[i], text),
			  i + 1 < options->nr_addrs ? "" : ",");
	if (!options->nr_addrs)
		put_words(&words, "no address,");
	if (options->have_mac)
		put_words(&words, "MAC %s,", sp_mac_text(options->mac, text));
	put_words(&words, "device %s%s", options->iface,
		  options->forward ? ", router" : "");
	putchar('\n');
}

/* How fast it was: "in 0.254 ms, 1852078 packets/s". */
static void print_speed(const struct sp_run_result *result)
{
	double elapsed_s = (double)result->elapsed_ns / 1e9;

	if (elapsed_s < 1)
		printf("Counted  in %.3f ms", elapsed_s * 1e3);
	else
		printf("Counted  in %.3f s", elapsed_s);
	printf(", %.0f packets/s\n",
	       elapsed_s > 0 ? (double)result->stats.nr_frames / elapsed_s : 0);
}

/* Packets were seen, but none that a host with these addresses would have sent
 * or taken. */
static bool is_elsewhere(const struct sp_run_result *result,
			 const struct sp_run_cells *cells)
{
	const uint64_t *net = cells->net;

	return !result->options->forward &&
	       (net[SP_NET_CELL(ip, InReceives) / 8] ||
		net[SP_NET_CELL(ip6, InReceives) / 8]) &&
	       !net[SP_NET_CELL(ip, InDelivers) / 8] &&
	       !net[SP_NET_CELL(ip, OutRequests) / 8] &&
	       !net[SP_NET_CELL(ip6, InDelivers) / 8] &&
	       !net[SP_NET_CELL(ip6, OutRequests) / 8];
}

void sp_run_print(const struct sp_run_result *result,
		  const struct sp_run_cells *cells)
{
	struct printer printer = {
		.result = result,
		.cells = cells,
		.term = sp_term_inspect(stdout),
	};
	const struct sp_observer_stats *stats = &result->stats;

	printf("Packets  %" PRIu64 " with %" PRIu64 " octets, from %zu "
	       "capture%s\n",
	       stats->nr_frames, stats->nr_octets, result->input->nr_opened,
	       result->input->nr_opened == 1 ? "" : "s");
	if (stats->nr_frames)
		print_span(&printer.term, result);
	print_host(&printer.term, result->options);
	print_speed(result);
	if (is_elsewhere(result, cells))
		printf("%sDoubtful: nothing was sent by this host or delivered "
		       "to it; %s%s\n",
		       printer.term.alarm,
		       result->learned ? "try --local" : "is --local right?",
		       printer.term.plain);
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
	each_line(result, cells, print_line, &printer);
}
