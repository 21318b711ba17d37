// SPDX-License-Identifier: MIT
/*
 * cli/ss_json.c - sockets as JSON: docs/json.md.
 */
#include "cli/ss.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

#include "cli/json.h"

static const char *timer_name(unsigned timer)
{
	static const char *const names[] = {"none", "retransmit", "keepalive",
					    "time-wait", "probe"};

	return timer < sizeof(names) / sizeof(names[0]) ? names[timer]
							: "unknown";
}

static void put_end(struct sp_json *json, const char *key, const char *port_key,
		    uint8_t family, const uint8_t *addr, uint16_t port)
{
	char text[INET6_ADDRSTRLEN] = "";

	inet_ntop(family == AF_INET6 ? AF_INET6 : AF_INET, addr, text,
		  sizeof(text));
	sp_json_string(json, key, text);
	sp_json_u64(json, port_key, port);
}

static void put_progress(struct sp_json *json, const struct sp_conn *c)
{
	sp_json_u64(json, "rto_us", c->rto_us);
	sp_json_u64(json, "ato_us", c->ato_us);
	sp_json_u64(json, "cwnd", c->cwnd);
	sp_json_u64(json, "ssthresh", c->ssthresh);
	sp_json_u64(json, "mss", c->mss);
	sp_json_u64(json, "rtt_us", c->rtt_us);
	sp_json_u64(json, "rttvar_us", c->rttvar_us);
	sp_json_u64(json, "retransmitted", c->nr_retransmitted);
	sp_json_u64(json, "drops", c->drops);
	sp_json_u64(json, "first_ns", c->first_ns);
	sp_json_u64(json, "last_ns", c->last_ns);
	sp_json_u64(json, "packets_in", c->packets_in);
	sp_json_u64(json, "packets_out", c->packets_out);
	sp_json_u64(json, "bytes_in", c->bytes_in);
	sp_json_u64(json, "bytes_out", c->bytes_out);
	sp_json_u64(json, "rate_in_bps", sp_ss_rate(c, c->bytes_in));
	sp_json_u64(json, "rate_out_bps", sp_ss_rate(c, c->bytes_out));
}

struct writer {
	struct sp_json json;
	const struct sp_ss *ss;
};

static void put_row(void *ctx, const struct sp_conn *c)
{
	struct writer *w = ctx;
	struct sp_json *json = &w->json;

	sp_json_open(json, NULL, '{');
	sp_json_string(json, "netid", sp_ss_netid(c));
	put_end(json, "local", "local_port", c->key.family, c->key.local,
		c->key.local_port);
	put_end(json, "remote", "remote_port", c->key.family, c->key.remote,
		c->key.remote_port);
	sp_json_string(json, "state", sp_ss_state_name(c->state));
	sp_json_bool(json, "mini", c->mini);
	sp_json_u64(json, "tx_queue", c->tx_queue);
	sp_json_u64(json, "rx_queue", c->rx_queue);
	sp_json_string(json, "timer", timer_name(sp_ss_timer(c)));
	sp_json_u64(json, "timer_ms", sp_ss_timer_ms(c, w->ss->now_ns));
	sp_json_u64(json, "retransmits", c->retransmits);
	sp_json_u64(json, "probes", c->probes);
	sp_json_u64(json, "uid", c->uid);
	sp_json_u64(json, "inode", c->inode);
	put_progress(json, c);
	sp_json_close(json, '{');
}

int sp_ss_print_json(struct sp_ss *ss)
{
	struct writer w = {.json = {.file = stdout}, .ss = ss};
	int r;

	sp_json_open(&w.json, NULL, '{');
	sp_json_string(&w.json, "netns", ss->net.name);
	sp_json_open(&w.json, "sockets", '[');
	r = sp_ss_each(ss, put_row, &w);
	if (r)
		return r;
	sp_json_close(&w.json, '[');
	sp_json_u64(&w.json, "now_ns", ss->now_ns);
	sp_json_close(&w.json, '{');
	putchar('\n');
	return 0;
}
