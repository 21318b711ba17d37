// SPDX-License-Identifier: MIT
/*
 * cli/ss_filter.c - parse and apply the filters of `statplane ss`.
 *
 * Recursive descent with one token in hand. Depth is bounded by parentheses, the
 * program by its array; the stack of an evaluation is one word of bits: each
 * level of parentheses has at most two results waiting, the left side of an or
 * and that of an and.
 */
#include "cli/ss_filter.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

enum op_kind {
	OP_AND,
	OP_OR,
	OP_NOT,
	OP_END, /* of a connection: an address, a port, or both */
};

enum compare {
	CMP_EQ,
	CMP_NE,
	CMP_LT,
	CMP_GT,
	CMP_LE,
	CMP_GE,
};

_Static_assert(2 * (SP_SS_DEPTH_MAX + 1) + 1 <= 64,
	       "the results that wait fit a word");

enum token_kind {
	TOKEN_END,
	TOKEN_WORD,
	TOKEN_OPEN,
	TOKEN_CLOSE,
	TOKEN_AND,
	TOKEN_OR,
	TOKEN_NOT,
	TOKEN_COMPARE, /* parser.compare */
};

#define WORD_MAX 63

struct parser {
	struct sp_ss_filter *filter;
	struct sp_ss_error *error;
	const char *text;
	size_t pos; /* behind the token */
	unsigned depth;

	/* The token in hand. */
	enum token_kind token;
	enum compare compare;
	size_t start;
	char word[WORD_MAX + 1];
};

static int __attribute__((format(printf, 3, 4)))
fail(struct parser *p, size_t pos, const char *format, ...)
{
	va_list args;

	p->error->pos = pos;
	va_start(args, format);
	vsnprintf(p->error->text, sizeof(p->error->text), format, args);
	va_end(args);
	return -EINVAL;
}

/* --- words ---------------------------------------------------------------- */

static bool is_word_char(char c)
{
	return isalnum((unsigned char)c) || (c && strchr(".:[]/*-_%", c));
}

static const struct {
	char text[3];
	uint8_t token;
	uint8_t compare;
} signs[] = {
	/* The longer ones first. */
	{"==", TOKEN_COMPARE, CMP_EQ},
	{"!=", TOKEN_COMPARE, CMP_NE},
	{"<=", TOKEN_COMPARE, CMP_LE},
	{">=", TOKEN_COMPARE, CMP_GE},
	{"&&", TOKEN_AND, 0},
	{"||", TOKEN_OR, 0},
	{"=", TOKEN_COMPARE, CMP_EQ},
	{"<", TOKEN_COMPARE, CMP_LT},
	{">", TOKEN_COMPARE, CMP_GT},
	{"&", TOKEN_AND, 0},
	{"|", TOKEN_OR, 0},
	{"!", TOKEN_NOT, 0},
	{"(", TOKEN_OPEN, 0},
	{")", TOKEN_CLOSE, 0},
};

static const struct {
	char text[4];
	uint8_t token;
	uint8_t compare;
} names[] = {
	{"and", TOKEN_AND, 0},          {"or", TOKEN_OR, 0},
	{"not", TOKEN_NOT, 0},          {"eq", TOKEN_COMPARE, CMP_EQ},
	{"ne", TOKEN_COMPARE, CMP_NE},  {"neq", TOKEN_COMPARE, CMP_NE},
	{"lt", TOKEN_COMPARE, CMP_LT},  {"gt", TOKEN_COMPARE, CMP_GT},
	{"le", TOKEN_COMPARE, CMP_LE},  {"ge", TOKEN_COMPARE, CMP_GE},
	{"leq", TOKEN_COMPARE, CMP_LE}, {"geq", TOKEN_COMPARE, CMP_GE},
};

#define NR(array) (sizeof(array) / sizeof((array)[0]))

static void take_word(struct parser *p, size_t len)
{
	memcpy(p->word, p->text + p->start, len);
	p->word[len] = '\0';
	p->pos = p->start + len;
	p->token = TOKEN_WORD;
	for (size_t i = 0; i < NR(names); i++) {
		if (strcasecmp(p->word, names[i].text) == 0) {
			p->token = (enum token_kind)names[i].token;
			p->compare = (enum compare)names[i].compare;
		}
	}
}

