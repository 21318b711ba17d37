// SPDX-License-Identifier: MIT
/*
 * cli/run.c - `statplane run`: a capture through an observer into a plane.
 *
 * One thread, one lane. What is created is given back in the opposite order,
 * except for the namespace, its device and its connections when the plane is a file: they are
 * what others will read.
 */
#include "cli/run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <statplane/net.h>
#include <statplane/plane.h>

#include "cli/cli.h"
#include "cli/planes.h"
#include "cli/progress.h"
#include "cli/stop.h"
#include "cli/tree.h"

#define NR_NET_CELLS    (sizeof(struct sp_net_cells) / 8)
#define NR_NETDEV_CELLS (sizeof(struct sp_netdev_cells) / 8)
#define HEARTBEAT_NS    UINT64_C(1000000000)

struct run {
	struct sp_run_options options;
	struct sp_input input;
	struct sp_run_result result;
	char path[PATH_MAX]; /* of the plane, "" if it is anonymous */
	struct sp_plane *plane;
	struct sp_lane lane;
	struct sp_net *net;
	struct sp_netdev *dev;
	struct sp_conn_table *conns;
	struct sp_observer *observer;
	struct sp_frame frames[SP_CAPTURE_VECTOR];
	uint64_t net_cells[NR_NET_CELLS];
	uint64_t netdev_cells[NR_NETDEV_CELLS];
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Return: exit status, or -1 to go on. */
static int open_input(struct run *run)
{
	int r = sp_input_start(&run->input);

	if (r == -EINTR)
		return 128 + sp_stop_signal();
	if (r)
		return SP_EXIT_FAILURE; /* every capture has said why */
	if (run->options.nr_addrs)
		return -1;
	r = sp_run_learn(&run->input, &run->options, &run->result.reason);
	if (r == -EINTR)
		return 128 + sp_stop_signal();
	if (r == -ENODATA && !run->input.nr_peeked)
		return -1;
	if (r == -ENODATA)
		return sp_cli_error("the packets do not tell which host was "
				    "observed; say it with --local ADDR/LEN");
	if (r)
		return sp_cli_error("cannot find out which host was observed: "
				    "%s",
				    strerror(-r));
	run->result.learned = true;
	return -1;
}

static int create_plane(struct run *run)
{
	/* one thread counts, so one lane is enough */
	struct sp_plane_opts opts = {.sz = sizeof(opts), .nr_lanes = 1};
	int r;

	if (run->options.segment) {
		r = sp_plane_path(run->options.segment, run->path);
		if (r)
			return sp_cli_error("--segment %s: %s",
					    run->options.segment, strerror(-r));
		sp_plane_guard(run->path);
		opts.path = run->path;
	}
	r = sp_plane_create(&opts, &run->plane);
	if (r == -EBUSY)
		return sp_cli_error("the plane %s is being written by another "
				    "process; choose another --segment",
				    run->path);
	if (r == -EEXIST)
		return sp_cli_error("%s is there and is no plane, or one of "
				    "another version; choose another --segment",
				    run->path);
	if (r)
		return sp_cli_error("cannot make the plane%s%s: %s",
				    *run->path ? " " : "", run->path,
				    strerror(-r));
	r = sp_lane_claim(run->plane, &run->lane);
	if (r)
		return sp_cli_error("no lane in the plane: %s", strerror(-r));
	return -1;
}

static int create_objects(struct run *run)
{
	const struct sp_run_options *options = &run->options;
	struct sp_net_opts net_opts = {.sz = sizeof(net_opts),
				       .forwarding = options->forward ? 1 : 2};
	const struct sp_conn_opts conn_opts = {
		.sz = sizeof(conn_opts),
		.max_conns = options->max_sockets,
	};
	int r;

	r = sp_net_create(run->plane, options->netns, &net_opts, &run->net);
	if (!r)
		r = sp_netdev_create(run->net, options->iface, 0,
				     options->have_mac ? options->mac : NULL,
				     &run->dev);
	if (r)
		return sp_cli_error("cannot make namespace %s with device %s: "
				    "%s",
				    options->netns, options->iface,
				    strerror(-r));
	r = sp_conn_table_create(run->net, &conn_opts, &run->conns);
	if (r)
		return sp_cli_error("no room for connections: %s",
				    strerror(-r));
	return -1;
}

static int create_observer(struct run *run)
{
	const struct sp_run_options *options = &run->options;
	struct sp_observer_opts opts = {
		.sz = sizeof(opts),
		.net = run->net,
		.dev = run->dev,
		.lane = &run->lane,
		.linktype = run->input.linktype,
		.mac = options->have_mac ? options->mac : NULL,
		.addrs = options->addrs,
		.nr_addrs = options->nr_addrs,
		.listens = options->listens,
		.nr_listens = options->nr_listens,
		.groups = options->groups,
		.nr_groups = options->nr_groups,
		.learn_ports = !options->nr_listens,
		.forward = options->forward,
		.vlan_id = options->vlan_id,
		.checksum = options->checksum,
		.conns = run->conns,
		.reasm_bytes = options->reasm_bytes,
	};
	int r = sp_observer_create(&opts, &run->observer);

	if (r)
		return sp_cli_error("cannot observe: %s", strerror(-r));
	return -1;
}

/* Earliest and latest packet: captures need not be in order. */
static void note_times(struct sp_run_result *result,
		       const struct sp_frame *frames, int nr)
{
	for (int i = 0; i < nr; i++) {
		if (frames[i].time_ns < result->first_ns)
			result->first_ns = frames[i].time_ns;
		if (frames[i].time_ns > result->last_ns)
			result->last_ns = frames[i].time_ns;
	}
}

static void count(struct run *run)
{
	struct sp_run_result *result = &run->result;
	struct sp_progress progress;
	const uint64_t start = now_ns();
	uint64_t beat = start, nr_packets = 0;
	int n;

	result->first_ns = UINT64_MAX;
	sp_progress_init(&progress, start);
	while (!sp_stop_signal()) {
		uint64_t now;

		n = sp_input_next(&run->input, run->frames, SP_CAPTURE_VECTOR);
		if (n <= 0)
			break;
		sp_observer_frames(run->observer, run->frames, (size_t)n);
		note_times(result, run->frames, n);
		nr_packets += (uint64_t)n;
		now = now_ns();
		sp_progress_show(&progress, now, &run->input, nr_packets);
		if (now - beat >= HEARTBEAT_NS) {
			sp_plane_heartbeat(run->plane);
			beat = now;
		}
	}
	sp_observer_finish(run->observer);
	sp_observer_read_stats(run->observer, &result->stats);
	result->elapsed_ns = now_ns() - start;
	result->signal = sp_stop_signal();
	if (!nr_packets)
		result->first_ns = 0;
	sp_cli_wipe_line();
}

static int fold(struct sp_reader *reader, enum sp_object_type type,
		const char *name, uint64_t *cells, size_t nr)
{
	struct sp_object object;
	int r = sp_reader_find(reader, type, 0, name, &object);

	return r ? r : sp_reader_fold(reader, &object, 0, nr, cells);
}

static int read_counters(struct run *run, struct sp_reader *reader)
{
	const struct sp_run_options *options = &run->options;
	int r;

	r = fold(reader, SP_OBJECT_NETNS, options->netns, run->net_cells,
		 NR_NET_CELLS);
	if (!r)
		r = fold(reader, SP_OBJECT_NETDEV, options->iface,
			 run->netdev_cells, NR_NETDEV_CELLS);
	return r;
}

static int write_tree(struct run *run, struct sp_reader *reader)
{
	const struct sp_run_options *options = &run->options;
	struct sp_render *render;
	int r = sp_render_create(reader, &render);

	if (r)
		return sp_cli_error("cannot render: %s", strerror(-r));
	sp_render_set_layout(render, options->layout);
	r = sp_tree_write(render, options->proc_dir);
	sp_render_destroy(render);
	return r;
}

/* What was counted, out of the plane as any reader sees it. */
static int report(struct run *run)
{
	struct sp_run_cells cells = {run->net_cells, run->netdev_cells};
	struct sp_reader *reader;
	int r = sp_reader_attach_fd(sp_plane_fd(run->plane), &reader);
	int status = SP_EXIT_OK;

	if (!r)
		r = read_counters(run, reader);
	if (r)
		return sp_cli_error("cannot read the plane: %s",
				    sp_cli_reason(r));
	if (run->options.proc_dir)
		status = write_tree(run, reader);
	if (run->options.json)
		sp_run_print_json(&run->result, &cells);
	else
		sp_run_print(&run->result, &cells);
	sp_reader_detach(reader);
	return status;
}

static int run_all(struct run *run)
{
	int status;

	if (run->options.proc_dir) {
		status = sp_tree_prepare(run->options.proc_dir);
		if (status)
			return status;
	}
	if ((status = open_input(run)) >= 0 ||
	    (status = create_plane(run)) >= 0 ||
	    (status = create_objects(run)) >= 0 ||
	    (status = create_observer(run)) >= 0)
		return status;
	count(run);
	status = report(run);
	if (status == SP_EXIT_OK && run->result.signal)
		return 128 + run->result.signal;
	return run->input.nr_faults ? SP_EXIT_FAILURE : status;
}

static void tear_down(struct run *run)
{
	/* one without counters is of no use to anybody; while it is open the
	 * name is ours */
	if (run->plane && *run->path && !run->observer)
		unlink(run->path);
	sp_observer_destroy(run->observer);
	if (run->lane.plane)
		sp_lane_release(&run->lane);
	sp_plane_close(run->plane);
	sp_input_fini(&run->input);
	sp_run_options_fini(&run->options);
}

int sp_cli_run(int argc, char **argv)
{
	static struct run run; /* too large for a stack frame */
	int status = sp_run_options_parse(&run.options, argc, argv);
	int r;

	if (status >= 0) {
		sp_run_options_fini(&run.options);
		return status;
	}
	run.result.options = &run.options;
	run.result.input = &run.input;
	sp_input_init(&run.input, run.options.paths, run.options.nr_paths);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* files too large are an error of write(2) */
	r = sp_stop_init();
	status = r ? sp_cli_error("cannot handle signals: %s", strerror(-r))
		   : run_all(&run);
	status = sp_cli_finish(status);
	tear_down(&run);
	return status;
}
