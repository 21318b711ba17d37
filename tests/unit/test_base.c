// SPDX-License-Identifier: MIT
/*
 * The small helpers of base/: hash, host, lock, bits.
 */
#include "small_plane.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "base/bits.h"
#include "base/hash.h"
#include "base/host.h"
#include "base/lock.h"

/* Key 00..0f, message 00..n-1: as of the authors' reference vectors. */
static void hash_is_siphash_1_3(void **state)
{
	static const struct {
		size_t len;
		uint64_t hash;
	} vectors[] = {
		{0, 0xabac0158050fc4dcull},  {1, 0xc9f49bf37d57ca93ull},
		{7, 0xd3927d989bb11140ull},  {8, 0x369095118d299a8eull},
		{15, 0xd320d86d2a519956ull}, {16, 0xcc4fdd1a7d908b66ull},
		{63, 0x9d199062b7bbb3a8ull},
	};
	struct sp_hash_key key = {0x0706050403020100ull, 0x0f0e0d0c0b0a0908ull};
	uint8_t message[64];

	for (unsigned i = 0; i < sizeof(message); i++)
		message[i] = (uint8_t)i;
	for (unsigned i = 0; i < sizeof(vectors) / sizeof(*vectors); i++)
		assert_true(sp_hash(&key, message, vectors[i].len) ==
			    vectors[i].hash);
}

static void hash_keys_differ(void **state)
{
	struct sp_hash_key a, b;

	sp_hash_key_init(&a);
	sp_hash_key_init(&b);
	assert_true(a.k0 != b.k0 || a.k1 != b.k1);
	assert_true(sp_hash(&a, "x", 1) != sp_hash(&b, "x", 1));
}

static void ranges_do_not_wrap(void **state)
{
	assert_true(sp_range_inside(0, 0, 0));
	assert_true(sp_range_inside(3, 5, 8));
	assert_false(sp_range_inside(3, 6, 8));
	assert_false(sp_range_inside(9, 0, 8));
	assert_false(sp_range_inside(8, UINT64_MAX, UINT64_MAX));
	assert_false(sp_range_inside(UINT64_MAX, 2, 8));
}

static void rounding(void **state)
{
	assert_int_equal(sp_round_up(0, 4096), 0);
	assert_int_equal(sp_round_up(1, 4096), 4096);
	assert_int_equal(sp_round_up(4096, 4096), 4096);
	assert_int_equal(sp_round_down(8191, 4096), 4096);
	assert_true(sp_is_power_of_two(1));
	assert_false(sp_is_power_of_two(0));
	assert_false(sp_is_power_of_two(12));
}

#define TAIL " 1 1 1 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 "

static void stat_text_with_blanks_and_parentheses_in_the_name(void **state)
{
	struct sp_process process;

	assert_int_equal(sp_host_parse_stat("7 (a) S 9 (b ) R" TAIL
					    "3 0 123456 8000 0",
					    &process),
			 0);
	assert_int_equal(process.start_ticks, 123456);
	assert_false(process.gone);
}

static void a_zombie_without_threads_is_gone(void **state)
{
	struct sp_process process;

	assert_int_equal(sp_host_parse_stat("7 (x) Z" TAIL "1 0 5 0", &process),
			 0);
	assert_true(process.gone);
	assert_int_equal(sp_host_parse_stat("7 (x) X" TAIL "0 0 5 0", &process),
			 0);
	assert_true(process.gone);
	/* Its main thread has ended, others run. */
	assert_int_equal(sp_host_parse_stat("7 (x) Z" TAIL "3 0 5 0", &process),
			 0);
	assert_false(process.gone);
}

