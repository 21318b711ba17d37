/* SPDX-License-Identifier: MIT */
/* The text cursor and the number formats: render/text.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "render/text.h"

struct sink {
	char text[1 << 16];
	size_t len;
	unsigned nr_pieces;
	unsigned fail_at; /* piece that fails, 0 for none */
};

static struct sink sink;
static char buf[SP_TEXT_ITEM_MAX + 64];
static struct sp_text text;

static int take(void *ctx, const char *s, size_t len)
{
	struct sink *k = ctx;

	if (++k->nr_pieces == k->fail_at)
		return -28;
	assert_true(k->len + len <= sizeof(k->text));
	memcpy(k->text + k->len, s, len);
	k->len += len;
	return 0;
}

static int begin(void **state)
{
	memset(&sink, 0, sizeof(sink));
	memset(buf, 'x', sizeof(buf));
	sp_text_init(&text, buf, sizeof(buf));
	sp_text_start(&text, take, &sink);
	return 0;
}

static void check_written(const char *expected)
{
	assert_int_equal(sp_text_finish(&text), 0);
	assert_int_equal(sink.len, strlen(expected));
	assert_memory_equal(sink.text, expected, sink.len);
}

static void check_number(uint64_t value)
{
	char ours[32], libc[32];

	memset(ours, '#', sizeof(ours));
	*sp_put_u64(ours, value) = '\0';
	snprintf(libc, sizeof(libc), "%llu", (unsigned long long)value);
	assert_string_equal(ours, libc);
	assert_int_equal(sp_digits(value), strlen(libc));

	*sp_put_s64(ours, (int64_t)value) = '\0';
	snprintf(libc, sizeof(libc), "%lld", (long long)value);
	assert_string_equal(ours, libc);

	for (unsigned width = 0; width < 25; width += 5) {
		*sp_put_u64_right(ours, value, width) = '\0';
		snprintf(libc, sizeof(libc), "%*llu", (int)width,
			 (unsigned long long)value);
		assert_string_equal(ours, libc);
	}

	*sp_put_hex32(ours, (uint32_t)value) = '\0';
	snprintf(libc, sizeof(libc), "%08x", (uint32_t)value);
	assert_string_equal(ours, libc);
}

static void numbers_read_as_printf_writes_them(void **state)
{
	uint64_t power = 1, random = 88172645463325252ull;

	for (unsigned i = 0; i < 20; i++, power *= 10) {
		check_number(power - 1);
		check_number(power);
		check_number(power + 1);
	}
	for (unsigned i = 0; i < 64; i++) {
		check_number(1ull << i);
		check_number((1ull << i) - 1);
		check_number(-(1ull << i));
	}
	check_number(UINT64_MAX);
	for (unsigned i = 0; i < 20000; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		check_number(random >> (i % 64));
	}
}

static void json_text_is_escaped(void **state)
{
	static const char odd[] = "a\"b\\c\nd\x01"
				  "e\x1f \x7f\xc2\x9b[\xc2\xa0";

	sp_text_json(&text, odd, sizeof(odd) - 1);
	check_written("a\\\"b\\\\c\\u000ad\\u0001e\\u001f \\u007f\\u009b[\xc2\xa0");
}

static void label_text_is_escaped(void **state)
{
	static const char odd[] = "a\"b\\c\nd\te";

	sp_text_label(&text, odd, sizeof(odd) - 1);
	check_written("a\\\"b\\\\c\\nd\te");
}

/* What is no UTF-8 becomes U+FFFD, one for each byte. */
static void broken_utf8_is_replaced(void **state)
{
	static const char *const cases[][2] = {
		{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
		 "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
		{"\xff", "\xef\xbf\xbd"},
		{"\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xe0\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xf4\x90\x80\x80",
		 "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xc3z", "\xef\xbf\xbdz"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(state);
		sp_text_json(&text, cases[i][0], strlen(cases[i][0]));
		check_written(cases[i][1]);
		begin(state);
		sp_text_label(&text, cases[i][0], strlen(cases[i][0]));
		check_written(cases[i][1]);
	}
}

static void words_have_no_white_space(void **state)
{
	sp_text_word(&text, "a b\nc\x7f\x80", 7);
	check_written("a?b?c?\x80");
}

static void long_text_goes_out_in_pieces(void **state)
{
	static char long_text[3 * SP_TEXT_ITEM_MAX + 1];

	memset(long_text, 'y', sizeof(long_text) - 1);
	sp_text_str(&text, "<");
	sp_text_bytes(&text, long_text, sizeof(long_text) - 1);
	sp_text_str(&text, ">");
	assert_int_equal(sp_text_finish(&text), 0);
	assert_int_equal(sink.len, sizeof(long_text) + 1);
	assert_true(sink.nr_pieces >= 3);
	assert_int_equal(sink.text[0], '<');
	assert_int_equal(sink.text[sink.len - 1], '>');
	assert_memory_equal(sink.text + 1, long_text, sizeof(long_text) - 1);
}

/* A reserved item is never split, wherever the buffer happens to end. */
static void items_go_out_whole(void **state)
{
	for (unsigned i = 0; i < 3000; i++) {
		char *p = sp_text_reserve(&text, SP_TEXT_U64_MAX + 1);

		if (text.len_bytes == 0 && sink.len > 0)
			assert_int_equal(sink.text[sink.len - 1], '\n');
		p = sp_put_u64(p, i * 1000003ull);
		*p++ = '\n';
		sp_text_commit(&text, p);
	}
	assert_int_equal(sp_text_finish(&text), 0);
	assert_true(sink.nr_pieces > 3);
}

static void the_first_error_sticks(void **state)
{
	sink.fail_at = 2;
	for (unsigned i = 0; i < 4 * SP_TEXT_ITEM_MAX; i++)
		sp_text_str(&text, "z");
	assert_int_equal(sp_text_finish(&text), -28);
	assert_int_equal(sink.nr_pieces, 2);
	assert_int_equal(sp_text_finish(&text), -28);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(numbers_read_as_printf_writes_them,
				       begin),
		cmocka_unit_test_setup(json_text_is_escaped, begin),
		cmocka_unit_test_setup(label_text_is_escaped, begin),
		cmocka_unit_test_setup(broken_utf8_is_replaced, begin),
		cmocka_unit_test_setup(words_have_no_white_space, begin),
		cmocka_unit_test_setup(long_text_goes_out_in_pieces, begin),
		cmocka_unit_test_setup(items_go_out_whole, begin),
		cmocka_unit_test_setup(the_first_error_sticks, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
