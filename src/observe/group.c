/* SPDX-License-Identifier: MIT */
/*
 * observe/group.c - what the host says about the multicast groups that it is in.
 *
 * IGMP (RFC 1112, 2236, 3376) and MLD (RFC 2710, 3810) reports that the host
 * sends. A filter of sources is not kept: a group that is wanted from some
 * sources only counts as joined. A silent leave cannot be seen.
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
	ALLOW_NEW,
	BLOCK_OLD,
};

static void join(struct sp_observer *o, const uint8_t *group, bool ipv6)
{
	if (ipv6 ? !is_multicast6(group) : !is_multicast4(group))
		return;
	if (!host_join(o->host, group, ipv6))
		o->stats.nr_groups_refused++;
}

static void apply_record(struct sp_observer *o, uint8_t type,
			 uint16_t nr_sources, const uint8_t *group, bool ipv6)
{
	if (type == IS_EX || type == TO_EX)
		join(o, group, ipv6);
	else if (type == TO_IN && !nr_sources)
		host_leave(o->host, group, ipv6);
	else if (type != BLOCK_OLD && type <= BLOCK_OLD && nr_sources)
		join(o, group, ipv6);
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
		uint16_t nr_sources = sp_get_be16(record + 2);
		uint32_t len =
			4 + addr_len * (1u + nr_sources) + record[1] * 4u;

		apply_record(o, record[0], nr_sources, record + 4,
			     payload->ipv6);
		if (len > payload->cap_len - off)
			return;
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
		host_leave(o->host, payload->data + 4, false);
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
		host_leave(o->host, payload->data + 8, true);
}
