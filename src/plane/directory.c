// SPDX-License-Identifier: MIT
/*
 * plane/directory.c - the writer's side of the directory of named objects.
 *
 * The entries stand in the segment, where readers copy them. To find one by its
 * name the writer has a chained hash index in memory of its own: heads[] and
 * next[], slots + 1, 0 ends a chain. A free slot's next[] is the next free one.
 * Both arrays have their full length from the start, so that no add can fail
 * for want of memory, and pages never needed are never touched.
 *
 * All of it is guarded by plane->lock. Only entries are seen by others; each
 * change of one is bracketed by seq:
 *
 *   [P2] odd seq, then the words with release, then even seq with release.
 *        Pairs with the loads in reader.c.
 *   [P3] memory populated and a new slot's entry written -> section.used.
 *   [P4] entry removed -> cells given back and used by somebody else (release
 *        fence in sp_dir_remove()).
 */
#include "plane/directory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/fence.h"
#include "base/hash.h"
#include "plane/plane.h"
#include "plane/populate.h"

#define NR_WORDS (sizeof(struct sp_dir_entry) / sizeof(uint64_t))

struct sp_dir {
	uint32_t nr_slots;
	uint32_t nr_touched; /* slots ever used: [0, nr_touched) */
	uint64_t populated;  /* bytes of the section */
	uint32_t free;       /* first free touched slot + 1 */
	uint32_t mask;       /* of heads[] */
	uint32_t *heads;
	uint32_t *next;
	struct sp_hash_key hash_key;
};

/* What an index entry is found by. */
struct key {
	uint32_t type;
	uint64_t parent;
	const char *name;
};

int sp_dir_create(uint32_t nr_slots, struct sp_dir **ret_dir)
{
	struct sp_dir *dir = calloc(1, sizeof(*dir));
	uint32_t nr_heads = 1;

	if (!dir)
		return -ENOMEM;
	while (nr_heads < nr_slots)
		nr_heads *= 2;
	dir->nr_slots = nr_slots;
	dir->mask = nr_heads - 1;
	dir->heads = calloc(nr_heads, sizeof(*dir->heads));
	dir->next = calloc(nr_slots, sizeof(*dir->next));
	if (!dir->heads || !dir->next) {
		sp_dir_destroy(dir);
		return -ENOMEM;
	}
	sp_hash_key_init(&dir->hash_key);
	*ret_dir = dir;
	return 0;
}

void sp_dir_destroy(struct sp_dir *dir)
{
	if (!dir)
		return;
	free(dir->heads);
	free(dir->next);
	free(dir);
}

bool sp_dir_name_is_sane(const char *name, size_t size)
{
	size_t len = strnlen(name, size);

	if (!len || len > SP_OBJECT_NAME_MAX || len == size)
		return false;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)name[i] < ' ' || name[i] == 0x7f ||
		    name[i] == '/')
			return false;
	return true;
}

static struct sp_dir_entry *entry_at(const struct sp_plane *plane,
				     uint32_t slot)
{
	return (struct sp_dir_entry *)(void *)(plane->base +
					       plane->dir_section->off) +
	       slot;
}

static uint32_t *head_of(struct sp_dir *dir, const struct key *key)
{
	struct {
		uint64_t parent;
		uint32_t type;
		char name[SP_OBJECT_NAME_MAX + 1];
	} text = {.parent = key->parent, .type = key->type};
	size_t len = strlen(key->name);

	memcpy(text.name, key->name, len);
	return &dir->heads[sp_hash(&dir->hash_key, &text,
				   offsetof(__typeof__(text), name) + len) &
			   dir->mask];
}

static bool matches(const struct sp_dir_entry *entry, const struct key *key)
{
	return entry->type == key->type && entry->parent == key->parent &&
	       !strcmp(entry->name, key->name);
}

