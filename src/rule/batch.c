// SPDX-License-Identifier: MIT
/*
 * rule/batch.c - a `tc -batch` file as commands of words.
 *
 * A command is a line, and the lines after it while one ends in a backslash. A
 * '#' anywhere, also inside of quotes, ends its line and takes the backslash
 * with it. What is joined may itself end in a backslash and a newline: of two
 * backslashes and an empty line behind them, both continue. A quote counts at
 * the beginning of a word alone; where it closes, a new word begins.
 *
 * Everything happens in the caller's text: words end in a NUL that is written
 * into it, and a line that continues another is moved down to its end.
 */
#include <statplane/rule.h>

#include <string.h>

/* tc's blanks; a carriage return is one. */
static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Up to the first NUL or '#', which loses the newline, too. */
static size_t useful_length(const char *line, size_t len)
{
	const char *cut = memchr(line, '#', len);

	if (cut)
		len = (size_t)(cut - line);
	cut = memchr(line, '\0', len);
	return cut ? (size_t)(cut - line) : len;
}

/* Take one line of the file, its newline included, and put it at @to. */
static char *take_line(struct sp_rule_batch *batch, char *to)
{
	char *line = batch->next;
	size_t left = (size_t)(batch->end - line);
	char *newline = memchr(line, '\n', left);
	size_t len = newline ? (size_t)(newline - line) + 1 : left;

	batch->next += len;
	batch->line++;
	len = useful_length(line, len);
	if (to != line)
		memmove(to, line, len);
	return to + len;
}

static bool continues(const char *begin, const char *end)
{
	return end - begin >= 2 && end[-1] == '\n' && end[-2] == '\\';
}

/*
 * The end of a command that begins at @begin, or NULL if the text ended before.
 */
static char *take_command(struct sp_rule_batch *batch, char *begin)
{
	char *end = take_line(batch, begin);

	while (continues(begin, end)) {
		if (batch->next == batch->end)
			return NULL;
		end = take_line(batch, end - 2);
	}
	return end;
}

/* The byte behind the word at @word, where its NUL goes; NULL: an open quote. */
static char *word_end(char **word, char *end)
{
	char *cp = *word;

	if (*cp == '"' || *cp == '\'') {
		*word = cp + 1;
		return memchr(cp + 1, *cp, (size_t)(end - cp) - 1);
	}
	while (cp < end && !is_blank(*cp))
		cp++;
	return cp;
}

static enum sp_rule_batch_result split(struct sp_rule_batch *batch, char *cp,
				       char *end)
{
	batch->nr_words = 0;
	for (;;) {
		char *word;

		while (cp < end && is_blank(*cp))
			cp++;
		if (cp >= end)
			return SP_RULE_BATCH_COMMAND;
		if (batch->nr_words == SP_RULE_MAX_WORDS - 1)
			return SP_RULE_BATCH_TOO_MANY;
		word = cp;
		cp = word_end(&word, end);
		if (!cp)
			return SP_RULE_BATCH_OPEN_QUOTE;
		*cp++ = '\0';
		batch->words[batch->nr_words++] = word;
	}
}

static enum sp_rule_batch_result give_up(struct sp_rule_batch *batch,
					 enum sp_rule_batch_result why)
{
	batch->next = batch->end;
	batch->nr_words = 0;
	return why;
}

void sp_rule_batch_init(struct sp_rule_batch *batch, char *text, size_t len)
{
	batch->next = text;
	batch->end = text + len;
	batch->line = 0;
	batch->nr_words = 0;
}

enum sp_rule_batch_result sp_rule_batch_next(struct sp_rule_batch *batch)
{
	while (batch->next < batch->end) {
		char *begin = batch->next;
		char *end = take_command(batch, begin);
		enum sp_rule_batch_result result;

		if (!end)
			return give_up(batch, SP_RULE_BATCH_NO_CONTINUATION);
		result = split(batch, begin, end);
		if (result != SP_RULE_BATCH_COMMAND)
			return give_up(batch, result);
		if (batch->nr_words) {
			batch->words[batch->nr_words] = NULL;
			return result;
		}
	}
	return give_up(batch, SP_RULE_BATCH_END);
}
