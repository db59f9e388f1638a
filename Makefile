# Each target works alone on a fresh machine with Python 3.11 or newer and make.

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
RUN ?= runs/digits

.PHONY: demo test test-cupy core check burn examples bench names lint types clean

demo: $(VENV)/.installed
	$(PY) -m minburn.demo $(RUN)

# One process a core, and one BLAS thread in each.
test core: export OPENBLAS_NUM_THREADS ?= 1
test: $(VENV)/.installed-dev
	$(PY) -m pytest -m "not heavy" -n auto --dist loadfile

# The CUDA backend, on a device made of the CPU: the real CuPy, kernels compiled by g++ into ~/.cache. Minutes at first.
# At the end all of these kernels are compiled by NVIDIA's compilers.
test-cupy: export OPENBLAS_NUM_THREADS ?= 1
test-cupy: export MINBURN_CUDA := emulated
test-cupy: $(VENV)/.installed-cupy
	$(PY) -m pytest tests/cupy --ignore tests/cupy/test_nvrtc.py -n auto --dist loadfile
	$(PY) -m pytest tests/cupy/test_nvrtc.py

# What to run while working: seconds.
core: $(VENV)/.installed-dev
	$(PY) -m pytest -m "not heavy" tests/backends tests/tensor tests/module tests/nn tests/optim

# What CI runs: the tests, then the heavier checks.
check:
	bash .ci/run

# With the real Burn, compiled once: 3 minutes on two cores, into ~/.cache/minburn-burn. Needs cargo; no other test does.
burn: $(VENV)/.installed-burn
	@$(PY) tests/burn/burn_driver.py
	$(PY) -m pytest -m burn tests/burn

# The page of Burn's names and the README's table, made anew: after a name, a "Burn:" sentence or a reason has changed.
names: $(VENV)/.installed
	$(PY) tests/names/page.py

lint: $(VENV)/.installed-dev
	$(PY) -m ruff format --check minburn tests benchmarks examples
	$(PY) -m ruff check minburn tests benchmarks examples

types: $(VENV)/.installed-dev
	$(PY) -m mypy --strict minburn
	$(PY) -m mypy --strict examples/*.py
	set -e; for program in tests/programs/*.py; do $(PY) -m mypy --strict $$program; done

# The course, one script after the other; each asserts what it claims. Runs lie in runs/. One BLAS
# thread, unless told otherwise: two that wait for each other on busy cores take ten times as long.
examples: export OPENBLAS_NUM_THREADS ?= 1
examples: $(VENV)/.installed
	set -e; for script in examples/[0-9]*.py; do echo; echo "== $$script"; $(PY) $$script; done

bench: $(VENV)/.installed-dev
	$(PY) benchmarks/step.py
	$(PY) benchmarks/checkpoint.py
	$(PY) benchmarks/pack.py

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "minburn needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(PY) -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(VENV)/bin/python
	$(PY) -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@ $(VENV)/.installed

# BF16 computes through ml_dtypes.
$(VENV)/.installed-burn: pyproject.toml | $(VENV)/bin/python
	$(PY) -m pip install --quiet --disable-pip-version-check -e '.[dev,bf16]'
	@touch $@ $(VENV)/.installed $(VENV)/.installed-dev

$(VENV)/.installed-cupy: pyproject.toml | $(VENV)/bin/python
	$(PY) -m pip install --quiet --disable-pip-version-check -e '.[dev,emulated]'
	@touch $@ $(VENV)/.installed $(VENV)/.installed-dev

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
