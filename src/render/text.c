/* SPDX-License-Identifier: MIT */
/*
 * render/text.c - the text cursor and the number formats behind it.
 *
 * Decimal digits are made two at a time from a table of 100 pairs, from the
 * right into their final place: the number of digits is known beforehand.
 */
#include "render/text.h"

#include <assert.h>

static const char pairs[] = "00010203040506070809"
			    "10111213141516171819"
			    "20212223242526272829"
			    "30313233343536373839"
			    "40414243444546474849"
			    "50515253545556575859"
			    "60616263646566676869"
			    "70717273747576777879"
			    "80818283848586878889"
			    "90919293949596979899";

static const uint64_t powers[] = {
	1ull,
	10ull,
	100ull,
	1000ull,
	10000ull,
	100000ull,
	1000000ull,
	10000000ull,
	100000000ull,
	1000000000ull,
	10000000000ull,
	100000000000ull,
	1000000000000ull,
	10000000000000ull,
	100000000000000ull,
	1000000000000000ull,
	10000000000000000ull,
	100000000000000000ull,
	1000000000000000000ull,
	10000000000000000000ull,
};

void sp_text_init(struct sp_text *t, char *buf, size_t cap_bytes)
{
	assert(cap_bytes > SP_TEXT_ITEM_MAX);
	*t = (struct sp_text){.buf = buf, .cap_bytes = cap_bytes};
}

void sp_text_start(struct sp_text *t, sp_render_write_fn *write, void *ctx)
{
	t->len_bytes = 0;
	t->write = write;
	t->ctx = ctx;
	t->err = 0;
}

void sp_text_flush(struct sp_text *t)
{
	if (t->len_bytes && !t->err)
		t->err = t->write(t->ctx, t->buf, t->len_bytes);
	t->len_bytes = 0;
}

int sp_text_finish(struct sp_text *t)
{
	sp_text_flush(t);
	return t->err;
}

unsigned sp_digits(uint64_t value)
{
	/* 1233 / 4096 is just above log10(2); the guess is at most one low. */
	unsigned bits = 64 - (unsigned)__builtin_clzll(value | 1);
	unsigned guess = bits * 1233 >> 12;

	return guess + ((value | 1) >= powers[guess]);
}

/* The digits of @value end before @end; @nr of them are written. */
static void put_digits(char *end, uint64_t value)
{
	while (value >= 100) {
		unsigned pair = (unsigned)(value % 100);

		value /= 100;
		end -= 2;
		memcpy(end, pairs + 2 * pair, 2);
	}
	if (value >= 10)
		memcpy(end - 2, pairs + 2 * value, 2);
	else
		end[-1] = (char)('0' + value);
}

char *sp_put_u64_slow(char *p, uint64_t value)
{
	char *end = p + sp_digits(value);

	put_digits(end, value);
	return end;
}

char *sp_put_s64(char *p, int64_t value)
{
	uint64_t magnitude = (uint64_t)value;

	if (value < 0) {
		*p++ = '-';
		magnitude = -magnitude;
	}
	return sp_put_u64(p, magnitude);
}

char *sp_put_u64_right(char *p, uint64_t value, unsigned width)
{
	unsigned nr = sp_digits(value);
	char *end;

	if (nr < width) {
		memset(p, ' ', width - nr);
		p += width - nr;
	}
	end = p + nr;
	put_digits(end, value);
	return end;
}

char *sp_put_hex32(char *p, uint32_t value)
{
	for (int shift = 28; shift >= 0; shift -= 4)
		*p++ = "0123456789abcdef"[value >> shift & 15];
	return p;
}

void sp_text_bytes(struct sp_text *t, const char *s, size_t len)
{
	while (len) {
		size_t nr = len < SP_TEXT_ITEM_MAX ? len : SP_TEXT_ITEM_MAX;
		char *p = sp_text_reserve(t, nr);

		sp_text_commit(t, sp_put_bytes(p, s, nr));
		s += nr;
		len -= nr;
	}
}

