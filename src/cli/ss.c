// SPDX-License-Identifier: MIT
/*
 * cli/ss.c - `statplane ss`: the sockets of a namespace.
 */
#include "cli/ss.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/planes.h"

static const char help[] =
	"usage: statplane ss [OPTION]... [state STATES] [EXPRESSION]\n"
	"\n"
	"Shows connections and sockets, as ss(8) does: those that 'statplane "
	"run' met in\n"
	"packets, or that a program publishes.\n"
	"\n"
	"Which sockets\n"
	"  -t, --tcp  -u, --udp   one protocol (both)\n"
	"  -4, --ipv4  -6, --ipv6 one family (both)\n"
	"  -l, --listening        those that listen (those that are "
	"connected)\n"
	"  -a, --all              in every state\n"
	"  --segment NAME|PATH    of which plane; without it the only one "
	"there "
	"is\n"
	"  --netns NAME           of which namespace; without it the first "
	"one\n"
	"  --sort KEY             recv-q, send-q, bytes, packets, rate, "
	"retrans, rtt,\n"
	"                         drops, age: the greatest first; local, peer, "
	"state\n"
	"  --top K                no more than K (sorted by bytes unless told "
	"otherwise)\n"
	"\n"
	"What of them\n"
	"  -n, --numeric          ports as numbers\n"
	"  -o, --options          timers\n"
	"  -e, --extended         owner and inode\n"
	"  -i, --info             round trips, windows, packets, bytes, rates\n"
	"  -m, --memory           queues\n"
	"  -p, --processes        the program that writes the plane\n"
	"  -s, --summary          sums of all sockets instead\n"
	"  -H, --no-header  -O, --oneline  -j, --json  --help\n"
	"\n"
	"STATES is established, syn-sent, syn-recv, fin-wait-1, fin-wait-2, "
	"time-wait,\n"
	"close-wait, last-ack, closing, listening, unconnected, all, "
	"connected,\n"
	"synchronized, bucket or big; 'exclude STATES' leaves some out; both "
	"may be given\n"
	"more than once. EXPRESSION has src and dst with "
	"ADDRESS[/BITS][:PORT], "
	"sport and\n"
	"dport with = != < > <= >= and a port, and, or, not and parentheses.\n"
	"\n"
	"Examples\n"
	"  statplane ss -tan\n"
	"  statplane ss -ti --sort rate --top 10\n"
	"  statplane ss -tn state time-wait dst 192.0.2.0/24\n"
	"  statplane ss -tn '( sport = :443 or sport = :80 ) and not dst "
	"[2001:db8::1]'\n"
	"  statplane ss -s --segment demo\n";

enum {
	OPT_SEGMENT = 256,
	OPT_NETNS,
	OPT_SORT,
	OPT_TOP,
};

static const struct option known[] = {
	{"tcp", no_argument, NULL, 't'},
	{"udp", no_argument, NULL, 'u'},
	{"listening", no_argument, NULL, 'l'},
	{"numeric", no_argument, NULL, 'n'},
	{"ipv4", no_argument, NULL, '4'},
	{"ipv6", no_argument, NULL, '6'},
	{"all", no_argument, NULL, 'a'},
	{"options", no_argument, NULL, 'o'},
	{"extended", no_argument, NULL, 'e'},
	{"info", no_argument, NULL, 'i'},
	{"memory", no_argument, NULL, 'm'},
	{"processes", no_argument, NULL, 'p'},
	{"summary", no_argument, NULL, 's'},
	{"no-header", no_argument, NULL, 'H'},
	{"oneline", no_argument, NULL, 'O'},
	{"json", no_argument, NULL, 'j'},
	{"segment", required_argument, NULL, OPT_SEGMENT},
	{"netns", required_argument, NULL, OPT_NETNS},
	{"sort", required_argument, NULL, OPT_SORT},
	{"top", required_argument, NULL, OPT_TOP},
	{"help", no_argument, NULL, 'h'},
	{0},
};

#define usage(...) sp_cli_usage("ss", __VA_ARGS__)

/* The switch that a letter turns on; NULL for what is none. */
static bool *find_switch(struct sp_ss *ss, int letter)
{
	switch (letter) {
	case 't':
		return &ss->tcp;
	case 'u':
		return &ss->udp;
	case 'l':
		return &ss->listening;
	case 'n':
		return &ss->numeric;
	case '4':
		return &ss->v4;
	case '6':
		return &ss->v6;
	case 'a':
		return &ss->all;
	case 'o':
		return &ss->timers;
	case 'e':
		return &ss->extended;
	case 'i':
		return &ss->info;
	case 'm':
		return &ss->memory;
	case 'p':
		return &ss->process;
	case 's':
		return &ss->summary;
	case 'H':
		return &ss->no_header;
	case 'O':
		return &ss->one_line;
	case 'j':
		return &ss->json;
	default:
		return NULL;
	}
}

static int take_top(struct sp_ss *ss)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(optarg, &end, 10);
	if (errno || *end || !isdigit((unsigned char)*optarg) || !value ||
	    value > 1000000)
		return usage("--top %s: want 1 to 1000000", optarg);
	ss->top = value;
	return -1;
}

