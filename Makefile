PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
INTEGRATIONS := .cache/integrations
PYTEST_WORKERS ?= 2
CLIENTS ?= claude-code codex gemini-cli opencode dsh

.PHONY: test test-integrations check format bench demo screenshots clean

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev,fast]'
	touch $@

test: $(STAMP)
	$(BIN)/python -m pytest -n $(PYTEST_WORKERS) -m 'not clients'

# The frameworks bring hundreds of megabytes, so they have an environment of their own.
$(INTEGRATIONS)/.installed: pyproject.toml
	$(PYTHON) -m venv $(INTEGRATIONS)
	$(INTEGRATIONS)/bin/python -m pip install --quiet --editable '.[dev,claude-agent-sdk,openai-agents,langchain]'
	touch $@

test-integrations: $(INTEGRATIONS)/.installed
	$(INTEGRATIONS)/bin/python -m pytest -n $(PYTEST_WORKERS) tests/engine/integrations

empty :=
test-clients: $(STAMP)
	$(BIN)/python -m tests.clients.install $(CLIENTS)
	$(BIN)/python -m pytest -n $(PYTEST_WORKERS) -m clients tests/clients -k '$(subst $(empty) $(empty), or ,$(strip $(CLIENTS)))'

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP)
	$(BIN)/python -m benchmarks --write

demo: $(STAMP)
	$(BIN)/breaker demo

screenshots: $(STAMP)
	$(BIN)/python -m tools.screenshots

clean:
	rm -rf $(VENV) build dist
