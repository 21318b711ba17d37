/* SPDX-License-Identifier: MIT */
/*
 * packet/reasm.h - reassembly of IPv4 and IPv6 datagrams by the kernel's rules.
 *
 * A fixed arena, allocated when the table is created, holds all queues and
 * their octets; when it is full the oldest queue goes first and is counted.
 * Time is packet time; where it goes back it counts as standing still. One
 * thread at a time.
 *
 * The rules (inet_fragment.c, ip_fragment.c, reassembly.c): fragments other
 * than the last are cut to a multiple of 8 (IPv4) or refused before they come
 * here (IPv6); data behind the known end, a second end, an empty fragment and
 * any overlap throw the queue away; a fragment wholly inside one run of data is
 * a duplicate and adds nothing; only the last run grows, and only at its end.
 */
#ifndef SP_PACKET_REASM_H
#define SP_PACKET_REASM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_reasm;

struct sp_reasm_opts {
	bool ipv6;
	uint64_t timeout_ns;   /* 30 s, 60 s */
	uint32_t max_bytes;    /* arena for octets (kernel: 4 MiB); at least
				* 128 KiB, room for any one datagram, is taken */
	uint32_t max_queues;   /* 1 .. 2^20 */
	uint32_t max_distance; /* IPv4: 64; 0: no limit */
};

/* Return: 0; -EINVAL for options out of range; -ENOMEM. */
int sp_reasm_create(const struct sp_reasm_opts *opts,
		    struct sp_reasm **ret_reasm);
void sp_reasm_destroy(struct sp_reasm *reasm);

/*
 * One fragment. All is borrowed for the call. What the header's fields cannot
 * say (an offset that is no multiple of 8, a length above 65535) is the
 * caller's bug.
 */
struct sp_fragment {
	const uint8_t *addrs; /* 4 or 16 octets each: source, destination */
	uint32_t id;
	uint8_t protocol; /* IPv4: part of the key; IPv6: of the first one */
	uint8_t ecn;      /* the two ECN bits */
	bool more;
	uint32_t off;      /* octets */
	uint32_t len;      /* octets of data on the wire */
	uint32_t cap_len;  /* octets of data at @data, <= len */
	uint32_t head_len; /* octets that count towards the 65535 of a whole
			    * datagram besides its data: the IPv4 header, the
			    * IPv6 headers between the fixed one and the
			    * fragment header */
	const uint8_t *data;
	uint64_t time_ns;
	uint64_t user; /* kept from the first fragment (offset 0) */
};

enum sp_reasm_verdict {
	SP_REASM_HELD,    /* kept, or a duplicate of what is there */
	SP_REASM_WHOLE,   /* the datagram is complete */
	SP_REASM_BAD,     /* queue thrown away: empty, end contradicted, size,
			   * ECN marks that contradict */
	SP_REASM_OVERLAP, /* queue thrown away: overlap */
};

struct sp_datagram {
	const uint8_t *data; /* valid until the next call */
	uint32_t len;
	uint32_t cap_len; /* octets at @data that were captured, from the
			   * start without a hole */
	uint8_t protocol; /* of the first fragment */
	uint8_t ecn;      /* the marks of the whole (RFC 3168 5.3) */
	uint64_t user;    /* of the first fragment */
};

/* What else a call did to other queues, for the caller to count. */
struct sp_reasm_result {
	enum sp_reasm_verdict verdict;
	bool restarted;      /* too many others in between: counted as failed,
			      * this fragment began the queue again, and its
			      * time */
	uint32_t nr_evicted; /* queues that went for want of room */
	struct sp_datagram datagram; /* if SP_REASM_WHOLE */
};

/**
 * sp_reasm_add() - take one fragment in
 *
 * Call sp_reasm_expire() with the fragment's time first: a queue whose time is
 * up still takes fragments until it is asked for.
 */
void sp_reasm_add(struct sp_reasm *reasm, const struct sp_fragment *fragment,
		  struct sp_reasm_result *ret_result);

/**
 * sp_reasm_touch() - open an empty queue for a fragment, or find it
 *
 * IPv6 fragments that are answered with a parameter problem leave one behind,
 * which times out.
 *
 * Return: queues that went for want of room.
 */
uint32_t sp_reasm_touch(struct sp_reasm *reasm,
			const struct sp_fragment *fragment);

/* A queue that timed out. */
struct sp_reasm_expired {
	bool has_first; /* offset 0 is there: an ICMP error goes out */
	uint64_t user;  /* of the first fragment, if it is there */
};

/**
 * sp_reasm_expire() - take one queue whose time is up at @now_ns
 *
 * Return: whether there was one; call again until there is none.
 */
bool sp_reasm_expire(struct sp_reasm *reasm, uint64_t now_ns,
		     struct sp_reasm_expired *ret_expired);

/* Time from which on sp_reasm_expire() finds one, UINT64_MAX if nothing is
 * queued. */
uint64_t sp_reasm_next_expiry_ns(const struct sp_reasm *reasm);

/* Queues and octets of the arena in use now: the FRAG line of net/sockstat. */
void sp_reasm_held(const struct sp_reasm *reasm, uint32_t *ret_queues,
		   uint32_t *ret_bytes);

#endif
