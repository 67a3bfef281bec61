# Every target sets up what it needs: a virtual environment, the pinned dependencies and the package.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NAME := neuralgram
.DEFAULT_GOAL := help

.PHONY: help demo test check mutants bench screenshots clean
help:            ## this list
	@grep -hE '^[a-z]+: .*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):[^#]*## /make \1\t/' | expand -t 16

$(VENV)/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "neuralgram needs Python 3.11 or newer; say which with: make PYTHON=python3.12 ..."; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable .
	@touch $@

# The rest is for tests alone. KenLM, the counting models' reference, compiles; where it does not, its tests are skipped.
$(VENV)/ready-dev: $(VENV)/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev,explore]'
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt kenlm
	@touch $@

demo: $(VENV)/ready      ## train on an embedded story, compare with counting, generate: under a minute
	$(BIN)/$(NAME) demo --out runs/demo

test: $(VENV)/ready-dev  ## the whole test suite, with branch coverage
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal --cov --cov-report=

check: $(VENV)/ready-dev ## formatting, lint, types, the arrows between rooms, coverage of the last test run
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@if [ -f .coverage ]; then $(BIN)/coverage report --fail-under=88 --format=total; else echo "no coverage data: run make test first"; exit 2; fi

mutants: $(VENV)/ready-dev ## the pitfalls of the model, each applied to a copy and killed by a named test; a student's tests graded
	$(BIN)/python tests/mutants.py

bench: $(VENV)/ready-dev ## ratios against peers, measured in one run
	$(BIN)/python -m benchmarks

screenshots: $(VENV)/ready-dev ## every view of the explorer, wide and at phone width, as pictures in docs/
	$(BIN)/python tests/serving/screenshots.py docs/explorer

clean:           ## remove the environment and all that was built
	rm -rf $(VENV) build dist .coverage* .mypy_cache .ruff_cache
