/* SPDX-License-Identifier: MIT */
/*
 * Lines of the kernel's net/tcp and net/udp, as rows of a table.
 */
#ifndef SP_TESTS_KERNEL_SOCKETS_H
#define SP_TESTS_KERNEL_SOCKETS_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <statplane/conn.h>

/* "0200E70A", or four such words. */
static inline int kernel_socket_address(const char *digits, int family,
					uint8_t addr[16])
{
	unsigned nr = family == AF_INET6 ? 4 : 1;

	if (strlen(digits) != 8 * nr)
		return -1;
	for (unsigned i = 0; i < nr; i++) {
		uint32_t word;

		if (sscanf(digits + 8 * i, "%8x", &word) != 1)
			return -1;
		memcpy(addr + 4 * i, &word, 4);
	}
	return 0;
}

/*
 * Take a line apart. Timers run from a clock at 0.
 * Return: 0; -1 if it is no such line.
 */
static inline int kernel_socket_parse(const char *line, int family,
				      int protocol, struct sp_conn *conn,
				      unsigned *sl)
{
	char local[33], remote[33];
	unsigned local_port, remote_port, state, tx, rx, timer, retransmits;
	unsigned uid, probes, rto, ato, cwnd;
	unsigned long ticks, inode;
	int ssthresh, at, nr;

	*conn = (struct sp_conn){.key.family = (uint8_t)family};
	conn->key.protocol = (uint8_t)protocol;
	nr = sscanf(line,
		    " %u: %32[0-9A-F]:%x %32[0-9A-F]:%x %x %x:%x %x:%lx %x %u "
		    "%u %lu %*u %*x%n",
		    sl, local, &local_port, remote, &remote_port, &state, &tx,
		    &rx, &timer, &ticks, &retransmits, &uid, &probes, &inode,
		    &at);
	if (nr != 14 || kernel_socket_address(local, family, conn->key.local) ||
	    kernel_socket_address(remote, family, conn->key.remote))
		return -1;
	conn->key.local_port = (uint16_t)local_port;
	conn->key.remote_port = (uint16_t)remote_port;
	conn->state = (uint8_t)state;
	conn->tx_queue = tx;
	conn->rx_queue = rx;
	conn->timer = (uint8_t)timer;
	conn->expires_ns = ticks * 10000000ull;
	conn->retransmits = (uint8_t)retransmits;
	conn->uid = uid;
	conn->probes = (uint8_t)probes;
	conn->inode = inode;
	if (protocol != IPPROTO_TCP)
		return sscanf(line + at, "%u", &conn->drops) == 1 ? 0 : -1;
	conn->mini = sscanf(line + at, "%u %u %*u %u %d", &rto, &ato, &cwnd,
			    &ssthresh) != 4;
	if (!conn->mini) {
		conn->rto_us = rto * 10000;
		conn->ato_us = ato * 10000;
		conn->cwnd = cwnd;
		conn->ssthresh = ssthresh < 0 ? 0x7fffffff : (uint32_t)ssthresh;
	}
	return 0;
}

/* Put '*' in place of what no observer knows: references, address, how the
 * receiver acknowledges; the hash of a UDP port. Trailing spaces go. */
static inline void kernel_socket_blank(const char *line, int protocol,
				       char *ret_blank)
{
	const char *end = line + strcspn(line, "\n");
	unsigned field = 0;
	char *to = ret_blank;

	while (end > line && end[-1] == ' ')
		end--;
	while (line < end) {
		while (*line == ' ')
			*to++ = *line++;
		/* From 0 on: references 10, address 11, mode 14. */
		if (field == 10 || field == 11 ||
		    (field == 14 && protocol == IPPROTO_TCP) ||
		    (field == 0 && protocol != IPPROTO_TCP)) {
			if (field == 0)
				to = ret_blank;
			*to++ = '*';
			line += strcspn(line, " ");
		}
		while (line < end && *line != ' ')
			*to++ = *line++;
		field++;
	}
	*to = '\0';
}

#endif
