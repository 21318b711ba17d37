// SPDX-License-Identifier: MIT
/*
 * How a plane is made, gets its name, and is given up: statplane/plane.h.
 */
#include "small_plane.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/host.h"
#include "plane/reader.h"

static unsigned count_files(void)
{
	DIR *dir = opendir(small_dir);
	unsigned nr = 0;

	assert_non_null(dir);
	for (struct dirent *entry; (entry = readdir(dir));)
		nr += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
	closedir(dir);
	return nr;
}

static int remove_files(void **state)
{
	return small_dir_remove(state) || mkdir(small_dir, 0700);
}

static void defaults(void **state)
{
	struct sp_plane *plane = NULL;

	assert_int_equal(sp_segment_create(NULL, &plane), 0);
	assert_string_equal(plane->hdr->program, "statplane");
	assert_int_equal(plane->nr_lanes, 64);
	assert_int_equal(plane->nr_cpus, sp_host_possible_cpus());
	assert_int_equal(plane->nr_units, plane->nr_cpus + 65);
	assert_int_equal(plane->unit_bytes, 64 << 20);
	assert_int_equal(plane->dir_section->len / 192, 65536);
	assert_int_equal(plane->blob_section->len, 4 << 20);
	assert_int_equal(plane->table_section->len, UINT64_C(32) << 30);
	sp_segment_close(plane);
}

static void a_fresh_plane_takes_little_memory(void **state)
{
	struct sp_plane *plane = NULL;

	assert_int_equal(sp_segment_create(NULL, &plane), 0);
	assert_int_equal(small_backed_bytes(plane->fd), plane->page_size);
	sp_segment_close(plane);
}

static void units_do_not_meet_in_one_cache_set(void **state)
{
	struct sp_plane *plane = small_segment(NULL);

	assert_true(plane->unit_stride & (plane->unit_stride - 1));
	assert_int_equal(plane->unit_stride,
			 plane->unit_bytes + plane->page_size);
	assert_int_equal((plane->units - plane->base) % plane->page_size, 0);
	sp_segment_close(plane);
}

static void check_refused(struct sp_plane_opts opts)
{
	struct sp_plane *plane = (void *)1;

	assert_int_equal(sp_segment_create(&opts, &plane), -EINVAL);
	assert_ptr_equal(plane, (void *)1);
}

static void options_out_of_range_are_refused(void **state)
{
	struct sp_plane_opts good = small_opts(small_path("x")), opts;

#define CHECK(field, value)                                                    \
	do {                                                                   \
		opts = good;                                                   \
		opts.field = (value);                                          \
		check_refused(opts);                                           \
	} while (0)
	CHECK(sz, 0);
	CHECK(sz, offsetof(struct sp_plane_opts, table_bytes) - 1);
	CHECK(sz, SIZE_MAX);
	CHECK(path, "");
	CHECK(path, small_path(""));
	CHECK(program, "");
	CHECK(program, "12345678901234567890123456789012");
	CHECK(program, "line\nfeed");
	CHECK(mode, 01000);
	CHECK(nr_cpus, 4094);
	CHECK(nr_cpus, UINT32_MAX);
	CHECK(nr_lanes, 4095);
	CHECK(nr_lanes, UINT32_MAX);
	CHECK(nr_objects, (1u << 24) + 1);
	CHECK(unit_bytes, (UINT64_C(1) << 40) + 1);
	CHECK(unit_bytes, UINT64_MAX);
	CHECK(blob_bytes, UINT64_MAX);
	CHECK(table_bytes, (UINT64_C(1) << 44) + 1);
	CHECK(table_bytes, UINT64_MAX);
#undef CHECK
	assert_int_equal(count_files(), 0);
}

/* A program built before there were tables. */
static void shorter_options_mean_the_defaults(void **state)
{
	struct sp_plane_opts opts = small_opts(NULL);
	struct sp_plane *plane = NULL;

	opts.sz = offsetof(struct sp_plane_opts, table_bytes);
	opts.table_bytes = 4096;
	assert_int_equal(sp_segment_create(&opts, &plane), 0);
	assert_int_equal(plane->table_section->len, UINT64_C(32) << 30);
	sp_segment_close(plane);
}

