# lint, and the documents that are made from the tables.
lint: test-lint
test-lint: $(B)/lexer/lex.c $(B)/parser/grammar.c
	$(call log,lint,sh scripts/lint.sh $(B) $(ROOMS) formats tool)

# docs/LANGUAGE.md holds the operation table between two marks; it is made from ops/*.def.
docs: $(B)/gpuexpr
	sh scripts/docs.sh $(B)/gpuexpr docs/LANGUAGE.md

test-docs: $(B)/gpuexpr
	$(call log,docs,sh tests/docs.sh $(B)/gpuexpr)

.PHONY: lint test-lint docs test-docs
