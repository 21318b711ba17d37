/* SPDX-License-Identifier: MIT */
/*
 * test_rule_match.c - flower's words as key and mask, and what is said of those
 * that are wrong: as recorded of tc 6.1.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <statplane/rule.h>

#include "rule/match.h"
#include "rule/value.h"

#define CASES SP_SOURCE_ROOT "/tests/oracle/tc/"

static struct sp_rule_match match;
static struct sp_rule_error error;
static char *rest_of[1], **rest = rest_of;

static int parse(uint16_t protocol, const char *line)
{
	static struct sp_rule_batch batch;
	static char text[512];

	snprintf(text, sizeof(text), "%s", line);
	sp_rule_batch_init(&batch, text, strlen(text));
	batch.words[0] = NULL;
	sp_rule_batch_next(&batch);
	return sp_rule_match_parse(&match, batch.words, protocol, &rest,
				   &error);
}

static void accept(uint16_t protocol, const char *line)
{
	if (parse(protocol, line))
		fail_msg("'%s': %s", line, error.text);
}

static void refuse(uint16_t protocol, const char *line,
		   enum sp_rule_fate fate, const char *text)
{
	assert_int_equal(parse(protocol, line), -EINVAL);
	assert_string_equal(error.text, text);
	assert_int_equal(error.fate, fate);
}

static char *read_file(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = calloc(1, 1 << 16);

	assert_non_null(file);
	assert_non_null(text);
	assert_true(fread(text, 1, (1 << 16) - 1, file) > 0);
	fclose(file);
	return text;
}

/* Standard error of the run with -force, without the usage of flower. */
static char *recorded_errors(const char *path)
{
	char *text = read_file(path), *from = strstr(text, "$ tc -force");
	char *want = calloc(1, 1 << 16);
	bool in_usage = false;

	assert_non_null(from);
	assert_non_null(want);
	from = strstr(from, "[stderr]\n") + strlen("[stderr]\n");
	while (*from && strncmp(from, "[exit", 5) != 0) {
		size_t len = strcspn(from, "\n") + 1;

		if (strncmp(from, "Usage:", 6) == 0)
			in_usage = true;
		if (strncmp(from, "Command failed", 14) == 0)
			in_usage = false;
		if (!in_usage)
			strncat(want, from, len);
		from += len;
	}
	free(text);
	return want;
}

static uint16_t protocol_of(const struct sp_rule_batch *batch, unsigned *flower)
{
	uint16_t protocol = 0;

	for (unsigned i = 0; i + 1 < batch->nr_words; i++) {
		if (strcmp(batch->words[i], "protocol") == 0)
			assert_true(sp_rule_ethertype(batch->words[i + 1],
						      &protocol));
		if (strcmp(batch->words[i], "flower") == 0) {
			*flower = i + 1;
			return protocol;
		}
	}
	return 0;
}

static void bad_values_are_refused_in_tc_s_words(void **state)
{
	char *text = read_file(CASES "errors-keys/rules.batch");
	char *want = recorded_errors(CASES "errors-keys/errors.txt");
	char *got = calloc(1, 1 << 16);
	static struct sp_rule_batch batch;

	assert_non_null(got);
	sp_rule_batch_init(&batch, text, strlen(text));
	while (sp_rule_batch_next(&batch) == SP_RULE_BATCH_COMMAND) {
		unsigned flower = 0;
		uint16_t protocol = protocol_of(&batch, &flower);

		assert_true(flower);
		if (!sp_rule_match_parse(&match, batch.words + flower, protocol,
					 &rest, &error))
			continue;
		assert_int_equal(error.fate, SP_RULE_GOES_ON);
		sprintf(got + strlen(got), "%s\nCommand failed rules.batch:%u\n",
			error.text, batch.line);
	}
	assert_string_equal(got, want);
	free(text);
	free(want);
	free(got);
}