void sp_text_str(struct sp_text *t, const char *s)
{
	sp_text_bytes(t, s, strlen(s));
}

void sp_text_u64(struct sp_text *t, uint64_t value)
{
	char *p = sp_text_reserve(t, SP_TEXT_U64_MAX);

	sp_text_commit(t, sp_put_u64(p, value));
}

void sp_text_s64(struct sp_text *t, int64_t value)
{
	char *p = sp_text_reserve(t, SP_TEXT_U64_MAX);

	sp_text_commit(t, sp_put_s64(p, value));
}

/* Bytes of the valid UTF-8 sequence at @s, 0 if there is none. */
static size_t utf8_len(const unsigned char s[4])
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	uint32_t point;
	size_t nr;

	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	nr = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	point = s[0] & (0xffu >> (nr + 1));
	for (size_t i = 1; i < nr; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (s[i] & 0x3f);
	}
	if (point < least[nr] || point > 0x10ffff ||
	    (point >= 0xd800 && point < 0xe000))
		return 0;
	return nr;
}

/* The next 4 bytes, zeros behind the end: the text may change under the reader,
 * so what is looked at and what is written must be the same copy. */
static void next_bytes(unsigned char copy[4], const char *s, size_t len)
{
	memset(copy, 0, 4);
	memcpy(copy, s, len < 4 ? len : 4);
}

/* One character of @copy, or the replacement character. Return: bytes used. */
static size_t put_char(char **p, const unsigned char copy[4])
{
	size_t nr = utf8_len(copy);

	if (!nr) {
		*p = sp_put_bytes(*p, "\xef\xbf\xbd", 3);
		return 1;
	}
	*p = sp_put_bytes(*p, copy, nr);
	return nr;
}

static char *put_json_escape(char *p, unsigned char c)
{
	*p++ = '\\';
	if (c == '"' || c == '\\') {
		*p++ = (char)c;
		return p;
	}
	p = sp_put_bytes(p, "u00", 3);
	*p++ = "0123456789abcdef"[c >> 4];
	*p++ = "0123456789abcdef"[c & 15];
	return p;
}

/* U+0080 to U+009F: to a terminal what those below U+0020 are. */
static bool is_high_control(const unsigned char copy[4])
{
	return copy[0] == 0xc2 && copy[1] >= 0x80 && copy[1] < 0xa0;
}

void sp_text_json(struct sp_text *t, const char *s, size_t len)
{
	while (len) {
		char *p = sp_text_reserve(t, 8);
		unsigned char copy[4], c;
		size_t nr = 1;

		next_bytes(copy, s, len);
		c = copy[0];
		if (c < 0x20 || c == 0x7f || c == '"' || c == '\\')
			p = put_json_escape(p, c);
		else if (is_high_control(copy))
			p = put_json_escape(p, copy[nr++]);
		else
			nr = put_char(&p, copy);
		sp_text_commit(t, p);
		s += nr;
		len -= nr;
	}
}

void sp_text_label(struct sp_text *t, const char *s, size_t len)
{
	while (len) {
		char *p = sp_text_reserve(t, 8);
		unsigned char copy[4], c;
		size_t nr = 1;

		next_bytes(copy, s, len);
		c = copy[0];
		if (c == '\n')
			p = sp_put_bytes(p, "\\n", 2);
		else if (c == '"')
			p = sp_put_bytes(p, "\\\"", 2);
		else if (c == '\\')
			p = sp_put_bytes(p, "\\\\", 2);
		else
			nr = put_char(&p, copy);
		sp_text_commit(t, p);
		s += nr;
		len -= nr;
	}
}

void sp_text_word(struct sp_text *t, const char *s, size_t len)
{
	for (; len; s++, len--) {
		char *p = sp_text_reserve(t, 1);
		unsigned char c = (unsigned char)*s;

		*p = c > 0x20 && c != 0x7f ? (char)c : '?';
		sp_text_commit(t, p + 1);
	}
}
