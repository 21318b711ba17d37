// SPDX-License-Identifier: MIT
/*
 * cli/input.c - several captures, read one after another as one.
 */
#include "cli/input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/stop.h"

#define PEEK_FRAMES 65536
#define PEEK_BYTES  (64u * 1024 * 1024)
/* No vector is larger. */
#define VECTOR_BYTES (SP_CAPTURE_VECTOR * 256u * 1024)

/* Frames of a pipe, copied. */
struct sp_ahead {
	struct sp_frame *frames;
	uint8_t *bytes;
	size_t nr, nr_taken;
	size_t used_bytes;
};

static void free_ahead(struct sp_ahead *ahead)
{
	if (!ahead)
		return;
	free(ahead->frames);
	free(ahead->bytes);
	free(ahead);
}

/* Pages that no frame is copied to are never touched. */
static struct sp_ahead *new_ahead(void)
{
	struct sp_ahead *ahead = calloc(1, sizeof(*ahead));

	if (!ahead)
		return NULL;
	ahead->frames = calloc(PEEK_FRAMES, sizeof(*ahead->frames));
	ahead->bytes = malloc(PEEK_BYTES);
	if (ahead->frames && ahead->bytes)
		return ahead;
	free_ahead(ahead);
	return NULL;
}

void sp_input_init(struct sp_input *input, char **paths, size_t nr_paths)
{
	*input = (struct sp_input){.paths = paths, .nr_paths = nr_paths};
}

void sp_input_fini(struct sp_input *input)
{
	sp_capture_close(input->capture);
	free_ahead(input->ahead);
	for (size_t i = 0; i < input->nr_faults; i++)
		free(input->faults[i]);
	free(input->faults);
	*input = (struct sp_input){0};
}

static const char *shown(const char *path)
{
	return strcmp(path, "-") == 0 ? "standard input" : path;
}

const char *sp_input_name(const struct sp_input *input)
{
	return input->capture ? shown(input->paths[input->next - 1]) : "";
}

/* Tell, and remember as far as there is memory. */
static void note_fault(struct sp_input *input, const char *text)
{
	const char *name = shown(input->paths[input->next - 1]);
	char **faults;
	char *line;

	if (input->capture && input->nr_frames)
		sp_cli_error("%s: %s; the %llu packet%s before that %s counted",
			     name, text, (unsigned long long)input->nr_frames,
			     input->nr_frames == 1 ? "" : "s",
			     input->nr_frames == 1 ? "is" : "are");
	else
		sp_cli_error("%s: %s", name, text);
	if (asprintf(&line, "%s: %s", name, text) < 0)
		return;
	faults = realloc(input->faults,
			 (input->nr_faults + 1) * sizeof(*faults));
	if (!faults) {
		free(line);
		return;
	}
	input->faults = faults;
	input->faults[input->nr_faults++] = line;
}

static int check_linktype(struct sp_input *input, struct sp_capture *capture)
{
	uint32_t linktype = sp_capture_linktype(capture);
	char text[256];

	if (!input->nr_opened || linktype == input->linktype)
		return 0;
	snprintf(text, sizeof(text),
		 "its link type is %s, that of the captures before it %s; "
		 "count it in a run of its own",
		 sp_capture_linktype_name(linktype),
		 sp_capture_linktype_name(input->linktype));
	note_fault(input, text);
	return -EPROTOTYPE;
}

/* Open paths[next - 1]. Return: 0, -errno with the fault told. */
static int open_current(struct sp_input *input)
{
	struct sp_capture_opts opts = {
		.path = input->paths[input->next - 1],
		.wake_fd = sp_stop_fd(),
	};
	struct sp_capture_fault fault = {0};
	struct sp_capture *capture;
	int r = sp_capture_open(&opts, &fault, &capture);

	input->nr_frames = 0;
	if (r) {
		if (r != -EINTR)
			note_fault(input, fault.text);
		return r;
	}
	r = check_linktype(input, capture);
	if (r) {
		sp_capture_close(capture);
		return r;
	}
	input->linktype = sp_capture_linktype(capture);
	input->capture = capture;
	return 0;
}

/* Return: 0; -ENOENT after the last one; -EINTR. */
static int open_next(struct sp_input *input)
{
	while (input->next < input->nr_paths) {
		int r;

		input->next++;
		r = open_current(input);
		if (r == 0)
			input->nr_opened++;
		if (r == 0 || r == -EINTR)
			return r;
	}
	return -ENOENT;
}

int sp_input_start(struct sp_input *input)
{
	return open_next(input);
}

static bool keep(struct sp_ahead *ahead, const struct sp_frame *frames,
		 size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		struct sp_frame *copy = &ahead->frames[ahead->nr++];
		uint8_t *bytes = ahead->bytes + ahead->used_bytes;

		memcpy(bytes, frames[i].data, frames[i].cap_len);
		ahead->used_bytes += frames[i].cap_len;
		*copy = frames[i];
		copy->data = bytes;
	}
	/* room for another vector, whatever is in it? */
	return ahead->nr + SP_CAPTURE_VECTOR <= PEEK_FRAMES &&
	       ahead->used_bytes + VECTOR_BYTES <= PEEK_BYTES;
}

int sp_input_peek(struct sp_input *input, sp_input_look_fn *look, void *ctx)
{
	static struct sp_frame frames[SP_CAPTURE_VECTOR];
	bool is_file = sp_capture_is_file(input->capture);
	int n;

	if (!is_file) {
		input->ahead = new_ahead();
		if (!input->ahead)
			return -ENOMEM;
	}
	while (input->nr_peeked < PEEK_FRAMES && !sp_stop_signal()) {
		n = sp_capture_next(input->capture, frames, SP_CAPTURE_VECTOR);
		if (n == -EINTR)
			return n;
		if (n <= 0)
			break; /* what is wrong is told when it is counted */
		look(ctx, frames, (size_t)n);
		input->nr_peeked += (size_t)n;
		if (!is_file && !keep(input->ahead, frames, (size_t)n))
			break;
	}
	if (!is_file)
		return 0;
	sp_capture_close(input->capture);
	input->capture = NULL;
	n = open_current(input);
	return n == -EINTR || n == -ENOMEM ? n : 0;
}

static int take_ahead(struct sp_input *input, struct sp_frame *frames,
		      size_t max)
{
	struct sp_ahead *ahead = input->ahead;
	size_t nr = ahead->nr - ahead->nr_taken;

	nr = nr < max ? nr : max;
	memcpy(frames, ahead->frames + ahead->nr_taken, nr * sizeof(*frames));
	ahead->nr_taken += nr;
	input->nr_frames += nr;
	return (int)nr;
}

int sp_input_next(struct sp_input *input, struct sp_frame *frames, size_t max)
{
	int n;

	if (input->ahead) {
		n = take_ahead(input, frames, max);
		if (n)
			return n;
		free_ahead(input->ahead);
		input->ahead = NULL;
	}
	for (;;) {
		if (!input->capture) {
			n = open_next(input);
			if (n)
				return n == -EINTR ? n : 0;
		}
		n = sp_capture_next(input->capture, frames, max);
		if (n > 0) {
			input->nr_frames += (uint64_t)n;
			return n;
		}
		if (n == -EINTR)
			return n;
		if (n < 0)
			note_fault(input,
				   sp_capture_fault(input->capture)->text);
		sp_capture_close(input->capture);
		input->capture = NULL;
	}
}

struct sp_capture_position sp_input_position(const struct sp_input *input)
{
	if (!input->capture)
		return (struct sp_capture_position){0, 0};
	return sp_capture_position(input->capture);
}
