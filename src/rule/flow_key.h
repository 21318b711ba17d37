/* SPDX-License-Identifier: MIT */
/*
 * rule/flow_key.h - what a flower rule may ask of a packet: one fixed struct,
 * used for the value, for the mask, and for what was found in a packet.
 *
 * All numbers are in host order, addresses and MACs in the order of the wire;
 * no byte is padding, so that keys may be hashed and compared as memory.
 * A key in a rule is given where its mask is not 0. Two things that a mask of 0
 * cannot say stand in sp_flow_mask: whether an address was given at all, and
 * whether a port is a range.
 */
#ifndef SP_RULE_FLOW_KEY_H
#define SP_RULE_FLOW_KEY_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/* Label stack entries that 'mpls lse depth N' reaches. */
#define SP_FLOW_NR_LSE 7

/* sp_flow_key.ip_flags */
enum {
	SP_FLOW_FRAG = 1,
	SP_FLOW_FIRST_FRAG = 2,
};

/* sp_flow_key.addr_type: which addresses a packet has, or a rule asks for. */
enum {
	SP_FLOW_ADDR_NONE,
	SP_FLOW_ADDR_IPV4,
	SP_FLOW_ADDR_IPV6,
};

struct sp_flow_key {
	/* addresses: IPv4 in the first four octets, the rest 0 */
	uint8_t src_ip[16];
	uint8_t dst_ip[16];
	uint8_t dst_mac[6];
	uint8_t src_mac[6];
	uint8_t arp_sha[6];
	uint8_t arp_tha[6];
	uint8_t arp_sip[4];
	uint8_t arp_tip[4];
	uint32_t indev;                /* number of the device */
	uint32_t lse[SP_FLOW_NR_LSE];  /* label << 12 | tc << 9 | bos << 8 | ttl */
	uint16_t eth_type;             /* behind the last tag that is looked at */
	uint16_t src_port;
	uint16_t dst_port;
	uint16_t src_port_max;         /* rule: upper bound of a range */
	uint16_t dst_port_max;
	uint16_t tcp_flags;            /* 12 bits */
	uint16_t vlan_tci;             /* prio << 13 | id */
	uint16_t vlan_tpid;
	uint16_t cvlan_tci;
	uint16_t cvlan_tpid;
	uint16_t pppoe_sid;
	uint16_t ppp_proto;
	uint8_t ip_proto;
	uint8_t ip_tos;
	uint8_t ip_ttl;
	uint8_t ip_flags;
	uint8_t icmp_type;
	uint8_t icmp_code;
	uint8_t arp_op;
	uint8_t num_of_vlans;
	uint8_t addr_type;
	uint8_t zero[3];
};

static_assert(sizeof(struct sp_flow_key) == 132, "no padding");
static_assert(sizeof(struct sp_flow_key) % sizeof(uint32_t) == 0,
	      "compared by words");

#endif
