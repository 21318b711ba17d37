// SPDX-License-Identifier: MIT
/*
 * cli/planes.c - find the plane that the user means.
 */
#include "cli/planes.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <statplane/plane.h>

#include "cli/cli.h"
#include "cli/visible.h"

/* Also half-made files of a writer that is just creating one. */
static int is_plane(const struct dirent *entry)
{
	const size_t len = strlen(SP_PLANE_PREFIX);

	return strncmp(entry->d_name, SP_PLANE_PREFIX, len) == 0 &&
	       entry->d_name[len] != '\0';
}

int sp_planes_list(struct sp_planes *planes)
{
	struct dirent **entries;
	int nr = scandir(SP_PLANE_DIR, &entries, is_plane, alphasort);
	int r = 0;

	*planes = (struct sp_planes){0};
	if (nr < 0)
		return errno == ENOENT ? 0 : -errno;
	planes->names = calloc((size_t)nr + 1, sizeof(*planes->names));
	for (int i = 0; i < nr; i++) {
		const char *name = entries[i]->d_name + strlen(SP_PLANE_PREFIX);
		char *copy = planes->names ? strdup(name) : NULL;

		if (copy)
			planes->names[planes->nr++] = copy;
		else
			r = -ENOMEM;
		free(entries[i]);
	}
	free(entries);
	return r;
}

void sp_planes_free(struct sp_planes *planes)
{
	for (size_t i = 0; i < planes->nr; i++)
		free(planes->names[i]);
	free(planes->names);
	*planes = (struct sp_planes){0};
}

int sp_plane_path(const char *name, char path[PATH_MAX])
{
	int len;

	if (strchr(name, '/'))
		len = snprintf(path, PATH_MAX, "%s", name);
	else
		len = snprintf(path, PATH_MAX, "%s/%s%s", SP_PLANE_DIR,
			       SP_PLANE_PREFIX, name);
	return len < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* What on_bus_error() writes, made beforehand. */
static char bus_error[PATH_MAX + 128];
static size_t bus_error_len;

static void on_bus_error(int nr, siginfo_t *info, void *context)
{
	(void)context;
	if (info->si_code != BUS_ADRERR) {
		signal(nr, SIG_DFL); /* it comes again when we return */
		return;
	}
	if (write(STDERR_FILENO, bus_error, bus_error_len) < 0)
		_exit(SP_EXIT_FAILURE); /* it tells as much */
	_exit(SP_EXIT_FAILURE);
}

void sp_plane_guard(const char *path)
{
	struct sigaction action = {.sa_sigaction = on_bus_error,
				   .sa_flags = SA_SIGINFO};
	FILE *file = fmemopen(bus_error, sizeof(bus_error), "w");

	if (!file)
		return; /* without memory: the signal has its default */
	fputs("statplane: ", file);
	sp_put_visible(file, path);
	fputs(": the file was truncated while it was in use, or its file "
	      "system is full\n",
	      file);
	fclose(file);
	bus_error_len = strlen(bus_error);
	sigemptyset(&action.sa_mask);
	sigaction(SIGBUS, &action, NULL);
}

const char *sp_plane_state_name(enum sp_plane_state state)
{
	switch (state) {
	case SP_PLANE_LIVE:
		return "live";
	case SP_PLANE_CLEAN:
		return "clean";
	case SP_PLANE_ABANDONED:
		return "abandoned";
	}
	return "unknown";
}

const char *sp_plane_mode_name(unsigned mode)
{
	switch (mode) {
	case SP_PERCPU_RSEQ:
		return "rseq";
	case SP_PERCPU_FALLBACK:
		return "fallback";
	default:
		return "unknown";
	}
}

/* Say why there is not one plane to choose. */
static int refuse_choice(const char *command, const struct sp_planes *planes)
{
	if (!planes->nr)
		return sp_cli_error("there is no plane in %s; make one with: "
				    "statplane run -r FILE --segment NAME",
				    SP_PLANE_DIR);
	sp_cli_error("there are %zu planes; say which one with: statplane %s "
		     "--segment NAME",
		     planes->nr, command);
	for (size_t i = 0; i < planes->nr; i++) {
		fputs("  ", stderr);
		sp_put_visible(stderr, planes->names[i]);
		fputc('\n', stderr);
	}
	return SP_EXIT_FAILURE;
}

static int choose(const char *command, char path[PATH_MAX])
{
	struct sp_planes planes;
	int r = sp_planes_list(&planes);
	int status = SP_EXIT_OK;

	if (r)
		status = sp_cli_error("cannot list %s: %s", SP_PLANE_DIR,
				      strerror(-r));
	else if (planes.nr != 1)
		status = refuse_choice(command, &planes);
	else if ((r = sp_plane_path(planes.names[0], path)))
		status = sp_cli_error("%s: %s", planes.names[0], strerror(-r));
	sp_planes_free(&planes);
	return status;
}

int sp_plane_attach(const char *command, const char *name, char path[PATH_MAX],
		    struct sp_reader **ret_reader)
{
	int r;

	if (!name && (r = choose(command, path)) != SP_EXIT_OK)
		return r;
	if (name && (r = sp_plane_path(name, path)))
		return sp_cli_error("--segment %s: %s", name, strerror(-r));
	sp_plane_guard(path);
	r = sp_reader_attach(path, ret_reader);
	if (r == -ENOENT && !strchr(name ? name : "/", '/'))
		return sp_cli_error("there is no plane '%s' (%s); "
				    "'statplane ls' shows those there are",
				    name, path);
	if (r)
		return sp_cli_error("cannot read %s: %s", path,
				    r == -EAGAIN ? "its writer is still "
						   "making it"
						 : sp_cli_reason(r));
	return SP_EXIT_OK;
}
