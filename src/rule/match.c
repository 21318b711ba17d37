// SPDX-License-Identifier: MIT
/*
 * rule/match.c - flower's words as key and mask.
 *
 * One row of `words` for each word, in the order in which tc compares them: any
 * beginning of a word is that word, and where several fit the first one wins.
 * A reader gets the row and the value behind the word. At the end the keys are
 * forgotten that the kernel forgets.
 */
#include "rule/match.h"

#include <errno.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "rule/value.h"

#define TYPE_PPP_SES 0x8864
#define TYPE_8021AD  0x88a8
#define TYPE_MPLS_UC 0x8847
#define TYPE_MPLS_MC 0x8848
#define TYPE_RARP    0x8035

struct parser {
	struct sp_rule_match *match;
	struct sp_rule_error *error;
	char **next;           /* the word to read */
	uint16_t protocol;
	uint16_t vlan_type;    /* behind the outer tag, 0: not said */
	uint16_t cvlan_type;
	uint16_t ppp_type;
	bool plain_mpls;       /* mpls_label and its kin */
};

struct word {
	const char *name;
	bool (*read)(struct parser *p, const struct word *word,
		     const char *value);
	uint16_t at;           /* offset in struct sp_flow_key */
	uint8_t shift;
	uint32_t max;
	bool whole;            /* no abbreviation */
	bool alone;            /* no value behind it */
};

static bool fail(struct parser *p, enum sp_rule_fate fate, const char *format,
		 ...) __attribute__((format(printf, 3, 4)));

static bool fail(struct parser *p, enum sp_rule_fate fate, const char *format,
		 ...)
{
	va_list args;

	p->error->fate = fate;
	p->error->usage = SP_RULE_USAGE_NONE;
	va_start(args, format);
	vsnprintf(p->error->text, sizeof(p->error->text), format, args);
	va_end(args);
	return false;
}

static bool illegal(struct parser *p, const char *name)
{
	return fail(p, SP_RULE_GOES_ON, "Illegal \"%s\"", name);
}

/* The EtherType whose keys follow: of the innermost header that was named. */
static uint16_t inner_type(const struct parser *p)
{
	if (p->ppp_type)
		return p->ppp_type;
	if (p->cvlan_type)
		return p->cvlan_type;
	return p->vlan_type ? p->vlan_type : p->protocol;
}

static bool is_ip(uint16_t type)
{
	return type == ETHERTYPE_IP || type == ETHERTYPE_IPV6;
}

static bool is_vlan(uint16_t type)
{
	return type == ETHERTYPE_VLAN || type == TYPE_8021AD;
}

static bool is_arp(uint16_t type)
{
	return type == ETHERTYPE_ARP || type == TYPE_RARP;
}

static bool has_ports(uint8_t ip_proto)
{
	return ip_proto == IPPROTO_TCP || ip_proto == IPPROTO_UDP ||
	       ip_proto == IPPROTO_SCTP;
}

static void *key_at(struct parser *p, const struct word *word)
{
	return (char *)&p->match->key + word->at;
}

static void *mask_at(struct parser *p, const struct word *word)
{
	return (char *)&p->match->mask + word->at;
}

static void set8(struct parser *p, const struct word *word, uint32_t value,
		 uint32_t mask)
{
	*(uint8_t *)key_at(p, word) = (uint8_t)value;
	*(uint8_t *)mask_at(p, word) = (uint8_t)mask;
}

static void set16(struct parser *p, const struct word *word, uint32_t value,
		  uint32_t mask)
{
	*(uint16_t *)key_at(p, word) = (uint16_t)value;
	*(uint16_t *)mask_at(p, word) = (uint16_t)mask;
}

static bool read_flag(struct parser *p, const struct word *word,
		      const char *value)
{
	p->match->flags |= (uint16_t)word->max;
	return true;
}

