# Everything runs in .venv, which the first target that needs it creates.
# A fresh machine needs only Python 3.11 or newer and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test check format bench clean help

help: ## what can be made
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

demo: $(STAMP) ## focus simulated stacks with every method, and draw a focus curve, into demo/
	$(BIN)/dioptre demo --out demo

test: $(STAMP) ## all tests
	$(BIN)/python -m pytest -n 2

check: $(STAMP) ## format, lint, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(STAMP) ## rewrite the source in the project's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP) ## the speed tables, as ratios in one run
	$(BIN)/python -m benchmarks.measures
	$(BIN)/python -m benchmarks.frame
	$(BIN)/python -m benchmarks.store
	$(BIN)/python -m benchmarks.captures
	$(BIN)/python -m benchmarks.simulator
	$(BIN)/python -m benchmarks.learned

clean: ## forget the environment and what was made
	rm -rf $(VENV) demo

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[figures,train]' --group dev
	touch $(STAMP)
