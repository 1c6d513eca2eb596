# Tests of the shell tool: each file of tests/cli but lib.sh, in a folder of its own.
CLI = $(filter-out tests/cli/lib.sh,$(sort $(wildcard tests/cli/*.sh)))
test-cli: $(B)/gpuexpr
	$(call log,cli,$(call each,$(foreach c,$(CLI),"sh $(c) $(B)/gpuexpr"),eval))

.PHONY: test-cli
