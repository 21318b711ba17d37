/* SPDX-License-Identifier: MIT */
/*
 * base/host.h - what the kernel says about this host and its processes.
 *
 * All of it comes from /proc and /sys, which may be missing or belong to other
 * namespaces: every function can say that it does not know.
 *
 * A note on stat(2): here and in plane/ its buffer is always cleared first, since
 * MemorySanitizer (clang 14 with glibc 2.33 and later) does not see it filled.
 */
#ifndef SP_BASE_HOST_H
#define SP_BASE_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Differs after each boot. Return: 0, or -errno with @id untouched. */
int sp_host_boot_id(uint8_t id[16]);

/* Inode of the caller's pid namespace, 0 if unknown. */
uint64_t sp_host_pid_ns(void);

/* Does /proc speak of the pids that the caller sees as its own? */
bool sp_host_proc_is_ours(void);

struct sp_process {
	uint64_t start_ticks; /* after boot; with the pid it names a process */
	bool gone;            /* a zombie without a running thread */
};

/**
 * sp_host_process() - look at a process
 *
 * Return: 0; -ESRCH if there is none; -EPERM if there is one but /proc hides
 * it; -ENODATA if its text cannot be understood; other errno of open(2).
 */
int sp_host_process(uint32_t pid, struct sp_process *ret_process);

/* The same from the text of /proc/PID/stat. Return: 0 or -ENODATA. */
int sp_host_parse_stat(const char *text, struct sp_process *ret_process);

/* One more than the highest CPU id that may ever exist. At least 1. */
uint32_t sp_host_possible_cpus(void);

/* The same from a list such as "0-3,8-11"; 0 if it is none. */
uint32_t sp_host_parse_cpus(const char *text);

uint64_t sp_host_realtime_ns(void);
uint64_t sp_host_monotonic_ns(void);

#endif