static void stat_text_that_is_none(void **state)
{
	static const char *const texts[] = {
		"",
		")",
		"7 (x)",
		"7 (x) ",
		"7 (x) S",
		"7 (x) S 1 2 3",
		"7 (x) S" TAIL "3 0",
		"7 (x) S" TAIL "3 0 -",
		"no parentheses",
	};
	struct sp_process process = {.start_ticks = 42};

	for (unsigned i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_int_equal(sp_host_parse_stat(texts[i], &process),
				 -ENODATA);
	assert_int_equal(process.start_ticks, 42);
}

static void this_process_has_a_start_time(void **state)
{
	struct sp_process a, b;

	if (!sp_host_proc_is_ours())
		skip();
	assert_int_equal(sp_host_process((uint32_t)getpid(), &a), 0);
	assert_int_equal(sp_host_process((uint32_t)getpid(), &b), 0);
	assert_true(a.start_ticks && a.start_ticks == b.start_ticks);
	assert_false(a.gone);
}

static void no_process_has_these_pids(void **state)
{
	struct sp_process process;
	pid_t child = fork();

	if (!child)
		_exit(0);
	small_wait(child);
	assert_int_equal(sp_host_process((uint32_t)child, &process), -ESRCH);
	assert_int_equal(sp_host_process(0, &process), -ESRCH);
	assert_int_equal(sp_host_process(UINT32_MAX, &process), -ESRCH);
}

static void boot_id_stays(void **state)
{
	uint8_t a[16], b[16];

	if (sp_host_boot_id(a))
		skip();
	assert_int_equal(sp_host_boot_id(b), 0);
	assert_memory_equal(a, b, 16);
}

static void cpu_lists(void **state)
{
	assert_int_equal(sp_host_parse_cpus("0\n"), 1);
	assert_int_equal(sp_host_parse_cpus("0-3\n"), 4);
	assert_int_equal(sp_host_parse_cpus("0-3,8-11\n"), 12);
	assert_int_equal(sp_host_parse_cpus("0,2\n"), 3);
	assert_int_equal(sp_host_parse_cpus(""), 0);
	assert_int_equal(sp_host_parse_cpus("none"), 0);
	assert_int_equal(sp_host_parse_cpus("0-99999999999"), 0);
	assert_true(sp_host_possible_cpus() >= 1);
	assert_true(sp_host_possible_cpus() >=
		    (uint32_t)sysconf(_SC_NPROCESSORS_ONLN));
}

#define NR_THREADS 4
#define NR_ROUNDS  20000

static struct sp_lock lock;
static unsigned long shared; /* plain: the lock orders it */

static void *count(void *arg)
{
	for (int i = 0; i < NR_ROUNDS; i++) {
		if (i % 7 || !sp_lock_try(&lock))
			sp_lock_acquire(&lock);
		shared++;
		sp_lock_release(&lock);
	}
	return NULL;
}

static void lock_lets_one_in(void **state)
{
	pthread_t threads[NR_THREADS];

	for (int i = 0; i < NR_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, count, NULL),
				 0);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(shared, NR_THREADS * NR_ROUNDS);
	assert_int_equal(lock.word, 0);
}

static volatile sig_atomic_t tried;

static void try_in_handler(int signal)
{
	tried = sp_lock_try(&lock) ? 1 : 2;
	if (tried == 1)
		sp_lock_release(&lock);
}

static void lock_can_be_tried_in_a_handler(void **state)
{
	signal(SIGUSR1, try_in_handler);
	sp_lock_acquire(&lock);
	raise(SIGUSR1);
	assert_int_equal(tried, 2);
	sp_lock_release(&lock);
	raise(SIGUSR1);
	assert_int_equal(tried, 1);
	signal(SIGUSR1, SIG_DFL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(hash_is_siphash_1_3),
		cmocka_unit_test(hash_keys_differ),
		cmocka_unit_test(ranges_do_not_wrap),
		cmocka_unit_test(rounding),
		cmocka_unit_test(
			stat_text_with_blanks_and_parentheses_in_the_name),
		cmocka_unit_test(a_zombie_without_threads_is_gone),
		cmocka_unit_test(stat_text_that_is_none),
		cmocka_unit_test(this_process_has_a_start_time),
		cmocka_unit_test(no_process_has_these_pids),
		cmocka_unit_test(boot_id_stays),
		cmocka_unit_test(cpu_lists),
		cmocka_unit_test(lock_lets_one_in),
		cmocka_unit_test(lock_can_be_tried_in_a_handler),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
