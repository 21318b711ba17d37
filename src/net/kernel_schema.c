/* SPDX-License-Identifier: MIT */
/*
 * net/kernel_schema.c - mib/kernel/NAME.def expanded into schemas.
 *
 * Constants have no cell and so no item. The assertions at the end hold the
 * schemas against the structs that programs compute offsets from.
 */
#include "net/kernel_schema.h"

#include <stddef.h>

#include <statplane/net_items.h>

#define ITEM_COUNTER(name, help, unit) {#name, help, unit, SP_MIB_COUNTER},
#define ITEM_GAUGE(name, help, unit)   {#name, help, unit, SP_MIB_GAUGE},
#define ITEM_CONSTANT(name, help, unit)
#define SP_ITEM(group, name, kind, unit, p515, p61, p612, p618, help)          \
	ITEM_##kind(name, help, unit)
#define SP_ICMP_TYPE(...)
#define SP_ICMP6_TYPE(...)

static const struct sp_mib_item ip_items[] = {
#include <statplane/kernel/ip.def>
};
static const struct sp_mib_item ipext_items[] = {
#include <statplane/kernel/ipext.def>
};
static const struct sp_mib_item icmp_items[] = {
#include <statplane/kernel/icmp.def>
};
static const struct sp_mib_item tcp_items[] = {
#include <statplane/kernel/tcp.def>
};
static const struct sp_mib_item tcpext_items[] = {
#include <statplane/kernel/tcpext.def>
};
static const struct sp_mib_item udp_items[] = {
#include <statplane/kernel/udp.def>
};
static const struct sp_mib_item udplite_items[] = {
#include <statplane/kernel/udplite.def>
};
static const struct sp_mib_item ip6_items[] = {
#include <statplane/kernel/ip6.def>
};
static const struct sp_mib_item icmp6_items[] = {
#include <statplane/kernel/icmp6.def>
};
static const struct sp_mib_item udp6_items[] = {
#include <statplane/kernel/udp6.def>
};
static const struct sp_mib_item udplite6_items[] = {
#include <statplane/kernel/udplite6.def>
};
static const struct sp_mib_item mptcpext_items[] = {
#include <statplane/kernel/mptcpext.def>
};
static const struct sp_mib_item sockstat_items[] = {
#include <statplane/kernel/sockstat.def>
};
static const struct sp_mib_item softnet_items[] = {
#include <statplane/kernel/softnet.def>
};
static const struct sp_mib_item dev_items[] = {
#include <statplane/kernel/netdev.def>
};

static const struct sp_mib_item icmpmsg_items[] = {
	{"InType", "ICMP messages received, by type", "messages", SP_MIB_ARRAY},
	{"OutType", "ICMP messages sent, by type", "messages", SP_MIB_ARRAY},
};
static const struct sp_mib_item icmp6msg_items[] = {
	{"InType", "ICMPv6 messages received, by type", "messages",
	 SP_MIB_ARRAY},
	{"OutType", "ICMPv6 messages sent, by type", "messages", SP_MIB_ARRAY},
};

#define NR(items) (sizeof(items) / sizeof((items)[0]))
#define GROUP(name, help, items)                                               \
	{                                                                      \
		name, help, items, NR(items)                                   \
	}

static const struct sp_mib_group net_groups[] = {
	GROUP("Ip", "IPv4", ip_items),
	GROUP("IpExt", "IPv4, beyond RFC 4293", ipext_items),
	GROUP("Icmp", "ICMP", icmp_items),
	GROUP("Tcp", "TCP", tcp_items),
	GROUP("TcpExt", "TCP, beyond RFC 4022", tcpext_items),
	GROUP("Udp", "UDP over IPv4", udp_items),
	GROUP("UdpLite", "UDP-Lite over IPv4", udplite_items),
	GROUP("Ip6", "IPv6", ip6_items),
	GROUP("Icmp6", "ICMPv6", icmp6_items),
	GROUP("Udp6", "UDP over IPv6", udp6_items),
	GROUP("UdpLite6", "UDP-Lite over IPv6", udplite6_items),
	GROUP("MPTcpExt", "Multipath TCP", mptcpext_items),
	GROUP("Sockstat", "Sockets and fragment queues that exist now",
	      sockstat_items),
	GROUP("Softnet", "What each unit's worker handled", softnet_items),
	GROUP("IcmpMsg", "ICMP messages by type", icmpmsg_items),
	GROUP("Icmp6Msg", "ICMPv6 messages by type", icmp6msg_items),
};

static const struct sp_mib_group netdev_groups[] = {
	GROUP("Dev", "Packets and octets of a device", dev_items),
	GROUP("Ip6", "IPv6 of a device", ip6_items),
	GROUP("Icmp6", "ICMPv6 of a device", icmp6_items),
	GROUP("Icmp6Msg", "ICMPv6 messages of a device by type",
	      icmp6msg_items),
};

const struct sp_mib_schema sp_net_schema = {
	"net",
	net_groups,
	NR(net_groups),
};

const struct sp_mib_schema sp_netdev_schema = {
	"netdev",
	netdev_groups,
	NR(netdev_groups),
};

/*
 * The struct's member has a cell for each item of the group and begins where
 * the group before it ends, so that both number the cells alike.
 */
#define MEMBER(type, member) (((struct type *)0)->member)
#define FITS(type, member, nr_cells, start)                                    \
	_Static_assert(sizeof(MEMBER(type, member)) == 8 * (nr_cells),         \
		       #member " has other cells in its schema");              \
	_Static_assert(offsetof(struct type, member) == (start),               \
		       #member " has another place in its schema")
#define END_OF(type, member)                                                   \
	(offsetof(struct type, member) + sizeof(MEMBER(type, member)))
#define NET(member, before)                                                    \
	FITS(sp_net_cells, member, NR(member##_items),                         \
	     END_OF(sp_net_cells, before))
#define NETDEV(member, before)                                                 \
	FITS(sp_netdev_cells, member, NR(member##_items),                      \
	     END_OF(sp_netdev_cells, before))

FITS(sp_net_cells, ip, NR(ip_items), 0);
NET(ipext, ip);
NET(icmp, ipext);
NET(tcp, icmp);
NET(tcpext, tcp);
NET(udp, tcpext);
NET(udplite, udp);
NET(ip6, udplite);
NET(icmp6, ip6);
NET(udp6, icmp6);
NET(udplite6, udp6);
NET(mptcpext, udplite6);
NET(sockstat, mptcpext);
NET(softnet, sockstat);
FITS(sp_net_cells, icmpmsg, 2 * SP_MIB_ARRAY_CELLS,
     END_OF(sp_net_cells, softnet));
FITS(sp_net_cells, icmp6msg, 2 * SP_MIB_ARRAY_CELLS,
     END_OF(sp_net_cells, icmpmsg));
_Static_assert(sizeof(struct sp_net_cells) == END_OF(sp_net_cells, icmp6msg),
	       "a group of sp_net_cells is not in the schema");

FITS(sp_netdev_cells, dev, NR(dev_items), 0);
NETDEV(ip6, dev);
NETDEV(icmp6, ip6);
FITS(sp_netdev_cells, icmp6msg, 2 * SP_MIB_ARRAY_CELLS,
     END_OF(sp_netdev_cells, icmp6));
_Static_assert(sizeof(struct sp_netdev_cells) ==
		       END_OF(sp_netdev_cells, icmp6msg),
	       "a group of sp_netdev_cells is not in the schema");