static bool read_classid(struct parser *p, const struct word *word,
			 const char *value)
{
	const char *colon = strchr(value, ':');
	uint32_t major = 0, minor = 0;
	char text[8] = "";

	if (colon && (size_t)(colon - value) >= sizeof(text))
		return illegal(p, word->name);
	if (colon && colon != value) {
		memcpy(text, value, (size_t)(colon - value));
		if (!sp_rule_number(text, 16, 0xffff, &major))
			return illegal(p, word->name);
	}
	value = colon ? colon + 1 : value;
	if ((*value || !colon) &&
	    !sp_rule_number(value, 16, colon ? 0xffff : UINT32_MAX, &minor))
		return illegal(p, word->name);
	p->match->classid = major << 16 | minor;
	p->match->flags |= SP_MATCH_CLASSID;
	return true;
}

static bool read_indev(struct parser *p, const struct word *word,
		       const char *value)
{
	size_t len = strlen(value);

	if (!len || len >= sizeof(p->match->indev) ||
	    strpbrk(value, "/ \t\n\v\f\r"))
		return fail(p, SP_RULE_EXITS_255,
			    "Error: argument \"%s\" is wrong: \"indev\" not a "
			    "valid ifname", value);
	memset(p->match->indev, 0, sizeof(p->match->indev));
	memcpy(p->match->indev, value, len);
	return true;
}

static bool one_ip_flag(struct sp_rule_match *match, const char *word)
{
	static const struct {
		const char *name;
		uint8_t bit;
	} flags[] = {{"frag", SP_FLOW_FRAG}, {"firstfrag", SP_FLOW_FIRST_FRAG}};
	bool unset = strncmp(word, "no", 2) == 0;

	for (size_t i = 0; i < 2; i++) {
		if (strcmp(word + (unset ? 2 : 0), flags[i].name) != 0)
			continue;
		match->mask.ip_flags |= flags[i].bit;
		if (unset)
			match->key.ip_flags &= (uint8_t)~flags[i].bit;
		else
			match->key.ip_flags |= flags[i].bit;
		return true;
	}
	return false;
}

/* Those of a second ip_flags come on top of the first. */
static bool read_ip_flags(struct parser *p, const struct word *word,
			  const char *value)
{
	char flag[16];

	for (;;) {
		size_t len = strcspn(value, "/");

		if (len >= sizeof(flag))
			return illegal(p, word->name);
		memcpy(flag, value, len);
		flag[len] = '\0';
		if (!one_ip_flag(p->match, flag))
			return illegal(p, word->name);
		if (!value[len])
			return true;
		value += len + 1;
	}
}

static bool read_num_of_vlans(struct parser *p, const struct word *word,
			      const char *value)
{
	uint32_t number;

	if (!sp_rule_number(value, 10, 0xff, &number))
		return illegal(p, word->name);
	set8(p, word, number, 0xff);
	return true;
}

static bool has_tags(const struct parser *p, uint16_t type, uint8_t nr)
{
	return is_vlan(type) || (p->match->mask.num_of_vlans &&
				 p->match->key.num_of_vlans >= nr);
}

/* vlan_id, vlan_prio and those of the inner tag: bits of a TCI. */
static bool read_tci(struct parser *p, const struct word *word,
		     const char *value)
{
	bool inner = *word->name == 'c';
	uint16_t mask = (uint16_t)(word->max << word->shift);
	uint16_t *tci = key_at(p, word);
	uint32_t number;

	if (inner && !has_tags(p, p->vlan_type, 2))
		return fail(p, SP_RULE_GOES_ON,
			    "Can't set \"%s\" if inner vlan ethertype isn't "
			    "802.1Q or 802.1AD and num_of_vlans is less than 2",
			    word->name);
	if (!inner && !has_tags(p, p->protocol, 1))
		return fail(p, SP_RULE_GOES_ON,
			    "Can't set \"%s\" if ethertype isn't 802.1Q or "
			    "802.1AD and num_of_vlans is 0", word->name);
	if (!sp_rule_number(value, 10, word->max, &number))
		return illegal(p, word->name);
	*tci = (uint16_t)((*tci & ~mask) | number << word->shift);
	*(uint16_t *)mask_at(p, word) |= mask;
	return true;
}