/* Slot + 1 of the object with this key, or 0. */
static uint32_t find(const struct sp_plane *plane, const struct key *key)
{
	uint32_t pos = *head_of(plane->dir, key);

	while (pos && !matches(entry_at(plane, pos - 1), key))
		pos = plane->dir->next[pos - 1];
	return pos;
}

static void link_slot(const struct sp_plane *plane, uint32_t slot)
{
	const struct sp_dir_entry *entry = entry_at(plane, slot);
	uint32_t *head =
		head_of(plane->dir,
			&(struct key){entry->type, entry->parent, entry->name});

	plane->dir->next[slot] = *head;
	*head = slot + 1;
}

static void unlink_slot(const struct sp_plane *plane, uint32_t slot)
{
	const struct sp_dir_entry *entry = entry_at(plane, slot);
	uint32_t *link =
		head_of(plane->dir,
			&(struct key){entry->type, entry->parent, entry->name});

	while (*link != slot + 1)
		link = &plane->dir->next[*link - 1];
	*link = plane->dir->next[slot];
}

/* Return: 0, or -ENOSPC. The slot is taken by take_slot(). */
static int peek_slot(struct sp_plane *plane, uint32_t *ret_slot)
{
	struct sp_dir *dir = plane->dir;
	uint32_t slot = dir->free ? dir->free - 1 : dir->nr_touched;
	int err;

	if (slot >= dir->nr_slots)
		return -ENOSPC;
	err = sp_populate_section(plane, plane->dir_section,
				  (slot + UINT64_C(1)) *
					  sizeof(struct sp_dir_entry),
				  &dir->populated);
	if (err)
		return err;
	*ret_slot = slot;
	return 0;
}

static void take_slot(struct sp_plane *plane, uint32_t slot)
{
	struct sp_dir *dir = plane->dir;

	if (dir->free) {
		dir->free = dir->next[slot];
		return;
	}
	dir->nr_touched = slot + 1;
	/* [P3] */
	__atomic_store_n(&plane->dir_section->used,
			 dir->nr_touched * sizeof(struct sp_dir_entry),
			 __ATOMIC_RELEASE);
}

static void begin_change(struct sp_dir_entry *entry)
{
	__atomic_store_n(&entry->seq, entry->seq + 1, __ATOMIC_RELAXED);
}

static void end_change(struct sp_dir_entry *entry)
{
	/* [P2] */
	__atomic_store_n(&entry->seq, entry->seq + 1, __ATOMIC_RELEASE);
}

/* Everything but seq, which is in the first word with incarnation. */
static void write_entry(struct sp_dir_entry *entry,
			const struct sp_dir_entry *value)
{
	uint64_t *to = (uint64_t *)(void *)entry;
	const uint64_t *from = (const uint64_t *)(const void *)value;

	begin_change(entry);
	/* [P2] */
	__atomic_store_n(&entry->incarnation, value->incarnation,
			 __ATOMIC_RELEASE);
	for (size_t i = 1; i < NR_WORDS; i++)
		__atomic_store_n(&to[i], from[i], __ATOMIC_RELEASE); /* [P2] */
	end_change(entry);
}

static void count_objects(struct sp_plane *plane, int64_t by)
{
	__atomic_store_n(&plane->hdr->nr_objects,
			 plane->hdr->nr_objects + (uint64_t)by,
			 __ATOMIC_RELAXED);
}

static bool is_object_sane(const struct sp_plane *plane,
			   const struct sp_object *object)
{
	/* [P3] */
	uint64_t blob_used =
		__atomic_load_n(&plane->blob_section->used, __ATOMIC_ACQUIRE);

	return object->type != SP_OBJECT_NONE &&
	       sp_dir_name_is_sane(object->name, sizeof(object->name)) &&
	       object->cells_off % 8 == 0 &&
	       sp_range_inside(object->cells_off,
			       object->nr_cells * UINT64_C(8),
			       sp_plane_units_used(plane)) &&
	       sp_range_inside(object->blob_off, object->blob_bytes, blob_used);
}

