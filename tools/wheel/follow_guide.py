"""What the guide says can be typed, in its order; files that it shows are written first.

follow_guide.py GUIDE FOLDER_OF_DOCS_HELPERS [--quick]      --quick leaves out what runs a model
"""

import pathlib
import shutil
import subprocess
import sys
import time

sys.path.insert(0, sys.argv[2])
import docs_helpers as docs  # noqa: E402

page = pathlib.Path(sys.argv[1])
program = shutil.which("opscope")
assert program and program.startswith(sys.prefix), program
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