static void some_errors_end_the_batch(void **state)
{
	refuse(0x0800, "dst_ip", SP_RULE_EXITS_255,
	       "Command line is not complete. Try option \"help\"");
	refuse(0x0800, "indev a/b", SP_RULE_EXITS_255,
	       "Error: argument \"a/b\" is wrong: \"indev\" not a valid ifname");
	refuse(0x8100, "vlan_ethtype nosuch", SP_RULE_EXITS_255,
	       "Error: argument \"nosuch\" is wrong: invalid vlan_ethtype");
	refuse(0x8864, "ppp_proto nosuch", SP_RULE_EXITS_255,
	       "Error: argument \"nosuch\" is wrong: invalid ppp_proto");
	refuse(0x86dd, "dst_ip 10.0.0.1", SP_RULE_EXITS_1,
	       "Error: inet6 prefix is expected rather than \"10.0.0.1\".");
	refuse(0x0806, "arp_tip fd00::1", SP_RULE_EXITS_1,
	       "Error: inet prefix is expected rather than \"fd00::1\".");
}

static void bad_prefixes_are_refused(void **state)
{
	static const char *const prefixes[] = {
		"10.0.0.0/33", "10.0.0.1/", "10.0.0.0/255.0.255.0", "10.0.0.256",
		"10.0.0.1/-1", "example", "fd00::1", "10.0.0.1.2", "",
	};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		char line[64], text[128];

		snprintf(line, sizeof(line), "src_ip \"%s\"", prefixes[i]);
		snprintf(text, sizeof(text),
			 "Error: inet prefix is expected rather than \"%s\".",
			 prefixes[i]);
		refuse(0x0800, line, SP_RULE_EXITS_1, text);
	}
}

static void addresses_keep_their_host_bits(void **state)
{
	static const uint8_t addr[16] = {10, 0, 0, 99};
	static const uint8_t mask[16] = {255, 255, 255};
	static const uint8_t half[16] = {255, 255};

	accept(0x0800, "dst_ip 10.0.0.99/24 src_ip 10.1/16");
	assert_memory_equal(match.key.dst_ip, addr, 16);
	assert_memory_equal(match.mask.dst_ip, mask, 16);
	assert_int_equal(match.key.src_ip[1], 1);
	assert_memory_equal(match.mask.src_ip, half, 16);
	accept(0x0800, "dst_ip 10.0.0.0/255.255.0.0");
	assert_memory_equal(match.mask.dst_ip, half, 16);
	accept(0x0800, "dst_ip 10.0.0.2/0x18");
	assert_memory_equal(match.mask.dst_ip, mask, 16);
	accept(0x0800, "dst_ip default");
	assert_int_equal(match.mask.dst_ip[0], 0);
}

static void numbers_have_their_own_bases(void **state)
{
	accept(0x0800, "ip_proto 17");
	assert_int_equal(match.key.ip_proto, 0x17);
	accept(0x0800, "ip_proto 11 dst_port 080");
	assert_int_equal(match.key.dst_port, 80);
	accept(0x0800, "ip_proto tcp dst_port 80/16");
	assert_int_equal(match.mask.dst_port, 16);
	accept(0x0800, "ip_proto tcp dst_port 0120/0177777");
	assert_int_equal(match.key.dst_port, 80);
	assert_int_equal(match.mask.dst_port, 0xffff);
	accept(0x0800, "ip_tos 16/10 ip_ttl 0x40/0xc0");
	assert_int_equal(match.key.ip_tos, 16);
	assert_int_equal(match.mask.ip_tos, 0x10);
	assert_int_equal(match.mask.ip_ttl, 0xc0);
	accept(0x0800, "ip_tos b8/fc");
	assert_int_equal(match.key.ip_tos, 0xb8);
	accept(0x0800, "ip_proto tcp tcp_flags 12/3f");
	assert_int_equal(match.key.tcp_flags, 0x12);
	assert_int_equal(match.mask.tcp_flags, 0x3f);
	accept(0x0800, "ip_proto tcp tcp_flags 2");
	assert_int_equal(match.mask.tcp_flags, 0xfff);
}

static void ranges_are_told_from_ports(void **state)
{
	accept(0x0800, "ip_proto udp src_port 1000 dst_port 100-200");
	assert_int_equal(match.flags, SP_MATCH_DST_RANGE);
	assert_int_equal(match.key.dst_port, 100);
	assert_int_equal(match.key.dst_port_max, 200);
	accept(0x0800, "ip_proto udp src_port 80-0");
	assert_int_equal(match.flags, 0);
	assert_int_equal(match.key.src_port, 80);
}

