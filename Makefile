# One command each: `make test` checks everything, `make demo` shows the main job.
# Both make their own virtual environment, so a fresh clone needs nothing but Python 3.11 or newer.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: test soak check format demo clean

# A process for each core, and the one that is done first takes over tests from another.
PYTEST := $(BIN)/python -m pytest -n auto --dist worksteal

test: check
	$(PYTEST)

# The long campaigns as well: hundreds of kills, a thousand examples of each property. It takes hours.
soak: $(READY)
	$(PYTEST) -m "" --hypothesis-profile soak --timeout 7200

check: $(READY)
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix --exit-zero --quiet
	$(BIN)/ruff format

demo: $(READY)
	$(BIN)/augenmerk demo

# The stamp is written last, so an installation that broke off is done again.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "augenmerk needs Python 3.11 or newer; say which with: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build
