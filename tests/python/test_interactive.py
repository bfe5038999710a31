"""`opscope explore --interactive` as a person uses it: in a terminal, by keys."""

import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
PATIENCE = 20  # seconds


def program():
    """The program under test: $OPSCOPE, else the installed one."""
    named = os.environ.get("OPSCOPE")
    return named if named else shutil.which("opscope") or str(HERE.parents[1] / ".venv" / "bin" / "opscope")


class Terminal:
    """A terminal of tmux's own, 80 by 24 unless said otherwise."""

    def __init__(self, folder, width=80, height=24):
        self._server = ["tmux", "-S", str(folder / f"tmux-{uuid.uuid4().hex[:8]}"), "-f", "/dev/null"]
        environment = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        subprocess.run(
            [*self._server, "new-session", "-d", "-x", str(width), "-y", str(height), "/bin/sh"],
            check=True,
            env=environment,
        )

    def keys(self, *names):
        subprocess.run([*self._server, "send-keys", *names], check=True)

    def text(self, text):
        subprocess.run([*self._server, "send-keys", "-l", text], check=True)

    def run(self, command):
        self.text(command)
        self.keys("Enter")

    def screen(self):
        shown = subprocess.run([*self._server, "capture-pane", "-p"], check=True, capture_output=True)
        return shown.stdout.decode()

    def resize(self, width, height):
        subprocess.run([*self._server, "resize-window", "-x", str(width), "-y", str(height)], check=True)

    def wait_for(self, *texts, gone=()):
        """The screen once all of the texts are on it; time enough for a busy machine."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            screen = self.screen()
            if all(text in screen for text in texts) and not any(text in screen for text in gone):
                return screen
            time.sleep(0.05)
        pytest.fail(f"waited for {texts}, without {gone}; the screen is\n{self.screen()}")

    def close(self):
        subprocess.run([*self._server, "kill-server"], check=False)


@pytest.fixture(name="capture", scope="module")
def a_capture(tmp_path_factory):
    path = tmp_path_factory.mktemp("captures") / "net.json"
    model = path.with_name("net.py")
    model.write_text(
        "import torch\n"
        "class Block(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.conv = torch.nn.Conv2d(8, 8, 3, padding=1)\n"
        "        self.act = torch.nn.ReLU()\n"
        "    def forward(self, x):\n"
        "        return self.act(self.conv(x)) + x\n"
        "def build():\n"
        "    return torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), Block(), Block(), torch.nn.Flatten())\n"
    )
    subprocess.run(
        [program(), "capture", f"{model}:build", "--input-shape", "1,3,34,34", "-o", str(path)],
        check=True,
        capture_output=True,
        env={**os.environ, "OPSCOPE_PYTHON": sys.executable},
    )
    return path


@pytest.fixture(name="terminal")
def a_terminal(tmp_path):
    terminal = Terminal(tmp_path)
    yield terminal
    terminal.close()


def start(terminal, capture):
    terminal.run(f"{program()} explore {capture} --interactive; echo left with $?")
    return terminal.wait_for("q quit", "FLOPs")


def test_tree_details_and_keys_are_shown_at_80_by_24(terminal, capture):
    screen = start(terminal, capture)
    lines = screen.splitlines()
    assert len(lines) == 24
    assert "Sequential" in screen and "│" in screen
    assert "? help" in lines[-1]
    assert "params" in lines[0]


def test_arrows_walk_and_unfold(terminal, capture):
    start(terminal, capture)
    terminal.keys("Right", "Down")
    terminal.wait_for("Block, called once")
    terminal.keys("Right")
    terminal.wait_for("▾ 1", "conv", "act", "add")
    terminal.keys("Right", "Enter", "Down")
    terminal.wait_for("aten::conv2d", "MACs")
    terminal.keys("Left", "Left", "Left", "Left")
    terminal.wait_for("▸ 1")


def test_search_sort_measure_and_filter(terminal, capture):
    start(terminal, capture)
    terminal.text("/relu")
    terminal.wait_for("/relu")
    terminal.keys("Enter")
    terminal.wait_for("found 'relu'", "ReLU")
    terminal.text("n")
    terminal.text("/nothing like it")
    terminal.keys("Enter")
    terminal.wait_for("nothing has 'nothing like it'")
    terminal.text("s")
    terminal.wait_for("order: FLOPs")
    terminal.text("m")
    terminal.wait_for("by bytes moved")
    terminal.text("b")
    terminal.wait_for("1% or more")
    terminal.text("?")
    terminal.wait_for("any key goes back")
    terminal.text("x")
    terminal.wait_for("q quit")


def test_follows_the_size_of_the_terminal(terminal, capture):
    start(terminal, capture)
    terminal.resize(120, 40)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        lines = terminal.screen().splitlines()
        if len(lines) == 40 and "q quit" in lines[-1] and len(lines[0]) > 90:
            break
        time.sleep(0.05)
    else:
        pytest.fail(terminal.screen())
    terminal.resize(50, 12)
    terminal.wait_for("Sequential", gone=["│"])


def test_leaves_the_terminal_as_it_was(terminal, capture):
    terminal.run("echo here before")
    terminal.wait_for("here before")
    start(terminal, capture)
    terminal.text("q")
    terminal.wait_for("here before", "left with 0", gone=["q quit"])
    start(terminal, capture)
    terminal.keys("C-c")
    terminal.wait_for("left with 0", gone=["q quit"])
    terminal.run("stty -a | grep -o ' echo ' && echo echoes")
    terminal.wait_for("echoes")


def test_leaves_the_terminal_as_it_was_when_told_to_end(terminal, capture):
    terminal.run(f"sh -c 'echo $$ > {capture}.pid; exec {program()} explore {capture} -i'; echo left with $?")
    terminal.wait_for("q quit")
    os.kill(int(Path(f"{capture}.pid").read_text()), signal.SIGTERM)
    terminal.wait_for("left with 143", gone=["q quit"])


def test_without_a_terminal_says_so(capture):
    done = subprocess.run(
        [program(), "explore", str(capture), "--interactive"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert "there is no terminal to browse in" in done.stderr
