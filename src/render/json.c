/* SPDX-License-Identifier: MIT */
/*
 * render/json.c - the figures of a file as one JSON object: docs/json.md.
 *
 * An object in one line, closed by a newline. Figures are integers of up to 64
 * bits; a gauge is signed. What follows the first piece of text can still fail;
 * the object is then not closed, and the caller has the error.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>

#include "render/internal.h"
#include "render/socket_row.h"

/* ,"key": or "key": for the first one. The key is a literal or a checked name.
 */
static void put_key(struct sp_text *t, bool *is_first, const char *key,
		    size_t len)
{
	sp_text_str(t, *is_first ? "\"" : ",\"");
	sp_text_json(t, key, len);
	sp_text_str(t, "\":");
	*is_first = false;
}

static void put_member(struct sp_text *t, const char *key, const char *value)
{
	sp_text_str(t, "\"");
	sp_text_str(t, key);
	sp_text_str(t, "\":\"");
	sp_text_json(t, value, strlen(value));
	sp_text_str(t, "\"");
}

static void put_value(struct sp_render *r, const struct sp_plan *plan, size_t i,
		      const struct sp_object *object, uint32_t row)
{
	const struct sp_column *column = plan->columns[i].column;
	uint64_t value = r->values[plan->steps[i].slot];

	switch (plan->steps[i].format) {
	case SP_FORMAT_CONSTANT:
		sp_text_s64(&r->text, column->value);
		break;
	case SP_FORMAT_ATTR:
		sp_text_u64(&r->text, object->attr[column->value]);
		break;
	case SP_FORMAT_ROW:
		sp_text_u64(&r->text, row);
		break;
	default:
		if (column->is_signed)
			sp_text_s64(&r->text, (int64_t)value);
		else
			sp_text_u64(&r->text, value);
	}
}

static void put_column(struct sp_render *r, const struct sp_plan *plan,
		       size_t i, const struct sp_object *object, uint32_t row,
		       bool *is_first)
{
	const struct sp_column *column = plan->columns[i].column;

	put_key(&r->text, is_first, column->name, column->name_len);
	put_value(r, plan, i, object, row);
}

/* "IcmpMsg":{"InType8":2,...} */
static void put_types(struct sp_render *r, const struct sp_plan *plan,
		      const char *group)
{
	struct sp_text *t = &r->text;
	unsigned idx = 0, type;
	bool is_in, is_first = true;
	uint64_t value;

	sp_text_str(t, "\"");
	sp_text_str(t, group);
	sp_text_str(t, "\":{");
	while (sp_render_next_type(r, plan, &idx, &is_in, &type, &value)) {
		sp_text_str(t, is_first ? "\"" : ",\"");
		sp_text_str(t, is_in ? "InType" : "OutType");
		sp_text_u64(t, type);
		sp_text_str(t, "\":");
		sp_text_u64(t, value);
		is_first = false;
	}
	sp_text_str(t, "}");
}

/* Columns from *@i that have the same group name; moves *@i on. */
static void put_group(struct sp_render *r, const struct sp_plan *plan,
		      const struct sp_object *object, size_t *i)
{
	const char *name = plan->columns[*i].group->name;
	bool is_first = true;

	sp_text_str(&r->text, "\"");
	sp_text_str(&r->text, name);
	sp_text_str(&r->text, "\":{");
	for (; *i < plan->nr_columns && plan->columns[*i].group &&
	       strcmp(plan->columns[*i].group->name, name) == 0;
	     ++*i)
		put_column(r, plan, *i, object, 0, &is_first);
	sp_text_str(&r->text, "}");
}

