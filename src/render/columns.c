/* SPDX-License-Identifier: MIT */
/*
 * render/columns.c - mib/kernel/NAME.def expanded into tables of columns.
 *
 * The value of each CONSTANT item stands here, as VALUE_GROUP_NAME; a new one
 * in a .def file does not compile until it has its value.
 */
#include "render/columns.h"

#include <statplane/net.h>

#define SOURCE_COUNTER(group, name)  SP_SOURCE_CELL, 0
#define SOURCE_GAUGE(group, name)    SP_SOURCE_CELL, 1
#define SOURCE_CONSTANT(group, name) SOURCE_##group##_##name, 0
#define VALUE_COUNTER(group, name)   0
#define VALUE_GAUGE(group, name)     0
#define VALUE_CONSTANT(group, name)  VALUE_##group##_##name

#define SOURCE_Ip_Forwarding         SP_SOURCE_ATTR
#define VALUE_Ip_Forwarding          SP_NET_ATTR_FORWARDING
#define SOURCE_Ip_DefaultTTL         SP_SOURCE_ATTR
#define VALUE_Ip_DefaultTTL          SP_NET_ATTR_DEFAULT_TTL
#define SOURCE_Tcp_RtoAlgorithm      SP_SOURCE_CONSTANT
#define VALUE_Tcp_RtoAlgorithm       1
#define SOURCE_Tcp_RtoMin            SP_SOURCE_CONSTANT
#define VALUE_Tcp_RtoMin             200
#define SOURCE_Tcp_RtoMax            SP_SOURCE_CONSTANT
#define VALUE_Tcp_RtoMax             120000
#define SOURCE_Tcp_MaxConn           SP_SOURCE_CONSTANT
#define VALUE_Tcp_MaxConn            -1
#define SOURCE_Softnet_unused4       SP_SOURCE_CONSTANT
#define VALUE_Softnet_unused4        0
#define SOURCE_Softnet_unused5       SP_SOURCE_CONSTANT
#define VALUE_Softnet_unused5        0
#define SOURCE_Softnet_unused6       SP_SOURCE_CONSTANT
#define VALUE_Softnet_unused6        0
#define SOURCE_Softnet_unused7       SP_SOURCE_CONSTANT
#define VALUE_Softnet_unused7        0
#define SOURCE_Softnet_unused8       SP_SOURCE_CONSTANT
#define VALUE_Softnet_unused8        0
#define SOURCE_Softnet_cpu_collision SP_SOURCE_CONSTANT
#define VALUE_Softnet_cpu_collision  0
#define SOURCE_Softnet_cpu           SP_SOURCE_CPU
#define VALUE_Softnet_cpu            0

#define POSITIONS(p515, p61, p612, p618)                                       \
	{                                                                      \
		[SP_LAYOUT_5_15] = p515, [SP_LAYOUT_6_1] = p61,                \
		[SP_LAYOUT_6_12] = p612, [SP_LAYOUT_6_18] = p618               \
	}
#define SP_ITEM(group, name, kind, unit, p515, p61, p612, p618, help)          \
	{#name, sizeof(#name) - 1, SOURCE_##kind(group, name),                 \
	 POSITIONS(p515, p61, p612, p618), VALUE_##kind(group, name)},
#define SP_ICMP_TYPE(name, dir, type, p515, p61, p612, p618, help)             \
	{#name,                                                                \
	 sizeof(#name) - 1,                                                    \
	 SP_SOURCE_##dir##_TYPE,                                               \
	 0,                                                                    \
	 POSITIONS(p515, p61, p612, p618),                                     \
	 type},

#define NR(table) (sizeof(table) / sizeof((table)[0]))
#define GROUP(variable, name, array_name, table)                               \
	const struct sp_column_group sp_columns_##variable = {                 \
		name, array_name, table, NR(table)}

static const struct sp_column ip[] = {
#include <statplane/kernel/ip.def>
};
GROUP(ip, "Ip", NULL, ip);

static const struct sp_column icmp[] = {
#include <statplane/kernel/icmp.def>
};
GROUP(icmp, "Icmp", "IcmpMsg", icmp);

static const struct sp_column tcp[] = {
#include <statplane/kernel/tcp.def>
};
GROUP(tcp, "Tcp", NULL, tcp);

static const struct sp_column udp[] = {
#include <statplane/kernel/udp.def>
};
GROUP(udp, "Udp", NULL, udp);

static const struct sp_column udplite[] = {
#include <statplane/kernel/udplite.def>
};
GROUP(udplite, "UdpLite", NULL, udplite);

static const struct sp_column tcpext[] = {
#include <statplane/kernel/tcpext.def>
};
GROUP(tcpext, "TcpExt", NULL, tcpext);

static const struct sp_column ipext[] = {
#include <statplane/kernel/ipext.def>
};
GROUP(ipext, "IpExt", NULL, ipext);

static const struct sp_column mptcpext[] = {
#include <statplane/kernel/mptcpext.def>
};
GROUP(mptcpext, "MPTcpExt", NULL, mptcpext);

static const struct sp_column ip6[] = {
#include <statplane/kernel/ip6.def>
};
GROUP(ip6, "Ip6", NULL, ip6);

static const struct sp_column icmp6[] = {
#include <statplane/kernel/icmp6.def>
};
GROUP(icmp6, "Icmp6", NULL, icmp6);

static const struct sp_column udp6[] = {
#include <statplane/kernel/udp6.def>
};
GROUP(udp6, "Udp6", NULL, udp6);

static const struct sp_column udplite6[] = {
#include <statplane/kernel/udplite6.def>
};
GROUP(udplite6, "UdpLite6", NULL, udplite6);

static const struct sp_column dev[] = {
#include <statplane/kernel/netdev.def>
};
GROUP(dev, "Dev", NULL, dev);

static const struct sp_column sockstat[] = {
#include <statplane/kernel/sockstat.def>
};
GROUP(sockstat, "Sockstat", NULL, sockstat);

static const struct sp_column softnet[] = {
#include <statplane/kernel/softnet.def>
};
GROUP(softnet, "Softnet", NULL, softnet);

/* The order of the file is the order on the page, in every layout. */
#define SP_ICMP6_TYPE(name, dir, type, help) ICMP6_TYPE_##name,
enum {
#include <statplane/kernel/icmp6type.def>
};
#undef SP_ICMP6_TYPE

#define SP_ICMP6_TYPE(name, dir, type, help)                                   \
	{#name,                                                                \
	 sizeof(#name) - 1,                                                    \
	 SP_SOURCE_##dir##_TYPE,                                               \
	 0,                                                                    \
	 POSITIONS(ICMP6_TYPE_##name + 1, ICMP6_TYPE_##name + 1,               \
		   ICMP6_TYPE_##name + 1, ICMP6_TYPE_##name + 1),              \
	 type},
static const struct sp_column icmp6type[] = {
#include <statplane/kernel/icmp6type.def>
};
GROUP(icmp6type, "Icmp6", "Icmp6Msg", icmp6type);

size_t sp_columns_nr(const struct sp_column_group *group, enum sp_layout layout)
{
	size_t nr = 0;

	for (size_t i = 0; i < group->nr_columns; i++)
		nr += group->columns[i].pos[layout] != 0;
	return nr;
}

const struct sp_column *sp_columns_at(const struct sp_column_group *group,
				      enum sp_layout layout, size_t pos)
{
	for (size_t i = 0; i < group->nr_columns; i++)
		if (group->columns[i].pos[layout] == pos)
			return &group->columns[i];
	return NULL;
}
