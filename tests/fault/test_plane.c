// SPDX-License-Identifier: MIT
/*
 * The n-th call into the C library fails, for every n until none fails.
 *
 * Linked with --wrap for each function below. A scenario either succeeds, since
 * the call was one that may fail, or returns the injected errno; whatever it
 * was, no descriptor, mapping or file is left behind, outputs are untouched, and
 * what exists still works.
 */
#include "../unit/small_plane.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include <statplane/percpu.h>

static struct {
	bool on;
	unsigned countdown; /* calls until one fails; 0 is this one */
	bool hit;
	int errno_of_hit;
} fault;

/* Is this call the one? */
static bool fails(int err)
{
	if (!fault.on || fault.hit || fault.countdown--)
		return false;
	fault.hit = true;
	fault.errno_of_hit = err;
	errno = err;
	return true;
}

#define WRAP(type, name, failure, err, args, names)                            \
	type __real_##name args;                                               \
	type __wrap_##name args;                                               \
	type __wrap_##name args                                                \
	{                                                                      \
		return fails(err) ? (failure) : __real_##name names;           \
	}

WRAP(void *, malloc, NULL, ENOMEM, (size_t n), (n))
WRAP(void *, calloc, NULL, ENOMEM, (size_t n, size_t size), (n, size))
WRAP(char *, strdup, NULL, ENOMEM, (const char *s), (s))
WRAP(char *, strndup, NULL, ENOMEM, (const char *s, size_t n), (s, n))
WRAP(void *, mmap64, MAP_FAILED, ENOMEM,
     (void *addr, size_t len, int prot, int flags, int fd, off_t off),
     (addr, len, prot, flags, fd, off))
WRAP(int, fallocate64, -1, ENOSPC, (int fd, int mode, off_t off, off_t len),
     (fd, mode, off, len))
WRAP(int, ftruncate64, -1, EIO, (int fd, off_t len), (fd, len))
WRAP(int, open64, -1, EMFILE, (const char *path, int flags, mode_t mode),
     (path, flags, mode))
WRAP(int, openat64, -1, ENFILE,
     (int dir, const char *path, int flags, mode_t mode),
     (dir, path, flags, mode))
WRAP(int, memfd_create, -1, EMFILE, (const char *name, unsigned flags),
     (name, flags))
WRAP(int, fchmod, -1, EPERM, (int fd, mode_t mode), (fd, mode))
WRAP(int, fstat64, -1, EIO, (int fd, void *st), (fd, st))
WRAP(int, fstatat64, -1, EIO, (int dir, const char *path, void *st, int flags),
     (dir, path, st, flags))
WRAP(ssize_t, pread64, -1, EIO, (int fd, void *buf, size_t n, off_t off),
     (fd, buf, n, off))

/* What another process does just before. */
static void (*before_flock)(void);

int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
int __wrap_flock(int fd, int operation)
{
	void (*meanwhile)(void) = before_flock;

	before_flock = NULL;
	if (meanwhile)
		meanwhile();
	return fails(ENOLCK) ? -1 : __real_flock(fd, operation);
}

WRAP(int, renameat2, -1, EIO,
     (int from, const char *a, int to, const char *b, unsigned flags),
     (from, a, to, b, flags))
WRAP(int, renameat, -1, EIO, (int from, const char *a, int to, const char *b),
     (from, a, to, b))
WRAP(int, linkat, -1, EPERM,
     (int from, const char *a, int to, const char *b, int flags),
     (from, a, to, b, flags))
WRAP(int, madvise, -1, EINVAL, (void *addr, size_t len, int advice),
     (addr, len, advice))
WRAP(ssize_t, getrandom, -1, ENOSYS, (void *buf, size_t n, unsigned flags),
     (buf, n, flags))
WRAP(ssize_t, readlink, -1, ENOENT, (const char *path, char *buf, size_t n),
     (path, buf, n))

static unsigned count_entries(const char *path)
{
	DIR *dir = opendir(path);
	unsigned nr = 0;

	assert_non_null(dir);
	while (readdir(dir))
		nr++;
	closedir(dir);
	return nr;
}

static unsigned count_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	unsigned nr = 0;

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		nr += strstr(line, "memfd:") || strstr(line, small_dir);
	fclose(maps);
	return nr;
}

struct left {
	unsigned nr_fds, nr_mappings, nr_files;
};

static struct left what_is_left(void)
{
	return (struct left){count_entries("/proc/self/fd"), count_mappings(),
			     count_entries(small_dir)};
}

static void prepare_nothing(void)
{
}

static void leave_clean_file(void)
{
	sp_segment_close(small_segment(small_path("p")));
}

/* --- scenarios: all end with everything given back ----------------------- */

static int create(const char *path)
{
	struct sp_plane_opts opts = small_opts(path);
	struct sp_plane *plane = (void *)1;
	int err = sp_plane_create(&opts, &plane);

	fault.on = false;
	if (err)
		assert_ptr_equal(plane, (void *)1);
	else
		sp_plane_close(plane);
	if (path)
		unlink(path);
	return err;
}

static int create_anonymous(void)
{
	return create(NULL);
}

static int create_named(void)
{
	return create(small_path("p"));
}

static int attach(void)
{
	struct sp_reader *reader = (void *)1;
	int err = sp_reader_attach(small_path("p"), &reader);

	fault.on = false;
	if (err)
		assert_ptr_equal(reader, (void *)1);
	else
		sp_reader_detach(reader);
	return err;
}

