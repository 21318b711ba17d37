/* SPDX-License-Identifier: MIT */
/*
 * render/metric.c - names, heads and samples of OpenMetrics families.
 */
#include "render/metric.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NR_NAMES      65536u /* power of two */
#define MAX_SAME_NAME 99

int sp_names_init(struct sp_names *names)
{
	names->nr = 0;
	names->hashes = calloc(NR_NAMES, sizeof(*names->hashes));
	return names->hashes ? 0 : -ENOMEM;
}

void sp_names_fini(struct sp_names *names)
{
	free(names->hashes);
}

void sp_names_clear(struct sp_names *names)
{
	memset(names->hashes, 0, NR_NAMES * sizeof(*names->hashes));
	names->nr = 0;
}

/* FNV-1a of a name and its suffix; never 0. */
static uint64_t hash_name(const char *name, const char *suffix)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 0x100000001b3ull;
	for (; *suffix; suffix++)
		hash = (hash ^ (unsigned char)*suffix) * 0x100000001b3ull;
	return hash | 1;
}

static uint64_t *find_name(const struct sp_names *names, uint64_t hash)
{
	size_t i = (size_t)(hash >> 40) & (NR_NAMES - 1);

	while (names->hashes[i] && names->hashes[i] != hash)
		i = (i + 1) & (NR_NAMES - 1);
	return &names->hashes[i];
}

/* What a family of a kind calls its samples, its own name first. */
static const char *const *suffixes_of(enum sp_mib_kind kind)
{
	static const char *const counter[] = {"", "_total", "_created", NULL};
	static const char *const gauge[] = {"", NULL};
	static const char *const histogram[] = {"",       "_bucket",  "_sum",
						"_count", "_created", NULL};

	switch (kind) {
	case SP_MIB_GAUGE:
		return gauge;
	case SP_MIB_HISTOGRAM:
		return histogram;
	default:
		return counter;
	}
}

static bool names_free(const struct sp_names *names,
		       const struct sp_family *family)
{
	for (const char *const *s = suffixes_of(family->kind); *s; s++)
		if (*find_name(names, hash_name(family->name, *s)))
			return false;
	return true;
}

/* Return: 0; -E2BIG: too many families for the set. */
static int take_names(struct sp_names *names, const struct sp_family *family)
{
	for (const char *const *s = suffixes_of(family->kind); *s; s++) {
		uint64_t hash = hash_name(family->name, *s);

		if (names->nr >= NR_NAMES / 4 * 3)
			return -E2BIG;
		*find_name(names, hash) = hash;
		names->nr++;
	}
	return 0;
}

int sp_family_take_name(struct sp_family *family, struct sp_names *names)
{
	char *end = family->name + strlen(family->name);

	for (unsigned nr = 2; !names_free(names, family); nr++) {
		char *p = end;

		if (nr > MAX_SAME_NAME)
			return -EEXIST;
		*p++ = '_';
		p = sp_put_u64(p, nr);
		*p = '\0';
	}
	family->name_len = strlen(family->name);
	return take_names(names, family);
}

static char *put_word(char *p, const char *word)
{
	return sp_put_bytes(p, word, strlen(word));
}

static void put_line(struct sp_text *t, const char *what,
		     const struct sp_family *family, const char *value,
		     size_t len)
{
	sp_text_str(t, what);
	sp_text_bytes(t, family->name, family->name_len);
	sp_text_str(t, " ");
	sp_text_label(t, value, len);
	sp_text_str(t, "\n");
}

/* A unit may be stated only if the family's name ends in it. */
static bool ends_in_unit(const struct sp_family *family, const char *unit)
{
	size_t len = strlen(unit);

	return len && family->name_len > len + 1 &&
	       family->name[family->name_len - len - 1] == '_' &&
	       memcmp(family->name + family->name_len - len, unit, len) == 0;
}

void sp_family_put_head(const struct sp_family *family, struct sp_text *t,
			const struct sp_schema_item_view *item)
{
	const char *type = family->kind == SP_MIB_GAUGE       ? "gauge"
			   : family->kind == SP_MIB_HISTOGRAM ? "histogram"
							      : "counter";

	put_line(t, "# TYPE ", family, type, strlen(type));
	if (ends_in_unit(family, item->unit))
		put_line(t, "# UNIT ", family, item->unit, strlen(item->unit));
	if (item->help.len)
		put_line(t, "# HELP ", family, item->help.s, item->help.len);
}

/* NAME SUFFIX {LABELS EXTRA} VALUE, and a newline. */
static void put_sample(struct sp_text *t, const struct sp_family *family,
		       const char *suffix, const char *labels,
		       size_t labels_len, const char *extra, size_t extra_len,
		       uint64_t value, bool is_signed)
{
	char *p = sp_text_reserve(t, family->name_len + labels_len + extra_len +
					     SP_TEXT_U64_MAX + 32);

	p = sp_put_bytes(p, family->name, family->name_len);
	p = put_word(p, suffix);
	*p++ = '{';
	p = sp_put_bytes(p, labels, labels_len);
	p = sp_put_bytes(p, extra, extra_len);
	*p++ = '}';
	*p++ = ' ';
	p = is_signed ? sp_put_s64(p, (int64_t)value) : sp_put_u64(p, value);
	*p++ = '\n';
	sp_text_commit(t, p);
}

static void put_array(struct sp_text *t, const struct sp_family *family,
		      const char *labels, size_t len, const uint64_t *cells)
{
	for (unsigned type = 0; type < SP_MIB_ARRAY_CELLS; type++) {
		char extra[32], *p;

		if (!cells[type])
			continue;
		p = put_word(extra, ",type=\"");
		p = sp_put_u64(p, type);
		*p++ = '"';
		put_sample(t, family, "_total", labels, len, extra,
			   (size_t)(p - extra), cells[type], false);
	}
}

/* The upper limit of bucket @b, inclusive, as the format wants numbers. */
static char *put_limit(char *p, unsigned b)
{
	if (b == 64)
		return put_word(p, "+Inf");
	p = sp_put_u64(p, (1ull << b) - 1);
	return put_word(p, ".0");
}

static void put_histogram(struct sp_text *t, const struct sp_family *family,
			  const char *labels, size_t len, const uint64_t *cells)
{
	uint64_t count = 0;

	for (unsigned b = 0; b <= 64; b++) {
		char extra[48], *p;

		count += cells[1 + b];
		p = put_word(extra, ",le=\"");
		p = put_limit(p, b);
		*p++ = '"';
		put_sample(t, family, "_bucket", labels, len, extra,
			   (size_t)(p - extra), count, false);
	}
	put_sample(t, family, "_count", labels, len, "", 0, count, false);
	put_sample(t, family, "_sum", labels, len, "", 0, cells[0], false);
}

void sp_family_put_samples(const struct sp_family *family, struct sp_text *t,
			   const char *labels, size_t len,
			   const uint64_t *cells)
{
	switch (family->kind) {
	case SP_MIB_COUNTER:
		put_sample(t, family, "_total", labels, len, "", 0, cells[0],
			   false);
		break;
	case SP_MIB_GAUGE:
		put_sample(t, family, "", labels, len, "", 0, cells[0], true);
		break;
	case SP_MIB_HISTOGRAM:
		put_histogram(t, family, labels, len, cells);
		break;
	case SP_MIB_ARRAY:
		put_array(t, family, labels, len, cells);
		break;
	}
}
