#!/usr/bin/env bash
# Brings a checkout to the point where opscope runs: system packages, .venv, the pinned Python packages, the
# wheel. Each step looks first and does nothing when there is nothing to do.
#   tools/setup.sh [--editable | --checkers]
#     --editable   the package is the checkout's python/opscope, so that a change there needs no build; stays so
#                  until `make clean`
#     --checkers   only what `make check` needs besides
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(g++ cmake ninja-build ccache libfmt-dev libsimdjson-dev libcli11-dev libtomlplusplus-dev libgtest-dev
          libbenchmark-dev zlib1g-dev libsqlite3-dev libonnx-dev libprotobuf-dev libgraphviz-dev librsvg2-dev
          libncurses-dev fonts-dejavu-core tmux python3-venv python3-dev libgl1 libglib2.0-0)
python=${PYTHON:-python3}

say() { printf '%s\n' "$*" >&2; }

missing_packages() {
  local package
  for package in "${packages[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || printf '%s ' "$package"
  done
}

install_system_packages() {
  command -v dpkg-query >/dev/null || return 0  # not Debian: CMake says what it does not find
  local missing sudo=()
  missing=$(missing_packages)
  [[ -z $missing ]] && return 0
  if [[ $(id -u) -ne 0 ]]; then
    if ! sudo -n true 2>/dev/null; then
      say "opscope needs system packages. Run this, then make again:"
      say "  sudo apt-get install -y ${missing% }"
      exit 1
    fi
    sudo=(sudo -n)
  fi
  say "installing ${missing% }"
  "${sudo[@]}" apt-get update -qq
  # shellcheck disable=SC2086  # a list of names
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
}

make_venv() {
  [[ -x .venv/bin/python ]] && .venv/bin/python -c '' 2>/dev/null && return 0
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || {
    say "opscope needs Python 3.10 or newer; $("$python" --version) is on the path. Set PYTHON to another."
    exit 1
  }
  say "making .venv with $("$python" --version)"
  "$python" -m venv --clear .venv
}

# Runs a step if the hash of what it depends on is not the one its stamp holds.
when_changed() {
  local stamp=$1 now=$2
  shift 2
  [[ -f $stamp && $(<"$stamp") == "$now" ]] && return 0
  "$@"
  printf '%s' "$now" >"$stamp"
}

install_requirements() {
  say "installing the Python packages of requirements.txt"
  .venv/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
}

sources_hash() {
  local folders=(src cmake data)
  [[ -f .venv/.editable ]] || folders+=(python)
  {
    find "${folders[@]}" -type f -not -name '*.pyc' -print0 | sort -z | xargs -0 sha256sum
    sha256sum CMakeLists.txt pyproject.toml requirements.txt
  } | sha256sum
}

# What ninja has done so far: one line, redrawn, on a terminal; a line for every 25 files in a log. All else that
# the build writes goes to the file.
show_progress() {
  local log=$1 line step terminal=
  [[ -t 2 ]] && terminal=1
  while IFS= read -r line; do
    printf '%s\n' "$line" >>"$log"
    [[ $line =~ \[([0-9]+)/([0-9]+)\]\ (.*) ]] || continue
    step="[${BASH_REMATCH[1]}/${BASH_REMATCH[2]}]"
    if [[ $terminal ]]; then
      printf '\r\e[K  %s %s' "$step" "${BASH_REMATCH[3]##*/}" >&2
    elif ((BASH_REMATCH[1] % 25 == 0 || BASH_REMATCH[1] == BASH_REMATCH[2])); then
      say "  $step"
    fi
  done
  if [[ $terminal ]]; then printf '\r\e[K' >&2; fi
}

install_wheel() {
  local log=build/wheel.log how=(--force-reinstall .)
  [[ -f .venv/.editable ]] && how=(--editable .)
  say "building opscope"
  mkdir -p build
  : >"$log"
  .venv/bin/python -m pip install --verbose --disable-pip-version-check --no-build-isolation --no-deps "${how[@]}" \
    2>&1 | show_progress "$log" || {
    grep -n -m 20 -E 'error|Error' "$log" >&2 || tail -n 20 "$log" >&2
    say "building opscope failed; all that was said is in $log"
    exit 1
  }
}

install_checkers() {
  say "installing clang-format, clang-tidy, ruff and mypy"
  .venv/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
}

install_system_packages
make_venv
case ${1:-} in
  --checkers)
    when_changed .venv/.checkers "$(sha256sum requirements-dev.txt)" install_checkers
    exit
    ;;
  --editable) touch .venv/.editable ;;
esac
when_changed .venv/.requirements "$(sha256sum requirements.txt)" install_requirements
when_changed .venv/.opscope "$(sources_hash)" install_wheel
