/* SPDX-License-Identifier: MIT */
/*
 * render/socket_row.h - one socket as a line of net/tcp, net/udp and their kin.
 *
 * Byte for byte what the kernel prints, but for what nobody outside knows: the
 * address of the socket in memory is 0, and the reference count is the one that a
 * socket at rest has.
 */
#ifndef SP_RENDER_SOCKET_ROW_H
#define SP_RENDER_SOCKET_ROW_H

#include <stdint.h>

#include <statplane/conn.h>

/* The most bytes that a line has, its newline included. */
#define SP_SOCKET_ROW_MAX 512u

/**
 * sp_put_tcp_row() - a line of net/tcp or net/tcp6
 * @p: SP_SOCKET_ROW_MAX bytes
 * @sl: number of the line, from 0 on
 * @now_ns: for how long the timer still runs is counted from here
 *
 * Return: the end.
 */
char *sp_put_tcp_row(char *p, uint64_t sl, const struct sp_conn *conn,
		     uint64_t now_ns);
/* The same of net/udp, net/udp6, net/udplite and net/udplite6, whose lines are
 * numbered by a hash of the port. */
char *sp_put_udp_row(char *p, const struct sp_conn *conn);

/* "established", "syn-sent" and so on; "unknown". */
const char *sp_socket_state_name(unsigned state);
const char *sp_socket_timer_name(unsigned timer);

#endif
