/* SPDX-License-Identifier: MIT */
/*
 * net/kernel_schema.h - the kernel's groups as two schemas.
 *
 * One for a namespace, in the order of struct sp_net_cells; one for a device,
 * in the order of struct sp_netdev_cells. Both come from mib/kernel/NAME.def,
 * as the structs do.
 */
#ifndef SP_NET_KERNEL_SCHEMA_H
#define SP_NET_KERNEL_SCHEMA_H

#include <statplane/mib.h>

extern const struct sp_mib_schema sp_net_schema;
extern const struct sp_mib_schema sp_netdev_schema;

#endif
