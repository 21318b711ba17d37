// SPDX-License-Identifier: MIT
/*
 * rule/action.c - tc's words as a list of actions.
 *
 * A verdict stands for gact. What follows an action without the word `action`
 * is another one, unless it ends the list. A cookie holds for all later actions
 * of the list that bring none of their own.
 */
#include "rule/action.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "rule/value.h"

#define MAX_CHAIN 0x0fffffff
#define MAX_RANDOM 10000

struct parser {
	struct sp_rule_error *error;
	char **next;
};

static bool fail(struct parser *p, enum sp_rule_fate fate, const char *format,
		 ...) __attribute__((format(printf, 3, 4)));

static bool fail(struct parser *p, enum sp_rule_fate fate, const char *format,
		 ...)
{
	va_list args;

	p->error->fate = fate;
	p->error->usage = SP_RULE_USAGE_NONE;
	va_start(args, format);
	vsnprintf(p->error->text, sizeof(p->error->text), format, args);
	va_end(args);
	return false;
}

static bool fail_gact(struct parser *p, const char *before, const char *word,
		      const char *after)
{
	fail(p, SP_RULE_EXITS_255, "%s%s%s", before, word, after);
	p->error->usage = SP_RULE_USAGE_GACT;
	return false;
}

static const char *take(struct parser *p)
{
	if (*p->next)
		return *p->next++;
	fail(p, SP_RULE_EXITS_255,
	     "Command line is not complete. Try option \"help\"");
	return NULL;
}

static bool at(const struct parser *p, const char *name)
{
	return *p->next && sp_rule_begins(*p->next, name);
}

/* A value of gact that is wrong: @left words were left at its first one. */
static bool bad_value(struct parser *p, char **first, const char *format,
		      uint32_t value)
{
	char what[64];
	int left = 0;

	while (first[left])
		left++;
	if (strchr(format, '%'))
		snprintf(what, sizeof(what), "Illegal probability val  0x%x",
			 value);
	else
		snprintf(what, sizeof(what), "Illegal \"%s\"", format);
	return fail(p, SP_RULE_GOES_ON,
		    "%s\nbad action parsing\nparse_action: bad value "
		    "(%d:%.80s)!\nIllegal \"action\"", what, left, *first);
}

