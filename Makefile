# Each target works as the first command in a clean clone: it sets up .venv when that is missing,
# made by another Python, or older than constraints.txt or pyproject.toml.
PYTHON ?= python3
BIN := .venv/bin
CODE := src tests scripts $(wildcard benchmarks)
RULES := tests/test_architecture.py tests/test_public_api.py tests/test_docs.py

# pyenv has python3.12 on PATH and still refuses it unless that version is switched on: do so here.
ifneq ($(shell $(PYTHON) -c 'print(1)' 2>/dev/null),1)
export PYENV_VERSION := $(shell pyenv versions --bare 2>/dev/null | paste -sd: -)
endif

.DEFAULT_GOAL := help
.PHONY: help version demo record-demo screenshot test check bench fuzz setup browser format constraints clean

help:
	@echo "make demo         replay the bundled session and write demo-report.html"
	@echo "make test         run the tests (ARGS='-k word' picks some)"
	@echo "make check        format, lint, strict types, import table, public names, docs"
	@echo "make bench        print the figures that the README quotes"
	@echo "make fuzz         draw fresh examples (FORMAT=anthropic|chat|responses MINUTES=10)"
	@echo "make screenshot   take the README's picture of the demo report anew"
	@echo "make record-demo  record the bundled session anew (Python 3.12 or newer, for ctok)"
	@echo "make format       format the code and fix what lint can fix"
	@echo "make constraints  pin the dependencies anew (UPGRADE=1 raises versions)"
	@echo "make setup clean  make .venv; remove what was made"
	@echo "PYTHON=python3.12 chooses the interpreter"

demo: setup
	$(BIN)/tenure demo --out demo-report.html

screenshot: demo browser
	$(BIN)/python -m scripts.report_screenshot demo-report.html docs/images/report.png

record-demo: setup
	$(BIN)/python -m scripts.record_demo

test: setup browser
	$(BIN)/python -m pytest -n 2 $(ARGS)

check: setup
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/mypy $(CODE)
	$(BIN)/python -m pytest -q $(RULES)

bench: setup
	$(BIN)/python -m benchmarks $(ARGS)

FORMAT ?=
MINUTES ?= 10
fuzz: setup
	$(BIN)/python -m scripts.fuzz --format "$(FORMAT)" --minutes $(MINUTES) $(ARGS)

setup:
	@$(PYTHON) scripts/setup_venv.py

version:
	@$(PYTHON) --version

browser: setup
	@$(BIN)/python -m scripts.setup_chromium

format: setup
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix $(CODE)

constraints:
	PYTHON=$(PYTHON) scripts/constraints.sh

clean:
	rm -rf .venv .venv.lock .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist demo-report.html
	find src tests scripts $(wildcard benchmarks) -name __pycache__ -type d -prune -exec rm -rf {} +