static bool read_vlan_type(struct parser *p, const struct word *word,
			   const char *value)
{
	bool inner = *word->name == 'c';

	if (!has_tags(p, inner ? p->vlan_type : p->protocol, inner ? 2 : 1))
		return fail(p, SP_RULE_GOES_ON,
			    "Can't set \"%s\" if ethertype isn't 802.1Q or "
			    "802.1AD and num_of_vlans %s", word->name,
			    inner ? "less than 2" : "is 0");
	if (!sp_rule_ethertype(value, inner ? &p->cvlan_type : &p->vlan_type))
		return fail(p, SP_RULE_EXITS_255,
			    "Error: argument \"%s\" is wrong: invalid %s",
			    value, word->name);
	return true;
}

static void set_lse(struct sp_rule_match *match, unsigned idx,
		    const struct word *field, uint32_t value)
{
	uint32_t mask = field->max << field->shift;

	match->key.lse[idx] = (match->key.lse[idx] & ~mask) |
			      value << field->shift;
	match->mask.lse[idx] |= mask;
}

static bool is_mpls(uint16_t type)
{
	return type == TYPE_MPLS_UC || type == TYPE_MPLS_MC;
}

/* mpls_label and its kin: of the first entry. */
static bool read_mpls(struct parser *p, const struct word *word,
		      const char *value)
{
	uint32_t number;

	if (!is_mpls(inner_type(p)))
		return fail(p, SP_RULE_GOES_ON,
			    "Can't set \"%s\" if ethertype isn't MPLS",
			    word->name);
	if (!sp_rule_number(value, 10, word->max, &number))
		return illegal(p, word->name);
	p->plain_mpls = true;
	set_lse(p->match, 0, word, number);
	return true;
}

static const struct word lse_words[] = {
	{.name = "label", .shift = 12, .max = 0xfffff},
	{.name = "tc", .shift = 9, .max = 7},
	{.name = "bos", .shift = 8, .max = 1},
	{.name = "ttl", .shift = 0, .max = 255},
};

#define NR_LSE_WORDS (sizeof(lse_words) / sizeof(lse_words[0]))

static const char *take_value(struct parser *p)
{
	if (*p->next)
		return *p->next++;
	fail(p, SP_RULE_EXITS_255,
	     "Command line is not complete. Try option \"help\"");
	return NULL;
}

static const struct word *lse_word(const char *word)
{
	for (size_t i = 0; i < NR_LSE_WORDS; i++)
		if (sp_rule_begins(word, lse_words[i].name))
			return &lse_words[i];
	return NULL;
}

/* depth N and the fields of that entry, in any order. */
static bool read_entry(struct parser *p)
{
	uint32_t values[NR_LSE_WORDS], depth = 0;
	bool given[NR_LSE_WORDS] = {false};

	while (*p->next) {
		const struct word *field = lse_word(*p->next);
		bool is_depth = sp_rule_begins(*p->next, "depth");
		const char *value;
		size_t i;

		if (!field && !is_depth)
			break;
		p->next++;
		value = take_value(p);
		if (!value)
			return false;
		if (is_depth) {
			if (!sp_rule_number(value, 10, 255, &depth) || !depth)
				return illegal(p, "depth");
			continue;
		}
		i = (size_t)(field - lse_words);
		if (!sp_rule_number(value, 10, field->max, &values[i]))
			return illegal(p, field->name);
		given[i] = true;
	}
	if (!depth || depth > SP_FLOW_NR_LSE)
		return fail(p, SP_RULE_GOES_ON,
			    "Error: Invalid MPLS depth.\n"
			    "We have an error talking to the kernel");
	for (size_t i = 0; i < NR_LSE_WORDS; i++)
		if (given[i])
			set_lse(p->match, depth - 1, &lse_words[i], values[i]);
	return true;
}

