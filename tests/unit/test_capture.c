// SPDX-License-Identifier: MIT
/*
 * test_capture - the frames of captures, whole and damaged ones.
 *
 * What the fast reader returns is held against libpcap: the same frames, and an
 * error in the same place.
 */
#include <errno.h>
#include <fcntl.h>
#include <pcap/pcap.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "capture/capture.h"

#define MICROSECONDS 0xa1b2c3d4u
#define NANOSECONDS  0xa1b23c4du

static struct sp_frame frames[SP_CAPTURE_VECTOR];

/* Bytes of a file in the making. */
struct bytes {
	uint8_t *data;
	size_t len;
	bool swapped; /* write in the other byte order */
};

static struct bytes bytes_new(bool swapped)
{
	struct bytes bytes = {malloc(8 << 20), 0, swapped};

	return bytes;
}

static void put(struct bytes *bytes, const void *data, size_t len)
{
	memcpy(bytes->data + bytes->len, data, len);
	bytes->len += len;
}

static void put16(struct bytes *bytes, uint16_t value)
{
	value = bytes->swapped ? __builtin_bswap16(value) : value;
	put(bytes, &value, sizeof(value));
}

static void put32(struct bytes *bytes, uint32_t value)
{
	value = bytes->swapped ? __builtin_bswap32(value) : value;
	put(bytes, &value, sizeof(value));
}

static void put_file_header(struct bytes *bytes, uint32_t magic,
			    uint32_t snaplen, uint32_t linktype)
{
	put32(bytes, magic);
	put16(bytes, 2);
	put16(bytes, 4);
	put32(bytes, 0);
	put32(bytes, 0);
	put32(bytes, snaplen);
	put32(bytes, linktype);
}

static void put_packet(struct bytes *bytes, uint32_t sec, uint32_t fraction,
		       uint32_t cap_len, uint32_t len)
{
	put32(bytes, sec);
	put32(bytes, fraction);
	put32(bytes, cap_len);
	put32(bytes, len);
	for (uint32_t i = 0; i < cap_len; i++)
		bytes->data[bytes->len++] = (uint8_t)(i * 7 + sec);
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Packets of all sizes, enough of them to fill the reader's buffer again. */
static struct bytes make_capture(bool swapped, uint32_t magic, size_t nr)
{
	struct bytes bytes = bytes_new(swapped);
	uint64_t state = 88172645463325252ull;

	put_file_header(&bytes, magic, 65535, SP_LINKTYPE_ETHERNET);
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t len = (uint32_t)(next_random(&state) % 3000);
		uint32_t cap_len = i % 5 ? len : len / 2;

		put_packet(&bytes, 1000 + i, i * 77, cap_len, len);
	}
	return bytes;
}

static int to_fd(const void *data, size_t len)
{
	int fd = memfd_create("capture", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), (ssize_t)len);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static int open_fd(int fd, bool use_libpcap, struct sp_capture_fault *fault,
		   struct sp_capture **capture)
{
	struct sp_capture_opts opts = {
		.fd = fd, .wake_fd = -1, .use_libpcap = use_libpcap};

	return sp_capture_open(&opts, fault, capture);
}

/* Everything that a reader said of a file. */
struct reading {
	int opened;
	int ended;
	uint32_t linktype;
	size_t nr;
	uint64_t digest;
	const char *text; /* until the next reading */
};

static uint64_t digest_frame(uint64_t digest, const struct sp_frame *frame)
{
	const uint64_t words[] = {frame->time_ns, frame->cap_len, frame->len,
				  frame->direction};

	digest = digest * 31 + crc32(0, (const uint8_t *)words, sizeof(words));
	return digest * 31 + crc32(0, frame->data, frame->cap_len);
}

static struct reading read_all(const struct bytes *bytes, bool use_libpcap)
{
	static struct sp_capture_fault fault;
	struct reading reading = {.text = fault.text};
	struct sp_capture *capture;
	int fd = to_fd(bytes->data, bytes->len);
	int n;

