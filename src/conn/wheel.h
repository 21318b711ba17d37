/* SPDX-License-Identifier: MIT */
/*
 * conn/wheel.h - when rows go: a wheel of timers.
 *
 * Each row has at most one timer. A slot holds those that end within one tick, in
 * a list; what ends later than one turn of the wheel stands in the last slot of
 * the turn and is put in again when that comes. A timer fires at the first tick
 * that begins at or after its time, so up to WHEEL_TICK_NS late.
 */
#ifndef SP_CONN_WHEEL_H
#define SP_CONN_WHEEL_H

#include <stdint.h>

#define WHEEL_SHIFT   26    /* 67 ms */
#define WHEEL_SLOTS   2048u /* 137 s: longer than all but idle times */
#define WHEEL_TICK_NS (1ull << WHEEL_SHIFT)

struct conn;
struct sp_conn_table;

struct wheel {
	uint64_t tick;               /* all before were looked at */
	uint32_t nr;                 /* rows with a timer */
	uint32_t slots[WHEEL_SLOTS]; /* number of the first row, 0 for none */
	uint64_t used[WHEEL_SLOTS / 64];
};

/* Set the row's timer, whatever it was; @lifetime_ns 0: none. */
void wheel_arm(struct sp_conn_table *table, struct conn *row, uint64_t now_ns,
	       uint64_t lifetime_ns);
/* Return: a row whose time is up at @now_ns, its timer taken off; NULL for no
 * more. */
struct conn *wheel_expired(struct sp_conn_table *table, uint64_t now_ns);
/* When the next one may fire; UINT64_MAX for none. */
uint64_t wheel_next_ns(const struct wheel *wheel);

#endif
