/* SPDX-License-Identifier: MIT */
/*
 * mib/schema.h - the bytes of a schema in the plane, as docs/schema-format.md
 *has them, and the writer's side of them. The reader's side: mib/schema_view.h.
 *
 *	+--------+--------+-- --+-------+-- --+---------------------------+
 *	| header | group  | ... | item  | ... | strings, each with its NUL |
 *	+--------+--------+-- --+-------+-- --+---------------------------+
 *
 * Offsets are from the header. All integers are in the writer's byte order,
 *which the plane's header states.
 */
#ifndef SP_MIB_SCHEMA_H
#define SP_MIB_SCHEMA_H

#include <stddef.h>
#include <stdint.h>

#include <statplane/mib.h>
#include <statplane/plane.h>

#define SP_SCHEMA_MAGIC     0x43535053u /* "SPSC" in little-endian order */
#define SP_SCHEMA_VERSION   1
#define SP_SCHEMA_NAME_MAX  63
#define SP_SCHEMA_HELP_MAX  1023
#define SP_SCHEMA_MAX_CELLS (SP_PERCPU_MAX_SIZE / 8)

struct sp_schema_hdr {
	uint32_t magic;
	uint16_t version;   /* other versions are refused */
	uint16_t hdr_len;   /* of this struct; may grow within a version */
	uint32_t total_len; /* of the whole schema */
	uint32_t nr_groups;
	uint32_t nr_items; /* of all groups */
	uint32_t nr_cells; /* of all items */
	uint32_t name_off;
	uint16_t group_len; /* of a group record; may grow */
	uint16_t item_len;  /* of an item record; may grow */
	uint32_t groups_off;
	uint32_t items_off;
};

struct sp_schema_group {
	uint32_t name_off;
	uint32_t help_off;
	uint32_t first_item; /* index into the items of the schema */
	uint32_t nr_items;
};

struct sp_schema_item {
	uint32_t name_off;
	uint32_t help_off;
	uint32_t unit_off;
	uint32_t kind;     /* enum sp_mib_kind */
	uint32_t cell_idx; /* first cell in the MIB */
	uint32_t nr_cells;
};

/* Cells of one item; 0 for a kind that there is not. */
size_t sp_schema_kind_cells(enum sp_mib_kind kind);

/**
 * sp_schema_check() - does @schema keep the rules of statplane/mib.h?
 *
 * Return: 0, or -EINVAL.
 */
int sp_schema_check(const struct sp_mib_schema *schema);

/* Bytes of the encoded schema. */
size_t sp_schema_len(const struct sp_mib_schema *schema);

/* Encode a schema that was checked into @buf of sp_schema_len() bytes. Equal
 * schemas give equal bytes. */
void sp_schema_encode(const struct sp_mib_schema *schema, void *buf);

/**
 * sp_schema_put() - have @schema in the plane, once
 * @ret_id: id of its SP_OBJECT_SCHEMA
 *
 * A schema with the same content that the plane has already is used again, so
 * that any number of MIBs share it. One that has the same name and another
 * content becomes an object of its own, NAME.2 and so on.
 *
 * Return: 0; -EINVAL as sp_schema_check(); -ENOSPC if the plane is full;
 * -ENOMEM.
 *
 * Context: any thread; takes the plane's locks; allocates.
 */
int sp_schema_put(struct sp_plane *plane, const struct sp_mib_schema *schema,
		  uint64_t *ret_id);

/* Which of the library's own schemas; in the object's attribute 0. */
enum sp_schema_tag {
	SP_SCHEMA_OF_PROGRAM,
	SP_SCHEMA_NET,
	SP_SCHEMA_NETDEV
};

/**
 * sp_schema_put_own() - the same for one of the library's own schemas
 * @tag: stands for its content, so that only the first call for a plane encodes
 *       it: the ten-thousandth namespace must be as cheap as the first
 */
int sp_schema_put_own(struct sp_plane *plane,
		      const struct sp_mib_schema *schema,
		      enum sp_schema_tag tag, uint64_t *ret_id);

#endif
