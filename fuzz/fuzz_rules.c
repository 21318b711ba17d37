// SPDX-License-Identifier: MIT
/*
 * fuzz/fuzz_rules.c - any bytes as a `tc -batch` file.
 *
 * Words lie inside the text and end in it, lines only grow. Of each command the
 * words behind `flower` are read as a match, and what that leaves as actions:
 * what is refused has a reason, and what is accepted keeps to its bounds.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <statplane/rule.h>

#include "rule/action.h"
#include "rule/value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Longer ones add nothing but time. */
#define INPUT_MAX 8192

static struct sp_rule_batch batch;
static struct sp_rule_match match;
static struct sp_rule_action actions[SP_RULE_MAX_ACTIONS];

static void must(bool condition)
{
	if (!condition)
		abort();
}

static void check_error(int err, const struct sp_rule_error *error)
{
	must(err == -EINVAL && error->fate <= SP_RULE_EXITS_255);
	must(*error->text && strlen(error->text) < sizeof(error->text));
}

static void check_actions(char **words)
{
	struct sp_rule_error error = {0};
	char **rest;
	unsigned nr;
	int err = sp_rule_actions_parse(actions, &nr, words, &rest, &error);

	if (err) {
		check_error(err, &error);
		return;
	}
	must(nr <= SP_RULE_MAX_ACTIONS && rest >= words);
	for (unsigned i = 0; i < nr; i++) {
		must(actions[i].verdict <= SP_RULE_JUMP);
		must(actions[i].random_val <= 10000);
		must(actions[i].cookie_len <= sizeof(actions[i].cookie));
	}
}

/* What no mask covers is no part of a range. */
static void check_match(const struct sp_rule_match *m)
{
	must(!memchr(m->indev, '/', sizeof(m->indev)));
	must(!m->indev[sizeof(m->indev) - 1]);
	if (m->flags & SP_MATCH_SRC_RANGE)
		must(m->key.src_port < m->key.src_port_max);
	if (m->flags & SP_MATCH_DST_RANGE)
		must(m->key.dst_port < m->key.dst_port_max);
	must(m->mask.tcp_flags <= 0xfff);
}

static void check_flower(char **words, uint16_t protocol)
{
	struct sp_rule_error error = {0};
	char **rest;
	int err = sp_rule_match_parse(&match, words, protocol, &rest, &error);

	if (err) {
		check_error(err, &error);
		return;
	}
	must(rest >= words);
	check_match(&match);
	if (*rest)
		check_actions(rest + 1);
}

static void check_command(const char *text, size_t size)
{
	uint16_t protocol = 0x0800;

	must(batch.nr_words < SP_RULE_MAX_WORDS);
	for (unsigned i = 0; i < batch.nr_words; i++) {
		char *word = batch.words[i];

		must(word >= text && word + strlen(word) <= text + size);
		if (strcmp(word, "protocol") == 0 && batch.words[i + 1])
			sp_rule_ethertype(batch.words[i + 1], &protocol);
		if (strcmp(word, "flower") == 0) {
			check_flower(&batch.words[i + 1], protocol);
			return;
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned line = 0;
	char *text;

	if (size > INPUT_MAX)
		return 0;
	text = malloc(size + 1);
	must(text);
	memcpy(text, data, size);
	text[size] = '\0';
	sp_rule_batch_init(&batch, text, size);
	while (sp_rule_batch_next(&batch) == SP_RULE_BATCH_COMMAND) {
		must(batch.line > line);
		line = batch.line;
		check_command(text, size);
	}
	must(sp_rule_batch_next(&batch) == SP_RULE_BATCH_END);
	free(text);
	return 0;
}
