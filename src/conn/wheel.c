/* SPDX-License-Identifier: MIT */
/*
 * conn/wheel.c - see wheel.h.
 *
 * wheel_prev of the first row of slot n is WHEEL_HEAD | n, so that a row can be
 * taken out without knowing its slot.
 */
#include "conn/wheel.h"

#include "conn/conn.h"

#define WHEEL_HEAD 0x80000000u

/* Ticks ahead, one less than there are, so that a row that is put in again never
 * comes into the slot that is being emptied. */
#define FARTHEST (WHEEL_SLOTS - 2)

static uint64_t tick_of(uint64_t ns)
{
	return (ns + WHEEL_TICK_NS - 1) >> WHEEL_SHIFT;
}

static void take_out(struct sp_conn_table *table, struct conn *row)
{
	struct wheel *wheel = &table->wheel;
	uint32_t prev = row->wheel_prev;

	if (!prev)
		return;
	if (row->wheel_next)
		conn_at(table, row->wheel_next)->wheel_prev = prev;
	if (prev & WHEEL_HEAD) {
		uint32_t slot = prev & ~WHEEL_HEAD;

		wheel->slots[slot] = row->wheel_next;
		if (!row->wheel_next)
			wheel->used[slot / 64] &= ~(1ull << slot % 64);
	} else {
		conn_at(table, prev)->wheel_next = row->wheel_next;
	}
	row->wheel_next = row->wheel_prev = 0;
	wheel->nr--;
}

static void put_in(struct sp_conn_table *table, struct conn *row)
{
	struct wheel *wheel = &table->wheel;
	uint64_t tick = tick_of(row->expires_ns);
	uint32_t slot, first;

	if (tick < wheel->tick)
		tick = wheel->tick;
	if (tick > wheel->tick + FARTHEST)
		tick = wheel->tick + FARTHEST;
	slot = tick % WHEEL_SLOTS;
	first = wheel->slots[slot];
	row->wheel_next = first;
	row->wheel_prev = WHEEL_HEAD | slot;
	if (first)
		conn_at(table, first)->wheel_prev = conn_number(table, row);
	wheel->slots[slot] = conn_number(table, row);
	wheel->used[slot / 64] |= 1ull << slot % 64;
	wheel->nr++;
}

void wheel_arm(struct sp_conn_table *table, struct conn *row, uint64_t now_ns,
	       uint64_t lifetime_ns)
{
	take_out(table, row);
	row->expires_ns = lifetime_ns ? now_ns + lifetime_ns : 0;
	if (!lifetime_ns)
		return;
	if (!table->wheel.nr)
		table->wheel.tick = now_ns >> WHEEL_SHIFT;
	put_in(table, row);
}

/* Return: distance to the first used slot from @tick on; WHEEL_SLOTS for none.
 */
static uint32_t next_used(const struct wheel *wheel, uint64_t tick)
{
	uint32_t first = tick % WHEEL_SLOTS;
	uint32_t nr_words = WHEEL_SLOTS / 64;

	for (uint32_t i = 0; i <= nr_words; i++) {
		uint32_t word = (first / 64 + i) % nr_words;
		uint64_t bits = wheel->used[word];

		if (!i)
			bits &= ~0ull << first % 64;
		else if (i == nr_words)
			bits &= ~(~0ull << first % 64);
		if (bits)
			return (word * 64 + (uint32_t)__builtin_ctzll(bits) -
				first) %
			       WHEEL_SLOTS;
	}
	return WHEEL_SLOTS;
}

struct conn *wheel_expired(struct sp_conn_table *table, uint64_t now_ns)
{
	struct wheel *wheel = &table->wheel;
	uint64_t now_tick = now_ns >> WHEEL_SHIFT;

	while (wheel->tick <= now_tick) {
		uint32_t distance = next_used(wheel, wheel->tick);
		struct conn *row;

		if (distance == WHEEL_SLOTS ||
		    wheel->tick + distance > now_tick) {
			wheel->tick = now_tick + 1;
			return NULL;
		}
		wheel->tick += distance;
		row = conn_at(table, wheel->slots[wheel->tick % WHEEL_SLOTS]);
		take_out(table, row);
		if (row->expires_ns <= now_ns)
			return row;
		wheel->tick++; /* so that it does not come back here */
		put_in(table, row);
		wheel->tick--;
	}
	return NULL;
}

uint64_t wheel_next_ns(const struct wheel *wheel)
{
	uint32_t distance = next_used(wheel, wheel->tick);

	if (distance == WHEEL_SLOTS)
		return UINT64_MAX;
	return (wheel->tick + distance) << WHEEL_SHIFT;
}
