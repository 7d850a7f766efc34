# `make` alone says what there is. Everything sets itself up in $(VENV) on first use; a second run is quick.

# The first Python on the path that is new enough; `make PYTHON=/path/to/python3.12` chooses another.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV ?= .venv
EXTRAS ?= dev
JOBS ?= 2
SEEDS ?= 100
N ?= 300
BIN := $(VENV)/bin
READY := $(VENV)/.kidx-ready-$(EXTRAS)
FIXTURES := fixtures/kafka-4.3.1

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint mutants bench man docs screens refresh interop interop-seeds faults dist clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 22

setup: $(READY) ## make a virtual environment in .venv with kidx and its tools

# An environment that exists is used as it is; one without pip (uv makes such) gets it.
$(READY): pyproject.toml
	@test -n "$(PYTHON)" || { echo "kidx needs Python 3.11 or later on the path, or make PYTHON=/path/to/python"; exit 1; }
	@test -x $(BIN)/python || { echo "making $(VENV) with $(PYTHON)"; $(PYTHON) -m venv $(VENV); }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip >/dev/null
	@echo "installing kidx[$(EXTRAS)] into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$(EXTRAS)]'
	@touch $@

demo: $(READY) ## verify, dump and search index files that a real broker wrote; break one, see it found, mend it
	$(BIN)/kidx verify $(FIXTURES)/clean
	$(BIN)/kidx dump --tail 5 $(FIXTURES)/clean/pages14-0/00000000000000000000.index
	$(BIN)/kidx lookup --trace-pages $(FIXTURES)/clean/pages14-0/00000000000000000000.index 7168
	$(BIN)/kidx trace $(FIXTURES)/clean/pages14-0/00000000000000000000.index 7168
	@rm -rf build/orders-3 && mkdir -p build && cp -R $(FIXTURES)/clean/default-interval-0 build/orders-3
	@echo "now eight bytes of an index are overwritten, in a copy: build/orders-3"
	@printf '\0\0\0\14\0\0\215\120' | dd of=build/orders-3/00000000000000000000.index bs=8 seek=7 conv=notrunc 2>/dev/null
	$(BIN)/kidx verify build/orders-3 || test $$? -eq 1
	$(BIN)/kidx explain KX105
	$(BIN)/kidx rebuild --in-place build/orders-3
	$(BIN)/kidx verify build/orders-3

test: $(READY) ## run the tests (JOBS=2 at a time)
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup

lint: $(READY) ## ruff, mypy and the rule which room may import which
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

mutants: $(READY) ## change N=300 clauses one at a time and see the tests notice (SEED=..., IN="kidx/lookup ...")
	$(BIN)/python -m tests.mutants --count $(N) --jobs $(JOBS) $(if $(SEED),--seed $(SEED)) $(IN)

bench: $(READY) ## measure kidx against C, cat and DumpLogSegments, in turns; needs a C compiler, java and mvn
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.against_kafka

man: $(READY) ## write man/ anew from the commands
	$(BIN)/python docs/make_man.py

docs: $(READY) ## write the generated pages of docs/ anew
	$(BIN)/python docs/make_pages.py

screens: $(READY) ## draw the pictures of terminals in docs/pictures anew
	$(BIN)/python docs/make_screens.py

refresh: $(READY) man docs screens ## rewrite what is kept as generated: man/, docs/, pictures of terminals, transcripts, quotations
	$(BIN)/python -m pytest -q tests/transcripts tests/test_schemas.py --refresh

interop: $(READY) ## run the tests that ask a real Kafka and RocketMQ; needs java, mvn and the network
	$(BIN)/python -m pytest -m interop --interop

interop-seeds: $(READY) ## prove SEEDS=100 random seeds beside them; goes on where it stopped (docs/proved.md)
	$(BIN)/python -m tests.interop.seeds --count $(SEEDS)

faults: $(READY) ## fail every system call of every command once; needs strace, takes hours (SAMPLE=50: so many a command)
	$(BIN)/python -m tests.fuzz.faults $(if $(SAMPLE),--sample $(SAMPLE))

dist: $(READY) ## build wheel and source distribution into dist/, install the wheel elsewhere and try it there
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python .ci/check_dist.py dist

clean: ## remove what was made, and the virtual environment if this file set it up
	@if ls $(VENV)/.kidx-ready-* >/dev/null 2>&1; then rm -rf $(VENV); fi
	rm -rf dist build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis benchmarks/data
	find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +
