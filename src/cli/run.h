/* SPDX-License-Identifier: MIT */
/*
 * cli/run.h - the parts of `statplane run`.
 *
 *	run_options.c   what the user wants
 *	run_learn.c     which host was observed, if he does not say
 *	run.c           plane, namespace, device, observer; frames through it
 *	run_summary.c   what was counted, for a person
 *	run_json.c      the same for a program (docs/json.md)
 *	tree.c          the same as files of /proc
 */
#ifndef SP_CLI_RUN_H
#define SP_CLI_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <statplane/observe.h>
#include <statplane/reader.h>
#include <statplane/render.h>

#include "cli/input.h"

struct sp_run_options {
	char **paths;
	size_t nr_paths;
	struct sp_addr *addrs;
	size_t nr_addrs;
	struct sp_listen *listens;
	size_t nr_listens;
	struct sp_addr *groups;
	size_t nr_groups;
	bool have_mac;
	uint8_t mac[6];
	const char *iface;
	const char *netns;
	uint16_t vlan_id;
	bool forward;
	enum sp_checksum_mode checksum;
	uint32_t reasm_bytes; /* 0: the default */
	uint32_t max_sockets; /* 0: the default */
	enum sp_layout layout;
	const char *segment;  /* NULL: anonymous */
	const char *proc_dir; /* NULL: none */
	bool json;
};

/* How a run went, beside the counters. */
struct sp_run_result {
	const struct sp_run_options *options;
	const struct sp_input *input;
	struct sp_observer_stats stats;
	bool learned; /* the host, with @reason */
	const char *reason;
	uint64_t first_ns, last_ns; /* earliest and latest packet */
	uint64_t elapsed_ns;        /* to count them */
	int signal;                 /* that ended the reading, or 0 */
};

/**
 * sp_run_options_parse() - read the command line
 *
 * Return: exit status, or -1 to go on. --help prints and returns SP_EXIT_OK.
 */
int sp_run_options_parse(struct sp_run_options *options, int argc, char **argv);
void sp_run_options_fini(struct sp_run_options *options);

#define SP_ADDR_TEXT 64
/* "10.0.0.1/24". Return: @text. */
const char *sp_addr_text(const struct sp_addr *addr, char text[SP_ADDR_TEXT]);
#define SP_MAC_TEXT 18
const char *sp_mac_text(const uint8_t mac[6], char text[SP_MAC_TEXT]);

/**
 * sp_run_learn() - find out which host was observed, and say so
 * @options: addresses, MAC address and forwarding are filled in
 * @ret_reason: static
 *
 * Return: 0; -EINTR; -ENODATA if the packets do not tell; -ENOMEM.
 */
int sp_run_learn(struct sp_input *input, struct sp_run_options *options,
		 const char **ret_reason);

/* The counters of a namespace and its device, summed. */
struct sp_run_cells {
	uint64_t *net;
	uint64_t *netdev;
};

void sp_run_print(const struct sp_run_result *result,
		  const struct sp_run_cells *cells);
void sp_run_print_json(const struct sp_run_result *result,
		       const struct sp_run_cells *cells);

#endif
