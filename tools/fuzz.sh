#!/bin/bash
# The fuzz targets in turn, until the time is over: tools/fuzz.sh [MINUTES] [TARGET...]. Needs clang 16 or newer.
# Logs executions and seconds of each turn to build/fuzz/executions.log; what is found is in build/fuzz/found.
set -euo pipefail
cd "$(dirname "$0")/.."
minutes=${1:-10}
shift || true
targets=("$@")
[[ ${#targets[@]} -gt 0 ]] || targets=(budget capture costs device measurement onnx profile pt2 trace)
compiler=${CXX:-$(command -v clang++ clang++-19 clang++-18 clang++-17 clang++-16 | tail -1)}
cmake -G Ninja -S . -B build/fuzz -DOPSCOPE_ENGINE=OFF -DOPSCOPE_FUZZ=ON -DCMAKE_UNITY_BUILD=ON -DCMAKE_CXX_COMPILER="$compiler" >/dev/null
cmake --build build/fuzz --target "${targets[@]/%/_fuzzer}"
mkdir -p build/fuzz/found
# Long enough for the seeds of each target.
declare -A longest=([budget]=500 [capture]=4200 [costs]=2000 [device]=500 [measurement]=2000 [onnx]=1000 [profile]=3000 [pt2]=6000 [trace]=2500)
declare -A words=([budget]=toml [device]=toml [pt2]=pt2 [onnx]=)
export ASAN_OPTIONS=allocator_may_return_null=1:malloc_context_size=0:detect_stack_use_after_return=0:quarantine_size_mb=16
end=$((SECONDS + minutes * 60))
turn=$((minutes * 60 / ${#targets[@]}))
((turn = turn > 300 ? 300 : turn < 10 ? 10 : turn))
failed=0
while ((SECONDS < end)); do
  for target in "${targets[@]}"; do
    kept=build/fuzz/corpus/$target
    seeds=tests/fuzz/${target}_corpus
    [[ $target == capture ]] && seeds=tests/fuzz/corpus
    mkdir -p "$kept"
    dict=${words[$target]-capture}
    log=build/fuzz/$target.log
    began=$SECONDS
    build/fuzz/tests/fuzz/"${target}_fuzzer" -max_total_time=$turn -max_len="${longest[$target]}" -timeout=25 -rss_limit_mb=1500 \
      -malloc_limit_mb=600 -detect_leaks=0 -print_final_stats=1 -reload=0 -artifact_prefix="build/fuzz/found/$target-" \
      ${dict:+-dict=tests/fuzz/$dict.dict} "$kept" "$seeds" >"$log" 2>&1 || { failed=1; grep -E 'SUMMARY|ERROR' "$log" || true; }
    # To look for leaks after every run takes four times as long as the runs: once for what was kept.
    build/fuzz/tests/fuzz/"${target}_fuzzer" -runs=0 -artifact_prefix="build/fuzz/found/$target-" "$kept" "$seeds" >"$log.leaks" 2>&1 ||
      { failed=1; grep -E 'SUMMARY|ERROR' "$log.leaks" || true; }
    count=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    echo "$target ${count:-0} executions $((SECONDS - began)) s" | tee -a build/fuzz/executions.log
  done
done
exit $failed
