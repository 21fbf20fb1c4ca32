# One command for each thing. It needs python3 (3.11 or newer), cargo and make; the rest goes into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DOCS_VENV := build/docs-venv
PYTEST_ARGS ?= -n auto
STRESS_ARGS ?= --profile quick
VECTORS := $(wildcard tests/vectors/*.jsonl)
UV_RANGE := uv>=0.7,<1

RUST_INPUTS := $(wildcard Cargo.toml Cargo.lock rust-toolchain.toml .cargo/config.toml) \
	$(shell find rust -name target -prune -o -type f \( -name '*.rs' -o -name '*.toml' -o -name '*.sql' \) -print 2>/dev/null) \
	$(shell find python -type f \( -name '*.sql' -o -name '_native.pyi' \) 2>/dev/null)

# Stamps alone would trust a binary that somebody deleted.
MISSING_NATIVE := $(if $(wildcard python/fencepost/_native*.so python/fencepost/_native*.pyd),,missing-native)

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# A library built for another interpreter or an active environment elsewhere must not decide where we install.
unexport PYTHONPATH
unexport VIRTUAL_ENV
unexport CONDA_PREFIX

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: venv
venv: $(VENV)/.stamp-native $(VENV)/.stamp-stress ## Build .venv: locked tools, the core with its extension, the harness

$(VENV)/.stamp-python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "fencepost needs Python 3.11 or newer")'
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/.stamp-tools: requirements/dev.txt $(VENV)/.stamp-python
	$(BIN)/python -m pip install --quiet --requirement requirements/dev.txt
	@touch $@

# Binaries of an earlier build go first: an import must never find one that does not belong to this source.
$(VENV)/.stamp-native: pyproject.toml $(RUST_INPUTS) $(VENV)/.stamp-tools $(MISSING_NATIVE)
	@command -v cargo >/dev/null || { echo "cargo is not there: the native engine needs a Rust toolchain" >&2; exit 1; }
	rm -f python/fencepost/_native*.so python/fencepost/_native*.pyd python/fencepost/_native*.dylib
	VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --release --locked
	@touch $@

.PHONY: missing-native
missing-native:

$(VENV)/.stamp-stress: stress/pyproject.toml $(VENV)/.stamp-native
	$(BIN)/python -m pip install --quiet --no-build-isolation --no-deps --editable stress
	@touch $@

.PHONY: test
test: test-python test-rust ## Run every test: pytest on both engines, then the Rust tests

.PHONY: test-python
test-python: venv ## Run pytest alone, on both engines (PYTEST_ARGS to choose)
	FENCEPOST_REQUIRE_NATIVE=1 $(BIN)/python -m pytest $(PYTEST_ARGS)

.PHONY: test-rust
test-rust: ## Run the Rust tests alone
	cargo test --workspace --locked --quiet

.PHONY: stress
stress: venv ## Build, then run the stress harness and print its verdict (STRESS_ARGS to choose)
	$(BIN)/fencepost stress $(STRESS_ARGS)

.PHONY: conformance
conformance: venv ## Run the recorded vectors on each engine
	$(BIN)/fencepost conformance $(VECTORS) --engine native
	$(BIN)/fencepost conformance $(VECTORS) --engine python

# Peers come one by one: one that has no build for this platform is skipped, and the report names it.
$(VENV)/.stamp-bench: requirements/bench.txt requirements/bench-peers.txt $(VENV)/.stamp-native
	$(BIN)/python -m pip install --quiet --requirement requirements/bench.txt
	@grep -v '^#' requirements/bench-peers.txt | while read -r peer; do \
		$(BIN)/python -m pip install --quiet "$$peer" || echo "bench: $$peer does not install here" >&2; \
	done
	@touch $@

.PHONY: bench
bench: $(VENV)/.stamp-bench ## Measure, beside other queues; tables, JSON and plots in build/bench (BENCH_ARGS to choose)
	$(BIN)/python -m bench $(BENCH_ARGS)

.PHONY: bench-quick
bench-quick: venv ## See that the bench works, in under a minute; its figures say little
	$(BIN)/python -m bench --quick --no-plots --output build/bench-quick

.PHONY: bench-instructions
bench-instructions: venv ## Hold the instruction counts of the hot operations to their budget (needs valgrind)
	$(BIN)/python -m bench.instructions

.PHONY: bench-lock
bench-lock: ## Compile requirements/bench.txt anew
	$(PYTHON) -m venv --clear build/lock
	build/lock/bin/python -m pip install --quiet '$(UV_RANGE)'
	build/lock/bin/uv pip compile --quiet $(LOCK_ARGS) --universal --python-version 3.11 \
		--constraint requirements/dev.txt --custom-compile-command 'make bench-lock' \
		--output-file requirements/bench.txt requirements/bench.in

.PHONY: lint
lint: $(VENV)/.stamp-tools ## Check format and lint: ruff, rustfmt, clippy
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings

.PHONY: format
format: $(VENV)/.stamp-tools ## Rewrite the sources as the formatters want them
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix-only --exit-zero .
	cargo fmt --all

.PHONY: types
types: venv ## Check types: mypy --strict, and the extension against its stub
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest fencepost._native

$(DOCS_VENV)/.stamp: requirements/docs.txt
	$(PYTHON) -m venv --clear $(DOCS_VENV)
	$(DOCS_VENV)/bin/python -m pip install --quiet --requirement requirements/docs.txt
	@touch $@

.PHONY: api
api: venv ## Record the public API anew, when a change of it is meant; CHANGELOG.md says so too
	$(BIN)/python -m tests.api.listing

# Reads the Python sources where they lie: neither cargo nor .venv is needed.
.PHONY: docs
docs: $(DOCS_VENV)/.stamp ## Build the documentation into build/docs/html; a warning is an error
	$(DOCS_VENV)/bin/sphinx-build --quiet --fail-on-warning --keep-going --fresh-env \
		--doctree-dir build/docs/doctrees docs build/docs/html
	@echo "build/docs/html/index.html"

.PHONY: docs-test
docs-test: venv ## Run the examples of the documentation, and hold it to what is public
	$(BIN)/python -m pytest tests/docs $(DOCS_TEST_ARGS)

.PHONY: docs-lock
docs-lock: ## Compile requirements/docs.txt anew
	$(PYTHON) -m venv --clear build/lock
	build/lock/bin/python -m pip install --quiet '$(UV_RANGE)'
	build/lock/bin/uv pip compile --quiet $(LOCK_ARGS) --universal --python-version 3.11 --no-emit-package fencepost \
		--constraint requirements/dev.txt --custom-compile-command 'make docs-lock' \
		--output-file requirements/docs.txt requirements/docs.in stress/pyproject.toml

.PHONY: hooks
hooks: $(VENV)/.stamp-tools ## Install the pre-commit hooks
	$(BIN)/pre-commit install

.PHONY: lock
lock: ## Compile requirements/dev.txt anew (LOCK_ARGS=--upgrade to move the pins)
	$(PYTHON) -m venv --clear build/lock
	build/lock/bin/python -m pip install --quiet '$(UV_RANGE)'
	build/lock/bin/uv pip compile --quiet $(LOCK_ARGS) --universal --python-version 3.11 --no-emit-package fencepost \
		--custom-compile-command 'make lock' --output-file requirements/dev.txt \
		requirements/dev.in stress/pyproject.toml

include release/dist.mk

.PHONY: ci
ci: ## Run everything that a change has to pass
	.ci/run

.PHONY: clean
clean: ## Remove what was built, .venv too
	rm -rf $(VENV) target build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	rm -f python/fencepost/_native*.so python/fencepost/_native*.pyd python/fencepost/_native*.dylib
	find python stress tests bench docs examples release build_backend -name __pycache__ -type d -prune -exec rm -rf {} +
