/* check.h -- AST to IR: names, promotion, broadcasting, choice of operations; every type and shape error is found here.
 * The public entry is check_program; the rest is shared between check.c, value.c, call.c, elementwise.c, index.c, reduce.c, scan.c,
 * make.c and types.c. */
#ifndef IR_CHECK_H
#define IR_CHECK_H

#include "ir/ir.h"
#include "parser/ast.h"

/* What the caller binds to a free name. */
struct binding {
	const char *name;
	gx_dtype dtype;
	gx_place place;
	struct shape shape;
	int64_t stride[MAX_RANK];
	int64_t integer;
	double real;
	int used;
};

/* Types, shapes and statements of a program to IR. NULL after an error in d. Memory: arena a (its `fail` is set). */
struct ir *check_program(struct arena *a, struct diag *d, const struct formula *f, struct binding *b, int n);

/* ---- inside ir/ ---- */

enum { STRONG, WEAK_INT, WEAK_FLOAT };
__extension__ typedef __int128 wide_int;

/* A value while a program is checked. float16 and bfloat16 values are computed in float32: `type` is what the user sees, the register
 * is type_table[type].reg. */
struct val {
	int bad;               /* poison: an error was reported, say no more */
	uint32_t ins;          /* STRONG */
	gx_dtype type;
	struct shape shape;
	int weak;
	wide_int integer;      /* WEAK_INT, within [-2^63, 2^64) */
	double real;           /* WEAK_FLOAT */
	int by_arg;            /* weak: made of scalar inputs or extents, so kernels take it as an argument */
	struct span span;
};

struct scope;

struct check_state {
	struct arena *arena;
	struct diag *diag;
	struct formula *f;
	struct ir *ir;
	struct binding *binding;
	int nbinding;
	struct scope *scope;       /* innermost; globals last */
	struct scope *globals;
	const struct ast **def; size_t ndef, def_cap;
	const struct ast *active[MAX_DEPTH]; int nactive;   /* defs being inlined */
	struct { const char *name; const struct ast *def; struct text text; } builtin[64]; int nbuiltin;
	int library;               /* inside a function of ops/functions.def: the program's own defs are not seen there */
};

/* Arguments of a call: positional nodes and keywords by name. */
struct call {
	const struct ast *node;
	const struct ast *arg[16];
	int n;
};

struct val poison(void);
struct val eval(struct check_state *c, const struct ast *n);
struct val weak_int(wide_int v, int by_arg, struct span span);
struct val weak_float(double v, int by_arg, struct span span);
struct val strong(uint32_t ins, gx_dtype type, const struct shape *s, struct span span);
struct val fail(struct check_state *c, gx_status s, struct span at, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
char *span_text(const struct check_state *c, struct span s);   /* what was written, shortened */
char *describe(const struct check_state *c, const struct val *v);   /* "float32 (3, 4)" */

/* types.c */
gx_dtype promote(gx_dtype a, gx_dtype b);
gx_dtype float_of(gx_dtype t);               /* what functions such as sin make of a type */
gx_dtype common_type(const struct val *v, int n);   /* NEP 50 over strong and weak values */
gx_dtype reg_of(gx_dtype t);

/* elementwise.c */
struct val convert(struct check_state *c, struct val v, gx_dtype type);           /* strong, of that type; literals are range-checked */
struct val cast_to(struct check_state *c, struct val v, gx_dtype type, struct span at);   /* as the user's f32(x) */
struct val truth(struct check_state *c, struct val v);                            /* bool */
struct val rounded(struct check_state *c, struct val v);                          /* float16 and bfloat16 rounded, as a name holds them */
struct val harden(struct check_state *c, struct val v);                           /* weak to its default type */
uint32_t spread(struct check_state *c, const struct val *v, const struct shape *to);   /* its instruction over a larger domain */
int broadcast(struct check_state *c, const struct val *v, int n, struct span at, struct shape *out);   /* 0, or -1 after an error */
struct val apply(struct check_state *c, const char *op, const struct val *v, int n, struct span at);
struct val apply1(struct check_state *c, const char *op, struct val a, struct span at);
struct val apply2(struct check_state *c, const char *op, struct val a, struct val b, struct span at);
struct val choose(struct check_state *c, struct val cond, struct val a, struct val b, struct span at);

/* index.c, reduce.c, scan.c, make.c: 1 when the name is theirs (then *out is set). */
struct val index_value(struct check_state *c, const struct ast *n);
struct val gather_axis(struct check_state *c, struct val a, int axis, struct val index);   /* in range by construction */
struct val transpose_value(struct check_state *c, struct val a, const int *order);
int reduce_call(struct check_state *c, struct call *k, struct val *out);
int scan_call(struct check_state *c, struct call *k, struct val *out);
int make_call(struct check_state *c, struct call *k, struct val *out);
int reduction_known(const char *name);
int scan_known(const char *name);
int make_known(const char *name);
void suggest_reductions(struct suggestion *s);
void suggest_scans(struct suggestion *s);
void suggest_makes(struct suggestion *s);
void reductions_table(struct buf *b);   /* Markdown, for --ops and docs/LANGUAGE.md */
void scans_table(struct buf *b);
void makes_table(struct buf *b);

/* check.c, call.c */
void scope_set(struct check_state *c, struct scope *s, const char *name, struct val v, struct span span);
struct scope *scope_inner(struct check_state *c);   /* for the body of a def */
struct val call_value(struct check_state *c, const struct ast *n);
struct val logical(struct check_state *c, const char *op, struct val *v, int n, struct span at);   /* and, or, not */
int not_yet(struct check_state *c, const struct ast *n, const char *name);   /* 1 after the error for what comes later: @ */

/* Keyword and argument helpers (value.c). */
const struct ast *keyword(const struct call *k, const char *name);
int allow_keywords(struct check_state *c, const struct call *k, const char *const *names);   /* 0, or -1 after an error */
int known_int(struct check_state *c, const struct ast *n, const char *what, int64_t *out);   /* 0, or -1 after an error */
int known_flag(struct check_state *c, const struct ast *n, int *out);
int dtype_keyword(struct check_state *c, const struct call *k, int *has, gx_dtype *t);
int axis_number(struct check_state *c, const struct ast *n, int rank, int *axis);
int too_many(struct check_state *c, const struct call *k, int min, int max);   /* arity of positional arguments; -1 after an error */

#endif
