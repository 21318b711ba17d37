/* SPDX-License-Identifier: MIT */
/*
 * observe/evidence.h - what frames tell about who sends and owns what.
 *
 * Tables of fixed size; what comes when they are full is passed over, which
 * does no harm: the observed host is in nearly every frame, from the first on.
 */
#ifndef SP_OBSERVE_EVIDENCE_H
#define SP_OBSERVE_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

#include <statplane/observe.h>

#include "base/hash.h"
#include "packet/frame.h"

#define EVIDENCE_STATIONS    1024u /* powers of two */
#define EVIDENCE_CLAIMS      8192u
#define EVIDENCE_BROADCASTS  64u
#define EVIDENCE_PER_STATION 80u /* addresses of one station */

/* Where frames carry no MAC address: the one that this is about. */
#define STATION_NOBODY 0

/* One MAC address. */
struct station {
	uint8_t mac[6];
	bool used;
	bool many; /* more addresses than are kept */
	uint16_t nr_claims;
	uint32_t order;      /* of appearance, from 1 */
	uint64_t nr_unicast; /* unicast frames that it took part in */
	uint64_t nr_marked;  /* frames marked as sent by it or received by it */
	uint64_t
		nr_unfilled; /* sent with a checksum that offload must fill in */
	uint64_t
		nr_answers; /* replies of a kind that only the asked one sends */
};

/* An address that was the source of what a station sent. */
struct claim {
	uint32_t order; /* of appearance, from 1; 0: free */
	uint16_t station;
	uint8_t family;
	uint8_t ttl;  /* the highest */
	bool claimed; /* by ARP, ND, or as the source of a multicast */
	uint8_t octets[16];
	uint64_t nr; /* packets */
	uint64_t nr_answers;
};

struct evidence {
	uint32_t linktype;
	struct sp_hash_key key;
	uint64_t nr_unicast;
	uint64_t nr_marked;
	uint64_t nr_packets;    /* without MAC addresses */
	uint64_t nr_loopback;   /* those of them from all zeros to all zeros */
	uint16_t first_asked;   /* station that the first unicast frame was
				  * for */
	uint32_t first_ends[2]; /* without MAC addresses: order of the claim
				  * that the first packet of IPv4, of IPv6 was
				  * for */
	uint32_t nr_stations;
	uint32_t nr_claims;
	uint32_t nr_broadcasts;
	struct station stations[EVIDENCE_STATIONS];
	struct claim claims[EVIDENCE_CLAIMS];
	uint8_t broadcasts[EVIDENCE_BROADCASTS][4]; /* IPv4 destinations of
						     * broadcast frames */
};

void evidence_frame(struct evidence *evidence, const struct sp_frame *frame);

/* Return: the station's index, or -1 if it was not met. */
int evidence_station(const struct evidence *evidence, const uint8_t *mac);

#endif
