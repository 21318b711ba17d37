// SPDX-License-Identifier: MIT
/*
 * cli/progress.c - how far the reading is, on a terminal.
 *
 * The time that is left is that of the current capture: how long those behind it
 * are is not known.
 */
#include "cli/progress.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/term.h"
#include "cli/visible.h"

#define FIRST_NS       UINT64_C(500000000)
#define EVERY_NS       UINT64_C(200000000)
#define MIN_NAME_WIDTH 8
#define MAX_NAME_WIDTH 24
#define FIGURES_SIZE   128

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

/* Of a name longer than @room bytes its end. */
static const char *shorten(const char *name, size_t room)
{
	size_t len = strlen(name);

	if (len <= room)
		return name;
	name += len - room;
	while ((*name & 0xc0) == 0x80) /* not in the middle of a character */
		name++;
	return name;
}

__attribute__((format(printf, 2, 3))) static void
append(char text[FIGURES_SIZE], const char *format, ...)
{
	size_t len = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + len, FIGURES_SIZE - len, format, args);
	va_end(args);
}

/* "12 of 345 MB, 5 s left", or "12 MB" of a pipe. */
static void append_position(char text[FIGURES_SIZE],
			    const struct sp_input *input, double elapsed_s)
{
	struct sp_capture_position position = sp_input_position(input);
	double done = (double)position.done_bytes;
	double all = (double)position.all_bytes;

	append(text, "%.0f", done / 1e6);
	if (all > 0)
		append(text, " of %.0f", all / 1e6);
	append(text, " MB");
	if (all > done && done > 0 && elapsed_s > 0)
		append(text, ", %.0f s left", elapsed_s * (all - done) / done);
}

/* In one line of the terminal, else it could not be wiped: the name gives way
 * first. */
static void print_line(const char *name, const char *figures)
{
	size_t width = sp_term_inspect(stderr).width;
	size_t len = strlen(figures);
	size_t room = width > len + 3 ? width - len - 3 : 0;

	sp_cli_wipe_line();
	if (room >= MIN_NAME_WIDTH) {
		sp_put_visible(stderr, shorten(name, room < MAX_NAME_WIDTH
							     ? room
							     : MAX_NAME_WIDTH));
		fputs(": ", stderr);
	}
	fprintf(stderr, "%.*s", width ? (int)width - 1 : 0, figures);
	sp_cli_mark_line();
}

void sp_progress_show(struct sp_progress *progress, uint64_t now_ns,
		      const struct sp_input *input, uint64_t nr_packets)
{
	char figures[FIGURES_SIZE] = "";

	if (!progress->enabled || now_ns < progress->next_ns)
		return;
	progress->next_ns = now_ns + EVERY_NS;
	if (progress->capture != input->next) {
		progress->capture = input->next;
		progress->capture_ns = now_ns;
	}
	append(figures, "%" PRIu64 " packets, %.0f/s, ", nr_packets,
	       (double)nr_packets * 1e9 /
		       (double)(now_ns - progress->start_ns));
	append_position(figures, input,
			(double)(now_ns - progress->capture_ns) / 1e9);
	print_line(sp_input_name(input), figures);
}
