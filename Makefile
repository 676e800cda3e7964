# What a person and CI run. Every target does its own set-up: what it needs comes from the package
# index into .venv, once. `make help` lists the targets.

# The first supported Python on PATH; name another with `make PYTHON=python3.12 …`.
SUPPORTED = import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11 python3.10 python; do \
	$$python -c '$(SUPPORTED)' 2>/dev/null && { echo $$python; break; }; done)

VENV ?= .venv
TRIAL ?= .venv-trial
TRAINING ?= .venv-training
RUN := $(VENV)/bin
PIP := $(RUN)/python -m pip --disable-pip-version-check --quiet

# What `make wheels` builds: the default stack, or STACK=mindspeed-rl-2.3, or OVERLAY=verl@d62da49.
STACK ?=
OVERLAY ?=
# What `make site` shows beside the documents: folders of wheels, where the index will be, reports of drift.
WHEELS ?=
INDEX_URL ?=
DRIFT ?=
SELECTION = $(if $(STACK),--stack $(STACK)) $(OVERLAY)

TESTS ?= tests
PYTEST = $(RUN)/python -m pytest $(TESTS) --numprocesses auto --maxprocesses 4 --dist load --maxschedchunk 1
# Of branches, in percent; below it `make coverage` fails.
COVERAGE_GATE ?= 88

# Where a shell says so, thousands of short processes would compile all they import, every time.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
# Two pips must not write to one environment at once.
.NOTPARALLEL:
.PHONY: help wheels train test test-quick test-rest test-all coverage lint types format site bench mutate reproducibility matrix clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*  ## /  make \1: /p' Makefile | awk -F': ' '{ printf "%-24s %s\n", $$1, $$2 }'

wheels: $(VENV)/installed  ## build the default stack, npu-doctor and npu-recipes into wheels/, install them into a scratch environment, print the summary
	@test -z "$(STACK)" -o -z "$(OVERLAY)" || { echo "Name STACK or OVERLAY, not both: $(STACK) and $(OVERLAY) need not go together." >&2; exit 2; }
	$(RUN)/npu-overlays build $(SELECTION)
	$(PIP) wheel --no-deps --no-build-isolation --wheel-dir wheels ./build_tools ./recipes
	$(RUN)/python build_tools/try_wheels.py --environment $(TRIAL) -- $(SELECTION)

train: $(VENV)/installed  ## train with the wheels of the default stack on any CPU: GRPO of a tiny model, in four minutes; RECIPE="smoke-sft" for another
	@ls wheels/verl_npu-*.whl wheels/npu_recipes-*.whl > /dev/null || { echo "Build the wheels first: make wheels" >&2; exit 2; }
	$(RUN)/python build_tools/try_training.py --environment $(TRAINING) --fresh -- $(RECIPE)

test: $(VENV)/installed-test  ## run the tests that need no repository, only a package index
	$(PYTEST) -m "not upstream and not thorough"

test-quick: $(VENV)/installed-test  ## run those of them that take no more than a few seconds
	$(PYTEST) -m "not upstream and not thorough and not slow"

test-rest: $(VENV)/installed-test  ## run the tests that `make test` leaves out: they need a repository, or much time and rarely find anything
	$(PYTEST) -m "upstream or thorough"

test-all: test test-rest  ## run all tests

coverage: $(VENV)/installed-test  ## run the quick tests again, and measure what of the tool they reach
	$(PYTEST) -m "not upstream and not thorough and not slow" --cov --cov-report=term:skip-covered --cov-fail-under=$(COVERAGE_GATE)

lint: $(VENV)/installed $(VENV)/installed-lint  ## check style, and that imports point one way
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/lint-imports

types: $(VENV)/installed-test $(VENV)/installed-lint  ## check types
	$(RUN)/mypy
	$(RUN)/mypy build_tools/try_wheels.py build_tools/try_training.py bench lab tests

format: $(VENV)/installed  ## format the code
	$(RUN)/ruff check --fix-only .
	$(RUN)/ruff format .

site: $(VENV)/installed-site  ## build the site into site/: the documents, and of WHEELS=wheels what is patched, how to install it, and the index
	$(RUN)/npu-overlays site $(WHEELS) $(if $(INDEX_URL),--index-url $(INDEX_URL)) $(addprefix --drift ,$(DRIFT))

bench: $(VENV)/installed $(VENV)/installed-bench  ## measure building and the summary, in ratios
	PYTHONPATH=lab $(RUN)/python bench/run.py $(BENCH)

mutate: $(VENV)/installed-test  ## change the overlays' own code in small wrong ways, and see that tests catch each
	PYTHONPATH=lab $(RUN)/python -m mutations $(MUTATE)

reproducibility: $(VENV)/installed-test  ## build one overlay under each condition that must not matter, write docs/reproducibility.md
	PYTHONPATH=lab $(RUN)/python -m reproducibility $(if $(OVERLAY),--overlay $(OVERLAY))

matrix: $(VENV)/installed  ## print the cells CI runs, one for each overlay and Python
	@$(RUN)/npu-overlays matrix --format github | tee -a "$${GITHUB_OUTPUT:-/dev/null}"

clean:  ## delete the environments, the wheels and the caches of tools
	rm -rf $(VENV) $(TRIAL) $(TRAINING) wheels runs site .coverage .coverage.* .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

$(RUN)/python:
	@test -n "$(PYTHON)" || { echo "No Python 3.10 to 3.13 found on PATH: install one, or name it: make PYTHON=/path/to/python3.12" >&2; exit 1; }
	@"$(PYTHON)" -c '$(SUPPORTED)' || { echo "$(PYTHON) is not Python 3.10 to 3.13; name one that is: make PYTHON=/path/to/python3.12" >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' || { echo "$(PYTHON) cannot make environments; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	"$(PYTHON)" -m venv --clear $(VENV)

# The time of a stamp says when the environment was last made to fit pyproject.toml.
# pip learned `--python`, which build_tools/try_wheels.py uses, in 22.3; Ubuntu 22.04 brings 22.0.
$(VENV)/installed: pyproject.toml build_tools/pyproject.toml $(RUN)/python
	$(PIP) install "pip>=22.3" --editable ./build_tools --editable .
	@touch $@

$(VENV)/installed-site: pyproject.toml build_tools/pyproject.toml $(RUN)/python
	$(PIP) install "pip>=22.3" --editable ./build_tools --editable ".[site]"
	@touch $@

# The tool does without npu-recipes, which brings numpy and matplotlib; its tests and linters do not.
$(VENV)/installed-%: pyproject.toml build_tools/pyproject.toml recipes/pyproject.toml $(RUN)/python
	$(PIP) install "pip>=22.3" --editable ./build_tools --editable "./recipes[$*]" --editable ".[$*]"
	@touch $@