static void add_at(struct sp_plane *plane, uint32_t slot,
		   const struct sp_object *object, uint64_t *ret_id)
{
	struct sp_dir_entry *entry = entry_at(plane, slot);
	struct sp_dir_entry value = {
		.incarnation = entry->incarnation + 1,
		.type = object->type,
		.nr_cells = object->nr_cells,
		.parent = object->parent,
		.schema = object->schema,
		.cells_off = object->cells_off,
		.blob_off = object->blob_off,
		.blob_bytes = object->blob_bytes,
	};

	memcpy(value.attr, object->attr, sizeof(value.attr));
	strcpy(value.name, object->name); /* length checked */
	write_entry(entry, &value);
	take_slot(plane, slot);
	link_slot(plane, slot);
	count_objects(plane, 1);
	*ret_id = sp_dir_id(slot, value.incarnation);
}

int sp_dir_add(struct sp_plane *plane, const struct sp_object *object,
	       uint64_t *ret_id)
{
	uint32_t slot;
	int err;

	if (!is_object_sane(plane, object))
		return -EINVAL;
	sp_lock_acquire(&plane->lock);
	if (find(plane,
		 &(struct key){object->type, object->parent, object->name}))
		err = -EEXIST;
	else
		err = peek_slot(plane, &slot);
	if (!err)
		add_at(plane, slot, object, ret_id);
	sp_lock_release(&plane->lock);
	return err;
}

/* The live entry with this id, or NULL. */
static struct sp_dir_entry *live_entry(const struct sp_plane *plane,
				       uint64_t id, uint32_t *ret_slot)
{
	struct sp_dir_entry *entry;

	if (!sp_dir_slot(id, ret_slot) || *ret_slot >= plane->dir->nr_touched)
		return NULL;
	entry = entry_at(plane, *ret_slot);
	return entry->type && entry->incarnation == id >> 32 ? entry : NULL;
}

int sp_dir_remove(struct sp_plane *plane, uint64_t id)
{
	struct sp_dir_entry *entry;
	uint32_t slot;

	sp_lock_acquire(&plane->lock);
	entry = live_entry(plane, id, &slot);
	if (entry) {
		unlink_slot(plane, slot);
		begin_change(entry);
		/* [P2] */
		__atomic_store_n(&entry->type, SP_OBJECT_NONE,
				 __ATOMIC_RELEASE);
		end_change(entry);
		plane->dir->next[slot] = plane->dir->free;
		plane->dir->free = slot + 1;
		count_objects(plane, -1);
	}
	sp_lock_release(&plane->lock);
	sp_fence_release(); /* [P4] */
	return entry ? 0 : -ENOENT;
}

int sp_dir_update(struct sp_plane *plane, uint64_t id, unsigned attr_idx,
		  uint64_t value)
{
	struct sp_dir_entry *entry;
	uint32_t slot;

	if (attr_idx >= SP_OBJECT_NR_ATTRS)
		return -EINVAL;
	sp_lock_acquire(&plane->lock);
	entry = live_entry(plane, id, &slot);
	if (entry) {
		begin_change(entry);
		/* [P2] */
		__atomic_store_n(&entry->attr[attr_idx], value,
				 __ATOMIC_RELEASE);
		end_change(entry);
	}
	sp_lock_release(&plane->lock);
	return entry ? 0 : -ENOENT;
}

uint64_t sp_dir_find(struct sp_plane *plane, enum sp_object_type type,
		     uint64_t parent, const char *name)
{
	uint64_t id = 0;
	uint32_t pos;

	if (!sp_dir_name_is_sane(name, SP_OBJECT_NAME_MAX + 1))
		return 0;
	sp_lock_acquire(&plane->lock);
	pos = find(plane, &(struct key){type, parent, name});
	if (pos)
		id = sp_dir_id(pos - 1, entry_at(plane, pos - 1)->incarnation);
	sp_lock_release(&plane->lock);
	return id;
}
