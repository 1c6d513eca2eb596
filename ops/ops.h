/* ops.h -- the vocabulary: element types, operations, helpers and reductions, as enums and tables made from the .def files.
 * Pure data and look-ups: everything is static and immutable. */
#ifndef OPS_OPS_H
#define OPS_OPS_H

#include <stdint.h>

#include "include/gpuexpr.h"

/* Classes of element types; masks of them say what a row takes. */
enum { C_BOOL = 1, C_SINT = 2, C_UINT = 4, C_HALF = 8, C_FLT = 16, C_COMPLEX = 32 };
enum {   /* the class column of the .def files */
	CLASS_BOOL = C_BOOL, CLASS_SINT = C_SINT, CLASS_UINT = C_UINT, CLASS_FLT = C_FLT, CLASS_INT = C_SINT | C_UINT,
	CLASS_NUM = CLASS_INT | C_FLT, CLASS_INTB = CLASS_INT | C_BOOL, CLASS_UINTB = C_UINT | C_BOOL, CLASS_ANY = CLASS_NUM | C_BOOL
};

struct type_info {
	const char *name, *abbr, *ctype;   /* "float32", "f32", "float" */
	unsigned char bytes, cls, reg;     /* cls: one C_ bit; reg: the gx_dtype that expressions compute in */
};
enum { NTYPES = GX_COMPLEX128 + 1 };
extern const struct type_info type_table[NTYPES];

enum { SAME, TEST };                                       /* result rules */
enum { COMM = 1, COND = 2, F64 = 4, NOBOOL = 8 };          /* flags */
enum { ONE, PAIR, MOMENTS };                               /* reduction states */

enum op {
	OP_NONE,
#define OP(id, name, arity, cls, result, flags, u32, u64, vec, doc, ...) OP_##id,
#include "ops/ops.def"
#undef OP
	NOPS
};

struct op_info {
	const char *name;              /* in the language; starts with _ when internal */
	unsigned char arity, cls, result, flags;
	unsigned char ulp32, ulp64;    /* largest error of any engine, in units of the last place */
	unsigned char heavy;           /* 1: a function call worth tens of simple operations */
	const char *doc;               /* "" for further rows of the same name */
	const char *text;              /* the meaning, C text */
};
extern const struct op_info op_table[NOPS];

enum red {
	RED_NONE,
#define RED(id, name, cls, state, identity, doc, ...) RED_##id,
#include "ops/reductions.def"
#undef RED
	NREDS
};

struct red_info {
	const char *name;
	unsigned char cls, state;
	const char *identity, *doc, *text;
};
extern const struct red_info red_table[NREDS];

struct helper_info {
	unsigned char cls;
	const char *name, *result, *params, *body;
};
extern const struct helper_info helper_table[];
extern const int nhelpers;

struct function_info { const char *name, *params, *body, *doc; int floats; };   /* defined in the language itself */
extern const struct function_info function_table[];
extern const int nfunctions;

struct alias_info { const char *spelling, *name; };
extern const struct alias_info alias_table[];
extern const int naliases;

/* The row with this name that takes register type t, or OP_NONE. */
enum op op_find(const char *name, gx_dtype t);
/* Any row with this name (for arity and documentation), or OP_NONE. */
enum op op_any(const char *name);
enum red red_find(const char *name, gx_dtype t);
const char *alias_resolve(const char *name);   /* NumPy's spelling to ours; the name itself when it has none */
const struct function_info *function_find(const char *name);

static inline int type_has(gx_dtype t, unsigned cls)
{
	return (type_table[t].cls & cls) != 0;
}

#endif