	reading.opened = open_fd(fd, use_libpcap, &fault, &capture);
	if (reading.opened) {
		close(fd);
		return reading;
	}
	reading.linktype = sp_capture_linktype(capture);
	while ((n = sp_capture_next(capture, frames, SP_CAPTURE_VECTOR)) > 0) {
		for (int i = 0; i < n; i++)
			reading.digest =
				digest_frame(reading.digest, &frames[i]);
		reading.nr += (size_t)n;
	}
	reading.ended = n;
	fault = *sp_capture_fault(capture);
	sp_capture_close(capture);
	close(fd);
	return reading;
}

static struct reading assert_agree(const struct bytes *bytes)
{
	struct reading theirs = read_all(bytes, true);
	struct reading ours = read_all(bytes, false);

	assert_int_equal(ours.opened, theirs.opened);
	assert_int_equal(ours.ended, theirs.ended);
	assert_int_equal(ours.linktype, theirs.linktype);
	assert_int_equal(ours.nr, theirs.nr);
	assert_true(ours.digest == theirs.digest);
	assert_true((ours.opened || ours.ended) == (*ours.text != 0));
	return ours;
}

static void readers_agree_on_whole_files(void **state)
{
	for (int i = 0; i < 4; i++) {
		struct bytes bytes = make_capture(
			i & 1, i & 2 ? NANOSECONDS : MICROSECONDS, 2000);
		struct reading reading = assert_agree(&bytes);

		assert_int_equal(reading.opened, 0);
		assert_int_equal(reading.ended, 0);
		assert_int_equal(reading.nr, 2000);
		assert_int_equal(reading.linktype, SP_LINKTYPE_ETHERNET);
		free(bytes.data);
	}
}

static void readers_agree_wherever_a_file_ends(void **state)
{
	struct bytes bytes = make_capture(false, MICROSECONDS, 3);
	size_t len = bytes.len;

	for (bytes.len = 4; bytes.len < len; bytes.len++) {
		struct reading reading = assert_agree(&bytes);

		assert_true(reading.nr < 3);
	}
	free(bytes.data);
}

static void readers_agree_on_flipped_bytes(void **state)
{
	uint64_t random = 2463534242ull;
	struct bytes bytes = make_capture(false, MICROSECONDS, 12);

	for (int round = 0; round < 3000; round++) {
		size_t places[3];
		uint8_t flips[3];

		for (int i = 0; i < 3; i++) {
			places[i] = next_random(&random) %
				    (i ? bytes.len : 24 + 16);
			flips[i] = (uint8_t)next_random(&random);
			bytes.data[places[i]] ^= flips[i];
		}
		assert_agree(&bytes);
		for (int i = 3; i-- > 0;)
			bytes.data[places[i]] ^= flips[i];
	}
	free(bytes.data);
}

static void readers_agree_on_lengths_at_every_limit(void **state)
{
	static const uint32_t limits[] = {
		0,          1,          99,        100,    101,
		65535,      65536,      262143,    262144, 262145,
		0x7fffffff, 0x80000000, 0xffffffff};
	const size_t nr = sizeof(limits) / sizeof(limits[0]);

	for (size_t snap = 0; snap < nr; snap++) {
		for (size_t cap = 0; cap < nr; cap++) {
			struct bytes bytes = bytes_new(false);

			put_file_header(&bytes, MICROSECONDS, limits[snap],
					SP_LINKTYPE_ETHERNET);
			put_packet(&bytes, 1, 2, 60, 60);
			if (limits[cap] <= 262145)
				put_packet(&bytes, 3, 4, limits[cap], 70);
			else
				put32(&bytes, 3), put32(&bytes, 4),
					put32(&bytes, limits[cap]),
					put32(&bytes, 70);
			put_packet(&bytes, 5, 6, 60, 60);
			assert_agree(&bytes);
			free(bytes.data);
		}
	}
}

