# kinetoscope: everything a developer or a curious user types.
#
#   make demo    shows recorded samples in TensorBoard at once, and a training that it records beside
#                (it installs a torch for that; TORCH=none shows the samples alone)
#   make test    all tests: Python, page, browser
#   make matrix  tries the wheel in fresh environments: each Python of this machine
#   make check   linters, types, architecture
#   make fix     formats, and repairs what linters can repair
#   make page    builds the page when its sources changed
#   make docs    writes the tables of columns in docs/ and the page's types, and builds the site
#   make guides  follows every guide, with Lightning, transformers, W&B and MLflow, too
#   make pictures  takes the pictures of the docs anew, of the recorded samples
#   make native  builds the native library when its sources changed and there is cargo
#   make bench   measures, and prints ratios
#   make walks    counts the files that a request passes, for ARCHITECTURE.md
#   make mutants  plants faults one by one: which do the tests beside a module notice?
#   make dist    makes what is uploaded, for old systems, too, and tries it
#   make clean   removes what was built; `make distclean` also .venv and node_modules
#
# It needs Python >= 3.10 with venv, and a network. Everything goes into .venv and node_modules;
# Node.js comes from PATH, or from a Python package. Without cargo traces are read in Python,
# several times slower. A second call does no work twice.

PYTHON ?= python3
TORCH ?= 2.13.0
PYTEST_ARGS ?=
DEMO_ARGS ?=

VENV := .venv
BIN := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
DEMO_TORCH = $(if $(filter none,$(TORCH)),--samples,--prepare '$(PY) tools/install.py --torch $(TORCH)')
PY := $(VENV)/$(BIN)/python
PIP := $(PY) -m pip --disable-pip-version-check
NPM := $(PY) tools/node.py

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: bench cargotest check clean demo dist distclean docs fix guides help lint matrix mutants \
  native node page pictures pytest sbom system-packages tag-check test test-without-library types vitest walks wheels

help:
	@sed -n '3,/^$$/s/^# \{0,1\}//p' Makefile

# The picture first: torch is installed beside it. Ctrl-C is how it ends, which is no failure.
demo: $(VENV)/.installed page
	@$(PY) -m kinetoscope demo $(DEMO_TORCH) $(DEMO_ARGS) || test $$? -eq 130

test: vitest cargotest pytest

# What failed beside others is run once more, alone: a busy machine is no fault of the project, and
# what fails alone fails.
pytest: $(VENV)/.dev $(VENV)/.torch $(VENV)/.azurite page native
	@$(PY) tools/find_browser.py
	$(PY) -m pytest --numprocesses=auto --maxprocesses=4 --dist=loadfile $(PYTEST_ARGS) || \
	  $(PY) -m pytest --last-failed --last-failed-no-failures=none --maxfail=3 $(PYTEST_ARGS)

vitest: node_modules/.install-stamp
	$(NPM) run --silent test

cargotest: $(VENV)/.installed
	@$(PY) tools/build_native.py --test

# What reads or stores a trace, once more as on a machine without cargo.
test-without-library: $(VENV)/.dev $(VENV)/.torch page
	KINETOSCOPE_NATIVE=0 $(PY) -m pytest --numprocesses=auto --maxprocesses=4 --dist=loadfile \
	  tests/base tests/trace tests/store tests/session tests/cli tests/benchmarks

system-packages:
	@sh tools/system_packages.sh

matrix: $(VENV)/.dev $(VENV)/.torch page native
	$(PY) tools/matrix/run.py

check: lint types $(VENV)/.dev
	$(PY) -m pytest --quiet tests/test_architecture.py $(wildcard tests/test_generated_types.py)

lint: $(VENV)/.dev node_modules/.install-stamp
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) tools/build_native.py --check
	$(NPM) run --silent lint

types: $(VENV)/.dev $(VENV)/.torch node_modules/.install-stamp
	$(PY) tools/typecheck.py
	$(NPM) run --silent typecheck

fix: $(VENV)/.dev node_modules/.install-stamp
	$(PY) -m ruff check --fix --exit-zero
	$(PY) -m ruff format
	$(PY) tools/build_native.py --fix
	$(NPM) run --silent format

page: node
	@$(PY) tools/build_page.py

# What is derived from declarations in Python, and the site of the documentation in build/site. A
# link that leads nowhere, and a page that docs/README.md does not list, are errors.
docs: $(VENV)/.dev
	$(PY) tools/gen_docs.py
	$(PY) tools/gen_api_types.py
	$(PY) tools/install.py --group docs
	$(PY) -m sphinx --fail-on-warning --keep-going --quiet -b html -c tools/site docs build/site

