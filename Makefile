# gpuexpr: all rules. `make demo` sets up, builds and shows; `make test` tests; `make help` lists the rest.
CC      ?= cc
CXX     ?= c++
CFLAGS  ?= -O2 -g
PREFIX  ?= /usr/local
LIBDIR  ?= $(PREFIX)/lib
B       ?= build
V       ?=
Q        = $(if $(V),,@)

WARN     = -Wall -Wextra -Wpedantic -Werror
CPP      = -I. -I$(B) -D_GNU_SOURCE $(DEFS)
STRICT   = -std=c11 $(WARN) -fwrapv -ffp-contract=off -fno-math-errno -fvisibility=hidden -fPIC
LIBS     = -lsleef -lm -lpthread -ldl

# In pipeline order; a folder includes only folders above it (make lint proves it).
ROOMS    = base ops lexer parser ir codegen runtime
LIB_C    = $(foreach r,$(ROOMS),$(filter-out ops/loops_isa.c,$(sort $(wildcard $(r)/*.c))))
LIB_O    = $(LIB_C:%.c=$(B)/%.o) $(B)/lexer/lex.o $(B)/parser/grammar.o $(ISA_O)
TOOL_C   = $(sort $(wildcard formats/*.c tool/*.c))
TOOL_O   = $(TOOL_C:%.c=$(B)/%.o)

all: $(B)/gpuexpr $(B)/libgpuexpr.so $(B)/libgpuexpr.a

include scripts/isa.mk

$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(STRICT) $(CPP) $(CFLAGS) -MMD -MP -c $< -o $@

# $(call need,PROGRAM): says where to get what a recipe is about to run.
need = @command -v $(1) >/dev/null || { echo 'make: $(1) is missing; ./bootstrap installs it, or says how' >&2; exit 1; }

$(B)/lexer/lex.c: lexer/lex.re
	$(call need,re2c)
	@mkdir -p $(@D)
	$(Q)re2c -W -Werror -i $< -o $@

$(B)/parser/grammar.c: parser/grammar.y
	$(call need,lemon)
	@mkdir -p $(@D)
	$(Q)lemon -l -q -d$(@D) $<

$(B)/parser/grammar.h: $(B)/parser/grammar.c

$(B)/lexer/lex.o: $(B)/lexer/lex.c $(B)/parser/grammar.h
	$(Q)$(CC) $(STRICT) $(CPP) $(CFLAGS) -MMD -MP -c $< -o $@

# lemon's own code trips -Wextra; the grammar's actions are in our hands and small.
$(B)/parser/grammar.o: $(B)/parser/grammar.c
	$(Q)$(CC) $(STRICT) -Wno-unused-parameter -Wno-unused-variable -Wno-sign-compare $(CPP) $(CFLAGS) -MMD -MP -c $< -o $@

$(B)/parser/parse.o: $(B)/parser/grammar.h

$(B)/libgpuexpr.a: $(LIB_O)
	$(Q)rm -f $@ && ar rcs $@ $^

$(B)/libgpuexpr.so: $(LIB_O) scripts/exports.map
	$(Q)$(CC) -shared $(LDFLAGS) -Wl,-soname,libgpuexpr.so.0 -Wl,--version-script=scripts/exports.map -Wl,-rpath,'$$ORIGIN' -o $(B)/libgpuexpr.so.0 $(LIB_O) $(LIBS)
	$(Q)ln -sf libgpuexpr.so.0 $@

$(B)/gpuexpr: $(TOOL_O) $(B)/libgpuexpr.a
	$(Q)$(CC) $(LDFLAGS) -Wl,-rpath,'$$ORIGIN' -o $@ $(TOOL_O) $(B)/libgpuexpr.a $(LIBS) -lz

# What `make test` runs, in the order of how soon it tells something; each leaves build/log/NAME.log that ends with its count.
TESTS = unit lang emulate api golden cases numpy random cli examples install docs lint

# All cores, unless make was called with a -j of its own.
JOBS     = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc 2>/dev/null || echo 2))

test: setup
	@rm -rf $(B)/log && mkdir -p $(B)/log
	@for t in $(TESTS); do $(MAKE) $(JOBS) --no-print-directory test-$$t || true; \
		[ -f $(B)/log/$$t.log ] || echo "FAIL $$t: did not build" >$(B)/log/$$t.log; done
	@sh scripts/sum.sh $(B)/log

help:
	@echo 'make demo     set up, build, compute something'
	@echo 'make          build/gpuexpr, build/libgpuexpr.so and .a'
	@echo 'make test     all tests that need no GPU; one suite: make test-NAME, NAME one of'
	@echo '              $(TESTS)'
	@echo 'make install  PREFIX=$(PREFIX) DESTDIR= LIBDIR=$(LIBDIR); make uninstall'
	@echo 'make lint docs bless bench-cpu; with a GPU: make gpu-folder, then make test-gpu, test-gpu-memcheck, bench'

include scripts/install.mk scripts/tests.mk
-include scripts/python.mk scripts/cli.mk scripts/bench.mk scripts/gpu.mk scripts/check.mk

clean:
	rm -rf $(B)

-include $(wildcard $(B)/*/*.d)
.PHONY: all clean test help
