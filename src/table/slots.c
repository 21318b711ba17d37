// SPDX-License-Identifier: MIT
/*
 * table/slots.c - the memory of entries: which is free, and which will be.
 *
 * An entry that was removed may still be looked at by threads that found it
 * before. It waits until each of them has been quiescent (QSBR of liburcu) and
 * then goes on a stack of free ones; what was freed last, and is in a cache, is
 * used first. Waiting ones are gathered, so that a grace period is paid for by
 * many: while one list of them is filled, the other may be waited for.
 */
#include "table/state.h"

#include <errno.h>
#include <sys/mman.h>
#include <urcu-qsbr.h>

/* So many wait before it is worth a grace period. */
#define WAITING_BATCH  256
#define PREFETCH_AHEAD 4

/* Populate so many bytes of fresh entries at a time, at least. */
#define FRESH_BYTES 4096

static _Thread_local unsigned nr_registrations;

/* Its pages are zero, and those never touched cost nothing. */
static int stack_init(struct sp_slot_stack *stack, uint32_t max)
{
	void *mem =
		mmap(NULL, max * sizeof(*stack->idx), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (mem == MAP_FAILED)
		return -ENOMEM;
	stack->idx = mem;
	stack->nr = 0;
	return 0;
}

static void stack_fini(struct sp_slot_stack *stack, uint32_t max)
{
	if (stack->idx)
		munmap(stack->idx, max * sizeof(*stack->idx));
	stack->idx = NULL;
}

int sp_slots_init(struct sp_table *table, uint32_t max_slots)
{
	int err = stack_init(&table->free, max_slots);

	for (int i = 0; i < 2 && !err; i++)
		err = stack_init(&table->waiting[i], max_slots);
	return err;
}

void sp_slots_fini(struct sp_table *table)
{
	uint32_t max = table->view.max_slots;

	stack_fini(&table->free, max);
	stack_fini(&table->waiting[0], max);
	stack_fini(&table->waiting[1], max);
}

/* Under slot_lock. */
static int get_fresh(struct sp_table *table, uint32_t *ret_idx)
{
	uint32_t slot_bytes = table->view.slot_bytes;

	if (table->next_slot == table->view.max_slots)
		return -ENOSPC;
	if (table->next_slot == table->ready_slots) {
		uint64_t have = (uint64_t)table->ready_slots * slot_bytes;
		uint64_t most = (uint64_t)table->view.max_slots * slot_bytes;
		uint64_t want = have + FRESH_BYTES;
		uint64_t nr;
		int err;

		if (want < have + slot_bytes)
			want = have + slot_bytes;
		err = sp_table_populate(table, SP_RANGE_ENTRIES,
					want < most ? want : most);
		if (err)
			return err;
		nr = sp_table_populated(table, SP_RANGE_ENTRIES) / slot_bytes;
		table->ready_slots = nr < table->view.max_slots
					     ? (uint32_t)nr
					     : table->view.max_slots;
		/* [P3] */
		__atomic_store_n(&table->hdr->nr_slots, table->ready_slots,
				 __ATOMIC_RELEASE);
	}
	*ret_idx = table->next_slot++;
	/* [P3], for those who go by number: see nr_slots. */
	__atomic_store_n(&table->hdr->nr_used, table->next_slot,
			 __ATOMIC_RELEASE);
	return 0;
}

/* Under slot_lock. */
static int get(struct sp_table *table, uint32_t *ret_idx)
{
	struct sp_slot_stack *free = &table->free;

	if (!free->nr)
		return get_fresh(table, ret_idx);
	*ret_idx = free->idx[--free->nr];
	if (free->nr >= PREFETCH_AHEAD)
		__builtin_prefetch(
			sp_entry_at(table,
				    free->idx[free->nr - PREFETCH_AHEAD]),
			1);
	return 0;
}

int sp_slots_get(struct sp_table *table, uint32_t *ret_idx)
{
	int err;

	sp_table_lock(table, &table->slot_lock);
	err = get(table, ret_idx);
	sp_table_unlock(table, &table->slot_lock);
	return err;
}

void sp_slots_unget(struct sp_table *table, uint32_t idx)
{
	sp_table_lock(table, &table->slot_lock);
	table->free.idx[table->free.nr++] = idx;
	sp_table_unlock(table, &table->slot_lock);
}

uint32_t sp_slots_waiting(const struct sp_table *table)
{
	return __atomic_load_n(&table->waiting[0].nr, __ATOMIC_RELAXED) +
	       __atomic_load_n(&table->waiting[1].nr, __ATOMIC_RELAXED);
}

/* Under reclaim_lock: the list that was filled is waited for and emptied. */
static void reclaim(struct sp_table *table)
{
	struct sp_slot_stack *waiting;

	sp_table_lock(table, &table->slot_lock);
	waiting = &table->waiting[table->filled];
	table->filled ^= 1;
	sp_table_unlock(table, &table->slot_lock);

	synchronize_rcu();

	sp_table_lock(table, &table->slot_lock);
	for (uint32_t i = 0; i < waiting->nr; i++)
		table->free.idx[table->free.nr++] = waiting->idx[i];
	__atomic_store_n(&waiting->nr, 0, __ATOMIC_RELAXED);
	sp_table_unlock(table, &table->slot_lock);
}

void sp_table_quiescent(struct sp_table *table)
{
	if (nr_registrations)
		rcu_quiescent_state();
	if (!table || sp_slots_waiting(table) < WAITING_BATCH)
		return;
	if (!table->is_shared) {
		reclaim(table);
	} else if (sp_lock_try(&table->reclaim_lock)) {
		reclaim(table);
		sp_lock_release(&table->reclaim_lock);
	}
}

/* --- threads -------------------------------------------------------------- */

void sp_table_thread_register(void)
{
	if (!nr_registrations++)
		rcu_register_thread();
}

void sp_table_thread_unregister(void)
{
	if (nr_registrations && !--nr_registrations)
		rcu_unregister_thread();
}

void sp_table_thread_offline(void)
{
	if (nr_registrations)
		rcu_thread_offline();
}

void sp_table_thread_online(void)
{
	if (nr_registrations)
		rcu_thread_online();
}
