# Everything runs in a virtual environment of its own; `make demo` and `make test` set it up by themselves.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test lint types layers tests nightly bench peers bench-peers clean

demo: $(VENV)/.ready
	$(BIN)/ctxkit demo

test: lint types layers tests

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.ready
	$(BIN)/mypy

layers: $(VENV)/.ready
	$(BIN)/lint-imports --no-cache

tests: $(VENV)/.ready
	$(BIN)/python -m pytest --numprocesses auto --cov --cov-report=term --cov-fail-under=100

nightly: $(VENV)/.ready
	HYPOTHESIS_PROFILE=nightly $(BIN)/python -m pytest --numprocesses auto

bench: $(VENV)/.ready
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/count_speed.py
	$(BIN)/python benchmarks/cut_speed.py
	$(BIN)/python benchmarks/condense.py
	$(BIN)/python benchmarks/count_accuracy.py
	$(BIN)/python benchmarks/billing_truth.py
	$(BIN)/python benchmarks/history_policies.py

# Each peer in an environment of its own, as benchmarks/peers/NAME.txt says.
peers: $(patsubst benchmarks/peers/%.txt,.peers/%/.ready,$(wildcard benchmarks/peers/*.txt))

.peers/%/.ready: benchmarks/peers/%.txt
	$(PYTHON) -m venv .peers/$*
	.peers/$*/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	touch $@

# OpenHands needs a newer Python than ctxkit does.
.peers/openhands/.ready: PYTHON := python3.12

bench-peers: $(VENV)/.ready peers
	$(BIN)/python benchmarks/count_speed.py --peers
	$(BIN)/python benchmarks/history_policies.py --peers --hindsight

clean:
	rm -rf $(VENV) .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "ctxkit needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@
