# Everything installs into .venv; a stamp file makes the second run quick.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: setup java demo test test-slow lint conformance fuzz mutations bench bench-quick kafka package llms clean

setup: $(STAMP)

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Headrace needs Python 3.11 or newer; $(PYTHON) is older. Install one and run: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Installing Headrace and what it needs into .venv ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[all]" --group dev
	@touch $(STAMP)

java:
	@$(PYTHON) headrace/_runtime/spark/session/java.py

demo: java setup
	@$(BIN)/headrace demo

test: java setup
	$(BIN)/ruff check headrace tests bench conformance
	$(BIN)/ruff format --check headrace tests bench conformance
	$(BIN)/mypy
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not slow"

test-slow: java setup
	HEADRACE_DOSE=full $(BIN)/python -m pytest -q -m slow
	HEADRACE_DOSE=full $(BIN)/python -m pytest -q -n 2 tests/property tests/unit

lint: setup
	$(BIN)/ruff format headrace tests bench conformance
	$(BIN)/ruff check --fix headrace tests bench conformance
	$(BIN)/mypy

conformance: java setup
	$(BIN)/python -m conformance.record
	$(BIN)/python -m conformance.api

# Random topologies against the real Kafka Streams, for five minutes or MINUTES=...
MINUTES ?= 5
fuzz: java setup
	$(BIN)/python -m conformance.fuzz --minutes $(MINUTES)

mutations: setup
	$(BIN)/python -m conformance.mutations

bench: java setup
	$(BIN)/python -m bench

bench-quick: java setup
	$(BIN)/python -m bench --quick

# A broker to play with, at 127.0.0.1:9092 or PORT=...; its jars come by Maven, once.
kafka: java setup
	@$(BIN)/python -m tests.support.broker $(PORT)

# The wheel and the sdist, the same bytes for the same commit.
package: setup
	@$(BIN)/python -m tests.package.build dist
	@$(BIN)/twine check --strict dist/*

# llms.txt and llms-full.txt, made of the pages.
llms:
	@$(PYTHON) docs/llms.py build/llms

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
