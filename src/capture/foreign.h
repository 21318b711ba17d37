/* SPDX-License-Identifier: MIT */
/*
 * capture/foreign.h - every format that libpcap reads: pcapng, old pcap.
 */
#ifndef SP_CAPTURE_FOREIGN_H
#define SP_CAPTURE_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <statplane/frame.h>

#include "capture/source.h"

struct pcap_pkthdr;

struct sp_foreign {
	struct sp_source *source;
	struct pcap *pcap;
	uint8_t *arena;             /* copies of the frames of one vector */
	struct pcap_pkthdr *header; /* read, but not returned yet, or NULL */
	const uint8_t *data;
	uint64_t nr; /* packets read */
	uint32_t linktype;
	int stopped; /* what ended the reading: 0, -errno or 1 = end */
	bool woken;
};

/* Return: as sp_classic_init(). */
int sp_foreign_init(struct sp_foreign *foreign, struct sp_source *source);
void sp_foreign_fini(struct sp_foreign *foreign);
/* Contract: as sp_classic_next(). */
int sp_foreign_next(struct sp_foreign *foreign, struct sp_frame *frames,
		    size_t max);

#endif
