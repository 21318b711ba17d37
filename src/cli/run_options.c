// SPDX-License-Identifier: MIT
/*
 * cli/run_options.c - the command line of `statplane run`.
 */
#include "cli/run.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "cli/cli.h"
#include "cli/visible.h"

#define DEFAULT_IFACE "eth0"
#define DEFAULT_NETNS "host"

/* The most that the observer takes. */
#define MAX_SOCKETS     (1ul << 24)
#define MAX_REASM_BYTES (1ul << 30)

static const char help[] =
	"usage: statplane run -r FILE... [OPTION]...\n"
	"\n"
	"Counts the packets of a capture as the kernel of the observed host\n"
	"would have counted them.\n"
	"\n"
	"Input\n"
	"  -r FILE...             pcap or pcapng, each also in gzip; - is "
	"standard\n"
	"                         input; several are read in this order\n"
	"Observed host\n"
	"  --local ADDR[/LEN]     an address of the host, with the prefix "
	"length of\n"
	"                         its interface; may be repeated. Without it "
	"the host\n"
	"                         is found out from the first 65536 packets\n"
	"  --mac MAC              its MAC address, which tells sent from "
	"received\n"
	"  --iface NAME           name of the device in the results (eth0)\n"
	"  --listen PROTO:PORT    it listens on this port; PROTO is tcp, udp "
	"or\n"
	"                         udplite; may be repeated. Without it a UDP "
	"port is\n"
	"                         open unless the host answers that it is not\n"
	"  --mcast GROUP          it has joined this multicast group from the "
	"start\n"
	"  --vlan ID              its interface is this VLAN (untagged)\n"
	"  --forward              it is a router\n"
	"Counting\n"
	"  --checksum auto|on|off check checksums; auto takes those left to "
	"offload\n"
	"                         for good (auto)\n"
	"  --netns NAME           name of the namespace in the results (host)\n"
	"  --max-sockets N        TCP connections to remember (65536)\n"
	"  --reasm-bytes N        memory for reassembly, for IPv4 and for IPv6 "
	"(4194304)\n"
	"Output\n"
	"  --json                 one JSON object instead of the summary\n"
	"  --proc-dir DIR         write DIR/net/snmp and so on at the end\n"
	"  --layout 6.18|6.12|6.1|5.15\n"
	"                         whose kernel's columns these files have "
	"(6.18)\n"
	"  --segment NAME|PATH    keep the counters in this plane, where\n"
	"                         'statplane show' finds them; a NAME stands "
	"for\n"
	"                         /dev/shm/statplane-NAME\n"
	"  --help\n"
	"\n"
	"Exit status: 0; 1 if a capture was damaged or could not be read (what "
	"came\n"
	"before is counted), or output failed; 2 for wrong usage; 128 + N "
	"when\n"
	"signal N ended the reading.\n"
	"\n"
	"Examples\n"
	"  statplane run -r host.pcap\n"
	"  tcpdump -U -w - | statplane run -r - --local 192.0.2.1/24\n"
	"  statplane run -r host.pcap --proc-dir out && PROC_ROOT=out nstat "
	"-asz\n"
	"  statplane run -r host.pcap --segment demo; statplane show snmp\n";

enum {
	OPT_LOCAL = 256,
	OPT_MAC,
	OPT_IFACE,
	OPT_LISTEN,
	OPT_MCAST,
	OPT_VLAN,
	OPT_FORWARD,
	OPT_CHECKSUM,
	OPT_LAYOUT,
	OPT_SEGMENT,
	OPT_PROC_DIR,
	OPT_JSON,
	OPT_NETNS,
	OPT_MAX_SOCKETS,
	OPT_REASM_BYTES,
};

