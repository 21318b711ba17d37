/* SPDX-License-Identifier: MIT */
/*
 * rule/match.h - the match of one flower rule, from tc's words.
 *
 * Words are read in their order: ports and ICMP types need ip_proto before
 * them, addresses the protocol, keys of the inner tag vlan_ethtype. Of a key
 * that is given twice the last one counts.
 */
#ifndef SP_RULE_MATCH_H
#define SP_RULE_MATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "rule/flow_key.h"

/* What tc does after an error. */
enum sp_rule_fate {
	SP_RULE_GOES_ON,  /* says "Command failed FILE:LINE"; -force goes on */
	SP_RULE_EXITS_1,  /* gone at once, with -force too */
	SP_RULE_EXITS_255,
};

/* Whose usage tc prints behind the text. */
enum sp_rule_usage {
	SP_RULE_USAGE_NONE,
	SP_RULE_USAGE_FLOWER,
	SP_RULE_USAGE_GACT,
};

/* Longer words are cut in a message. */
#define SP_RULE_ERROR_LEN 256

struct sp_rule_error {
	enum sp_rule_fate fate;
	enum sp_rule_usage usage;
	char text[SP_RULE_ERROR_LEN]; /* without a newline at its end */
};

/* sp_rule_match.flags */
enum {
	SP_MATCH_SKIP_HW = 1,
	SP_MATCH_SKIP_SW = 2,
	SP_MATCH_VERBOSE = 4,
	SP_MATCH_SRC_RANGE = 8,  /* src_port to src_port_max */
	SP_MATCH_DST_RANGE = 16,
	SP_MATCH_CLASSID = 32,
};

struct sp_rule_match {
	struct sp_flow_key key;
	struct sp_flow_key mask;
	char indev[16];      /* "": any; the caller knows its number */
	uint32_t classid;
	uint16_t eth_type;   /* whose addresses and transport are meant */
	uint16_t flags;
};

/**
 * sp_rule_match_parse() - read flower's words up to `action`
 * @words: NULL behind the last one
 * @protocol: of the rule, an EtherType; ETH_P_ALL for all
 * @ret_rest: the word at which reading stopped: an `action`, or the NULL
 *
 * Keys of tunnels, of connection tracking and of CFM are refused by name.
 *
 * Return: 0, or -EINVAL with @ret_error set and the others undefined.
 */
int sp_rule_match_parse(struct sp_rule_match *match, char **words,
			uint16_t protocol, char ***ret_rest,
			struct sp_rule_error *ret_error);

#endif
