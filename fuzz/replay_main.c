// SPDX-License-Identifier: MIT
/*
 * fuzz/replay_main.c - hand files to a fuzz target without the fuzzer.
 *
 *	replay_NAME FILE|DIRECTORY...
 *
 * Runs LLVMFuzzerTestOneInput() on every file, and on every file of every
 * directory (not recursive, in the order of their names). A target that finds
 * something crashes; so exit status 0 means that nothing was found. Status 77,
 * "skipped", if there was no file at all, 1 if one could not be read.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* A target may want to prepare something once. */
int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));

static unsigned long nr_files;

/* Exactly as long as the file, so that a read beyond its end is noticed. */
static int load(const char *path, uint8_t **ret_data, size_t *ret_size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = NULL;
	long size;
	int err = 0;

	if (!file)
		return -errno;
	if (fseek(file, 0, SEEK_END) || (size = ftell(file)) < 0 ||
	    fseek(file, 0, SEEK_SET)) {
		err = -errno;
		goto out_close;
	}
	data = malloc(size ? (size_t)size : 1);
	if (!data || fread(data, 1, (size_t)size, file) != (size_t)size) {
		err = data ? -EIO : -ENOMEM;
		free(data);
		goto out_close;
	}
	*ret_data = data;
	*ret_size = (size_t)size;
out_close:
	fclose(file);
	return err;
}

static int replay_file(const char *path)
{
	uint8_t *data = NULL;
	size_t size = 0;
	int err = load(path, &data, &size);

	if (err) {
		fprintf(stderr, "%s: %s\n", path, strerror(-err));
		return 1;
	}
	/* Flushed first: a crash must be told by the name of its file. */
	fprintf(stderr, "%s\n", path);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	nr_files++;
	return 0;
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int replay_directory(const char *path)
{
	struct dirent **entries;
	int nr = scandir(path, &entries, is_visible, alphasort);
	int status = 0;

	if (nr < 0) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return 1;
	}
	for (int i = 0; i < nr; i++) {
		char *file = NULL;

		if (asprintf(&file, "%s/%s", path, entries[i]->d_name) < 0)
			status = 1;
		else
			status |= replay_file(file);
		free(file);
		free(entries[i]);
	}
	free(entries);
	return status;
}

int main(int argc, char **argv)
{
	int status = 0;

	if (LLVMFuzzerInitialize)
		LLVMFuzzerInitialize(&argc, &argv);
	for (int i = 1; i < argc; i++) {
		struct stat st = {0};

		if (!stat(argv[i], &st) && S_ISDIR(st.st_mode))
			status |= replay_directory(argv[i]);
		else
			status |= replay_file(argv[i]);
	}
	if (!nr_files && !status) {
		puts("skipped: no corpus file");
		return 77;
	}
	printf("%lu inputs\n", nr_files);
	return status;
}