/* What huge pages need: the same remainder in the file and in memory. */
static void tables_begin_where_huge_pages_do(void **state)
{
	struct sp_plane *plane = small_segment(NULL);

	assert_int_equal(plane->table_section->off % (2 << 20), 0);
	assert_int_equal((uintptr_t)plane->tables % (2 << 20), 0);
	sp_segment_close(plane);
}

static void areas_do_not_overlap_and_are_used_again(void **state)
{
	struct sp_plane *plane = small_segment(NULL);
	struct sp_plane_area *a, *b, *c;

	assert_int_equal(sp_area_get(plane, 5000, 1, &a), 0);
	assert_int_equal(sp_area_get(plane, 3 << 20, 1, &b), 0);
	assert_true(a->len >= 5000 && a->off % plane->page_size == 0);
	assert_true(b->off >= a->off + a->len && b->off % (2 << 20) == 0);
	assert_true(plane->table_section->used >= b->off + b->len);
	a->populated[2] = 4096;
	sp_area_put(plane, a);
	/* Only by what is laid out in the same way. */
	assert_int_equal(sp_area_get(plane, 5000, 2, &c), 0);
	assert_ptr_not_equal(c, a);
	sp_area_put(plane, c);
	assert_int_equal(sp_area_get(plane, 50000, 1, &c), 0);
	assert_ptr_not_equal(c, a);
	sp_area_put(plane, c);
	assert_int_equal(sp_area_get(plane, 5000, 1, &c), 0);
	assert_ptr_equal(c, a);
	assert_int_equal(c->populated[2], 4096);
	sp_area_put(plane, c);
	sp_area_put(plane, b);
	assert_int_equal(sp_area_get(plane, 64 << 20, 1, &c), -ENOSPC);
	assert_int_equal(sp_area_get(plane, UINT64_MAX / 2, 1, &c), -ENOSPC);
	sp_segment_close(plane);
}

/* A program built against a later version of the header. */
static void longer_options_are_fine_if_they_ask_nothing_new(void **state)
{
	struct {
		struct sp_plane_opts known;
		uint64_t unknown;
	} opts = {.known = small_opts(NULL)};
	struct sp_plane *plane = NULL;

	opts.known.sz = sizeof(opts);
	assert_int_equal(sp_segment_create(&opts.known, &plane), 0);
	sp_segment_close(plane);
	opts.unknown = 1;
	assert_int_equal(sp_segment_create(&opts.known, &plane), -EINVAL);
}

static void the_name_appears_when_the_plane_is_complete(void **state)
{
	struct sp_plane_opts opts = small_opts(small_path("p"));
	struct sp_plane *plane = NULL;

	assert_int_equal(sp_segment_create(&opts, &plane), 0);
	assert_int_equal(access(opts.path, F_OK), -1);
	assert_int_equal(plane->hdr->state, SP_STATE_INIT);
	assert_int_equal(sp_segment_publish(plane), 0);
	assert_int_equal(access(opts.path, F_OK), 0);
	assert_int_equal(plane->hdr->state, SP_STATE_LIVE);
	assert_int_equal(count_files(), 1);
	sp_segment_close(plane);
	assert_int_equal(count_files(), 1);
}

static void a_plane_that_was_not_published_leaves_no_trace(void **state)
{
	struct sp_plane_opts opts = small_opts(small_path("p"));
	struct sp_plane *plane = NULL;

	assert_int_equal(sp_segment_create(&opts, &plane), 0);
	sp_segment_close(plane);
	assert_int_equal(count_files(), 0);
	sp_segment_close(NULL);
}