static void readers_agree_on_times_out_of_range(void **state)
{
	static const uint32_t values[] = {0,          1,          999999,
					  1000000,    999999999,  1000000000,
					  0x7fffffff, 0x80000000, 0xffffffff};
	const size_t nr = sizeof(values) / sizeof(values[0]);

	for (int kind = 0; kind < 4; kind++) {
		struct bytes bytes = bytes_new(kind & 1);

		put_file_header(&bytes, kind & 2 ? NANOSECONDS : MICROSECONDS,
				65535, SP_LINKTYPE_ETHERNET);
		for (size_t i = 0; i < nr * nr; i++)
			put_packet(&bytes, values[i / nr], values[i % nr], 4,
				   4);
		assert_int_equal(assert_agree(&bytes).nr, nr * nr);
		free(bytes.data);
	}
}

static void readers_agree_on_old_versions_and_odd_magic(void **state)
{
	static const uint32_t magics[] = {0xa1b2cd34, 0xa1b23cd4, MICROSECONDS};

	for (uint32_t major = 0; major < 4; major++) {
		for (uint32_t i = 0; i < 18; i++) {
			struct bytes bytes =
				make_capture(i & 1, magics[i / 2 % 3], 3);

			bytes.len = 4;
			put16(&bytes, (uint16_t)major);
			put16(&bytes, (uint16_t)(i / 6 + 2));
			bytes.len = 3000;
			assert_agree(&bytes);
			free(bytes.data);
		}
	}
}

static void a_packet_carries_its_time_and_lengths(void **state)
{
	struct sp_capture_fault fault;
	struct sp_capture *capture;
	struct bytes bytes = bytes_new(true);
	int fd;

	put_file_header(&bytes, NANOSECONDS, 100, SP_LINKTYPE_RAW_DLT);
	put_packet(&bytes, 4000000000u, 123456789, 90, 1500);
	put_packet(&bytes, 1, 2, 120, 1500);
	put_packet(&bytes, 1, 2, 50, 40);
	fd = to_fd(bytes.data, bytes.len);
	assert_int_equal(open_fd(fd, false, &fault, &capture), 0);
	assert_int_equal(sp_capture_linktype(capture), SP_LINKTYPE_RAW);
	assert_int_equal(sp_capture_next(capture, frames, 4), 3);
	assert_true(frames[0].time_ns == 4000000000123456789ull);
	assert_int_equal(frames[0].cap_len, 90);
	assert_int_equal(frames[0].len, 1500);
	assert_int_equal(frames[1].cap_len, 100);
	assert_int_equal(frames[2].cap_len, 50);
	assert_int_equal(frames[2].len, 50);
	assert_int_equal(sp_capture_next(capture, frames, 4), 0);
	sp_capture_close(capture);
	close(fd);
	free(bytes.data);
}

static void damage_is_told_with_its_place(void **state)
{
	struct bytes bytes = bytes_new(false);
	struct reading reading;

	put_file_header(&bytes, MICROSECONDS, 65535, SP_LINKTYPE_ETHERNET);
	put_packet(&bytes, 1, 2, 60, 60);
	put_packet(&bytes, 1, 2, 60, 60);
	bytes.len -= 10;
	reading = read_all(&bytes, false);
	assert_int_equal(reading.ended, -EBADMSG);
	assert_int_equal(reading.nr, 1);
	assert_non_null(strstr(reading.text, "packet 2 at byte 100"));
	assert_non_null(strstr(reading.text, "66 of its 76 bytes"));

	bytes.data[24 + 8 + 3] = 0x80;
	reading = read_all(&bytes, false);
	assert_int_equal(reading.nr, 0);
	assert_non_null(strstr(reading.text, "packet 1 at byte 24"));

	bytes.len = 20;
	reading = read_all(&bytes, false);
	assert_int_equal(reading.opened, -EBADMSG);
	assert_non_null(strstr(reading.text, "20 of 24 bytes"));
	free(bytes.data);
}

