"""`kill -9` at random moments, ten processes with one cache: never a broken file, never a wrong answer.

    kill_test.py OPSCOPE MAKE_CAPTURES [--runs 1000] [--processes 10] [--seed 1] [--python PYTHON]

Without --python, fake_python.py stands in for the capture. Some runs end by themselves, in some the program is
killed, in some its Python. What ended by itself must have said what it says alone; a file that a killed run was to
write is the old one or the new one; the cache holds whole entries only, and the next run uses them.
"""

import argparse
import collections
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODELS = ("resnet18", "resnet34", "vgg11")  # captures of one network under three names
TROUBLE = "continuing without the cache"


class Runs:
    """One cache, what each command says alone, and what became of the runs."""

    def __init__(self, folder, program, captures, python, seed):
        self.folder, self.program = folder, program
        self.random, self.lock = random.Random(seed), threading.Lock()
        self.counts, self.wrong = collections.Counter(), []
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(folder), "TMPDIR": str(folder / "tmp"), "OPSCOPE_CACHE_DIR": str(folder / "cache"),
            "OPSCOPE_PYTHON": python or str(HERE / "fake_python.py"), "FAKE_LOG": str(folder / "requests"),
            "FAKE_CAPTURE": str(captures / "resnet18.json"), "LSAN_OPTIONS": os.environ.get("LSAN_OPTIONS", ""),
            **({"PYTHONPATH": os.environ["PYTHONPATH"]} if python and "PYTHONPATH" in os.environ else {}),
        }  # fmt: skip
        (folder / "tmp").mkdir()
        self.commands = [["profile", model, *rest] for model in MODELS for rest in (["--verbose"], ["--verbose", "--format", "json"], ["--depth", "2"])]
        self.commands += [["compare", MODELS[0], MODELS[2]]]
        if not python:  # the real list shows which models have been captured
            self.commands.append(["list"])
        began = time.monotonic()
        self.expected = [self.alone(command) for command in self.commands]
        self.typical = (time.monotonic() - began) / len(self.commands)

    def start(self, command, **more):
        pipe = subprocess.PIPE
        return subprocess.Popen([self.program, *command], stdout=pipe, stderr=pipe, text=True, cwd=self.folder, env={**self.environment, **more})

    def alone(self, command):
        """With a cache of its own: what it says when nobody disturbs it. Times differ from one capture to the next."""
        out, err = (process := self.start(command, OPSCOPE_CACHE_DIR=tempfile.mkdtemp(dir=self.folder))).communicate()
        if process.returncode != 0:
            raise SystemExit(f"{command} fails undisturbed: {err}")
        return steady(out)

    def drawn(self):
        with self.lock:
            index = self.random.randrange(len(self.commands))
            after = self.random.choice([0.05, 0.4, 1.2]) * self.random.random() * self.typical  # with the cache it is short
            fate = self.random.choice(["program", "program", "python", "none"])
            odd = self.random.random()
        return index, after, fate, odd

    def one(self, number):
        index, after, fate, odd = self.drawn()
        if odd < 0.1:  # entries go while others read and write them
            self.start(["cache", "--clear"] if odd < 0.05 else ["cache", "--limit", "200kB"]).communicate()
        output = self.folder / f"out{number}.json" if self.commands[index][-1] == "json" else None
        if output:
            output.write_text("the old file")
        process = self.start([*self.commands[index], *(["--output", str(output)] if output else [])])
        if fate != "none":
            time.sleep(after)
            kill(process.pid) if fate == "program" else [kill(child) for child in children(process.pid)]
        out, err = process.communicate()
        self.judge(index, process.returncode, output.read_text() if output else out, err, output is not None)
        if output:
            output.unlink()

    def judge(self, index, code, text, err, is_file):
        whole = steady(text) == self.expected[index]
        if code == 0:
            kind, right = "ended", whole
        elif code == -signal.SIGKILL:
            kind, right = "killed", whole or text == "the old file" if is_file else self.is_begun(index, text)
        else:  # its Python was killed: an error that says so, and nothing else
            kind, right = "lost its Python", code == 2 and text in ("", "the old file") and "opscope: " in err and "Python" in err
        if TROUBLE in err:
            right = False
        with self.lock:
            self.counts[kind] += 1
            if not right:
                self.wrong.append(f"{self.commands[index]}: {kind}, exit code {code}\n{err}\n{text[:400]}")

    def is_begun(self, index, text):
        """stdout of a killed run is all, nothing, or the beginning of it."""
        return self.expected[index].startswith(steady(text)[:40])

    def check_cache(self):
        """Whole entries only; and all that was killed left room for the next run."""
        for path in (self.folder / "cache").glob("*.json"):
            try:
                json.loads(path.read_text())
            except ValueError as problem:
                self.wrong.append(f"{path.name} in the cache: {problem}")
        for command, expected in zip(self.commands, self.expected, strict=True):
            out, err = self.start(command).communicate()
            if steady(out) != expected or err and TROUBLE in err:
                self.wrong.append(f"{command} after all: {err}\n{out[:400]}")


def steady(text):
    """Without how long the capture took, which is another time each time, and without which models `list` knows the costs of."""
    lines = [line for line in text.splitlines() if '"seconds"' not in line and "_seconds" not in line]
    return "\n".join(re.sub(r"static capture.*|(torchvision|Source).*", "", line) for line in lines)


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def children(pid):
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("make_captures")
    parser.add_argument("--runs", type=int, default=80)
    parser.add_argument("--processes", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--python", default="")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "captures").mkdir()
        subprocess.run([asked.make_captures, str(folder / "captures")], check=True)
        runs = Runs(folder, str(Path(asked.program).resolve()), folder / "captures", asked.python, asked.seed)
        numbers = iter(range(asked.runs))

        def work():
            while (number := next(numbers, None)) is not None:
                runs.one(number)

        threads = [threading.Thread(target=work) for _ in range(asked.processes)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        runs.check_cache()
    counts = ", ".join(f"{count} {kind}" for kind, count in sorted(runs.counts.items()))
    print(f"{asked.runs} runs, {asked.processes} at once: {counts}; {len(runs.wrong)} wrong")
    print("\n".join(runs.wrong[:5]))
    return 1 if runs.wrong or sum(runs.counts.values()) != asked.runs else 0


if __name__ == "__main__":
    sys.exit(main())