static bool read_lse_list(struct parser *p, const struct word *word,
			  const char *value)
{
	if (!is_mpls(inner_type(p)))
		return fail(p, SP_RULE_GOES_ON,
			    "Can't set \"mpls\" if ethertype isn't MPLS");
	if (p->plain_mpls)
		return fail(p, SP_RULE_GOES_ON,
			    "Can't set \"mpls\" if \"mpls_label\", \"mpls_tc\", "
			    "\"mpls_bos\" or \"mpls_ttl\" is set");
	while (*p->next && strcmp(*p->next, "lse") == 0) {
		p->next++;
		if (!read_entry(p))
			return false;
	}
	return true;
}

static bool read_ppp(struct parser *p, const struct word *word,
		     const char *value)
{
	static const struct {
		const char *name;
		uint16_t proto, type;
	} names[] = {{"ip", 0x21, ETHERTYPE_IP}, {"ipv4", 0x21, ETHERTYPE_IP},
		     {"ipv6", 0x57, ETHERTYPE_IPV6},
		     {"mpls_uc", 0x281, TYPE_MPLS_UC},
		     {"mpls_mc", 0x283, TYPE_MPLS_MC}};
	uint32_t number;

	if (p->protocol != TYPE_PPP_SES)
		return fail(p, SP_RULE_GOES_ON,
			    "Can't set \"%s\" if ethertype isn't PPPoE session",
			    word->name);
	if (word->at == offsetof(struct sp_flow_key, pppoe_sid)) {
		if (!sp_rule_number(value, 10, 0xffff, &number))
			return illegal(p, word->name);
		set16(p, word, number, 0xffff);
		return true;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(value, names[i].name) != 0)
			continue;
		p->ppp_type = names[i].type;
		set16(p, word, names[i].proto, 0xffff);
		return true;
	}
	if (!sp_rule_number(value, 0, 0xffff, &number))
		return fail(p, SP_RULE_EXITS_255,
			    "Error: argument \"%s\" is wrong: invalid ppp_proto",
			    value);
	set16(p, word, number, 0xffff);
	return true;
}

/* arp_sha and arp_tha are taken everywhere, and forgotten. */
static bool read_mac(struct parser *p, const struct word *word,
		     const char *value)
{
	char bad[64];

	if (sp_rule_mac(value, key_at(p, word), mask_at(p, word), bad,
			sizeof(bad)))
		return true;
	if (*bad)
		return fail(p, SP_RULE_GOES_ON,
			    "\"%s\" is invalid lladdr.\nIllegal \"%s\"", bad,
			    word->name);
	return illegal(p, word->name);
}

/* A number is hexadecimal: 17 is not UDP. */
static bool read_ip_proto(struct parser *p, const struct word *word,
			  const char *value)
{
	static const struct {
		const char *name;
		uint8_t proto;
		uint16_t only; /* 0: both */
	} names[] = {{"tcp", IPPROTO_TCP, 0}, {"udp", IPPROTO_UDP, 0},
		     {"sctp", IPPROTO_SCTP, 0},
		     {"icmp", IPPROTO_ICMP, ETHERTYPE_IP},
		     {"icmpv6", IPPROTO_ICMPV6, ETHERTYPE_IPV6}};
	uint16_t type = inner_type(p);
	uint32_t number;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!sp_rule_begins(value, names[i].name))
			continue;
		if (!is_ip(type) || (names[i].only && names[i].only != type))
			return fail(p, SP_RULE_GOES_ON,
				    "Illegal \"eth_type\" for ip proto\n"
				    "Illegal \"%s\"", word->name);
		set8(p, word, names[i].proto, 0xff);
		return true;
	}
	if (!sp_rule_number(value, 16, 0xff, &number))
		return illegal(p, word->name);
	set8(p, word, number, 0xff);
	return true;
}

