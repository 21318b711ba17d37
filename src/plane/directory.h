/* SPDX-License-Identifier: MIT */
/*
 * plane/directory.h - the writer's private index of the directory.
 */
#ifndef SP_PLANE_DIRECTORY_H
#define SP_PLANE_DIRECTORY_H

#include <stdbool.h>
#include <stdint.h>

#include <statplane/reader.h>

#include "plane/layout.h"

struct sp_dir;

/* An empty directory of at most @nr_slots objects. Return: 0 or -ENOMEM. */
int sp_dir_create(uint32_t nr_slots, struct sp_dir **ret_dir);
/* NULL is fine. */
void sp_dir_destroy(struct sp_dir *dir);

/*
 * What an object may be called: 1 to SP_OBJECT_NAME_MAX bytes, zero-terminated
 * inside @size bytes, without '/' and control characters.
 */
bool sp_dir_name_is_sane(const char *name, size_t size);

/* An id names a slot and the incarnation that the object is of it. */
static inline uint64_t sp_dir_id(uint32_t slot, uint32_t incarnation)
{
	return (uint64_t)incarnation << 32 | (slot + 1);
}

/* Return: false if @id cannot name a slot. */
static inline bool sp_dir_slot(uint64_t id, uint32_t *ret_slot)
{
	if (!(uint32_t)id)
		return false;
	*ret_slot = (uint32_t)id - 1;
	return true;
}

#endif
