// SPDX-License-Identifier: MIT
/*
 * The filters of `statplane ss`: what passes, and what is said of a filter that is
 * wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <cmocka.h>

#include "cli/ss_filter.h"

static struct sp_ss_filter filter;
static struct sp_ss_error error;

static struct sp_conn make(int family, const char *local, uint16_t local_port,
			   const char *remote, uint16_t remote_port)
{
	struct sp_conn conn = {
		.key = {.family = (uint8_t)family,
			.protocol = IPPROTO_TCP,
			.local_port = local_port,
			.remote_port = remote_port},
		.state = SP_TCP_ESTABLISHED,
	};

	assert_int_equal(inet_pton(family, local, conn.key.local), 1);
	assert_int_equal(inet_pton(family, remote, conn.key.remote), 1);
	return conn;
}

/* 10.1.2.3:5201 <- 192.0.2.129:40000; [fd31::2]:80 <- [fd31::1]:22; the first one
 * again, by an IPv6 socket. */
enum {
	V4 = 1,
	V6 = 2,
	MAPPED = 4,
	ALL = 7
};

static unsigned passing(void)
{
	const struct sp_conn conns[] = {
		make(AF_INET, "10.1.2.3", 5201, "192.0.2.129", 40000),
		make(AF_INET6, "fd31::2", 80, "fd31::1", 22),
		make(AF_INET6, "::ffff:10.1.2.3", 5201, "::ffff:192.0.2.129",
		     40000),
	};
	unsigned mask = 0;

	for (unsigned i = 0; i < 3; i++)
		if (sp_ss_filter_passes(&filter, &conns[i]))
			mask |= 1u << i;
	return mask;
}

static void expect(const char *text, unsigned mask)
{
	int err = sp_ss_filter_parse(&filter, text, &error);

	if (err)
		fail_msg("'%s': at %zu: %s", text, error.pos, error.text);
	if (passing() != mask)
		fail_msg("'%s': %u pass, not %u", text, passing(), mask);
}

static void refuse(const char *text, size_t pos, const char *why)
{
	memset(&error, 0, sizeof(error));
	if (sp_ss_filter_parse(&filter, text, &error) != -EINVAL)
		fail_msg("'%s' is not refused", text);
	if (error.pos != pos || !strstr(error.text, why))
		fail_msg("'%s': at %zu: %s", text, error.pos, error.text);
}

static void an_empty_filter_passes_all(void **state)
{
	expect("", ALL);
	expect(" \t\n ", ALL);
	assert_false(filter.has_states);
}

static void addresses_and_masks_are_compared(void **state)
{
	expect("src 10.1.2.3", V4 | MAPPED);
	expect("src = 10.1.2.3", V4 | MAPPED);
	expect("src == 10.1.2.3", V4 | MAPPED);
	expect("src eq 10.1.2.3", V4 | MAPPED);
	expect("src != 10.1.2.3", V6);
	expect("src neq 10.1.2.3", V6);
	expect("src 10.1.2.4", 0);
	expect("src 10.1.0.0/16", V4 | MAPPED);
	expect("src 10.0.0.0/15", V4 | MAPPED);
	expect("src 10.0.0.0/16", 0);
	expect("dst 192.0.2.128/25", V4 | MAPPED);
	expect("dst 192.0.2.0/25", 0);
	expect("dst 192.0.2.129/32", V4 | MAPPED);
	expect("dst 192.0.2.128/32", 0);
	expect("src 0.0.0.0/0", V4 | MAPPED);
	expect("src fd31::/16", V6);
	expect("src [fd31::]/127", 0);
	expect("src [fd31::3]/127", V6);
	expect("src fd31::2", V6);
	expect("src [fd31::2]", V6);
	expect("src ::/0", V6 | MAPPED);
	expect("src ::ffff:0:0/96", MAPPED);
	expect("src *", ALL);
	expect("src != *", 0);
	expect("src inet:10.1.2.3", V4 | MAPPED);
	expect("src inet6:fd31::2", V6);
}

static void ports_are_compared(void **state)
{
	expect("sport = 5201", V4 | MAPPED);
	expect("sport = :5201", V4 | MAPPED);
	expect("sport :5201", V4 | MAPPED);
	expect("sport = *:5201", V4 | MAPPED);
	expect("dport = :ssh", V6);
	expect("dport = ssh", V6);
	expect("sport = http", V6);
	expect("dport != :ssh", V4 | MAPPED);
	expect("dport > 22", V4 | MAPPED);
	expect("dport >= 22", ALL);
	expect("dport < 40000", V6);
	expect("dport <= 40000", ALL);
	expect("dport lt 22", 0);
	expect("dport le 22", V6);
	expect("dport leq 22", V6);
	expect("dport gt 40000", 0);
	expect("dport ge 40000", V4 | MAPPED);
	expect("sport=5201", V4 | MAPPED);
	expect("sport>=:5201", V4 | MAPPED);
	expect("sport = 65535", 0);
}