/* ip_tos and ip_ttl: decimal, else hexadecimal. */
static bool read_tos(struct parser *p, const struct word *word,
		     const char *value)
{
	uint32_t number, mask;

	if (!sp_rule_masked(value, 10, 16, 0xff, &number, &mask) &&
	    !sp_rule_masked(value, 16, 16, 0xff, &number, &mask))
		return illegal(p, word->name);
	set8(p, word, number, mask);
	return true;
}

static bool prefix(struct parser *p, const char *value, int family,
		   uint8_t addr[16], uint8_t mask[16])
{
	if (sp_rule_prefix(value, family, addr, mask))
		return true;
	return fail(p, SP_RULE_EXITS_1,
		    "Error: %s prefix is expected rather than \"%s\".",
		    family == AF_INET ? "inet" : "inet6", value);
}

static bool read_ip(struct parser *p, const struct word *word,
		    const char *value)
{
	uint16_t type = inner_type(p);

	if (!is_ip(type))
		return illegal(p, word->name);
	return prefix(p, value, type == ETHERTYPE_IP ? AF_INET : AF_INET6,
		      key_at(p, word), mask_at(p, word));
}

static bool read_arp_ip(struct parser *p, const struct word *word,
			const char *value)
{
	uint8_t addr[16], mask[16];

	if (!is_arp(inner_type(p)))
		return illegal(p, word->name);
	if (!prefix(p, value, AF_INET, addr, mask))
		return false;
	memcpy(key_at(p, word), addr, 4);
	memcpy(mask_at(p, word), mask, 4);
	return true;
}

static bool read_arp_op(struct parser *p, const struct word *word,
			const char *value)
{
	uint32_t number, mask = 0xff;

	if (!is_arp(inner_type(p)))
		return illegal(p, word->name);
	if (strcmp(value, "request") == 0)
		number = 1;
	else if (strcmp(value, "reply") == 0)
		number = 2;
	else if (!sp_rule_masked(value, 10, 10, 0xff, &number, &mask) ||
		 number > 2)
		return illegal(p, word->name);
	set8(p, word, number, mask);
	return true;
}

/* MIN-MAX; a maximum of 0 is none, and MIN one port. */
static bool port_range(struct parser *p, const struct word *word,
		       const char *value, uint16_t range_flag)
{
	uint16_t *max = &p->match->key.src_port_max + (word->shift ? 1 : 0);
	const char *dash = strchr(value, '-');
	uint32_t low, high;
	char text[16] = "";

	if ((size_t)(dash - value) >= sizeof(text))
		return illegal(p, word->name);
	memcpy(text, value, (size_t)(dash - value));
	if (!sp_rule_number(text, 10, 0xffff, &low) || !low ||
	    !sp_rule_number(dash + 1, 10, 0xffff, &high))
		return illegal(p, word->name);
	if (high && high <= low)
		return fail(p, SP_RULE_GOES_ON,
			    "max value should be greater than min value\n"
			    "Illegal \"%s\"", word->name);
	set16(p, word, low, 0xffff);
	*max = (uint16_t)high;
	if (high)
		p->match->flags |= range_flag;
	return true;
}

static bool read_port(struct parser *p, const struct word *word,
		      const char *value)
{
	uint16_t range_flag = word->shift ? SP_MATCH_DST_RANGE :
					    SP_MATCH_SRC_RANGE;
	uint32_t number, mask = 0xffff;

	if (!has_ports(p->match->key.ip_proto))
		return illegal(p, word->name);
	p->match->flags &= (uint16_t)~range_flag;
	if (strchr(value, '-'))
		return port_range(p, word, value, range_flag);
	if (strchr(value, '/') ?
	    !sp_rule_masked(value, 0, 0, 0xffff, &number, &mask) :
	    !sp_rule_number(value, 10, 0xffff, &number) || !number)
		return illegal(p, word->name);
	set16(p, word, number, mask);
	return true;
}

