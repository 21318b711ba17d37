/* SPDX-License-Identifier: MIT */
/*
 * cli/stop.h - SIGINT and SIGTERM end the reading, not the program.
 *
 * What was counted is printed then. A second signal ends the program at once.
 */
#ifndef SP_CLI_STOP_H
#define SP_CLI_STOP_H

/* Return: 0; -errno. */
int sp_stop_init(void);

/* Readable once a signal has come; for sp_capture_opts.wake_fd. */
int sp_stop_fd(void);

/* The signal that came, or 0. */
int sp_stop_signal(void);

#endif
