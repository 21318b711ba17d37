// SPDX-License-Identifier: MIT
/*
 * cli/say.c - messages, and the end of standard output.
 */
#include "cli/cli.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/visible.h"

static bool line_marked;

void sp_cli_mark_line(void)
{
	line_marked = true;
}

void sp_cli_wipe_line(void)
{
	if (line_marked)
		fputs("\r\033[K", stderr);
	line_marked = false;
}

/* "statplane: ..." in one line, whatever is in it. */
static void say(const char *format, va_list args)
{
	char *text;

	sp_cli_wipe_line();
	fputs("statplane: ", stderr);
	if (vasprintf(&text, format, args) < 0) {
		fputs("no memory for a message", stderr);
	} else {
		sp_put_visible(stderr, text);
		free(text);
	}
	fputc('\n', stderr);
}

int sp_cli_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
	return SP_EXIT_FAILURE;
}

int sp_cli_hint(const char *command)
{
	fprintf(stderr, "Try 'statplane%s%s --help'.\n", *command ? " " : "",
		command);
	return SP_EXIT_USAGE;
}

int sp_cli_usage(const char *command, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
	return sp_cli_hint(command);
}

int sp_cli_bad_option(const char *command, int option, char **argv)
{
	const char *word = argv[optind - 1];

	if (option == ':')
		return sp_cli_usage(command, "option '%s' wants an argument",
				    word);
	if (optopt > 0 && optopt < 128)
		return sp_cli_usage(command, "unknown option '-%c'", optopt);
	if (optopt)
		return sp_cli_usage(command, "option '%s' takes no argument",
				    word);
	return sp_cli_usage(command, "unknown option '%s'", word);
}

/* Why an earlier write failed: stdio does not keep it. */
static int earlier_error(void)
{
	struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};

	return poll(&out, 1, 0) == 1 && (out.revents & POLLERR) ? EPIPE : EIO;
}

int sp_cli_finish(int status)
{
	int error = 0;

	if (fflush(stdout))
		error = errno;
	else if (ferror(stdout))
		error = earlier_error();
	if (!error)
		return status;
	if (error == EPIPE)
		return 128 + SIGPIPE;
	return sp_cli_error("cannot write to standard output: %s",
			    strerror(error));
}

int sp_cli_write(void *ctx, const char *text, size_t len)
{
	errno = 0;
	if (fwrite(text, 1, len, ctx) == len)
		return 0;
	return errno ? -errno : -EIO;
}

const char *sp_cli_reason(int error)
{
	switch (error) {
	case -EBADMSG:
		return "it is no plane, or its contents contradict each other";
	case -EPROTO:
		return "it was made by a version of statplane that this one "
		       "does not understand";
	case -EAGAIN:
		return "it changed all the time while it was read; try again";
	case -ESTALE:
		return "what was read went away; try again";
	default:
		return strerror(-error);
	}
}