/* "TCP":{"inuse":1,...} from the items of one line; moves *@i on. */
static void put_sockstat_line(struct sp_render *r, const struct sp_plan *plan,
			      size_t *i)
{
	const char *name = plan->columns[*i].column->name;
	size_t len = sp_sockstat_word_len(plan->columns[*i].column) + 1;
	bool is_first = true;

	sp_text_str(&r->text, "\"");
	sp_text_bytes(&r->text, name, len - 1);
	sp_text_str(&r->text, "\":{");
	for (; *i < plan->nr_columns; ++*i) {
		const struct sp_column *column = plan->columns[*i].column;

		if (strncmp(column->name, name, len) != 0)
			break;
		put_key(&r->text, &is_first, column->name + len,
			column->name_len - len);
		put_value(r, plan, *i, NULL, 0);
	}
	sp_text_str(&r->text, "}");
}

static void put_groups(struct sp_render *r, const struct sp_file_ref *ref,
		       const struct sp_object *object)
{
	const struct sp_plan *plan = &r->plan[ref->file];
	bool is_sockstat =
		ref->file == SP_FILE_SOCKSTAT || ref->file == SP_FILE_SOCKSTAT6;

	sp_text_str(&r->text, ",\"groups\":{");
	for (size_t i = 0; i < plan->nr_columns;) {
		if (i > 0)
			sp_text_str(&r->text, ",");
		if (is_sockstat) {
			put_sockstat_line(r, plan, &i);
		} else if (plan->steps[i].format == SP_FORMAT_TYPES) {
			put_types(r, plan,
				  ref->file == SP_FILE_SNMP ? "IcmpMsg"
							    : "Icmp6Msg");
			i++;
		} else {
			put_group(r, plan, object, &i);
		}
	}
	sp_text_str(&r->text, "}");
}

static void put_row(struct sp_render *r, enum sp_file file, uint32_t row)
{
	const struct sp_plan *plan = &r->plan[file];
	bool is_first = true;

	sp_text_str(&r->text, "{");
	for (size_t i = 0; i < plan->nr_columns; i++)
		put_column(r, plan, i, NULL, row, &is_first);
	sp_text_str(&r->text, "}");
}

static int put_devices(struct sp_render *r)
{
	struct sp_dev_walk walk = {.nr = 0};
	struct sp_object dev;
	bool is_first = true;
	int err;

	sp_text_str(&r->text, ",\"devices\":{");
	while (!(err = sp_render_next_dev(r, &walk, &dev))) {
		put_key(&r->text, &is_first, dev.name,
			strnlen(dev.name, SP_OBJECT_NAME_MAX));
		put_row(r, SP_FILE_DEV, 0);
	}
	sp_text_str(&r->text, "}");
	return err == -ENOENT ? 0 : err;
}

static int put_units(struct sp_render *r, const struct sp_object *net)
{
	struct sp_unit_walk walk = {.next = 0};
	bool is_first = true;
	uint32_t row;
	int err;

	sp_text_str(&r->text, ",\"rows\":[");
	while (!(err = sp_render_next_unit(r, net, &walk, &row))) {
		if (!is_first)
			sp_text_str(&r->text, ",");
		is_first = false;
		put_row(r, SP_FILE_SOFTNET, row);
	}
	sp_text_str(&r->text, "]");
	return err == -ENOENT ? 0 : err;
}

static void put_number(struct sp_text *t, const char *key, uint64_t value)
{
	sp_text_str(t, ",\"");
	sp_text_str(t, key);
	sp_text_str(t, "\":");
	sp_text_u64(t, value);
}

static void put_end(struct sp_text *t, const char *key, uint8_t family,
		    const uint8_t *addr, uint16_t port)
{
	char text[INET6_ADDRSTRLEN] = "";

	inet_ntop(family == AF_INET6 ? AF_INET6 : AF_INET, addr, text,
		  sizeof(text));
	put_member(t, key, text);
	sp_text_str(t, ",\"");
	sp_text_str(t, key);
	sp_text_str(t, "_port\":");
	sp_text_u64(t, port);
}