static const struct option options_known[] = {
	{"local", required_argument, NULL, OPT_LOCAL},
	{"mac", required_argument, NULL, OPT_MAC},
	{"iface", required_argument, NULL, OPT_IFACE},
	{"listen", required_argument, NULL, OPT_LISTEN},
	{"mcast", required_argument, NULL, OPT_MCAST},
	{"vlan", required_argument, NULL, OPT_VLAN},
	{"forward", no_argument, NULL, OPT_FORWARD},
	{"checksum", required_argument, NULL, OPT_CHECKSUM},
	{"layout", required_argument, NULL, OPT_LAYOUT},
	{"segment", required_argument, NULL, OPT_SEGMENT},
	{"proc-dir", required_argument, NULL, OPT_PROC_DIR},
	{"json", no_argument, NULL, OPT_JSON},
	{"netns", required_argument, NULL, OPT_NETNS},
	{"max-sockets", required_argument, NULL, OPT_MAX_SOCKETS},
	{"reasm-bytes", required_argument, NULL, OPT_REASM_BYTES},
	{"read", required_argument, NULL, 'r'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

/* A decimal number without sign or blanks. */
static bool parse_number(const char *text, unsigned long max,
			 unsigned long *ret_number)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*ret_number = strtoul(text, &end, 10);
	return *end == '\0' && !errno && *ret_number <= max;
}

/* Without a length the whole address is the prefix. */
static bool parse_addr(const char *text, struct sp_addr *addr)
{
	const char *slash = strchr(text, '/');
	char host[INET6_ADDRSTRLEN];
	size_t len = slash ? (size_t)(slash - text) : strlen(text);
	unsigned long max, number;

	if (len >= sizeof(host))
		return false;
	memcpy(host, text, len);
	host[len] = '\0';
	memset(addr, 0, sizeof(*addr));
	if (inet_pton(AF_INET, host, addr->octets) == 1)
		addr->family = AF_INET;
	else if (inet_pton(AF_INET6, host, addr->octets) == 1)
		addr->family = AF_INET6;
	else
		return false;
	max = addr->family == AF_INET ? 32 : 128;
	number = max;
	if (slash && !parse_number(slash + 1, max, &number))
		return false;
	addr->prefix_len = (uint8_t)number;
	return true;
}

static bool is_group(const struct sp_addr *addr)
{
	return addr->family == AF_INET ? addr->octets[0] >> 4 == 0xe
				       : addr->octets[0] == 0xff;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* 02:00:00:00:00:01, or with '-'. */
static bool parse_mac(const char *text, uint8_t mac[6])
{
	if (strlen(text) != SP_MAC_TEXT - 1)
		return false;
	for (int i = 0; i < 6; i++, text += 3) {
		int high = hex_digit(text[0]), low = hex_digit(text[1]);

		if (high < 0 || low < 0 ||
		    (i < 5 && text[2] != ':' && text[2] != '-'))
			return false;
		mac[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

static bool parse_listen(const char *text, struct sp_listen *listen)
{
	static const struct {
		const char *prefix;
		uint8_t protocol;
	} protocols[] = {
		{"tcp:", IPPROTO_TCP},
		{"udp:", IPPROTO_UDP},
		{"udplite:", IPPROTO_UDPLITE},
	};
	unsigned long port;

	for (size_t i = 0; i < sizeof(protocols) / sizeof(protocols[0]); i++) {
		size_t len = strlen(protocols[i].prefix);

		if (strncmp(text, protocols[i].prefix, len) != 0)
			continue;
		if (!parse_number(text + len, 65535, &port) || !port)
			return false;
		listen->protocol = protocols[i].protocol;
		listen->port = (uint16_t)port;
		return true;
	}
	return false;
}

static bool parse_checksum(const char *text, enum sp_checksum_mode *mode)
{
	if (strcmp(text, "auto") == 0)
		*mode = SP_CHECKSUM_AUTO;
	else if (strcmp(text, "on") == 0)
		*mode = SP_CHECKSUM_ON;
	else if (strcmp(text, "off") == 0)
		*mode = SP_CHECKSUM_OFF;
	else
		return false;
	return true;
}

/* A device is a word in net/dev and a file in net/dev_snmp6. */
static bool is_device_name(const char *name)
{
	size_t len = strlen(name);

	if (!len || len > 15 || strcmp(name, ".") == 0 ||
	    strcmp(name, "..") == 0)
		return false;
	return !strpbrk(name, " /:") && sp_all_visible(name);
}

static bool is_object_name(const char *name)
{
	size_t len = strlen(name);

	return len && len <= SP_OBJECT_NAME_MAX && !strchr(name, '/') &&
	       sp_all_visible(name);
}

#define usage(...) sp_cli_usage("run", __VA_ARGS__)

/* An option that describes the observed host. Return: -1, or exit status. */
static int take_host(struct sp_run_options *options, int option)
{
	struct sp_addr *addr;
	unsigned long number;

	switch (option) {
	case OPT_LOCAL:
		addr = &options->addrs[options->nr_addrs++];
		if (!parse_addr(optarg, addr) || is_group(addr))
			return usage("--local %s: want an IPv4 or IPv6 "
				     "address such as 192.0.2.1/24",
				     optarg);
		break;
	case OPT_MCAST:
		addr = &options->groups[options->nr_groups++];
		if (!parse_addr(optarg, addr) || !is_group(addr))
			return usage("--mcast %s: want a multicast address "
				     "such as 239.1.2.3",
				     optarg);
		break;
	case OPT_LISTEN:
		if (!parse_listen(optarg,
				  &options->listens[options->nr_listens++]))
			return usage("--listen %s: want tcp:PORT, udp:PORT or "
				     "udplite:PORT, PORT from 1 to 65535",
				     optarg);
		break;
	case OPT_MAC:
		if (!parse_mac(optarg, options->mac))
			return usage("--mac %s: want six octets such as "
				     "02:00:00:00:00:01",
				     optarg);
		options->have_mac = true;
		break;
	case OPT_IFACE:
		if (!is_device_name(optarg))
			return usage("--iface %s: want 1 to 15 characters "
				     "without blanks, '/' and ':'",
				     optarg);
		options->iface = optarg;
		break;
	case OPT_VLAN:
		if (!parse_number(optarg, 4094, &number) || !number)
			return usage("--vlan %s: want a number from 1 to 4094",
				     optarg);
		options->vlan_id = (uint16_t)number;
		break;
	case OPT_FORWARD:
		options->forward = true;
		break;
	}
	return -1;
}

/* An option that sets a limit. What is beyond it is counted. */
static int take_limit(struct sp_run_options *options, int option)
{
	const bool sockets = option == OPT_MAX_SOCKETS;
	const unsigned long max = sockets ? MAX_SOCKETS : MAX_REASM_BYTES;
	unsigned long number;

	if (!parse_number(optarg, max, &number) || !number)
		return usage("--%s %s: want a number from 1 to %lu",
			     sockets ? "max-sockets" : "reasm-bytes", optarg,
			     max);
	if (sockets)
		options->max_sockets = (uint32_t)number;
	else
		options->reasm_bytes = (uint32_t)number;
	return -1;
}

/* Any other option. */
static int take_other(struct sp_run_options *options, int option)
{
	switch (option) {
	case OPT_CHECKSUM:
		if (!parse_checksum(optarg, &options->checksum))
			return usage("--checksum %s: want auto, on or off",
				     optarg);
		break;
	case OPT_LAYOUT:
		if (sp_layout_parse(optarg, &options->layout))
			return usage("--layout %s: want 6.18, 6.12, 6.1 or "
				     "5.15",
				     optarg);
		break;
	case OPT_SEGMENT:
		if (!*optarg)
			return usage("--segment: want a name or a path");
		options->segment = optarg;
		break;
	case OPT_PROC_DIR:
		if (!*optarg)
			return usage("--proc-dir: want a directory");
		options->proc_dir = optarg;
		break;
	case OPT_NETNS:
		if (!is_object_name(optarg))
			return usage("--netns %s: want 1 to %d characters "
				     "without '/' and control characters",
				     optarg, SP_OBJECT_NAME_MAX);
		options->netns = optarg;
		break;
	case OPT_JSON:
		options->json = true;
		break;
	case 'h':
		fputs(help, stdout);
		return sp_cli_finish(SP_EXIT_OK);
	}
	return -1;
}

/* Files, and what getopt did not like. */
static int take(struct sp_run_options *options, int option, char **argv)
{
	switch (option) {
	case 'r':
		if (!*optarg)
			return usage("-r: want a file");
		options->paths[options->nr_paths++] = optarg;
		return -1;
	case 1: /* no option: more files, once there was -r */
		if (!options->nr_paths || !*optarg)
			return usage("'%s' is no option; captures follow -r",
				     optarg);
		options->paths[options->nr_paths++] = optarg;
		return -1;
	case ':':
	case '?':
		return sp_cli_bad_option("run", option, argv);
	case OPT_LOCAL:
	case OPT_MCAST:
	case OPT_LISTEN:
	case OPT_MAC:
	case OPT_IFACE:
	case OPT_VLAN:
	case OPT_FORWARD:
		return take_host(options, option);
	case OPT_MAX_SOCKETS:
	case OPT_REASM_BYTES:
		return take_limit(options, option);
	default:
		return take_other(options, option);
	}
}

/* Each list has as many places as there are words. */
static bool allocate(struct sp_run_options *options, size_t nr)
{
	/* the learner may fill in as many addresses */
	const size_t nr_learned = sizeof(((struct sp_learned *)0)->addrs) /
				  sizeof(struct sp_addr);

	options->paths = calloc(nr, sizeof(*options->paths));
	options->addrs = calloc(nr + nr_learned, sizeof(*options->addrs));
	options->listens = calloc(nr, sizeof(*options->listens));
	options->groups = calloc(nr, sizeof(*options->groups));
	return options->paths && options->addrs && options->listens &&
	       options->groups;
}

static int check(const struct sp_run_options *options)
{
	size_t nr_stdin = 0;

	if (!options->nr_paths)
		return usage("no capture to read: give -r FILE");
	for (size_t i = 0; i < options->nr_paths; i++)
		nr_stdin += strcmp(options->paths[i], "-") == 0;
	if (nr_stdin > 1)
		return usage("standard input can be read once only");
	return -1;
}

int sp_run_options_parse(struct sp_run_options *options, int argc, char **argv)
{
	int option, r;

	*options = (struct sp_run_options){.iface = DEFAULT_IFACE,
					   .netns = DEFAULT_NETNS};
	if (!allocate(options, (size_t)argc + 1))
		return sp_cli_error("no memory");
	/* '-': words that are no option come in their place; ':': no messages */
	while ((option = getopt_long(argc, argv, "-:r:h", options_known,
				     NULL)) != -1) {
		r = take(options, option, argv);
		if (r >= 0)
			return r;
	}
	for (; optind < argc; optind++) {
		optarg = argv[optind];
		r = take(options, 1, argv);
		if (r >= 0)
			return r;
	}
	return check(options);
}

void sp_run_options_fini(struct sp_run_options *options)
{
	free(options->paths);
	free(options->addrs);
	free(options->listens);
	free(options->groups);
}

const char *sp_addr_text(const struct sp_addr *addr, char text[SP_ADDR_TEXT])
{
	char host[INET6_ADDRSTRLEN] = "";

	inet_ntop(addr->family, addr->octets, host, sizeof(host));
	snprintf(text, SP_ADDR_TEXT, "%s/%u", host, addr->prefix_len);
	return text;
}

const char *sp_mac_text(const uint8_t mac[6], char text[SP_MAC_TEXT])
{
	snprintf(text, SP_MAC_TEXT, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0],
		 mac[1], mac[2], mac[3], mac[4], mac[5]);
	return text;
}
