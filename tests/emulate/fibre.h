/* fibre.h -- the threads of one emulated block: run until all have ended, switching at barriers and
 * shuffles. */
#ifndef TESTS_FIBRE_H
#define TESTS_FIBRE_H

struct emu_dim {
	unsigned x, y, z;
};

/* As in shim.h. */
struct emu_state {
	struct emu_dim thread, block, block_dim, grid_dim;
	void (*barrier)(int line);
	unsigned long long (*shuffle)(unsigned mask, unsigned long long bits, unsigned lane, int line);
};

unsigned emu_random(unsigned *state);
/* Run entry(args) in state->block_dim.x threads. NULL, or what is wrong with the kernel. */
const char *fibre_block(
	struct emu_state *state, void (*entry)(const void *), const void *args, unsigned *seed);
void fibre_close(void);

#endif
