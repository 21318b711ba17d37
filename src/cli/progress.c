// SPDX-License-Identifier: MIT
/*
 * cli/progress.c - how far the reading is, on a terminal.
 *
 * The time that is left is that of the current capture: how long those behind it
 * are is not known.
 */
#include "cli/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/visible.h"

#define FIRST_NS   UINT64_C(500000000)
#define EVERY_NS   UINT64_C(200000000)
#define NAME_WIDTH 24

void sp_progress_init(struct sp_progress *progress, uint64_t now_ns)
{
	*progress = (struct sp_progress){
		.enabled = isatty(STDERR_FILENO),
		.start_ns = now_ns,
		.next_ns = now_ns + FIRST_NS,
		.capture = 1,
		.capture_ns = now_ns,
	};
}

/* Of a long name its end. */
static const char *shorten(const char *name)
{
	size_t len = strlen(name);

	if (len <= NAME_WIDTH)
		return name;
	name += len - NAME_WIDTH;
	while ((*name & 0xc0) == 0x80) /* not in the middle of a character */
		name++;
	return name;
}

/* "12 of 345 MB, 5 s left", or "12 MB" of a pipe. */
static void print_position(const struct sp_input *input, double elapsed_s)
{
	struct sp_capture_position position = sp_input_position(input);
	double done = (double)position.done_bytes;
	double all = (double)position.all_bytes;

	fprintf(stderr, "%.0f", done / 1e6);
	if (all > 0)
		fprintf(stderr, " of %.0f", all / 1e6);
	fputs(" MB", stderr);
	if (all > done && done > 0 && elapsed_s > 0)
		fprintf(stderr, ", %.0f s left",
			elapsed_s * (all - done) / done);
}

void sp_progress_show(struct sp_progress *progress, uint64_t now_ns,
		      const struct sp_input *input, uint64_t nr_packets)
{
	double run_s;

	if (!progress->enabled || now_ns < progress->next_ns)
		return;
	progress->next_ns = now_ns + EVERY_NS;
	if (progress->capture != input->next) {
		progress->capture = input->next;
		progress->capture_ns = now_ns;
	}
	run_s = (double)(now_ns - progress->start_ns) / 1e9;
	sp_cli_wipe_line();
	sp_put_visible(stderr, shorten(sp_input_name(input)));
	fprintf(stderr, ": %" PRIu64 " packets, %.0f/s, ", nr_packets,
		(double)nr_packets / run_s);
	print_position(input, (double)(now_ns - progress->capture_ns) / 1e9);
	sp_cli_mark_line();
}
