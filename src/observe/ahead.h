/* SPDX-License-Identifier: MIT */
/*
 * observe/ahead.h - connections of the next frames, found before their turn.
 *
 * A connection is several cache misses away. So for a vector of frames all keys
 * are made first, then all are looked up together, and the rows fetched, before
 * the first frame is counted. It is a guess: a connection may come or go before
 * its frame is counted, and only frames of the plain kind are looked at.
 */
#ifndef SP_OBSERVE_AHEAD_H
#define SP_OBSERVE_AHEAD_H

#include <stddef.h>
#include <stdint.h>

#include "conn/conn.h"
#include "observe/observer.h"

#define AHEAD_MAX 32u /* frames of a vector */

struct ahead {
	unsigned nr;
	unsigned next;      /* guess that was not used yet */
	uint64_t nr_opened; /* rows that had come when it was made */
	const uint8_t *transports[AHEAD_MAX]; /* segments, in order */
	struct sp_conn_key keys[AHEAD_MAX];
	uint64_t hashes[AHEAD_MAX];
	struct sp_table_head *rows[AHEAD_MAX]; /* NULL: none */
};

/* Look up the connections of the next @nr (at most AHEAD_MAX) frames. */
void ahead_look(struct sp_observer *o, const struct sp_frame *frames,
		size_t nr);

/**
 * ahead_find() - what was found out about a segment
 * @transport: where it stands
 * @ret_key, @ret_hash: of the connection; set if it was looked at
 * @ret_conn: the connection as it is now, or NULL
 *
 * Return: false if it was not looked at.
 */
bool ahead_find(struct sp_observer *o, const uint8_t *transport,
		const struct sp_conn_key **ret_key, uint64_t *ret_hash,
		struct conn **ret_conn);

#endif
