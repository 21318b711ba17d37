// SPDX-License-Identifier: MIT
/*
 * cli/visible.c - see cli/visible.h.
 */
#include "cli/visible.h"

#include <errno.h>

size_t sp_utf8_len(const char *text, size_t room)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t len = s[0] < 0x80             ? 1
		     : (s[0] & 0xe0) == 0xc0 ? 2
		     : (s[0] & 0xf0) == 0xe0 ? 3
		     : (s[0] & 0xf8) == 0xf0 ? 4
					     : 0;

	if (len > room)
		return 0;
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	/* overlong forms, surrogates, beyond U+10FFFF */
	if ((len == 2 && s[0] < 0xc2) || (s[0] == 0xe0 && s[1] < 0xa0) ||
	    (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
	    s[0] > 0xf4 || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return len;
}

bool sp_is_visible(const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text;

	if (len == 1)
		return s[0] >= ' ' && s[0] != 0x7f;
	if (len == 2) /* U+0080 to U+009F: terminals know them, too */
		return s[0] != 0xc2 || s[1] >= 0xa0;
	if (len == 3 && s[0] == 0xe2 && s[1] == 0x80)
		return s[2] < 0xa8 || s[2] > 0xae; /* lines, directions */
	if (len == 3 && s[0] == 0xe2 && s[1] == 0x81)
		return s[2] < 0xa6 || s[2] > 0xa9; /* directions */
	return true;
}

bool sp_all_visible(const char *text)
{
	while (*text) {
		size_t len = sp_utf8_len(text, SP_UTF8_MAX);

		if (!len || !sp_is_visible(text, len))
			return false;
		text += len;
	}
	return true;
}

/* Return: bytes of @text that are done. */
static size_t put_char(FILE *file, const char *text, size_t room)
{
	size_t len = sp_utf8_len(text, room);

	if (len && sp_is_visible(text, len))
		fwrite(text, 1, len, file);
	else
		fputc('?', file);
	return len ? len : 1;
}

int sp_put_visible(FILE *file, const char *text)
{
	int nr = 0;

	for (; *text; nr++)
		text += put_char(file, text, SP_UTF8_MAX);
	return nr;
}

int sp_put_visible_lines(FILE *file, const char *text, size_t len)
{
	errno = 0;
	while (len) {
		size_t done = 1;

		if (*text == '\n')
			fputc('\n', file);
		else
			done = put_char(file, text, len);
		text += done;
		len -= done;
	}
	if (!ferror(file))
		return 0;
	return errno ? -errno : -EIO;
}
