/* SPDX-License-Identifier: MIT */
/*
 * render/text.h - a text cursor over a fixed buffer.
 *
 * The caller reserves room for a whole item, then writes the item without
 * further checks; when the buffer is full it goes out through the write
 * callback. So the callback gets text in pieces that end between items, never
 * inside one.
 *
 * The first error of the callback sticks: from then on text is thrown away, and
 * sp_text_finish() returns the error. One thread at a time.
 */
#ifndef SP_RENDER_TEXT_H
#define SP_RENDER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <statplane/render.h>

/* The most that may be reserved at once. */
#define SP_TEXT_ITEM_MAX 4096u
/* Digits of 2^64 - 1, and of -2^63 with its sign. */
#define SP_TEXT_U64_MAX 20u

struct sp_text {
	char *buf;
	size_t len_bytes;
	size_t cap_bytes; /* more than SP_TEXT_ITEM_MAX */
	sp_render_write_fn *write;
	void *ctx;
	int err;
};

/* @buf stays the caller's. */
void sp_text_init(struct sp_text *t, char *buf, size_t cap_bytes);
/* Throw away what is buffered and write to @write from now on. */
void sp_text_start(struct sp_text *t, sp_render_write_fn *write, void *ctx);
/* Pass on what is buffered. Return: 0, or the first error of the callback. */
int sp_text_finish(struct sp_text *t);
/* Pass on what is buffered, to make room. */
void sp_text_flush(struct sp_text *t);

/**
 * sp_text_reserve() - make sure that @nr bytes fit, at most SP_TEXT_ITEM_MAX
 *
 * Return: where to write; hand the end to sp_text_commit().
 */
static inline char *sp_text_reserve(struct sp_text *t, size_t nr)
{
	if (t->cap_bytes - t->len_bytes < nr)
		sp_text_flush(t);
	return t->buf + t->len_bytes;
}

static inline void sp_text_commit(struct sp_text *t, const char *end)
{
	t->len_bytes = (size_t)(end - t->buf);
}

/* Copy up to 8 bytes; may write 8 whatever @len is. @s has 8 readable bytes. */
static inline char *sp_put_short(char *p, const char *s, size_t len)
{
	memcpy(p, s, 8);
	return p + len;
}

static inline char *sp_put_bytes(char *p, const void *s, size_t len)
{
	memcpy(p, s, len);
	return p + len;
}

/* Decimal digits of @value; 1 for 0. */
unsigned sp_digits(uint64_t value);

/* Write @value in decimal. Return: the end, at most SP_TEXT_U64_MAX on. */
char *sp_put_u64_slow(char *p, uint64_t value);

static inline char *sp_put_u64(char *p, uint64_t value)
{
	if (value < 10) {
		*p = (char)('0' + value);
		return p + 1;
	}
	return sp_put_u64_slow(p, value);
}

char *sp_put_s64(char *p, int64_t value);
/* Right-aligned in @width columns, more if it needs more. */
char *sp_put_u64_right(char *p, uint64_t value, unsigned width);
/* Eight hexadecimal digits. */
char *sp_put_hex32(char *p, uint32_t value);

/* Text of a caller or a literal; any length. */
void sp_text_bytes(struct sp_text *t, const char *s, size_t len);
void sp_text_str(struct sp_text *t, const char *s);
void sp_text_u64(struct sp_text *t, uint64_t value);
void sp_text_s64(struct sp_text *t, int64_t value);

/* The inside of a JSON string: quotes, backslashes, control characters, and
 * bytes that are not UTF-8 as U+FFFD. */
void sp_text_json(struct sp_text *t, const char *s, size_t len);
/* The inside of an OpenMetrics label value or help text. */
void sp_text_label(struct sp_text *t, const char *s, size_t len);
/* A name in a file of /proc, where white space separates: '?' in its place, and
 * for control characters. */
void sp_text_word(struct sp_text *t, const char *s, size_t len);

#endif
