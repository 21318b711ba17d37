// SPDX-License-Identifier: MIT
/*
 * plane/populate.c - see plane/populate.h.
 *
 * fallocate(2) reserves the pages, so that touching them cannot fail later; a
 * plain store into a hole of a full tmpfs would raise SIGBUS.
 */
#include "plane/populate.h"

#include <errno.h>
#include <fcntl.h>

#include "base/bits.h"

/* One call: a signal makes tmpfs undo all of it, so it must not take long. */
#define STEP_BYTES (1024u * 1024u)

void sp_depopulate(const struct sp_plane *plane, uint64_t off, uint64_t len)
{
	/* Failing only means that the pages stay, unused. */
	fallocate(plane->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		  (off_t)off, (off_t)len);
}

int sp_populate(const struct sp_plane *plane, uint64_t off, uint64_t len)
{
	for (uint64_t done = 0; done < len;) {
		uint64_t step =
			len - done < STEP_BYTES ? len - done : STEP_BYTES;

		if (!fallocate(plane->fd, 0, (off_t)(off + done),
			       (off_t)step)) {
			done += step;
			continue;
		}
		if (errno == EINTR)
			continue;
		int err = -errno;

		if (done)
			sp_depopulate(plane, off, done);
		/* A quota and a memory limit are no room, either. */
		return err == -EDQUOT || err == -ENOMEM ? -ENOSPC : err;
	}
	return 0;
}

int sp_populate_section(const struct sp_plane *plane,
			const struct sp_section *section, uint64_t need,
			uint64_t *populated)
{
	uint64_t page = plane->page_size;
	uint64_t least = sp_round_up(need, page);
	uint64_t wish = sp_round_up(
		need, page > SP_POPULATE_CHUNK ? page : SP_POPULATE_CHUNK);
	int err;

	if (need <= *populated)
		return 0;
	if (need > section->len)
		return -ENOSPC;
	if (wish > section->len)
		wish = section->len;
	err = sp_populate(plane, section->off + *populated, wish - *populated);
	if (err == -ENOSPC && least < wish) {
		wish = least;
		err = sp_populate(plane, section->off + *populated,
				  wish - *populated);
	}
	if (!err)
		*populated = wish;
	return err;
}
