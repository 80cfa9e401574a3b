# The front door. Needs Python 3.11 or later with its venv module, and make; uses uv when it is there.
#
#   make run      serve on port 8000 with data in ./hashrange-data
#   make test     all tests, in several processes (PYTEST_FLAGS="-n 0": in one, for a debugger)
#   make check    format, lint, types, architecture, generated pages
#   make docs     write the generated pages again
#   make bench    measure, beside other servers, in some 50 minutes; writes docs/benchmarks.md, docs/testing/speed.md and
#                 docs/triggers-speed.md
#                 (ARGS=--quick: two minutes, ours;
#                 ARGS=--huge: also tables of many millions of items)
#                 ARGS="--pair HEAD~1 HEAD": compares the CPU time per request of two commits, in some eight minutes
#   make soak     10,000 connections, a million malformed requests, a thousand kills and power cuts, hostile clients,
#                 public packages that use DynamoDB
#   make torture  hostile clients, kills, power cuts, full and lost folders, in some ten minutes; ARGS=--write writes docs/reliability.md
#   make mutants  break 200 rules, one after the other, and say which of them no test notices; ARGS="--only 3" runs one
#   make wheel    build the package into dist/
#   make lock     renew uv.lock and what is exported from it (needs uv)
#   make clean    remove the environment and caches, also what tests have built for other clones; data stays

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$p && break; done)
UV ?= $(shell command -v uv 2>/dev/null)
BIN := .venv/bin
RUN_READY := .venv/.ready-run
DEV_READY := .venv/.ready-dev
PYTEST_FLAGS ?=

# Compiled modules halve the time of a start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help run test check docs bench mutants soak torture wheel lock clean format

help:
	@sed -n -e 's/^#   make /make /p' -e 's/^#                 /              /p' Makefile

# --- environments ----------------------------------------------------------------------------------------------------

.venv/bin/python:
ifeq ($(UV),)
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later was not found; install it, or name it: make PYTHON=/path/to/python3"; exit 1; }
	$(PYTHON) -m venv .venv
else
	$(UV) venv --quiet --allow-existing --python '>=3.11' .venv
endif

# What serving needs, and no more. Without its settings, uv does not read the constraints that the lock was made with,
# which it refuses beside hashes.
$(RUN_READY): requirements.txt pyproject.toml | .venv/bin/python
ifeq ($(UV),)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary :all: --require-hashes -r requirements.txt
else
	$(UV) pip install --no-config --quiet --python $(BIN)/python --only-binary :all: --require-hashes -r requirements.txt
endif
	@$(BIN)/python -c "import pathlib, sysconfig; pathlib.Path(sysconfig.get_path('purelib'), 'hashrange.pth').write_text('$(CURDIR)/src\n')"
	@touch $@

$(DEV_READY): requirements-dev.txt $(RUN_READY)
ifeq ($(UV),)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary :all: --require-hashes -r requirements-dev.txt
else
	$(UV) pip install --no-config --quiet --python $(BIN)/python --only-binary :all: --require-hashes -r requirements-dev.txt
endif
	@touch $@

# --- commands --------------------------------------------------------------------------------------------------------

run: $(RUN_READY)
	@$(BIN)/python -m hashrange serve $(ARGS)

test: $(DEV_READY)
	$(BIN)/python -m pytest -n auto $(PYTEST_FLAGS)

check: $(DEV_READY)
	$(BIN)/ruff format --check --quiet . || { echo "run: make format"; exit 1; }
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/test_architecture.py tests/test_rules.py
	$(BIN)/python docs/generate.py --check

format: $(DEV_READY)
	$(BIN)/ruff format --quiet .
	$(BIN)/ruff check --quiet --fix .

docs: $(DEV_READY)
	$(BIN)/python docs/generate.py

bench: $(DEV_READY)
	$(if $(findstring --pair,$(ARGS)),,$(BIN)/python -m benchmarks.statements)
	$(if $(filter-out --huge --full,$(ARGS)),,$(BIN)/python -m benchmarks.followers)
	$(if $(filter-out --huge --full,$(ARGS)),,$(BIN)/python -m benchmarks.resting $(filter --huge,$(ARGS)))
	$(if $(filter-out --huge --full,$(ARGS)),,$(BIN)/python -m benchmarks.testkit --write)
	$(if $(filter-out --huge --full,$(ARGS)),,$(BIN)/python -m benchmarks.triggers --write)
	$(BIN)/python -m benchmarks $(ARGS)

# A million malformed requests: 20,000 for each of 37 operations, 160,000 statements, and 8 times 40,000 of spoiled HTTP.
soak: $(DEV_READY)
	HASHRANGE_SOAK=1000 HASHRANGE_FUZZ_REQUESTS=20000 HASHRANGE_FUZZ_ROUNDS=40000 \
		$(BIN)/python -m pytest -s tests/soak tests/crash tests/fuzz tests/model tests/packages \
		tests/unit/cloudwatch/test_metrics_model.py tests/unit/triggers/test_kinesis_model.py \
		tests/unit/faults/test_application.py $(PYTEST_FLAGS)
	$(BIN)/python -m torture --only stalls

# Fails when a bound is broken; ARGS="--only loss --seed 7", ARGS="--kinds query-page --seconds 1" and the like select.
torture: $(DEV_READY)
	@$(BIN)/python -m torture $(ARGS)

# Breaks 200 rules, one after the other, and says which of them no test notices; the whole suite runs once before.
mutants: $(DEV_READY)
	@$(BIN)/python -m tests.mutants $(ARGS)

wheel: $(DEV_READY)
	$(BIN)/python -m hatchling build -t wheel

lock:
	@test -n "$(UV)" || { echo "make lock needs uv"; exit 1; }
	$(UV) lock
	$(UV) export --quiet --frozen --no-emit-project --no-default-groups --no-header --no-annotate --output-file requirements.txt
	$(UV) export --quiet --frozen --no-emit-project --group dev --no-header --no-annotate --output-file requirements-dev.txt

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	find tests \( -name node_modules -o -name target -o -name dist -o -name .venv \) -prune -exec rm -rf {} +
	rm -rf "$${XDG_CACHE_HOME:-$$HOME/.cache}/hashrange-tests"
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
