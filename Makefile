# What a person does here. Every target makes .venv by itself if it is missing.
PYTHON ?= python3
BIN = .venv/bin
TEST_CACHE = .cache/numba-tests
PYTEST = NUMBA_CACHE_DIR="$(CURDIR)/$(TEST_CACHE)" $(BIN)/python -m pytest -n auto --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help reproduce test test-long test-oldest lint format docs bench bench-production bench-files bench-trees dist clean

help: ## Show this list
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,lint,docs]'
	@touch $@

reproduce: .venv/installed ## Run the paper's experiments on MNIST: verdicts here and a page, saccade.html
	@$(BIN)/python -m reproduction --out saccade.html

# Kernels take the fields of a plan as arguments.
$(TEST_CACHE)/compiled: .venv/installed tests/compile_kernels.py src/saccade/reading/plan.py $(wildcard src/saccade/kernels/*.py)
	NUMBA_CACHE_DIR="$(CURDIR)/$(TEST_CACHE)" $(BIN)/python tests/compile_kernels.py
	@touch $@

test: $(TEST_CACHE)/compiled ## Run all tests, on all cores
	$(PYTEST)

test-long: $(TEST_CACHE)/compiled ## Run all tests with all random examples and repetitions
	SACCADE_TEST_LONG=1 $(PYTEST)

.venv-oldest/installed: pyproject.toml tests/oldest.py
	$(PYTHON) -m venv --clear .venv-oldest
	$(PYTHON) tests/oldest.py > .venv-oldest/requirements.txt
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check -r .venv-oldest/requirements.txt
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

test-oldest: .venv-oldest/installed ## Run all tests with the lowest versions that are allowed; needs Python 3.11
	NUMBA_CACHE_DIR="$(CURDIR)/$(TEST_CACHE)" .venv-oldest/bin/python -m pytest -n auto --dist worksteal

lint: .venv/installed ## Check style, types and the import graph
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python docs/rooms.py --check

format: .venv/installed ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/python docs/rooms.py

docs: .venv/installed ## Build the documentation site, docs/_build/html/index.html
	$(BIN)/python -m sphinx -W --keep-going -q -d docs/_build/doctrees docs docs/_build/html
	@echo "The site is in docs/_build/html: open index.html"

bench: .venv/installed ## Measure speed and accuracy beside the peers, into benchmarks/results
	$(BIN)/python benchmarks/learning.py
	$(BIN)/python benchmarks/prediction.py
	$(BIN)/python benchmarks/sparse_rows.py
	$(BIN)/python benchmarks/tables.py
	$(BIN)/python benchmarks/promise.py
	$(BIN)/python benchmarks/costly.py
	$(BIN)/python benchmarks/tree_costs.py

bench-production: .venv/installed ## Measure a watch, a service on loopback, and a cluster of two on 8 GB in a temporary folder
	$(BIN)/python -W ignore benchmarks/production.py
	$(BIN)/python -W ignore benchmarks/production_learning.py
	$(BIN)/python -W ignore benchmarks/service.py

bench-files: .venv/installed ## Measure files of a few gigabytes, in a temporary folder
	$(BIN)/python benchmarks/files.py

bench-trees: .venv/installed ## Measure trees beside LightGBM, lleaves (in an environment of its own), XGBoost, scikit-learn
	$(BIN)/python -W ignore benchmarks/trees.py
	$(BIN)/python -W ignore benchmarks/tree_costs.py

dist: .venv/installed ## Build the wheel and the source distribution
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[release]'
	rm -rf dist
	$(BIN)/python -m build

clean: ## Remove everything that was made
	rm -rf .venv .venv-oldest .cache .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis dist docs/_build
