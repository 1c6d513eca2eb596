/* group.h -- the first half of planning: which values are computed in which kernel. plan.c decides, kernel.c builds. */
#ifndef IR_GROUP_H
#define IR_GROUP_H

#include "ir/plan.h"

enum root_kind { ROOT_OUTPUT, ROOT_STORE, ROOT_REDUCE, ROOT_CHECK };

/* Something that a kernel must do: store an output or temporary, fold, check. */
struct root {
	enum root_kind kind;
	int number;             /* in ir->output, ir->def or ir->check */
	uint32_t value;
	struct shape shape;     /* its domain without axes of extent 1 */
	int axis[MAX_RANK];     /* which axis of the domain each of those is */
	int scans;              /* ROOT_REDUCE: of a scan */
	unsigned axes;          /* ROOT_REDUCE: reduced ones among them, or the scanned one */
	int level;
	int group;
	int in_tail;
	struct span span;
};

struct group {
	int level, reduces;     /* reduces: reductions or scans */
	int scans;
	int needed;             /* by a range check: runs before kernels that only write outputs */
	int checks;
	struct shape shape;     /* domain */
	unsigned axes;          /* reduced ones */
	int *root; size_t nroot, root_cap;
};

struct grouping {
	struct ir *ir;
	struct root *root; size_t nroot, root_cap;
	struct group *group; size_t ngroup, group_cap;
	int *def_group;         /* per definition: the group that makes it, -1 = dead */
	uint8_t *in_memory;     /* per definition: 1 when another kernel (or a body) loads it */
	uint32_t *mark;         /* per value: scratch of marking, equal to `stamp` = marked */
	uint32_t stamp;
};

/* Mark what is needed for the values marked so far (stamp set by the caller). Loads of definitions that `tail_of` makes (-1: none) are
 * not followed into memory: a stored value is marked itself. */
void mark_below(struct grouping *g, int tail_of);
/* Mark what one list of a group needs: its body, or its tail. number: the group's, also where `group` is a changed copy. */
void mark_list(struct grouping *g, const struct group *group, int tail, int number);
/* A load in r's domain that reads a whole C-contiguous temporary point by point, and the same element along r's axes in `fixed`. */
int reads_in_order(const struct ir *ir, const struct root *r, const struct ins *i, unsigned fixed);
/* Build group number `number`; as another group when `as` is given: the same roots seen as a reduction over as->axes. */
struct kernel *kernel_build(struct grouping *g, int number, const struct group *as, const int *temp_number, struct kernel *out);
/* The domain of a value without axes of extent 1: axis and shape of the root are set. */
struct root domain_of(const struct ir *ir, uint32_t v);
/* Fill p->row. sequence: the group of each kernel. */
void rows_find(struct grouping *g, struct plan *p, const int *sequence, const int *temp_number);

#endif
