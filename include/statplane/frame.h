/* SPDX-License-Identifier: MIT */
/*
 * statplane/frame.h - one captured frame, as a program hands it to the library.
 */
#ifndef STATPLANE_FRAME_H
#define STATPLANE_FRAME_H

#include <stdint.h>

/* Seen from the observed host. */
enum sp_direction {
	SP_DIRECTION_UNKNOWN, /* go by the source MAC address */
	SP_DIRECTION_IN,
	SP_DIRECTION_OUT,
};

struct sp_frame {
	const uint8_t *data; /* borrowed for the call */
	uint64_t time_ns;    /* since the epoch */
	uint32_t cap_len;    /* octets at @data */
	uint32_t len;        /* octets on the wire, >= cap_len */
	uint8_t direction;   /* enum sp_direction */
};

/*
 * The LINKTYPE_ values (tcpdump.org/linktypes) that are understood. Raw IP has
 * one value in files and two more, those of DLT_RAW, that some writers left in
 * theirs.
 */
enum sp_linktype {
	SP_LINKTYPE_NULL = 0,
	SP_LINKTYPE_ETHERNET = 1,
	SP_LINKTYPE_RAW_DLT = 12,
	SP_LINKTYPE_RAW_OPENBSD = 14,
	SP_LINKTYPE_RAW = 101,
	SP_LINKTYPE_LOOP = 108,
	SP_LINKTYPE_LINUX_SLL = 113,
	SP_LINKTYPE_IPV4 = 228,
	SP_LINKTYPE_IPV6 = 229,
	SP_LINKTYPE_LINUX_SLL2 = 276,
};

#endif