static bool read_tcp_flags(struct parser *p, const struct word *word,
			   const char *value)
{
	uint32_t number, mask;

	if (!sp_rule_masked(value, 16, 16, 0xfff, &number, &mask))
		return illegal(p, word->name);
	set16(p, word, number, mask);
	return true;
}

static bool read_icmp(struct parser *p, const struct word *word,
		      const char *value)
{
	uint8_t proto = p->match->key.ip_proto;
	uint16_t type = inner_type(p);
	uint32_t number, mask;

	if (!(type == ETHERTYPE_IP && proto == IPPROTO_ICMP) &&
	    !(type == ETHERTYPE_IPV6 && proto == IPPROTO_ICMPV6))
		return fail(p, SP_RULE_GOES_ON, "Illegal \"icmp %s\"",
			    word->name);
	if (!sp_rule_masked(value, 10, 10, 0xff, &number, &mask))
		return fail(p, SP_RULE_GOES_ON, "Illegal \"icmp %s\"",
			    word->name);
	set8(p, word, number, mask);
	return true;
}

static bool refuse(struct parser *p, const struct word *word, const char *value)
{
	return fail(p, SP_RULE_GOES_ON,
		    "\"%s\" is a key of tunnels or connection tracking, which "
		    "no packet here has", word->name);
}

#define AT(member) .at = offsetof(struct sp_flow_key, member)

static const struct word words[] = {
	{.name = "classid", .read = read_classid},
	{.name = "flowid", .read = read_classid},
	{.name = "ip_flags", .read = read_ip_flags},
	{.name = "verbose", .read = read_flag, .max = SP_MATCH_VERBOSE,
	 .alone = true},
	{.name = "skip_hw", .read = read_flag, .max = SP_MATCH_SKIP_HW,
	 .alone = true},
	{.name = "skip_sw", .read = read_flag, .max = SP_MATCH_SKIP_SW,
	 .alone = true},
	{.name = "ct_state", .read = refuse},
	{.name = "ct_zone", .read = refuse},
	{.name = "ct_mark", .read = refuse},
	{.name = "ct_label", .read = refuse},
	{.name = "indev", .read = read_indev},
	{.name = "num_of_vlans", .read = read_num_of_vlans, AT(num_of_vlans),
	 .whole = true},
	{.name = "vlan_id", .read = read_tci, AT(vlan_tci), .max = 0xfff},
	{.name = "vlan_prio", .read = read_tci, AT(vlan_tci), .shift = 13, .max = 7},
	{.name = "vlan_ethtype", .read = read_vlan_type},
	{.name = "cvlan_id", .read = read_tci, AT(cvlan_tci), .max = 0xfff},
	{.name = "cvlan_prio", .read = read_tci, AT(cvlan_tci),
	 .shift = 13, .max = 7},
	{.name = "cvlan_ethtype", .read = read_vlan_type},
	{.name = "mpls", .read = read_lse_list, .alone = true},
	{.name = "mpls_label", .read = read_mpls, .shift = 12, .max = 0xfffff},
	{.name = "mpls_tc", .read = read_mpls, .shift = 9, .max = 7},
	{.name = "mpls_bos", .read = read_mpls, .shift = 8, .max = 1},
	{.name = "mpls_ttl", .read = read_mpls, .shift = 0, .max = 255},
	{.name = "pppoe_sid", .read = read_ppp, AT(pppoe_sid), .whole = true},
	{.name = "ppp_proto", .read = read_ppp, AT(ppp_proto), .whole = true},
	{.name = "dst_mac", .read = read_mac, AT(dst_mac)},
	{.name = "src_mac", .read = read_mac, AT(src_mac)},
	{.name = "ip_proto", .read = read_ip_proto, AT(ip_proto)},
	{.name = "ip_tos", .read = read_tos, AT(ip_tos)},
	{.name = "ip_ttl", .read = read_tos, AT(ip_ttl)},
	{.name = "dst_ip", .read = read_ip, AT(dst_ip)},
	{.name = "src_ip", .read = read_ip, AT(src_ip)},
	{.name = "dst_port", .read = read_port, AT(dst_port), .shift = 1},
	{.name = "src_port", .read = read_port, AT(src_port)},
	{.name = "tcp_flags", .read = read_tcp_flags, AT(tcp_flags)},
	{.name = "type", .read = read_icmp, AT(icmp_type)},
	{.name = "code", .read = read_icmp, AT(icmp_code)},
	{.name = "arp_tip", .read = read_arp_ip, AT(arp_tip)},
	{.name = "arp_sip", .read = read_arp_ip, AT(arp_sip)},
	{.name = "arp_op", .read = read_arp_op, AT(arp_op)},
	{.name = "arp_tha", .read = read_mac, AT(arp_tha)},
	{.name = "arp_sha", .read = read_mac, AT(arp_sha)},
	{.name = "enc_dst_ip", .read = refuse},
	{.name = "enc_src_ip", .read = refuse},
	{.name = "enc_key_id", .read = refuse},
	{.name = "enc_dst_port", .read = refuse},
	{.name = "enc_tos", .read = refuse},
	{.name = "enc_ttl", .read = refuse},
	{.name = "geneve_opts", .read = refuse},
	{.name = "vxlan_opts", .read = refuse},
	{.name = "erspan_opts", .read = refuse},
	{.name = "gtp_opts", .read = refuse},
};

