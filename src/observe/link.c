/* SPDX-License-Identifier: MIT */
/*
 * observe/link.c - the device: who sent a frame, whom it is for, which VLAN.
 *
 * Rules: net/ethernet/eth.c (eth_type_trans: a unicast frame for another MAC
 * address goes no further), net/8021q/vlan_core.c (a tag with VLAN 0 carries a
 * priority only), net/core/dev.c.
 */
#include <string.h>

#include "observe/host.h"
#include "observe/observer.h"

enum ethertype {
	TYPE_IPV4 = 0x0800,
	TYPE_ARP = 0x0806,
	TYPE_IPV6 = 0x86dd,
};

#define ETHERNET_LEN 14

/* A MAC address as a number: equal numbers, equal addresses. */
static uint64_t mac_load(const uint8_t *mac)
{
	uint32_t head;
	uint16_t tail;

	memcpy(&head, mac, sizeof(head));
	memcpy(&tail, mac + 4, sizeof(tail));
	return (uint64_t)tail << 32 | head;
}

static bool is_mac(const struct sp_observer *o, const uint8_t *mac)
{
	return mac_load(mac) == o->mac;
}

bool link_is_own_mac(const struct sp_observer *o, const uint8_t *mac)
{
	return is_mac(o, mac);
}

/* Whether the sender, as the network layer names him, is the host. */
static bool is_from_host(const struct sp_observer *o, uint16_t ethertype,
			 const uint8_t *l3, uint32_t cap_len)
{
	switch (ethertype) {
	case TYPE_IPV4:
		return cap_len >= 16 && host_is_local4(o->host, l3 + 12);
	case TYPE_IPV6:
		return cap_len >= 24 && host_is_local6(o->host, l3 + 8);
	case TYPE_ARP: /* sender protocol address */
		return cap_len >= 18 && host_is_local4(o->host, l3 + 14);
	default:
		return false;
	}
}

static bool is_sent(const struct sp_observer *o, const struct sp_frame *frame,
		    const struct sp_link *link)
{
	if (link->direction != SP_DIRECTION_UNKNOWN)
		return link->direction == SP_DIRECTION_OUT;
	if (o->has_mac && link->src_mac)
		return is_mac(o, link->src_mac);
	return is_from_host(o, link->ethertype, frame->data + link->l3_off,
			    frame->cap_len - link->l3_off);
}

/* What the device counts: the frame with its Ethernet header. A cooked capture
 * has another header in its place; devices without one have none. */
static uint32_t device_octets(const struct sp_observer *o, uint32_t len,
			      const struct sp_link *link)
{
	switch (o->linktype) {
	case SP_LINKTYPE_ETHERNET:
		return len;
	case SP_LINKTYPE_LINUX_SLL:
	case SP_LINKTYPE_LINUX_SLL2:
		return len - link->l3_off + ETHERNET_LEN;
	default:
		return len - link->l3_off;
	}
}

static void count_sent(struct sp_observer *o, uint32_t octets)
{
	DEV_ADD(o, dev, tx_packets, 1);
	DEV_ADD(o, dev, tx_bytes, octets);
}

static void count_received(struct sp_observer *o, uint32_t octets,
			   bool multicast)
{
	DEV_ADD(o, dev, rx_packets, 1);
	DEV_ADD(o, dev, rx_bytes, octets);
	if (multicast)
		DEV_ADD(o, dev, rx_multicast, 1);
	NET_INC(o, softnet, processed);
}

static void count_device(struct sp_observer *o, const struct sp_link *link,
			 uint32_t octets, bool sent)
{
	if (sent)
		count_sent(o, octets);
	else
		count_received(o, octets,
			       link->group_dst && !link->broadcast_dst);
}

static bool is_own_vlan(const struct sp_observer *o, const struct sp_link *link)
{
	if (o->vlan_id)
		return link->nr_vlans == 1 && link->vlan_id == o->vlan_id;
	return !link->nr_vlans;
}

static bool is_for_another(const struct sp_observer *o,
			   const struct sp_link *link)
{
	if (link->other_host)
		return true;
	return o->has_mac && link->dst_mac && !link->group_dst &&
	       !is_mac(o, link->dst_mac);
}