static void what_is_no_capture_is_refused(void **state)
{
	static const struct {
		const char *data;
		size_t len;
		const char *text;
	} cases[] = {
		{"", 0, "is empty"},
		{"a", 1, "not a capture"},
		{"hello, world, hello", 19, "not a capture"},
		{"\x28\xb5\x2f\xfd____", 8, "zstd -dc"},
		{"\xfd"
		 "7zXZ\0___",
		 9, "xz -dc"},
		{"BZh9____", 8, "bzip2 -dc"},
		{"snoop\0\0\0\0\0\0\2", 12, "editcap"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bytes bytes = {(uint8_t *)cases[i].data, cases[i].len,
				      false};
		struct reading reading = read_all(&bytes, false);

		assert_int_equal(reading.opened, -EBADMSG);
		assert_non_null(strstr(reading.text, cases[i].text));
	}
}

static void other_link_types_are_refused_by_name(void **state)
{
	struct bytes bytes = bytes_new(false);
	struct reading reading;

	put_file_header(&bytes, MICROSECONDS, 65535, 127);
	reading = read_all(&bytes, false);
	assert_int_equal(reading.opened, -EPROTONOSUPPORT);
	assert_non_null(strstr(reading.text, "127"));
	assert_non_null(strstr(reading.text, "802.11"));
	free(bytes.data);
}

static void names_that_lead_to_no_file_are_told(void **state)
{
	struct sp_capture_opts opts = {.path = "/nonexistent/x.pcap",
				       .wake_fd = -1};
	struct sp_capture_fault fault;
	struct sp_capture *capture;

	assert_int_equal(sp_capture_open(&opts, &fault, &capture), -ENOENT);
	assert_non_null(strstr(fault.text, "No such file"));
	opts.path = "/";
	assert_int_equal(sp_capture_open(&opts, &fault, &capture), -EISDIR);
	assert_non_null(strstr(fault.text, "a directory, not a capture"));
}

/* pcapng: a section, an Ethernet interface in nanoseconds, one packet. */
static struct bytes make_pcapng(void)
{
	struct bytes bytes = bytes_new(false);
	const uint64_t time_ns = 1700000000123456789ull;

	put32(&bytes, 0x0a0d0d0a), put32(&bytes, 28);
	put32(&bytes, 0x1a2b3c4d), put16(&bytes, 1), put16(&bytes, 0);
	put32(&bytes, 0xffffffff), put32(&bytes, 0xffffffff);
	put32(&bytes, 28);
	put32(&bytes, 1), put32(&bytes, 32);
	put16(&bytes, SP_LINKTYPE_ETHERNET), put16(&bytes, 0);
	put32(&bytes, 65535);
	put16(&bytes, 9), put16(&bytes, 1), put32(&bytes, 9); /* if_tsresol */
	put32(&bytes, 0);
	put32(&bytes, 32);
	put32(&bytes, 6), put32(&bytes, 32 + 60), put32(&bytes, 0);
	put32(&bytes, (uint32_t)(time_ns >> 32));
	put32(&bytes, (uint32_t)time_ns);
	put32(&bytes, 60), put32(&bytes, 61);
	memset(bytes.data + bytes.len, 5, 60);
	bytes.len += 60;
	put32(&bytes, 32 + 60);
	return bytes;
}

static void pcapng_is_read_in_nanoseconds(void **state)
{
	struct bytes bytes = make_pcapng();
	int fd = to_fd(bytes.data, bytes.len);
	struct sp_capture_fault fault;
	struct sp_capture *capture;

	assert_int_equal(open_fd(fd, false, &fault, &capture), 0);
	assert_int_equal(sp_capture_next(capture, frames, 4), 1);
	assert_true(frames[0].time_ns == 1700000000123456789ull);
	assert_int_equal(frames[0].cap_len, 60);
	assert_int_equal(frames[0].len, 61);
	assert_int_equal(sp_capture_next(capture, frames, 4), 0);
	sp_capture_close(capture);
	close(fd);
	free(bytes.data);
}

/* One gzip member. */
static void deflate_into(struct bytes *out, const struct bytes *in)
{
	z_stream z = {.next_in = in->data,
		      .avail_in = (uInt)in->len,
		      .next_out = out->data + out->len,
		      .avail_out = (uInt)((8u << 20) - out->len)};

	assert_int_equal(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, 0), Z_OK);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	out->len += z.total_out;
	deflateEnd(&z);
}

