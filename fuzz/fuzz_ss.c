// SPDX-License-Identifier: MIT
/*
 * fuzz/fuzz_ss.c - any text as a filter of `statplane ss`.
 *
 * What is refused has a reason and a place inside the text. What is accepted keeps
 * to its bounds and means what the grammar says: put into parentheses it passes
 * the same sockets, behind not the others, with itself beside it the same again.
 * States are cut off first: they stand before the expression.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "cli/ss_filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Longer ones add nothing but time. */
#define INPUT_MAX 600

static struct sp_ss_filter filter, other;

static void must(bool condition)
{
	if (!condition)
		abort();
}

static const struct sp_conn conns[] = {
	{.key = {.family = AF_INET,
		 .local = {10, 0, 0, 1},
		 .remote = {192, 0, 2, 129},
		 .local_port = 22,
		 .remote_port = 40000}},
	{.key = {.family = AF_INET, .local = {0}, .local_port = 80}},
	{.key = {.family = AF_INET6,
		 .local = {[15] = 1},
		 .remote = {0xfd, 0x31, [15] = 2},
		 .local_port = 443,
		 .remote_port = 65535}},
	{.key = {.family = AF_INET6,
		 .local = {[10] = 0xff, 0xff, 10, 0, 0, 1},
		 .remote = {[10] = 0xff, 0xff, 10, 0, 0, 2},
		 .local_port = 1,
		 .remote_port = 22}},
};

#define NR_CONNS (sizeof(conns) / sizeof(conns[0]))
#define EVERY    ((1u << NR_CONNS) - 1)

static unsigned passing(const struct sp_ss_filter *f)
{
	unsigned mask = 0;

	for (size_t i = 0; i < NR_CONNS; i++)
		if (sp_ss_filter_passes(f, &conns[i]))
			mask |= 1u << i;
	return mask;
}

static int parse(struct sp_ss_filter *f, const char *text)
{
	struct sp_ss_error error = {.pos = SIZE_MAX};
	int err = sp_ss_filter_parse(f, text, &error);

	must(err == 0 || err == -EINVAL);
	if (err) {
		must(error.pos <= strlen(text) && *error.text);
		must(strlen(error.text) < sizeof(error.text));
		return err;
	}
	must(f->nr_ops <= SP_SS_OPS_MAX && !(f->states & ~SP_SS_ALL));
	return 0;
}

/* @format with the text in it; too deep or too long is no fault. */
static void check(const char *before, const char *text, const char *after,
		  unsigned want)
{
	static char whole[2 * INPUT_MAX + 64];

	strcpy(whole, before);
	strcat(whole, text);
	strcat(whole, after);
	if (!parse(&other, whole))
		must(passing(&other) == want);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char text[INPUT_MAX + 1], twice[INPUT_MAX + 16];
	unsigned mask;

	if (size > INPUT_MAX)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (parse(&filter, text))
		return 0;
	mask = passing(&filter);
	if (!filter.nr_ops) {
		must(mask == EVERY);
		return 0;
	}
	if (filter.has_states)
		return 0;
	check("(", text, ")", mask);
	check("not (", text, ")", ~mask & EVERY);
	check("! ! (", text, ")", mask);
	check("dport != :0 or (", text, ")", mask | 0xd);
	check("sport = :80 and (", text, ")", mask & 2);
	strcpy(twice, ") or (");
	strcat(twice, text);
	strcat(twice, ")");
	check("(", text, twice, mask);
	memcpy(twice, ") & ! (", 7);
	strcpy(twice + 7, text);
	strcat(twice, ")");
	check("(", text, twice, 0);
	return 0;
}
