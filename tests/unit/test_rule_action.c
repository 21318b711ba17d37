/* SPDX-License-Identifier: MIT */
/*
 * test_rule_action.c - tc's words as actions, and what is said of those that are
 * wrong: as recorded of tc 6.1.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <statplane/rule.h>

#include "rule/action.h"

static struct sp_rule_action actions[SP_RULE_MAX_ACTIONS];
static struct sp_rule_error error;
static unsigned nr;
static char **rest;

static int parse(const char *line)
{
	static struct sp_rule_batch batch;
	static char text[1024];

	snprintf(text, sizeof(text), "%s", line);
	sp_rule_batch_init(&batch, text, strlen(text));
	batch.words[0] = NULL;
	sp_rule_batch_next(&batch);
	return sp_rule_actions_parse(actions, &nr, batch.words, &rest, &error);
}

static void accept(const char *line, unsigned want_nr)
{
	if (parse(line))
		fail_msg("'%s': %s", line, error.text);
	assert_int_equal(nr, want_nr);
}

static void refuse(const char *line, enum sp_rule_fate fate, const char *text)
{
	assert_int_equal(parse(line), -EINVAL);
	assert_string_equal(error.text, text);
	assert_int_equal(error.fate, fate);
}

static void verdicts_may_be_shortened(void **state)
{
	static const struct {
		const char *word;
		enum sp_rule_verdict verdict;
	} all[] = {
		{"ok", SP_RULE_PASS}, {"o", SP_RULE_PASS}, {"pass", SP_RULE_PASS},
		{"p", SP_RULE_PASS}, {"pi", SP_RULE_PIPE}, {"dr", SP_RULE_DROP}, {"s", SP_RULE_DROP},
		{"co", SP_RULE_CONTINUE}, {"rec", SP_RULE_RECLASSIFY},
		{"t", SP_RULE_TRAP}, {"gact drop", SP_RULE_DROP},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		accept(all[i].word, 1);
		assert_int_equal(actions[0].verdict, all[i].verdict);
	}
	accept("got ch 3", 1);
	assert_int_equal(actions[0].verdict, SP_RULE_GOTO);
	assert_int_equal(actions[0].argument, 3);
}

static void commands_and_classes_end_the_list(void **state)
{
	static const char *const ends[] = {"a", "c", "d", "de", "g", "r", "re"};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		accept(ends[i], 0);
		assert_string_equal(*rest, ends[i]);
	}
	accept("pass classid 1:1", 1);
	assert_string_equal(*rest, "classid");
	accept("pipe action drop", 2);
	assert_null(*rest);
}

static void options_follow_the_verdict(void **state)
{
	accept("pass r d drop 3 ind 1045", 1);
	assert_int_equal(actions[0].random, SP_RULE_RANDOM_DETERM);
	assert_int_equal(actions[0].random_verdict, SP_RULE_DROP);
	assert_int_equal(actions[0].random_val, 3);
	assert_int_equal(actions[0].index, 1045);
	accept("gact index 7", 1);
	assert_int_equal(actions[0].verdict, SP_RULE_PASS);
	assert_int_equal(actions[0].index, 7);
	accept("drop index 1009 cookie 0011 hw_stats delayed no_percpu skip_hw", 1);
	assert_int_equal(actions[0].hw_stats, SP_HW_STATS_DELAYED);
	assert_int_equal(actions[0].flags,
			 SP_ACTION_NO_PERCPU | SP_ACTION_SKIP_HW);
}

static void a_cookie_holds_for_later_actions(void **state)
{
	accept("pipe cookie aa action drop cookie bbbb action pass", 3);
	assert_int_equal(actions[0].cookie_len, 1);
	assert_int_equal(actions[0].cookie[0], 0xaa);
	assert_int_equal(actions[2].cookie_len, 2);
	assert_int_equal(actions[2].cookie[1], 0xbb);
	accept("pipe action drop cookie BB", 2);
	assert_int_equal(actions[0].cookie_len, 0);
	accept("pass cookie \"\"", 1);
}

static void more_than_32_actions_are_lost(void **state)
{
	char line[1024] = "pipe";

	for (int i = 0; i < 40; i++)
		strcat(line, " action drop");
	accept(line, SP_RULE_MAX_ACTIONS);
}

static void errors_are_tc_s(void **state)
{
	refuse("", SP_RULE_EXITS_255,
	       "Command line is not complete. Try option \"help\"");
	refuse("gact", SP_RULE_EXITS_255,
	       "Command line is not complete. Try option \"help\"");
	refuse("PASS", SP_RULE_EXITS_255, "Bad action type PASS");
	assert_int_equal(error.usage, SP_RULE_USAGE_GACT);
	refuse("pass cook aa", SP_RULE_EXITS_255, "Bad action type cook");
	refuse("gact frobnicate", SP_RULE_EXITS_255,
	       "Bad action type frobnicate");
	refuse("goto 5", SP_RULE_EXITS_255, "\"chain index\" expected");
	refuse("goto chain 268435456", SP_RULE_EXITS_255,
	       "Illegal \"chain index\"");
	refuse("jump x action pass", SP_RULE_EXITS_255,
	       "Invalid \"jump count\" (x)");
	refuse("pass random determ xx 3", SP_RULE_EXITS_255,
	       "Bad action type xx");
	refuse("pass hw_stats never", SP_RULE_EXITS_255,
	       "Error: argument \"never\" is wrong: value is invalid\n");
	refuse("pass cookie abc", SP_RULE_EXITS_255,
	       "Error: argument \"abc\" is wrong: cookie must be a hex string");
	refuse("pass cookie ababababababababababababababababab",
	       SP_RULE_EXITS_255,
	       "Error: argument \"ababababababababababababababababab\" is "
	       "wrong: 34 Max allowed size 32");
}

static void bad_numbers_let_the_batch_go_on(void **state)
{
	refuse("pass index x", SP_RULE_GOES_ON,
	       "Illegal \"index\"\nbad action parsing\n"
	       "parse_action: bad value (3:pass)!\nIllegal \"action\"");
	refuse("pass random determ drop 10001", SP_RULE_GOES_ON,
	       "Illegal probability val  0x2711\nbad action parsing\n"
	       "parse_action: bad value (5:pass)!\nIllegal \"action\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(verdicts_may_be_shortened),
		cmocka_unit_test(commands_and_classes_end_the_list),
		cmocka_unit_test(options_follow_the_verdict),
		cmocka_unit_test(a_cookie_holds_for_later_actions),
		cmocka_unit_test(more_than_32_actions_are_lost),
		cmocka_unit_test(errors_are_tc_s),
		cmocka_unit_test(bad_numbers_let_the_batch_go_on),
	};

	return cmocka_run_group_tests_name("rule_action", tests, NULL, NULL);
}
