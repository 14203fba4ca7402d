# make run: the main job.  make test: lint and tests.  Each sets up what it needs first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: run test environment lint coverage dist bench docs clean

run: $(VENV)/.compiled
	$(BIN)/directranker demo

# Two at a time (`make -j2 test`) the linters and the compiler share the cores. Tests of a file stay together, as
# they share what they set up; in the order of the files, so that the long ones are not the last.
test: lint $(VENV)/.compiled-dev
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

environment: $(VENV)/.installed-dev

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

# Lines that no test reaches, and the share of those that one does. Kernels are left out: they run as machine code.
coverage: $(VENV)/.compiled-dev
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile --cov --cov-report=term

# The wheel is built from the sdist.
dist: $(VENV)/.installed-dev
	rm -rf dist
	$(BIN)/python -m build

docs: $(VENV)/.installed-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "site/index.html is the first page; $(BIN)/mkdocs serve shows pages as you write them"

# All of them, whichever misses what it must reach; the last line names those.
bench: $(VENV)/.installed-bench
	@missed=""; for benchmark in benchmarks/*_benchmark.py benchmarks/quality.py; do \
		echo "== $$benchmark"; $(BIN)/python $$benchmark || missed="$$missed $$benchmark"; \
	done; test -z "$$missed" || { echo "missed or failed:$$missed"; exit 1; }

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("directranker needs Python 3.11 or later; set PYTHON=...") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

# A stamp per set of extras: a later call finds it newer than pyproject.toml and starts at once.
$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e .
	touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e '.[dev]'
	touch $(VENV)/.installed $@

$(VENV)/.installed-bench: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e '.[bench]'
	touch $(VENV)/.installed $(VENV)/.installed-dev $@

# A cached kernel does not notice a change in another module that it calls, so any change empties the cache.
$(VENV)/.kernels: $(shell find src -name '*.py') | $(BIN)/python
	find src -name '*.nb[ci]' -delete
	touch $@

# The set-up's last step for `make run`: a first look should not wait for the compiler.
$(VENV)/.compiled: $(VENV)/.kernels $(VENV)/.installed
	$(BIN)/directranker compile
	touch $@

$(VENV)/.compiled-dev: $(VENV)/.kernels $(VENV)/.installed-dev
	$(BIN)/directranker compile
	touch $(VENV)/.compiled $@

clean:
	rm -rf $(VENV) site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests benchmarks -name __pycache__ -type d -exec rm -rf {} +
