/* SPDX-License-Identifier: MIT */
/*
 * net/handle.h - what other rooms of the library ask of a namespace.
 */
#ifndef SP_NET_HANDLE_H
#define SP_NET_HANDLE_H

#include <stdint.h>

#include <statplane/net.h>

struct sp_plane *sp_net_plane(const struct sp_net *net);
/* The id of its directory object. */
uint64_t sp_net_id(const struct sp_net *net);

#endif