static int attach_by_descriptor(void)
{
	struct sp_reader *reader = (void *)1;
	int fd, err;

	fault.on = false;
	fd = open(small_path("p"), O_RDONLY | O_CLOEXEC);
	fault.on = true;
	err = sp_reader_attach_fd(fd, &reader);
	fault.on = false;
	close(fd);
	if (err)
		assert_ptr_equal(reader, (void *)1);
	else
		sp_reader_detach(reader);
	return err;
}

/* Grow everything; on failure the plane is as before, then it works. */
static int grow_once(struct sp_plane *plane, uint64_t *ret_id)
{
	static const char text[1000];
	struct sp_object object = small_object("x");
	sp_percpu_t cells;
	uint64_t off;
	int err = sp_blob_append(plane, text, sizeof(text), &off);

	if (!err)
		err = sp_dir_add(plane, &object, ret_id);
	if (!err)
		err = sp_percpu_alloc(plane, 100000, 8, &cells);
	if (!err)
		err = sp_plane_mark_unit(plane, 3);
	if (!err)
		err = sp_plane_try_mark_unit(plane, 4);
	return err;
}

static int grow(void)
{
	struct sp_plane_opts opts = small_opts(NULL);
	struct sp_plane *plane = NULL;
	uint64_t id = 0;
	int err;

	fault.on = false;
	assert_int_equal(sp_plane_create(&opts, &plane), 0);
	fault.on = true;
	err = grow_once(plane, &id);
	fault.on = false;
	if (err) {
		if (id)
			assert_int_equal(sp_dir_remove(plane, id), 0);
		assert_int_equal(plane->hdr->nr_objects, 0);
		assert_int_equal(grow_once(plane, &id), 0);
	}
	for (uint32_t unit = 0; unit < plane->nr_units; unit++)
		if (sp_plane_unit_written(plane, unit))
			memset(sp_plane_unit(plane, unit), 1,
			       sp_plane_units_used(plane));
	sp_plane_close(plane);
	return err;
}

/* ------------------------------------------------------------------------ */

/* Return: how many calls could fail. */
static unsigned fail_each(void (*prepare)(void), int (*scenario)(void))
{
	for (unsigned n = 0;; n++) {
		struct left before, after;
		int err;

		prepare();
		before = what_is_left();
		/* The scenario takes the file away that it was given. */
		memset(&fault, 0, sizeof(fault));
		fault.countdown = n;
		fault.on = true;
		err = scenario();
		fault.on = false;
		if (prepare != prepare_nothing &&
		    !access(small_path("p"), F_OK))
			unlink(small_path("p"));
		after = what_is_left();
		if (prepare != prepare_nothing)
			before.nr_files--;
		assert_memory_equal(&before, &after, sizeof(before));
		if (!fault.hit) {
			assert_int_equal(err, 0);
			return n;
		}
		/* -EIO of a call that only looks is passed on as it is. */
		if (err)
			assert_int_equal(err, -fault.errno_of_hit);
	}
}

static void creating_an_anonymous_plane(void **state)
{
	assert_true(fail_each(prepare_nothing, create_anonymous) > 10);
}

static void creating_a_named_plane(void **state)
{
	assert_true(fail_each(prepare_nothing, create_named) > 15);
}

static void replacing_a_plane(void **state)
{
	assert_true(fail_each(leave_clean_file, create_named) > 20);
}

static void attaching(void **state)
{
	assert_true(fail_each(leave_clean_file, attach) > 5);
}

static void attaching_by_descriptor(void **state)
{
	assert_true(fail_each(leave_clean_file, attach_by_descriptor) > 5);
}

static void growing(void **state)
{
	assert_true(fail_each(prepare_nothing, grow) > 4);
}

/* --- a name that changes hands at the worst time -------------------------- */

static struct sp_plane *winner;

static void somebody_else_replaces_it(void)
{
	winner = small_segment(small_path("p"));
}

/* Judged to be dead, then replaced by somebody else, then locked. */
static void the_slower_of_two_who_replace_is_told(void **state)
{
	struct sp_plane_opts opts = small_opts(small_path("p"));
	struct sp_plane *plane = NULL;
	struct sp_reader *reader = NULL;
	struct sp_plane_info info;

	leave_clean_file();
	assert_int_equal(sp_segment_create(&opts, &plane), 0);
	before_flock = somebody_else_replaces_it;
	assert_int_equal(sp_segment_publish(plane), -EBUSY);
	sp_segment_close(plane);
	assert_non_null(winner);
	assert_int_equal(sp_reader_attach(opts.path, &reader), 0);
	sp_reader_info(reader, &info);
	assert_memory_equal(info.uuid, winner->hdr->uuid, 16);
	sp_reader_detach(reader);
	sp_segment_close(winner);
	unlink(opts.path);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(creating_an_anonymous_plane),
		cmocka_unit_test(creating_a_named_plane),
		cmocka_unit_test(replacing_a_plane),
		cmocka_unit_test(attaching),
		cmocka_unit_test(attaching_by_descriptor),
		cmocka_unit_test(growing),
		cmocka_unit_test(the_slower_of_two_who_replace_is_told),
	};

	return cmocka_run_group_tests(tests, small_dir_make, small_dir_remove);
}
