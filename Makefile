# One command each: `make test` checks everything, `make demo` shows the main job.
# Both make their own virtual environment, so a fresh clone needs nothing but Python 3.11 or newer.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PAGES := node_modules/.ready

# Tests start hundreds of processes: Python keeps what it has compiled, whatever the environment says.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: test quick soak soak-serve thorough check lint lint-python lint-javascript docs browser format demo clean

# A process for each core, and the one that is done first takes over tests from another. One more saves nothing (measured).
PYTEST := $(BIN)/python -m pytest -n auto --dist worksteal

# The browser is installed while pip installs the rest, and Python is checked while npm installs the tools for JavaScript.
MAKEFLAGS += --jobs=2

# The JavaScript that needs no browser.
NODE_TESTS := $(BIN)/node --test --test-reporter=dot tests/web/*.test.mjs

# mypy has one process, so it runs beside the tests, as do those of JavaScript; what they say comes after theirs.
test: lint browser
	@{ $(NODE_TESTS); node=$$?; $(BIN)/mypy && [ $$node = 0 ]; } > $(VENV)/checks.log 2>&1 & checking=$$!; \
	  $(PYTEST); tested=$$?; \
	  wait $$checking; checked=$$?; cat $(VENV)/checks.log; \
	  [ $$tested = 0 ] && [ $$checked = 0 ]

# The tests that start no process and open no browser, but for those that take seconds each.
quick: $(READY)
	$(PYTEST) tests/unit tests/cli -m "not slow and not thorough"

# A hostile campaign for as long as it is told, with a table at its end: make soak MINUTES=60. It prints its seed, which is
# a new one unless it is given: make soak SEED=1
MINUTES ?= 60
soak: $(READY)
	$(BIN)/python -m tests.campaign --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

# The server under load for ten minutes, with its memory every ten seconds; needs wrk: make soak-serve SOAK=10
SOAK ?= 10
soak-serve: $(READY)
	$(BIN)/python benchmarks/serve.py --soak $(SOAK)

# The tests with hundreds of kills and a thousand examples of each property. It takes hours.
thorough: $(READY)
	$(PYTEST) -m "" --hypothesis-profile thorough --timeout 7200

# Tests open pages in Chromium, and are skipped where there is none. It is installed only where that needs no password.
browser:
	@command -v chromium > /dev/null || command -v chromium-browser > /dev/null || command -v google-chrome > /dev/null || \
	  { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && \
	    apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends chromium > /dev/null; } || \
	  echo "Without Chromium the tests of pages are skipped." >&2

check: lint
	$(BIN)/mypy
	$(NODE_TESTS)

lint: lint-python lint-javascript

lint-python: $(READY)
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/python tools/prose.py

lint-javascript: $(READY) $(PAGES)
	$(BIN)/node node_modules/.bin/biome check --error-on-warnings
	$(BIN)/node node_modules/.bin/tsc -p jsconfig.json

# The documentation as a site: open docs/_build/index.html. A warning, such as a link that leads nowhere, is an error. All pages
# are built each time: a page that has not changed may link to a heading that has.
docs: $(READY)
	$(BIN)/sphinx-build -qaE -W --keep-going -d $(VENV)/doctrees docs docs/_build

format: $(READY) $(PAGES)
	$(BIN)/ruff check --fix --exit-zero --quiet
	$(BIN)/ruff format
	$(BIN)/node node_modules/.bin/biome check --write

demo: $(READY)
	$(BIN)/augenmerk demo

# The stamp is written last, so an installation that broke off is done again. Of 12,700 files a fraction is ever imported,
# so Python compiles those when it does: compiling all would take 40 of 95 seconds.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "augenmerk needs Python 3.11 or newer; say which with: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

# The tools that check JavaScript, in the exact versions of package.json. Node comes from PyPI, for developers only.
$(PAGES): package.json $(READY)
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/npm install --silent --no-audit --no-fund
	@touch $@

clean:
	rm -rf $(VENV) node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build docs/_build
