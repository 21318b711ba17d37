/* SPDX-License-Identifier: MIT */
/**
 * rule.h - the words of tc(8) as rules
 *
 * A reader of `tc -batch` files, which takes and refuses the same lines as
 * iproute2 6.1 does. It splits; what a command means is for its caller.
 *
 * Not for shell input: tc's quotes and comments are its own.
 */
#ifndef STATPLANE_RULE_H
#define STATPLANE_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <statplane/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* tc takes fewer words than this in one command. */
#define SP_RULE_MAX_WORDS 512

/* What sp_rule_batch_next() met. */
enum sp_rule_batch_result {
	SP_RULE_BATCH_END,       /* nothing is left */
	SP_RULE_BATCH_COMMAND,   /* a command: words and nr_words */
	SP_RULE_BATCH_OPEN_QUOTE, /* a quote without its end */
	SP_RULE_BATCH_TOO_MANY,  /* SP_RULE_MAX_WORDS or more */
	SP_RULE_BATCH_NO_CONTINUATION, /* the text ends behind a backslash */
};

/**
 * struct sp_rule_batch - a text on its way through sp_rule_batch_next()
 *
 * The caller owns it and reads words, nr_words and line; the rest is private.
 */
struct sp_rule_batch {
	char *next;
	char *end;
	unsigned line;     /* of the command's last line, from 1 */
	unsigned nr_words;
	char *words[SP_RULE_MAX_WORDS];
};

/**
 * sp_rule_batch_init() - begin at the first line of @text
 * @text: @len bytes and one more that may be written; it is changed by
 *        sp_rule_batch_next() and must outlive the words. NUL bytes in it are
 *        allowed: what follows one in its line does not count, as in tc.
 *
 * Context: any thread; one struct belongs to one thread at a time.
 */
SP_API void sp_rule_batch_init(struct sp_rule_batch *batch, char *text,
			       size_t len);

/**
 * sp_rule_batch_next() - go to the next command
 *
 * Lines without a word are stepped over. After an error tc gives up, also with
 * -force: another call gives SP_RULE_BATCH_END.
 *
 * Return: what was met; words are valid after SP_RULE_BATCH_COMMAND alone.
 *
 * Context: as sp_rule_batch_init(); neither allocates nor blocks.
 */
SP_API enum sp_rule_batch_result sp_rule_batch_next(struct sp_rule_batch *batch);

#ifdef __cplusplus
}
#endif

#endif
