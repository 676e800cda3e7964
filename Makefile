# What a person and CI run. Every target does its own set-up: what it needs comes from the package
# index into .venv, once. `make help` lists the targets.

# The first supported Python on PATH; name another with `make PYTHON=python3.12 …`.
SUPPORTED = import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))
# It is looked for once, and only by what needs it.
PYTHON ?= $(eval PYTHON := $(shell for python in python3 python3.13 python3.12 python3.11 python3.10 python; do \
	$$python -c '$(SUPPORTED)' 2>/dev/null && { echo $$python; break; }; done))$(PYTHON)

VENV ?= .venv
TRIAL ?= .venv-trial
TRAINING ?= .venv-training
RUN := $(VENV)/bin
# Before a command that prints nothing for seconds: on a terminal it counts them.
TIMER := sh build_tools/timer.sh
PIP := $(TIMER) $(RUN)/python -m pip --disable-pip-version-check --quiet

# What `make wheels` builds: the default stack, or STACK=mindspeed-rl-2.3, or OVERLAY=verl@d62da49.
STACK ?=
OVERLAY ?=
# What `make site` shows beside the documents: folders of wheels, where the index will be, reports of drift.
WHEELS ?=
INDEX_URL ?=
DRIFT ?=
SELECTION = $(if $(STACK),--stack $(STACK)) $(OVERLAY)
# What a release is made of: every overlay, where nothing is named; and where it lies.
RELEASED = $(if $(STACK)$(OVERLAY),$(SELECTION),--all)
RELEASE ?= release
# Development builds are dated by the commit, so that two checkouts of it give the same; revisions have no date.
DATED = SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct 2>/dev/null)}
# Distributions that are no overlays: npu-doctor and npu-recipes.
OWN = ./build_tools ./recipes

# How cells are printed, and of which cells: FORMAT=gitlab, SINCE=origin/main. In a workflow of GitHub's it is its own.
FORMAT ?= $(if $(GITHUB_OUTPUT),github)
export SINCE
# Every Nth of upstream's commits since the pin is looked at.
DRIFT_STEP ?= 20
# What `make follow` ports: every project, or PROJECTS=transformers.
PROJECTS ?=

TESTS ?= tests
PYTEST = $(RUN)/python -m pytest $(TESTS) --numprocesses auto --maxprocesses 4 --dist load --maxschedchunk 1$(if $(MINUTES), --minutes $(MINUTES))$(if $(TURN), --turn $(TURN))
# MINUTES=20 begins no test later than that, and lists the rest; TURN=$(git rev-parse HEAD) gives each commit an order
# of its own.
MINUTES ?=
TURN ?=
# Of branches, in percent; below it `make coverage` fails.
COVERAGE_GATE ?= 88

# Where a shell says so, thousands of short processes would compile all they import, every time.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
# Two pips must not write to one environment at once.
.NOTPARALLEL:
.PHONY: help wheels train test test-quick test-rest test-all coverage lint types format site bench rivals parity families mutate schemas golden sampled reproducibility matrix ci release released same-bytes test-release pages publish preview drift drifted drift-issue follow prove follow-requests clean

help:  ## list the targets
	@awk -F ':.*  ## ' '/^[a-z-]+:.*  ## / { line = sprintf("  make %-17s", $$1); n = split($$2, words, " "); \
		for (i = 1; i <= n; i++) { if (length(line words[i]) > 98) { print line; line = sprintf("%24s", "") } \
		line = line " " words[i] } print line }' Makefile

wheels: $(VENV)/installed  ## build the default stack, npu-doctor and npu-recipes into wheels/, install them into a scratch environment, print the summary
	@test -z "$(STACK)" -o -z "$(OVERLAY)" || { echo "Name STACK or OVERLAY, not both: $(STACK) and $(OVERLAY) need not go together." >&2; exit 2; }
	$(RUN)/npu-overlays build $(SELECTION)
	$(PIP) wheel --no-deps --no-build-isolation --wheel-dir wheels $(OWN)
	$(RUN)/python build_tools/try_wheels.py --environment $(TRIAL) -- $(SELECTION)

