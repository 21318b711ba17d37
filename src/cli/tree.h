/* SPDX-License-Identifier: MIT */
/*
 * cli/tree.h - the files of a plane as a directory that tools take for /proc.
 */
#ifndef SP_CLI_TREE_H
#define SP_CLI_TREE_H

#include <statplane/render.h>

/**
 * sp_tree_prepare() - make @path and its net/, if they are not there
 *
 * So that a place where nothing can be written is found before the counting.
 *
 * Return: exit status, with a message unless SP_EXIT_OK.
 */
int sp_tree_prepare(const char *path);

/**
 * sp_tree_write() - write all files below @path, all or none
 *
 * Each is written beside its place and takes it when all are complete, so a
 * reader never meets half a file, and a full disk leaves those that were there.
 *
 * Return: as above.
 */
int sp_tree_write(struct sp_render *render, const char *path);

#endif
