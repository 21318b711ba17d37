// SPDX-License-Identifier: MIT
/*
 * cli/main.c - which subcommand.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/bench.h"
#include "cli/cli.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
} commands[] = {
	{"run", sp_cli_run,
	 "count the packets of a capture as the kernel would"},
	{"show", sp_cli_show, "print a file of /proc, or metrics, of a plane"},
	{"ss", sp_cli_ss, "show connections and sockets, as ss(8) does"},
	{"ls", sp_cli_ls, "list the planes of this machine"},
	{"info", sp_cli_info, "say how a plane was made and how full it is"},
	{"bench", sp_cli_bench, "measure, beside other ways to do the same"},
};

#define NR_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static int print_help(void)
{
	puts("usage: statplane COMMAND [ARGUMENT]...\n"
	     "\n"
	     "Per-CPU statistics for user-space networking, with the kernel's "
	     "meaning and\n"
	     "in the kernel's files.\n");
	for (size_t i = 0; i < NR_COMMANDS; i++)
		printf("  %-8s %s\n", commands[i].name, commands[i].summary);
	puts("\n"
	     "'statplane COMMAND --help' says more, and so does 'man "
	     "statplane-COMMAND'.\n"
	     "'statplane --version' prints the version.");
	return sp_cli_finish(SP_EXIT_OK);
}

static int run(const char *name, int argc, char **argv)
{
	for (size_t i = 0; i < NR_COMMANDS; i++) {
		if (strcmp(name, commands[i].name) == 0)
			return commands[i].run(argc, argv);
	}
	return sp_cli_usage("", "there is no command '%s'", name);
}

/* `statplane help run` is `statplane run --help`. */
static int help(int argc, char **argv)
{
	char option[] = "--help";
	char *words[] = {argv[0], option, NULL};

	if (argc < 2)
		return print_help();
	words[0] = argv[1];
	return run(argv[1], 2, words);
}

/*
 * A standard descriptor that is closed would be the next file's: the summary
 * would be written into a plane, or a plane be read as standard input. One that
 * can neither be read nor written takes its place, so that using it is an error.
 */
static bool occupy(int fd)
{
	return fcntl(fd, F_GETFD) >= 0 || errno != EBADF ||
	       open("/dev/null", O_PATH) == fd || open("/", O_PATH) == fd;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;

	if (!occupy(STDIN_FILENO) || !occupy(STDOUT_FILENO) ||
	    !occupy(STDERR_FILENO))
		return SP_EXIT_FAILURE; /* and nowhere to say why */
	if (!name)
		return sp_cli_usage("", "want a command");
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		return print_help();
	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
		puts("statplane " STATPLANE_VERSION);
		return sp_cli_finish(SP_EXIT_OK);
	}
	if (strcmp(name, "help") == 0)
		return help(argc - 1, argv + 1);
	return run(name, argc - 1, argv + 1);
}
