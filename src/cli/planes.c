// SPDX-License-Identifier: MIT
/*
 * cli/planes.c - find the plane that the user means.
 */
#include "cli/planes.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <statplane/plane.h>

#include "cli/cli.h"

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

void sp_plane_path(const char *name, char path[PATH_MAX])
{
	if (strchr(name, '/'))
		snprintf(path, PATH_MAX, "%s", name);
	else
		snprintf(path, PATH_MAX, "%s/%s%s", SP_PLANE_DIR,
			 SP_PLANE_PREFIX, name);
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
	for (size_t i = 0; i < planes->nr; i++)
		fprintf(stderr, "  %s\n", planes->names[i]);
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
	else
		sp_plane_path(planes.names[0], path);
	sp_planes_free(&planes);
	return status;
}

int sp_plane_attach(const char *command, const char *name, char path[PATH_MAX],
		    struct sp_reader **ret_reader)
{
	int r;

	if (name)
		sp_plane_path(name, path);
	else if ((r = choose(command, path)) != SP_EXIT_OK)
		return r;
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
