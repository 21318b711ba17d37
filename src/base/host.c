// SPDX-License-Identifier: MIT
/*
 * base/host.c - small files of /proc and /sys, read and parsed.
 */
#include "base/host.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The start of a small file as a string. Return: 0 or -errno. */
static int read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t got;
	int err;

	if (fd < 0)
		return -errno;
	do {
		got = read(fd, text, size - 1);
	} while (got < 0 && errno == EINTR);
	err = got < 0 ? -errno : 0;
	close(fd);
	if (!err)
		text[got] = '\0';
	return err;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

int sp_host_boot_id(uint8_t id[16])
{
	char text[64];
	uint8_t octets[16] = {0};
	unsigned nr_digits = 0;
	int err = read_text("/proc/sys/kernel/random/boot_id", text,
			    sizeof(text));

	if (err)
		return err;
	for (const char *c = text; *c && nr_digits < 32; c++) {
		int digit = hex_digit(*c);

		if (digit < 0)
			continue;
		octets[nr_digits / 2] |=
			(uint8_t)(digit << (nr_digits % 2 ? 0 : 4));
		nr_digits++;
	}
	if (nr_digits < 32)
		return -ENODATA;
	memcpy(id, octets, 16);
	return 0;
}

uint64_t sp_host_pid_ns(void)
{
	struct stat st = {0};

	return stat("/proc/self/ns/pid", &st) ? 0 : st.st_ino;
}

bool sp_host_proc_is_ours(void)
{
	char text[32];
	ssize_t got = readlink("/proc/self", text, sizeof(text) - 1);

	if (got <= 0)
		return false;
	text[got] = '\0';
	return strtol(text, NULL, 10) == getpid();
}

int sp_host_parse_stat(const char *text, struct sp_process *ret_process)
{
	/* The second field is the program's name in parentheses, and it may
	 * hold blanks and parentheses itself; no later field does. */
	const char *pos = strrchr(text, ')');
	struct sp_process process = {0};
	unsigned long nr_threads = 0;
	char state;

	if (!pos || pos[1] != ' ' || !pos[2])
		return -ENODATA;
	state = pos[2];
	pos += 2;
	for (int field = 3; field < 22; field++) {
		if (field == 20)
			nr_threads = strtoul(pos, NULL, 10);
		pos = strchr(pos, ' ');
		if (!pos)
			return -ENODATA;
		pos++;
	}
	if (!isdigit((unsigned char)*pos))
		return -ENODATA;
	process.start_ticks = strtoull(pos, NULL, 10);
	/* A main thread that ended before the others shows as a zombie, too. */
	process.gone = (state == 'Z' && nr_threads <= 1) || state == 'X' ||
		       state == 'x';
	*ret_process = process;
	return 0;
}

int sp_host_process(uint32_t pid, struct sp_process *ret_process)
{
	char path[40];
	char text[512];
	int err;

	if (!pid || pid > INT_MAX)
		return -ESRCH;
	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	err = read_text(path, text, sizeof(text));
	if (!err)
		return sp_host_parse_stat(text, ret_process);
	/* Gone, or hidden (hidepid), or no /proc at all: signal 0 tells. */
	if (kill((pid_t)pid, 0) && errno == ESRCH)
		return -ESRCH;
	return err == -ENOENT || err == -ESRCH ? -EPERM : err;
}

uint32_t sp_host_parse_cpus(const char *text)
{
	uint32_t last = 0;
	bool any = false;

	while (isdigit((unsigned char)*text)) {
		char *end;
		unsigned long cpu = strtoul(text, &end, 10);

		if (cpu >= UINT16_MAX)
			return 0;
		if (!any || cpu > last)
			last = (uint32_t)cpu;
		any = true;
		text = *end == '-' || *end == ',' ? end + 1 : end;
	}
	return any ? last + 1 : 0;
}

uint32_t sp_host_possible_cpus(void)
{
	char text[512];
	uint32_t nr = 0;
	long configured;

	if (!read_text("/sys/devices/system/cpu/possible", text, sizeof(text)))
		nr = sp_host_parse_cpus(text);
	if (nr)
		return nr;
	configured = sysconf(_SC_NPROCESSORS_CONF);
	return configured > 0 ? (uint32_t)configured : 1;
}

static uint64_t clock_ns(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t sp_host_realtime_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

uint64_t sp_host_monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}
