# make demo, make test: from a fresh clone to the answer, with nothing else done first.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON_BIN := .venv/bin/python
# As the wheel's build is, the compiler's name included, so that ccache serves the core the second time.
CMAKE := cmake -G Ninja -S . -DOPSCOPE_ENGINE=OFF -DCMAKE_UNITY_BUILD=ON -DCMAKE_CXX_COMPILER=g++
PEERS := build/peers

.PHONY: help setup dev demo check test test-cpp test-python test-zoo test-all test-asan test-torch test-tsan test-kill fuzz test-cuda wheels test-wheel bench reference format clean

help:  ## what there is to make
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup:  ## system packages, .venv, the pinned Python packages, opscope itself
	@tools/setup.sh

dev:  ## as setup, but the package is the checkout's: a change of a .py file needs no build
	@tools/setup.sh --editable

demo: setup  ## what resnet18 costs
	@.venv/bin/opscope profile resnet18

check: setup  ## the sources only: clang-format, ruff, mypy, and clang-tidy on what changed
	@tools/setup.sh --checkers
	@$(PYTHON_BIN) tools/check.py

test: check test-cpp test-python test-zoo  ## make check, and all tests but the slow ones

test-cpp: setup
	@$(CMAKE) -B build/tests -DOPSCOPE_TESTS=ON >/dev/null
	@cmake --build build/tests
	@ctest --test-dir build/tests --output-on-failure -j2

test-python: setup
	@$(PYTHON_BIN) -m pytest tests/python -q

test-zoo: setup
	@$(PYTHON_BIN) tests/zoo/run.py --fast

test-all: test test-asan test-torch  ## the slow tests too, every model of the zoo, other torches, the core under ASan and UBSan, clang-tidy on all of src
	@$(PYTHON_BIN) tools/check.py --all
	@$(PYTHON_BIN) -m pytest tests/python -q -m slow
	@$(PYTHON_BIN) tests/zoo/run.py
	@$(PYTHON_BIN) tests/zoo/run.py --tracers

test-asan: setup
	@$(CMAKE) -B build/asan -DOPSCOPE_TESTS=ON -DOPSCOPE_SANITIZE=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo >/dev/null
	@cmake --build build/asan
	@LSAN_OPTIONS=suppressions=$(CURDIR)/tests/leaks.txt:print_suppressions=0 ctest --test-dir build/asan --output-on-failure -j2

test-torch: setup  ## the oldest torch, the pinned one and the newest, each in an environment of its own
	@$(PYTHON_BIN) tools/compatibility.py --ends

test-tsan: setup  ## eight threads that capture and train at once, the engine under ThreadSanitizer
	@tools/test_tsan.sh

test-kill: test-cpp  ## a thousand runs with one cache, killed at random moments; some with the real Python
	@$(PYTHON_BIN) tests/cli/kill_test.py build/tests/opscope build/tests/tests/cli/make_captures --runs 1000
	@$(PYTHON_BIN) tests/cli/kill_test.py .venv/bin/opscope build/tests/tests/cli/make_captures --runs 40 --processes 4 --python $(CURDIR)/$(PYTHON_BIN)

fuzz:  ## every reader under libFuzzer for MINUTES (10), and random programs through the engine as long; needs clang
	@tools/fuzz.sh $(or $(MINUTES),10)
	@$(PYTHON_BIN) tests/fuzz/engine_fuzzer.py --seeds 0: --minutes $(or $(MINUTES),10)

test-cuda:  ## the engine's own tests on a machine with a GPU, against the torch that is there
	@tools/test_cuda.sh

wheels:  ## dist: a wheel for python3 that has an engine for each supported torch
	@tools/build_wheels.sh

test-wheel: setup wheels  ## as a new user: the wheel in clean environments without a compiler, and the guide followed
	@tools/test_wheel.sh

bench: setup  ## opscope beside other counters, the core alone, the command line, and what timing every op costs
	@[ -d $(PEERS)/torchinfo ] || $(PYTHON_BIN) -m pip install -q --no-deps --target $(PEERS) -r requirements-bench.txt
	@$(CMAKE) -B build/bench -DOPSCOPE_BENCH=ON >/dev/null
	@cmake --build build/bench
	@PYTHONPATH=$(PEERS) $(PYTHON_BIN) bench/peers.py --write docs/benchmarks.md --core build/bench/bench/core_bench
	@OPSCOPE_PYTHON=$(CURDIR)/$(PYTHON_BIN) $(PYTHON_BIN) bench/sweep.py --write docs/benchmarks.md --command build/bench/opscope
	@$(PYTHON_BIN) bench/capture_floor.py
	@$(PYTHON_BIN) bench/overhead.py --device cpu

reference: setup  ## docs/reference, from the program's tables and the package's docstrings
	@$(PYTHON_BIN) tools/reference.py .venv/bin/opscope
	@$(PYTHON_BIN) tools/python_reference.py

format:  ## clang-format over all C++
	@tools/setup.sh --checkers
	@git ls-files -z '*.cc' '*.h' | xargs -0 .venv/bin/clang-format -i

clean:  ## what was built; .venv stays
	@rm -rf build dist
	@rm -f .venv/.opscope .venv/.editable
