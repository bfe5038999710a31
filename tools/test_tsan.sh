#!/bin/bash
# The engine and the bindings built with ThreadSanitizer (g++), and eight threads that capture and train at once.
# Python and libtorch are not instrumented: libtsan is loaded before them, and sees their locks.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
python=$root/.venv/bin/python
cmake -G Ninja -S . -B build/tsan -DOPSCOPE_SANITIZE=thread -DOPSCOPE_CLI=OFF -DCMAKE_UNITY_BUILD=ON -DCMAKE_CXX_COMPILER=g++ \
  -DCMAKE_BUILD_TYPE=RelWithDebInfo -DPython3_EXECUTABLE="$python" >/dev/null
cmake --build build/tsan --target _native
mkdir -p build/tsan/site/opscope
ln -sfn "$root"/python/opscope/* "$root"/build/tsan/_native*.so "$root"/build/tsan/_build.py build/tsan/site/opscope/
options="suppressions=$root/tests/tsan/suppressions.txt:exitcode=66:history_size=4:report_signal_unsafe=0"
# Without randomised addresses: ThreadSanitizer of g++ 12 does not know the mappings of newer kernels.
exec setarch "$(uname -m)" -R env LD_PRELOAD="$(g++ -print-file-name=libtsan.so)" TSAN_OPTIONS="$options" OMP_NUM_THREADS=1 \
  PYTHONPATH="$root/build/tsan/site" "$python" tests/tsan/threads.py "$@"
