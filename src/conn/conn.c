/* SPDX-License-Identifier: MIT */
/*
 * conn/conn.c - rows: made, given up, changed.
 *
 * Two lists keep their order by time, so that the oldest half-open connection,
 * and the one that waits for longest, are at the head. The order of the others is
 * not kept: it would cost two misses a packet. A row that was silent for long is
 * looked for where it is needed: of the next NR_LOOKED_AT rows the one whose last
 * packet is oldest goes.
 */
#include "conn/conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fence.h"
#include "net/handle.h"
#include "plane/plane.h"

#define DEFAULT_CONNS 65536u
#define MAX_CONNS     (1u << 24)
#define NR_LOOKED_AT  16u

static void list_add(struct sp_conn_table *table, struct conn *conn)
{
	struct conn_list *list = &table->lists[conn->class];
	uint32_t number = conn_number(table, conn);

	conn->list_next = 0;
	conn->list_prev = list->tail;
	if (list->tail)
		conn_at(table, list->tail)->list_next = number;
	else
		list->head = number;
	list->tail = number;
	list->nr++;
}

static void list_remove(struct sp_conn_table *table, struct conn *conn)
{
	struct conn_list *list = &table->lists[conn->class];

	if (conn->list_prev)
		conn_at(table, conn->list_prev)->list_next = conn->list_next;
	else
		list->head = conn->list_next;
	if (conn->list_next)
		conn_at(table, conn->list_next)->list_prev = conn->list_prev;
	else
		list->tail = conn->list_prev;
	list->nr--;
}

void conn_settle(struct sp_conn_table *table)
{
	if (!table->changing)
		return;
	sp_table_change_end(&table->changing->head);
	table->changing = NULL;
}

void conn_change(struct sp_conn_table *table, struct conn *conn)
{
	if (table->changing == conn)
		return;
	conn_settle(table);
	sp_table_change_begin(&conn->head);
	sp_fence_release(); /* [T5] */
	table->changing = conn;
}

static void take_out(struct sp_conn_table *table, struct conn *conn)
{
	if (table->changing == conn)
		conn_settle(table);
	list_remove(table, conn);
	wheel_arm(table, conn, 0, 0);
	sp_table_remove(table->table, &conn->head);
	table->stats.nr_rows--;
}

/* Of the next few rows the one that was silent for longest. */
static struct conn *find_silent(struct sp_conn_table *table)
{
	struct conn *found = NULL;

	if (!table->lists[CONN_FULL].nr)
		return NULL;
	for (uint32_t i = 0; i < NR_LOOKED_AT || !found; i++) {
		struct conn *conn;

		table->hand = table->hand % table->nr_rows + 1;
		conn = conn_at(table, table->hand);
		if (!conn_is_alive(conn) || conn->class != CONN_FULL)
			continue;
		if (!found || conn->last_ns < found->last_ns)
			found = conn;
	}
	return found;
}

static struct conn *find_victim(struct sp_conn_table *table)
{
	struct conn_list *lists = table->lists;

	if (lists[CONN_EMBRYONIC].nr)
		return conn_at(table, lists[CONN_EMBRYONIC].head);
	if (lists[CONN_WAITING].nr)
		return conn_at(table, lists[CONN_WAITING].head);
	return table->newcomer == CONN_EMBRYONIC ? NULL : find_silent(table);
}

/* sp_table_opts.evict */
static unsigned evict(struct sp_table *unused, void *arg)
{
	struct sp_conn_table *table = arg;
	struct conn *victim = find_victim(table);

	(void)unused;
	if (!victim)
		return 0;
	if (table->gone)
		table->gone(table->ctx, victim, false);
	take_out(table, victim);
	table->stats.nr_evicted++;
	return 1;
}

struct conn *conn_add(struct sp_conn_table *table, uint64_t hash,
		      const struct sp_conn_key *key, enum conn_class class)
{
	struct sp_table_head *head;
	struct conn *conn;

	conn_settle(table);
	table->newcomer = class;
	if (sp_table_insert(table->table, key, hash, NULL, &head)) {
		table->stats.nr_refused++;
		return NULL;
	}
	conn = (struct conn *)(void *)head;
	conn_change(table, conn);
	conn->class = (uint8_t) class;
	if (conn_number(table, conn) > table->nr_rows)
		table->nr_rows = conn_number(table, conn);
	list_add(table, conn);
	table->stats.nr_opened++;
	table->stats.nr_rows++;
	return conn;
}

