PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
INTEGRATIONS := .cache/integrations
COMPILED := .cache/compiled
SOURCES := pyproject.toml $(shell find engine console -name '*.py')
PYTEST_WORKERS ?= 2
CLIENTS ?= claude-code codex gemini-cli opencode dsh

.PHONY: test test-compiled test-clients test-integrations check format bench demo screenshots clean fuzz soak

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev,fast]'
	touch $@

test: $(STAMP)
	$(BIN)/python -m pytest -n $(PYTEST_WORKERS) -m 'not clients'

# The wheel of a release, its hot path compiled: what is measured, and tested as the source is. The checkout comes last on
# its path, for the tests and benchmarks; PYTHONSAFEPATH keeps it from coming first.
$(COMPILED)/.installed: $(SOURCES)
	$(PYTHON) -m venv $(COMPILED)
	$(COMPILED)/bin/python -m pip install --quiet --upgrade pip build
	rm -rf $(COMPILED)/dist
	HATCH_BUILD_HOOKS_ENABLE=1 $(COMPILED)/bin/python -m build --outdir $(COMPILED)/dist . > $(COMPILED)/build.log
	$(COMPILED)/bin/python -m pip install --quiet "$$(ls $(COMPILED)/dist/*.whl)[dev,fast]"
	$(COMPILED)/bin/python -m pip install --quiet --force-reinstall --no-deps $(COMPILED)/dist/*.whl
	pwd > "$$($(COMPILED)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/checkout.pth"
	touch $@

test-compiled: $(COMPILED)/.installed
	BREAKER_TEST_COMPILED=1 PYTHONSAFEPATH=1 $(COMPILED)/bin/python -m pytest -n $(PYTEST_WORKERS) -o pythonpath= \
		tests/test_compiled.py tests/engine tests/chaos

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

bench: $(COMPILED)/.installed
	PYTHONSAFEPATH=1 $(COMPILED)/bin/python -m benchmarks --write

# FUZZ_SECONDS, FUZZ_FRAMES, FUZZ_SEED, FUZZ_WORKERS: see fuzz/__main__.py. Without atheris it goes on without it.
fuzz: $(STAMP)
	-$(BIN)/python -m pip install --quiet --editable '.[fuzz]'
	$(BIN)/python -m fuzz

# SOAK_SECONDS, SOAK_RATE, SOAK_AGENTS: see fuzz/soak.py; then storms for CHAOS_SECONDS.
CHAOS_SECONDS ?= 600
soak: $(STAMP)
	$(BIN)/python -m fuzz.soak
	$(BIN)/python -m tests.chaos $(CHAOS_SECONDS)

demo: $(STAMP)
	$(BIN)/breaker demo

screenshots: $(STAMP)
	$(BIN)/python -m tools.screenshots

clean:
	rm -rf $(VENV) build dist