train: $(VENV)/installed  ## train with the wheels of the default stack on any CPU: GRPO of a tiny model, in four minutes; RECIPE="smoke-sft" for another
	@ls wheels/verl_npu-*.whl wheels/npu_recipes-*.whl > /dev/null || { echo "Build the wheels first: make wheels" >&2; exit 2; }
	$(RUN)/python build_tools/try_recipe.py --environment $(TRAINING) --fresh -- $(RECIPE)

test: $(VENV)/installed-test  ## run the tests that need no repository, only a package index
	$(PYTEST) -m "not upstream and not thorough"

test-quick: $(VENV)/installed-test  ## run only those that take a few seconds at most
	$(PYTEST) -m "not upstream and not thorough and not slow"

test-rest: $(VENV)/installed-test  ## run the tests that `make test` leaves out, because they need a repository or much time; MINUTES=20 starts no test later
	$(PYTEST) -m "upstream or thorough"

test-all: test test-rest  ## run all tests

coverage: $(VENV)/installed-test  ## measure how much of the tool the tests reach, without those that train a model
	$(PYTEST) --ignore tests/overlays --ignore tests/recipes/launch -m "not upstream and not thorough" --cov --cov-report=term:skip-covered --cov-fail-under=$(COVERAGE_GATE)

lint: $(VENV)/installed $(VENV)/installed-lint  ## check style, that imports point one way, and that no merge conflict was committed
	! git grep -nE '^(<{7}|>{7}) '
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/lint-imports

types: $(VENV)/installed-test $(VENV)/installed-lint  ## check types
	$(TIMER) $(RUN)/mypy
	$(TIMER) $(RUN)/mypy build_tools/try_wheels.py build_tools/try_recipe.py bench ci lab tests

format: $(VENV)/installed-test  ## format the code, and write the tables of the documents
	$(RUN)/ruff check --fix-only .
	$(RUN)/ruff format .
	PYTHONPATH=lab $(RUN)/python -m document_tables

site: $(VENV)/installed-site  ## build the site into site/: the documents and, with WHEELS=wheels, what is patched, how to install it, and the index
	$(RUN)/npu-overlays site $(WHEELS) $(if $(INDEX_URL),--index-url $(INDEX_URL)) $(addprefix --drift ,$(DRIFT))

bench: $(VENV)/installed $(VENV)/installed-bench  ## measure building and the summary, in ratios
	PYTHONPATH=lab $(RUN)/python bench/run.py $(BENCH)

rivals: $(VENV)/installed-bench  ## measure our way and others to the same installed wheel, write docs/rivals.md and its picture
	PYTHONPATH=lab:bench $(RUN)/python -m rivals $(if $(OVERLAY),--overlay $(OVERLAY)) $(RIVALS)

parity: $(VENV)/installed-test  ## run tiny models of every pin of transformers beside upstream's code, on CPU and emulated NPU, write docs/parity.md; PARITY="--overlay NAME" for one
	PYTHONPATH=lab:bench $(RUN)/python -m parity $(PARITY)

families: $(VENV)/installed-test  ## run a tiny model of every family of transformers, write docs/families.md; FAMILIES="--overlay NAME"
	PYTHONPATH=lab $(TIMER) $(RUN)/python -m parity.family_pages $(FAMILIES)

mutate: $(VENV)/installed-test  ## put small mistakes into the overlays' code, and see that a test catches each
	PYTHONPATH=lab $(TIMER) $(RUN)/python -m mutations $(MUTATE)

schemas: $(VENV)/installed-test  ## read the operators for the emulated NPU from torch_npu: the newest, those of the stacks, and VERSIONS="2.15.0"
	$(TIMER) $(RUN)/python lab/npu_schemas.py $(VERSIONS)