static int verdict_of(const char *word)
{
	static const struct {
		const char *name;
		enum sp_rule_verdict verdict;
	} names[] = {
		{"continue", SP_RULE_CONTINUE}, {"drop", SP_RULE_DROP},
		{"shot", SP_RULE_DROP},         {"pass", SP_RULE_PASS},
		{"ok", SP_RULE_PASS},           {"reclassify", SP_RULE_RECLASSIFY},
		{"pipe", SP_RULE_PIPE},         {"goto", SP_RULE_GOTO},
		{"jump", SP_RULE_JUMP},         {"trap", SP_RULE_TRAP},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (sp_rule_begins(word, names[i].name))
			return (int)names[i].verdict;
	return -1;
}

static bool read_verdict(struct parser *p, uint8_t *ret, uint32_t *ret_argument)
{
	const char *word = take(p);
	int verdict;

	if (!word)
		return false;
	verdict = verdict_of(word);
	if (verdict < 0)
		return fail_gact(p, "Bad action type ", word, "");
	*ret = (uint8_t)verdict;
	*ret_argument = 0;
	if (verdict != SP_RULE_GOTO && verdict != SP_RULE_JUMP)
		return true;
	word = take(p);
	if (!word)
		return false;
	if (verdict == SP_RULE_JUMP)
		return sp_rule_number(word, 10, MAX_CHAIN, ret_argument) ||
		       fail_gact(p, "Invalid \"jump count\" (", word, ")");
	if (!sp_rule_begins(word, "chain"))
		return fail_gact(p, "\"chain index\" expected", "", "");
	word = take(p);
	return word && (sp_rule_number(word, 10, MAX_CHAIN, ret_argument) ||
			fail_gact(p, "Illegal \"chain index\"", "", ""));
}

static bool read_random(struct parser *p, struct sp_rule_action *action,
			char **first)
{
	const char *type = take(p), *val;
	uint32_t number = 0;

	if (!type)
		return false;
	if (sp_rule_begins(type, "none")) {
		action->random = SP_RULE_RANDOM_NONE;
		return true;
	}
	if (sp_rule_begins(type, "netrand"))
		action->random = SP_RULE_RANDOM_NET;
	else if (sp_rule_begins(type, "determ"))
		action->random = SP_RULE_RANDOM_DETERM;
	else
		return bad_value(p, first, "random type", 0);
	if (!read_verdict(p, &action->random_verdict, &action->random_argument))
		return false;
	val = take(p);
	if (!val)
		return false;
	if (!sp_rule_number(val, 10, 0xffff, &number) || number > MAX_RANDOM)
		return bad_value(p, first, "%x", number);
	action->random_val = (uint16_t)number;
	return true;
}

/* [gact] VERDICT [random TYPE VERDICT N] [index N] */
static bool read_gact(struct parser *p, struct sp_rule_action *action)
{
	char **first = p->next;
	bool named = strcmp(*p->next, "gact") == 0;
	const char *word;

	if (named)
		p->next++;
	if (!(named && at(p, "index")) &&
	    !read_verdict(p, &action->verdict, &action->argument))
		return false;
	if (at(p, "random")) {
		p->next++;
		if (!read_random(p, action, first))
			return false;
	}
	if (!at(p, "index"))
		return true;
	p->next++;
	word = take(p);
	return word && (sp_rule_number(word, 10, UINT32_MAX, &action->index) ||
			bad_value(p, first, "index", 0));
}

static bool wrong(struct parser *p, const char *word, const char *why)
{
	return fail(p, SP_RULE_EXITS_255,
		    "Error: argument \"%.120s\" is wrong: %s", word, why);
}

static bool read_cookie(struct parser *p, struct sp_rule_action *action)
{
	const char *word = take(p);
	size_t len;

	if (!word)
		return false;
	len = strlen(word);
	if (len > 2 * sizeof(action->cookie)) {
		char why[64];

		snprintf(why, sizeof(why), "%zu Max allowed size %zu", len,
			 2 * sizeof(action->cookie));
		return wrong(p, word, why);
	}
	memset(action->cookie, 0, sizeof(action->cookie));
	for (size_t i = 0; i < len; i += 2) {
		char octet[3] = {word[i], word[i + 1], '\0'};
		uint32_t value;

		if (!isxdigit((unsigned char)octet[0]) ||
		    !isxdigit((unsigned char)octet[1]))
			return wrong(p, word, "cookie must be a hex string");
		sp_rule_number(octet, 16, 0xff, &value);
		action->cookie[i / 2] = (uint8_t)value;
	}
	action->cookie_len = (uint8_t)(len / 2);
	return true;
}

static bool read_hw_stats(struct parser *p, struct sp_rule_action *action)
{
	static const char *const names[] = {"immediate", "delayed", "disabled"};
	const char *word = take(p);

	for (unsigned i = 0; word && i < 3; i++) {
		if (sp_rule_begins(word, names[i])) {
			action->hw_stats = (uint8_t)(i + 1);
			return true;
		}
	}
	return word && wrong(p, word, "value is invalid\n");
}

/* What may stand behind every action, in tc's order. */
static bool read_common(struct parser *p, struct sp_rule_action *action)
{
	if (*p->next && strcmp(*p->next, "cookie") == 0) {
		p->next++;
		if (!read_cookie(p, action))
			return false;
	}
	if (at(p, "hw_stats")) {
		p->next++;
		if (!read_hw_stats(p, action))
			return false;
	}
	if (*p->next && strcmp(*p->next, "no_percpu") == 0) {
		p->next++;
		action->flags |= SP_ACTION_NO_PERCPU;
	}
	if (at(p, "skip_hw"))
		action->flags |= SP_ACTION_SKIP_HW;
	else if (at(p, "skip_sw"))
		action->flags |= SP_ACTION_SKIP_SW;
	else
		return true;
	p->next++;
	return true;
}

static bool ends_list(const char *word)
{
	static const char *const commands[] = {"add", "change", "delete", "get",
					       "replace"};

	if (strcmp(word, "classid") == 0 || strcmp(word, "flowid") == 0)
		return true;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (sp_rule_begins(word, commands[i]))
			return true;
	return false;
}

int sp_rule_actions_parse(struct sp_rule_action *actions, unsigned *ret_nr,
			  char **words, char ***ret_rest,
			  struct sp_rule_error *ret_error)
{
	struct parser p = {.error = ret_error, .next = words};
	struct sp_rule_action last = {0};
	unsigned nr = 0;

	if (!*p.next) {
		take(&p);
		return -EINVAL;
	}
	while (*p.next && !ends_list(*p.next)) {
		struct sp_rule_action action = {.cookie_len = last.cookie_len};

		if (strcmp(*p.next, "action") == 0) {
			p.next++;
			continue;
		}
		memcpy(action.cookie, last.cookie, sizeof(action.cookie));
		if (!read_gact(&p, &action) || !read_common(&p, &action))
			return -EINVAL;
		if (nr < SP_RULE_MAX_ACTIONS)
			actions[nr++] = action;
		last = action;
	}
	*ret_nr = nr;
	*ret_rest = p.next;
	return 0;
}
