// SPDX-License-Identifier: MIT
/*
 * cli/stop.c - SIGINT and SIGTERM end the reading, not the program.
 *
 * The handler stores the signal and makes an eventfd readable, so that neither
 * a loop that looks at the one nor a poll(2) on the other can miss it.
 */
#include "cli/stop.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

static volatile sig_atomic_t signal_nr;
static int event_fd = -1;

static void on_signal(int nr)
{
	int saved = errno;
	const uint64_t one = 1;

	signal_nr = nr;
	if (write(event_fd, &one, sizeof(one)) < 0)
		signal_nr = nr; /* full: then it is readable anyway */
	errno = saved;
}

int sp_stop_init(void)
{
	struct sigaction action = {.sa_handler = on_signal,
				   .sa_flags = (int)SA_RESETHAND};

	event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (event_fd < 0)
		return -errno;
	sigemptyset(&action.sa_mask);
	if (sigaction(SIGINT, &action, NULL) ||
	    sigaction(SIGTERM, &action, NULL))
		return -errno;
	return 0;
}

int sp_stop_fd(void)
{
	return event_fd;
}

int sp_stop_signal(void)
{
	return signal_nr;
}