static void put_progress(struct sp_text *t, const struct sp_conn *c)
{
	put_number(t, "rto_us", c->rto_us);
	put_number(t, "ato_us", c->ato_us);
	put_number(t, "cwnd", c->cwnd);
	put_number(t, "ssthresh", c->ssthresh);
	put_number(t, "mss", c->mss);
	put_number(t, "rtt_us", c->rtt_us);
	put_number(t, "rttvar_us", c->rttvar_us);
	put_number(t, "retransmitted", c->nr_retransmitted);
	put_number(t, "drops", c->drops);
	put_number(t, "first_ns", c->first_ns);
	put_number(t, "last_ns", c->last_ns);
	put_number(t, "packets_in", c->packets_in);
	put_number(t, "packets_out", c->packets_out);
	put_number(t, "bytes_in", c->bytes_in);
	put_number(t, "bytes_out", c->bytes_out);
}

static void put_socket(struct sp_text *t, const struct sp_conn *c,
		       uint64_t now_ns)
{
	uint64_t left_ns = c->expires_ns > now_ns ? c->expires_ns - now_ns : 0;

	sp_text_str(t, "{");
	put_end(t, "local", c->key.family, c->key.local, c->key.local_port);
	sp_text_str(t, ",");
	put_end(t, "remote", c->key.family, c->key.remote, c->key.remote_port);
	sp_text_str(t, ",");
	put_member(t, "state", sp_socket_state_name(c->state));
	sp_text_str(t, c->mini ? ",\"mini\":true" : ",\"mini\":false");
	put_number(t, "tx_queue", c->tx_queue);
	put_number(t, "rx_queue", c->rx_queue);
	sp_text_str(t, ",");
	put_member(t, "timer", sp_socket_timer_name(c->timer));
	put_number(t, "timer_ms", left_ns / 1000000);
	put_number(t, "retransmits", c->retransmits);
	put_number(t, "probes", c->probes);
	put_number(t, "uid", c->uid);
	put_number(t, "inode", c->inode);
	put_progress(t, c);
	sp_text_str(t, "}");
}

static int put_sockets(struct sp_render *r, enum sp_file file,
		       const struct sp_object *net)
{
	struct sp_socket_walk walk;
	struct sp_conn conn;
	bool is_first = true;
	int err = sp_socket_walk_begin(&walk, r, net, file);

	if (err)
		return err;
	sp_text_str(&r->text, ",\"rows\":[");
	while (!(err = sp_socket_walk_next(&walk, &conn))) {
		if (!is_first)
			sp_text_str(&r->text, ",");
		is_first = false;
		put_socket(&r->text, &conn, sp_conn_walk_now_ns(walk.others));
	}
	sp_text_str(&r->text, "]");
	sp_socket_walk_end(&walk);
	return err == -ENOENT ? 0 : err;
}

static int put_content(struct sp_render *r, const struct sp_file_ref *ref,
		       const struct sp_object *object)
{
	if (sp_file_is_sockets(ref->file))
		return put_sockets(r, ref->file, object);
	switch (ref->file) {
	case SP_FILE_DEV:
		return put_devices(r);
	case SP_FILE_SOFTNET:
		return put_units(r, object);
	case SP_FILE_DEV_SNMP6:
		sp_text_str(&r->text, ",");
		put_member(&r->text, "device", object->name);
		sp_text_str(&r->text, ",\"ifIndex\":");
		sp_text_u64(&r->text,
			    (uint32_t)object->attr[SP_NETDEV_ATTR_IFINDEX]);
		/* fall through */
	default:
		put_groups(r, ref, object);
	}
	return 0;
}

int sp_render_json(struct sp_render *render, const struct sp_file_ref *ref,
		   const char *name)
{
	struct sp_object object;
	struct sp_text *t = &render->text;
	int err = sp_render_prepare(render, ref, &object);

	if (err)
		return err;
	sp_text_str(t, "{");
	put_member(t, "file", name);
	sp_text_str(t, ",");
	put_member(t, "netns", render->net.name);
	sp_text_str(t, ",");
	put_member(t, "layout", sp_layout_name(render->layout));
	err = put_content(render, ref, &object);
	if (err)
		return err;
	sp_text_str(t, "}\n");
	return 0;
}
