/* SPDX-License-Identifier: MIT */
/*
 * cli/items.h - the kernel's items with their names, units and meanings.
 *
 * In the order in which the kernel's files print them. Made from
 * statplane/kernel/NAME.def; the cells are those of this library's own planes.
 */
#ifndef SP_CLI_ITEMS_H
#define SP_CLI_ITEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_item {
	const char *group;
	const char *name;
	const char *unit;
	const char *help;
	uint32_t cell_idx; /* in the object's cells */
	bool is_gauge;     /* signed */
};

/* Of a namespace; of a device. A group's items are in one piece. */
extern const struct sp_item sp_net_items[];
extern const size_t sp_nr_net_items;
extern const struct sp_item sp_netdev_items[];
extern const size_t sp_nr_netdev_items;

/* A message type of ICMP or ICMPv6 that was met. */
struct sp_type_item {
	const char *group; /* "IcmpMsg", "Icmp6Msg" */
	const char *help;
	uint64_t value; /* not 0 */
	bool has_item;  /* one of sp_net_items shows it, too */
	uint32_t next;  /* where to go on */
};

/**
 * sp_next_type() - the next type whose cell is not 0
 * @type: zero to start
 * @name: "InType8", "OutType0"
 *
 * Return: false at the end.
 */
#define SP_TYPE_NAME 16
bool sp_next_type(struct sp_type_item *type, const uint64_t *net_cells,
		  char name[SP_TYPE_NAME]);

#endif
