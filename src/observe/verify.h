/* SPDX-License-Identifier: MIT */
/*
 * observe/verify.h - checksums of received packets, as far as they can be
 * judged.
 *
 * A checksum is called bad only when every octet that it covers was captured. A
 * capture on the host itself shows some packets before the hardware, or nobody
 * at all on a virtual device, has filled the checksum in: the field then holds
 * the sum of the pseudo-header (CHECKSUM_PARTIAL in the kernel, which does not
 * check such packets), and mode auto takes it for good.
 */
#ifndef SP_OBSERVE_VERIFY_H
#define SP_OBSERVE_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "observe/observer.h"

/* The IPv4 header of @len octets, all of them captured. */
bool verify_header(struct sp_observer *o, const uint8_t *header, uint32_t len);

static inline bool is_verified(const struct sp_observer *o,
			       const struct payload *payload)
{
	return o->checksum != SP_CHECKSUM_OFF && !payload->looped;
}

/* A checksum without pseudo-header over the whole payload: ICMP. */
bool verify_plain(struct sp_observer *o, const struct payload *payload);

/* The work of verify_pseudo(). */
bool verify_pseudo_on(struct sp_observer *o, const struct payload *payload,
		      uint32_t field_off, uint32_t length, uint32_t covered);

/**
 * verify_pseudo() - a checksum with pseudo-header: TCP, UDP, UDP-Lite, ICMPv6
 * @field_off: where the checksum stands in the payload
 * @length: the length in the pseudo-header
 * @covered: octets from the start of the payload that are summed
 */
static inline bool verify_pseudo(struct sp_observer *o,
				 const struct payload *payload,
				 uint32_t field_off, uint32_t length,
				 uint32_t covered)
{
	return !is_verified(o, payload) ||
	       verify_pseudo_on(o, payload, field_off, length, covered);
}

#endif
