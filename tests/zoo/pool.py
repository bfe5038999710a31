"""Worker processes that each take one model at a time; a worker that dies or hangs loses that model alone."""

from __future__ import annotations

import json
import os
import queue
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

WORKER = Path(__file__).with_name("worker.py")
#: Seconds that one model may take, and resident megabytes after which a worker is replaced by a fresh one.
TIME_LIMIT = 600
MEMORY_LIMIT_MB = 4000

Task = dict[str, Any]


class Worker:
    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def ask(self, task: Task) -> dict[str, Any]:
        process = self._started()
        assert process.stdin and process.stdout
        try:
            process.stdin.write(json.dumps(task) + "\n")
            process.stdin.flush()
            ready, _, _ = select.select([process.stdout], [], [], TIME_LIMIT)
            line = process.stdout.readline() if ready else ""
        except BrokenPipeError:
            line, ready = "", [True]
        if not line:
            process.kill()
            code = process.wait()
            self._process = None
            return {"error": f"the worker ended with code {code}" if ready else f"no answer in {TIME_LIMIT} s"}
        if _resident_mb(process.pid) > MEMORY_LIMIT_MB:
            self.close()
        return dict(json.loads(line))

    def close(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait()
        self._process = None

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, str(WORKER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env=os.environ | {"OMP_NUM_THREADS": "1"},
            )
        return self._process


def _resident_mb(pid: int) -> float:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def run(tasks: list[Task], workers: int, done: Callable[[Task, dict[str, Any]], None]) -> None:
    """Every task to some worker; `done` is called with each answer, in this thread."""
    waiting: queue.SimpleQueue[Task] = queue.SimpleQueue()
    for task in tasks:
        waiting.put(task)
    answers: queue.SimpleQueue[tuple[Task, dict[str, Any]] | None] = queue.SimpleQueue()
    threads = [threading.Thread(target=_serve, args=(waiting, answers), daemon=True) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for task, answer in _until_all_end(answers, len(threads)):
        done(task, answer)


def _serve(waiting: queue.SimpleQueue[Task], answers: queue.SimpleQueue[Any]) -> None:
    worker = Worker()
    try:
        while True:
            task = waiting.get_nowait()
            began = time.perf_counter()
            answer = worker.ask(task)
            answers.put((task, answer | {"wall": time.perf_counter() - began}))
    except queue.Empty:
        pass
    finally:
        worker.close()
        answers.put(None)


def _until_all_end(answers: queue.SimpleQueue[Any], running: int) -> Iterator[tuple[Task, dict[str, Any]]]:
    while running:
        answer = answers.get()
        if answer is None:
            running -= 1
        else:
            yield answer
