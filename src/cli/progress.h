/* SPDX-License-Identifier: MIT */
/*
 * cli/progress.h - how far the reading is, on a terminal.
 *
 * One line on standard error that the next message or line overwrites, from
 * half a second on; nothing if standard error is no terminal.
 */
#ifndef SP_CLI_PROGRESS_H
#define SP_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/input.h"

struct sp_progress {
	bool enabled;
	uint64_t start_ns; /* of the whole run */
	uint64_t next_ns;  /* when the line is due again */
	size_t capture;    /* which one, and when it began */
	uint64_t capture_ns;
};

void sp_progress_init(struct sp_progress *progress, uint64_t now_ns);

/* Costs next to nothing until it is time for another line. */
void sp_progress_show(struct sp_progress *progress, uint64_t now_ns,
		      const struct sp_input *input, uint64_t nr_packets);

#endif
