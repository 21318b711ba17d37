// SPDX-License-Identifier: MIT
/*
 * cli/info.c - `statplane info`: how a plane was made and how full it is.
 *
 * The rows are listed once, by a walk that hands each to a printer: as text or
 * as a member of a JSON object.
 */
#include "cli/cli.h"

#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <statplane/percpu.h>

#include "cli/json.h"
#include "cli/planes.h"
#include "cli/visible.h"

static const char help[] =
	"usage: statplane info [--segment NAME|PATH] [--json]\n"
	"\n"
	"Says how a plane was made, whether its writer lives, and how full it "
	"is.\n"
	"Without --segment: the only plane there is; without any plane, only "
	"what\n"
	"this program would do.\n"
	"\n"
	"Adds to the own CPU are made by rseq (a restartable sequence: one "
	"plain\n"
	"add) or by fallback (a locked add, where the C library or the kernel "
	"has\n"
	"no restartable sequences).\n"
	"\n"
	"Examples\n"
	"  statplane info\n"
	"  statplane info --segment demo --json\n";

/* What it is in JSON, and for a person. */
struct printer {
	struct sp_json json;
	bool is_json;
};

static void put_label(const char *label)
{
	printf("%-24s ", label);
}

static void put_text(struct printer *printer, const char *key,
		     const char *label, const char *value)
{
	if (printer->is_json) {
		sp_json_string(&printer->json, key, value);
		return;
	}
	put_label(label);
	sp_put_visible(stdout, value);
	putchar('\n');
}

static void put_number(struct printer *printer, const char *key,
		       const char *label, uint64_t value)
{
	if (printer->is_json) {
		sp_json_u64(&printer->json, key, value);
		return;
	}
	put_label(label);
	printf("%" PRIu64 "\n", value);
}

/* A number and the most that it can be. */
static void put_level(struct printer *printer, const char *key,
		      const char *max_key, const char *label, uint64_t value,
		      uint64_t max)
{
	if (printer->is_json) {
		sp_json_u64(&printer->json, key, value);
		sp_json_u64(&printer->json, max_key, max);
		return;
	}
	put_label(label);
	printf("%" PRIu64 " of %" PRIu64 "\n", value, max);
}

static void put_time(struct printer *printer, const char *key,
		     const char *label, uint64_t ns)
{
	time_t seconds = (time_t)(ns / 1000000000);
	char text[64] = "never";
	struct tm tm;

	if (printer->is_json) {
		if (ns)
			sp_json_seconds(&printer->json, key, ns);
		else
			sp_json_null(&printer->json, key);
		return;
	}
	if (ns && gmtime_r(&seconds, &tm))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &tm);
	put_label(label);
	puts(text);
}

static void put_program(struct printer *printer)
{
	put_text(printer, "version", "statplane", STATPLANE_VERSION);
	put_text(printer, "own_percpu_mode", "its own per-CPU adds",
		 sp_plane_mode_name(sp_percpu_mode()));
}

static void put_identity(struct printer *printer, const char *path,
			 const struct sp_plane_info *info,
			 enum sp_plane_state state)
{
	char text[40];

	put_text(printer, "path", "plane", path);
	put_text(printer, "state", "state", sp_plane_state_name(state));
	put_text(printer, "program", "made by", info->program);
	put_number(printer, "pid", "process", info->pid);
	snprintf(text, sizeof(text), "%u.%u", info->version_major,
		 info->version_minor);
	put_text(printer, "format", "format", text);
	for (int i = 0; i < 16; i++)
		snprintf(text + 2 * i, 3, "%02x", info->uuid[i]);
	put_text(printer, "uuid", "instance", text);
	put_time(printer, "birth_s", "made", info->birth_realtime_ns);
	put_time(printer, "heartbeat_s", "last heartbeat",
		 info->heartbeat_realtime_ns);
}

static void put_levels(struct printer *printer,
		       const struct sp_plane_info *info)
{
	put_text(printer, "percpu_mode", "per-CPU adds by",
		 sp_plane_mode_name(info->percpu_mode));
	put_number(printer, "cpus", "units of CPUs", info->nr_cpus);
	put_number(printer, "lanes", "units of lanes", info->nr_lanes);
	put_level(printer, "units_written", "units", "units written",
		  info->nr_units_written, info->nr_units);
	put_level(printer, "unit_used_bytes", "unit_stride_bytes",
		  "bytes in use, each unit", info->unit_used_bytes,
		  info->unit_stride);
	put_level(printer, "objects", "max_objects", "objects",
		  info->nr_objects, info->max_objects);
	put_number(printer, "mapped_bytes", "address space, bytes",
		   info->mapped_bytes);
	put_number(printer, "unstable_reads", "reads given up",
		   info->nr_unstable);
}

static void put_plane(struct printer *printer, const char *path,
		      struct sp_reader *reader)
{
	struct sp_plane_info info;

	sp_reader_info(reader, &info);
	put_identity(printer, path, &info, sp_reader_state(reader));
	put_levels(printer, &info);
}

/* Is there a plane to speak of? */
static bool any_plane(void)
{
	struct sp_planes planes;
	bool any = sp_planes_list(&planes) || planes.nr;

	sp_planes_free(&planes);
	return any;
}

static void print(struct printer *printer, const char *path,
		  struct sp_reader *reader)
{
	if (printer->is_json)
		sp_json_open(&printer->json, NULL, '{');
	put_program(printer);
	if (!printer->is_json)
		putchar('\n');
	if (reader)
		put_plane(printer, path, reader);
	else if (!printer->is_json)
		puts("There is no plane in " SP_PLANE_DIR ".");
	if (printer->is_json) {
		sp_json_close(&printer->json, '{');
		putchar('\n');
	}
}

int sp_cli_info(int argc, char **argv)
{
	static const struct option known[] = {
		{"segment", required_argument, NULL, 's'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	static char path[PATH_MAX];
	struct printer printer = {.json.file = stdout};
	struct sp_reader *reader = NULL;
	const char *segment = NULL;
	int option, status = SP_EXIT_OK;

	while ((option = getopt_long(argc, argv, ":h", known, NULL)) != -1) {
		switch (option) {
		case 's':
			if (!*optarg)
				return sp_cli_usage("info", "--segment: want a "
							    "name or a path");
			segment = optarg;
			break;
		case 'j':
			printer.is_json = true;
			break;
		case 'h':
			fputs(help, stdout);
			return sp_cli_finish(SP_EXIT_OK);
		default:
			return sp_cli_bad_option("info", option, argv);
		}
	}
	if (optind < argc)
		return sp_cli_usage("info", "'%s' is too much", argv[optind]);
	signal(SIGPIPE, SIG_IGN);
	if (segment || any_plane())
		status = sp_plane_attach("info", segment, path, &reader);
	if (status)
		return status;
	print(&printer, path, reader);
	sp_reader_detach(reader);
	return sp_cli_finish(SP_EXIT_OK);
}
