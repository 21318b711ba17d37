/* SPDX-License-Identifier: MIT */
/*
 * cli/cli.h - the subcommands, and how they speak to a person.
 *
 * Results go to standard output, everything else to standard error, one line a
 * message. A message is printed once, where it is decided what to do about it.
 */
#ifndef SP_CLI_CLI_H
#define SP_CLI_CLI_H

#include <stdbool.h>

#include <statplane/reader.h>

/* Exit statuses; also 128 + N after signal N. */
enum {
	SP_EXIT_OK,
	SP_EXIT_FAILURE, /* bad input, or the environment failed */
	SP_EXIT_USAGE,
};

/*
 * A subcommand: argv[0] is its own name. Returns the exit status.
 */
int sp_cli_run(int argc, char **argv);
int sp_cli_show(int argc, char **argv);
int sp_cli_ls(int argc, char **argv);
int sp_cli_info(int argc, char **argv);
int sp_cli_ss(int argc, char **argv);

/* "statplane: ..." on standard error. Return: SP_EXIT_FAILURE. */
int sp_cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, and "Try 'statplane COMMAND --help'." Return: SP_EXIT_USAGE. */
int sp_cli_usage(const char *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The second line of that alone. Return: SP_EXIT_USAGE. */
int sp_cli_hint(const char *command);

/* The same for what getopt_long() returned as ':' or '?'. */
int sp_cli_bad_option(const char *command, int option, char **argv);

/*
 * What stands in the current line of standard error is not meant to stay: the
 * next message wipes it first.
 */
void sp_cli_mark_line(void);
void sp_cli_wipe_line(void);

/**
 * sp_cli_finish() - see that all of standard output arrived
 *
 * Return: @status, or SP_EXIT_FAILURE with a message; 128 + SIGPIPE without
 * one if the reader of a pipe is gone.
 */
int sp_cli_finish(int status);

/* For sp_render_file() and its kin: @ctx is a FILE. */
int sp_cli_write(void *ctx, const char *text, size_t len);

/* What a negative errno from the library means for a person. */
const char *sp_cli_reason(int error);

#endif
