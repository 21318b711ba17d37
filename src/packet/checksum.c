/* SPDX-License-Identifier: MIT */
/*
 * packet/checksum.c - the Internet checksum.
 *
 * One's complement addition is the same in every word size and either byte
 * order (RFC 1071 2): the octets are summed as 64-bit words with the carry
 * added back, or in vectors as 32-bit words into 64-bit lanes, which cannot
 * overflow before 2^32 words.
 *
 * Pieces below VECTOR_MIN are not worth a vector. AVX-512 masks its last load,
 * so that it needs no loop for the rest; AVX2 leaves the rest to the scalar
 * code. On other machines the scalar code does it all.
 *
 * Threads: the kind is chosen by the first caller; all choose the same, so the
 * relaxed store may be seen early or late.
 */
#include "packet/checksum.h"

#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
	VECTOR_MIN = 64
};

/* One's complement addition of two 64-bit words. */
static inline uint64_t add_carry(uint64_t a, uint64_t b)
{
	uint64_t sum;
	bool carry = __builtin_add_overflow(a, b, &sum);

	return sum + carry;
}

/* The last len % 8 octets, which end at @p + @len. */
static inline uint64_t sum_rest(const uint8_t *p, size_t len)
{
	uint64_t sum = 0;
	uint32_t word;
	uint16_t half;

	p += len & ~(size_t)7;
	if (len & 4) {
		memcpy(&word, p, sizeof(word));
		sum = word;
		p += sizeof(word);
	}
	if (len & 2) {
		memcpy(&half, p, sizeof(half));
		sum += half;
		p += sizeof(half);
	}
	if (len & 1) {
		half = 0;
		memcpy(&half, p, 1);
		sum += half;
	}
	return sum;
}

/* The carries pile up in the upper half, off the chain of additions. */
static inline uint64_t sum_scalar(const uint8_t *p, size_t len)
{
	unsigned __int128 sum = 0;
	uint64_t word;

	for (size_t off = 0; off + sizeof(word) <= len; off += sizeof(word)) {
		memcpy(&word, p + off, sizeof(word));
		sum += word;
	}
	return add_carry(add_carry((uint64_t)sum, (uint64_t)(sum >> 64)),
			 sum_rest(p, len));
}

typedef uint64_t sum_fn(const uint8_t *p, size_t len);

static uint64_t sum_plain(const uint8_t *p, size_t len)
{
	return sum_scalar(p, len);
}

#if defined(__x86_64__)

/*
 * Each lane keeps the sum of its 64-bit words modulo 2^64, and the sum of their
 * upper halves. The sum of the lower halves is what the first has more than the
 * second shifted up, exactly, as it stays below 2^64.
 */
__attribute__((target("avx2"))) static inline __m256i join256(__m256i words,
							      __m256i uppers)
{
	__m256i lowers = _mm256_sub_epi64(words, _mm256_slli_epi64(uppers, 32));

	return _mm256_add_epi64(lowers, uppers);
}

__attribute__((target("avx2"))) static uint64_t sum_avx2(const uint8_t *p,
							 size_t len)
{
	__m256i words0 = _mm256_setzero_si256(), uppers0 = words0;
	__m256i words1 = words0, uppers1 = words0;
	uint64_t lane[4];
	__m256i v;

	for (; len >= 64; p += 64, len -= 64) {
		v = _mm256_loadu_si256((const __m256i *)(const void *)p);
		words0 = _mm256_add_epi64(words0, v);
		uppers0 = _mm256_add_epi64(uppers0, _mm256_srli_epi64(v, 32));
		v = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32));
		words1 = _mm256_add_epi64(words1, v);
		uppers1 = _mm256_add_epi64(uppers1, _mm256_srli_epi64(v, 32));
	}
	v = _mm256_add_epi64(join256(words0, uppers0),
			     join256(words1, uppers1));
	_mm256_storeu_si256((__m256i *)(void *)lane, v);
	return add_carry(lane[0] + lane[1] + lane[2] + lane[3],
			 sum_scalar(p, len));
}

__attribute__((target("avx512f,avx512bw"))) static inline __m512i
join512(__m512i words, __m512i uppers)
{
	__m512i lowers = _mm512_sub_epi64(words, _mm512_slli_epi64(uppers, 32));

	return _mm512_add_epi64(lowers, uppers);
}

