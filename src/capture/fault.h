/* SPDX-License-Identifier: MIT */
/*
 * capture/fault.h - what is wrong with a capture, in words.
 */
#ifndef SP_CAPTURE_FAULT_H
#define SP_CAPTURE_FAULT_H

struct sp_capture_fault {
	int error;      /* -errno; -EINTR: told to stop waiting; -EBADMSG: the
			 * bytes are not what they should be */
	char text[256]; /* what, where and what to do, without the file's name;
			 * one line, no full stop */
};

/**
 * sp_fault() - say what went wrong
 *
 * The first fault stays: later ones follow from it.
 *
 * Return: @fault->error.
 */
int sp_fault(struct sp_capture_fault *fault, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