static bool take_sign(struct parser *p)
{
	const char *at = p->text + p->start;

	for (size_t i = 0; i < NR(signs); i++) {
		size_t len = strlen(signs[i].text);

		if (strncmp(at, signs[i].text, len) != 0)
			continue;
		p->token = (enum token_kind)signs[i].token;
		p->compare = (enum compare)signs[i].compare;
		p->pos = p->start + len;
		return true;
	}
	return false;
}

/* Have the next token in hand. Return: 0; -EINVAL. */
static int next(struct parser *p)
{
	size_t len = 0;
	unsigned char c;

	while (isspace((unsigned char)p->text[p->pos]))
		p->pos++;
	p->start = p->pos;
	c = (unsigned char)p->text[p->start];
	if (!c) {
		p->token = TOKEN_END;
		return 0;
	}
	while (is_word_char(p->text[p->start + len]))
		len++;
	if (len > WORD_MAX)
		return fail(p, p->start, "a word of %zu characters is too long",
			    len);
	if (len) {
		take_word(p, len);
		return 0;
	}
	if (take_sign(p))
		return 0;
	if (c > 0x20 && c < 0x7f)
		return fail(p, p->start, "'%c' means nothing here", c);
	return fail(p, p->start, "character 0x%02x means nothing here", c);
}

/* --- states --------------------------------------------------------------- */

static const struct {
	const char *name;
	uint32_t states;
} state_names[] = {
	/* From 1 on, the first name of each state. */
	{"established", SP_SS_BIT(ESTABLISHED)},
	{"syn-sent", SP_SS_BIT(SYN_SENT)},
	{"syn-recv", SP_SS_BIT(SYN_RECV)},
	{"fin-wait-1", SP_SS_BIT(FIN_WAIT1)},
	{"fin-wait-2", SP_SS_BIT(FIN_WAIT2)},
	{"time-wait", SP_SS_BIT(TIME_WAIT)},
	{"unconnected", SP_SS_UNCONNECTED},
	{"close-wait", SP_SS_BIT(CLOSE_WAIT)},
	{"last-ack", SP_SS_BIT(LAST_ACK)},
	{"listening", SP_SS_LISTENING},
	{"closing", SP_SS_BIT(CLOSING)},
	{"estab", SP_SS_BIT(ESTABLISHED)},
	{"syn-rcv", SP_SS_BIT(SYN_RECV)},
	{"close", SP_SS_UNCONNECTED},
	{"closed", SP_SS_UNCONNECTED},
	{"listen", SP_SS_LISTENING},
	{"all", SP_SS_ALL},
	{"connected", SP_SS_CONNECTED},
	{"synchronized", SP_SS_SYNCHRONIZED},
	{"bucket", SP_SS_BUCKET},
	{"big", SP_SS_ALL & ~SP_SS_BUCKET},
};

const char *sp_ss_state_name(unsigned state)
{
	if (state < 1 || state > SP_TCP_CLOSING)
		return "unknown";
	return state_names[state - 1].name;
}

static int parse_states(struct parser *p, uint32_t *ret_states)
{
	if (p->token == TOKEN_WORD) {
		for (size_t i = 0; i < NR(state_names); i++) {
			if (strcasecmp(p->word, state_names[i].name) == 0) {
				*ret_states = state_names[i].states;
				return next(p);
			}
		}
		return fail(p, p->start,
			    "there is no state '%s'; established, syn-sent, "
			    "..., all, connected, synchronized, bucket and big "
			    "are some",
			    p->word);
	}
	return fail(p, p->start, "want the name of a state");
}

static bool is_word(const struct parser *p, const char *word)
{
	return p->token == TOKEN_WORD && strcmp(p->word, word) == 0;
}

