/* SPDX-License-Identifier: MIT */
/*
 * test_rule_batch.c - lines of a `tc -batch` file as words: what was recorded
 * of tc 6.1, and what a hostile file may hold.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <statplane/rule.h>

static struct sp_rule_batch batch;
static char *text;

static void begin(const char *bytes, size_t len)
{
	free(text);
	text = malloc(len + 1);
	assert_non_null(text);
	memcpy(text, bytes, len);
	text[len] = '\0';
	sp_rule_batch_init(&batch, text, len);
}

static int drop_text(void **state)
{
	free(text);
	text = NULL;
	return 0;
}

/* The next command is in @line and its words, joined by '|', are @want. */
static void expect(unsigned line, const char *want)
{
	char got[512] = "";

	assert_int_equal(sp_rule_batch_next(&batch), SP_RULE_BATCH_COMMAND);
	for (unsigned i = 0; i < batch.nr_words; i++) {
		if (i)
			strcat(got, "|");
		strcat(got, batch.words[i]);
	}
	assert_string_equal(got, want);
	assert_int_equal(batch.line, line);
	assert_null(batch.words[batch.nr_words]);
}

static void expect_end(enum sp_rule_batch_result why)
{
	assert_int_equal(sp_rule_batch_next(&batch), why);
	assert_int_equal(sp_rule_batch_next(&batch), SP_RULE_BATCH_END);
}

#define BEGIN(literal) begin(literal, sizeof(literal) - 1)

static void blanks_and_comments_are_stepped_over(void **state)
{
	BEGIN("# first\n\n   # indented\n\tfilter\tadd   dev \r\n#\n   \nx # y");
	expect(4, "filter|add|dev");
	expect(7, "x");
	expect_end(SP_RULE_BATCH_END);
	BEGIN("");
	expect_end(SP_RULE_BATCH_END);
}

static void a_hash_ends_a_word_and_a_quoted_one(void **state)
{
	BEGIN("a 10.0.0.2#b c\nd\na \"10#5\"\nlost\n");
	expect(1, "a|10.0.0.2");
	expect(2, "d");
	expect_end(SP_RULE_BATCH_OPEN_QUOTE);
}

static void quotes_count_at_the_beginning_of_a_word(void **state)
{
	BEGIN("\"ip\" '1' \"a b\"\n\"pa\"ss\npass\"\"\n\"\"\n'x'y z\n"
	      "10\"action drop\"\n\"it's\"\n");
	expect(1, "ip|1|a b");
	expect(2, "pa|ss");
	expect(3, "pass\"\"");
	expect(4, "");
	expect(5, "x|y|z");
	expect(6, "10\"action|drop\"");
	expect(7, "it's");
	expect_end(SP_RULE_BATCH_END);
}

static void an_open_quote_ends_the_batch(void **state)
{
	BEGIN("a\nb \"c\nd\n");
	expect(1, "a");
	expect_end(SP_RULE_BATCH_OPEN_QUOTE);
	BEGIN("'");
	expect_end(SP_RULE_BATCH_OPEN_QUOTE);
}

static void a_backslash_joins_lines_inside_of_words_too(void **state)
{
	BEGIN("a \\\n\tb \\\n c\nfl\\\nower\n\"flo\\\nwer\" x\ny");
	expect(3, "a|b|c");
	expect(5, "flower");
	expect(7, "flower|x");
	expect(8, "y");
	expect_end(SP_RULE_BATCH_END);
}

static void a_comment_takes_its_backslash_with_it(void **state)
{
	BEGIN("a \\\n# b \\\nc\nd # e \\\nf\ng \\\n\\\n# h \\\ni\n");
	expect(2, "a");
	expect(3, "c");
	expect(4, "d");
	expect(5, "f");
	expect(8, "g");
	expect(9, "i");
	expect_end(SP_RULE_BATCH_END);
}

static void only_a_backslash_before_a_newline_continues(void **state)
{
	BEGIN("a \\ b\nc \\\r\nd\ne \\");
	expect(1, "a|\\|b");
	expect(2, "c|\\");
	expect(3, "d");
	expect(4, "e|\\");
	expect_end(SP_RULE_BATCH_END);
}

static void what_was_joined_may_continue(void **state)
{
	BEGIN("a\\\\\n\nb\nc\n");
	expect(3, "ab");
	expect(4, "c");
	expect_end(SP_RULE_BATCH_END);
}

static void a_missing_continuation_drops_the_command(void **state)
{
	BEGIN("a\nb \\\n");
	expect(1, "a");
	expect_end(SP_RULE_BATCH_NO_CONTINUATION);
	BEGIN("\\\n\\\n");
	expect_end(SP_RULE_BATCH_NO_CONTINUATION);
}

static void a_nul_ends_its_line(void **state)
{
	BEGIN("a \0 b \\\nc\n\0\nd \\\ne\0f\n");
	expect(1, "a");
	expect(2, "c");
	expect(5, "d|e");
	expect_end(SP_RULE_BATCH_END);
}

static void fewer_than_512_words_fit(void **state)
{
	char line[2 * SP_RULE_MAX_WORDS];

	for (int i = 0; i < SP_RULE_MAX_WORDS; i++)
		memcpy(line + 2 * i, "w ", 2);
	begin(line, sizeof(line) - 2);
	assert_int_equal(sp_rule_batch_next(&batch), SP_RULE_BATCH_COMMAND);
	assert_int_equal(batch.nr_words, SP_RULE_MAX_WORDS - 1);
	assert_null(batch.words[batch.nr_words]);
	expect_end(SP_RULE_BATCH_END);
	begin(line, sizeof(line));
	expect_end(SP_RULE_BATCH_TOO_MANY);
}

/* One word of 10 MB; then as much as lines that continue each other. */
static void long_lines_are_lines(void **state)
{
	enum { LEN = 10 << 20 };
	char *line = malloc(LEN);

	assert_non_null(line);
	memset(line, 'x', LEN);
	begin(line, LEN);
	assert_int_equal(sp_rule_batch_next(&batch), SP_RULE_BATCH_COMMAND);
	assert_int_equal(batch.nr_words, 1);
	assert_int_equal(strlen(batch.words[0]), LEN);
	for (int i = 0; i < LEN; i += 2)
		memcpy(line + i, "\\\n", 2);
	line[LEN - 1] = 'y';
	begin(line, LEN);
	expect(LEN / 2, "\\y");
	free(line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blanks_and_comments_are_stepped_over),
		cmocka_unit_test(a_hash_ends_a_word_and_a_quoted_one),
		cmocka_unit_test(quotes_count_at_the_beginning_of_a_word),
		cmocka_unit_test(an_open_quote_ends_the_batch),
		cmocka_unit_test(a_backslash_joins_lines_inside_of_words_too),
		cmocka_unit_test(a_comment_takes_its_backslash_with_it),
		cmocka_unit_test(only_a_backslash_before_a_newline_continues),
		cmocka_unit_test(what_was_joined_may_continue),
		cmocka_unit_test(a_missing_continuation_drops_the_command),
		cmocka_unit_test(a_nul_ends_its_line),
		cmocka_unit_test(fewer_than_512_words_fit),
		cmocka_unit_test(long_lines_are_lines),
	};

	return cmocka_run_group_tests_name("rule_batch", tests, NULL, drop_text);
}
