/* SPDX-License-Identifier: MIT */
/*
 * statplane/observe.h - count frames as the kernel of one host would have.
 *
 * An observer is given the host's addresses, what it listens on, and every
 * frame that it sent and received, in order. It adds to the counters of one
 * namespace and one device through one lane. The rules are the kernel's; the
 * sources are named where each rule stands, in src/observe/.
 *
 * What no observer can know (memory pressure, socket buffers, local drops)
 * stays 0.
 *
 * An observer belongs to one thread at a time. Handing it frames allocates
 * nothing and cannot fail.
 */
#ifndef STATPLANE_OBSERVE_H
#define STATPLANE_OBSERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <statplane/conn.h>
#include <statplane/export.h>
#include <statplane/frame.h>
#include <statplane/net.h>

SP_BEGIN_DECLS

/* An address with the length of its on-link prefix. */
struct sp_addr {
	uint8_t family;     /* AF_INET, AF_INET6 */
	uint8_t prefix_len; /* 0..32, 0..128 */
	uint8_t octets[16]; /* network order; IPv4 in the first four */
};

struct sp_listen {
	uint8_t protocol; /* IPPROTO_TCP, IPPROTO_UDP, IPPROTO_UDPLITE */
	uint16_t port;    /* host order; both families, wildcard address */
};

enum sp_checksum_mode {
	SP_CHECKSUM_AUTO, /* check; take a field that holds the sum of the
			   * pseudo-header (offload not done yet) for good */
	SP_CHECKSUM_ON,
	SP_CHECKSUM_OFF,
};

struct sp_observer_opts {
	size_t sz;
	struct sp_net *net;
	struct sp_netdev *dev;
	const struct sp_lane *lane;  /* outlives the observer */
	uint32_t linktype;           /* of all frames */
	const uint8_t *mac;          /* six octets, NULL: go by direction and
					  * by source address; a frame from the
					  * host to itself then passes both ways,
					  * as on a loopback device */
	const struct sp_addr *addrs; /* borrowed for the call */
	size_t nr_addrs;
	const struct sp_listen *listens; /* borrowed */
	size_t nr_listens;
	const struct sp_addr *groups; /* joined all the time; borrowed */
	size_t nr_groups;
	bool learn_ports; /* a UDP port is open unless an ICMP port unreachable
			    * says no; without it only @listens and ports that
			    * the host sends from are open. What no error
			    * answers (multicasts, broadcasts, quoted
			    * datagrams) takes a sign: the host has sent from
			    * the port, or was silent about a datagram to it */
	bool forward;     /* the host is a router */
	uint16_t vlan_id; /* 0: untagged frames only */
	enum sp_checksum_mode checksum;
	uint32_t reasm_bytes; /* memory for reassembly, each family;
				* 0: 4 MiB, the kernel's default */
	uint32_t max_sockets; /* rows of the namespace's table of connections;
				* 0: 65536 */
	struct sp_conn_table *conns; /* of the namespace, without rows, and of
				       * this observer alone as long as that
				       * lives; NULL: it makes one with
				       * @max_sockets rows, which goes with
				       * it */
};

struct sp_observer;

/**
 * sp_observer_create() - start to observe
 *
 * Return: 0; -EINVAL for an unknown link type or options out of range; -ENOMEM.
 */
SP_API int sp_observer_create(const struct sp_observer_opts *opts,
			      struct sp_observer **ret_observer);
/* Forgets what is pending without counting it; see sp_observer_finish(). */
SP_API void sp_observer_destroy(struct sp_observer *observer);

/**
 * sp_observer_frames() - count @nr frames, in the order in which they passed
 *
 * Their time drives the clock of reassembly and other timers. It may stand still;
 * after going back, by a second or less it is waited for, by more it goes on from
 * there.
 */
SP_API void sp_observer_frames(struct sp_observer *observer,
			       const struct sp_frame *frames, size_t nr);

/* Move the clock without a frame. */
SP_API void sp_observer_advance(struct sp_observer *observer, uint64_t now_ns);

/* The capture ends: decide what waited for a later frame. */
SP_API void sp_observer_finish(struct sp_observer *observer);

/* What the observer itself met; nothing is dropped without a count here. */
struct sp_observer_stats {
	uint64_t nr_frames;
	uint64_t nr_octets;      /* on the wire */
	uint64_t nr_truncated;   /* captured shorter than the wire had it */
	uint64_t nr_link_errors; /* link-layer header cut short */
	uint64_t nr_other_proto; /* neither IPv4 nor IPv6 nor ARP */
	uint64_t nr_arp;
	uint64_t nr_other_host; /* unicast to somebody else's MAC */
	uint64_t nr_other_vlan;
	uint64_t nr_unchecked;       /* checksums that could not be checked */
	uint64_t nr_offloaded;       /* checksums not filled in by offload */
	uint64_t nr_reasm_evicted;   /* queues that went for want of room */
	uint64_t nr_sockets_evicted; /* connections that went for want of
				       * room */
	uint64_t nr_sockets_refused; /* that were not followed for want of
				       * room */
	uint64_t nr_ranges_joined;   /* segments that could not be told apart
				       * for want of room: what was sent, lost
				       * or out of order is not exact */
	uint64_t nr_ports_evicted;   /* packets whose fate was still open (UDP
				    * datagrams, packets to pass on), counted
				    * early for want of room */
	uint64_t nr_groups_refused;  /* reports of groups or sources beyond the
				     * limit */
};

SP_API void sp_observer_read_stats(const struct sp_observer *observer,
				   struct sp_observer_stats *ret_stats);

/*
 * Learning who was observed, from the frames alone: its MAC address if there
 * are any, its addresses, and whether it is a router. Memory is bounded whatever
 * the frames hold; some thousand frames are mostly enough.
 */
struct sp_learner;

struct sp_learned {
	bool have_mac;
	uint8_t mac[6];
	struct sp_addr addrs[64];
	size_t nr_addrs;
	bool forward;     /* it passed on packets of others */
	char reason[128]; /* why this host, for a person to read */
};

/**
 * sp_learner_create() - start to learn
 * @mac: six octets if it is known already, only addresses are learnt then; or
 *       NULL
 *
 * Return: 0; -EINVAL for an unknown link type; -ENOMEM.
 */
SP_API int sp_learner_create(uint32_t linktype, const uint8_t *mac,
			     struct sp_learner **ret_learner);
/* Allocates nothing and cannot fail. */
SP_API void sp_learner_frames(struct sp_learner *learner,
			      const struct sp_frame *frames, size_t nr);
/* Return: 0; -ENODATA if no frame told anything; -ENOMEM. May be asked again
 * after more frames. */
SP_API int sp_learner_result(const struct sp_learner *learner,
			     struct sp_learned *ret_learned);
SP_API void sp_learner_destroy(struct sp_learner *learner);

SP_END_DECLS

#endif
