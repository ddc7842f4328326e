# Two commands matter: `make run` and `make test`. `make help` lists the rest.

VENV ?= .venv
PYTHON ?= python3
PORT ?= 8501
MODEL ?=
WORKERS ?= 2

ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
PY := $(BIN)/python
RUN_STAMP := $(VENV)/.requirements
DEV_STAMP := $(VENV)/.requirements-dev

model_option = $(if $(MODEL),--model $(MODEL))
json_option = $(if $(JSON),--json)

.DEFAULT_GOAL := help
.PHONY: help run test test-full unit js browser lint types verify bench fetch browser-ready clean

help: ## Say what each command does
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

run: $(RUN_STAMP) ## Set up on the first call, then start the app
	$(PY) -m streamlit run app.py --server.port $(PORT)

test: lint types browser-ready ## Lint, types, and every test that fits in twenty minutes
	$(PY) -m pytest -n $(WORKERS) --dist loadfile

test-full: lint types browser-ready ## The same with the long and the load tests
	$(PY) -m pytest -m ""

unit: $(DEV_STAMP) ## The fast tests alone: no server, no browser
	$(PY) -m pytest tests/unit tests/js -m "not real_model and not full and not load"

browser: browser-ready ## The browser tests alone
	$(PY) -m pytest tests/browser

js: $(DEV_STAMP) ## The browser code's own tests
	$(PY) -m pytest tests/js

lint: $(DEV_STAMP) ## Check style
	$(PY) -m ruff check .

types: $(DEV_STAMP) ## Check types
	$(PY) -m mypy

verify: $(RUN_STAMP) ## Check every identity the app relies on (MODEL=name, JSON=1)
	@$(PY) -m core verify $(model_option) $(json_option)

bench: browser-ready ## Measure the cost of looking inside (JSON=1)
	@$(PY) -m core bench $(model_option) $(json_option)

fetch: $(RUN_STAMP) ## Fetch a model's weights ahead of a lesson (MODEL=name)
	@$(PY) -m core fetch $(MODEL)

clean: ## Remove the environment and what tools left behind; the weights stay
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis test-results
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Set-up writes to stderr, so that `make -s verify JSON=1` prints one JSON object and nothing else.
$(PY):
	@$(PYTHON) tools/make_venv.py $(VENV) >&2

$(RUN_STAMP): requirements.txt | $(PY)
	@$(PY) -m pip install --disable-pip-version-check -r requirements.txt >&2
	@touch $@

$(DEV_STAMP): requirements-dev.txt $(RUN_STAMP)
	@$(PY) -m pip install --disable-pip-version-check -r requirements-dev.txt >&2
	@touch $@

browser-ready: $(DEV_STAMP)
	@$(PY) tools/find_browser.py >&2
