// SPDX-License-Identifier: MIT
/*
 * cli/items.c - the kernel's items with their names, units and meanings.
 */
#include "cli/items.h"

#include <stdio.h>

#include <statplane/net_items.h>

#define CELL(place)   (offsetof(struct CELLS, place) / 8)
#define TYPE_CELL_IN  CELL(TYPES.InType)
#define TYPE_CELL_OUT CELL(TYPES.OutType)
#define SP_CONSTANT(...)
#define SP_COUNTER(group, name, unit, help)                                    \
	{#group, #name, unit, help, CELL(MEMBER.name), false},
#define SP_GAUGE(group, name, unit, help)                                      \
	{#group, #name, unit, help, CELL(MEMBER.name), true},
#define SP_ITEM(group, name, kind, unit, p515, p61, p612, p618, help)          \
	SP_##kind(group, name, unit, help)
#define SP_ICMP_TYPE(name, way, type, p515, p61, p612, p618, help)             \
	{"Icmp", #name, "messages", help, TYPE_CELL_##way + (type), false},
#define SP_ICMP6_TYPE(name, way, type, help)                                   \
	{"Icmp6", #name, "messages", help, TYPE_CELL_##way + (type), false},

#define CELLS sp_net_cells
const struct sp_item sp_net_items[] = {
#define MEMBER ip
#include <statplane/kernel/ip.def>
#undef MEMBER
#define MEMBER icmp
#define TYPES  icmpmsg
#include <statplane/kernel/icmp.def>
#undef TYPES
#undef MEMBER
#define MEMBER tcp
#include <statplane/kernel/tcp.def>
#undef MEMBER
#define MEMBER udp
#include <statplane/kernel/udp.def>
#undef MEMBER
#define MEMBER udplite
#include <statplane/kernel/udplite.def>
#undef MEMBER
#define MEMBER tcpext
#include <statplane/kernel/tcpext.def>
#undef MEMBER
#define MEMBER ipext
#include <statplane/kernel/ipext.def>
#undef MEMBER
#define MEMBER mptcpext
#include <statplane/kernel/mptcpext.def>
#undef MEMBER
#define MEMBER ip6
#include <statplane/kernel/ip6.def>
#undef MEMBER
#define MEMBER icmp6
#define TYPES  icmp6msg
#include <statplane/kernel/icmp6.def>
#include <statplane/kernel/icmp6type.def>
#undef TYPES
#undef MEMBER
#define MEMBER udp6
#include <statplane/kernel/udp6.def>
#undef MEMBER
#define MEMBER udplite6
#include <statplane/kernel/udplite6.def>
#undef MEMBER
#define MEMBER sockstat
#include <statplane/kernel/sockstat.def>
#undef MEMBER
};
const size_t sp_nr_net_items = sizeof(sp_net_items) / sizeof(sp_net_items[0]);
#undef CELLS

#define CELLS sp_netdev_cells
const struct sp_item sp_netdev_items[] = {
#define MEMBER dev
#include <statplane/kernel/netdev.def>
#undef MEMBER
};
const size_t sp_nr_netdev_items =
	sizeof(sp_netdev_items) / sizeof(sp_netdev_items[0]);

/* Arrays of one cell a type. */
static const struct {
	const char *group;
	const char *way;
	const char *help;
	uint32_t cell_idx;
} arrays[] = {
#define ARRAY(group, member, way, help)                                        \
	{                                                                      \
		group, #way, help,                                             \
			offsetof(struct sp_net_cells, member.way) / 8          \
	}
	ARRAY("IcmpMsg", icmpmsg, InType, "ICMP messages received, this type"),
	ARRAY("IcmpMsg", icmpmsg, OutType, "ICMP messages sent, this type"),
	ARRAY("Icmp6Msg", icmp6msg, InType,
	      "ICMPv6 messages received, this type"),
	ARRAY("Icmp6Msg", icmp6msg, OutType, "ICMPv6 messages sent, this type"),
};

#define NR_TYPES  256
#define NR_ARRAYS (sizeof(arrays) / sizeof(arrays[0]))

static bool has_item(uint32_t cell_idx)
{
	for (size_t i = 0; i < sp_nr_net_items; i++) {
		if (sp_net_items[i].cell_idx == cell_idx)
			return true;
	}
	return false;
}

bool sp_next_type(struct sp_type_item *type, const uint64_t *net_cells,
		  char name[SP_TYPE_NAME])
{
	while (type->next < NR_ARRAYS * NR_TYPES) {
		uint32_t array = type->next / NR_TYPES;
		uint32_t nr = type->next % NR_TYPES;
		uint32_t cell_idx = arrays[array].cell_idx + nr;

		type->next++;
		if (!net_cells[cell_idx])
			continue;
		type->group = arrays[array].group;
		type->help = arrays[array].help;
		type->value = net_cells[cell_idx];
		type->has_item = has_item(cell_idx);
		snprintf(name, SP_TYPE_NAME, "%s%u", arrays[array].way, nr);
		return true;
	}
	return false;
}
