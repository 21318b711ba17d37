/* SPDX-License-Identifier: MIT */
/*
 * statplane/render.h - a plane as the kernel's text files, JSON, OpenMetrics.
 *
 * A renderer sees the plane only through a reader: in the writer's process and
 * in another one the code path is the same. Its buffers are allocated when it
 * is created; rendering needs constant memory for any number of rows, and
 * allocates none but, for files of sockets and net/sockstat, what walks their
 * table. A renderer belongs to one thread at a time.
 *
 * Items are found by the names in the plane's schemas. A plane of another version
 * can be shown: what this library does not know is left out, what the plane does
 * not have is 0.
 */
#ifndef STATPLANE_RENDER_H
#define STATPLANE_RENDER_H

#include <stddef.h>
#include <stdint.h>

#include <statplane/export.h>
#include <statplane/reader.h>

SP_BEGIN_DECLS

/* Whose files: columns differ from kernel to kernel, and parsers go by them. */
enum sp_layout {
	SP_LAYOUT_6_18, /* the default */
	SP_LAYOUT_6_12,
	SP_LAYOUT_6_1,
	SP_LAYOUT_5_15,
	SP_NR_LAYOUTS
};

/* "6.18" and so on; NULL for a value out of range. */
SP_API const char *sp_layout_name(enum sp_layout layout);
/* Return: 0, or -EINVAL for an unknown name. */
SP_API int sp_layout_parse(const char *name, enum sp_layout *ret_layout);

struct sp_render;

/**
 * sp_render_create() - a renderer over @reader, which must outlive it
 *
 * Return: 0; -ENOMEM.
 */
SP_API int sp_render_create(struct sp_reader *reader,
			    struct sp_render **ret_render);
SP_API void sp_render_destroy(struct sp_render *render);
/* A value out of range changes nothing. */
SP_API void sp_render_set_layout(struct sp_render *render,
				 enum sp_layout layout);

/**
 * sp_render_set_net() - whose files are shown
 * @name: a namespace of the plane, NULL for the first one (the default)
 *
 * The name stays set when there is no such namespace: its files can be shown as
 * soon as there is one.
 *
 * Return: 0; -ENOENT.
 */
SP_API int sp_render_set_net(struct sp_render *render, const char *name);

/*
 * Takes the text as it is made, in pieces that end between two items, never inside
 * a word or a number. Return 0, or -errno to stop.
 */
typedef int sp_render_write_fn(void *ctx, const char *text, size_t len);

/**
 * sp_render_file() - one file of /proc
 * @name: below /proc, e.g. "net/snmp", "net/dev_snmp6/eth0"
 * @write: called with @ctx; not at all if the file cannot be shown
 *
 * All figures of a file come from one pass over the units; in net/dev, from one
 * a device. A gauge of net/sockstat whose sum is below 0 shows as 0.
 *
 * net/softnet_stat has a row for each unit that was ever written, numbered by
 * the unit's CPU, or behind the CPUs for a lane; what went to the shared unit is
 * in the first row. A plane that was never written has one row of zeros.
 *
 * net/tcp, net/udp, net/udplite and their IPv6 kin have a row for each socket of
 * the namespace's table (statplane/conn.h), none without a table; net/raw and
 * net/raw6 never have one. Where the table has rows, net/sockstat counts them,
 * whatever the gauges of the same name say.
 *
 * Return: 0; -ENOENT for a file or namespace that there is not; -ESTALE or
 * -EAGAIN if the plane changed under it all the time; -EBADMSG if the segment
 * contradicts itself; -EPROTO if it needs a later version of this library; -ENOMEM
 * (files of sockets, net/sockstat); what @write returned. After -ESTALE, -EAGAIN and -EBADMSG
 * rows may have been written.
 */
SP_API int sp_render_file(struct sp_render *render, const char *name,
			  sp_render_write_fn *write, void *ctx);
/* The same figures as one JSON object: docs/json.md. */
SP_API int sp_render_file_json(struct sp_render *render, const char *name,
			       sp_render_write_fn *write, void *ctx);

/**
 * sp_render_next_file() - name the files that sp_render_file() can make
 * @cursor: 0 to start; moved on
 * @name: at least SP_RENDER_NAME_MAX bytes
 *
 * Names are safe to use below a directory. A device whose name is not (which only
 * a damaged plane has) is left out.
 *
 * Return: 0; -ENOENT at the end, or if there is no such namespace.
 */
#define SP_RENDER_NAME_MAX 128
SP_API int sp_render_next_file(struct sp_render *render, uint64_t *cursor,
			       char *name);

/**
 * sp_render_openmetrics() - everything in the plane as OpenMetrics 1.0.0 text
 *
 * Kernel items are statplane_GROUP_ITEM_total{netns="..."} and so on, a program's
 * own SCHEMA_GROUP_ITEM_total{mib="..."}: docs/openmetrics.md. Ends with "# EOF"
 * if nothing went wrong.
 *
 * Return: as sp_render_file(); -E2BIG for more than about 15,000 families.
 */
SP_API int sp_render_openmetrics(struct sp_render *render,
				 sp_render_write_fn *write, void *ctx);

SP_END_DECLS

#endif
