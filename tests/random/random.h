/* random.h -- random programs for the differential test: trees of typed expressions that are right by construction, printed as text. */
#ifndef TESTS_RANDOM_H
#define TESTS_RANDOM_H

#include <stddef.h>
#include <stdint.h>

enum kind { FLOAT, INTEGER, TRUTH };
enum { MOST_KIDS = 3, MOST_STATEMENTS = 3 };

/* `form` is the text of the node with one %s for each kid. */
struct node {
	const char *form;
	struct node *kid[MOST_KIDS];
	int nkid, kind;
};

/* y0 = ...; y1 = ...; a loose one ends in a function or a float sum, whose last bits may differ between engines. */
struct program {
	struct node *statement[MOST_STATEMENTS];
	int n, loose[MOST_STATEMENTS];
	int rows, columns;
};

uint64_t draw(uint64_t n);   /* 0 to n - 1 */
void draw_from(uint64_t seed);
struct program program_make(void);
void program_text(const struct program *p, char *text, size_t size);
void program_free(struct program *p);
/* The next smaller program: one node is replaced by a kid of its kind, the n-th that can be; 0 when there is none. The node is put
 * back by program_restore. */
int program_shrink(struct program *p, int n, struct node **node, struct node *was);
void program_restore(struct node *node, const struct node *was);

#endif
