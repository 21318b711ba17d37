/* SPDX-License-Identifier: MIT */
/*
 * cli/ss.h - the parts of `statplane ss`.
 *
 *	ss.c          options; the plane and the namespace
 *	ss_filter.c   which sockets: the language of ss(8)
 *	ss_rows.c     walk, filter, sort
 *	ss_text.c     rows as columns
 *	ss_json.c     rows and sums as JSON
 *	ss_summary.c  sums over all sockets
 */
#ifndef SP_CLI_SS_H
#define SP_CLI_SS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <statplane/conn.h>
#include <statplane/reader.h>

#include "cli/ss_filter.h"

/* What is asked for. */
struct sp_ss {
	bool tcp, udp, v4, v6; /* any of them, once options are read */
	bool listening, all;
	bool numeric, timers, extended, info, memory, process;
	bool summary, no_header, one_line, json;
	const char *segment;
	const char *netns;
	const struct sp_ss_sort *sort; /* NULL: as they come */
	size_t top;                    /* 0: all */
	struct sp_ss_filter filter;

	struct sp_reader *reader;
	struct sp_object net;
	uint64_t now_ns; /* of the table, in the latest walk */
};

/* --- rows ----------------------------------------------------------------- */

struct sp_ss_sort;

/* NULL for a word that is no key. */
const struct sp_ss_sort *sp_ss_sort_find(const char *word);

typedef void sp_ss_row_fn(void *ctx, const struct sp_conn *conn);

/**
 * sp_ss_each() - call @fn for each socket that is asked for, in order
 *
 * Needs memory for --top sockets where those are asked for, for all that pass if
 * they are to be sorted, otherwise none that grows.
 *
 * Return: 0; -errno of sp_conn_walk_begin() and sp_conn_walk_next(); -ENOMEM.
 */
int sp_ss_each(struct sp_ss *ss, sp_ss_row_fn *fn, void *ctx);

/* The timer that the kernel would show: a mini socket has one of its own. */
enum sp_conn_timer sp_ss_timer(const struct sp_conn *conn);
/* Until it ends. */
uint64_t sp_ss_timer_ms(const struct sp_conn *conn, uint64_t now_ns);

/* "tcp", "udp", "udplite". */
const char *sp_ss_netid(const struct sp_conn *conn);

/* Bits in a second from the first to the last packet; 0 if that is no time. */
uint64_t sp_ss_rate(const struct sp_conn *conn, uint64_t bytes);

/* --- text and JSON -------------------------------------------------------- */

int sp_ss_print(struct sp_ss *ss);
int sp_ss_print_json(struct sp_ss *ss);

/* --- sums ----------------------------------------------------------------- */

struct sp_ss_summary {
	uint64_t nr_sockets; /* without mini ones */
	uint64_t tcp, tcp_established, tcp_closed, tcp_orphaned, tcp_timewait;
	uint64_t syn_recv;
	struct {
		uint64_t v4, v6; /* without mini ones */
	} hashed_tcp, hashed_udp;
};

/* Over all sockets of the namespace. Return: as sp_ss_each(). */
int sp_ss_sum(struct sp_ss *ss, struct sp_ss_summary *ret_summary);
int sp_ss_print_summary(struct sp_ss *ss);

#endif
