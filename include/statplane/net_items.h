/* SPDX-License-Identifier: MIT */
/*
 * statplane/net_items.h - the cells of a namespace and of a device, by name.
 *
 * One struct member for each counter and gauge of statplane/kernel/NAME.def, in
 * the order of those files; constants have no cell. The structs are never
 * instantiated: their offsets are offsets into per-CPU memory. They describe
 * this library's own planes; a reader of another version's plane goes by the
 * names in its schema.
 */
#ifndef STATPLANE_NET_ITEMS_H
#define STATPLANE_NET_ITEMS_H

#include <stddef.h>
#include <stdint.h>

#define SP_CELL_COUNTER(name) uint64_t name;
#define SP_CELL_GAUGE(name) uint64_t name;
#define SP_CELL_CONSTANT(name)
#define SP_ITEM(group, name, kind, ...) SP_CELL_##kind(name)
/* Printed from the per-type arrays, no cell of their own. */
#define SP_ICMP_TYPE(...)
#define SP_ICMP6_TYPE(...)

struct sp_net_cells {
	struct {
#include <statplane/kernel/ip.def>
	} ip;
	struct {
#include <statplane/kernel/ipext.def>
	} ipext;
	struct {
#include <statplane/kernel/icmp.def>
	} icmp;
	struct {
#include <statplane/kernel/tcp.def>
	} tcp;
	struct {
#include <statplane/kernel/tcpext.def>
	} tcpext;
	struct {
#include <statplane/kernel/udp.def>
	} udp;
	struct {
#include <statplane/kernel/udplite.def>
	} udplite;
	struct {
#include <statplane/kernel/ip6.def>
	} ip6;
	struct {
#include <statplane/kernel/icmp6.def>
	} icmp6;
	struct {
#include <statplane/kernel/udp6.def>
	} udp6;
	struct {
#include <statplane/kernel/udplite6.def>
	} udplite6;
	struct {
#include <statplane/kernel/mptcpext.def>
	} mptcpext;
	/* Live objects that net/sockstat shows, as gauges. */
	struct {
#include <statplane/kernel/sockstat.def>
	} sockstat;
	/* What each unit's worker handled: one row a unit in net/softnet_stat. */
	struct {
#include <statplane/kernel/softnet.def>
	} softnet;
	struct {
		uint64_t InType[256];
		uint64_t OutType[256];
	} icmpmsg;
	struct {
		uint64_t InType[256];
		uint64_t OutType[256];
	} icmp6msg;
};

struct sp_netdev_cells {
	struct {
#include <statplane/kernel/netdev.def>
	} dev;
	struct {
#include <statplane/kernel/ip6.def>
	} ip6;
	struct {
#include <statplane/kernel/icmp6.def>
	} icmp6;
	struct {
		uint64_t InType[256];
		uint64_t OutType[256];
	} icmp6msg;
};

#undef SP_ITEM
#undef SP_ICMP_TYPE
#undef SP_ICMP6_TYPE
#undef SP_CELL_COUNTER
#undef SP_CELL_GAUGE
#undef SP_CELL_CONSTANT

#endif
