#!/usr/bin/env bash
# Builds the engine against the torch of the Python on the path, with nothing but torch, CMake and a compiler, and
# runs its tests there: for machines with a GPU, where nothing can be installed.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$(command -v "${PYTHON:-python3}")
build=build/cuda

cmake -S . -B "$build" -DOPSCOPE_CLI=OFF -DPython3_EXECUTABLE="$python" >/dev/null
cmake --build "$build" --target _native -j "$(nproc)"
rm -rf "$build/package" && mkdir -p "$build/package"
cp -r python/opscope "$build/package/"
cp "$build"/_native*.so "$build/_build.py" "$build/package/opscope/"
PYTHONPATH="$PWD/$build/package" "$python" -m pytest -q -p no:cacheprovider tests/cuda tests/python/test_engine_cases.py tests/python/test_engine_traces.py
