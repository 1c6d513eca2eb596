# Tests of the library: unit tests, language cases, goldens, API. Each target prints a count line and leaves $(B)/log/NAME.log.
# Two more builds of the library serve them: $(B)/faults (sanitizers, allocations that fail on request) and $(B)/tsan.
TEST_C   = $(CC) -std=c11 $(WARN) $(CPP) -O1 -g -Wl,-rpath,'$$ORIGIN'
SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=all
SHARED_O = $(B)/lexer/lex.o $(B)/parser/grammar.o $(ISA_O)
FAULT_O  = $(LIB_C:%.c=$(B)/faults/%.o)
TSAN_O   = $(LIB_C:%.c=$(B)/tsan/%.o)
CASES    = $(sort $(wildcard tests/lang/*.gx))
CASE_C   = tests/lang_case.c tests/lang_values.c
T       ?= *
GOLDENS  = $(sort $(wildcard tests/golden/$(T).gx))

# $(call log,NAME,COMMAND): run, keep the log, show what is not ok, end log and output with the sum of the count lines.
log = @mkdir -p $(B)/log; rc=0; { $(2); } >$(B)/log/$(1).log 2>&1 || rc=1; \
	grep -v '^ok \|[0-9] passed, [0-9]* failed' $(B)/log/$(1).log | head -200; \
	awk '/^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$$/ {p += $$1; f += $$3; s += $$5} \
	END {printf "%d passed, %d failed, %d skipped\n", p, f + ('$$rc' && !f), s}' $(B)/log/$(1).log >$(B)/log/$(1).sum; \
	cat $(B)/log/$(1).sum >>$(B)/log/$(1).log; echo "$(1): `cat $(B)/log/$(1).sum` ($(B)/log/$(1).log)"; rm $(B)/log/$(1).sum; exit $$rc
# $(call each,PROGRAMS): one after the other, going on after a failure; the status is that of all.
each = all=0; for p in $(1); do $(2) $$p || { echo "FAIL (status $$?) $${p%% *}"; all=1; }; done; [ $$all = 0 ]

$(B)/faults/%.o: %.c $(B)/parser/grammar.h
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c11 -O1 -g -fwrapv -ffp-contract=off -fno-math-errno $(SANITIZE) -DGX_FAULTS $(CPP) -MMD -MP -c $< -o $@

$(B)/tsan/%.o: %.c $(B)/parser/grammar.h
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c11 -O1 -g -fwrapv -ffp-contract=off -fno-math-errno -fsanitize=thread $(CPP) -MMD -MP -c $< -o $@

# ---- language cases ----
RUN_LANG_C = tests/run_lang.c tests/lang_emulate.c $(CASE_C) $(addprefix tests/emulate/,emulate.c fibre.c front.c)
$(B)/tests/run_lang: $(RUN_LANG_C) tests/lang.h $(B)/libgpuexpr.a
	@mkdir -p $(@D)
	$(Q)$(TEST_C) -rdynamic -o $@ $(RUN_LANG_C) $(B)/libgpuexpr.a $(LIBS)

$(B)/tests/run_lang_san: $(RUN_LANG_C) tests/lang.h $(FAULT_O) $(SHARED_O)
	@mkdir -p $(@D)
	$(Q)$(TEST_C) $(SANITIZE) -DGX_FAULTS -rdynamic -o $@ $(RUN_LANG_C) $(FAULT_O) $(SHARED_O) $(LIBS)

# The CPU engine as it is shipped and under sanitizers; the emulator under sanitizers (so are its kernels), half of the cases on each
# of two processors.
EVEN = $(shell i=0; for c in $(CASES); do i=$$((1 - i)); [ $$i = 0 ] && echo $$c; done)
test-lang: $(B)/tests/run_lang $(B)/tests/run_lang_san
	$(call log,lang,r=0; $(B)/tests/run_lang $(CASES) || r=1; $(B)/tests/run_lang_san $(CASES) || r=1; \
		$(B)/tests/run_lang_san --engine=emulator $(EVEN) & \
		$(B)/tests/run_lang_san --engine=emulator $(filter-out $(EVEN),$(CASES)) || r=1; wait $$! && [ $$r = 0 ])

# The emulator alone, without sanitizers: quick while kernels are being written.
test-lang-emulator: $(B)/tests/run_lang
	$(call log,lang-emulator,$(B)/tests/run_lang --engine=emulator $(CASES))

# On a machine with a GPU (make test-gpu): $(B)/tests/run_lang --engine=cuda tests/lang/*.gx
test-lang-cuda: $(B)/tests/run_lang
	$(call log,lang-cuda,$(B)/tests/run_lang --engine=cuda $(CASES))

# The cases of errors alone; they are part of test-lang.
test-error: $(B)/tests/run_lang
	$(call log,error,$(B)/tests/run_lang --engine=cpu $(filter tests/lang/error_%,$(CASES)))

# ---- unit tests ----
# With sanitizers and failing allocations, and (what forks, loads libraries or starts compilers) plain.
FORMAT_C    = $(sort $(wildcard formats/*.c))
UNIT_FAULTS = base front nomem formats outputs
UNIT_PLAIN  = $(filter-out $(UNIT_FAULTS),$(patsubst tests/unit/%.c,%,$(sort $(wildcard tests/unit/*.c))))
UNIT_args_front = $(CASES)
UNIT_args_nomem = $(CASES)
UNIT_with_front = $(CASE_C)
UNIT_with_nomem = $(CASE_C)
UNIT_with_formats = $(FORMAT_C)
UNIT_with_outputs = $(FORMAT_C)

$(UNIT_FAULTS:%=$(B)/tests/unit_%): $(B)/tests/unit_%: tests/unit/%.c tests/unit/unit.h $(CASE_C) $(FORMAT_C) $(FAULT_O) $(SHARED_O)
	@mkdir -p $(@D)
	$(Q)$(TEST_C) $(SANITIZE) -DGX_FAULTS -o $@ $< $(UNIT_with_$*) $(FAULT_O) $(SHARED_O) $(LIBS) -lz

$(UNIT_PLAIN:%=$(B)/tests/unit_%): $(B)/tests/unit_%: tests/unit/%.c tests/unit/scenario.h $(B)/libgpuexpr.a
	@mkdir -p $(@D)
	$(Q)$(TEST_C) -o $@ $< $(B)/libgpuexpr.a $(LIBS) -lz

UNIT_BIN = $(UNIT_FAULTS:%=$(B)/tests/unit_%) $(UNIT_PLAIN:%=$(B)/tests/unit_%)
test-unit: $(UNIT_BIN)
	$(call log,unit,export ASAN_OPTIONS=allocator_may_return_null=1; $(call each,$(foreach u,$(UNIT_FAULTS) $(UNIT_PLAIN),"$(B)/tests/unit_$(u) $(UNIT_args_$(u))"),eval))

# ---- API tests ----
API      = $(patsubst tests/api/%.c,%,$(sort $(wildcard tests/api/*.c)))
API_BIN  = $(API:%=$(B)/tests/api_%) $(B)/tests/api_header_c99 $(B)/tests/api_header_cxx17 $(B)/tests/api_threads_tsan
$(API:%=$(B)/tests/api_%): $(B)/tests/api_%: tests/api/%.c tests/api/api.h tests/unit/unit.h $(B)/libgpuexpr.so
	@mkdir -p $(@D)
	$(Q)$(TEST_C) -pedantic -o $@ $< $(B)/libgpuexpr.so -Wl,-rpath,'$$ORIGIN/..' $(LIBS)

$(B)/tests/api_header_c99: tests/api/header.c $(B)/libgpuexpr.so
	$(Q)$(CC) -std=c99 -Wall -Wextra -pedantic -Werror -I. -o $@ $< $(B)/libgpuexpr.so -Wl,-rpath,'$$ORIGIN/..'

$(B)/tests/api_header_cxx17: tests/api/header.c $(B)/libgpuexpr.so
	$(Q)$(CXX) -x c++ -std=c++17 -Wall -Wextra -pedantic -Werror -I. -o $@ $< -x none $(B)/libgpuexpr.so -Wl,-rpath,'$$ORIGIN/..'

$(B)/tests/api_threads_tsan: tests/api/threads.c tests/api/api.h $(TSAN_O) $(SHARED_O)
	@mkdir -p $(@D)
	$(Q)$(TEST_C) -fsanitize=thread -o $@ $< $(TSAN_O) $(SHARED_O) $(LIBS)

# ThreadSanitizer dies on kernels with much address randomisation; setarch -R turns it off where it may.
test-api: $(API_BIN)
	$(call log,api,$(call each,$(foreach a,$(API_BIN),"$(if $(filter %_tsan,$(a)),`setarch -R true 2>/dev/null && echo setarch -R`) $(a)") "sh tests/api/exports.sh $(B)/libgpuexpr.so",eval))

# ---- goldens ----
$(B)/tests/golden: tests/golden.c $(CASE_C) tests/lang.h $(B)/libgpuexpr.a
	@mkdir -p $(@D)
	$(Q)$(TEST_C) -o $@ tests/golden.c $(CASE_C) $(B)/libgpuexpr.a $(LIBS)

test-golden: $(B)/tests/golden
	$(call log,golden,$(B)/tests/golden $(GOLDENS))

# Accept what the compiler says now: make bless T=softmax, or all of them. Read the difference before you commit it.
bless: $(B)/tests/golden
	$(B)/tests/golden --bless $(GOLDENS)
	@git --no-pager diff --stat -- tests/golden

-include $(wildcard $(B)/faults/*/*.d) $(wildcard $(B)/tsan/*/*.d)
.PHONY: test-lang test-lang-emulator test-lang-cuda test-error test-unit test-api test-golden bless

# ---- emulator: every kernel family, under the sanitizers ----
EMULATE_C = $(addprefix tests/emulate/,test_codegen.c test_reduce.c test_rows.c test_scan.c test_plane.c test_ops.c emulate.c fibre.c front.c harness.c)
$(B)/tests/emulate: $(EMULATE_C) $(wildcard tests/emulate/*.h) $(FAULT_O) $(SHARED_O)
	@mkdir -p $(@D)
	$(Q)$(TEST_C) $(SANITIZE) -DGX_FAULTS -rdynamic -o $@ $(EMULATE_C) $(FAULT_O) $(SHARED_O) $(LIBS)

test-emulate: $(B)/tests/emulate
	$(call log,emulate,$(B)/tests/emulate)

.PHONY: test-emulate

# ---- random programs: CPU engine against emulator (or --engine=cuda, where there is a GPU) ----
RANDOM_C = tests/random/random.c tests/random/generate.c tests/lang_values.c $(addprefix tests/emulate/,emulate.c fibre.c front.c)
RANDOM  ?= --seed=1 --count=240
$(B)/tests/random: $(RANDOM_C) tests/random/random.h tests/lang.h $(B)/libgpuexpr.a
	@mkdir -p $(@D)
	$(Q)$(TEST_C) -rdynamic -o $@ $(RANDOM_C) $(B)/libgpuexpr.a $(LIBS)

test-random: $(B)/tests/random
	$(call log,random,$(B)/tests/random $(RANDOM))

.PHONY: test-random
