PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
TESTS_READY := $(VENV)/ready-for-tests
LENS := .venv-lens
LENS_READY := $(LENS)/ready
LAB := .venv-lab
LAB_READY := $(LAB)/ready
ARENA := .venv-arena
ARENA_READY := $(ARENA)/ready
SEED ?= 1
# Python compiles what is imported when it is imported: a tenth of what pip would compile.
QUICKLY := --quiet --disable-pip-version-check --no-compile
# Every process that a test starts would compile all that it imports, were the result not kept.
TESTING := OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=

.PHONY: demo test style default-tests docs package fuzz fuzz-mutants test-slow test-lens test-lab test-arena arena notebooks bench gpu format clean

demo: $(READY)  ## train, take apart, date, and report: about a minute
	$(BIN)/headway demo seed=$(SEED)

test: $(TESTS_READY)  ## style, types and the default tests
	$(MAKE) --no-print-directory -j 2 style default-tests

style: $(TESTS_READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

default-tests: $(TESTS_READY)
	$(TESTING) $(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder

test-slow: $(TESTS_READY)  ## the tests that take minutes
	$(TESTING) $(BIN)/pytest -m slow

fuzz: $(TESTS_READY)  ## power cuts, failing calls, damaged files, markup, …: make fuzz SEED=1
	OMP_NUM_THREADS=1 PYTHONPATH=tests:tests/report $(BIN)/python tests/fuzzing.py --seed $(SEED)

fuzz-mutants: $(TESTS_READY)  ## faults planted one by one in a copy; each must be noticed
	$(BIN)/python tests/fuzz/mutants.py

test-lens: $(LENS_READY)  ## the tests against TransformerLens, in an environment of their own
	OMP_NUM_THREADS=1 $(LENS)/bin/pytest -m lens tests/models/test_export.py
	OMP_NUM_THREADS=1 $(LENS)/bin/pytest tests/test_everyday.py

test-lab: $(LAB_READY)  ## the widget in a real JupyterLab, in an environment of its own
	OMP_NUM_THREADS=1 $(LAB)/bin/pytest -m lab tests/report/test_browser_lab.py

arena: $(ARENA_READY)  ## every method on every model with a known circuit, in an environment with Tracr
	OMP_NUM_THREADS=1 $(ARENA)/bin/headway arena --workers 2

test-arena: $(ARENA_READY)  ## the tests of the arena, those against Tracr among them
	OMP_NUM_THREADS=1 $(ARENA)/bin/pytest tests/experiments/arena

notebooks: $(TESTS_READY)  ## run docs/notebooks from top to bottom, and keep what they show
	OMP_NUM_THREADS=1 $(BIN)/python docs/notebooks/execute.py

package: $(TESTS_READY)  ## wheel and source distribution, in dist/
	rm -rf dist
	$(BIN)/python -m build --no-isolation

docs: $(TESTS_READY)  ## the documentation as a site, in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet

bench: $(LENS_READY)  ## ratios, side by side on this machine, TransformerLens among them
	$(LENS)/bin/python benchmarks/training_step.py

gpu: $(READY)  ## what a GPU is worth, and the paper at its own scale: nine minutes on one
	$(BIN)/python benchmarks/gpu.py

format: $(TESTS_READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install $(QUICKLY) -c constraints.txt -e '.[plot]'
	touch $(READY)

$(TESTS_READY): $(READY)
	$(BIN)/pip install $(QUICKLY) -c constraints.txt -e '.[plot,table,ray,llm,dev]'
	touch $(TESTS_READY)

$(LENS_READY): pyproject.toml constraints.txt constraints-lens.txt
	$(PYTHON) -m venv $(LENS)
	$(LENS)/bin/pip install $(QUICKLY) -c constraints.txt -c constraints-lens.txt -e '.[lens,dev]'
	touch $(LENS_READY)

$(LAB_READY): pyproject.toml constraints.txt constraints-lab.txt
	$(PYTHON) -m venv $(LAB)
	$(LAB)/bin/pip install $(QUICKLY) -c constraints.txt -c constraints-lab.txt -e '.[dev]' jupyterlab
	touch $(LAB_READY)

$(ARENA_READY): pyproject.toml constraints.txt constraints-arena.txt
	$(PYTHON) -m venv $(ARENA)
	$(ARENA)/bin/pip install $(QUICKLY) -c constraints.txt -c constraints-arena.txt -e '.[tracr,dev]'
	touch $(ARENA_READY)

clean:
	rm -rf dist site $(VENV) $(LENS) $(LAB) $(ARENA) .pytest_cache .ruff_cache .hypothesis
