// SPDX-License-Identifier: MIT
/*
 * cli/ss_text.c - sockets in columns, as ss(8) prints them.
 *
 * The first walk measures, the second prints: memory does not grow with the number
 * of rows. What changes in between may stick out of its column.
 */
#include "cli/ss.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define HOST_MAX (INET6_ADDRSTRLEN + 2) /* with brackets */
#define PORT_MAX 24
#define MORE_MAX 512

struct printer {
	const struct sp_ss *ss;
	int netid_width; /* 0: no such column */
	int state_width; /* 0: one state only, as with ss(8) no such column */
	int queue_width[2];
	int host_width[2];
	int port_width[2];
	char owner[128]; /* -p */
	char more[MORE_MAX];
	size_t more_len;
};

static const char *state_text(unsigned state)
{
	static const char *const names[] = {
		"UNKNOWN",    "ESTAB",      "SYN-SENT",  "SYN-RECV",
		"FIN-WAIT-1", "FIN-WAIT-2", "TIME-WAIT", "UNCONN",
		"CLOSE-WAIT", "LAST-ACK",   "LISTEN",    "CLOSING",
	};

	return names[state < sizeof(names) / sizeof(names[0]) ? state : 0];
}

/* --- addresses and ports -------------------------------------------------- */

/* Names of the ports of TCP and UDP; read once. */
static char *service_names[2][65536];

static void read_services(void)
{
	const struct servent *service;

	setservent(1);
	while ((service = getservent())) {
		bool is_udp = strcmp(service->s_proto, "udp") == 0;
		uint16_t port = ntohs((uint16_t)service->s_port);

		if (!is_udp && strcmp(service->s_proto, "tcp") != 0)
			continue;
		if (!service_names[is_udp][port] &&
		    strlen(service->s_name) < PORT_MAX)
			service_names[is_udp][port] = strdup(service->s_name);
	}
	endservent();
}

static void port_text(const struct sp_ss *ss, const struct sp_conn *conn,
		      uint16_t port, char text[PORT_MAX])
{
	bool is_tcp = conn->key.protocol == IPPROTO_TCP;
	const char *name = service_names[!is_tcp][port];

	if (!port)
		strcpy(text, "*");
	else if (name && !ss->numeric)
		strcpy(text, name);
	else
		snprintf(text, PORT_MAX, "%u", port);
}

/* Without an address, an IPv6 socket is shown as ss(8) shows one that may take
 * IPv4 as well. */
static void host_text(const struct sp_conn *conn, const uint8_t *addr,
		      char text[HOST_MAX])
{
	static const uint8_t none[16];
	char inner[INET6_ADDRSTRLEN] = "";

	if (conn->key.family != AF_INET6) {
		inet_ntop(AF_INET, addr, text, HOST_MAX);
	} else if (memcmp(addr, none, sizeof(none)) == 0) {
		strcpy(text, "*");
	} else {
		inet_ntop(AF_INET6, addr, inner, sizeof(inner));
		snprintf(text, HOST_MAX, "[%s]", inner);
	}
}

struct ends {
	char host[2][HOST_MAX]; /* local, peer */
	char port[2][PORT_MAX];
};

static void make_ends(const struct sp_ss *ss, const struct sp_conn *conn,
		      struct ends *ends)
{
	host_text(conn, conn->key.local, ends->host[0]);
	host_text(conn, conn->key.remote, ends->host[1]);
	port_text(ss, conn, conn->key.local_port, ends->port[0]);
	port_text(ss, conn, conn->key.remote_port, ends->port[1]);
}

/* --- what stands behind the columns --------------------------------------- */

static void __attribute__((format(printf, 2, 3)))
more(struct printer *p, const char *format, ...)
{
	size_t room = MORE_MAX - p->more_len;
	va_list args;
	int nr;

	va_start(args, format);
	nr = vsnprintf(p->more + p->more_len, room, format, args);
	va_end(args);
	if (nr > 0)
		p->more_len += (size_t)nr < room ? (size_t)nr : room - 1;
}