__attribute__((target("avx512f,avx512bw,bmi2"))) static uint64_t
sum_avx512(const uint8_t *p, size_t len)
{
	__m512i words0 = _mm512_setzero_si512(), uppers0 = words0;
	__m512i words1 = words0, uppers1 = words0;
	__m512i v;

	for (; len >= 128; p += 128, len -= 128) {
		v = _mm512_loadu_si512(p);
		words0 = _mm512_add_epi64(words0, v);
		uppers0 = _mm512_add_epi64(uppers0, _mm512_srli_epi64(v, 32));
		v = _mm512_loadu_si512(p + 64);
		words1 = _mm512_add_epi64(words1, v);
		uppers1 = _mm512_add_epi64(uppers1, _mm512_srli_epi64(v, 32));
	}
	if (len >= 64) {
		v = _mm512_loadu_si512(p);
		words0 = _mm512_add_epi64(words0, v);
		uppers0 = _mm512_add_epi64(uppers0, _mm512_srli_epi64(v, 32));
		p += 64;
		len -= 64;
	}
	/* A masked load does not touch what the mask leaves out. */
	v = _mm512_maskz_loadu_epi8(_bzhi_u64(UINT64_MAX, (unsigned)len), p);
	words1 = _mm512_add_epi64(words1, v);
	uppers1 = _mm512_add_epi64(uppers1, _mm512_srli_epi64(v, 32));
	return (uint64_t)_mm512_reduce_add_epi64(_mm512_add_epi64(
		join512(words0, uppers0), join512(words1, uppers1)));
}

static bool have_avx2(void)
{
	return __builtin_cpu_supports("avx2");
}

static bool have_avx512(void)
{
	return __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("bmi2");
}

#else

static bool have_avx2(void)
{
	return false;
}

static bool have_avx512(void)
{
	return false;
}

#define sum_avx2   sum_plain
#define sum_avx512 sum_plain

#endif

bool sp_csum_kind_usable(enum sp_csum_kind kind)
{
	switch (kind) {
	case SP_CSUM_SCALAR:
		return true;
	case SP_CSUM_AVX2:
		return have_avx2();
	case SP_CSUM_AVX512:
		return have_avx512();
	}
	return false;
}

static sum_fn *sum_of_kind(enum sp_csum_kind kind)
{
	switch (kind) {
	case SP_CSUM_AVX2:
		return sum_avx2;
	case SP_CSUM_AVX512:
		return sum_avx512;
	default:
		return sum_plain;
	}
}

static uint64_t sum_choose(const uint8_t *p, size_t len);

static sum_fn *sum_long = sum_choose;

static uint64_t sum_choose(const uint8_t *p, size_t len)
{
	enum sp_csum_kind kind = SP_CSUM_AVX512;

	while (!sp_csum_kind_usable(kind))
		kind--;
	__atomic_store_n(&sum_long, sum_of_kind(kind), __ATOMIC_RELAXED);
	return sum_of_kind(kind)(p, len);
}

uint64_t sp_csum_add(uint64_t sum, const void *data, size_t len)
{
	sum_fn *fn;

	if (len < VECTOR_MIN)
		return add_carry(sum, sum_scalar(data, len));
	fn = __atomic_load_n(&sum_long, __ATOMIC_RELAXED);
	return add_carry(sum, fn(data, len));
}

uint64_t sp_csum_add_kind(enum sp_csum_kind kind, uint64_t sum,
			  const void *data, size_t len)
{
	return add_carry(sum, sum_of_kind(kind)(data, len));
}

/* The octets of the pseudo-header that follow the addresses. */
static uint64_t sum_pseudo_rest(uint8_t protocol, uint32_t len)
{
	const uint8_t rest[8] = {
		(uint8_t)(len >> 24),
		(uint8_t)(len >> 16),
		(uint8_t)(len >> 8),
		(uint8_t)len,
		0,
		0,
		0,
		protocol,
	};

	return sum_scalar(rest, sizeof(rest));
}

uint64_t sp_csum_pseudo4(const uint8_t addrs[8], uint8_t protocol, uint32_t len)
{
	return add_carry(sum_scalar(addrs, 8), sum_pseudo_rest(protocol, len));
}

uint64_t sp_csum_pseudo6(const uint8_t addrs[32], uint8_t protocol,
			 uint32_t len)
{
	return add_carry(sum_scalar(addrs, 32), sum_pseudo_rest(protocol, len));
}
