#!/usr/bin/env bash
# As a new user: installs a wheel of tools/build_wheels.sh into clean environments without a compiler, for the oldest, the
# pinned and the newest torch and for none, and uses it there from outside the repository; then compiles an engine at its
# first use, and follows the guide. Big packages are those of other environments, by reference.
#   tools/test_wheel.sh [--quick] [--torch VERSION]... [--torches FOLDER] [WHEEL]
#     --quick     neither the compiling nor what runs a model in the guide
#     --torch     default: 2.8.0, the one of requirements.txt, 2.15.0
#     --torches   FOLDER/torch-VERSION: environments with torch and torchvision; those that are missing are made.
#                 Default: build/wheels/environments; the pinned one is .venv
#     WHEEL       default: the newest in dist that is for the Python in use: $PYTHON, else .venv's
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
python=${PYTHON:-$root/.venv/bin/python}
pinned=$(sed -n 's/^torch==//p' requirements.txt)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say() { printf '%s\n' "$*" >&2; }
fail() {
  say "FAILED: $*"
  exit 1
}

quick='' wheel='' torches=() folder=$root/build/wheels/environments
while (($#)); do
  case $1 in
    --quick) quick=--quick ;;
    --torch) torches+=("$2") && shift ;;
    --torches) folder=$(realpath -m "$2") && shift ;;
    *) wheel=$(realpath "$1") ;;
  esac
  shift
done
((${#torches[@]})) || torches=(2.8.0 "$pinned" 2.15.0)
tag=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
[[ -n $wheel ]] || wheel=$(find dist -name "opscope-*-$tag-*manylinux*.whl" -printf '%T@ %p\n' 2>/dev/null | sort -n | tail -1 | cut -d' ' -f2-)
[[ -n $wheel ]] || fail "no wheel in dist: tools/build_wheels.sh builds one"
wheel=$(realpath "$wheel")
size=$(stat -c %s "$wheel")
((size <= 30000000)) || fail "$wheel has $size bytes"

# Everything that a shell needs and nothing that compiles.
mkdir "$work/tools" "$work/home"
for name in bash sh env cat ls rm cp mv mkdir head tail grep sed sort uname dirname basename git; do
  ln -s "$(command -v $name)" "$work/tools/"
done

# torch_python VERSION: an environment's interpreter that has this torch, and torchvision.
torch_python() {
  local place=$folder/torch-$1
  if [[ $1 == "$pinned" && ! -d $place ]]; then place=$root/.venv; fi
  if [[ ! -x $place/bin/python ]]; then
    say "installing torch $1"
    "$python" -m venv "$place"
    "$place/bin/python" -m pip install --quiet --disable-pip-version-check "torch==$1" torchvision >&2
  fi
  printf '%s\n' "$place/bin/python"
}

# install_into PLACE [PYTHON]: the wheel, and everything that PYTHON has but opscope.
install_into() {
  local place=$1 entry packages
  "$python" -m venv --without-pip "$place"
  if [[ -n ${2:-} ]]; then
    packages=$("$2" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    mkdir "$place/packages"
    for entry in "$packages"/*; do
      case ${entry##*/} in opscope | opscope-* | *.pth) ;; *) ln -s "$entry" "$place/packages/" ;; esac
    done
    printf '%s\n' "$place/packages" >"$("$place/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/base.pth"
  fi
  "$python" -m pip --python "$place/bin/python" install --quiet --disable-pip-version-check --no-deps --no-index "$wheel"
}

# within PLACE COMMAND...: as its user, without a compiler.
within() {
  local place=$1
  shift
  (cd "$work/home" && env -i PATH="$place/bin:$work/tools" HOME="$work/home" XDG_CACHE_HOME="$place/cache" LANG=C.UTF-8 "$@")
}

# expect PLACE TEXT COMMAND...: it ends well and says TEXT.
expect() {
  local place=$1 text=$2 began=$SECONDS said
  shift 2
  said=$(within "$place" "$@" 2>&1) || fail "$*: $said"
  grep -qF -- "$text" <<<"$said" || fail "$*: no '$text' in $said"
  printf 'ok %5d s  %s\n' $((SECONDS - began)) "$(head -1 <<<"$*" | cut -c1-100)"
}

refused() {
  local place=$1 text=$2 said
  shift 2
  said=$(within "$place" "$@" 2>&1) && fail "$*: is not refused: $said"
  grep -qF -- "$text" <<<"$said" || fail "$*: no '$text' in $said"
  printf 'ok  refused  %s\n' "$*"
}

no_compiler() {
  local name
  for name in cc c++ gcc g++ clang clang++ cmake ninja make dot rsvg-convert; do
    if within "$1" bash -c "command -v $name" >/dev/null; then fail "$name is on the path"; fi
  done
}

use_torch() {
  local place=$1
  expect "$place" 1.81G opscope profile resnet18
  expect "$place" "Where the time goes" opscope measure resnet18 --runs 2 --warmup 1
  expect "$place" "$((64 * 3 * 7 * 7 * 218 * 218)) exact" python -c "
import torch, opscope
totals = opscope.profile(torch.nn.Conv2d(3, 64, 7), torch.zeros(1, 3, 224, 224)).totals
print(totals.macs, totals.confidence)"
  expect "$place" SVG opscope draw resnet18 resnet18.svg
  expect "$place" HTML opscope draw resnet18 resnet18.html
  expect "$place" SVG python -c "
import torch, opscope
print(opscope.generate_visualization(torch.nn.Linear(2, 2), torch.zeros(1, 2), 'linear.svg', 'linear'))"
}

say "$(basename "$wheel"): $size bytes"
say "no torch"
install_into "$work/none"
no_compiler "$work/none"
cp tests/readers/files/*.onnx tests/readers/files/*.pt2 "$work/home/" 2>/dev/null || true
onnx=$(cd "$work/home" && ls ./*.onnx | head -1)
expect "$work/none" Parameters opscope profile "$onnx"
expect "$work/none" SVG opscope draw "$onnx" onnx.svg
expect "$work/none" H200 opscope devices
expect "$work/none" "$(sed -n 's/^project(opscope VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)" python -c 'import opscope; print(opscope.__version__)'
refused "$work/none" "torch is not installed" opscope profile resnet18

for torch in "${torches[@]}"; do
  say "torch $torch"
  install_into "$work/$torch" "$(torch_python "$torch")"
  no_compiler "$work/$torch"
  use_torch "$work/$torch"
done

# A torch that the wheel has no engine for: here, one whose engine is taken away.
place=$work/other
install_into "$place" "$(torch_python "$pinned")"
rm -r "$("$place/bin/python" -c 'import importlib.util as u, pathlib; print(pathlib.Path(u.find_spec("opscope").origin).parent)')/engines/torch_$(cut -d. -f1,2 <<<"$pinned" | tr . _)"
refused "$place" "there is no C++ compiler to make one with" opscope profile resnet18
if [[ -z $quick ]]; then
  say "compiling an engine at its first use"
  for name in c++ as ld; do ln -s "$(command -v $name)" "$place/bin/"; done
  expect "$place" "compiling an engine for torch" opscope profile resnet18
  rm "$place"/bin/{c++,as,ld}
  use_torch "$place"
fi

say "the guide"
place=$work/$pinned
[[ -d $place ]] || install_into "$place" "$(torch_python "$pinned")"
within "$place" python "$root/tools/wheel/follow_guide.py" "$root/docs/guide.md" "$root/tests/python" $quick
