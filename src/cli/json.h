/* SPDX-License-Identifier: MIT */
/*
 * cli/json.h - write JSON to a stdio stream, commas included.
 *
 * key is NULL inside an array and at the top. Errors show in ferror().
 */
#ifndef SP_CLI_JSON_H
#define SP_CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct sp_json {
	FILE *file;
	bool comma; /* before the next value */
};

/* kind is '{' or '['. */
void sp_json_open(struct sp_json *json, const char *key, char kind);
void sp_json_close(struct sp_json *json, char kind);
/* Bytes that are no UTF-8 are written as U+FFFD. */
void sp_json_string(struct sp_json *json, const char *key, const char *value);
void sp_json_u64(struct sp_json *json, const char *key, uint64_t value);
void sp_json_i64(struct sp_json *json, const char *key, int64_t value);
void sp_json_bool(struct sp_json *json, const char *key, bool value);
void sp_json_null(struct sp_json *json, const char *key);
/* Nanoseconds as seconds with nine decimals. */
void sp_json_seconds(struct sp_json *json, const char *key, uint64_t ns);
/* Finite. */
void sp_json_double(struct sp_json *json, const char *key, double value);

#endif
