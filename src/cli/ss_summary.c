// SPDX-License-Identifier: MIT
/*
 * cli/ss_summary.c - `statplane ss -s`: sums over all sockets of a namespace.
 *
 * The figures mean what those of net/sockstat do: half-open connections and those
 * that wait are no sockets.
 */
#include "cli/ss.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

#include "cli/json.h"

static void add_tcp(struct sp_ss_summary *sum, const struct sp_conn *conn)
{
	bool is_closing = conn->state == SP_TCP_FIN_WAIT1 ||
			  conn->state == SP_TCP_LAST_ACK ||
			  conn->state == SP_TCP_CLOSING;

	sum->tcp_established += conn->state == SP_TCP_ESTABLISHED ||
				conn->state == SP_TCP_CLOSE_WAIT;
	if (conn->mini || conn->state == SP_TCP_TIME_WAIT) {
		bool is_open = conn->state == SP_TCP_SYN_RECV;

		sum->syn_recv += is_open;
		sum->tcp_timewait += !is_open;
		sum->tcp_closed += !is_open;
		sum->tcp += !is_open;
		return;
	}
	sum->tcp++;
	sum->nr_sockets++;
	sum->tcp_orphaned += is_closing && !conn->inode;
	if (conn->key.family == AF_INET6)
		sum->hashed_tcp.v6++;
	else
		sum->hashed_tcp.v4++;
}

static void add(void *ctx, const struct sp_conn *conn)
{
	struct sp_ss_summary *sum = ctx;

	if (conn->key.protocol == IPPROTO_TCP) {
		add_tcp(sum, conn);
		return;
	}
	sum->nr_sockets++;
	if (conn->key.family == AF_INET6)
		sum->hashed_udp.v6++;
	else
		sum->hashed_udp.v4++;
}

int sp_ss_sum(struct sp_ss *ss, struct sp_ss_summary *ret_summary)
{
	*ret_summary = (struct sp_ss_summary){.tcp = 0};
	ss->all = ss->tcp = ss->udp = ss->v4 = ss->v6 = true;
	ss->sort = NULL;
	return sp_ss_each(ss, add, ret_summary);
}

static void print_transport(const char *name, uint64_t v4, uint64_t v6)
{
	printf("%-9s %-9" PRIu64 " %-9" PRIu64 " %" PRIu64 "\n", name, v4 + v6,
	       v4, v6);
}

static void print(const struct sp_ss_summary *sum)
{
	printf("Total: %" PRIu64 "\n", sum->nr_sockets);
	printf("TCP:   %" PRIu64 " (estab %" PRIu64 ", closed %" PRIu64
	       ", orphaned %" PRIu64 ", timewait %" PRIu64 ")\n\n",
	       sum->tcp, sum->tcp_established, sum->tcp_closed,
	       sum->tcp_orphaned, sum->tcp_timewait);
	printf("%-9s %-9s %-9s %s\n", "Transport", "Total", "IP", "IPv6");
	print_transport("UDP", sum->hashed_udp.v4, sum->hashed_udp.v6);
	print_transport("TCP", sum->hashed_tcp.v4, sum->hashed_tcp.v6);
	print_transport("INET", sum->hashed_udp.v4 + sum->hashed_tcp.v4,
			sum->hashed_udp.v6 + sum->hashed_tcp.v6);
}

static void print_json_transport(struct sp_json *json, const char *key,
				 uint64_t v4, uint64_t v6)
{
	sp_json_open(json, key, '{');
	sp_json_u64(json, "ipv4", v4);
	sp_json_u64(json, "ipv6", v6);
	sp_json_close(json, '{');
}

static void print_json(const struct sp_ss *ss, const struct sp_ss_summary *sum)
{
	struct sp_json json = {.file = stdout};

	sp_json_open(&json, NULL, '{');
	sp_json_string(&json, "netns", ss->net.name);
	sp_json_open(&json, "summary", '{');
	sp_json_u64(&json, "sockets", sum->nr_sockets);
	sp_json_open(&json, "tcp", '{');
	sp_json_u64(&json, "total", sum->tcp);
	sp_json_u64(&json, "established", sum->tcp_established);
	sp_json_u64(&json, "closed", sum->tcp_closed);
	sp_json_u64(&json, "orphaned", sum->tcp_orphaned);
	sp_json_u64(&json, "time_wait", sum->tcp_timewait);
	sp_json_u64(&json, "half_open", sum->syn_recv);
	sp_json_u64(&json, "ipv4", sum->hashed_tcp.v4);
	sp_json_u64(&json, "ipv6", sum->hashed_tcp.v6);
	sp_json_close(&json, '{');
	print_json_transport(&json, "udp", sum->hashed_udp.v4,
			     sum->hashed_udp.v6);
	sp_json_close(&json, '{');
	sp_json_close(&json, '{');
	putchar('\n');
}

int sp_ss_print_summary(struct sp_ss *ss)
{
	struct sp_ss_summary sum;
	int r = sp_ss_sum(ss, &sum);

	if (r)
		return r;
	if (ss->json)
		print_json(ss, &sum);
	else
		print(&sum);
	return 0;
}
