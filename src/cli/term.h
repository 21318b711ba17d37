/* SPDX-License-Identifier: MIT */
/*
 * cli/term.h - what the terminal is and can do.
 */
#ifndef SP_CLI_TERM_H
#define SP_CLI_TERM_H

#include <stdbool.h>
#include <stdio.h>

struct sp_term {
	bool is_terminal;
	unsigned width;   /* columns; 0 if it is no terminal */
	const char *bold; /* "" where there are no colours */
	const char *dim;
	const char *alarm;
	const char *plain; /* ends each of them */
};

/*
 * Colours only on a terminal, and not if NO_COLOR is set and not empty
 * (no-color.org) or TERM is dumb.
 */
struct sp_term sp_term_inspect(FILE *file);

#endif
