/* emulate.h -- a third engine for tests: the CUDA C of a plan, compiled by the host's C++ compiler and run
 * on the CPU.
 *
 * Threads of a block are fibres that switch at barriers and shuffles; blocks and warps run in an order
 * drawn from a seed, so that a missing barrier shows. When the test program is built with
 * -fsanitize=address,undefined so are the kernels: every access of theirs is checked against the exact
 * sizes of the arrays (give them from malloc). Compiled kernels are kept in build/emulate
 * ($EMULATE_DIR); with EMULATE_TEXTS set so are their texts, for nvrtc_check. One thread at a time. */
#ifndef TESTS_EMULATE_H
#define TESTS_EMULATE_H

#include "codegen/codegen.h"
#include "runtime/backend.h"

struct emulate_options {
	unsigned seed; /* order of blocks, warps and lanes */
	gx_math math;
	int sms; /* size of the pretended device; 0 = 2 */
	const char *find,
		*replace; /* put one for the other in the kernels' texts: a defect on purpose; NULL = leave them */
};

enum { EMULATE_OK, EMULATE_CHECK, EMULATE_BROKEN, EMULATE_TEXT };

/* Compile the kernels of several plans at once: much cheaper than one by one. 0, or -1: see emulate_error.
 * Optional. */
int emulate_prepare(const struct plan *const *plan, int n, gx_math math);
/* Run all kernels of the plan on host arrays, exactly as a device would be driven. EMULATE_CHECK: an index
 * is out of range, *f says where. EMULATE_BROKEN: a defect of the kernel or of its arguments; EMULATE_TEXT: a
 * text cannot be compiled, or no text holds o->find. emulate_error has the sentence. o may be NULL. */
int emulate_run(const struct plan *p, const struct run_arrays *r, struct run_failure *f,
	const struct emulate_options *o);
const char *emulate_error(void);
void emulate_close(void); /* unload everything */

#endif
