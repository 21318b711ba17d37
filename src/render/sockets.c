/* SPDX-License-Identifier: MIT */
/*
 * render/sockets.c - files with a row a socket, and the sums over all of them.
 *
 * Nothing is kept of a row once its text is written, so that memory does not
 * grow with their number.
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "render/internal.h"
#include "render/socket_row.h"

#define COLUMNS_V4                                                             \
	" sl  local_address rem_address   st tx_queue rx_queue tr tm->when "   \
	"retrnsmt   uid  timeout inode"
#define COLUMNS_V6                                                             \
	"  sl  local_address                         "                         \
	"remote_address                        st tx_queue rx_queue tr "       \
	"tm->when retrnsmt   uid  timeout inode"
#define COLUMNS_DATAGRAM " ref pointer drops"

static const struct socket_file {
	const char *head;
	uint8_t head_width;
	uint8_t protocol; /* 0: no row has it */
	uint8_t family;
} socket_files[SP_NR_FILES - SP_FILE_TCP] = {
	{" " COLUMNS_V4, 149, IPPROTO_TCP, AF_INET},
	{COLUMNS_V6, 0, IPPROTO_TCP, AF_INET6},
	{"  " COLUMNS_V4 COLUMNS_DATAGRAM, 127, IPPROTO_UDP, AF_INET},
	{COLUMNS_V6 COLUMNS_DATAGRAM, 0, IPPROTO_UDP, AF_INET6},
	{"  " COLUMNS_V4 COLUMNS_DATAGRAM, 127, IPPROTO_UDPLITE, AF_INET},
	{COLUMNS_V6 COLUMNS_DATAGRAM, 0, IPPROTO_UDPLITE, AF_INET6},
	{" " COLUMNS_V4 COLUMNS_DATAGRAM, 0, 0, AF_INET},
	{COLUMNS_V6 COLUMNS_DATAGRAM, 0, 0, AF_INET6},
};

static const struct socket_file *file_of(enum sp_file file)
{
	return &socket_files[file - SP_FILE_TCP];
}

/* Both walks at once: so that there is no text yet if memory is lacking. */
int sp_socket_walk_begin(struct sp_socket_walk *walk, struct sp_render *render,
			 const struct sp_object *net, enum sp_file file)
{
	const struct socket_file *f = file_of(file);
	int err = 0;

	*walk = (struct sp_socket_walk){
		.family = f->family,
		.protocol = f->protocol,
	};
	if (f->protocol)
		err = sp_conn_walk_begin(render->reader, net, &walk->others);
	if (!err && f->protocol == IPPROTO_TCP)
		err = sp_conn_walk_begin(render->reader, net, &walk->listeners);
	if (err)
		sp_socket_walk_end(walk);
	return err;
}

void sp_socket_walk_end(struct sp_socket_walk *walk)
{
	sp_conn_walk_end(walk->listeners);
	sp_conn_walk_end(walk->others);
	walk->listeners = walk->others = NULL;
}

static bool is_of_file(const struct sp_socket_walk *walk,
		       const struct sp_conn *conn)
{
	return conn->key.protocol == walk->protocol &&
	       conn->key.family == walk->family;
}

static bool is_listener(const struct sp_conn *conn)
{
	return conn->key.protocol == IPPROTO_TCP &&
	       conn->state == SP_TCP_LISTEN;
}

int sp_socket_walk_next(struct sp_socket_walk *walk, struct sp_conn *ret_conn)
{
	int err;

	while (walk->listeners) {
		err = sp_conn_walk_next(walk->listeners, ret_conn);
		if (err == -ENOENT) {
			sp_conn_walk_end(walk->listeners);
			walk->listeners = NULL;
			break;
		}
		if (err ||
		    (is_listener(ret_conn) && is_of_file(walk, ret_conn)))
			return err;
	}
	if (!walk->others)
		return -ENOENT;
	do
		err = sp_conn_walk_next(walk->others, ret_conn);
	while (!err && (is_listener(ret_conn) || !is_of_file(walk, ret_conn)));
	return err;
}

static void put_head(struct sp_text *t, const struct socket_file *f)
{
	size_t len = strlen(f->head);
	char *p = sp_text_reserve(t, SP_SOCKET_ROW_MAX);

	p = sp_put_bytes(p, f->head, len);
	for (; len < f->head_width; len++)
		*p++ = ' ';
	*p++ = '\n';
	sp_text_commit(t, p);
}

static void put_row(struct sp_text *t, const struct sp_socket_walk *walk,
		    uint64_t sl, const struct sp_conn *conn)
{
	char *p = sp_text_reserve(t, SP_SOCKET_ROW_MAX);

	if (walk->protocol == IPPROTO_TCP)
		p = sp_put_tcp_row(p, sl, conn,
				   sp_conn_walk_now_ns(walk->others));
	else
		p = sp_put_udp_row(p, conn);
	sp_text_commit(t, p);
}

