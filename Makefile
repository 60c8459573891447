# Everything runs in .venv, which the first target that needs it creates.
# A fresh machine needs only Python 3.11 or newer and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BASE := $(VENV)/.base
ALL := $(VENV)/.installed
DOCS := $(VENV)/.docs
BARE := .venv-base
PIP := -m pip install --quiet --constraint constraints.txt

.PHONY: demo test test-all test-base test-base-short check format docs notebooks bench browser indi clean help

help: ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

demo: $(BASE) ## simulate, run every method, and write the tables, the figures and index.html into demo/
	$(BIN)/dioptre demo --out demo

test: $(ALL) ## the tests but the slow ones
	$(BIN)/python -m pytest -n 2 -m "not slow"

test-all: $(ALL) ## all tests
	$(BIN)/python -m pytest -n 2

test-base: $(BARE)/.installed ## the tests on a base install, without any extra
	$(BARE)/bin/python -m pytest -n 2

test-base-short: $(BARE)/.installed ## two minutes of them: commands, stacks, cameras and one call
	$(BARE)/bin/python -m pytest -n 2 -m "not slow" tests/test_api.py tests/test_stack.py tests/test_posterior.py \
		tests/test_architecture.py tests/cli tests/focusing tests/stacks tests/store tests/cameras tests/evaluate

check: $(ALL) ## format, lint, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(ALL) ## rewrite the source in the project's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(DOCS) ## the site, built strictly into site/
	$(BIN)/mkdocs build --strict --quiet

notebooks: $(ALL) ## run docs/notebooks again, whose outputs are kept
	$(BIN)/python $(PIP) --group notebooks
	cd docs/notebooks && ../../$(BIN)/jupyter-execute --inplace *.ipynb
	$(BIN)/python docs/notebooks.py docs/notebooks/*.ipynb

bench: $(ALL) ## the speed tables, as ratios in one run
	$(BIN)/python -m lab.speed

browser: ## Chromium for the test of the page, where apt can install it; the test is skipped without
	@if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then true; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes \
			--no-install-recommends chromium chromium-driver >/dev/null \
			|| echo "Chromium could not be installed: the test of the page will be skipped"; \
	else echo "no Chromium and no apt-get for it: the test of the page will be skipped"; fi

indi: ## the INDI server with its simulators, where apt can install it; tests against it are skipped without
	@if command -v indiserver >/dev/null; then true; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes \
			--no-install-recommends indi-bin >/dev/null \
			|| echo "indi-bin could not be installed: the tests against indiserver will be skipped"; \
	else echo "no indiserver and no apt-get for it: the tests against it will be skipped"; fi

clean: ## forget the environments and what was made
	rm -rf $(VENV) $(BARE) demo site

# Without torch, which most package indices send with gigabytes of CUDA.
$(BASE): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet 'pip>=25.1'
	$(BIN)/python $(PIP) --editable '.[data,figures]'
	touch $(BASE)

$(ALL): $(BASE)
	$(BIN)/python $(PIP) --editable '.[cluster,data,figures,formats,micromanager,train]' --group dev
	touch $(ALL)

$(DOCS): $(BASE) mkdocs.yml
	$(BIN)/python $(PIP) --group docs
	touch $(DOCS)

$(BARE)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(BARE)
	$(BARE)/bin/python -m pip install --quiet 'pip>=25.1'
	$(BARE)/bin/python $(PIP) --editable . --group test
	touch $(BARE)/.installed
