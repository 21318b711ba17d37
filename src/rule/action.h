/* SPDX-License-Identifier: MIT */
/*
 * rule/action.h - the actions of one rule, from tc's words: gact and what may
 * stand behind every action.
 */
#ifndef SP_RULE_ACTION_H
#define SP_RULE_ACTION_H

#include <stdbool.h>
#include <stdint.h>

#include "rule/match.h"

/* More of them are lost, without a word, as in the kernel. */
#define SP_RULE_MAX_ACTIONS 32

enum sp_rule_verdict {
	SP_RULE_PASS,
	SP_RULE_DROP,
	SP_RULE_PIPE,
	SP_RULE_CONTINUE,
	SP_RULE_RECLASSIFY,
	SP_RULE_TRAP,
	SP_RULE_GOTO, /* argument: the chain */
	SP_RULE_JUMP, /* argument: how many actions are left out */
};

enum sp_rule_random {
	SP_RULE_RANDOM_NONE,
	SP_RULE_RANDOM_NET,    /* one of random_val packets, by chance */
	SP_RULE_RANDOM_DETERM, /* every random_val-th packet */
};

/* sp_rule_action.flags */
enum {
	SP_ACTION_NO_PERCPU = 1,
	SP_ACTION_SKIP_HW = 2,
	SP_ACTION_SKIP_SW = 4,
};

/* sp_rule_action.hw_stats; 0: not given */
enum {
	SP_HW_STATS_IMMEDIATE = 1,
	SP_HW_STATS_DELAYED,
	SP_HW_STATS_DISABLED,
};

struct sp_rule_action {
	uint32_t index;         /* 0: the lowest that is free */
	uint32_t argument;
	uint32_t random_argument;
	uint16_t random_val;    /* at most 10000 */
	uint8_t verdict;
	uint8_t random;
	uint8_t random_verdict;
	uint8_t flags;
	uint8_t hw_stats;
	uint8_t cookie_len;
	uint8_t cookie[16];
};

/**
 * sp_rule_actions_parse() - read a list of actions
 * @words: the word behind the first `action`; NULL behind the last word
 * @actions: room for SP_RULE_MAX_ACTIONS
 * @ret_rest: the word that ended the list: classid, flowid, any beginning of
 *            add, change, delete, get or replace; or the NULL
 *
 * Return: 0, or -EINVAL with @ret_error set and the others undefined.
 */
int sp_rule_actions_parse(struct sp_rule_action *actions, unsigned *ret_nr,
			  char **words, char ***ret_rest,
			  struct sp_rule_error *ret_error);

#endif
