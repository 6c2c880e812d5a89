# Everything starts here; `make` lists the targets.
.DEFAULT_GOAL := help
SHELL := /bin/sh
# Tests start hundreds of processes: each would compile all of penstock again.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest
ON_TWO := -n 2 --dist loadfile --no-loadscope-reorder
# Laws share no state but the session, and the cases of one file take most of an hour.
SPREAD := -n 2 --dist worksteal
INSTALLED := $(VENV)/.installed
JAVA := $(VENV)/.java-home
JARS := $(VENV)/.jars
LOG_STORE := src/penstock/engine/penstock-delta-storage.jar
SITE := src/penstock/app/site/bundle/index.html
WITH_JAVA := JAVA_HOME="$$(cat $(JAVA))" PATH="$(CURDIR)/$(BIN):$$PATH"

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(INSTALLED) $(JAVA) $(JARS) $(LOG_STORE) $(SITE) ## install what is missing: .venv, Java 17, the Delta jars; build java/ and frontend/

.PHONY: postgres
postgres: ## find a PostgreSQL server for the contracts of stores, or install one where permitted
	@scripts/ensure-postgres --install || echo "tests that need PostgreSQL are skipped"

.PHONY: chromium
chromium: ## find a Chromium for the tests of the site, or install one where permitted
	@scripts/ensure-chromium --install >/dev/null || echo "tests that need Chromium are skipped"

.PHONY: test-site
test-site: $(SITE) ## what the pages of the site compute, without a browser
	scripts/npm run --silent test

.PHONY: check
check: lint test-site ## everything that needs no Java: format, lint, types, imports, unit tests, doctests
	$(PYTEST) -q -m "not spark and not faults and not matrix" $(ON_TWO)

.PHONY: test
test: setup postgres chromium lint test-site ## the gate: what check does and every other test, on two processes
	$(WITH_JAVA) $(PYTEST) -q -m "not matrix" $(ON_TWO)

.PHONY: test-all
test-all: test ## the gate, then all that it leaves out, then the laws on new random cases
	$(WITH_JAVA) $(PYTEST) -q -m "matrix and not laws" $(ON_TWO)
	$(MAKE) test-laws

.PHONY: lint
lint: $(INSTALLED) $(SITE) ## format, lint, types and imports alone
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy --no-error-summary
	$(BIN)/lint-imports --no-logo --no-cache
	scripts/npm run --silent lint

.PHONY: format
format: $(INSTALLED) ## lay out the code and mend what ruff can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.PHONY: test-faults
test-faults: setup ## kill steps at every marked point, and KILLS=20 times at random moments
	$(WITH_JAVA) $(PYTEST) -q -m faults $(ON_TWO)

.PHONY: test-matrix
test-matrix: setup ## the long cases that the gate leaves out, killed processes apart
	$(WITH_JAVA) $(PYTEST) -q -m "matrix and not faults" $(ON_TWO)

.PHONY: test-lakes
test-lakes: setup postgres ## buckets, a Hive metastore, a cluster: what needs servers, all started here
	$(WITH_JAVA) $(PYTEST) -q -m lakes $(ON_TWO)

.PHONY: test-laws
test-laws: setup ## the ten laws as property tests, on EXAMPLES=300 new random cases each
	$(WITH_JAVA) $(PYTEST) -q -m laws --hypothesis-profile search $(SPREAD)

.PHONY: demo
demo: setup ## build a real project and show what penstock knows of it
	$(WITH_JAVA) scripts/demo

.PHONY: screenshots
screenshots: demo chromium ## take pictures of commands and of the site, into build/screenshots
	$(WITH_JAVA) $(BIN)/python scripts/screenshots
	$(BIN)/python scripts/site-pictures

.PHONY: bench
bench: setup ## measure what the docs promise
	$(WITH_JAVA) $(BIN)/python scripts/bench

.PHONY: docs
docs: $(INSTALLED) ## write docs/cli.md and the tables of docs/reference/ anew
	$(BIN)/python scripts/docs

.PHONY: release-check
release-check: setup ## build the package and try its wheel in an empty environment
	scripts/release-check

.PHONY: lock
lock: $(INSTALLED) ## resolve requirements.lock anew from the ranges in pyproject.toml
	$(BIN)/uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 \
		--upgrade --no-emit-index-url --no-header --no-annotate --quiet --output-file requirements.lock

.PHONY: clean
clean: ## remove what can be made again, .venv too
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis .coverage build dist demo
	rm -rf frontend/node_modules frontend/dist $(dir $(SITE))
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Made once and again only when what they come from has changed.

$(INSTALLED): requirements.lock pyproject.toml scripts/ensure-venv
	scripts/ensure-venv $(VENV)
	@touch $@

$(JAVA): scripts/ensure-java | $(INSTALLED)
	scripts/ensure-java > $@.new
	@mv $@.new $@

$(JARS): $(INSTALLED) | $(JAVA)
	$(WITH_JAVA) $(BIN)/penstock doctor --fix
	@touch $@

$(LOG_STORE): scripts/ensure-log-store $(shell find java -name '*.java') | $(JARS)
	$(WITH_JAVA) scripts/ensure-log-store $@

$(SITE): scripts/ensure-site scripts/npm $(shell find frontend -type f -not -path '*/node_modules/*' -not -path '*/dist/*') | $(INSTALLED)
	scripts/ensure-site $(patsubst %/,%,$(dir $@))
	@touch $@
