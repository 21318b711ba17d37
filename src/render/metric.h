/* SPDX-License-Identifier: MIT */
/*
 * render/metric.h - one OpenMetrics family: its name, its head, its samples.
 *
 * A family is an item of a schema. Its name must differ from every other name
 * in the text, those of other families' samples included; struct sp_names is
 * the set of all that are in use.
 */
#ifndef SP_RENDER_METRIC_H
#define SP_RENDER_METRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <statplane/mib.h>

#include "mib/schema_view.h"
#include "render/text.h"

/* PREFIX_GROUP_ITEM_99 and the longest suffix. */
#define SP_FAMILY_MAX (16 + 3 * (SP_SCHEMA_NAME_MAX + 1) + 8)

struct sp_family {
	char name[SP_FAMILY_MAX];
	size_t name_len;
	enum sp_mib_kind kind;
};

/* A set of hashes of fixed size. */
struct sp_names {
	uint64_t *hashes; /* 0 is free */
	size_t nr;
};

/* Return: 0, -ENOMEM. */
int sp_names_init(struct sp_names *names);
void sp_names_fini(struct sp_names *names);
void sp_names_clear(struct sp_names *names);

/**
 * sp_family_take_name() - make family->name and its samples' names the family's
 *
 * If one is taken already, _2, _3 and so on is put behind.
 *
 * Return: 0; -EEXIST if those are taken too; -E2BIG: too many names for the
 * set.
 */
int sp_family_take_name(struct sp_family *family, struct sp_names *names);

/* # TYPE, # UNIT and # HELP. */
void sp_family_put_head(const struct sp_family *family, struct sp_text *t,
			const struct sp_schema_item_view *item);

/* The samples of one object, whose labels are written out in @labels. */
void sp_family_put_samples(const struct sp_family *family, struct sp_text *t,
			   const char *labels, size_t labels_len,
			   const uint64_t *cells);

#endif
