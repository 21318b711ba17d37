/* SPDX-License-Identifier: MIT */
/*
 * observe/learn.c - which host was observed, and what its addresses are.
 *
 * Who, in this order:
 *	the caller says so
 *	frames are marked as sent or received (live captures, pcapng)
 *	it took part in the most unicast frames
 *	of equals: one that sends checksums which its device has yet to fill in
 *	of equals: one that sends for itself, not for others (the far end of a
 *	           client's capture is a router)
 *	of equals: one of which an address is known
 *	of equals: one that answers more
 *	of equals: the one that the first unicast frame was for
 *	of equals: the one that was seen first
 *
 * Its addresses: what ARP and neighbour discovery claim for it, what it sends
 * multicasts from, and every source of its packets whose time to live is fresh
 * and that no other station sends fresher. What else it sends, it passes on. If
 * that leaves a host without any address, all of its sources are its own: there
 * are programs that choose a time to live of their own.
 */
#include <statplane/observe.h>

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "observe/evidence.h"
#include "observe/host.h"

#define MAX_ADDRS                                                              \
	(sizeof(((struct sp_learned *)0)->addrs) / sizeof(struct sp_addr))

struct sp_learner {
	bool have_mac;
	uint8_t mac[6];
	struct evidence evidence;
};

int sp_learner_create(uint32_t linktype, const uint8_t *mac,
		      struct sp_learner **ret_learner)
{
	struct sp_learner *learner;

	if (!sp_linktype_known(linktype))
		return -EINVAL;
	learner = calloc(1, sizeof(*learner));
	if (!learner)
		return -ENOMEM;
	sp_hash_key_init(&learner->evidence.key);
	learner->evidence.linktype = linktype;
	learner->have_mac = mac;
	if (mac)
		memcpy(learner->mac, mac, sizeof(learner->mac));
	*ret_learner = learner;
	return 0;
}

void sp_learner_destroy(struct sp_learner *learner)
{
	free(learner);
}

void sp_learner_frames(struct sp_learner *learner,
		       const struct sp_frame *frames, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		evidence_frame(&learner->evidence, &frames[i]);
}

/* A time to live that senders start with: the packet has passed no router. */
static bool is_fresh(uint8_t ttl)
{
	static const uint8_t starts[] = {30, 32, 60, 64, 100, 128, 200, 255};

	for (size_t i = 0; i < sizeof(starts); i++)
		if (ttl == starts[i])
			return true;
	return false;
}

static bool is_same_address(const struct claim *a, const struct claim *b)
{
	return a->family == b->family &&
	       !memcmp(a->octets, b->octets, a->family == AF_INET ? 4 : 16);
}

/* Another station sends from the same address, and is nearer to its owner. */
static bool is_sent_fresher(const struct evidence *evidence,
			    const struct claim *claim)
{
	for (size_t i = 0; i < EVIDENCE_CLAIMS; i++) {
		const struct claim *other = &evidence->claims[i];

		if (other->order && other->station != claim->station &&
		    is_same_address(other, claim) &&
		    (other->claimed || other->ttl > claim->ttl ||
		     (other->ttl == claim->ttl && other->nr > claim->nr)))
			return true;
	}
	return false;
}

static bool is_own(const struct evidence *evidence, const struct claim *claim)
{
	if (claim->claimed)
		return true;
	return is_fresh(claim->ttl) && !is_sent_fresher(evidence, claim);
}

/* Does @station pass on packets of others? One foreign source that is seen to
 * come from its owner is enough, or several that are not fresh. */
static bool is_router(const struct evidence *evidence, int station)
{
	unsigned nr_stale = evidence->stations[station].many ? 3 : 0;

	for (size_t i = 0; i < EVIDENCE_CLAIMS; i++) {
		const struct claim *claim = &evidence->claims[i];

		if (!claim->order || claim->station != station ||
		    is_own(evidence, claim))
			continue;
		if (is_sent_fresher(evidence, claim))
			return true;
		nr_stale += !is_fresh(claim->ttl);
	}
	return nr_stale >= 3;
}