static int parse_state_parts(struct parser *p)
{
	struct sp_ss_filter *f = p->filter;

	for (;;) {
		bool is_exclude = is_word(p, "exclude") || is_word(p, "excl");
		uint32_t states = 0;
		int err;

		if (!is_exclude && !is_word(p, "state"))
			return 0;
		err = next(p);
		if (!err)
			err = parse_states(p, &states);
		if (err)
			return err;
		if (!f->has_states)
			f->states = is_exclude ? SP_SS_ALL : 0;
		f->has_states = true;
		if (is_exclude)
			f->states &= ~states;
		else
			f->states |= states;
	}
}

/* --- addresses and ports -------------------------------------------------- */

/* A decimal number up to @max, the whole of @text. */
static bool read_number(const char *text, unsigned long max,
			unsigned long *ret_value)
{
	unsigned long value = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		value = value * 10 + (unsigned long)(*text - '0');
		if (value > max)
			return false;
	}
	*ret_value = value;
	return true;
}

static int parse_port(struct parser *p, const char *text, struct sp_ss_op *op)
{
	const struct servent *service;
	unsigned long value;

	if (read_number(text, 65535, &value)) {
		op->port = (uint16_t)value;
	} else if (isdigit((unsigned char)*text)) {
		return fail(p, p->start, "'%s' is no port: want 0 to 65535",
			    text);
	} else {
		service = getservbyname(text, "tcp");
		if (!service)
			service = getservbyname(text, "udp");
		if (!service)
			return fail(p, p->start, "there is no service '%s'",
				    text);
		op->port = ntohs((uint16_t)service->s_port);
	}
	op->has_port = true;
	return 0;
}

static int parse_prefix(struct parser *p, const char *text, struct sp_ss_op *op)
{
	unsigned long most = op->family == AF_INET ? 32 : 128, value;

	if (!read_number(text, most, &value))
		return fail(p, p->start, "'/%s' is no mask: want 0 to %lu",
			    text, most);
	op->prefix_bits = (uint8_t)value;
	return 0;
}

static int parse_address(struct parser *p, const char *text,
			 struct sp_ss_op *op)
{
	uint8_t wanted = op->family;
	unsigned long number;

	op->family = strchr(text, ':') ? AF_INET6 : AF_INET;
	op->prefix_bits = op->family == AF_INET ? 32 : 128;
	if (inet_pton(op->family, text, op->addr) == 1) {
		if (!wanted || wanted == op->family)
			return 0;
		return fail(p, p->start, "'%s' is of the other family", text);
	}
	if (read_number(text, 65535, &number))
		return fail(p, p->start,
			    "'%s' is no address; a port is written ':%s'", text,
			    text);
	return fail(p, p->start,
		    "'%s' is no address; names of hosts are not looked up",
		    text);
}

/*
 * Cut @word: "[ADDRESS]/BITS:PORT", "ADDRESS/BITS:PORT" where the address has no
 * colon, "ADDRESS/BITS" where it has some. Absent parts are NULL.
 */
static int cut_host(struct parser *p, char *word, char **ret_addr,
		    char **ret_bits, char **ret_port)
{
	char *rest = word, *first = strchr(word, ':');

	*ret_addr = word;
	*ret_bits = *ret_port = NULL;
	if (*word == '[') {
		rest = strchr(word, ']');
		if (!rest)
			return fail(p, p->start, "'[' without ']'");
		*rest++ = '\0';
		*ret_addr = word + 1;
		if (*rest && *rest != '/' && *rest != ':')
			return fail(p, p->start,
				    "want '/', ':' or nothing behind ']'");
	}
	/* More than one colon outside of brackets: an IPv6 address. */
	if (*word == '[' || !first || !strchr(first + 1, ':')) {
		*ret_port = strchr(rest, ':');
		if (*ret_port)
			*(*ret_port)++ = '\0';
	}
	*ret_bits = strchr(rest, '/');
	if (*ret_bits)
		*(*ret_bits)++ = '\0';
	return 0;
}

/* "inet:" and "inet6:" before an address. Return: the rest. */
static char *take_family(char *word, struct sp_ss_op *op)
{
	static const struct {
		const char *name;
		uint8_t family;
	} families[] = {{"inet:", AF_INET}, {"inet6:", AF_INET6}};

	for (size_t i = 0; i < NR(families); i++) {
		size_t len = strlen(families[i].name);

		if (strncmp(word, families[i].name, len) == 0) {
			op->family = families[i].family;
			return word + len;
		}
	}
	return word;
}

