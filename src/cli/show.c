// SPDX-License-Identifier: MIT
/*
 * cli/show.c - `statplane show`: one file of a plane.
 */
#include "cli/cli.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <statplane/render.h>

#include "cli/json.h"
#include "cli/planes.h"
#include "cli/visible.h"

static const char help[] =
	"usage: statplane show NAME [OPTION]...\n"
	"       statplane show --list [OPTION]...\n"
	"\n"
	"Prints what a plane holds, also while it is written and after its "
	"writer\n"
	"was killed.\n"
	"\n"
	"  NAME                   a file of /proc, such as net/snmp, "
	"net/netstat or\n"
	"                         net/dev_snmp6/eth0; net/ may be left out. "
	"Or\n"
	"                         metrics: everything, as OpenMetrics text\n"
	"  --list                 the names that there are\n"
	"  --segment NAME|PATH    which plane; without it the only one there "
	"is\n"
	"  --netns NAME           which namespace; without it the first one\n"
	"  --layout 6.18|6.12|6.1|5.15\n"
	"                         whose kernel's columns (6.18)\n"
	"  --json                 as one JSON object\n"
	"  --help\n"
	"\n"
	"Examples\n"
	"  statplane show snmp\n"
	"  statplane show net/netstat --segment demo --layout 5.15\n"
	"  statplane show metrics | grep statplane_Tcp_\n";

enum {
	OPT_SEGMENT = 256,
	OPT_NETNS,
	OPT_LAYOUT,
	OPT_LIST,
	OPT_JSON,
	OPT_HELP
};

static const struct option options_known[] = {
	{"segment", required_argument, NULL, OPT_SEGMENT},
	{"netns", required_argument, NULL, OPT_NETNS},
	{"layout", required_argument, NULL, OPT_LAYOUT},
	{"list", no_argument, NULL, OPT_LIST},
	{"json", no_argument, NULL, OPT_JSON},
	{"help", no_argument, NULL, 'h'},
	{0},
};

struct options {
	const char *name;
	const char *segment;
	const char *netns;
	enum sp_layout layout;
	bool list;
	bool json;
};

#define usage(...) sp_cli_usage("show", __VA_ARGS__)

/* Return: exit status, or -1 to go on. */
static int take(struct options *options, int option, char **argv)
{
	switch (option) {
	case OPT_SEGMENT:
		if (!*optarg)
			return usage("--segment: want a name or a path");
		options->segment = optarg;
		return -1;
	case OPT_NETNS:
		if (!*optarg)
			return usage("--netns: want a name");
		options->netns = optarg;
		return -1;
	case OPT_LAYOUT:
		if (sp_layout_parse(optarg, &options->layout))
			return usage("--layout %s: want 6.18, 6.12, 6.1 or "
				     "5.15",
				     optarg);
		return -1;
	case OPT_LIST:
		options->list = true;
		return -1;
	case OPT_JSON:
		options->json = true;
		return -1;
	case 'h':
		fputs(help, stdout);
		return sp_cli_finish(SP_EXIT_OK);
	default:
		return sp_cli_bad_option("show", option, argv);
	}
}

static int parse(struct options *options, int argc, char **argv)
{
	int option, r;

	while ((option = getopt_long(argc, argv, ":h", options_known, NULL)) !=
	       -1) {
		r = take(options, option, argv);
		if (r >= 0)
			return r;
	}
	if (argc - optind > 1)
		return usage("'%s' is too much: one name at a time",
			     argv[optind + 1]);
	options->name = argv[optind];
	if (options->list ? options->name != NULL
			  : !options->name || !*options->name)
		return usage("want either a name or --list");
	if (options->json && options->name &&
	    strcmp(options->name, "metrics") == 0)
		return usage("metrics are OpenMetrics text, not JSON");
	return -1;
}

/* A terminal obeys some of the bytes that names and help texts may hold. */
static int write_terminal(void *ctx, const char *text, size_t len)
{
	return sp_put_visible_lines(ctx, text, len);
}

static sp_render_write_fn *writer(void)
{
	return isatty(STDOUT_FILENO) ? write_terminal : sp_cli_write;
}

static void put_line(const char *name)
{
	writer()(stdout, name, strlen(name));
	putchar('\n');
}

static int list(struct sp_render *render, bool json)
{
	struct sp_json out = {.file = stdout};
	char name[SP_RENDER_NAME_MAX];
	uint64_t cursor = 0;

	if (json) {
		sp_json_open(&out, NULL, '{');
		sp_json_open(&out, "files", '[');
	}
	while (sp_render_next_file(render, &cursor, name) == 0) {
		if (json)
			sp_json_string(&out, NULL, name);
		else
			put_line(name);
	}
	if (json) {
		sp_json_close(&out, '[');
		sp_json_close(&out, '{');
		putchar('\n');
	} else {
		puts("metrics");
	}
	return 0;
}

static int render_name(struct sp_render *render, const struct options *options,
		       const char *name)
{
	return options->json
		       ? sp_render_file_json(render, name, writer(), stdout)
		       : sp_render_file(render, name, writer(), stdout);
}

/* With net/ before it, if it needs that. */
static int render_file(struct sp_render *render, const struct options *options)
{
	char name[SP_RENDER_NAME_MAX];

	if (strcmp(options->name, "metrics") == 0)
		return sp_render_openmetrics(render, writer(), stdout);
	if (strncmp(options->name, "net/", 4) == 0)
		return render_name(render, options, options->name);
	if (snprintf(name, sizeof(name), "net/%s", options->name) >=
	    (int)sizeof(name))
		return -ENOENT;
	return render_name(render, options, name);
}

static int show(struct sp_render *render, const struct options *options)
{
	int r;

	sp_render_set_layout(render, options->layout);
	r = sp_render_set_net(render, options->netns);
	if (r == -ENOENT && options->netns)
		return sp_cli_error("there is no namespace '%s' in the plane",
				    options->netns);
	if (r && r != -ENOENT)
		return sp_cli_error("cannot read the plane: %s",
				    sp_cli_reason(r));
	if (options->list)
		return list(render, options->json);
	r = render_file(render, options);
	if (r == -ENOENT)
		return sp_cli_error("the plane has no '%s'; 'statplane show "
				    "--list' shows what it has",
				    options->name);
	/* the end of standard output has a message of its own */
	if (r && !ferror(stdout))
		return sp_cli_error("cannot show %s: %s", options->name,
				    sp_cli_reason(r));
	return r ? SP_EXIT_FAILURE : SP_EXIT_OK;
}

int sp_cli_show(int argc, char **argv)
{
	static char path[PATH_MAX];
	struct options options = {0};
	struct sp_reader *reader;
	struct sp_render *render;
	int status = parse(&options, argc, argv);
	int r;

	if (status >= 0)
		return status;
	signal(SIGPIPE, SIG_IGN);
	status = sp_plane_attach("show NAME", options.segment, path, &reader);
	if (status)
		return status;
	r = sp_render_create(reader, &render);
	if (r) {
		status = sp_cli_error("cannot render: %s", strerror(-r));
	} else {
		status = show(render, &options);
		sp_render_destroy(render);
	}
	sp_reader_detach(reader);
	return sp_cli_finish(status);
}
