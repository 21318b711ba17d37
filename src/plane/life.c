// SPDX-License-Identifier: MIT
/*
 * plane/life.c - signs of life of a segment's writer; see plane/life.h.
 *
 * A pid alone names nobody: it is used again. With the time at which the
 * process started (in clock ticks after boot) and the boot's id it does, within
 * one pid namespace.
 */
#include "plane/life.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/host.h"

void sp_life_sign(struct sp_plane_hdr *hdr)
{
	struct sp_process self;
	uint8_t boot_id[16] = {0};

	sp_host_boot_id(boot_id); /* unknown stays zero */
	memcpy(hdr->boot_id, boot_id, sizeof(boot_id));
	hdr->pid = (uint32_t)getpid();
	if (sp_host_proc_is_ours() && !sp_host_process(hdr->pid, &self)) {
		hdr->pid_ns = sp_host_pid_ns();
		hdr->pid_start_ticks = self.start_ticks;
	}
}

void sp_life_lock(int fd)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};

	fcntl(fd, F_OFD_SETLK, &lock);
}

static bool is_locked(int fd)
{
	struct flock lock = {
		.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1};

	return !fcntl(fd, F_OFD_GETLK, &lock) && lock.l_type == F_WRLCK;
}

static bool is_other_boot(const struct sp_plane_hdr *hdr)
{
	static const uint8_t unknown[16];
	uint8_t now[16], then[16];

	memcpy(then, hdr->boot_id, sizeof(then));
	return memcmp(then, unknown, 16) && !sp_host_boot_id(now) &&
	       memcmp(then, now, 16);
}

static bool is_young(const struct sp_plane_hdr *hdr)
{
	uint64_t now = sp_host_realtime_ns();
	uint64_t birth = hdr->birth_realtime_ns;
	uint64_t beat =
		__atomic_load_n(&hdr->heartbeat_realtime_ns, __ATOMIC_RELAXED);
	uint64_t last = beat > birth ? beat : birth;

	/* A clock that was set back makes @last lie ahead. */
	return (now > last ? now - last : last - now) < SP_LIFE_TIMEOUT_NS;
}

bool sp_life_writer_runs(int fd, const struct sp_plane_hdr *hdr)
{
	uint64_t pid_ns = hdr->pid_ns;
	struct sp_process writer;

	if (is_other_boot(hdr))
		return false;
	if (pid_ns && pid_ns == sp_host_pid_ns() && sp_host_proc_is_ours()) {
		int err = sp_host_process(hdr->pid, &writer);

		if (err == -ESRCH || (!err && writer.gone))
			return false;
		if (!err && writer.start_ticks == hdr->pid_start_ticks)
			return true;
		/* The pid is another process's by now, or the writer sees
		 * another clock (time namespaces, emulators). */
		if (!err)
			return is_locked(fd);
	}
	return is_locked(fd) || is_young(hdr);
}
