# Everything installs into .venv; a stamp file makes the second run quick.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
SITE := docs/conf.py docs/_extensions

.PHONY: setup java demo test test-slow lint conformance fuzz mutations bench bench-quick kafka docs package clean

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
	$(BIN)/ruff check headrace tests bench conformance $(SITE)
	$(BIN)/ruff format --check headrace tests bench conformance $(SITE)
	$(BIN)/mypy
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not slow"

test-slow: java setup
	HEADRACE_DOSE=full $(BIN)/python -m pytest -q -m slow
	HEADRACE_DOSE=full $(BIN)/python -m pytest -q -n 2 -m "not slow and not spark and not kafka" tests/property tests/unit tests/golden

lint: setup
	$(BIN)/ruff format headrace tests bench conformance $(SITE)
	$(BIN)/ruff check --fix headrace tests bench conformance $(SITE)
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

# The documentation site with llms.txt, in build/site. Warnings are errors; every link is checked, and that nothing comes from other hosts.
docs: .venv/.docs-installed
	$(BIN)/python -m sphinx -W --keep-going --quiet --fresh-env --jobs auto docs build/site
	@$(BIN)/python docs/_extensions/site_check.py build/site
	@$(BIN)/python docs/llms.py build/site

.venv/.docs-installed: $(STAMP)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --group docs
	@touch $@

# The wheel and the sdist, the same bytes for the same commit.
package: setup
	@$(BIN)/python -m tests.package.build dist
	@$(BIN)/twine check --strict dist/*

clean:
	rm -rf build .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