/* Return: exit status, or -1 to go on. */
static int take(struct sp_ss *ss, int option, char **argv)
{
	bool *on = find_switch(ss, option);

	if (on) {
		*on = true;
		return -1;
	}
	switch (option) {
	case OPT_SEGMENT:
		ss->segment = optarg;
		return -1;
	case OPT_NETNS:
		ss->netns = optarg;
		return -1;
	case OPT_SORT:
		ss->sort = sp_ss_sort_find(optarg);
		if (ss->sort)
			return -1;
		return usage("--sort %s: want recv-q, send-q, bytes, packets, "
			     "rate, retrans, rtt, drops, age, local, peer or "
			     "state",
			     optarg);
	case OPT_TOP:
		return take_top(ss);
	case 'h':
		fputs(help, stdout);
		return sp_cli_finish(SP_EXIT_OK);
	default:
		return sp_cli_bad_option("ss", option, argv);
	}
}

/* The words of the filter as one text. Return: false if it is too long. */
static bool join(char *text, size_t size, char **words)
{
	size_t len = 0;

	text[0] = '\0';
	for (; *words; words++) {
		int nr = snprintf(text + len, size - len, "%s%s",
				  len ? " " : "", *words);

		if (nr < 0 || (size_t)nr >= size - len)
			return false;
		len += (size_t)nr;
	}
	return true;
}

/* Show the place: up to BEFORE characters before it, and what follows. */
#define BEFORE 50
#define AROUND 76

static int refuse_filter(const char *text, const struct sp_ss_error *error)
{
	size_t start = error->pos > BEFORE ? error->pos - BEFORE : 0;
	char shown[AROUND + 1];
	size_t len = 0;

	for (; len < AROUND && text[start + len]; len++) {
		char c = text[start + len];

		shown[len] = c >= ' ' && c < 0x7f ? c : '?';
	}
	shown[len] = '\0';
	sp_cli_error("filter, character %zu: %s", error->pos + 1, error->text);
	fprintf(stderr, "  %s\n  %*s^\n", shown, (int)(error->pos - start), "");
	return sp_cli_hint("ss");
}

static int parse(struct sp_ss *ss, int argc, char **argv)
{
	static char text[SP_SS_TEXT_MAX + 1];
	struct sp_ss_error error;
	int option, r;

	while ((option = getopt_long(argc, argv, ":tuln46aoeimpsHOjh", known,
				     NULL)) != -1) {
		r = take(ss, option, argv);
		if (r >= 0)
			return r;
	}
	if (!join(text, sizeof(text), argv + optind))
		return usage("the filter is too long: more than %d characters",
			     SP_SS_TEXT_MAX);
	if (sp_ss_filter_parse(&ss->filter, text, &error))
		return refuse_filter(text, &error);
	if (ss->summary && *text)
		return usage("sums are of all sockets: -s takes no filter");
	if (!ss->tcp && !ss->udp)
		ss->tcp = ss->udp = true;
	if (!ss->v4 && !ss->v6)
		ss->v4 = ss->v6 = true;
	if (ss->top && !ss->sort)
		ss->sort = sp_ss_sort_find("bytes");
	return -1;
}

/* The namespace that is asked for. Return: 0; -ENOENT; -EAGAIN; -EBADMSG. */
static int find_net(struct sp_ss *ss)
{
	uint64_t cursor = 0;
	int r, missed = -ENOENT;

	if (ss->netns)
		return sp_reader_find(ss->reader, SP_OBJECT_NETNS, 0, ss->netns,
				      &ss->net);
	while ((r = sp_reader_next(ss->reader, &cursor, &ss->net)) != -ENOENT) {
		if (r == -EAGAIN)
			missed = r;
		else if (r || ss->net.type == SP_OBJECT_NETNS)
			return r;
	}
	return missed;
}

static int show(struct sp_ss *ss)
{
	int r = find_net(ss);

	if (r == -ENOENT && ss->netns)
		return sp_cli_error("there is no namespace '%s' in the plane",
				    ss->netns);
	if (r == -ENOENT)
		return sp_cli_error("the plane has no namespace, so no "
				    "sockets");
	if (!r && ss->summary)
		r = sp_ss_print_summary(ss);
	else if (!r)
		r = ss->json ? sp_ss_print_json(ss) : sp_ss_print(ss);
	if (r)
		return sp_cli_error("cannot show the sockets: %s",
				    sp_cli_reason(r));
	return SP_EXIT_OK;
}

int sp_cli_ss(int argc, char **argv)
{
	static char path[PATH_MAX];
	static struct sp_ss ss;
	int status = parse(&ss, argc, argv);

	if (status >= 0)
		return status;
	signal(SIGPIPE, SIG_IGN);
	status = sp_plane_attach("ss", ss.segment, path, &ss.reader);
	if (status)
		return status;
	status = show(&ss);
	sp_reader_detach(ss.reader);
	return sp_cli_finish(status);
}
