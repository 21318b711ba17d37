/* SPDX-License-Identifier: MIT */
/*
 * mib/schema_store.c - schemas in a plane, each content once.
 *
 * A schema's object is never removed and never changes, and its bytes lie in
 * the append-only blob: who has found it in the directory, whose lock orders
 * that after its insertion, may read both without a lock.
 */
#include "mib/schema.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <statplane/reader.h>

#include "plane/layout.h"
#include "plane/plane.h"

/* Different schemas of one name that a plane may hold. */
#define MAX_VARIANTS 64

static const struct sp_dir_entry *entry_of(const struct sp_plane *plane,
					   uint64_t id)
{
	uint64_t slot = (uint32_t)id - 1u;

	return (const void *)(plane->base + plane->dir_section->off +
			      slot * plane->dir_section->item_len);
}

/* NAME for the first variant, NAME.2 and so on; shortened to fit. */
static void variant_name(const char *name, unsigned variant, char *to,
			 size_t len)
{
	if (variant == 1)
		snprintf(to, len, "%s", name);
	else
		snprintf(to, len, "%.*s.%u", SP_OBJECT_NAME_MAX - 3, name,
			 variant);
}

static bool same_bytes(const struct sp_plane *plane, uint64_t id,
		       const void *bytes, size_t len)
{
	const struct sp_dir_entry *entry = entry_of(plane, id);

	return entry->blob_bytes == len &&
	       !memcmp(plane->base + plane->blob_section->off + entry->blob_off,
		       bytes, len);
}

static int add(struct sp_plane *plane, const char *object_name,
	       const void *bytes, size_t len, enum sp_schema_tag tag,
	       uint64_t *ret_id)
{
	struct sp_object object = {
		.type = SP_OBJECT_SCHEMA,
		.blob_bytes = len,
		.attr = {tag},
	};
	int err;

	/* Between the look-up and here another thread may have added it. Then
	 * the bytes are there twice, which costs room and nothing else. */
	err = sp_blob_append(plane, bytes, len, &object.blob_off);
	if (err)
		return err;
	snprintf(object.name, sizeof(object.name), "%s", object_name);
	return sp_dir_add(plane, &object, ret_id);
}

static int put_bytes(struct sp_plane *plane, const char *name,
		     const void *bytes, size_t len, enum sp_schema_tag tag,
		     uint64_t *ret_id)
{
	char object_name[SP_OBJECT_NAME_MAX + 1];
	unsigned variant = 1;

	while (variant <= MAX_VARIANTS) {
		uint64_t id;
		int err;

		variant_name(name, variant, object_name, sizeof(object_name));
		id = sp_dir_find(plane, SP_OBJECT_SCHEMA, 0, object_name);
		if (id && same_bytes(plane, id, bytes, len)) {
			*ret_id = id;
			return 0;
		}
		if (id) {
			variant++;
			continue;
		}
		err = add(plane, object_name, bytes, len, tag, ret_id);
		if (err != -EEXIST)
			return err;
	}
	return -ENOSPC;
}

static int encode_and_put(struct sp_plane *plane,
			  const struct sp_mib_schema *schema,
			  enum sp_schema_tag tag, uint64_t *ret_id)
{
	size_t len = sp_schema_len(schema);
	void *bytes = malloc(len);
	int err;

	if (!bytes)
		return -ENOMEM;
	sp_schema_encode(schema, bytes);
	err = put_bytes(plane, schema->name, bytes, len, tag, ret_id);
	free(bytes);
	return err;
}

int sp_schema_put(struct sp_plane *plane, const struct sp_mib_schema *schema,
		  uint64_t *ret_id)
{
	int err = sp_schema_check(schema);

	if (err)
		return err;
	return encode_and_put(plane, schema, SP_SCHEMA_OF_PROGRAM, ret_id);
}

int sp_schema_put_own(struct sp_plane *plane,
		      const struct sp_mib_schema *schema,
		      enum sp_schema_tag tag, uint64_t *ret_id)
{
	char object_name[SP_OBJECT_NAME_MAX + 1];

	for (unsigned variant = 1; variant <= MAX_VARIANTS; variant++) {
		uint64_t id;

		variant_name(schema->name, variant, object_name,
			     sizeof(object_name));
		id = sp_dir_find(plane, SP_OBJECT_SCHEMA, 0, object_name);
		if (!id)
			break;
		if (entry_of(plane, id)->attr[0] == tag) {
			*ret_id = id;
			return 0;
		}
	}
	return encode_and_put(plane, schema, tag, ret_id);
}
