/* SPDX-License-Identifier: MIT */
/*
 * cli/input.h - several captures, read one after another as one.
 *
 * A capture that cannot be opened or is damaged is told about on standard error
 * at once, remembered, and left behind; the reading goes on with the next one.
 * All have the link type of the first.
 */
#ifndef SP_CLI_INPUT_H
#define SP_CLI_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <statplane/frame.h>

#include "capture/capture.h"

struct sp_input {
	char **paths; /* borrowed */
	size_t nr_paths;
	size_t next; /* the one after @capture */
	struct sp_capture *capture;
	uint64_t nr_frames; /* of @capture */
	size_t nr_peeked;   /* by sp_input_peek() */
	uint32_t linktype;  /* once one was opened */
	size_t nr_opened;
	char **faults; /* "FILE: what is wrong", in order */
	size_t nr_faults;
	/* frames that were read ahead, see sp_input_peek() */
	struct sp_ahead *ahead;
};

void sp_input_init(struct sp_input *input, char **paths, size_t nr_paths);
void sp_input_fini(struct sp_input *input);

/**
 * sp_input_start() - open the first capture that can be opened
 *
 * Return: 0; -ENOENT if none can; -EINTR when a signal ends the waiting.
 */
int sp_input_start(struct sp_input *input);

/* Take note of frames; they are valid during the call. */
typedef void sp_input_look_fn(void *ctx, const struct sp_frame *frames,
			      size_t nr);

/**
 * sp_input_peek() - look at frames of the first capture that stay to be read
 *
 * At most 65536 frames and 64 MiB. A file is read twice; of a pipe they are
 * kept. Only right after sp_input_start().
 *
 * Return: 0; -EINTR; -ENOMEM.
 */
int sp_input_peek(struct sp_input *input, sp_input_look_fn *look, void *ctx);

/**
 * sp_input_next() - the next frames, valid until the next call
 *
 * Return: how many; 0 at the end of the last capture; -EINTR.
 */
int sp_input_next(struct sp_input *input, struct sp_frame *frames, size_t max);

/* Bytes of the current file, and all of it; 0 if unknown. */
struct sp_capture_position sp_input_position(const struct sp_input *input);

/* The current file's name, for a person; "" at the end. */
const char *sp_input_name(const struct sp_input *input);

#endif
