/* SPDX-License-Identifier: MIT */
/*
 * observe/group.c - what the host says about the multicast groups that it is in.
 *
 * IGMP (RFC 1112, 2236, 3376) and MLD (RFC 2710, 3810) reports that the host
 * sends. A leave without a word cannot be seen: IGMPv1 knows no other, nor does
 * a host whose report another's replaced.
 *
 * Rules: net/ipv4/igmp.c, net/ipv6/mcast.c.
 */
#include "observe/host.h"
#include "observe/observer.h"
#include "packet/ip.h"

enum igmp_type {
	IGMP_REPORT_V1 = 0x12,
	IGMP_REPORT_V2 = 0x16,
	IGMP_LEAVE = 0x17,
	IGMP_REPORT_V3 = 0x22,
};

enum mld_type {
	MLD_REPORT_V1 = 131,
	MLD_DONE = 132,
	MLD_REPORT_V2 = 143,
};

/* Records of IGMPv3 and MLDv2. */
enum record_type {
	IS_IN = 1,
	IS_EX,
	TO_IN,
	TO_EX,
	ALLOW,
	BLOCK,
};

static void change(struct sp_observer *o, enum host_change change,
		   const uint8_t *group, const uint8_t *sources,
		   uint32_t nr_sources, bool ipv6)
{
	if (ipv6 ? !is_multicast6(group) : !is_multicast4(group))
		return;
	if (!host_change_group(o->host, change, group, sources, nr_sources,
			       ipv6))
		o->stats.nr_groups_refused++;
}

static void join(struct sp_observer *o, const uint8_t *group, bool ipv6)
{
	change(o, HOST_EXCLUDE, group, NULL, 0, ipv6);
}

static void leave(struct sp_observer *o, const uint8_t *group, bool ipv6)
{
	change(o, HOST_INCLUDE, group, NULL, 0, ipv6);
}

/* IS_IN answers a query for some sources and names those among them that are
 * wanted: it says nothing about others. */
static void apply_record(struct sp_observer *o, uint8_t type,
			 const uint8_t *group, const uint8_t *sources,
			 uint32_t nr_sources, bool ipv6)
{
	static const enum host_change changes[] = {
		[IS_IN] = HOST_ALLOW,   [IS_EX] = HOST_EXCLUDE,
		[TO_IN] = HOST_INCLUDE, [TO_EX] = HOST_EXCLUDE,
		[ALLOW] = HOST_ALLOW,   [BLOCK] = HOST_BLOCK,
	};

	if (type >= IS_IN && type <= BLOCK)
		change(o, changes[type], group, sources, nr_sources, ipv6);
}

/* Records: type, length of auxiliary data in words, number of sources, group,
 * sources, auxiliary data. */
static void apply_records(struct sp_observer *o, const struct payload *payload)
{
	uint32_t addr_len = payload->ipv6 ? 16 : 4;
	uint32_t nr = sp_get_be16(payload->data + 6);
	uint32_t off = 8;

	while (nr-- && payload->cap_len - off >= 4 + addr_len) {
		const uint8_t *record = payload->data + off;
		uint32_t nr_sources = sp_get_be16(record + 2);
		uint32_t len = 4 + addr_len * (1 + nr_sources) + record[1] * 4u;

		if (len > payload->cap_len - off)
			return;
		apply_record(o, record[0], record + 4, record + 4 + addr_len,
			     nr_sources, payload->ipv6);
		off += len;
	}
}

void igmp_output(struct sp_observer *o, const struct payload *payload)
{
	if (payload->cap_len < 8)
		return;
	switch (payload->data[0]) {
	case IGMP_REPORT_V1:
	case IGMP_REPORT_V2:
		join(o, payload->data + 4, false);
		break;
	case IGMP_LEAVE:
		leave(o, payload->data + 4, false);
		break;
	case IGMP_REPORT_V3:
		apply_records(o, payload);
		break;
	}
}

void mld_output(struct sp_observer *o, const struct payload *payload)
{
	uint8_t type = payload->data[0];

	if (type == MLD_REPORT_V2 && payload->cap_len >= 8)
		apply_records(o, payload);
	else if (type == MLD_REPORT_V1 && payload->cap_len >= 24)
		join(o, payload->data + 8, true);
	else if (type == MLD_DONE && payload->cap_len >= 24)
		leave(o, payload->data + 8, true);
}