static int parse_host(struct parser *p, struct sp_ss_op *op)
{
	char *addr, *bits, *port;
	int err = cut_host(p, take_family(p->word, op), &addr, &bits, &port);

	if (err)
		return err;
	if (*addr && strcmp(addr, "*") != 0) {
		err = parse_address(p, addr, op);
		if (!err && bits)
			err = parse_prefix(p, bits, op);
	} else if (bits) {
		err = fail(p, p->start, "a mask without an address");
	}
	if (!err && port && strcmp(port, "*") != 0)
		err = parse_port(p, port, op);
	return err;
}

/* ":22", "22", "*:22", "ssh". */
static int parse_port_word(struct parser *p, struct sp_ss_op *op)
{
	const char *word = p->word;

	if (*word == '*' && word[1] == ':')
		word++;
	if (*word == ':')
		word++;
	if (!*word)
		return fail(p, p->start, "want a port");
	return parse_port(p, word, op);
}

/* --- expressions ---------------------------------------------------------- */

static int add_op(struct parser *p, const struct sp_ss_op *op)
{
	struct sp_ss_filter *f = p->filter;

	if (f->nr_ops == SP_SS_OPS_MAX)
		return fail(p, p->start,
			    "the expression is too long: more than %d parts",
			    SP_SS_OPS_MAX);
	f->ops[f->nr_ops++] = *op;
	return 0;
}

static int add_kind(struct parser *p, enum op_kind kind)
{
	const struct sp_ss_op op = {.kind = (uint8_t)kind};

	return add_op(p, &op);
}

/* Behind src, dst, sport or dport: which of them it was is in @op. */
static int parse_test(struct parser *p, struct sp_ss_op *op, bool is_port)
{
	const char *name = op->is_remote ? "dst" : "src";
	int err;

	op->compare = CMP_EQ;
	if (p->token == TOKEN_COMPARE) {
		op->compare = (uint8_t)p->compare;
		if (!is_port && op->compare != CMP_EQ && op->compare != CMP_NE)
			return fail(p, p->start,
				    "%s has only = and !=; ports have more, "
				    "with %cport",
				    name, *name);
		err = next(p);
		if (err)
			return err;
	} else if (is_port && p->token != TOKEN_WORD) {
		return fail(p, p->start, "want a comparison and a port");
	}
	if (p->token != TOKEN_WORD)
		return fail(p, p->start,
			    is_port ? "want a port" : "want an address");
	err = is_port ? parse_port_word(p, op) : parse_host(p, op);
	if (!err)
		err = add_op(p, op);
	return err ? err : next(p);
}

static int parse_named_test(struct parser *p)
{
	struct sp_ss_op op = {.kind = OP_END};
	bool is_port;
	int err;

	op.is_remote = *p->word == 'd';
	is_port = is_word(p, "sport") || is_word(p, "dport");
	if (!is_port && !is_word(p, "src") && !is_word(p, "dst")) {
		if (is_word(p, "state") || is_word(p, "exclude"))
			return fail(p, p->start,
				    "states come before the expression");
		return fail(p, p->start,
			    "'%s' is not known; want src, dst, sport or dport",
			    p->word);
	}
	err = next(p);
	return err ? err : parse_test(p, &op, is_port);
}

static int parse_or(struct parser *p);

static int parse_parentheses(struct parser *p)
{
	size_t open = p->start;
	int err;

	if (p->depth == SP_SS_DEPTH_MAX)
		return fail(p, p->start,
			    "more than %d parentheses in each other",
			    SP_SS_DEPTH_MAX);
	p->depth++;
	err = next(p);
	if (!err)
		err = parse_or(p);
	if (!err && p->token != TOKEN_CLOSE)
		err = fail(p, open, "'(' without ')'");
	p->depth--;
	return err ? err : next(p);
}