static const struct word *find_word(const char *text)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const struct word *word = &words[i];

		if (word->whole ? strcmp(text, word->name) == 0 :
				  sp_rule_begins(text, word->name))
			return word;
	}
	return NULL;
}

static bool read_word(struct parser *p)
{
	const char *text = *p->next++;
	const struct word *word = find_word(text);
	const char *value = NULL;

	if (!word) {
		fail(p, SP_RULE_GOES_ON, "What is \"%s\"?", text);
		p->error->usage = SP_RULE_USAGE_FLOWER;
		return false;
	}
	if (!word->alone) {
		value = take_value(p);
		if (!value)
			return false;
	}
	return word->read(p, word, value);
}

/* What the kernel takes and does not look at. */
static void forget(struct parser *p)
{
	struct sp_flow_key *key = &p->match->key, *mask = &p->match->mask;
	uint16_t type = inner_type(p);

	p->match->eth_type = type;
	if (key->ip_proto != IPPROTO_TCP)
		key->tcp_flags = mask->tcp_flags = 0;
	if (!has_ports(key->ip_proto)) {
		key->src_port = mask->src_port = 0;
		key->dst_port = mask->dst_port = 0;
		key->src_port_max = key->dst_port_max = 0;
		p->match->flags &= (uint16_t)~(SP_MATCH_SRC_RANGE |
					       SP_MATCH_DST_RANGE);
	}
	if (!is_arp(type)) {
		memset(key->arp_sha, 0, 6);
		memset(mask->arp_sha, 0, 6);
		memset(key->arp_tha, 0, 6);
		memset(mask->arp_tha, 0, 6);
	}
}

int sp_rule_match_parse(struct sp_rule_match *match, char **text,
			uint16_t protocol, char ***ret_rest,
			struct sp_rule_error *ret_error)
{
	struct parser p = {.match = match, .error = ret_error, .next = text,
			   .protocol = protocol};

	memset(match, 0, sizeof(*match));
	/* "a" and its like are arp_tip: tc compares that first */
	while (*p.next && (find_word(*p.next) ||
			   !sp_rule_begins(*p.next, "action")))
		if (!read_word(&p))
			return -EINVAL;
	forget(&p);
	*ret_rest = p.next;
	return 0;
}