guides: $(VENV)/.dev $(VENV)/.torch page native
	$(PY) tools/install.py --group guides
	$(PY) -m pytest $(PYTEST_ARGS) tests/test_guides.py

pictures: $(VENV)/.dev page
	@$(PY) tools/find_browser.py
	$(PY) tools/screenshots.py

native: $(VENV)/.installed
	@requirement="$$($(PY) tools/build_native.py --requirement)"; \
	  test -z "$$requirement" || $(PIP) install --quiet "$$requirement" || true
	@$(PY) tools/build_native.py

dist: $(VENV)/.dev page
	$(PY) tools/release/dist.py

# What is in the page that others wrote, for a release.
sbom: $(VENV)/.installed page
	@$(PY) tools/release/sbom.py

# Wheels of this system, of the source distribution in dist/; how: [tool.cibuildwheel].
wheels: $(VENV)/.made
	$(PIP) install --quiet 'cibuildwheel>=4,<5'
	$(PY) -m cibuildwheel --output-dir wheelhouse dist/*.tar.gz

tag-check: $(VENV)/.made
	@$(PY) tools/release/commit.py --tag "$(TAG)"

# Every module of benchmarks/ measures one thing; names that start with _ are their helpers.
bench: $(VENV)/.dev $(VENV)/.torch page native
	@set -e; for script in benchmarks/[a-z]*.py; do \
	  name=$$(basename "$$script" .py); echo "== $$name"; $(PY) -m "benchmarks.$$name"; \
	done

walks: $(VENV)/.dev native
	@$(PY) tools/measure/walks.py --write

# PATHS=tb_plugin/analysis/idle for one folder; MUTANTS_ARGS='--sample 200 --seed 7'.
mutants: $(VENV)/.dev native
	$(PY) tools/measure/mutants.py $(MUTANTS_ARGS) $(PATHS)

clean:
	rm -rf build dist *.egg-info tb_plugin/static tb_plugin/native native/target .hypothesis \
	  .mypy .mypy_cache .pytest_cache .ruff_cache test-results
	find tb_plugin handlers tests tools benchmarks samples -name __pycache__ -prune \
	  -exec rm -rf {} + 2>/dev/null || true

distclean: clean
	rm -rf $(VENV) node_modules

# --- what the commands above need; each stamp is made once ---------------------------------------

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo "kinetoscope needs Python 3.10 or newer, found as \`python3\` or given as" \
	    "\`make PYTHON=...\`" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "this Python cannot make virtual environments: install its venv package" \
	    "(Debian, Ubuntu: \`apt install python3-venv\`)" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@touch $@

# The page and the library are built by their own rules, not inside pip.
# All but torch, whose build is chosen apart.
EXTRAS := tensorboard,s3,gcs,azure,hdfs,mcp,dask
INSTALL := KINETOSCOPE_SKIP_PAGE=1 KINETOSCOPE_SKIP_NATIVE=1 $(PY) tools/install.py --editable

$(VENV)/.installed: $(VENV)/.made pyproject.toml setup.py
	@$(INSTALL) '.[tensorboard]'
	@touch $@

$(VENV)/.dev: $(VENV)/.installed
	$(INSTALL) '.[$(EXTRAS)]' --group test --group dev
	@touch $@

# A server that speaks Azure's protocol; without it its tests say that they were skipped.
$(VENV)/.azurite: $(VENV)/.dev | node
	@$(NPM) install --prefix $(VENV)/azurite --silent --no-audit --no-fund azurite@3.35.0 || \
	  echo "azurite cannot be installed here: its tests will be skipped" >&2
	@touch $@

# JupyterLab in an environment of its own, of 600 MB: `make .venv/.jupyter` asks for it, and
# tests/e2e/test_jupyter.py is skipped without.
$(VENV)/.jupyter: $(VENV)/.made
	@$(PYTHON) -m venv $(VENV)/jupyter
	KINETOSCOPE_SKIP_PAGE=1 KINETOSCOPE_SKIP_NATIVE=1 $(VENV)/jupyter/$(BIN)/python tools/install.py \
	  --editable '.[viewer]' jupyterlab jupyter-server-proxy
	@touch $@

$(VENV)/.torch: $(VENV)/.installed
	@$(PY) tools/install.py --torch '$(TORCH)'
	@touch $@

# Looked for each time: what is on PATH may change.
node: $(VENV)/.installed
	@$(NPM) --check 2>/dev/null || { \
	  echo "no Node.js 20.19 or newer on PATH: installing one into $(VENV)"; \
	  $(PY) tools/install.py "$$($(PY) tools/node.py --requirement)"; }

node_modules/.install-stamp: package-lock.json | node
	@$(PY) tools/build_page.py --modules
	@touch $@
