/* SPDX-License-Identifier: MIT */
/*
 * packet/checksum.h - the Internet checksum (RFC 1071).
 *
 * Sums are kept unfolded in 64 bits, in the byte order of memory; fold last.
 * The vector code is chosen once at run time.
 */
#ifndef SP_PACKET_CHECKSUM_H
#define SP_PACKET_CHECKSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * sp_csum_add() - add @len octets to @sum
 *
 * An odd length is padded with a zero octet, so only the last piece of a sum
 * may have one. @data may have any alignment.
 */
uint64_t sp_csum_add(uint64_t sum, const void *data, size_t len);

/*
 * One way of adding by itself, whatever sp_csum_add() has chosen: for tests and
 * measurements. The kind must be usable on this machine.
 */
enum sp_csum_kind {
	SP_CSUM_SCALAR,
	SP_CSUM_AVX2,
	SP_CSUM_AVX512,
};

bool sp_csum_kind_usable(enum sp_csum_kind kind);
uint64_t sp_csum_add_kind(enum sp_csum_kind kind, uint64_t sum,
			  const void *data, size_t len);

/*
 * Pseudo-headers (RFC 793, RFC 8200 8.1); @addrs: source, then destination;
 * @len: of the upper-layer header and what follows it.
 */
uint64_t sp_csum_pseudo4(const uint8_t addrs[8], uint8_t protocol,
			 uint32_t len);
uint64_t sp_csum_pseudo6(const uint8_t addrs[32], uint8_t protocol,
			 uint32_t len);

/* One's complement sum folded to 16 bits; 0xffff for a good header. */
static inline uint16_t sp_csum_fold(uint64_t sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

#endif
