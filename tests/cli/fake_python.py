#!/usr/bin/env python3
"""Stands in for the Python that the program runs: answers in the protocol, as $FAKE_MODE says."""

import json
import os
import shutil
import sys
import time

mode = os.environ.get("FAKE_MODE", "capture")
request = json.loads(sys.argv[sys.argv.index("opscope.capture") + 1])
with open(os.environ["FAKE_LOG"], "a", encoding="utf-8") as log:
    log.write(json.dumps(request) + "\n")


def say(**answer):
    print(json.dumps(answer), flush=True)


say(status="importing torch")
print("a library's chatter", file=sys.stderr)
if mode == "no_package":
    print("python: No module named opscope", file=sys.stderr)
    sys.exit(1)
if mode == "crash":
    print("first\nsecond\nthird\nfourth", file=sys.stderr, flush=True)
    os.kill(os.getpid(), 11)
if mode == "silent":
    sys.exit(0)
if mode == "sleep":
    time.sleep(60)
if mode == "error":
    candidates = ["resnet18", "resnet34", "resnet101", "vgg11"]
    error = {"what": f"no model called '{request['model']}'", "where": "", "hint": "opscope list"}
    say(error={**error, "candidates": candidates, "traceback": "Traceback: deep inside\n"})
    sys.exit(2)
if request["command"] == "list":
    models = [{"name": name, "source": "torchvision 1.0", "family": name.rstrip("0123456789")} for name in ("resnet18", "resnet34", "vgg11")]
    with open(request["output"], "w", encoding="utf-8") as file:
        json.dump({"models": models, "dependencies": []}, file)
    say(done={"cacheable": True})
    sys.exit(0)
if request["command"] == "inputs":
    row = {"name": "input_ids", "shape": [1, 128], "dtype": "int64", "value": "ids 5", "why": "vocabulary, of 30522"}
    with open(request["output"], "w", encoding="utf-8") as file:
        json.dump({"inputs": [row], "notes": ["a guess"]}, file)
    say(done={"cacheable": False})
    sys.exit(0)
if request["command"] == "capture_many":
    for index, name in enumerate(request["models"]):
        if name == "resnet34":
            say(finished={"index": index, "error": {"what": "too deep", "where": "", "hint": ""}})
            continue
        if name == "vgg11" and mode == "crash_on_vgg":
            os.kill(os.getpid(), 11)
        shutil.copyfile(os.environ["FAKE_CAPTURE"], os.path.join(request["folder"], f"{index}.json"))
        say(finished={"index": index, "cacheable": True})
    say(done={})
    sys.exit(0)
with open(os.environ["FAKE_CAPTURE"], encoding="utf-8") as file:
    capture = json.load(file)
watched = os.environ.get("FAKE_DEPENDENCY")
if watched:
    status = os.stat(watched)
    capture["capture"]["dependencies"] = [
        {"path": watched, "bytes": status.st_size, "modified_ns": status.st_mtime_ns}
    ]
if mode == "half":
    shutil.copyfile(os.environ["FAKE_CAPTURE"], request["output"])
    os.truncate(request["output"], 1000)
else:
    with open(request["output"], "w", encoding="utf-8") as file:
        json.dump(capture, file)
say(done={"cacheable": mode != "uncacheable"})
