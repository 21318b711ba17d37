/* SPDX-License-Identifier: MIT */
/*
 * observe/observer.c - the observer's life, its clock, and vectors of frames.
 *
 * Frames are taken by vectors: the headers of all are fetched before the first is
 * counted. Counting is strictly in order, so that vectors make no difference to
 * any figure.
 *
 * The clock goes on with the latest time that a frame, or the caller, has shown. A
 * time that is late by little lets it stand still; one that is late by much means
 * that a clock was set, that a time was damaged, or that the next capture is of an
 * earlier time, and it goes on from there. It never goes back, and never by more
 * at once than all timers together take.
 */
#include "observe/observer.h"

#include <errno.h>
#include <stdlib.h>

#include "observe/forward.h"
#include "observe/host.h"
#include "observe/listen.h"
#include "observe/pending.h"
#include "observe/ports.h"
#include "observe/tcp.h"

#define VECTOR              AHEAD_MAX
#define DEFAULT_REASM_BYTES (4u << 20)
#define MAX_REASM_BYTES     (1u << 30)
#define REASM_QUEUE_BYTES   1024u /* one queue for so many octets of arena */
#define MAX_DISTANCE        64u   /* ipfrag_max_dist */

#define LATE_NS SECOND_NS          /* frames out of order are not later */
#define LONG_NS (3600 * SECOND_NS) /* as good as any longer time */

static int create_reasm(const struct sp_observer_opts *opts, bool ipv6,
			struct sp_reasm **ret_reasm)
{
	uint32_t bytes =
		opts->reasm_bytes ? opts->reasm_bytes : DEFAULT_REASM_BYTES;
	struct sp_reasm_opts reasm_opts = {
		.ipv6 = ipv6,
		.timeout_ns = (ipv6 ? 60 : 30) * SECOND_NS,
		.max_bytes = bytes,
		.max_queues = bytes / REASM_QUEUE_BYTES + 1,
		.max_distance = ipv6 ? 0 : MAX_DISTANCE,
	};

	return sp_reasm_create(&reasm_opts, ret_reasm);
}

static bool are_opts_valid(const struct sp_observer_opts *opts)
{
	return opts->sz >= sizeof(*opts) && opts->net && opts->dev &&
	       opts->lane && sp_linktype_known(opts->linktype) &&
	       (opts->addrs || !opts->nr_addrs) &&
	       (opts->listens || !opts->nr_listens) &&
	       (opts->groups || !opts->nr_groups) && opts->vlan_id < 0xfff &&
	       opts->checksum <= SP_CHECKSUM_OFF &&
	       opts->reasm_bytes <= MAX_REASM_BYTES;
}

static void init_fields(struct sp_observer *o,
			const struct sp_observer_opts *opts)
{
	o->net = (char *)sp_lane_cell(opts->lane, sp_net_off(opts->net));
	o->dev = (char *)sp_lane_cell(opts->lane, sp_netdev_off(opts->dev));
	o->next_timer_ns = UINT64_MAX;
	o->checksum = opts->checksum;
	link_init(o, opts);
}

static void settle(struct sp_observer *o, const struct pending_entry *entry)
{
	if (entry->kind == PENDING_FOREIGN6)
		ipv6_settle(o);
	else
		udp_settle(o, entry->kind, (uint16_t)entry->note);
}

static int create_tables(struct sp_observer *o,
			 const struct sp_observer_opts *opts)
{
	int err = host_create(opts, &o->host);

	if (!err)
		err = ports_create(opts, &o->ports);
	if (!err)
		err = tcp_create(o, opts);
	if (!err)
		err = listen_create(o, opts);
	if (!err)
		err = pending_create(SECOND_NS, settle, &o->pending);
	if (!err && opts->forward)
		err = forward_create(&o->forward);
	if (!err)
		err = create_reasm(opts, false, &o->reasm4);
	if (!err)
		err = create_reasm(opts, true, &o->reasm6);
	return err;
}

int sp_observer_create(const struct sp_observer_opts *opts,
		       struct sp_observer **ret_observer)
{
	struct sp_observer *o;
	int err;

	if (!are_opts_valid(opts))
		return -EINVAL;
	o = calloc(1, sizeof(*o));
	if (!o)
		return -ENOMEM;
	init_fields(o, opts);
	err = create_tables(o, opts);
	if (err) {
		sp_observer_destroy(o);
		return err;
	}
	*ret_observer = o;
	return 0;
}

