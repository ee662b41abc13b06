# Everything runs in .venv, which `make setup` makes; nothing outside this folder is touched.
PYTHON ?= python3.11
PY := .venv/bin/python

.PHONY: setup demo test coverage test-unit test-matrix test-all lint bench fuzz audit docs clean

setup: .venv/installed .venv/kernel

.venv/installed: pyproject.toml constraints.txt
	command -v "$(PYTHON)" >/dev/null && "$(PYTHON)" -m venv .venv || python3 -m venv .venv
	$(PY) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt torch
	$(PY) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev]"
	$(PY) -m pip install --quiet --disable-pip-version-check --no-deps deepproblog==2.1.0
	$(PY) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt ray || echo "Ray has no wheel for this machine; its test is skipped."
	touch .venv/installed

# The editable install compiles the kernel; this does it again when its source has changed.
.venv/kernel: .venv/installed hatch_build.py $(wildcard src/neuid3/*/kernel.c)
	$(PY) hatch_build.py
	touch .venv/kernel

demo: setup
	$(PY) -m neuid3 demo

lint: setup
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	.venv/bin/lint-imports

# Two workers share two cores: threads of their own would wait for each other, which takes several times as long.
test-unit test coverage test-all: export OMP_NUM_THREADS ?= 1

# What trains no network, with few generated cases: about a minute.
test-unit: setup
	NEUID3_EXAMPLES=few $(PY) -m pytest -m "not slow" -n 2 --dist worksteal tests/unit src experiments

test: lint
	$(PY) -m pytest -m "not slow" -n 2 --dist worksteal

# The same tests, with a report of the lines and branches that none of them runs; half as long again.
coverage: setup
	$(PY) -m pytest -m "not slow" -n 2 --dist worksteal --cov --cov-report=term

# The unit tests on every Python from 3.11 to 3.13 that is installed, and with the oldest scikit-learn and numpy.
test-matrix: setup
	$(PY) tests/matrix.py

test-all: lint
	NEUID3_EXAMPLES=all $(PY) -m pytest -n 2 --dist worksteal --cov --cov-report=term

# Ten thousand made-up programs, tables and model files each, and whatever loads is used in all ways; about a quarter of an hour.
FUZZ ?= 10000
fuzz: setup
	NEUID3_FUZZ=$(FUZZ) $(PY) -m pytest -q --timeout=0 tests/unit/logic/test_hostile_input.py tests/integration/io/test_model_files.py -k "whatever"
	$(PY) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt atheris
	$(PY) -m benchmarks.fuzz -atheris_runs=$(FUZZ)

audit: setup
	$(PY) -m pip install --quiet --disable-pip-version-check pip-audit
	$(PY) -m pip_audit --local

bench: setup
	$(PY) -m benchmarks --into docs/speed.md; missed=$$?; $(PY) -m benchmarks --plot docs/images/bench.svg && exit $$missed

docs: .venv/docs
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict

.venv/docs: .venv/installed
	$(PY) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[docs]"
	touch .venv/docs

# The source archive and the wheel, in dist/, and both tried in a new environment outside this checkout; a few minutes.
.PHONY: dist
dist: setup
	rm -rf dist
	$(PY) -m build --no-isolation --outdir dist .
	$(PY) tests/helpers/try_dist.py dist

clean:
	rm -rf .venv .matrix .coverage .coverage.* .hypothesis .pytest_cache .mypy_cache .ruff_cache .import_linter_cache dist build site