static void beginnings_mean_the_first_word_that_fits(void **state)
{
	accept(0x0800, "tcp 2 ip frag s v ip_pr u dst_p 53");
	assert_int_equal(match.flags, SP_MATCH_SKIP_HW | SP_MATCH_VERBOSE);
	assert_int_equal(match.mask.ip_flags, SP_FLOW_FRAG);
	assert_int_equal(match.key.dst_port, 53);
	refuse(0x0800, "a pass", SP_RULE_GOES_ON, "Illegal \"arp_tip\"");
	refuse(0x8864, "p 2", SP_RULE_GOES_ON, "What is \"p\"?");
	assert_true(error.usage);
	accept(0x0800, "dst_i 10.0.0.1 act p");
	assert_string_equal(*rest, "act");
}

static void what_the_kernel_forgets_is_forgotten(void **state)
{
	accept(0x0800, "tcp_flags 2");
	assert_int_equal(match.mask.tcp_flags, 0);
	accept(0x0800, "ip_proto udp dst_port 5-9 ip_proto icmp");
	assert_int_equal(match.mask.dst_port, 0);
	assert_int_equal(match.flags, 0);
	accept(0x0800, "arp_sha 02:00:00:00:00:01");
	assert_int_equal(match.mask.arp_sha[0], 0);
}

static void tags_lead_to_the_keys_behind_them(void **state)
{
	accept(0x8100, "vlan_id 5 vlan_prio 3 vlan_ethtype ip dst_ip 10.1");
	assert_int_equal(match.key.vlan_tci, 3 << 13 | 5);
	assert_int_equal(match.mask.vlan_tci, 0xefff);
	assert_int_equal(match.eth_type, 0x0800);
	accept(0x88a8, "vlan_ethtype 802.1Q cvlan_id 7 cvlan_ethtype ipv6 "
		       "dst_ip fd00::/8");
	assert_int_equal(match.key.cvlan_tci, 7);
	assert_int_equal(match.eth_type, 0x86dd);
	accept(0x8864, "pppoe_sid 9 ppp_proto ip dst_ip 10.0.0.2");
	assert_int_equal(match.key.ppp_proto, 0x21);
	accept(0x8847, "mpls lse depth 2 bos 1 tc 3 lse depth 7 label 7");
	assert_int_equal(match.key.lse[1], 3 << 9 | 1 << 8);
	assert_int_equal(match.mask.lse[6], 0xfffffu << 12);
}

static void masks_of_macs_are_octets_or_bits(void **state)
{
	static const uint8_t mask[6] = {0xff, 0xff, 0xff, 0x80};

	accept(0x0003, "dst_mac 01:00:5e:00:00:00/25");
	assert_memory_equal(match.mask.dst_mac, mask, 6);
	accept(0x0003, "dst_mac 2:0:0:0:0:2/ff:ff:ff:80:00:00");
	assert_memory_equal(match.mask.dst_mac, mask, 6);
	/* where tc would use memory that it never wrote */
	refuse(0x0003, "dst_mac 02:00:00", SP_RULE_GOES_ON,
	       "Illegal \"dst_mac\"");
	refuse(0x0003, "dst_mac 02:00:00:00:00:01/49", SP_RULE_GOES_ON,
	       "Illegal \"dst_mac\"");
}

static void tunnels_and_tracking_are_refused_by_name(void **state)
{
	assert_int_equal(parse(0x0800, "enc_key_id 5"), -EINVAL);
	assert_non_null(strstr(error.text, "\"enc_key_id\""));
	assert_int_equal(parse(0x0800, "ct_state +trk"), -EINVAL);
	assert_non_null(strstr(error.text, "\"ct_state\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_values_are_refused_in_tc_s_words),
		cmocka_unit_test(some_errors_end_the_batch),
		cmocka_unit_test(bad_prefixes_are_refused),
		cmocka_unit_test(addresses_keep_their_host_bits),
		cmocka_unit_test(numbers_have_their_own_bases),
		cmocka_unit_test(ranges_are_told_from_ports),
		cmocka_unit_test(beginnings_mean_the_first_word_that_fits),
		cmocka_unit_test(what_the_kernel_forgets_is_forgotten),
		cmocka_unit_test(tags_lead_to_the_keys_behind_them),
		cmocka_unit_test(masks_of_macs_are_octets_or_bits),
		cmocka_unit_test(tunnels_and_tracking_are_refused_by_name),
	};

	return cmocka_run_group_tests_name("rule_match", tests, NULL, NULL);
}
