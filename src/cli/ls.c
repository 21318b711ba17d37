// SPDX-License-Identifier: MIT
/*
 * cli/ls.c - `statplane ls`: the planes of this machine.
 */
#include "cli/cli.h"

#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/json.h"
#include "cli/planes.h"
#include "cli/visible.h"

static const char help[] =
	"usage: statplane ls [--json]\n"
	"\n"
	"Lists the planes in " SP_PLANE_DIR ", one a line:\n"
	"\n"
	"  NAME     for 'statplane show --segment NAME'\n"
	"  STATE    live: its writer runs; clean: its writer closed it;\n"
	"           abandoned: its writer is gone without closing it\n"
	"  PID      of the writer\n"
	"  PROGRAM  that made it\n"
	"  AGE      since it was made\n"
	"  OBJECTS  namespaces, devices, groups and schemas in it\n"
	"  SIZE     memory that it takes\n"
	"\n"
	"A clean or abandoned plane is removed with: rm " SP_PLANE_DIR
	"/" SP_PLANE_PREFIX "NAME\n"
	"\n"
	"Examples\n"
	"  statplane ls\n"
	"  statplane ls --json | jq -r '.planes[] | select(.state != "
	"\"live\").path'"
	"\n";

/* One plane; @error is what keeps it from being read, or NULL. */
struct row {
	const char *name;
	const char *error;
	const char *state;
	struct sp_plane_info info;
	uint64_t age_s;
	uint64_t size_bytes;
};

static uint64_t age_s(uint64_t birth_ns)
{
	struct timespec now;
	uint64_t now_ns;

	clock_gettime(CLOCK_REALTIME, &now);
	now_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	return now_ns > birth_ns ? (now_ns - birth_ns) / 1000000000 : 0;
}

static void look(const char *name, struct row *row)
{
	static char path[PATH_MAX];
	struct sp_reader *reader;
	struct stat st;
	int r;

	*row = (struct row){.name = name};
	r = sp_plane_path(name, path);
	if (!r && !stat(path, &st))
		row->size_bytes = (uint64_t)st.st_blocks * 512;
	if (!r) {
		sp_plane_guard(path);
		r = sp_reader_attach(path, &reader);
	}
	if (r) {
		row->error = sp_cli_reason(r);
		return;
	}
	sp_reader_info(reader, &row->info);
	row->state = sp_plane_state_name(sp_reader_state(reader));
	row->age_s = age_s(row->info.birth_realtime_ns);
	sp_reader_detach(reader);
}

/* "59s", "59m", "47h", "3d". */
static void age_text(uint64_t seconds, char text[24])
{
	if (seconds < 60)
		snprintf(text, 24, "%" PRIu64 "s", seconds);
	else if (seconds < 3600)
		snprintf(text, 24, "%" PRIu64 "m", seconds / 60);
	else if (seconds < 48 * 3600)
		snprintf(text, 24, "%" PRIu64 "h", seconds / 3600);
	else
		snprintf(text, 24, "%" PRIu64 "d", seconds / 86400);
}

/* Names come from whoever made the plane: nothing that a terminal obeys. */
static void put_name(const char *name, int width)
{
	int len = sp_put_visible(stdout, name);

	printf("%*s", width > len ? width - len : 0, "");
}

static void print_row(const struct row *row, int width)
{
	char age[24];

	put_name(row->name, width);
	if (row->error) {
		printf("  %-9s  %s\n", "unknown", row->error);
		return;
	}
	age_text(row->age_s, age);
	printf("  %-9s  %7" PRIu32 "  ", row->state, row->info.pid);
	put_name(row->info.program, 16);
	printf("  %5s  %7" PRIu64 "  %5" PRIu64 " KiB\n", age,
	       row->info.nr_objects, row->size_bytes / 1024);
}

static void print_json_row(struct sp_json *json, const struct row *row)
{
	static char path[PATH_MAX];

	sp_plane_path(row->name, path);
	sp_json_open(json, NULL, '{');
	sp_json_string(json, "name", row->name);
	sp_json_string(json, "path", path);
	sp_json_u64(json, "size_bytes", row->size_bytes);
	if (row->error) {
		sp_json_string(json, "error", row->error);
	} else {
		sp_json_string(json, "state", row->state);
		sp_json_u64(json, "pid", row->info.pid);
		sp_json_string(json, "program", row->info.program);
		sp_json_u64(json, "age_s", row->age_s);
		sp_json_u64(json, "objects", row->info.nr_objects);
	}
	sp_json_close(json, '{');
}

static void print_json(const struct sp_planes *planes)
{
	struct sp_json json = {.file = stdout};
	struct row row;

	sp_json_open(&json, NULL, '{');
	sp_json_open(&json, "planes", '[');
	for (size_t i = 0; i < planes->nr; i++) {
		look(planes->names[i], &row);
		print_json_row(&json, &row);
	}
	sp_json_close(&json, '[');
	sp_json_close(&json, '{');
	putchar('\n');
}

static void print(const struct sp_planes *planes)
{
	int width = (int)strlen("NAME");
	struct row row;

	for (size_t i = 0; i < planes->nr; i++) {
		int len = (int)strlen(planes->names[i]);

		width = len > width ? len : width;
	}
	printf("%-*s  %-9s  %7s  %-16s  %5s  %7s  %9s\n", width, "NAME",
	       "STATE", "PID", "PROGRAM", "AGE", "OBJECTS", "SIZE");
	for (size_t i = 0; i < planes->nr; i++) {
		look(planes->names[i], &row);
		print_row(&row, width);
	}
}

int sp_cli_ls(int argc, char **argv)
{
	static const struct option known[] = {
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	struct sp_planes planes;
	bool json = false;
	int option, r;

	while ((option = getopt_long(argc, argv, ":h", known, NULL)) != -1) {
		switch (option) {
		case 'j':
			json = true;
			break;
		case 'h':
			fputs(help, stdout);
			return sp_cli_finish(SP_EXIT_OK);
		default:
			return sp_cli_bad_option("ls", option, argv);
		}
	}
	if (optind < argc)
		return sp_cli_usage("ls", "'%s' is too much", argv[optind]);
	signal(SIGPIPE, SIG_IGN);
	r = sp_planes_list(&planes);
	if (r)
		return sp_cli_error("cannot list %s: %s", SP_PLANE_DIR,
				    strerror(-r));
	if (json)
		print_json(&planes);
	else
		print(&planes);
	sp_planes_free(&planes);
	return sp_cli_finish(SP_EXIT_OK);
}
