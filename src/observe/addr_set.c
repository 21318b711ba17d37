/* SPDX-License-Identifier: MIT */
/*
 * observe/addr_set.c - see addr_set.h.
 */
#include "observe/addr_set.h"

#include <errno.h>
#include <stdlib.h>

int addr_set_init(struct addr_set *set, size_t nr)
{
	uint32_t slots = 16;

	while (slots < 2 * nr)
		slots *= 2;
	*set = (struct addr_set){
		.mask = slots - 1,
		.marks = calloc(slots, sizeof(set->marks[0])),
		.keys = calloc(slots, sizeof(set->keys[0])),
		.values = calloc(slots, sizeof(set->values[0])),
	};
	sp_hash_key_init(&set->hash_key);
	if (set->marks && set->keys && set->values)
		return 0;
	addr_set_fini(set);
	return -ENOMEM;
}

void addr_set_fini(struct addr_set *set)
{
	free(set->marks);
	free(set->keys);
	free(set->values);
	*set = (struct addr_set){0};
}

uint32_t addr_set_mark(struct addr_set *set, struct addr_key key, uint8_t marks)
{
	uint32_t slot = addr_set_find(set, key);

	set->keys[slot] = key;
	set->marks[slot] |= marks;
	return slot;
}

/* Free a slot and close the gap in the run of slots behind it. */
static void remove_at(struct addr_set *set, uint32_t gap)
{
	uint32_t slot = gap;

	set->marks[gap] = 0;
	for (;;) {
		uint32_t home;

		slot = (slot + 1) & set->mask;
		if (!set->marks[slot])
			return;
		home = addr_set_home(set, set->keys[slot]);
		if (((slot - home) & set->mask) < ((slot - gap) & set->mask))
			continue;
		set->marks[gap] = set->marks[slot];
		set->keys[gap] = set->keys[slot];
		set->values[gap] = set->values[slot];
		set->marks[slot] = 0;
		gap = slot;
	}
}

void addr_set_unmark(struct addr_set *set, struct addr_key key, uint8_t marks)
{
	uint32_t slot = addr_set_find(set, key);

	if (!(set->marks[slot] & marks))
		return;
	set->marks[slot] &= (uint8_t)~marks;
	if (!set->marks[slot])
		remove_at(set, slot);
}
