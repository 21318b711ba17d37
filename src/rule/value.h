/* SPDX-License-Identifier: MIT */
/*
 * rule/value.h - numbers, addresses and names as tc reads them.
 */
#ifndef SP_RULE_VALUE_H
#define SP_RULE_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The whole word is a number of @base (0: as in C) and at most @max. */
bool sp_rule_number(const char *word, int base, uint32_t max, uint32_t *ret);

/* @word is a beginning of @name, and not empty. */
bool sp_rule_begins(const char *word, const char *name);

/*
 * VALUE or VALUE/MASK, each at most @max, of its own base; without a mask it is
 * @max. The word stays as it is.
 */
bool sp_rule_masked(const char *word, int base, int mask_base, uint32_t max,
		    uint32_t *ret_value, uint32_t *ret_mask);

/* Six octets, and the mask behind a '/' as six octets or a number of bits. */
bool sp_rule_mac(const char *word, uint8_t ret_mac[6], uint8_t ret_mask[6],
		 char *ret_bad, size_t bad_len);

/*
 * An address of @family with an optional prefix length or dotted mask; "any" and
 * "default" are the prefix of length 0. Addresses are IPv4 in the first four octets.
 */
bool sp_rule_prefix(const char *word, int family, uint8_t ret_addr[16],
		    uint8_t ret_mask[16]);

/* A name of an EtherType, or its number. */
bool sp_rule_ethertype(const char *word, uint16_t *ret_type);

#endif
