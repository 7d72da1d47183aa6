# make demo   sets everything up and judges three edits on the embedded league
# make test   sets everything up and runs the tests

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: demo test coverage lint types check clean

# The tests start Python hundreds of times: where no bytecode is kept, each of them would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

demo: $(INSTALLED)
	$(BIN)/evalharness demo

# Tests that mostly wait for servers and processes keep more workers busy than there are processors.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(min(8, 1 + (os.cpu_count() or 1)))')
COVERED := (unit or property) and not slow
SHARED := --dist worksteal

# Coverage of what runs inside the tests' own processes: of runs in processes of their own, and of hundreds of thousands of
# games, it would take longer than all tests together. `make coverage` counts those runs too.
test: $(INSTALLED) $(VENV)/.conformance
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n 2 $(SHARED) -m '$(COVERED)'
	$(BIN)/coverage combine -q
	$(BIN)/coverage report
	$(BIN)/pytest -n $(WORKERS) $(SHARED) -m 'not ($(COVERED))'

coverage: $(INSTALLED) $(VENV)/.conformance
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n 2 $(SHARED) -m 'not slow'
	$(BIN)/coverage combine -q
	$(BIN)/coverage report

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED)
	$(BIN)/mypy

check: lint types test

$(INSTALLED): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

# Real third-party clients run against our server; where they cannot be installed their tests skip with a reason.
$(VENV)/.conformance: tests/conformance/install.sh
	bash tests/conformance/install.sh
	touch $@

clean:
	rm -rf $(VENV) .venv-coworld .venv-levers9 .venv-peers .demo* .evalharness .mypy_cache .ruff_cache .pytest_cache .hypothesis