void sp_observer_destroy(struct sp_observer *observer)
{
	if (!observer)
		return;
	sp_reasm_destroy(observer->reasm6);
	sp_reasm_destroy(observer->reasm4);
	forward_destroy(observer->forward);
	pending_destroy(observer->pending);
	listen_destroy(observer);
	tcp_destroy(observer);
	ports_destroy(observer->ports);
	host_destroy(observer->host);
	free(observer);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void timers_update(struct sp_observer *o)
{
	uint64_t next = pending_next_ns(o->pending);

	next = earlier(next, tcp_next_ns(o));
	next = earlier(next, sp_reasm_next_expiry_ns(o->reasm4));
	next = earlier(next, sp_reasm_next_expiry_ns(o->reasm6));
	if (o->forward)
		next = earlier(next, forward_next_ns(o->forward));
	o->next_timer_ns = next;
}

static void run_timers(struct sp_observer *o)
{
	pending_expire(o, o->pending);
	if (o->forward)
		forward_expire(o);
	tcp_expire(o);
	ipv4_expire(o);
	ipv6_expire(o);
	timers_update(o);
}

static inline void set_clock(struct sp_observer *o, uint64_t time_ns)
{
	uint64_t passed_ns = time_ns - o->latest_ns;

	if (time_ns <= o->latest_ns) {
		/* by much: from here on this is the time that goes on */
		if (o->latest_ns - time_ns > LATE_NS)
			o->latest_ns = time_ns;
		return;
	}
	o->latest_ns = time_ns;
	o->now_ns += passed_ns < LONG_NS ? passed_ns : LONG_NS;
	if (o->now_ns >= o->next_timer_ns)
		run_timers(o);
}

/* FRAG of net/sockstat and net/sockstat6: add what has changed. */
static void set_frag_gauges(struct sp_observer *o, bool ipv6, size_t inuse_cell,
			    size_t memory_cell)
{
	uint32_t queues, bytes;

	sp_reasm_held(ipv6 ? o->reasm6 : o->reasm4, &queues, &bytes);
	cell_add(o->net, inuse_cell, (uint64_t)queues - o->frag_queues[ipv6]);
	cell_add(o->net, memory_cell, (uint64_t)bytes - o->frag_bytes[ipv6]);
	o->frag_queues[ipv6] = queues;
	o->frag_bytes[ipv6] = bytes;
}

static void update_gauges(struct sp_observer *o)
{
	if (!o->reasm_changed)
		return;
	set_frag_gauges(o, false, SP_NET_CELL(sockstat, FRAG_inuse),
			SP_NET_CELL(sockstat, FRAG_memory));
	set_frag_gauges(o, true, SP_NET_CELL(sockstat, FRAG6_inuse),
			SP_NET_CELL(sockstat, FRAG6_memory));
	o->reasm_changed = false;
}

/* The headers up to the transport's, and what the frames say of themselves. */
static void look_ahead(struct sp_observer *o, const struct sp_frame *frames,
		       size_t nr)
{
	uint64_t octets = 0, truncated = 0;

	for (size_t i = 0; i < nr; i++) {
		__builtin_prefetch(frames[i].data + 16);
		__builtin_prefetch(frames[i].data + 54);
		octets += frames[i].len;
		truncated += frames[i].cap_len < frames[i].len;
	}
	o->stats.nr_frames += nr;
	o->stats.nr_octets += octets;
	o->stats.nr_truncated += truncated;
}

void sp_observer_frames(struct sp_observer *observer,
			const struct sp_frame *frames, size_t nr)
{
	while (nr) {
		size_t n = nr < VECTOR ? nr : VECTOR;

		look_ahead(observer, frames, n);
		ahead_look(observer, frames, n);
		for (size_t i = 0; i < n; i++) {
			set_clock(observer, frames[i].time_ns);
			link_account(observer, &frames[i]);
		}
		tcp_settle(observer, false);
		frames += n;
		nr -= n;
	}
	update_gauges(observer);
}

void sp_observer_advance(struct sp_observer *observer, uint64_t now_ns)
{
	set_clock(observer, now_ns);
	tcp_settle(observer, true);
	update_gauges(observer);
}

void sp_observer_finish(struct sp_observer *observer)
{
	pending_flush(observer, observer->pending);
	if (observer->forward)
		forward_flush(observer);
	timers_update(observer);
	tcp_settle(observer, true);
	update_gauges(observer);
}

void sp_observer_read_stats(const struct sp_observer *observer,
			    struct sp_observer_stats *ret_stats)
{
	*ret_stats = observer->stats;
	tcp_read_stats(observer, ret_stats);
}
