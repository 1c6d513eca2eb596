# The CPU loops: ops/loops_isa.c once for each instruction set of this processor family.
LOOP_FLAGS = -O3 -fno-trapping-math -Wno-unused-function -Wno-type-limits -Wno-unknown-pragmas
ifeq ($(shell $(CC) -dumpmachine | cut -d- -f1),x86_64)
ISAS = sse2 avx2 avx512
else
ISAS = generic
endif
ISA_avx2   = -mavx2 -mfma -mf16c -mbmi2
ISA_avx512 = -mavx512f -mavx512dq -mavx512bw -mavx512vl -mfma -mf16c -mbmi2 -mprefer-vector-width=512
ISA_O = $(ISAS:%=$(B)/ops/loops_%.o)

$(ISA_O): $(B)/ops/loops_%.o: ops/loops_isa.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(STRICT) $(CPP) $(CFLAGS) $(LOOP_FLAGS) $(ISA_$*) -DISA=$* -MMD -MP -c $< -o $@

# The movers of blocks are loops too.
$(B)/runtime/cpu_block.o $(B)/runtime/cpu_reduce.o $(B)/runtime/cpu_scan.o $(B)/runtime/cpu_carry.o: CFLAGS += -O3
