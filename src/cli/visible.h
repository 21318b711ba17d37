/* SPDX-License-Identifier: MIT */
/*
 * cli/visible.h - text of others in front of a person.
 *
 * Names of files, planes and devices, and what libraries say of damaged files,
 * may hold anything: sequences that a terminal obeys, line feeds that forge a
 * message, marks that turn the direction of writing. A character is visible if
 * it is well-formed UTF-8 and none of that.
 */
#ifndef SP_CLI_VISIBLE_H
#define SP_CLI_VISIBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * Length of the UTF-8 sequence in the @room bytes at @text; 0 if there is none.
 * Not looked beyond a NUL.
 */
size_t sp_utf8_len(const char *text, size_t room);
#define SP_UTF8_MAX 4

/* Is the well-formed character of @len bytes at @text a visible one? */
bool sp_is_visible(const char *text, size_t len);

/* Are all characters of @text? */
bool sp_all_visible(const char *text);

/**
 * sp_put_visible() - print @text with a '?' for each character that is not
 *
 * Return: characters printed, which is how many columns they mostly take.
 */
int sp_put_visible(FILE *file, const char *text);

/* The same for @len bytes of which line feeds are meant. Return: 0; -errno. */
int sp_put_visible_lines(FILE *file, const char *text, size_t len);

#endif
