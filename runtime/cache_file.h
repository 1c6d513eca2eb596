/* cache_file.h -- files and folders of the kernel cache: opened so that nobody else's can be slipped in, written so that a
 * reader sees a whole file or none, and the layout of an entry.
 * A cached kernel is code that will run with the user's rights, so a file or folder counts only when it belongs to the user
 * or to root and nobody else may write to it. */
#ifndef RUNTIME_CACHE_FILE_H
#define RUNTIME_CACHE_FILE_H

#include <stddef.h>

#include "runtime/nvrtc.h"

enum { ENTRY_NAME = 30 + 4 };   /* 30 hex digits and ".gxk", in a folder named by the first two digits of the hash */

/* Open a folder below `parent` (AT_FDCWD: name is a path) without following a link in its last part; make: create it
 * with mode 0700 when it is not there. -1 when it is not there, is no folder, or others may write to it; *why (may be NULL)
 * then says which, as words that follow the path. */
int folder_open(int parent, const char *name, int make, const char **why);
/* mkdir -p for everything above the last part of the path. */
void folder_make_parents(const char *path);

/* The whole file, with a NUL after it; NULL when it is not there, not ours, not regular or longer than `limit`. Gives: free().
 * touch: note in the file's time that it is used now (at most once a day). */
char *file_read(int folder, const char *name, size_t limit, size_t *size, int touch);
/* Put the pieces into a temporary file in the folder and rename it to `name`. 0, or -1 and nothing has changed. */
int file_write(int folder, const char *name, const void *const *piece, const size_t *size, int n);

/* An entry in memory. */
struct entry {
	char *bytes;             /* the file: free() */
	const char *key;
	size_t key_len;
	struct image image;      /* image.bytes points into `bytes` */
};

enum { ENTRY_HEADER = 64 };
/* Header for a key and an image; the file is header, key, image. */
void entry_header(unsigned char header[ENTRY_HEADER], const char *key, size_t len, const struct image *image);
/* Take a file apart; 0 when lengths and checksum are right, else -1. Keeps bytes in *e either way. */
int entry_parse(struct entry *e, char *bytes, size_t size);

#endif
