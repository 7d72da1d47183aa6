# make demo   sets everything up and judges three edits on the embedded league
# make test   sets everything up and runs the tests

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: demo test lint types check clean

# The tests start Python hundreds of times: where no bytecode is kept, each of them would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

demo: $(INSTALLED)
	$(BIN)/evalharness demo

# The slow ones play hundreds of thousands of games: without coverage, which would make each ten times as long.
test: $(INSTALLED) $(VENV)/.conformance
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n 2 --dist worksteal -m 'not slow'
	$(BIN)/coverage combine -q
	$(BIN)/coverage report
	$(BIN)/pytest -n 2 --dist worksteal -m slow

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