/*
 * Choosing among stations. Each question keeps those for which the answer is
 * the highest.
 */
struct choice {
	const struct evidence *evidence;
	uint16_t left[EVIDENCE_STATIONS];
	size_t nr_left;
};

typedef uint64_t question(const struct evidence *evidence, int station);

static uint64_t how_often(const struct evidence *evidence, int station)
{
	return evidence->stations[station].nr_unicast;
}

static uint64_t how_often_marked(const struct evidence *evidence, int station)
{
	return evidence->stations[station].nr_marked;
}

static uint64_t how_often_unfilled(const struct evidence *evidence, int station)
{
	return evidence->stations[station].nr_unfilled;
}

static uint64_t for_itself(const struct evidence *evidence, int station)
{
	return !is_router(evidence, station);
}

/* 2: an address is surely its own; 1: it sends, at least. */
static uint64_t with_address(const struct evidence *evidence, int station)
{
	uint64_t best = 0;

	for (size_t i = 0; i < EVIDENCE_CLAIMS; i++) {
		const struct claim *claim = &evidence->claims[i];

		if (!claim->order || claim->station != station)
			continue;
		if (is_own(evidence, claim))
			return 2;
		best = 1;
	}
	return best;
}

static uint64_t how_often_answered(const struct evidence *evidence, int station)
{
	return evidence->stations[station].nr_answers;
}

static uint64_t asked_first(const struct evidence *evidence, int station)
{
	return evidence->first_asked == station;
}

static uint64_t seen_first(const struct evidence *evidence, int station)
{
	return UINT32_MAX - evidence->stations[station].order;
}

static void ask(struct choice *choice, question *answer_of)
{
	uint64_t best = 0;
	size_t kept = 0;

	for (size_t i = 0; i < choice->nr_left; i++) {
		uint64_t answer = answer_of(choice->evidence, choice->left[i]);

		if (answer > best) {
			best = answer;
			kept = 0;
		}
		if (answer == best)
			choice->left[kept++] = choice->left[i];
	}
	choice->nr_left = kept;
}

static void choose_among_all(struct choice *choice,
			     const struct evidence *evidence)
{
	choice->evidence = evidence;
	choice->nr_left = 0;
	for (uint16_t i = STATION_NOBODY + 1; i < EVIDENCE_STATIONS; i++)
		if (evidence->stations[i].used)
			choice->left[choice->nr_left++] = i;
}

/* Return: the station, or -1. @ret_why: what decided, NULL: only that it took
 * part in the most unicast frames. */
static int choose(struct choice *choice, const struct evidence *evidence,
		  const char **ret_why)
{
	static const struct {
		question *question;
		const char *why;
	} questions[] = {
		{how_often, NULL},
		{how_often_unfilled,
		 "it sends checksums that its device has yet to fill in"},
		{for_itself, "it sends for itself, not for others"},
		{with_address, "its address is known"},
		{how_often_answered, "it answers the most"},
		{asked_first, "the first unicast frame was for it"},
		{seen_first, "it was seen first"},
	};

	*ret_why = NULL;
	choose_among_all(choice, evidence);
	if (!choice->nr_left)
		return -1;
	if (evidence->nr_marked) {
		ask(choice, how_often_marked);
		ask(choice, seen_first);
		return choice->left[0];
	}
	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		size_t before = choice->nr_left;

		ask(choice, questions[i].question);
		if (choice->nr_left < before)
			*ret_why = questions[i].why;
		if (choice->nr_left == 1)
			break;
	}
	return choice->left[0];
}