golden: $(VENV)/installed-test  ## compare what is built and reported for every pin with lab/golden/corpus; GOLDEN=--write updates it
	PYTHONPATH=lab $(TIMER) $(RUN)/python -m golden $(GOLDEN)

sampled: $(VENV)/installed-test  ## port verl's overlays to commits of its history, and run upstream's tests and ours there; SAMPLED="--commits ID" tries one
	PYTHONPATH=lab $(RUN)/python -m sampled $(SAMPLED)

reproducibility: $(VENV)/installed-test  ## build one overlay under each condition that must not change it, write docs/reproducibility.md
	PYTHONPATH=lab $(TIMER) $(RUN)/python -m reproducibility $(if $(OVERLAY),--overlay $(OVERLAY))

matrix: $(VENV)/installed  ## print the cells that CI runs, by overlay and Python; SINCE=origin/main prints only those that a change touches
	@if [ -z "$$GITHUB_OUTPUT" ]; then \
		$(RUN)/npu-overlays matrix $(FORMAT:%=--format %) $${SINCE:+--changed-since "$$SINCE"}; \
	else \
		cells=$$($(RUN)/npu-overlays matrix --format $(FORMAT) $${SINCE:+--changed-since "$$SINCE"}) && \
		printf '%s\n' "$$cells" | tee -a "$$GITHUB_OUTPUT"; \
	fi

ci: $(VENV)/installed  ## run what CI runs, job by job, each in a fresh clone; CELLS="verl@0.9.1 lint" picks some
	@PYTHONPATH=lab $(RUN)/python ci/local.py $${SINCE:+--changed-since "$$SINCE"} $(CELLS)

# Wheels with their statements and constraints, and source distributions of all of it: a recipe for a folder.
define made-in
	$(DATED) $(RUN)/npu-overlays build $(RELEASED) --out $(1)
	$(DATED) $(RUN)/npu-overlays sdist $(RELEASED) --out $(1)
	$(PIP) wheel --no-deps --no-build-isolation --wheel-dir $(1) $(OWN)
endef

