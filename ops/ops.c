/* ops.c -- the tables of ops.h, expanded from the .def files, and look-ups by name. */
#include "ops/ops.h"

#include <string.h>

const struct type_info type_table[NTYPES] = {
#define TYPE(id, name, abbr, ctype, bytes, cls, reg) {name, #abbr, #ctype, bytes, cls, GX_##reg},
#include "ops/types.def"
#undef TYPE
};

/* The text of a meaning is stringised here, in the row macro itself: through a second macro it would be expanded. */
#define V(...) VECTOR_NAME_(#__VA_ARGS__)
#define VECTOR_NAME_(s) (sizeof(s) > 2)   /* "-" means that there is no vector function */
const struct op_info op_table[NOPS] = {
	{"", 0, 0, 0, 0, 0, 0, 0, "", ""},
#define OP(id, name, arity, cls, result, flags, u32, u64, vec, doc, ...) \
	{name, arity, CLASS_##cls, result, flags, u32, u64, vec, doc, #__VA_ARGS__},
#include "ops/ops.def"
#undef OP
};
#undef V

const struct red_info red_table[NREDS] = {
	{"", 0, 0, "", "", ""},
#define RED(id, name, cls, state, identity, doc, ...) {name, CLASS_##cls, state, #identity, doc, #__VA_ARGS__},
#include "ops/reductions.def"
#undef RED
};

const struct helper_info helper_table[] = {
#define HELPER(cls, name, result, params, ...) {CLASS_##cls, #name, #result, #params, #__VA_ARGS__},
#include "ops/helpers.def"
#undef HELPER
};
const int nhelpers = sizeof helper_table / sizeof *helper_table;

const struct function_info function_table[] = {
#define DEF(name, params, body, doc) {name, params, body, doc, 1},
#define MACRO(name, params, body, doc) {name, params, body, doc, 0},
#define ALIAS(spelling, name)
#include "ops/functions.def"
#undef DEF
#undef MACRO
#undef ALIAS
};
const int nfunctions = sizeof function_table / sizeof *function_table;

const struct alias_info alias_table[] = {
#define DEF(name, params, body, doc)
#define MACRO(name, params, body, doc)
#define ALIAS(spelling, name) {spelling, name},
#include "ops/functions.def"
#undef DEF
#undef MACRO
#undef ALIAS
};
const int naliases = sizeof alias_table / sizeof *alias_table;

enum op op_find(const char *name, gx_dtype t)
{
	for (int i = 1; i < NOPS; i++)
		if (type_has(t, op_table[i].cls) && strcmp(op_table[i].name, name) == 0)
			return (enum op)i;
	return OP_NONE;
}

enum op op_any(const char *name)
{
	for (int i = 1; i < NOPS; i++)
		if (strcmp(op_table[i].name, name) == 0)
			return (enum op)i;
	return OP_NONE;
}

enum red red_find(const char *name, gx_dtype t)
{
	for (int i = 1; i < NREDS; i++)
		if (type_has(t, red_table[i].cls) && strcmp(red_table[i].name, name) == 0)
			return (enum red)i;
	return RED_NONE;
}

const char *alias_resolve(const char *name)
{
	for (int i = 0; i < naliases; i++)
		if (strcmp(alias_table[i].spelling, name) == 0)
			return alias_table[i].name;
	return name;
}

const struct function_info *function_find(const char *name)
{
	for (int i = 0; i < nfunctions; i++)
		if (strcmp(function_table[i].name, name) == 0)
			return &function_table[i];
	return 0;
}
