/* SPDX-License-Identifier: MIT */
/*
 * render/internal.h - the renderer, for the files of this room.
 *
 * All memory is allocated by sp_render_create(). One thread at a time.
 */
#ifndef SP_RENDER_INTERNAL_H
#define SP_RENDER_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <statplane/conn.h>
#include <statplane/net.h>
#include <statplane/reader.h>
#include <statplane/render.h>

#include "render/plan.h"
#include "render/text.h"

/* Attempts before a plane that changes all the time is given up. */
#define SP_RENDER_TRIES 16

/* Devices that are put in order at once; more take more passes. */
#define SP_RENDER_DEVS 1024

struct sp_dev_ref {
	uint64_t key; /* order in net/dev */
	uint64_t id;
};

struct sp_metrics; /* private to openmetrics.c */

struct sp_render {
	struct sp_reader *reader;
	enum sp_layout layout;
	bool any_net; /* no name was set: the first one */
	char net_name[SP_OBJECT_NAME_MAX + 1];
	struct sp_object net; /* id 0: not looked up */
	struct sp_text text;
	char *buf;
	uint64_t *values; /* sp_plan_max_slots() */
	uint64_t *shared; /* the same: figures of the shared unit */
	struct sp_dev_ref *devs;
	struct sp_plan plan[SP_NR_PLANS];
	struct sp_metrics *metrics;
};

/* What a name below /proc stands for. */
struct sp_file_ref {
	enum sp_file file;
	const char *dev; /* of net/dev_snmp6/DEVICE, else NULL */
};

/**
 * sp_render_prepare() - find the object that @ref shows and fold its figures
 * @ret_object: the namespace or the device
 *
 * For SP_FILE_DEV and SP_FILE_SOFTNET, which have a row an object or a unit,
 * nothing is folded: the plan is ready and ret_object is the namespace. So it is
 * for the files of sockets, which have no plan.
 *
 * Return: 0; -ENOENT; -EAGAIN; -ESTALE; -EBADMSG; -EPROTO.
 */
int sp_render_prepare(struct sp_render *render, const struct sp_file_ref *ref,
		      struct sp_object *ret_object);

/* One message type that is not zero, received ones first. @idx: 0 to start.
 * Return: false at the end. */
bool sp_render_next_type(const struct sp_render *render,
			 const struct sp_plan *plan, unsigned *idx, bool *is_in,
			 unsigned *type, uint64_t *value);

/*
 * Rows of net/dev. sp_render_next_dev() gives the devices of the namespace in
 * the order of the layout, each with its figures in render->values. Devices
 * that go away or keep changing meanwhile are left out.
 *
 * Return: 0; -ENOENT at the end; -EBADMSG; -EPROTO.
 */
struct sp_dev_walk {
	size_t nr, next; /* render->devs[] */
	uint64_t last_key, last_id;
	bool started, complete;
};
int sp_render_next_dev(struct sp_render *render, struct sp_dev_walk *walk,
		       struct sp_object *ret_dev);

/*
 * Rows of net/softnet_stat: a written unit each, the shared one excepted, whose
 * figures go to the first row; a plane that nobody wrote has one row of zeros.
 *
 * Return: 0; -ENOENT at the end; -ESTALE; -EBADMSG.
 */
struct sp_unit_walk {
	uint32_t nr_units;
	uint32_t next;
	bool started;
};
int sp_render_next_unit(struct sp_render *render, const struct sp_object *net,
			struct sp_unit_walk *walk, uint32_t *ret_row);

/* The files of sockets. */
static inline bool sp_file_is_sockets(enum sp_file file)
{
	return file >= SP_FILE_TCP && file < SP_NR_FILES;
}

/*
 * Rows of net/tcp and its kin, listeners before the others as in the kernel's
 * files; so the table is walked twice for TCP. A socket that comes or goes
 * meanwhile may be missed, but is never twice in the file.
 *
 * begin: Return: 0; -EBADMSG; -ESTALE; -ENOMEM.
 * next: Return: 0; -ENOENT at the end; -ESTALE.
 * end: also after an error of next.
 */
struct sp_socket_walk {
	struct sp_conn_walk *listeners; /* NULL: walked, or never asked for */
	struct sp_conn_walk *others;    /* NULL: the file never has rows */
	uint8_t family, protocol;
};
int sp_socket_walk_begin(struct sp_socket_walk *walk, struct sp_render *render,
			 const struct sp_object *net, enum sp_file file);
int sp_socket_walk_next(struct sp_socket_walk *walk, struct sp_conn *ret_conn);
void sp_socket_walk_end(struct sp_socket_walk *walk);

/* A file's text, its head included. Return: as sp_socket_walk_begin(). */
int sp_render_sockets(struct sp_render *render, const struct sp_object *net,
		      enum sp_file file);

/* Put the namespace's sockets, if its table has any, in the place of the gauges
 * that a plan of net/sockstat or net/sockstat6 folded. Return: as above. */
int sp_render_count_sockets(struct sp_render *render,
			    const struct sp_object *net, enum sp_file file);

/* Each writes one file to render->text; see sp_render_file(). */
int sp_render_proc(struct sp_render *render, const struct sp_file_ref *ref);
int sp_render_json(struct sp_render *render, const struct sp_file_ref *ref,
		   const char *name);

/* Memory for sp_render_openmetrics(). Return: it, NULL: no memory. */
struct sp_metrics *sp_metrics_create(void);
void sp_metrics_destroy(struct sp_metrics *metrics);

#endif
