// SPDX-License-Identifier: MIT
/*
 * examples/counters.c - a program of several threads with statistics of its own.
 *
 * usage: counters [PLANE_PATH]
 *
 * Two threads pretend to receive frames for a second. While it runs, and after
 * it has ended, look at it from elsewhere:
 *
 *	statplane show metrics --segment example
 *
 * Build it against the installed library:
 *
 *	cc counters.c $(pkg-config --cflags --libs statplane) -pthread
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <statplane/mib.h>
#include <statplane/plane.h>

/* 1. Say what there is. The index of an item is its id. */
enum { RX_FRAMES, RX_DROPS, RX_SIZES };

static const struct sp_mib_item items[] = {
	[RX_FRAMES] = {"RxFrames", "frames taken from the ring", "frames",
		       SP_MIB_COUNTER},
	[RX_DROPS] = {"RxDrops", "frames dropped: the ring was full", "frames",
		      SP_MIB_COUNTER},
	[RX_SIZES] = {"RxSizes", "sizes of frames taken from the ring",
		      "octets", SP_MIB_HISTOGRAM},
};
static const struct sp_mib_group ring = {"Ring", "a receive ring", items, 3};
static const struct sp_mib_schema schema = {"ring", &ring, 1};

static const struct sp_percpu *percpu;
static struct sp_mib *mib;

static sp_percpu_t cell(size_t item)
{
	return sp_mib_off(mib, sp_mib_cell_idx(&schema, 0, item));
}

/* 3. Count, from any thread, on any CPU, without a lock. */
static void *receive(void *seed)
{
	uint64_t state = (uintptr_t)seed;
	time_t end = time(NULL) + 1;
	sp_percpu_t frames = cell(RX_FRAMES);
	sp_percpu_t drops = cell(RX_DROPS);
	sp_percpu_t sizes = cell(RX_SIZES);

	while (time(NULL) <= end) {
		for (int i = 0; i < 1000; i++) {
			state = state * 6364136223846793005u + 1;
			sp_percpu_add(percpu, frames, 1);
			sp_histogram_add(percpu, sizes, state >> 53);
		}
		sp_percpu_add(percpu, drops, state >> 63);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct sp_plane_opts opts = {
		.sz = sizeof(opts),
		.path = argc > 1 ? argv[1]
				 : SP_PLANE_DIR "/" SP_PLANE_PREFIX "example",
		.program = "counters",
	};
	struct sp_plane *plane;
	pthread_t thread[2];
	int err;

	/* 2. One plane for the program, one MIB for each object it counts. */
	err = sp_plane_create(&opts, &plane);
	if (err) {
		fprintf(stderr, "%s: %s\n", opts.path, strerror(-err));
		return 1;
	}
	percpu = sp_plane_percpu(plane);
	err = sp_mib_create(plane, "ring0", &schema, &mib);
	if (err) {
		fprintf(stderr, "ring0: %s\n", strerror(-err));
		sp_plane_close(plane);
		return 1;
	}

	for (uintptr_t i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, receive, (void *)(i + 1));
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);

	/* 4. Read. Other processes do it with statplane/reader.h. */
	printf("RxFrames %" PRIu64 ", RxDrops %" PRIu64 "\n",
	       sp_mib_read(mib, sp_mib_cell_idx(&schema, 0, RX_FRAMES)),
	       sp_mib_read(mib, sp_mib_cell_idx(&schema, 0, RX_DROPS)));

	/* The file stays, so that the figures can still be read. */
	sp_plane_close(plane);
	return 0;
}