static void network_layer(struct sp_observer *o, struct packet *packet,
			  uint16_t ethertype, bool sent)
{
	switch (ethertype) {
	case TYPE_IPV4:
		if (sent)
			ipv4_output(o, packet);
		else
			ipv4_input(o, packet);
		break;
	case TYPE_IPV6:
		if (sent)
			ipv6_output(o, packet);
		else
			ipv6_input(o, packet);
		break;
	case TYPE_ARP:
		o->stats.nr_arp++;
		break;
	default:
		o->stats.nr_other_proto++;
		break;
	}
}

/* Where nothing but addresses tells who sent a frame, one that goes from the
 * host to itself passes the device both ways: it is a loopback device. */
static bool is_looped(const struct sp_observer *o, const struct sp_link *link,
		      const struct packet *packet)
{
	const uint8_t *l3 = packet->data;

	if (link->direction != SP_DIRECTION_UNKNOWN || o->has_mac)
		return false;
	if (link->ethertype == TYPE_IPV4)
		return packet->cap_len >= 20 &&
		       host_is_local4(o->host, l3 + 16);
	return link->ethertype == TYPE_IPV6 && packet->cap_len >= 40 &&
	       host_is_local6(o->host, l3 + 24);
}

static void count_looped(struct sp_observer *o, const struct sp_link *link,
			 struct packet packet, uint32_t octets)
{
	count_device(o, link, octets, false);
	packet.looped = true;
	network_layer(o, &packet, link->ethertype, false);
}

static void account_any(struct sp_observer *o, const struct sp_frame *frame)
{
	uint32_t len =
		frame->len > frame->cap_len ? frame->len : frame->cap_len;
	struct sp_link link;
	bool decoded = sp_link_decode(o->linktype, frame, &link);
	bool sent = is_sent(o, frame, &link);
	uint32_t octets = device_octets(o, len, &link);
	struct packet packet = {
		.data = frame->data + link.l3_off,
		.cap_len = frame->cap_len - link.l3_off,
		.len = len - link.l3_off,
		.to_host = !link.group_dst,
	};
	struct packet whole = packet;

	count_device(o, &link, octets, sent);
	if (!decoded) {
		o->stats.nr_link_errors++;
		return;
	}
	if (!is_own_vlan(o, &link)) {
		o->stats.nr_other_vlan++;
		return;
	}
	if (!sent && is_for_another(o, &link)) {
		o->stats.nr_other_host++;
		return;
	}
	network_layer(o, &packet, link.ethertype, sent);
	if (sent && is_looped(o, &link, &whole))
		count_looped(o, &link, whole, octets);
}

/*
 * The same for nearly every frame there is: untagged Ethernet with IPv4 or IPv6
 * in it, all of whose header is captured, and MAC addresses tell who sent it.
 * Return: false if this is not such a one.
 */
static bool account_plain(struct sp_observer *o, const struct sp_frame *frame)
{
	const uint8_t *data = frame->data;
	struct packet packet = {
		.data = data + ETHERNET_LEN,
		.cap_len = frame->cap_len - ETHERNET_LEN,
		.len = frame->len - ETHERNET_LEN,
	};
	uint16_t ethertype;

	if (!o->is_plain || frame->cap_len < ETHERNET_LEN ||
	    frame->len < frame->cap_len ||
	    frame->direction != SP_DIRECTION_UNKNOWN)
		return false;
	ethertype = (uint16_t)(data[12] << 8 | data[13]);
	if (ethertype != TYPE_IPV4 && ethertype != TYPE_IPV6)
		return false;
	packet.to_host = !(data[0] & 1);
	if (is_mac(o, data + 6)) {
		count_sent(o, frame->len);
		network_layer(o, &packet, ethertype, true);
		return true;
	}
	count_received(o, frame->len,
		       !packet.to_host && mac_load(data) != 0xffffffffffff);
	if (packet.to_host && !is_mac(o, data))
		o->stats.nr_other_host++;
	else
		network_layer(o, &packet, ethertype, false);
	return true;
}

void link_account(struct sp_observer *o, const struct sp_frame *frame)
{
	if (!account_plain(o, frame))
		account_any(o, frame);
}

void link_init(struct sp_observer *o, const struct sp_observer_opts *opts)
{
	o->linktype = opts->linktype;
	o->vlan_id = opts->vlan_id;
	o->has_mac = opts->mac;
	if (opts->mac)
		o->mac = mac_load(opts->mac);
	o->is_plain = o->has_mac && !o->vlan_id &&
		      o->linktype == SP_LINKTYPE_ETHERNET;
}