static bool is_broadcast_of(const uint8_t *broadcast, const uint8_t *addr,
			    unsigned prefix_len)
{
	uint32_t bits = 0xffffffffu >> prefix_len;
	uint32_t a = 0, b = 0;

	for (unsigned i = 0; i < 4; i++) {
		a = a << 8 | addr[i];
		b = b << 8 | broadcast[i];
	}
	return b == (a | bits) && a != b;
}

static bool is_somebody(const struct evidence *evidence, const uint8_t *addr)
{
	for (size_t i = 0; i < EVIDENCE_CLAIMS; i++)
		if (evidence->claims[i].order &&
		    evidence->claims[i].family == AF_INET &&
		    !memcmp(evidence->claims[i].octets, addr, 4))
			return true;
	return false;
}

/* The longest prefix that makes a broadcast address that was used; /24 if none
 * was, /32 for an address that cannot be a host's in a /24. */
static uint8_t prefix_len4(const struct evidence *evidence, const uint8_t *addr)
{
	if (is_loopback4(addr))
		return 8;
	for (unsigned len = 30; len >= 8; len--)
		for (uint32_t i = 0; i < evidence->nr_broadcasts; i++)
			if (is_broadcast_of(evidence->broadcasts[i], addr,
					    len) &&
			    !is_somebody(evidence, evidence->broadcasts[i]))
				return (uint8_t)len;
	if (addr[0] == 169 && addr[1] == 254)
		return 16;
	return addr[3] && addr[3] != 255 ? 24 : 32;
}

static void add_addr(const struct evidence *evidence, const struct claim *claim,
		     struct sp_learned *learned)
{
	struct sp_addr *addr = &learned->addrs[learned->nr_addrs];

	if (learned->nr_addrs == MAX_ADDRS)
		return;
	learned->nr_addrs++;
	addr->family = claim->family;
	memcpy(addr->octets, claim->octets, sizeof(addr->octets));
	addr->prefix_len = claim->family == AF_INET
				   ? prefix_len4(evidence, claim->octets)
			   : is_loopback6(claim->octets) ? 128
							 : 64;
}

/* Those of one station for which @is_wanted, in order of appearance, IPv4
 * first. */
static void add_addrs(const struct evidence *evidence, int station,
		      bool (*is_wanted)(const struct evidence *,
					const struct claim *),
		      struct sp_learned *learned)
{
	static const uint8_t families[] = {AF_INET, AF_INET6};
	uint16_t found[EVIDENCE_PER_STATION];

	for (size_t f = 0; f < 2; f++) {
		size_t nr = 0;

		for (uint16_t i = 0; i < EVIDENCE_CLAIMS; i++) {
			const struct claim *claim = &evidence->claims[i];
			size_t at;

			if (!claim->order || claim->station != station ||
			    claim->family != families[f] ||
			    nr == EVIDENCE_PER_STATION ||
			    !is_wanted(evidence, claim))
				continue;
			for (at = nr++;
			     at && evidence->claims[found[at - 1]].order >
					   claim->order;
			     at--)
				found[at] = found[at - 1];
			found[at] = i;
		}
		for (size_t i = 0; i < nr; i++)
			add_addr(evidence, &evidence->claims[found[i]],
				 learned);
	}
}

static bool is_any(const struct evidence *evidence, const struct claim *claim)
{
	(void)evidence;
	(void)claim;
	return true;
}

static void learn_station(const struct evidence *evidence, int station,
			  struct sp_learned *learned)
{
	learned->have_mac = true;
	memcpy(learned->mac, evidence->stations[station].mac, 6);
	learned->forward = is_router(evidence, station);
	add_addrs(evidence, station, is_own, learned);
	if (!learned->nr_addrs && !learned->forward)
		add_addrs(evidence, station, is_any, learned);
}

/*
 * Without MAC addresses: the host's ends as the direction tells them, or the
 * address of each family that is in the most packets.
 */
