/* front.h -- for tests: program text and array descriptions to a plan, without a context. */
#ifndef TESTS_FRONT_H
#define TESTS_FRONT_H

#include "ir/plan.h"

struct front;
/* inputs: data is not looked at. Gives a front: front_free. NULL after an error, which is printed to
 * standard error. */
struct front *front_open(const char *text, const gx_array *inputs, int ninputs);
void front_free(struct front *f);
struct plan *front_plan(const struct front *f);

#endif