static void an_address_may_have_a_port(void **state)
{
	expect("src 10.1.2.3:5201", V4 | MAPPED);
	expect("src 10.1.2.3:5202", 0);
	expect("src 10.1.2.3:*", V4 | MAPPED);
	expect("src 10.0.0.0/8:5201", V4 | MAPPED);
	expect("src [fd31::2]:80", V6);
	expect("src [fd31::2]:http", V6);
	expect("src [fd31::]/64:80", V6);
	expect("src [fd31::2]:81", 0);
	expect("src :80", V6);
	expect("src *:80", V6);
	/* Not this address with this port: either may differ. */
	expect("src != 10.1.2.3:5202", ALL);
	expect("src != 10.1.2.3:5201", V6);
	expect("dst inet:*:40000", ALL & ~V6);
}

static void and_binds_tighter_than_or_and_not_tighter_than_and(void **state)
{
	expect("sport = 80 or sport = 5201 and dport = 1", V6);
	expect("( sport = 80 or sport = 5201 ) and dport = 1", 0);
	expect("sport = 5201 and dport = 1 or sport = 80", V6);
	expect("not sport = 80 and dport = 40000", V4 | MAPPED);
	expect("not ( sport = 80 or dport = 40000 )", 0);
	expect("not sport = 80 or sport = 80", ALL);
	expect("! sport = 80", V4 | MAPPED);
	expect("!sport=80", V4 | MAPPED);
	expect("not not sport = 80", V6);
	expect("! not ! sport = 80", V4 | MAPPED);
	expect("sport = 80 | sport = 5201", ALL);
	expect("sport = 80 || sport = 5201", ALL);
	expect("sport = 80 & dport = 22", V6);
	expect("sport = 80 && dport = 22", V6);
	expect("sport = 80 dport = 22", V6);
	expect("sport = 80 dport = 23", 0);
	expect("src fd31::2 dst fd31::1", V6);
	expect("(((sport=80)))", V6);
}

static void check_states(const char *text, uint32_t states)
{
	assert_int_equal(sp_ss_filter_parse(&filter, text, &error), 0);
	assert_true(filter.has_states);
	assert_int_equal(filter.states, states);
}

static void states_are_named_as_in_ss(void **state)
{
	check_states("state established", 1 << 1);
	check_states("state ESTABLISHED", 1 << 1);
	check_states("state time-wait state syn-recv", 1 << 6 | 1 << 3);
	check_states("state all", 0xffe);
	check_states("state connected", 0xffe & ~(1 << 7 | 1 << 10));
	check_states("state synchronized",
		     0xffe & ~(1 << 7 | 1 << 10 | 1 << 2));
	check_states("state bucket", 1 << 3 | 1 << 6);
	check_states("state big", 0xffe & ~(1 << 3 | 1 << 6));
	check_states("exclude listening", 0xffe & ~(1 << 10));
	check_states("exclude listening exclude closed",
		     0xffe & ~(1 << 10 | 1 << 7));
	check_states("state connected exclude time-wait",
		     0xffe & ~(1 << 7 | 1 << 10 | 1 << 6));
	for (unsigned i = 1; i <= SP_TCP_CLOSING; i++) {
		char text[64];

		snprintf(text, sizeof(text), "state %s", sp_ss_state_name(i));
		check_states(text, 1u << i);
	}
	check_states("state established sport = 80", 1 << 1);
	assert_int_equal(passing(), V6);
	check_states("state established ( sport = 80 )", 1 << 1);
	assert_int_equal(passing(), V6);
	assert_string_equal(sp_ss_state_name(0), "unknown");
	assert_string_equal(sp_ss_state_name(12), "unknown");
}

