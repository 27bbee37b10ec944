# Every target sets up what it needs in .venv; a machine with Python 3.10 or newer, git and make is enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint format bench reproduce docs web browser clean

demo: $(VENV)/.core
	$(BIN)/pellucid demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --strict --package pellucid.solvers

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench reproduce: export PELLUCID_DATA ?= $(wildcard ../shared/data)

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

reproduce: $(VENV)/.dev
	$(BIN)/python -m reproductions

# the page of the explorer; what it makes is committed, so only changing web/ needs Node
# (npm install, since npm ci refuses a lock file without the binaries for other systems)
web:
	cd web && npm install --no-save --no-audit --no-fund && npm run check && npm run build

# Debian's Chromium and axe-core are fetched if they are not there; `make test` runs these tests where a Chromium is
browser: $(VENV)/.dev
	command -v chromium chromium-browser > /dev/null || apt-get install --yes chromium
	test -d web/node_modules/axe-core || (cd web && npm install --no-save --no-audit --no-fund)
	$(BIN)/python -m pytest tests/browser

docs: $(VENV)/.dev
	$(BIN)/sphinx-build --fail-on-warning --quiet docs docs/_build
	@echo 'Open docs/_build/index.html'

clean:
	rm -rf $(VENV) build dist docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[plots,explore]"
	touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@ $(VENV)/.core
