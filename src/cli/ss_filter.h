/* SPDX-License-Identifier: MIT */
/*
 * cli/ss_filter.h - which sockets `statplane ss` shows: the language of ss(8).
 *
 *	filter     { (state | exclude) STATES } [ expression ]
 *	expression and-part { or and-part }
 *	and-part   part { [and] part }
 *	part       { not } ( "(" expression ")" | test )
 *	test       (src | dst) [= | !=] HOST
 *	           (sport | dport) (= | != | < | > | <= | >=) PORT
 *
 * or: | ||; and: & &&, or nothing; not: !; = is == and eq, != is ne and neq, the
 * others lt, gt, le, ge too. A filter is parsed into a few hundred operations in
 * reverse Polish order at most; it allocates nothing.
 */
#ifndef SP_CLI_SS_FILTER_H
#define SP_CLI_SS_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <statplane/conn.h>

#define SP_SS_TEXT_MAX  4096 /* characters */
#define SP_SS_OPS_MAX   256
#define SP_SS_DEPTH_MAX 24 /* of parentheses */

/* Sets of states: bit enum sp_tcp_state. */
#define SP_SS_BIT(state)   (1u << SP_TCP_##state)
#define SP_SS_ALL          0xffeu /* every bit from 1 to 11 */
#define SP_SS_UNCONNECTED  SP_SS_BIT(CLOSE)
#define SP_SS_LISTENING    SP_SS_BIT(LISTEN)
#define SP_SS_BUCKET       (SP_SS_BIT(SYN_RECV) | SP_SS_BIT(TIME_WAIT))
#define SP_SS_CONNECTED    (SP_SS_ALL & ~(SP_SS_UNCONNECTED | SP_SS_LISTENING))
#define SP_SS_SYNCHRONIZED (SP_SS_CONNECTED & ~SP_SS_BIT(SYN_SENT))

struct sp_ss_op {
	uint8_t kind;    /* private to ss_filter.c */
	uint8_t compare; /* the same */
	uint8_t family;  /* AF_INET, AF_INET6; 0: any address */
	uint8_t prefix_bits;
	bool is_remote;
	bool has_port;
	uint16_t port;
	uint8_t addr[16];
};

struct sp_ss_filter {
	bool has_states; /* it says which */
	uint32_t states;
	unsigned nr_ops; /* 0: every socket */
	struct sp_ss_op ops[SP_SS_OPS_MAX];
};

struct sp_ss_error {
	size_t pos; /* where in the text, from 0 */
	char text[160];
};

/**
 * sp_ss_filter_parse() - read a filter
 * @text: may be empty: every socket
 * @ret_error: what is wrong with the text, if -EINVAL is returned
 *
 * Service names are looked up as getservbyname(3) does; host names are not.
 *
 * Return: 0; -EINVAL, and @filter is then void.
 */
int sp_ss_filter_parse(struct sp_ss_filter *filter, const char *text,
		       struct sp_ss_error *ret_error);

/* Does @conn pass the expression? States are not looked at. */
bool sp_ss_filter_passes(const struct sp_ss_filter *filter,
			 const struct sp_conn *conn);

/* The word for a state, "unknown" for a number that is none. */
const char *sp_ss_state_name(unsigned state);

#endif