static void a_wrong_filter_is_refused_where_it_is_wrong(void **state)
{
	refuse("state", 5, "want the name of a state");
	refuse("state (", 6, "want the name of a state");
	refuse("state nothing", 6, "no state 'nothing'");
	refuse("sport = 80 state established", 11, "states come before");
	refuse("port = 80", 0, "'port' is not known");
	refuse("sport = 80 and", 14, "want src, dst");
	refuse("and sport = 80", 0, "want src, dst");
	refuse("sport = 80 or or sport = 1", 14, "want src, dst");
	refuse("not", 3, "want src, dst");
	refuse("( sport = 80", 0, "'(' without ')'");
	refuse("dport = 1 and ( sport = 80", 14, "'(' without ')'");
	refuse("sport = 80 )", 11, "')' without '('");
	refuse("()", 1, "want src, dst");
	refuse("sport", 5, "want a comparison and a port");
	refuse("sport =", 7, "want a port");
	refuse("sport = :", 8, "want a port");
	refuse("sport = = 80", 8, "want a port");
	refuse("sport = 65536", 8, "no port");
	refuse("sport = 99999999999999999999", 8, "no port");
	refuse("sport = 80x", 8, "no port");
	refuse("sport = nosuchservice", 8, "no service");
	refuse("src > 10.0.0.1", 4, "only = and !=");
	refuse("src 10.0.0", 4, "no address");
	refuse("src 80", 4, "written ':80'");
	refuse("src example.net", 4, "not looked up");
	refuse("src 10.0.0.1/33", 4, "want 0 to 32");
	refuse("src [::1]/129", 4, "want 0 to 128");
	refuse("src 10.0.0.1/", 4, "no mask");
	refuse("src */8", 4, "a mask without");
	refuse("src [::1", 4, "'[' without ']'");
	refuse("src [::1]x", 4, "behind ']'");
	refuse("src inet6:10.0.0.1", 4, "other family");
	refuse("src 10.0.0.1:70000", 4, "no port");
	refuse("sport = 80;", 10, "';' means nothing");
	refuse("sport = 80 \x01", 11, "character 0x01");
	refuse("sport = 80 \xc3\xa4", 11, "character 0xc3");
}

static void depth_and_length_are_bounded(void **state)
{
	static char text[2 * SP_SS_TEXT_MAX];

	text[0] = '\0';
	for (int i = 0; i < SP_SS_DEPTH_MAX; i++)
		strcat(text, "(");
	strcat(text, "sport = 80");
	for (int i = 0; i < SP_SS_DEPTH_MAX; i++)
		strcat(text, ")");
	expect(text, V6);
	memmove(text + 1, text, strlen(text) + 1);
	text[0] = '(';
	strcat(text, ")");
	refuse(text, SP_SS_DEPTH_MAX, "parentheses in each other");

	strcpy(text, "sport=80");
	for (int i = 1; i < SP_SS_OPS_MAX / 2; i++)
		strcat(text, " or sport=1");
	expect(text, V6);
	assert_int_equal(filter.nr_ops, SP_SS_OPS_MAX - 1);
	strcat(text, " or sport=1");
	refuse(text, strlen(text), "too long");

	memset(text, ' ', sizeof(text) - 1);
	refuse(text, SP_SS_TEXT_MAX, "too long");
	text[SP_SS_TEXT_MAX] = '\0';
	expect(text, ALL);
	memset(text, 'a', 64);
	refuse(text, 0, "too long");
}

/* The deepest pile of results that wait that the grammar can make. */
static void waiting_results_do_not_fall_off(void **state)
{
	static char text[SP_SS_TEXT_MAX];

	text[0] = '\0';
	for (int i = 0; i < SP_SS_DEPTH_MAX; i++)
		strcat(text, "sport=80 or sport=80 and (");
	strcat(text, "sport=80 or sport=80 and sport=80");
	for (int i = 0; i < SP_SS_DEPTH_MAX; i++)
		strcat(text, ")");
	expect(text, V6);

	text[0] = '\0';
	for (int i = 0; i < SP_SS_DEPTH_MAX; i++)
		strcat(text, "sport=5201 or dport=22 and (");
	strcat(text, "sport=1 or sport=1 and sport=1");
	for (int i = 0; i < SP_SS_DEPTH_MAX; i++)
		strcat(text, ")");
	expect(text, V4 | MAPPED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_filter_passes_all),
		cmocka_unit_test(addresses_and_masks_are_compared),
		cmocka_unit_test(ports_are_compared),
		cmocka_unit_test(an_address_may_have_a_port),
		cmocka_unit_test(
			and_binds_tighter_than_or_and_not_tighter_than_and),
		cmocka_unit_test(states_are_named_as_in_ss),
		cmocka_unit_test(a_wrong_filter_is_refused_where_it_is_wrong),
		cmocka_unit_test(depth_and_length_are_bounded),
		cmocka_unit_test(waiting_results_do_not_fall_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