static void mode_is_as_asked_whatever_the_umask(void **state)
{
	struct sp_plane_opts opts = small_opts(small_path("p"));
	struct sp_plane *plane = NULL;
	mode_t old = umask(077);
	struct stat st = {0};

	sp_segment_close(small_segment(opts.path));
	assert_int_equal(stat(opts.path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	opts.mode = 0604;
	assert_int_equal(sp_segment_create(&opts, &plane), 0);
	assert_int_equal(sp_segment_publish(plane), 0);
	assert_int_equal(stat(opts.path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0604);
	sp_segment_close(plane);
	umask(old);
}

static void a_relative_path(void **state)
{
	int here = open(".", O_PATH | O_CLOEXEC);

	assert_true(here >= 0);
	assert_int_equal(chdir(small_dir), 0);
	sp_segment_close(small_segment("relative"));
	assert_int_equal(fchdir(here), 0);
	close(here);
	assert_int_equal(access(small_path("relative"), F_OK), 0);
}

static void no_such_directory(void **state)
{
	struct sp_plane_opts opts = small_opts(small_path("none/p"));
	struct sp_plane *plane;

	assert_int_equal(sp_segment_create(&opts, &plane), -ENOENT);
	close(open(small_path("file"), O_CREAT | O_WRONLY, 0600));
	opts.path = small_path("file/p");
	assert_int_equal(sp_segment_create(&opts, &plane), -ENOTDIR);
}

static void the_name_of_a_live_plane_is_busy(void **state)
{
	struct sp_plane_opts opts = small_opts(small_path("p"));
	struct sp_plane *first = small_segment(opts.path), *second;
	struct sp_reader *reader;

	assert_int_equal(sp_segment_create(&opts, &second), -EBUSY);
	assert_int_equal(count_files(), 1);
	assert_int_equal(sp_reader_attach(opts.path, &reader), 0);
	assert_memory_equal(reader->hdr->uuid, first->hdr->uuid, 16);
	sp_reader_detach(reader);
	sp_segment_close(first);
}

/* Both were created while the name was free. */
static void the_second_to_publish_is_told(void **state)
{
	struct sp_plane_opts opts = small_opts(small_path("p"));
	struct sp_plane *first = NULL, *second = NULL;

	assert_int_equal(sp_segment_create(&opts, &first), 0);
	assert_int_equal(sp_segment_create(&opts, &second), 0);
	assert_int_equal(sp_segment_publish(second), 0);
	assert_int_equal(sp_segment_publish(first), -EBUSY);
	sp_segment_close(first);
	assert_int_equal(count_files(), 1);
	sp_segment_close(second);
}

static void a_finished_plane_is_replaced_and_its_readers_keep_it(void **state)
{
	const char *path = small_path("p");
	struct sp_plane *old = small_segment(path), *new;
	struct sp_reader *reader = NULL;
	struct sp_object object;
	uint64_t cursor = 0;

	small_add(old, "kept", 0, 0);
	sp_segment_close(old);
	assert_int_equal(sp_reader_attach(path, &reader), 0);
	new = small_segment(path);
	assert_int_equal(count_files(), 1);
	assert_int_equal(sp_reader_next(reader, &cursor, &object), 0);
	assert_string_equal(object.name, "kept");
	assert_int_equal(sp_reader_state(reader), SP_PLANE_CLEAN);
	sp_reader_detach(reader);

	assert_int_equal(sp_reader_attach(path, &reader), 0);
	assert_int_equal(sp_reader_state(reader), SP_PLANE_LIVE);
	cursor = 0;
	assert_int_equal(sp_reader_next(reader, &cursor, &object), -ENOENT);
	sp_reader_detach(reader);
	sp_segment_close(new);
}

static void leave_abandoned(const char *path)
{
	pid_t child = fork();

	if (!child) {
		small_segment(path);
		_exit(0);
	}
	assert_int_equal(small_wait(child), 0);
}

static void an_abandoned_plane_is_replaced(void **state)
{
	const char *path = small_path("p");

	leave_abandoned(path);
	sp_segment_close(small_segment(path));
	assert_int_equal(count_files(), 1);
}

/* What one leaves who is killed while he replaces a plane. */
static void the_rest_of_a_killed_creator_is_swept(void **state)
{
	const char *path = small_path("p");

	sp_segment_close(small_segment(path));
	sp_segment_close(small_segment(small_path(".p.statplane")));
	assert_int_equal(count_files(), 2);
	sp_segment_close(small_segment(path));
	assert_int_equal(count_files(), 1);
}

static void check_left_alone(const char *path)
{
	struct sp_plane_opts opts = small_opts(path);
	struct sp_plane *plane;
	struct stat before = {0}, after = {0};

	assert_int_equal(lstat(path, &before), 0);
	assert_int_equal(sp_segment_create(&opts, &plane), -EEXIST);
	assert_int_equal(lstat(path, &after), 0);
	assert_true(before.st_ino == after.st_ino);
}

static void what_is_no_plane_is_left_alone(void **state)
{
	const char *path = small_path("p");
	char *page = calloc(1, 4096);
	int fd;

	assert_int_equal(mkdir(path, 0700), 0);
	check_left_alone(path);
	rmdir(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	check_left_alone(path);
	unlink(path);
	sp_segment_close(small_segment(small_path("target")));
	assert_int_equal(symlink("target", path), 0);
	check_left_alone(path);
	unlink(path);
	fd = open(path, O_CREAT | O_RDWR, 0600);
	assert_true(fd >= 0);
	check_left_alone(path);
	assert_int_equal(write(fd, page, 4096), 4096);
	check_left_alone(path);
	close(fd);
	free(page);
}

static void a_plane_of_another_major_version_is_left_alone(void **state)
{
	const char *path = small_path("p");
	struct sp_plane *plane = small_segment(path);

	plane->hdr->version_major++;
	sp_segment_close(plane);
	check_left_alone(path);
}

static void a_name_that_somebody_is_taking_is_busy(void **state)
{
	struct sp_plane_opts opts = small_opts(small_path("p"));
	struct sp_plane *plane = NULL;
	int fd;

	sp_segment_close(small_segment(opts.path));
	fd = open(opts.path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(sp_segment_create(&opts, &plane), 0);
	assert_int_equal(sp_segment_publish(plane), -EBUSY);
	sp_segment_close(plane);
	close(fd);
}

#define NR_RACERS 4

/* Exit status 0 for who wins. Winners hold on until @release is closed. */
static void race(const char *path, int start, int release, int report)
{
	struct sp_plane_opts opts = small_opts(path);
	struct sp_plane *plane;
	char byte;
	int err;

	if (read(start, &byte, 1) < 0)
		_exit(3);
	err = sp_segment_create(&opts, &plane);
	if (!err) {
		err = sp_segment_publish(plane);
		if (err)
			sp_segment_close(plane);
	}
	byte = err == 0 ? 'w' : err == -EBUSY ? 'b' : '?';
	if (write(report, &byte, 1) != 1)
		_exit(3);
	if (!err && read(release, &byte, 1) < 0)
		_exit(3);
	_exit(0);
}

static unsigned count_winners(const char *path)
{
	int start[2], release[2], report[2];
	unsigned nr_won = 0;
	pid_t pids[NR_RACERS];
	char byte;

	assert_int_equal(pipe(start) | pipe(release) | pipe(report), 0);
	for (int i = 0; i < NR_RACERS; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			close(start[1]);
			close(release[1]);
			race(path, start[0], release[0], report[1]);
		}
	}
	close(start[1]);
	for (int i = 0; i < NR_RACERS; i++) {
		assert_int_equal(read(report[0], &byte, 1), 1);
		assert_true(byte == 'w' || byte == 'b');
		nr_won += byte == 'w';
	}
	close(release[1]);
	for (int i = 0; i < NR_RACERS; i++)
		assert_int_equal(small_wait(pids[i]), 0);
	close(start[0]);
	close(release[0]);
	close(report[0]);
	close(report[1]);
	return nr_won;
}

static void of_racing_creators_one_wins(void **state)
{
	const char *path = small_path("p");

	/* The first round finds a free name, the others an abandoned plane. */
	for (int i = 0; i < 40; i++) {
		assert_int_equal(count_winners(path), 1);
		if (i % 8 == 7)
			unlink(path);
	}
	assert_true(count_files() <= 1);
}

static void an_anonymous_plane_cannot_shrink(void **state)
{
	struct sp_plane *plane = small_segment(NULL);

	assert_int_equal(ftruncate(sp_plane_fd(plane), 4096), -1);
	assert_int_equal(errno, EPERM);
	sp_segment_close(plane);
}

/* ftruncate(2) beyond the limit would end the process with SIGXFSZ. */
static void a_limit_on_file_sizes_is_an_error(void **state)
{
	pid_t child = fork();

	if (!child) {
		struct rlimit limit = {65536, 65536};
		struct sp_plane_opts opts = small_opts(small_path("p"));
		struct sp_plane *plane;

		setrlimit(RLIMIT_FSIZE, &limit);
		_exit(sp_segment_create(&opts, &plane) == -EFBIG ? 0 : 1);
	}
	assert_int_equal(small_wait(child), 0);
	assert_int_equal(count_files(), 0);
}

static void the_writer_is_named_by_pid_and_start_time(void **state)
{
	struct sp_plane *plane;
	struct sp_process self;
	uint8_t boot_id[16];

	if (!sp_host_proc_is_ours() || sp_host_boot_id(boot_id))
		skip();
	/* The kernel puts this into field 2 of /proc/self/stat as it is. */
	prctl(PR_SET_NAME, "a) R 1 (b c)");
	plane = small_segment(NULL);
	assert_int_equal(sp_host_process((uint32_t)getpid(), &self), 0);
	assert_int_equal(plane->hdr->pid, getpid());
	assert_true(plane->hdr->pid_start_ticks == self.start_ticks);
	assert_memory_equal(plane->hdr->boot_id, boot_id, 16);
	assert_true(plane->hdr->pid_ns == sp_host_pid_ns());
	sp_segment_close(plane);
	prctl(PR_SET_NAME, "test_segment");
}

static void uuids_differ(void **state)
{
	struct sp_plane *a = small_segment(NULL), *b = small_segment(NULL);

	assert_memory_not_equal(a->hdr->uuid, b->hdr->uuid, 16);
	assert_int_equal(a->hdr->uuid[6] >> 4, 4);
	assert_int_equal(a->hdr->uuid[8] >> 6, 2);
	sp_segment_close(a);
	sp_segment_close(b);
}

static void heartbeat_is_the_time(void **state)
{
	struct sp_plane *plane = small_segment(NULL);
	uint64_t before = sp_host_realtime_ns();

	assert_int_equal(plane->hdr->heartbeat_realtime_ns, 0);
	sp_plane_heartbeat(plane);
	assert_in_range(plane->hdr->heartbeat_realtime_ns, before,
			sp_host_realtime_ns());
	sp_segment_close(plane);
}

int main(void)
{
#define T(name) cmocka_unit_test_teardown(name, remove_files)
	static const struct CMUnitTest tests[] = {
		T(defaults),
		T(a_fresh_plane_takes_little_memory),
		T(units_do_not_meet_in_one_cache_set),
		T(options_out_of_range_are_refused),
		T(longer_options_are_fine_if_they_ask_nothing_new),
		cmocka_unit_test(shorter_options_mean_the_defaults),
		cmocka_unit_test(tables_begin_where_huge_pages_do),
		cmocka_unit_test(areas_do_not_overlap_and_are_used_again),
		T(the_name_appears_when_the_plane_is_complete),
		T(a_plane_that_was_not_published_leaves_no_trace),
		T(mode_is_as_asked_whatever_the_umask),
		T(a_relative_path),
		T(no_such_directory),
		T(the_name_of_a_live_plane_is_busy),
		T(the_second_to_publish_is_told),
		T(a_finished_plane_is_replaced_and_its_readers_keep_it),
		T(an_abandoned_plane_is_replaced),
		T(the_rest_of_a_killed_creator_is_swept),
		T(what_is_no_plane_is_left_alone),
		T(a_plane_of_another_major_version_is_left_alone),
		T(a_name_that_somebody_is_taking_is_busy),
		T(of_racing_creators_one_wins),
		T(an_anonymous_plane_cannot_shrink),
		T(a_limit_on_file_sizes_is_an_error),
		T(the_writer_is_named_by_pid_and_start_time),
		T(uuids_differ),
		T(heartbeat_is_the_time),
	};

	return cmocka_run_group_tests(tests, small_dir_make, small_dir_remove);
}
