# On a machine with a GPU, which may have no re2c, no lemon, no SLEEF and no compiler: $(B)/gpu holds all that test-gpu and bench run,
# finds its libraries beside itself, and is made here by `make gpu-folder`. The rules that run there depend on nothing.
G        = $(B)/gpu
ORIGIN   = -Wl,-rpath,'$$ORIGIN'

$(B)/bench: bench/bench.c $(B)/libgpuexpr.a
	$(Q)$(CC) -O2 -std=c11 $(WARN) $(CPP) $(ORIGIN) -o $@ bench/bench.c $(B)/libgpuexpr.a $(LIBS)

gpu-folder: $(B)/gpuexpr $(B)/libgpuexpr.so $(B)/tests/run_lang $(B)/bench $(B)/tests/random
	@rm -rf $(G) && mkdir -p $(G)
	@cp $(B)/gpuexpr $(B)/libgpuexpr.so.0 $(B)/tests/run_lang $(B)/bench $(B)/tests/random $(G)
	@cp $(B)/libgpuexpr.so.0 $(G)/libgpuexpr.so   # no link: links may not travel
	@cp -L `ldd $(B)/gpuexpr | awk '/libsleef/ {print $$3}'` $(G)
	@for e in embed embed_device; do $(CC) -Iinclude examples/$$e.c -o $(G)/$$e $(G)/libgpuexpr.so $(ORIGIN) -ldl || exit 1; done
	@[ ! -f $(CASE_RUN) ] || cp $(CASE_RUN) $(dir $(CASE_RUN))cases.jsonl $(G)
	@ls -l $(G) | awk '{s += $$5} END {printf "$(G): %.1f MB\n", s / 1e6}'

# D=cpu tries the script where there is no GPU. LIMIT shortens the run under compute-sanitizer (a pattern of tests/lang names).
D     ?= cuda
LIMIT ?= *
test-gpu:
	@sh scripts/test-gpu.sh $(G) $(D)

test-gpu-memcheck test-gpu-racecheck:
	@compute-sanitizer --tool $(@:test-gpu-%=%) --error-exitcode 9 --log-file $(G)/$@.log \
		$(G)/run_lang --engine=cuda `ls tests/lang/$(LIMIT).gx | grep -v error_`; s=$$?; tail -n 3 $(G)/$@.log; exit $$s

bench:
	@$(G)/bench $(BENCH)

.PHONY: gpu-folder test-gpu test-gpu-memcheck test-gpu-racecheck bench
