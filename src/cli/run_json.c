// SPDX-License-Identifier: MIT
/*
 * cli/run_json.c - what was counted, for a program: docs/json.md.
 */
#include "cli/run.h"

#include <string.h>

#include "cli/items.h"
#include "cli/json.h"

static void put_host(struct sp_json *json, const struct sp_run_result *result)
{
	const struct sp_run_options *options = result->options;
	char text[SP_ADDR_TEXT];

	sp_json_open(json, "host", '{');
	sp_json_open(json, "addresses", '[');
	for (size_t i = 0; i < options->nr_addrs; i++)
		sp_json_string(json, NULL,
			       sp_addr_text(&options->addrs[i], text));
	sp_json_close(json, '[');
	if (options->have_mac)
		sp_json_string(json, "mac", sp_mac_text(options->mac, text));
	else
		sp_json_null(json, "mac");
	sp_json_string(json, "device", options->iface);
	sp_json_string(json, "netns", options->netns);
	sp_json_bool(json, "forward", options->forward);
	sp_json_bool(json, "learned", result->learned);
	if (result->learned)
		sp_json_string(json, "reason", result->reason);
	sp_json_close(json, '{');
}

static void put_observer(struct sp_json *json,
			 const struct sp_observer_stats *stats)
{
	sp_json_open(json, "observer", '{');
	sp_json_u64(json, "truncated", stats->nr_truncated);
	sp_json_u64(json, "link_errors", stats->nr_link_errors);
	sp_json_u64(json, "other_protocol", stats->nr_other_proto);
	sp_json_u64(json, "arp", stats->nr_arp);
	sp_json_u64(json, "other_host", stats->nr_other_host);
	sp_json_u64(json, "other_vlan", stats->nr_other_vlan);
	sp_json_u64(json, "unchecked", stats->nr_unchecked);
	sp_json_u64(json, "offloaded", stats->nr_offloaded);
	sp_json_u64(json, "reassembly_evicted", stats->nr_reasm_evicted);
	sp_json_u64(json, "connections_evicted", stats->nr_sockets_evicted);
	sp_json_u64(json, "connections_refused", stats->nr_sockets_refused);
	sp_json_u64(json, "segments_joined", stats->nr_ranges_joined);
	sp_json_u64(json, "datagrams_evicted", stats->nr_ports_evicted);
	sp_json_u64(json, "groups_refused", stats->nr_groups_refused);
	sp_json_close(json, '{');
}

static void put_item(struct sp_json *json, const struct sp_item *item,
		     const uint64_t *cells)
{
	if (item->is_gauge)
		sp_json_i64(json, item->name, (int64_t)cells[item->cell_idx]);
	else
		sp_json_u64(json, item->name, cells[item->cell_idx]);
}

/* Only those that were met. */
static void put_types(struct sp_json *json, const uint64_t *cells,
		      const char *group)
{
	struct sp_type_item type = {0};
	char name[SP_TYPE_NAME];

	sp_json_open(json, group, '{');
	while (sp_next_type(&type, cells, name)) {
		if (strcmp(type.group, group) == 0)
			sp_json_u64(json, name, type.value);
	}
	sp_json_close(json, '{');
}

/* Zeros too: who reads this looks for names. */
static void put_groups(struct sp_json *json, const uint64_t *cells)
{
	const char *group = "";

	sp_json_open(json, "counters", '{');
	for (size_t i = 0; i < sp_nr_net_items; i++) {
		const struct sp_item *item = &sp_net_items[i];

		if (strcmp(group, item->group) != 0) {
			if (*group)
				sp_json_close(json, '{');
			group = item->group;
			sp_json_open(json, group, '{');
		}
		put_item(json, item, cells);
	}
	sp_json_close(json, '{');
	put_types(json, cells, "IcmpMsg");
	put_types(json, cells, "Icmp6Msg");
	sp_json_close(json, '{');
}

static void put_device(struct sp_json *json, const char *name,
		       const uint64_t *cells)
{
	sp_json_open(json, "devices", '{');
	sp_json_open(json, name, '{');
	for (size_t i = 0; i < sp_nr_netdev_items; i++)
		put_item(json, &sp_netdev_items[i], cells);
	sp_json_close(json, '{');
	sp_json_close(json, '{');
}

static void put_times(struct sp_json *json, const struct sp_run_result *result)
{
	uint64_t span_ns = result->last_ns - result->first_ns;
	double nr = (double)result->stats.nr_frames;

	if (result->stats.nr_frames) {
		sp_json_seconds(json, "first_s", result->first_ns);
		sp_json_seconds(json, "last_s", result->last_ns);
	} else {
		sp_json_null(json, "first_s");
		sp_json_null(json, "last_s");
	}
	sp_json_seconds(json, "span_s", span_ns);
	if (span_ns)
		sp_json_double(json, "packets_per_s",
			       nr * 1e9 / (double)span_ns);
	else
		sp_json_null(json, "packets_per_s");
	sp_json_seconds(json, "elapsed_s", result->elapsed_ns);
}

static void put_input(struct sp_json *json, const struct sp_run_result *result)
{
	const struct sp_input *input = result->input;

	sp_json_open(json, "captures", '[');
	for (size_t i = 0; i < input->nr_paths; i++)
		sp_json_string(json, NULL, input->paths[i]);
	sp_json_close(json, '[');
	sp_json_bool(json, "complete", !input->nr_faults && !result->signal);
	sp_json_open(json, "errors", '[');
	for (size_t i = 0; i < input->nr_faults; i++)
		sp_json_string(json, NULL, input->faults[i]);
	sp_json_close(json, '[');
}

void sp_run_print_json(const struct sp_run_result *result,
		       const struct sp_run_cells *cells)
{
	struct sp_json json = {.file = stdout};

	sp_json_open(&json, NULL, '{');
	put_input(&json, result);
	sp_json_u64(&json, "packets", result->stats.nr_frames);
	sp_json_u64(&json, "octets", result->stats.nr_octets);
	put_times(&json, result);
	put_host(&json, result);
	put_observer(&json, &result->stats);
	put_groups(&json, cells->net);
	put_device(&json, result->options->iface, cells->netdev);
	sp_json_close(&json, '{');
	fputc('\n', stdout);
}