/* "1.250sec", "58sec", "2min5sec", "110min": three digits or so. */
static void put_duration(struct printer *p, uint64_t ms)
{
	uint64_t minutes = ms / 60000, seconds = ms / 1000 % 60;

	ms %= 1000;
	if (minutes > 9)
		more(p, "%" PRIu64 "min", minutes);
	else if (minutes)
		more(p, "%" PRIu64 "min%" PRIu64 "sec", minutes, seconds);
	else if (seconds > 9 || (seconds && !ms))
		more(p, "%" PRIu64 "sec", seconds);
	else if (seconds)
		more(p, "%" PRIu64 ".%03" PRIu64 "sec", seconds, ms);
	else
		more(p, "%" PRIu64 "ms", ms);
}

static void put_timer(struct printer *p, const struct sp_conn *c)
{
	static const char *const names[] = {"off", "on", "keepalive",
					    "timewait", "persist"};
	unsigned timer = sp_ss_timer(c);

	if (timer == SP_CONN_TIMER_NONE)
		return;
	more(p, " timer:(%s,",
	     timer <= SP_CONN_TIMER_PROBE ? names[timer] : "unknown");
	put_duration(p, sp_ss_timer_ms(c, p->ss->now_ns));
	more(p, ",%u)",
	     timer == SP_CONN_TIMER_PROBE ? c->probes : c->retransmits);
}

/* "1.25Mbps" */
static void put_rate(struct printer *p, const char *name, uint64_t bps)
{
	static const char *const units[] = {"", "K", "M", "G", "T"};
	double value = (double)bps;
	unsigned i = 0;

	if (!bps)
		return;
	for (; value >= 1000 && i < 4; i++)
		value /= 1000;
	more(p, " %s:%.*f%sbps", name, i ? 2 : 0, value, units[i]);
}

/* A figure that is 0 is not known, or nothing has happened. */
static void put_figure(struct printer *p, const char *name, uint64_t value)
{
	if (value)
		more(p, " %s:%" PRIu64, name, value);
}

static void put_times(struct printer *p, const struct sp_conn *c)
{
	if (c->rto_us)
		more(p, " rto:%.10g", c->rto_us / 1000.0);
	if (c->rtt_us)
		more(p, " rtt:%.10g/%.10g", c->rtt_us / 1000.0,
		     c->rttvar_us / 1000.0);
	if (c->ato_us)
		more(p, " ato:%.10g", c->ato_us / 1000.0);
}

static void put_totals(struct printer *p, const struct sp_conn *c)
{
	uint64_t now_ns = p->ss->now_ns;

	put_figure(p, "bytes_sent", c->bytes_out);
	put_figure(p, "bytes_received", c->bytes_in);
	put_figure(p, "segs_out", c->packets_out);
	put_figure(p, "segs_in", c->packets_in);
	put_rate(p, "rate_out", sp_ss_rate(c, c->bytes_out));
	put_rate(p, "rate_in", sp_ss_rate(c, c->bytes_in));
	if (c->nr_retransmitted)
		more(p, " retrans:%u/%" PRIu32, c->retransmits,
		     c->nr_retransmitted);
	put_figure(p, "drops", c->drops);
	if (c->first_ns && c->first_ns <= now_ns) {
		more(p, " age:");
		put_duration(p, (now_ns - c->first_ns) / 1000000);
	}
	if (c->last_ns && c->last_ns <= now_ns) {
		more(p, " last:");
		put_duration(p, (now_ns - c->last_ns) / 1000000);
	}
}

static void put_info(struct printer *p, const struct sp_conn *c)
{
	if (c->snd_wscale || c->rcv_wscale)
		more(p, " wscale:%u,%u", c->snd_wscale, c->rcv_wscale);
	put_times(p, c);
	put_figure(p, "mss", c->mss);
	put_figure(p, "cwnd", c->cwnd);
	if (c->ssthresh < 0x7fffffff)
		put_figure(p, "ssthresh", c->ssthresh);
	put_totals(p, c);
}

static void put_beside(struct printer *p, const struct sp_conn *c)
{
	const struct sp_ss *ss = p->ss;

	if (ss->process)
		more(p, " %s", p->owner);
	if (ss->timers || ss->extended)
		put_timer(p, c);
	if (ss->extended) {
		put_figure(p, "uid", c->uid);
		more(p, " ino:%" PRIu64, c->inode);
	}
	if (ss->memory)
		more(p, " skmem:(r%" PRIu32 ",t%" PRIu32 ",d%" PRIu32 ")",
		     c->rx_queue, c->state == SP_TCP_LISTEN ? 0 : c->tx_queue,
		     c->drops);
}

