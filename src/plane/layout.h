/* SPDX-License-Identifier: MIT */
/*
 * plane/layout.h - the bytes of a segment, as docs/segment-format.md has them.
 *
 *	+--------+----------+-----------+------+--------+-- --+--------+
 *	| header | sections | directory | blob | unit 0 | ... | tables |
 *	+--------+----------+-----------+------+--------+-- --+--------+
 *
 * Everything stands at a fixed place from the start: the file is sparse, has
 * its full length at once, and grows by being populated (fallocate) chunk by
 * chunk. So nothing ever moves or shrinks under a reader, and running out of
 * memory is an error code in the writer, never a SIGBUS. Offsets are from the
 * start of the file. All integers are in the writer's byte order; a reader of
 * the other one refuses.
 *
 * Unit 0 is the shared one (locked adds; populated from the start), units 1 to
 * nr_cpus belong to the CPUs, the rest are lanes.
 *
 * Memory ordering
 *   [P1] everything that a reader checks when it attaches -> hdr.state = live
 *        (release); acquire in sp_reader_attach_fd().
 *   [P2] a directory entry changes between an odd and the next even seq. The
 *        words are stored with release after the odd value and loaded with
 *        acquire before seq is compared: a word of the change implies that the
 *        comparison sees at least the odd value.
 *   [P3] memory populated -> section.used or units_written (release); acquire
 *        by whoever reads the memory.
 *   [P4] entry removed, release fence, cells used again by somebody else; a
 *        reader loads the cells, acquire fence, then compares incarnation and
 *        type: a sum with a foreign value in it is known to be void.
 */
#ifndef SP_PLANE_LAYOUT_H
#define SP_PLANE_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#define SP_PLANE_MAGIC  0x454e414c50544153ull /* "SATPLANE" */
#define SP_PLANE_MAJOR  1
#define SP_PLANE_MINOR  1
#define SP_PLANE_ENDIAN 0x01020304u

#define SP_MAX_UNITS    4096
#define SP_MAX_SECTIONS 16

enum sp_section_type {
	SP_SECTION_END,
	SP_SECTION_DIRECTORY,
	SP_SECTION_BLOB,
	SP_SECTION_UNITS,
	SP_SECTION_TABLES, /* a plane may have none */
};

/* A reader skips the types that it does not know. */
struct sp_section {
	uint32_t type;
	uint32_t flags;
	uint64_t off;
	uint64_t len;      /* reserved bytes */
	uint64_t used;     /* valid bytes; only grows (units: of each unit;
			    * tables: given to tables, valid as each says) */
	uint64_t item_len; /* directory: an entry; units: the stride */
	uint64_t pad[3];
};

/* hdr.state */
enum {
	SP_STATE_INIT,
	SP_STATE_LIVE,
	SP_STATE_CLEAN
};

/* At offset 0 of the file. */
struct sp_plane_hdr {
	uint64_t magic;
	uint16_t version_major;
	uint16_t version_minor;
	uint32_t endian;
	uint32_t page_size;
	uint32_t state; /* [P1] release by the writer */
	uint64_t feature_compat;
	uint64_t feature_ro_compat;
	uint64_t feature_incompat;
	uint8_t boot_id[16];
	uint8_t uuid[16];
	uint32_t pid;
	uint32_t percpu_mode;
	uint64_t pid_start_ticks; /* field 22 of /proc/PID/stat */
	uint64_t birth_realtime_ns;
	uint64_t birth_monotonic_ns;
	uint64_t heartbeat_realtime_ns;
	uint64_t file_len;
	uint32_t nr_units;
	uint32_t nr_cpus;
	uint32_t nr_lanes;
	uint32_t nr_sections;
	uint64_t nr_objects; /* live entries */
	char program[32];
	uint64_t pid_ns; /* inode of the writer's pid namespace, or 0 */
	uint8_t pad[64]; /* units_written starts at byte 256 */
	uint64_t units_written[SP_MAX_UNITS / 64]; /* bit: written ever */
	struct sp_section section[SP_MAX_SECTIONS];
};

/*
 * One named object. The writer makes seq odd, changes the entry, makes seq
 * even; a reader copies it between two equal even values [P2]. incarnation
 * grows each time the slot is used again; an id is incarnation << 32 | slot
 * + 1.
 */
struct sp_dir_entry {
	uint32_t seq;
	uint32_t incarnation;
	uint32_t type; /* enum sp_object_type; 0: free */
	uint32_t nr_cells;
	uint64_t parent;
	uint64_t schema;
	uint64_t cells_off;
	uint64_t blob_off;
	uint64_t blob_bytes;
	uint64_t pad;
	uint64_t attr[8];
	char name[64];
};

_Static_assert(sizeof(struct sp_section) == 64, "on-disk layout");
_Static_assert(offsetof(struct sp_plane_hdr, units_written) == 256,
	       "on-disk layout");
_Static_assert(sizeof(struct sp_plane_hdr) == 1792, "on-disk layout");
_Static_assert(sizeof(struct sp_dir_entry) == 192, "on-disk layout");

#endif