static bool is_better(const struct evidence *evidence, const struct claim *a,
		      const struct claim *b)
{
	if (!b || a->nr != b->nr)
		return !b || a->nr > b->nr;
	if (a->nr_answers != b->nr_answers)
		return a->nr_answers > b->nr_answers;
	return a->order == evidence->first_ends[a->family == AF_INET6];
}

static const struct claim *best_of(const struct evidence *evidence,
				   uint8_t family)
{
	const struct claim *best = NULL;

	for (size_t i = 0; i < EVIDENCE_CLAIMS; i++) {
		const struct claim *claim = &evidence->claims[i];

		if (claim->order && claim->station == STATION_NOBODY &&
		    claim->family == family && is_better(evidence, claim, best))
			best = claim;
	}
	return best;
}

static void learn_nobody(const struct evidence *evidence,
			 struct sp_learned *learned)
{
	const struct claim *best4, *best6;

	if (evidence->nr_marked || evidence->nr_loopback) {
		add_addrs(evidence, STATION_NOBODY, is_any, learned);
		snprintf(learned->reason, sizeof(learned->reason), "%s",
			 evidence->nr_marked
				 ? "packets are marked as sent and received"
				 : "packets of the loopback device");
		return;
	}
	best4 = best_of(evidence, AF_INET);
	best6 = best_of(evidence, AF_INET6);
	if (best4)
		add_addr(evidence, best4, learned);
	if (best6)
		add_addr(evidence, best6, learned);
	snprintf(learned->reason, sizeof(learned->reason),
		 "its address is in %" PRIu64 " of %" PRIu64 " packets",
		 (best4 ? best4->nr : 0) + (best6 ? best6->nr : 0),
		 evidence->nr_packets);
}

/* @why: what choose() said. */
static void say_why(const struct evidence *evidence, int station,
		    const char *why, struct sp_learned *learned)
{
	uint64_t nr = evidence->stations[station].nr_unicast;
	char among[80] = "of the stations that were seen";

	if (evidence->nr_marked) {
		snprintf(learned->reason, sizeof(learned->reason),
			 "frames are marked as sent and received by it");
		return;
	}
	if (evidence->nr_unicast)
		snprintf(among, sizeof(among),
			 "%s the most unicast frames (%" PRIu64 " of %" PRIu64
			 ")",
			 why ? "of those in" : "took part in", nr,
			 evidence->nr_unicast);
	else if (!why)
		snprintf(among, sizeof(among), "no other station was seen");
	snprintf(learned->reason, sizeof(learned->reason), "%s%s%s", among,
		 why ? ", " : "", why ? why : "");
}

static int learn_by_mac(const struct sp_learner *learner,
			struct sp_learned *learned)
{
	const struct evidence *evidence = &learner->evidence;
	struct choice *choice;
	const char *why;
	int station;

	if (learner->have_mac) {
		station = evidence_station(evidence, learner->mac);
		if (station < 0)
			return -ENODATA;
		learn_station(evidence, station, learned);
		snprintf(learned->reason, sizeof(learned->reason),
			 "its MAC address was given");
		return 0;
	}
	choice = malloc(sizeof(*choice));
	if (!choice)
		return -ENOMEM;
	station = choose(choice, evidence, &why);
	free(choice);
	if (station < 0)
		return -ENODATA;
	learn_station(evidence, station, learned);
	say_why(evidence, station, why, learned);
	return 0;
}

int sp_learner_result(const struct sp_learner *learner,
		      struct sp_learned *ret_learned)
{
	struct sp_learned *learned = calloc(1, sizeof(*learned));
	int err = 0;

	if (!learned)
		return -ENOMEM;
	if (learner->evidence.nr_packets && !learner->evidence.nr_unicast)
		learn_nobody(&learner->evidence, learned);
	else
		err = learn_by_mac(learner, learned);
	if (!err && !learned->nr_addrs && !learned->have_mac)
		err = -ENODATA;
	if (!err)
		*ret_learned = *learned;
	free(learned);
	return err;
}