int sp_render_sockets(struct sp_render *render, const struct sp_object *net,
		      enum sp_file file)
{
	struct sp_socket_walk walk;
	struct sp_conn conn;
	int err = sp_socket_walk_begin(&walk, render, net, file);

	if (err)
		return err;
	put_head(&render->text, file_of(file));
	for (uint64_t sl = 0; !(err = sp_socket_walk_next(&walk, &conn)); sl++)
		put_row(&render->text, &walk, sl, &conn);
	sp_socket_walk_end(&walk);
	return err == -ENOENT ? 0 : err;
}

/* What net/sockstat and net/sockstat6 count. */
struct socket_counts {
	uint64_t nr;   /* rows */
	uint64_t used; /* without mini ones */
	uint64_t inuse[SP_NR_FILES - SP_FILE_TCP];
	uint64_t orphan, tw, alloc;
};

/* No program holds it and it is closing. In FIN_WAIT2 the kernel keeps a mini
 * one in its place. */
static bool is_orphan(const struct sp_conn *c)
{
	return c->inode == 0 &&
	       (c->state == SP_TCP_FIN_WAIT1 || c->state == SP_TCP_LAST_ACK ||
		c->state == SP_TCP_CLOSING);
}

static void count_socket(struct socket_counts *counts, const struct sp_conn *c)
{
	bool is_tcp = c->key.protocol == IPPROTO_TCP;

	counts->nr++;
	if (is_tcp && (c->mini || c->state == SP_TCP_TIME_WAIT)) {
		counts->tw += c->state != SP_TCP_SYN_RECV;
		return;
	}
	counts->used++;
	if (is_tcp) {
		counts->alloc++;
		counts->orphan += is_orphan(c);
	}
	for (int i = 0; i < SP_NR_FILES - SP_FILE_TCP; i++)
		counts->inuse[i] += c->key.family == socket_files[i].family &&
				    c->key.protocol == socket_files[i].protocol;
}

static uint64_t *value_of(struct sp_render *r, enum sp_file file,
			  const char *name)
{
	const struct sp_plan *plan = &r->plan[file];

	for (size_t i = 0; i < plan->nr_columns; i++) {
		uint32_t slot = plan->steps[i].slot;

		if (slot && strcmp(plan->columns[i].column->name, name) == 0)
			return &r->values[slot];
	}
	return NULL;
}

static void replace(struct sp_render *r, enum sp_file file, const char *name,
		    uint64_t value)
{
	uint64_t *to = value_of(r, file, name);

	if (to)
		*to = value;
}

/* For what the program may have more of than rows. */
static void raise_to(struct sp_render *r, enum sp_file file, const char *name,
		     uint64_t value)
{
	uint64_t *to = value_of(r, file, name);

	if (to && (int64_t)*to < (int64_t)value)
		*to = value;
}

static int count_sockets(struct sp_render *r, const struct sp_object *net,
			 struct socket_counts *counts)
{
	struct sp_conn_walk *walk;
	struct sp_conn conn;
	int err = sp_conn_walk_begin(r->reader, net, &walk);

	if (err)
		return err;
	while (!(err = sp_conn_walk_next(walk, &conn)))
		count_socket(counts, &conn);
	sp_conn_walk_end(walk);
	return err == -ENOENT ? 0 : err;
}

#define INUSE(FILE) counts.inuse[SP_FILE_##FILE - SP_FILE_TCP]

int sp_render_count_sockets(struct sp_render *render,
			    const struct sp_object *net, enum sp_file file)
{
	struct socket_counts counts = {.nr = 0};
	int err = count_sockets(render, net, &counts);

	if (err || !counts.nr)
		return err;
	if (file == SP_FILE_SOCKSTAT) {
		raise_to(render, file, "sockets_used", counts.used);
		replace(render, file, "TCP_inuse", INUSE(TCP));
		replace(render, file, "TCP_orphan", counts.orphan);
		replace(render, file, "TCP_tw", counts.tw);
		replace(render, file, "TCP_alloc", counts.alloc);
		replace(render, file, "UDP_inuse", INUSE(UDP));
		replace(render, file, "UDPLITE_inuse", INUSE(UDPLITE));
	} else {
		replace(render, file, "TCP6_inuse", INUSE(TCP6));
		replace(render, file, "UDP6_inuse", INUSE(UDP6));
		replace(render, file, "UDPLITE6_inuse", INUSE(UDPLITE6));
	}
	return 0;
}