static void gzip_is_read_as_what_is_in_it(void **state)
{
	struct bytes plain = make_capture(false, MICROSECONDS, 2000);
	struct bytes packed = bytes_new(false);
	struct reading expected = read_all(&plain, false);
	struct reading reading;

	deflate_into(&packed, &plain);
	reading = read_all(&packed, false);
	assert_int_equal(reading.ended, 0);
	assert_int_equal(reading.nr, 2000);
	assert_true(reading.digest == expected.digest);
	reading = read_all(&packed, true);
	assert_true(reading.digest == expected.digest);
	free(plain.data);
	free(packed.data);
}

static void members_of_gzip_are_one_file(void **state)
{
	struct bytes whole = make_capture(false, MICROSECONDS, 100);
	struct bytes first = {whole.data, whole.len / 3, false};
	struct bytes rest = {whole.data + first.len, whole.len - first.len,
			     false};
	struct bytes packed = bytes_new(false);
	struct reading expected = read_all(&whole, false);
	struct reading reading;

	deflate_into(&packed, &first);
	deflate_into(&packed, &rest);
	memset(packed.data + packed.len, 0, 100);
	packed.len += 100;
	reading = read_all(&packed, false);
	assert_int_equal(reading.ended, 0);
	assert_true(reading.digest == expected.digest);

	packed.data[packed.len++] = 'x';
	reading = read_all(&packed, false);
	assert_int_equal(reading.ended, -EBADMSG);
	assert_int_equal(reading.nr, 100);
	assert_non_null(strstr(reading.text, "other data"));
	free(whole.data);
	free(packed.data);
}

static void damaged_gzip_keeps_what_came_before(void **state)
{
	struct bytes plain = make_capture(false, MICROSECONDS, 2000);
	struct bytes packed = bytes_new(false);
	struct reading reading;

	deflate_into(&packed, &plain);
	packed.len = packed.len * 3 / 4;
	reading = read_all(&packed, false);
	assert_int_equal(reading.ended, -EBADMSG);
	assert_true(reading.nr > 100 && reading.nr < 2000);
	assert_non_null(strstr(reading.text, "end too early"));
	/* libpcap's own words would only say that reading failed */
	reading = read_all(&packed, true);
	assert_non_null(strstr(reading.text, "end too early"));

	packed.len = 11;
	reading = read_all(&packed, false);
	assert_int_equal(reading.opened, -EBADMSG);
	free(plain.data);
	free(packed.data);
}

static void a_pipe_gives_frames_as_they_come(void **state)
{
	struct bytes bytes = make_capture(false, MICROSECONDS, 8);
	struct sp_capture_fault fault;
	struct sp_capture *capture;
	size_t first = bytes.len - 10; /* the last packet is cut */
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], bytes.data, first), (ssize_t)first);
	assert_int_equal(open_fd(fds[0], false, &fault, &capture), 0);
	assert_false(sp_capture_is_file(capture));
	assert_int_equal(sp_capture_next(capture, frames, SP_CAPTURE_VECTOR),
			 7);
	assert_int_equal(write(fds[1], bytes.data + first, bytes.len - first),
			 10);
	assert_int_equal(sp_capture_next(capture, frames, SP_CAPTURE_VECTOR),
			 1);
	close(fds[1]);
	assert_int_equal(sp_capture_next(capture, frames, SP_CAPTURE_VECTOR),
			 0);
	sp_capture_close(capture);
	close(fds[0]);
	free(bytes.data);
}

