// SPDX-License-Identifier: MIT
/*
 * cli/term.c - what the terminal is and can do.
 */
#include "cli/term.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool wants_colours(void)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	return !(no_color && *no_color) && term && strcmp(term, "dumb") != 0;
}

struct sp_term sp_term_inspect(FILE *file)
{
	struct sp_term term = {false, 0, "", "", "", ""};
	struct winsize size;

	if (!isatty(fileno(file)))
		return term;
	term.is_terminal = true;
	term.width = 80;
	if (ioctl(fileno(file), TIOCGWINSZ, &size) == 0 && size.ws_col)
		term.width = size.ws_col;
	if (!wants_colours())
		return term;
	term.bold = "\033[1m";
	term.dim = "\033[2m";
	term.alarm = "\033[31m";
	term.plain = "\033[0m";
	return term;
}
