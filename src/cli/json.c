// SPDX-License-Identifier: MIT
/*
 * cli/json.c - write JSON to a stdio stream.
 */
#include "cli/json.h"

#include <inttypes.h>
#include <stddef.h>

/* Length of the UTF-8 sequence at @s, 0 if there is none. */
static size_t utf8_len(const unsigned char *s)
{
	size_t len = s[0] < 0x80             ? 1
		     : (s[0] & 0xe0) == 0xc0 ? 2
		     : (s[0] & 0xf0) == 0xe0 ? 3
		     : (s[0] & 0xf8) == 0xf0 ? 4
					     : 0;

	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	/* overlong forms, surrogates, beyond U+10FFFF */
	if ((len == 2 && s[0] < 0xc2) || (s[0] == 0xe0 && s[1] < 0xa0) ||
	    (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
	    s[0] > 0xf4 || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return len;
}

static void put_text(FILE *file, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	fputc('"', file);
	while (*s) {
		size_t len = utf8_len(s);

		if (len == 0)
			fputs("\xef\xbf\xbd", file);
		else if (*s == '"' || *s == '\\')
			fprintf(file, "\\%c", *s);
		else if (*s < 0x20 || *s == 0x7f)
			fprintf(file, "\\u%04x", *s);
		else
			fwrite(s, 1, len, file);
		s += len ? len : 1;
	}
	fputc('"', file);
}

static void begin(struct sp_json *json, const char *key)
{
	if (json->comma)
		fputc(',', json->file);
	json->comma = true;
	if (key) {
		put_text(json->file, key);
		fputc(':', json->file);
	}
}

void sp_json_open(struct sp_json *json, const char *key, char kind)
{
	begin(json, key);
	fputc(kind, json->file);
	json->comma = false;
}

void sp_json_close(struct sp_json *json, char kind)
{
	fputc(kind == '{' ? '}' : ']', json->file);
	json->comma = true;
}

void sp_json_string(struct sp_json *json, const char *key, const char *value)
{
	begin(json, key);
	put_text(json->file, value);
}

void sp_json_u64(struct sp_json *json, const char *key, uint64_t value)
{
	begin(json, key);
	fprintf(json->file, "%" PRIu64, value);
}

void sp_json_i64(struct sp_json *json, const char *key, int64_t value)
{
	begin(json, key);
	fprintf(json->file, "%" PRId64, value);
}

void sp_json_bool(struct sp_json *json, const char *key, bool value)
{
	begin(json, key);
	fputs(value ? "true" : "false", json->file);
}

void sp_json_null(struct sp_json *json, const char *key)
{
	begin(json, key);
	fputs("null", json->file);
}

void sp_json_seconds(struct sp_json *json, const char *key, uint64_t ns)
{
	begin(json, key);
	fprintf(json->file, "%" PRIu64 ".%09" PRIu64, ns / 1000000000,
		ns % 1000000000);
}

void sp_json_double(struct sp_json *json, const char *key, double value)
{
	begin(json, key);
	fprintf(json->file, "%.10g", value);
}
