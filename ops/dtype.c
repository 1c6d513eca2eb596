/* dtype.c -- the public functions about element types, from the type table. */
#include <string.h>

#include "ops/ops.h"

static int known(gx_dtype t)
{
	return (int)t >= 0 && (int)t < NTYPES;
}

const char *gx_dtype_name(gx_dtype t)
{
	return known(t) ? type_table[t].name : "?";
}

size_t gx_dtype_size(gx_dtype t)
{
	return known(t) ? type_table[t].bytes : 0;
}

int gx_dtype_find(const char *name, gx_dtype *t)
{
	for (int i = 0; i < NTYPES; i++)
		if (strcmp(type_table[i].name, name) == 0 || strcmp(type_table[i].abbr, name) == 0) {
			*t = (gx_dtype)i;
			return 0;
		}
	return -1;
}
