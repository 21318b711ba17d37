/* SPDX-License-Identifier: MIT */
/*
 * statplane/export.h - what every public header needs and nothing more.
 *
 * SP_API marks a symbol that the shared library exports; everything else is
 * hidden. SP_BEGIN_DECLS and SP_END_DECLS make a header usable from C++.
 */
#ifndef STATPLANE_EXPORT_H
#define STATPLANE_EXPORT_H

#define SP_API __attribute__((visibility("default")))

#ifdef __cplusplus
#define SP_BEGIN_DECLS extern "C" {
#define SP_END_DECLS }
#else
#define SP_BEGIN_DECLS
#define SP_END_DECLS
#endif

#endif
