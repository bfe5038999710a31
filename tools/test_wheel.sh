#!/usr/bin/env bash
# As a new user: builds the wheel, installs it into an environment that has only torch and the model libraries, and
# follows the guide from outside the repository. The big packages are those of .venv, by reference.
#   tools/test_wheel.sh [--quick] [WHEEL]      --quick leaves out what runs a model; WHEEL: one that is built already
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
python=$root/.venv/bin/python
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say() { printf '%s\n' "$*" >&2; }

quick=() wheel=
for word in "$@"; do
  if [[ $word == --quick ]]; then quick=(--quick); else wheel=$(realpath "$word"); fi
done
if [[ -z $wheel ]]; then
  say "building the wheel"
  "$python" -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps --wheel-dir "$work/dist" .
  wheel=$(echo "$work"/dist/*.whl)
fi

say "installing it into a clean environment"
"$python" -m venv --without-pip "$work/venv"
site=$("$work/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
# Everything of .venv but opscope itself.
packages=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
mkdir "$work/packages"
for entry in "$packages"/*; do
  case ${entry##*/} in opscope | opscope-* | *.pth) ;; *) ln -s "$entry" "$work/packages/" ;; esac
done
printf '%s\n' "$work/packages" >"$site/base.pth"
"$python" -m pip --python "$work/venv/bin/python" install --quiet --disable-pip-version-check --no-deps --no-index "$wheel"

mkdir "$work/home"
cd "$work/home"
export PATH="$work/venv/bin:/usr/bin:/bin" HOME="$work/home" XDG_CACHE_HOME="$work/cache"
unset PYTHONPATH VIRTUAL_ENV OPSCOPE_PYTHON OPSCOPE_CACHE_DIR OPSCOPE_REGISTRY

# What the guide says can be typed, in its order; files that it shows are written first.
OPSCOPE_GUIDE="$root/docs/guide.md" "$work/venv/bin/python" - "$root/tests/python" "${quick[@]}" <<'PYTHON'
import os, pathlib, shutil, subprocess, sys, time

sys.path.insert(0, sys.argv[1])
import docs_helpers as docs

page = pathlib.Path(os.environ["OPSCOPE_GUIDE"])
assert "/venv/" in shutil.which("opscope"), shutil.which("opscope")
for block in docs.blocks(page):
    if name := docs.named_file(block):
        pathlib.Path(name).write_text(block.text + "\n")
commands = [command for block in docs.blocks(page) for command in docs.commands_of(block) if not command.is_form]
failed = 0
for command in docs.runnable(commands, slow="--quick" not in sys.argv):
    began = time.monotonic()
    done = subprocess.run(["bash", "-c", command.text], capture_output=True, text=True)
    right = done.returncode == command.exit_code
    failed += not right
    print(f"{'ok' if right else 'FAILED':7}{time.monotonic() - began:6.1f} s  {command.text}", flush=True)
    if not right:
        print(done.stdout[-2000:], done.stderr[-2000:], sep="\n")
sys.exit(1 if failed else 0)
PYTHON
