/* SPDX-License-Identifier: MIT */
/*
 * statplane/net.h - network namespaces and devices, with the kernel's MIBs.
 *
 * A namespace owns one run of per-CPU cells with every group that the kernel
 * keeps for a namespace; a device owns one with the columns of net/dev and its
 * IPv6 groups. The items, in the order of their cells, stand in
 * src/mib/kernel/NAME.def; the enums below come from there.
 */
#ifndef STATPLANE_NET_H
#define STATPLANE_NET_H

#include <statplane/export.h>
#include <statplane/mib.h>
#include <statplane/net_items.h>
#include <statplane/percpu.h>

SP_BEGIN_DECLS

struct sp_net;
struct sp_netdev;

/* Values that the kernel's files show and that are settings, not statistics; 0 is
 * the default. */
struct sp_net_opts {
	size_t sz; /* sizeof(struct sp_net_opts) of the caller */
	uint32_t forwarding;  /* 1 router, 2 host (default) */
	uint32_t default_ttl; /* default 64 */
};

/* Indexes of sp_object.attr of SP_OBJECT_NETNS and SP_OBJECT_NETDEV. A MAC is its
 * six octets as one number, the first octet highest; 0 for none. */
enum { SP_NET_ATTR_FORWARDING, SP_NET_ATTR_DEFAULT_TTL };
enum { SP_NETDEV_ATTR_IFINDEX, SP_NETDEV_ATTR_MAC };

/**
 * sp_net_create() - make a namespace
 * @name: unique among the plane's namespaces; at most 63 bytes, no '/' or
 *        control characters
 *
 * @opts: borrowed for the call; NULL for all defaults
 * @ret_net: give it back with sp_net_destroy()
 *
 * Touches no unit: costs the same however many CPUs, lanes and namespaces there
 * are. It has no devices, not even "lo".
 *
 * Return: 0; -EEXIST; -EINVAL; -ENOSPC if the plane is full; -ENOMEM.
 *
 * Context: any thread; takes locks; may block on the file system.
 */
SP_API int sp_net_create(struct sp_plane *plane, const char *name,
			 const struct sp_net_opts *opts,
			 struct sp_net **ret_net);

/**
 * sp_net_destroy() - remove a namespace and the devices that it still has
 * @net: the namespace, or NULL
 *
 * No thread may use it or its devices any more.
 *
 * Context: any thread; takes locks.
 */
SP_API void sp_net_destroy(struct sp_net *net);

/**
 * sp_netdev_create() - make a device in a namespace
 * @name: unique in the namespace, at most 15 bytes; no '/', ':', white space or
 *        control character, not "." or ".."
 * @ifindex: unique in the namespace, at most 2^31 - 1; 0 for one more than the
 *        highest that the namespace ever had
 * @mac: six octets, borrowed for the call, or NULL
 * @ret_dev: give it back with sp_netdev_destroy(), or by sp_net_destroy()
 *
 * Touches no unit.
 *
 * Return: 0; -EEXIST if the name or the index is taken; -EINVAL; -ENOSPC if the
 * plane is full or the indexes are used up; -ENOMEM.
 *
 * Context: any thread; takes locks; may block on the file system. Looks through
 * the namespace's devices if @ifindex is not the highest so far.
 */
SP_API int sp_netdev_create(struct sp_net *net, const char *name,
			    uint32_t ifindex, const uint8_t *mac,
			    struct sp_netdev **ret_dev);
/* No thread may use it any more. NULL is fine. Context: as sp_net_destroy(). */
SP_API void sp_netdev_destroy(struct sp_netdev *dev);

/*
 * Offsets for the inline adds:
 *	sp_lane_add(lane, sp_net_off(net) + SP_NET_CELL(ip, InReceives), 1);
 */
SP_API sp_percpu_t sp_net_off(const struct sp_net *net);
SP_API sp_percpu_t sp_netdev_off(const struct sp_netdev *dev);

/* Byte offset of one counter in the cells of a namespace or a device. */
#define SP_NET_CELL(group, item) offsetof(struct sp_net_cells, group.item)
#define SP_NETDEV_CELL(group, item) offsetof(struct sp_netdev_cells, group.item)

SP_END_DECLS

#endif