static void waiting_for_a_pipe_ends_on_demand(void **state)
{
	struct bytes bytes = make_capture(false, MICROSECONDS, 2);
	struct sp_capture_fault fault;
	struct sp_capture *capture;
	int data[2], wake[2];
	struct sp_capture_opts opts;

	for (int use_libpcap = 0; use_libpcap < 2; use_libpcap++) {
		assert_int_equal(pipe(data), 0);
		assert_int_equal(pipe(wake), 0);
		opts = (struct sp_capture_opts){.fd = data[0],
						.wake_fd = wake[0],
						.use_libpcap = use_libpcap};
		assert_int_equal(write(data[1], bytes.data, bytes.len),
				 (ssize_t)bytes.len);
		assert_int_equal(sp_capture_open(&opts, &fault, &capture), 0);
		/* libpcap's stream wants more than there is, sooner or later */
		assert_int_equal(write(wake[1], "x", 1), 1);
		for (int n, nr = 0;; nr += n) {
			n = sp_capture_next(capture, frames, SP_CAPTURE_VECTOR);
			if (n <= 0) {
				assert_int_equal(n, -EINTR);
				assert_true(nr <= 2);
				break;
			}
		}
		sp_capture_close(capture);
		/* and with no byte at all */
		assert_int_equal(sp_capture_open(&opts, &fault, &capture),
				 -EINTR);
		close(data[0]), close(data[1]);
		close(wake[0]), close(wake[1]);
	}
	free(bytes.data);
}

static void a_file_that_shrinks_is_a_short_file(void **state)
{
	struct bytes bytes = make_capture(false, MICROSECONDS, 2000);
	int fd = to_fd(bytes.data, bytes.len);
	struct sp_capture_fault fault;
	struct sp_capture *capture;
	int n;

	assert_int_equal(open_fd(fd, false, &fault, &capture), 0);
	assert_true(sp_capture_next(capture, frames, SP_CAPTURE_VECTOR) > 0);
	assert_int_equal(ftruncate(fd, 1000), 0);
	do {
		n = sp_capture_next(capture, frames, SP_CAPTURE_VECTOR);
	} while (n > 0);
	assert_true(n <= 0);
	sp_capture_close(capture);
	close(fd);
	free(bytes.data);
}

static void the_position_reaches_the_size(void **state)
{
	struct bytes bytes = make_capture(false, MICROSECONDS, 2000);
	int fd = to_fd(bytes.data, bytes.len);
	struct sp_capture_fault fault;
	struct sp_capture *capture;
	struct sp_capture_position position;

	assert_int_equal(open_fd(fd, false, &fault, &capture), 0);
	assert_true(sp_capture_is_file(capture));
	while (sp_capture_next(capture, frames, SP_CAPTURE_VECTOR) > 0) {
		position = sp_capture_position(capture);
		assert_true(position.done_bytes <= position.all_bytes);
	}
	position = sp_capture_position(capture);
	assert_int_equal(position.done_bytes, bytes.len);
	assert_int_equal(position.all_bytes, bytes.len);
	sp_capture_close(capture);
	close(fd);
	free(bytes.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(readers_agree_on_whole_files),
		cmocka_unit_test(readers_agree_wherever_a_file_ends),
		cmocka_unit_test(readers_agree_on_flipped_bytes),
		cmocka_unit_test(readers_agree_on_lengths_at_every_limit),
		cmocka_unit_test(readers_agree_on_times_out_of_range),
		cmocka_unit_test(readers_agree_on_old_versions_and_odd_magic),
		cmocka_unit_test(a_packet_carries_its_time_and_lengths),
		cmocka_unit_test(damage_is_told_with_its_place),
		cmocka_unit_test(what_is_no_capture_is_refused),
		cmocka_unit_test(other_link_types_are_refused_by_name),
		cmocka_unit_test(names_that_lead_to_no_file_are_told),
		cmocka_unit_test(pcapng_is_read_in_nanoseconds),
		cmocka_unit_test(gzip_is_read_as_what_is_in_it),
		cmocka_unit_test(members_of_gzip_are_one_file),
		cmocka_unit_test(damaged_gzip_keeps_what_came_before),
		cmocka_unit_test(a_pipe_gives_frames_as_they_come),
		cmocka_unit_test(waiting_for_a_pipe_ends_on_demand),
		cmocka_unit_test(a_file_that_shrinks_is_a_short_file),
		cmocka_unit_test(the_position_reaches_the_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