/* users:(("NAME",pid=N)), with nothing in it that a terminal obeys. */
static void make_owner(struct printer *p)
{
	struct sp_plane_info info;

	sp_reader_info(p->ss->reader, &info);
	for (char *c = info.program; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f || *c == '"')
			*c = '?';
	snprintf(p->owner, sizeof(p->owner), "users:((\"%s\",pid=%" PRIu32 "))",
		 info.program, info.pid);
}

/* --- columns -------------------------------------------------------------- */

static void widen(int *width, const char *text)
{
	int len = (int)strlen(text);

	if (*width < len)
		*width = len;
}

static void widen_number(int *width, uint32_t value)
{
	char text[16];

	snprintf(text, sizeof(text), "%" PRIu32, value);
	widen(width, text);
}

static void measure(void *ctx, const struct sp_conn *conn)
{
	struct printer *p = ctx;
	struct ends ends;

	make_ends(p->ss, conn, &ends);
	for (int i = 0; i < 2; i++) {
		widen(&p->host_width[i], ends.host[i]);
		widen(&p->port_width[i], ends.port[i]);
	}
	if (p->state_width)
		widen(&p->state_width, state_text(conn->state));
	widen_number(&p->queue_width[0], conn->rx_queue);
	widen_number(&p->queue_width[1], conn->tx_queue);
	if (p->netid_width)
		widen(&p->netid_width, sp_ss_netid(conn));
}

/* All columns; the last one padded only if something stands behind it. */
static void put_columns(const struct printer *p, const char *netid,
			const char *state, const char *const queues[2],
			const struct ends *ends, const char *behind)
{
	if (p->netid_width)
		printf("%-*s ", p->netid_width, netid);
	if (p->state_width)
		printf("%-*s ", p->state_width, state);
	printf("%-*s %-*s %*s:%-*s %*s:%-*s%s\n", p->queue_width[0], queues[0],
	       p->queue_width[1], queues[1], p->host_width[0], ends->host[0],
	       p->port_width[0], ends->port[0], p->host_width[1], ends->host[1],
	       *behind ? p->port_width[1] : 0, ends->port[1], behind);
}

static void put_row(void *ctx, const struct sp_conn *conn)
{
	struct printer *p = ctx;
	char recv[16], send[16];
	const char *const queues[2] = {recv, send};
	struct ends ends;

	make_ends(p->ss, conn, &ends);
	snprintf(recv, sizeof(recv), "%" PRIu32, conn->rx_queue);
	snprintf(send, sizeof(send), "%" PRIu32, conn->tx_queue);
	p->more[0] = '\0';
	p->more_len = 0;
	put_beside(p, conn);
	if (p->ss->info && p->ss->one_line)
		put_info(p, conn);
	put_columns(p, sp_ss_netid(conn), state_text(conn->state), queues,
		    &ends, p->more);
	if (!p->ss->info || p->ss->one_line)
		return;
	p->more[0] = '\0';
	p->more_len = 0;
	put_info(p, conn);
	printf("\t%s\n", p->more);
}

static void put_header(const struct printer *p)
{
	static const char *const queues[2] = {"Recv-Q", "Send-Q"};
	static const struct ends ends = {
		.host = {"Local Address", "Peer Address"},
		.port = {"Port", "Port"},
	};
	const struct sp_ss *ss = p->ss;
	bool has_more = ss->process || ss->timers || ss->extended ||
			ss->memory || (ss->info && ss->one_line);

	put_columns(p, "Netid", "State", queues, &ends,
		    has_more ? " Process" : "");
}

static bool is_one_state(const struct sp_ss_filter *filter)
{
	return filter->has_states && !(filter->states & (filter->states - 1));
}

int sp_ss_print(struct sp_ss *ss)
{
	static struct printer p;
	int r;

	p = (struct printer){
		.ss = ss,
		.netid_width = ss->tcp && ss->udp ? 5 : 0,
		.state_width = is_one_state(&ss->filter) ? 0 : 6,
		.queue_width = {6, 6},
		.host_width = {13, 12},
		.port_width = {4, 4},
	};
	if (!ss->numeric)
		read_services();
	if (ss->process)
		make_owner(&p);
	r = sp_ss_each(ss, measure, &p);
	if (r)
		return r;
	if (!ss->no_header)
		put_header(&p);
	return sp_ss_each(ss, put_row, &p);
}