void conn_remove(struct sp_conn_table *table, struct conn *conn)
{
	take_out(table, conn);
	table->stats.nr_closed++;
}

void conn_set_class(struct sp_conn_table *table, struct conn *conn,
		    enum conn_class class)
{
	if (conn->class == class)
		return;
	list_remove(table, conn);
	conn->class = (uint8_t) class;
	list_add(table, conn);
}

void conn_arm(struct sp_conn_table *table, struct conn *conn, uint64_t now_ns,
	      uint64_t lifetime_ns)
{
	wheel_arm(table, conn, now_ns, lifetime_ns);
}

void conn_on_gone(struct sp_conn_table *table, conn_gone *gone, void *ctx)
{
	table->gone = gone;
	table->ctx = ctx;
}

/* A connection that was not idle after all: its packets have not moved the
 * timer. Return: whether it stays. */
static bool is_busy(struct sp_conn_table *table, struct conn *conn)
{
	if (!table->idle_ns || conn->class != CONN_FULL ||
	    conn->state != SP_TCP_ESTABLISHED ||
	    conn->last_ns + table->idle_ns <= table->now_ns)
		return false;
	wheel_arm(table, conn, conn->last_ns, table->idle_ns);
	return true;
}

void sp_conn_advance(struct sp_conn_table *table, uint64_t now_ns)
{
	struct conn *conn;

	if (now_ns <= table->now_ns)
		return;
	table->now_ns = now_ns;
	while ((conn = wheel_expired(table, now_ns))) {
		if (is_busy(table, conn))
			continue;
		if (table->gone && table->gone(table->ctx, conn, true))
			continue;
		take_out(table, conn);
		table->stats.nr_expired++;
	}
}

void conn_set_clock(struct sp_conn_table *table, uint64_t now_ns)
{
	sp_dir_update(table->plane, sp_table_id(table->table), CONN_ATTR_CLOCK,
		      now_ns);
}

/*
 * The table.
 */
#define OPT(opts, field)                                                       \
	((opts) && (opts)->sz >= offsetof(struct sp_conn_opts, field) +        \
					 sizeof((opts)->field)                 \
		 ? (opts)->field                                               \
		 : 0)

int sp_conn_table_create(struct sp_net *net, const struct sp_conn_opts *opts,
			 struct sp_conn_table **ret_table)
{
	uint32_t max = OPT(opts, max_conns);
	struct sp_table_opts table_opts = {
		.sz = sizeof(table_opts),
		.parent = sp_net_id(net),
		.kind = CONN_KIND,
		.key_bytes = sizeof(struct sp_conn_key),
		.entry_bytes = sizeof(struct conn),
		.max_entries = max ? max : DEFAULT_CONNS,
		.flags = SP_TABLE_ONE_WRITER,
		.evict = evict,
	};
	struct sp_conn_table *table;
	int err;

	if (max > MAX_CONNS)
		return -EINVAL;
	table = calloc(1, sizeof(*table));
	if (!table)
		return -ENOMEM;
	table_opts.evict_arg = table;
	table->plane = sp_net_plane(net);
	table->max = table_opts.max_entries;
	table->idle_ns = OPT(opts, idle_ns);
	err = sp_table_create(table->plane, "conn", &table_opts, &table->table);
	if (err) {
		free(table);
		return err;
	}
	table->rows = (struct conn *)(void *)sp_table_at(table->table, 0);
	*ret_table = table;
	return 0;
}

void sp_conn_table_destroy(struct sp_conn_table *table)
{
	if (!table)
		return;
	sp_table_destroy(table->table);
	free(table);
}

void sp_conn_read_stats(const struct sp_conn_table *table,
			struct sp_conn_stats *ret_stats)
{
	*ret_stats = table->stats;
}
