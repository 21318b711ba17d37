// SPDX-License-Identifier: MIT
/*
 * capture/fault.c - what is wrong with a capture, in words.
 */
#include "capture/fault.h"

#include <stdarg.h>
#include <stdio.h>

int sp_fault(struct sp_capture_fault *fault, int error, const char *format, ...)
{
	va_list args;

	if (fault->error)
		return fault->error;
	fault->error = error;
	va_start(args, format);
	vsnprintf(fault->text, sizeof(fault->text), format, args);
	va_end(args);
	return error;
}
