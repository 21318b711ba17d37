/* SPDX-License-Identifier: MIT */
/*
 * test_observe_addr_set.c - a set of addresses against a plain list of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "observe/addr_set.h"

#define NR_ADDRS 400
#define NR_STEPS 20000

static uint64_t random_state = 1;

static uint32_t random_below(uint32_t bound)
{
	random_state =
		random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(random_state >> 33) % bound;
}

static struct addr_key addr_of(uint32_t i)
{
	/* Some differ in the low half only, some in the high half only. */
	return (struct addr_key){i % 20, i / 20};
}

/* Marks and values of every address are those of the model. */
static void check(const struct addr_set *set, const uint8_t *marks,
		  const uint16_t *values)
{
	for (uint32_t i = 0; i < NR_ADDRS; i++) {
		uint32_t slot = addr_set_find(set, addr_of(i));

		assert_int_equal(set->marks[slot], marks[i]);
		assert_int_equal(addr_set_marks(set, addr_of(i)), marks[i]);
		if (marks[i])
			assert_int_equal(set->values[slot], values[i]);
	}
}

static uint32_t nr_used(const struct addr_set *set)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i <= set->mask; i++)
		nr += set->marks[i] != 0;
	return nr;
}

static void addresses_come_and_go_as_in_a_plain_list(void **state)
{
	static uint8_t marks[NR_ADDRS];
	static uint16_t values[NR_ADDRS];
	struct addr_set set;
	uint32_t nr = 0;

	(void)state;
	assert_int_equal(addr_set_init(&set, NR_ADDRS / 2), 0);
	for (uint32_t step = 0; step < NR_STEPS; step++) {
		uint32_t i = random_below(NR_ADDRS);
		uint8_t mark = (uint8_t)(1u << random_below(3));

		if (random_below(2) && (marks[i] || nr < NR_ADDRS / 2)) {
			uint32_t slot = addr_set_mark(&set, addr_of(i), mark);

			nr += !marks[i];
			marks[i] |= mark;
			values[i] = (uint16_t)step;
			set.values[slot] = (uint16_t)step;
		} else {
			addr_set_unmark(&set, addr_of(i), mark);
			nr -= marks[i] && !(marks[i] & ~mark);
			marks[i] &= (uint8_t)~mark;
		}
		if (step % 50 == 0)
			check(&set, marks, values);
		assert_int_equal(nr_used(&set), nr);
	}
	addr_set_fini(&set);
}

static void a_full_set_is_at_most_half_full(void **state)
{
	struct addr_set set;

	(void)state;
	for (size_t nr = 1; nr < 300; nr++) {
		assert_int_equal(addr_set_init(&set, nr), 0);
		assert_true(set.mask + 1 >= 2 * nr);
		addr_set_fini(&set);
	}
}

static void what_was_freed_is_forgotten(void **state)
{
	struct addr_set set;

	(void)state;
	assert_int_equal(addr_set_init(&set, 1), 0);
	addr_set_fini(&set);
	assert_null(set.marks);
	addr_set_fini(&set); /* no harm */
}

/* The longest way from where an address should stand to where it does. */
static uint32_t longest_way(const struct addr_set *set)
{
	uint32_t longest = 0;

	for (uint32_t slot = 0; slot <= set->mask; slot++) {
		uint32_t home = addr_set_home(set, set->keys[slot]);
		uint32_t way = (slot - home) & set->mask;

		if (set->marks[slot] && way > longest)
			longest = way;
	}
	return longest;
}

/* Addresses that differ in two octets only, wherever those stand, as the hosts of
 * a network and the groups of a scope do. */
static void neighbours_do_not_crowd(void **state)
{
	(void)state;
	for (uint32_t at = 0; at < 15; at++) {
		struct addr_set set;

		assert_int_equal(addr_set_init(&set, 512), 0);
		for (uint32_t i = 0; i < 512; i++) {
			uint8_t addr[16] = {0xff, 0x05};

			addr[at] = (uint8_t)(i >> 8);
			addr[at + 1] = (uint8_t)i;
			addr_set_mark(&set, addr_key6(addr), 1);
		}
		/* Half full, chance makes it about 20. */
		assert_in_range(longest_way(&set), 0, 128);
		addr_set_fini(&set);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_come_and_go_as_in_a_plain_list),
		cmocka_unit_test(a_full_set_is_at_most_half_full),
		cmocka_unit_test(what_was_freed_is_forgotten),
		cmocka_unit_test(neighbours_do_not_crowd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
