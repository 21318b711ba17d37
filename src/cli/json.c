// SPDX-License-Identifier: MIT
/*
 * cli/json.c - write JSON to a stdio stream.
 */
#include "cli/json.h"

#include <inttypes.h>
#include <stddef.h>

#include "cli/visible.h"

/* U+0080 to U+009F are controls as those below U+0020 are, to a terminal. */
static bool is_high_control(const char *s, size_t len)
{
	return len == 2 && !sp_is_visible(s, len);
}

static void put_text(FILE *file, const char *s)
{
	fputc('"', file);
	while (*s) {
		size_t len = sp_utf8_len(s, SP_UTF8_MAX);
		unsigned char c = (unsigned char)*s;

		if (len == 0)
			fputs("\xef\xbf\xbd", file);
		else if (c == '"' || c == '\\')
			fprintf(file, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			fprintf(file, "\\u%04x", c);
		else if (is_high_control(s, len))
			fprintf(file, "\\u%04x", (unsigned char)s[1]);
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