release: $(VENV)/installed  ## build every overlay into release/files: wheels, source distributions, statements, SHA256SUMS; and release/index, with what `make released` fetched
	rm -rf $(RELEASE)/files $(RELEASE)/index
	$(call made-in,$(RELEASE)/files)
	$(RUN)/npu-overlays verify-wheel $(RELEASE)/files/*.whl $(RELEASE)/files/*.intoto.json $(RELEASE)/files/constraints-*.txt
	$(RUN)/python ci/sums.py write $(RELEASE)/files
	$(RUN)/npu-overlays index $(wildcard $(RELEASE)/before/*) $(RELEASE)/files --out $(RELEASE)/index

released:  ## fetch earlier releases into release/before/, for the index; needs gh
	ci/released.sh $(RELEASE)/before

same-bytes: $(VENV)/installed  ## build all of release/files again with this Python, and compare
	rm -rf $(RELEASE)/again
	$(call made-in,$(RELEASE)/again)
	$(RUN)/python ci/sums.py same $(RELEASE)/files $(RELEASE)/again

test-release: $(VENV)/installed  ## install each stack of release/files with this Python, and verify what is installed
	PYTHONPATH=build_tools $(RUN)/python ci/installed.py $(RELEASE)/files

pages: $(VENV)/installed-site  ## build the site of release/files into site/, with release/index and the reports in drift/
	$(RUN)/npu-overlays site $(RELEASE)/files $(if $(INDEX_URL),--index-url $(INDEX_URL)) $(addprefix --drift ,$(wildcard drift/*.html))
	rm -rf site/simple
	cp -R $(RELEASE)/index site/simple

publish:  ## make the release TAG of release/files; needs gh, and the tag pushed
	@ci/publish.sh "$${TAG:?name it: make publish TAG=v0.2.0}" $(RELEASE)/files

preview: $(VENV)/installed  ## build every overlay, and an index of only these, into preview/
	rm -rf preview
	$(DATED) $(RUN)/npu-overlays build $(RELEASED) --out preview/wheels
	$(PIP) wheel --no-deps --no-build-isolation --wheel-dir preview/wheels $(OWN)
	$(RUN)/npu-overlays index preview/wheels --out preview/index

drift: $(VENV)/installed  ## write drift/report.md: how far the newest pins are from upstream's head; DRIFT_STEP=1 looks at every commit
	PYTHONPATH=build_tools $(TIMER) $(RUN)/python ci/drift_report.py drift $(DRIFT_STEP)

drifted:  ## fetch CI's latest report into drift/, if there is one; needs gh
	rm -rf drift
	gh run download --name drift --dir drift || echo "no report of drift yet: the site is without" >&2

follow: $(VENV)/installed  ## port the newest pins, or those of PROJECTS="NAME", to every newer release, each into follow/PROJECT@VERSION; PROVE="COMMAND" proves each
	$(RUN)/npu-overlays follow $(PROJECTS) --out follow $(if $(PROVE),--prove '$(PROVE)')

prove: $(VENV)/installed-test  ## prove the port that make follow PROVE="make prove" made of transformers or verl: our cases on CPU and emulated NPU, and verl's own tests
	PYTHONPATH=lab $(RUN)/python -m proof

follow-requests:  ## open a pull request for each port in follow/ that has none; needs gh
	ci/follow_pull_requests.sh follow

drift-issue:  ## put drift/report.md into the open issue labelled drift, or open one; needs gh
	ci/drift_issue.sh drift

clean:  ## delete the environments, the wheels and the caches of tools
	rm -rf $(VENV) $(TRIAL) $(TRAINING) wheels runs site release preview drift follow .coverage .coverage.* .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

$(RUN)/python:
	@test -n "$(PYTHON)" || { echo "No Python 3.10 to 3.13 found on PATH: install one, or name it: make PYTHON=/path/to/python3.12" >&2; exit 1; }
	@"$(PYTHON)" -c '$(SUPPORTED)' || { echo "$(PYTHON) is not Python 3.10 to 3.13; name one that is: make PYTHON=/path/to/python3.12" >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' || { echo "$(PYTHON) cannot make environments; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	$(TIMER) "$(PYTHON)" -m venv --clear $(VENV)
	@# The one that Python brings takes half as long again to resolve a hundred requirements.
	@echo "installing pip into $(VENV)"
	@$(PIP) install "pip>=25"

# The time of a stamp says when the environment was last made to fit pyproject.toml.
# pip learned `--python`, which build_tools/try_wheels.py uses, in 22.3; Ubuntu 22.04 brings 22.0.
$(VENV)/installed: pyproject.toml build_tools/pyproject.toml $(RUN)/python
	@echo "installing what npu-overlays needs into $(VENV), from your package index: this can take a minute or more"
	$(PIP) install "pip>=22.3" --editable ./build_tools --editable .
	@touch $@

$(VENV)/installed-site: pyproject.toml build_tools/pyproject.toml $(RUN)/python
	@echo "installing what the site needs into $(VENV), from your package index: this can take a minute or more"
	$(PIP) install "pip>=22.3" --editable ./build_tools --editable ".[site]"
	@touch $@

# The tool does without npu-recipes, which brings numpy and matplotlib; its tests and linters do not.
$(VENV)/installed-%: pyproject.toml build_tools/pyproject.toml recipes/pyproject.toml $(RUN)/python
	@echo "installing what $* needs into $(VENV), from your package index: this can take a minute or more"
	$(PIP) install "pip>=22.3" --editable ./build_tools --editable "./recipes[$*]" --editable ".[$*]"
	@touch $@
