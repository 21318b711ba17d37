/* SPDX-License-Identifier: MIT */
/*
 * observe/verify.c - see verify.h.
 */
#include "observe/verify.h"

#include "packet/checksum.h"

bool verify_header(struct sp_observer *o, const uint8_t *header, uint32_t len)
{
	if (o->checksum == SP_CHECKSUM_OFF)
		return true;
	return sp_csum_fold(sp_csum_add(0, header, len)) == 0xffff;
}

bool verify_plain(struct sp_observer *o, const struct payload *payload)
{
	if (!is_verified(o, payload))
		return true;
	if (payload->cap_len < payload->len) {
		o->stats.nr_unchecked++;
		return true;
	}
	return sp_csum_fold(sp_csum_add(0, payload->data, payload->len)) ==
	       0xffff;
}

/* Whether the field holds the pseudo-header's sum, in the order of memory. */
static bool is_partial(const struct payload *payload, uint32_t field_off,
		       uint64_t pseudo)
{
	uint16_t field;

	__builtin_memcpy(&field, payload->data + field_off, sizeof(field));
	return field == sp_csum_fold(pseudo);
}

bool verify_pseudo_on(struct sp_observer *o, const struct payload *payload,
		      uint32_t field_off, uint32_t length, uint32_t covered)
{
	uint64_t pseudo;

	if (payload->cap_len < covered) {
		o->stats.nr_unchecked++;
		return true;
	}
	pseudo = payload->ipv6 ? sp_csum_pseudo6(payload->addrs,
						 payload->protocol, length)
			       : sp_csum_pseudo4(payload->addrs,
						 payload->protocol, length);
	if (sp_csum_fold(sp_csum_add(pseudo, payload->data, covered)) == 0xffff)
		return true;
	if (o->checksum == SP_CHECKSUM_AUTO &&
	    is_partial(payload, field_off, pseudo)) {
		o->stats.nr_offloaded++;
		return true;
	}
	return false;
}
