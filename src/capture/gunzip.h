/* SPDX-License-Identifier: MIT */
/*
 * capture/gunzip.h - inflate what a source reads (RFC 1952), in constant
 * memory.
 */
#ifndef SP_CAPTURE_GUNZIP_H
#define SP_CAPTURE_GUNZIP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sp_gunzip;
struct sp_source;

/**
 * sp_gunzip_create() - begin with the @len bytes of @head, already read
 *
 * Return: 0; -ENOMEM.
 */
int sp_gunzip_create(const uint8_t *head, size_t len,
		     struct sp_gunzip **ret_gunzip);
void sp_gunzip_destroy(struct sp_gunzip *gunzip);

/**
 * sp_gunzip_read() - the next uncompressed bytes
 *
 * Several members after one another are one file, as for gzip itself.
 *
 * Return: as sp_source_read(). What came before damage is returned first.
 */
ssize_t sp_gunzip_read(struct sp_gunzip *gunzip, struct sp_source *source,
		       void *bytes, size_t len);

#endif