static int parse_part(struct parser *p)
{
	bool is_negated = false;
	int err;

	while (p->token == TOKEN_NOT) {
		is_negated = !is_negated;
		err = next(p);
		if (err)
			return err;
	}
	if (p->token == TOKEN_OPEN)
		err = parse_parentheses(p);
	else if (p->token == TOKEN_WORD)
		err = parse_named_test(p);
	else
		err = fail(p, p->start,
			   "want src, dst, sport, dport, not or '('");
	if (!err && is_negated)
		err = add_kind(p, OP_NOT);
	return err;
}

static int parse_and(struct parser *p)
{
	int err = parse_part(p);

	while (!err && p->token != TOKEN_OR && p->token != TOKEN_CLOSE &&
	       p->token != TOKEN_END) {
		if (p->token == TOKEN_AND)
			err = next(p);
		if (!err)
			err = parse_part(p);
		if (!err)
			err = add_kind(p, OP_AND);
	}
	return err;
}

static int parse_or(struct parser *p)
{
	int err = parse_and(p);

	while (!err && p->token == TOKEN_OR) {
		err = next(p);
		if (!err)
			err = parse_and(p);
		if (!err)
			err = add_kind(p, OP_OR);
	}
	return err;
}

int sp_ss_filter_parse(struct sp_ss_filter *filter, const char *text,
		       struct sp_ss_error *ret_error)
{
	struct parser p = {
		.filter = filter,
		.error = ret_error,
		.text = text,
	};
	int err;

	filter->has_states = false;
	filter->states = SP_SS_ALL;
	filter->nr_ops = 0;
	if (strnlen(text, SP_SS_TEXT_MAX + 1) > SP_SS_TEXT_MAX)
		return fail(&p, SP_SS_TEXT_MAX,
			    "the filter is too long: more than %d characters",
			    SP_SS_TEXT_MAX);
	err = next(&p);
	if (!err)
		err = parse_state_parts(&p);
	if (err || p.token == TOKEN_END)
		return err;
	err = parse_or(&p);
	if (!err && p.token != TOKEN_END)
		err = fail(&p, p.start, "')' without '('");
	return err;
}

/* --- apply ---------------------------------------------------------------- */

static bool has_prefix(const uint8_t *addr, const uint8_t *prefix,
		       unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	if (memcmp(addr, prefix, whole) != 0)
		return false;
	return !rest || !((addr[whole] ^ prefix[whole]) >> (8 - rest));
}

static bool has_address(const struct sp_ss_op *op, uint8_t family,
			const uint8_t *addr)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	if (!op->family)
		return true;
	/* An IPv4 peer of an IPv6 socket. */
	if (op->family == AF_INET && family == AF_INET6 &&
	    memcmp(addr, mapped, sizeof(mapped)) == 0)
		return has_prefix(addr + 12, op->addr, op->prefix_bits);
	return op->family == family &&
	       has_prefix(addr, op->addr, op->prefix_bits);
}

static bool passes_op(const struct sp_ss_op *op, const struct sp_conn *conn)
{
	const struct sp_conn_key *key = &conn->key;
	uint16_t port = op->is_remote ? key->remote_port : key->local_port;
	bool is_same;

	switch ((enum compare)op->compare) {
	case CMP_LT:
		return port < op->port;
	case CMP_GT:
		return port > op->port;
	case CMP_LE:
		return port <= op->port;
	case CMP_GE:
		return port >= op->port;
	default:
		is_same = (!op->has_port || port == op->port) &&
			  has_address(op, key->family,
				      op->is_remote ? key->remote : key->local);
		return is_same == (op->compare == CMP_EQ);
	}
}

bool sp_ss_filter_passes(const struct sp_ss_filter *filter,
			 const struct sp_conn *conn)
{
	uint64_t stack = 1; /* results, the latest in bit 0 */

	for (unsigned i = 0; i < filter->nr_ops; i++) {
		const struct sp_ss_op *op = &filter->ops[i];

		switch ((enum op_kind)op->kind) {
		case OP_NOT:
			stack ^= 1;
			break;
		case OP_AND:
			stack = stack >> 1 & (stack | ~1ull);
			break;
		case OP_OR:
			stack = stack >> 1 | (stack & 1);
			break;
		case OP_END:
			stack = stack << 1 | passes_op(op, conn);
			break;
		}
	}
	return stack & 1;
}
