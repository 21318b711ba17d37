// SPDX-License-Identifier: MIT
/*
 * rule/value.c - numbers, addresses and names as tc reads them.
 */
#include "rule/value.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/ethernet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Longer than any word that can be a value with its mask. */
#define VALUE_LEN 128

bool sp_rule_number(const char *word, int base, uint32_t max, uint32_t *ret)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(word, &end, base);
	if (end == word || *end || errno || value > max)
		return false;
	*ret = (uint32_t)value;
	return true;
}

bool sp_rule_begins(const char *word, const char *name)
{
	return *word && strncmp(word, name, strlen(word)) == 0;
}

/* @word up to its '/' in @value; what is behind it, or NULL. */
static bool split(const char *word, char value[VALUE_LEN], const char **ret_mask)
{
	const char *slash = strchr(word, '/');
	size_t len = slash ? (size_t)(slash - word) : strlen(word);

	if (len >= VALUE_LEN)
		return false;
	memcpy(value, word, len);
	value[len] = '\0';
	*ret_mask = slash ? slash + 1 : NULL;
	return true;
}

bool sp_rule_masked(const char *word, int base, int mask_base, uint32_t max,
		    uint32_t *ret_value, uint32_t *ret_mask)
{
	char value[VALUE_LEN];
	const char *mask;

	if (!split(word, value, &mask) ||
	    !sp_rule_number(value, base, max, ret_value))
		return false;
	*ret_mask = max;
	return !mask || sp_rule_number(mask, mask_base, max, ret_mask);
}

/* The first @bits of @len octets. */
static void set_prefix(uint8_t *mask, size_t len, uint32_t bits)
{
	memset(mask, 0, len);
	for (size_t i = 0; i < len && bits; i++) {
		uint32_t here = bits < 8 ? bits : 8;

		mask[i] = (uint8_t)(0xff00u >> here);
		bits -= here;
	}
}

/* Fewer octets than six are refused, where tc takes what it never wrote. */
static bool six_octets(const char *word, uint8_t *ret, char *bad, size_t bad_len)
{
	for (int i = 0; i < 6; i++) {
		size_t len = strcspn(word, ":");
		char octet[4] = "";
		uint32_t value;

		if (len < sizeof(octet))
			memcpy(octet, word, len);
		if (!sp_rule_number(octet, 16, 0xff, &value)) {
			snprintf(bad, bad_len, "%.*s",
				 (int)(len < bad_len ? len : bad_len), word);
			return false;
		}
		ret[i] = (uint8_t)value;
		word += len;
		if (i < 5 && *word++ != ':')
			return false;
	}
	return !*word;
}

bool sp_rule_mac(const char *word, uint8_t ret_mac[6], uint8_t ret_mask[6],
		 char *ret_bad, size_t bad_len)
{
	char value[VALUE_LEN];
	const char *mask;
	uint32_t bits;

	*ret_bad = '\0';
	if (!split(word, value, &mask) ||
	    !six_octets(value, ret_mac, ret_bad, bad_len))
		return false;
	if (!mask) {
		memset(ret_mask, 0xff, 6);
		return true;
	}
	if (!sp_rule_number(mask, 10, UINT32_MAX, &bits))
		return six_octets(mask, ret_mask, ret_bad, bad_len);
	set_prefix(ret_mask, 6, bits);
	return bits <= 48;
}

/* One to four numbers with dots between; what is not given is 0. */
static bool dotted(const char *word, uint8_t ret[4])
{
	memset(ret, 0, 4);
	for (int i = 0; i < 4; i++) {
		char *end;
		unsigned long value = strtoul(word, &end, 0);

		if (end == word || value > 255)
			return false;
		ret[i] = (uint8_t)value;
		if (!*end)
			return true;
		if (*end != '.')
			return false;
		word = end + 1;
	}
	return false;
}

static bool dotted_mask(const char *word, uint32_t *ret_bits)
{
	uint8_t octets[4];
	uint32_t holes;

	if (!strchr(word, '.') || !dotted(word, octets))
		return false;
	holes = ~((uint32_t)octets[0] << 24 | (uint32_t)octets[1] << 16 |
		  (uint32_t)octets[2] << 8 | octets[3]);
	*ret_bits = holes ? (uint32_t)__builtin_clz(holes) : 32;
	return !(holes & (holes + 1));
}

static bool address(const char *word, int family, uint8_t ret[16])
{
	memset(ret, 0, 16);
	if (family == AF_INET)
		return dotted(word, ret);
	return inet_pton(AF_INET6, word, ret) == 1;
}

bool sp_rule_prefix(const char *word, int family, uint8_t ret_addr[16],
		    uint8_t ret_mask[16])
{
	uint32_t max = family == AF_INET ? 32 : 128, bits = max;
	char value[VALUE_LEN];
	const char *mask;

	memset(ret_addr, 0, 16);
	memset(ret_mask, 0, 16);
	if (strcmp(word, "any") == 0 || strcmp(word, "all") == 0 ||
	    strcmp(word, "default") == 0)
		return true;
	if (!split(word, value, &mask) || !address(value, family, ret_addr))
		return false;
	if (mask && !sp_rule_number(mask, 0, max, &bits) &&
	    (family != AF_INET || !dotted_mask(mask, &bits)))
		return false;
	set_prefix(ret_mask, 16, bits);
	return true;
}

bool sp_rule_ethertype(const char *word, uint16_t *ret_type)
{
	static const struct {
		const char *name;
		uint16_t type;
	} names[] = {
		{"all", 0x0003},    {"ip", 0x0800},     {"ipv4", 0x0800},
		{"arp", 0x0806},    {"ipv6", 0x86dd},   {"802.1Q", 0x8100},
		{"802.1ad", 0x88a8}, {"rarp", 0x8035},  {"mpls_uc", 0x8847},
		{"mpls_mc", 0x8848}, {"ppp_disc", 0x8863}, {"ppp_ses", 0x8864},
		{"802_3", 0x0001},  {"802_2", 0x0004},  {"snap", 0x0005},
		{"loop", 0x0060},   {"pup", 0x0200},    {"x25", 0x0805},
		{"aoe", 0x88a2},    {"lldp", 0x88cc},   {"profinet", 0x8892},
		{"tipc", 0x88ca},   {"fcoe", 0x8906},   {"atalk", 0x809b},
		{"aarp", 0x80f3},   {"ipx", 0x8137},
	};
	uint32_t number;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcasecmp(word, names[i].name) == 0) {
			*ret_type = names[i].type;
			return true;
		}
	}
	if (!sp_rule_number(word, 0, 0xffff, &number))
		return false;
	*ret_type = (uint16_t)number;
	return true;
}
