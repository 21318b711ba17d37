/* SPDX-License-Identifier: MIT */
/*
 * test_observe.c - the n-th allocation fails, for every n until none does.
 *
 * Linked with --wrap for malloc and calloc. Leaks show under the address
 * sanitizer; what was to be returned must stay as it was.
 */
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <statplane/net.h>
#include <statplane/observe.h>

static long fail_at = -1; /* calls that succeed still; < 0: all do */
static unsigned nr_calls;

void *__real_malloc(size_t size);
void *__real_calloc(size_t nr, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t nr, size_t size);

static bool fails(void)
{
	nr_calls++;
	return fail_at >= 0 && fail_at-- == 0;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t nr, size_t size)
{
	return fails() ? NULL : __real_calloc(nr, size);
}

static struct sp_plane *plane;
static struct sp_net *net;
static struct sp_netdev *dev;
static struct sp_lane lane;

static int open_lab(void **state)
{
	(void)state;
	assert_int_equal(sp_plane_create(NULL, &plane), 0);
	assert_int_equal(sp_net_create(plane, "lab", NULL, &net), 0);
	assert_int_equal(sp_netdev_create(net, "eth0", 0, NULL, &dev), 0);
	assert_int_equal(sp_lane_claim(plane, &lane), 0);
	return 0;
}

static int close_lab(void **state)
{
	(void)state;
	sp_lane_release(&lane);
	sp_netdev_destroy(dev);
	sp_net_destroy(net);
	sp_plane_close(plane);
	return 0;
}

static void an_observer_is_made_whole_or_not_at_all(void **state)
{
	static const struct sp_addr addr = {AF_INET, 24, {10, 0, 0, 2}};
	struct sp_observer_opts opts = {
		.sz = sizeof(opts),
		.net = net,
		.dev = dev,
		.lane = &lane,
		.linktype = SP_LINKTYPE_ETHERNET,
		.addrs = &addr,
		.nr_addrs = 1,
		.forward = true,
	};
	struct sp_observer *const untouched = (void *)&opts;
	struct sp_observer *observer = untouched;
	unsigned nr_failed = 0;
	int err;

	(void)state;
	do {
		fail_at = nr_failed;
		err = sp_observer_create(&opts, &observer);
		if (err) {
			assert_int_equal(err, -ENOMEM);
			assert_ptr_equal(observer, untouched);
			nr_failed++;
		}
	} while (err);
	fail_at = -1;
	/* Itself, its tables, and what they are made of. */
	assert_true(nr_failed >= 8);
	sp_observer_destroy(observer);
}

static void frames_and_the_end_of_them_allocate_nothing(void **state)
{
	static const uint8_t data[64] = {0xff, 0xff, 0xff, 0xff, 0xff,
					 0xff, 2,    0,    0,    0,
					 0,    1,    8,    0,    0x45};
	const struct sp_frame frame = {data, 1, sizeof(data), sizeof(data),
				       SP_DIRECTION_UNKNOWN};
	struct sp_observer_opts opts = {
		.sz = sizeof(opts),
		.net = net,
		.dev = dev,
		.lane = &lane,
		.linktype = SP_LINKTYPE_ETHERNET,
		.forward = true,
	};
	struct sp_observer *observer;
	struct sp_learner *learner;
	unsigned before;

	(void)state;
	assert_int_equal(sp_observer_create(&opts, &observer), 0);
	assert_int_equal(
		sp_learner_create(SP_LINKTYPE_ETHERNET, NULL, &learner), 0);
	before = nr_calls;
	for (int i = 0; i < 100; i++) {
		sp_observer_frames(observer, &frame, 1);
		sp_learner_frames(learner, &frame, 1);
	}
	sp_observer_advance(observer, UINT64_MAX / 2);
	sp_observer_finish(observer);
	assert_int_equal(nr_calls, before);
	sp_learner_destroy(learner);
	sp_observer_destroy(observer);
}

static void a_learner_that_has_no_memory_says_so(void **state)
{
	static const uint8_t data[64] = {2, 0, 0, 0, 0, 2, 2,    0,
					 0, 0, 0, 1, 8, 0, 0x45, [22] = 64};
	const struct sp_frame frame = {data, 1, sizeof(data), sizeof(data),
				       SP_DIRECTION_UNKNOWN};
	struct sp_learner *learner = NULL;
	static struct sp_learned learned;
	unsigned nr_failed = 0;

	(void)state;
	fail_at = 0;
	assert_int_equal(
		sp_learner_create(SP_LINKTYPE_ETHERNET, NULL, &learner),
		-ENOMEM);
	assert_null(learner);
	assert_int_equal(
		sp_learner_create(SP_LINKTYPE_ETHERNET, NULL, &learner), 0);
	sp_learner_frames(learner, &frame, 1);
	for (fail_at = 0; sp_learner_result(learner, &learned) == -ENOMEM;
	     fail_at = nr_failed) {
		assert_false(learned.have_mac);
		nr_failed++;
	}
	fail_at = -1;
	assert_true(nr_failed >= 1);
	assert_true(learned.have_mac);
	sp_learner_destroy(learner);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_observer_is_made_whole_or_not_at_all),
		cmocka_unit_test(frames_and_the_end_of_them_allocate_nothing),
		cmocka_unit_test(a_learner_that_has_no_memory_says_so),
	};

	return cmocka_run_group_tests(tests, open_lab, close_lab);
}
