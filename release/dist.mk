# What is released, its check, and the tests of what was built. The sdist comes first, and the wheels are
# built from it: what it lacks, they would lack.

DIST_VENV := build/dist-venv
DIST_BIN := $(abspath $(DIST_VENV))/bin
DIST_SOURCE := build/dist-source
WHEELHOUSE := build/wheelhouse
DIST_TEST_ARGS ?=
PYODIDE := pyodide@314.0.7
PYPY_TEST_ARGS ?= -n auto tests

# The C library of zig reaches back to glibc 2.17, which the one of this machine need not do.
DIST_NATIVE_ARGS ?= $(if $(filter Linux,$(shell uname -s)),--zig --compatibility manylinux2014 --auditwheel check)
CARGO_FOLDER := $(or $(CARGO_HOME),$(HOME)/.cargo)

$(DIST_VENV)/.stamp: requirements/dist.txt
	$(PYTHON) -m venv --clear $(DIST_VENV)
	$(DIST_BIN)/python -m pip install --quiet --requirement requirements/dist.txt
	@touch $@

# Unpacked with the time of now: cargo takes a file that is older than its last build for unchanged.
.PHONY: dist
dist: $(DIST_VENV)/.stamp ## Build wheels and source distributions of both packages into dist/, and check them
	rm -rf dist $(DIST_SOURCE)
	mkdir -p $(DIST_SOURCE)
	$(DIST_BIN)/python -m build --no-isolation --outdir dist stress
	$(DIST_BIN)/python -m build --no-isolation --outdir dist --sdist .
	tar --extract --touch --gzip --strip-components 1 --directory $(DIST_SOURCE) --file dist/fencepost-*.tar.gz
	FENCEPOST_BUILD=pure $(DIST_BIN)/python -m build --no-isolation --outdir dist --wheel $(DIST_SOURCE)
	FENCEPOST_BUILD=native MATURIN_PEP517_ARGS="$(DIST_NATIVE_ARGS)" PATH="$(DIST_BIN):$$PATH" \
		CARGO_TARGET_DIR="$(abspath target)" \
		RUSTFLAGS="--remap-path-prefix=$(CARGO_FOLDER)=/cargo --remap-path-prefix=$(abspath $(DIST_SOURCE))=/fencepost" \
		$(DIST_BIN)/python -m build --no-isolation --outdir dist --wheel $(DIST_SOURCE)
	$(MAKE) --no-print-directory dist-check

.PHONY: dist-check
dist-check: $(DIST_VENV)/.stamp ## Check what is in dist/: files, versions, licences, metadata, ABI
	$(DIST_BIN)/python -m release.check
	$(DIST_BIN)/python -m pytest --quiet -p no:cacheprovider release/test_check.py

.PHONY: licences
licences: ## Write THIRD-PARTY-LICENSES.txt anew, after crates came, went or moved
	$(PYTHON) -m release.third_party

.PHONY: readme
readme: ## Write PACKAGE.md anew, the README as package indexes show it
	$(PYTHON) -m release.readme

# All that the tests install comes from here, so that they see what an installation asks for.
$(WHEELHOUSE)/.stamp: requirements/dist.txt requirements/dev.txt $(DIST_VENV)/.stamp
	rm -rf $(WHEELHOUSE)
	$(DIST_BIN)/python -m pip download --quiet --dest $(WHEELHOUSE)/pure --constraint requirements/dist.txt hatchling
	$(DIST_BIN)/python -m pip download --quiet --dest $(WHEELHOUSE)/native --constraint requirements/dist.txt maturin
	$(DIST_BIN)/python -m pip download --quiet --dest $(WHEELHOUSE)/stress --constraint requirements/dev.txt \
		click jinja2 markupsafe msgspec rich
	@command -v npm >/dev/null || { echo "dist-test: no npm here, so nothing is tested in Pyodide" >&2; exit 0; }; \
	npm install --silent --no-save --no-package-lock --ignore-scripts --prefix $(WHEELHOUSE) $(PYODIDE)
	@touch $@

# The tests run from a copy: nothing of this source is on their path.
.PHONY: dist-test
dist-test: $(WHEELHOUSE)/.stamp ## Install what is in dist/ in many ways and use it (DIST_TEST_ARGS to choose)
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && \
	cp -r tests/dist "$$folder/tests" && cd "$$folder/tests" && \
	CARGO_TARGET_DIR="$(abspath target)" $(DIST_BIN)/python -m pytest \
		--dist-folder="$(abspath dist)" --wheelhouse="$(abspath $(WHEELHOUSE))" $(DIST_TEST_ARGS)

.PHONY: dist-test-pypy
dist-test-pypy: $(DIST_VENV)/.stamp ## Run the tests with the pure wheel on PyPy (PYPY to name one, PYPY_TEST_ARGS to choose)
	HOST_PYTHON=$(DIST_BIN)/python release/pypy.sh dist build/pypy $(PYPY_TEST_ARGS)

.PHONY: dist-lock
dist-lock: ## Compile requirements/dist.txt anew (LOCK_ARGS=--upgrade to move the pins)
	$(PYTHON) -m venv --clear build/lock
	build/lock/bin/python -m pip install --quiet '$(UV_RANGE)'
	build/lock/bin/uv pip compile --quiet $(LOCK_ARGS) --universal --python-version 3.11 \
		--constraint requirements/dev.txt --custom-compile-command 'make dist-lock' \
		--output-file requirements/dist.txt requirements/dist.in
