/* SPDX-License-Identifier: MIT */
/*
 * test_checksum.c - the Internet checksum against the definition, word by word.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "packet/checksum.h"

/* RFC 1071, one 16-bit word at a time, in the byte order of memory. */
static uint16_t naive(const uint8_t *p, size_t len)
{
	uint32_t sum = 0;
	uint8_t word[2];
	uint16_t value;

	for (size_t i = 0; i < len; i += 2) {
		word[0] = p[i];
		word[1] = i + 1 < len ? p[i + 1] : 0;
		memcpy(&value, word, 2);
		sum += value;
		sum = (sum & 0xffff) + (sum >> 16);
	}
	return (uint16_t)sum;
}

static void fill_random(uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)(random() >> 7);
}

static void every_length_and_alignment_sums_as_defined(void **state)
{
	static uint8_t buf[2048 + 64];

	fill_random(buf, sizeof(buf));
	for (size_t len = 0; len <= 2048; len++)
		for (size_t align = 0; align < (len < 300 ? 64 : 4); align++)
			assert_int_equal(
				sp_csum_fold(sp_csum_add(0, buf + align, len)),
				naive(buf + align, len));
}

static void every_kind_of_adding_sums_as_defined(void **state)
{
	static uint8_t buf[2048 + 64];

	for (enum sp_csum_kind kind = SP_CSUM_SCALAR; kind <= SP_CSUM_AVX512;
	     kind++) {
		if (!sp_csum_kind_usable(kind)) {
			print_message("kind %d: this machine has not got it\n",
				      (int)kind);
			continue;
		}
		for (size_t len = 0; len <= 2048; len++) {
			const uint8_t *p = buf + len % 64;

			if (len % 2)
				memset(buf, 0xff, sizeof(buf));
			else
				fill_random(buf, sizeof(buf));
			assert_int_equal(sp_csum_fold(sp_csum_add_kind(
						 kind, UINT64_MAX, p, len)),
					 len ? naive(p, len) : 0xffff);
		}
	}
}

/* All ones carry at every addition. */
static void carries_are_never_lost(void **state)
{
	static uint8_t buf[65536];
	uint64_t sum = UINT64_MAX;

	memset(buf, 0xff, sizeof(buf));
	for (size_t len = 0; len <= sizeof(buf); len += len < 300 ? 1 : 997)
		assert_int_equal(sp_csum_fold(sp_csum_add(0, buf, len)),
				 naive(buf, len));
	assert_int_equal(sp_csum_fold(sp_csum_add(sum, buf, 40)), 0xffff);
	buf[0] = 0;
	buf[1] = 0;
	assert_int_equal(sp_csum_fold(sp_csum_add(sum, buf, 40)), 0xffff);
	assert_int_equal(sp_csum_fold(sp_csum_add(sum, "\1", 2)),
			 naive((const uint8_t *)"\1", 2));
}

static void pieces_of_even_length_add_up(void **state)
{
	uint8_t buf[512];

	for (unsigned i = 0; i < 2000; i++) {
		size_t first = (size_t)random() % 200 * 2;
		size_t len = first + (size_t)random() % (sizeof(buf) - first);
		uint64_t sum;

		fill_random(buf, len);
		sum = sp_csum_add(0, buf, first);
		sum = sp_csum_add(sum, buf + first, len - first);
		assert_int_equal(sp_csum_fold(sum), naive(buf, len));
	}
}

static void only_zeros_sum_to_zero(void **state)
{
	uint8_t buf[100] = {0};

	assert_int_equal(sp_csum_fold(sp_csum_add(0, buf, sizeof(buf))), 0);
	assert_int_equal(sp_csum_fold(sp_csum_add(0, buf, 0)), 0);
}

static void a_good_header_sums_to_ffff_and_a_spoilt_one_does_not(void **state)
{
	uint8_t header[20] = {0x45, 0,    0,    0x73, 0,    0,    0x40,
			      0,    0x40, 17,   0xb8, 0x61, 0xc0, 0xa8,
			      0,    1,    0xc0, 0xa8, 0,    0xc7};

	assert_int_equal(sp_csum_fold(sp_csum_add(0, header, 20)), 0xffff);
	for (size_t i = 0; i < 20; i++) {
		header[i] ^= 1;
		assert_int_not_equal(sp_csum_fold(sp_csum_add(0, header, 20)),
				     0xffff);
		header[i] ^= 1;
	}
}

static void nothing_is_read_behind_the_end(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *map = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(map, MAP_FAILED);
	assert_int_equal(mprotect(map + page, page, PROT_NONE), 0);
	fill_random(map, page);
	for (size_t len = 0; len <= 600; len++)
		assert_int_equal(
			sp_csum_fold(sp_csum_add(0, map + page - len, len)),
			naive(map + page - len, len));
	munmap(map, 2 * page);
}

static void the_pseudo_header_of_ipv4_is_summed(void **state)
{
	uint8_t header[12];

	for (unsigned i = 0; i < 1000; i++) {
		fill_random(header, sizeof(header));
		header[8] = 0;
		assert_int_equal(
			sp_csum_fold(sp_csum_pseudo4(header, header[9],
						     (uint32_t)header[10] << 8 |
							     header[11])),
			naive(header, sizeof(header)));
	}
}

static void the_pseudo_header_of_ipv6_is_summed(void **state)
{
	uint8_t header[40];

	for (unsigned i = 0; i < 1000; i++) {
		uint32_t len;

		fill_random(header, sizeof(header));
		memset(header + 36, 0, 3);
		len = (uint32_t)header[32] << 24 | (uint32_t)header[33] << 16 |
		      (uint32_t)header[34] << 8 | header[35];
		assert_int_equal(
			sp_csum_fold(sp_csum_pseudo6(header, header[39], len)),
			naive(header, sizeof(header)));
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_length_and_alignment_sums_as_defined),
		cmocka_unit_test(every_kind_of_adding_sums_as_defined),
		cmocka_unit_test(carries_are_never_lost),
		cmocka_unit_test(pieces_of_even_length_add_up),
		cmocka_unit_test(only_zeros_sum_to_zero),
		cmocka_unit_test(
			a_good_header_sums_to_ffff_and_a_spoilt_one_does_not),
		cmocka_unit_test(nothing_is_read_behind_the_end),
		cmocka_unit_test(the_pseudo_header_of_ipv4_is_summed),
		cmocka_unit_test(the_pseudo_header_of_ipv6_is_summed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
