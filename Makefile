# Everything runs in .venv, which the first target that needs it creates.
# A fresh machine needs only Python 3.11 or newer and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BASE := $(VENV)/.base
ALL := $(VENV)/.installed
BARE := .venv-base
PIP := -m pip install --quiet --constraint constraints.txt

.PHONY: demo test test-base check format bench clean help

help: ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

demo: $(BASE) ## focus simulated stacks with every method, and draw a focus curve, into demo/
	$(BIN)/dioptre demo --out demo

test: $(ALL) ## all tests
	$(BIN)/python -m pytest -n 2

test-base: $(BARE)/.installed ## the tests on a base install, without torch, onnx and matplotlib
	$(BARE)/bin/python -m pytest -n 2

check: $(ALL) ## format, lint, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(ALL) ## rewrite the source in the project's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(ALL) ## the speed tables, as ratios in one run
	$(BIN)/dioptre bench

clean: ## forget the environments and what was made
	rm -rf $(VENV) $(BARE) demo

# Without torch, which most package indices send with gigabytes of CUDA.
$(BASE): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet 'pip>=25.1'
	$(BIN)/python $(PIP) --editable '.[figures]'
	touch $(BASE)

$(ALL): $(BASE)
	$(BIN)/python $(PIP) --editable '.[cluster,figures,train]' --group dev
	touch $(ALL)

$(BARE)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(BARE)
	$(BARE)/bin/python -m pip install --quiet 'pip>=25.1'
	$(BARE)/bin/python $(PIP) --editable . --group test
	touch $(BARE)/.installed
