// SPDX-License-Identifier: MIT
/*
 * cli/run_learn.c - which host was observed, if the user does not say.
 */
#include "cli/run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

static void look(void *ctx, const struct sp_frame *frames, size_t nr)
{
	sp_learner_frames(ctx, frames, nr);
}

static void take(struct sp_run_options *options,
		 const struct sp_learned *learned)
{
	memcpy(options->addrs, learned->addrs,
	       learned->nr_addrs * sizeof(learned->addrs[0]));
	options->nr_addrs = learned->nr_addrs;
	if (learned->have_mac && !options->have_mac) {
		options->have_mac = true;
		memcpy(options->mac, learned->mac, sizeof(options->mac));
	}
	options->forward |= learned->forward;
}

/* As the options that would have said the same. */
static void say(const struct sp_run_options *options, const char *reason)
{
	char text[SP_ADDR_TEXT];

	fputs("statplane: the observed host:", stderr);
	if (options->have_mac)
		fprintf(stderr, " --mac %s", sp_mac_text(options->mac, text));
	for (size_t i = 0; i < options->nr_addrs; i++)
		fprintf(stderr, " --local %s",
			sp_addr_text(&options->addrs[i], text));
	fprintf(stderr, "%s\nstatplane: because: %s\n",
		options->forward ? " --forward" : "", reason);
}

int sp_run_learn(struct sp_input *input, struct sp_run_options *options,
		 const char **ret_reason)
{
	static struct sp_learned learned;
	struct sp_learner *learner;
	int r;

	r = sp_learner_create(input->linktype,
			      options->have_mac ? options->mac : NULL,
			      &learner);
	if (r)
		return r;
	r = sp_input_peek(input, look, learner);
	if (!r)
		r = sp_learner_result(learner, &learned);
	sp_learner_destroy(learner);
	if (r)
		return r;
	take(options, &learned);
	say(options, learned.reason);
	*ret_reason = learned.reason;
	return 0;
}
