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


def failure(what, hint):
    return {"what": what, "where": "", "hint": hint, "traceback": "Traceback (most recent call last):\n  File \"x.py\"\nTraceError: long\n"}


# By model and tracer: the capture there is, or why there is none.
CONTROL_FLOW = failure("the model branches on a tensor's value, which symbolic_trace cannot follow", "try --tracer dynamo")
TRACES = {
    "resnet18": {"static": "resnet18", "fx": "resnet18_fx", "dynamo": "resnet18_fx", "export": "resnet18_fx", "hybrid": "resnet18_fx"},
    "my_model": {"static": "cut_static", "fx": CONTROL_FLOW, "dynamo": "cut", "hybrid": "cut_hybrid",
                 "export": failure("a size depends on the data: Tensor.item() in my_model.py:17", "try --tracer dynamo, which leaves such code to Python")},
    "looks_at_values": {tracer: "resnet18_fx" for tracer in ("fx", "dynamo", "export")} | {"static": "resnet18"},
    "hopeless": {tracer: failure(f"{tracer} cannot", "buy a larger one") for tracer in ("static", "fx", "dynamo", "export")},
}


def answer_trace():
    """Rows and files, as the request wants them; what is called "bad" cannot be exported, files of the readers' tests can."""
    captures = os.path.dirname(os.environ["FAKE_CAPTURE"])
    rows, files = [], []
    for index, tracer in enumerate(request["tracers"]):
        say(status=f"tracing with {tracer}")
        found = TRACES[request["model"]][tracer]
        if request["model"] == "looks_at_values" and tracer == "static" and request["strict_static"]:
            found = failure("the model looks at values", "try --tracer auto")
        row = {"tracer": tracer, "seconds": 0.25 * index + 0.0014}
        if isinstance(found, str):
            shutil.copyfile(os.path.join(captures, found + ".json"), os.path.join(request["folder"], f"{index}.json"))
            row["capture"] = f"{index}.json"
        else:
            row["error"] = found
        rows.append(row)
    for path in [request["save_graph"], *request["exports"]]:
        if path:
            files.append(answer_file(path))
    with open(os.path.join(request["folder"], "trace.json"), "w", encoding="utf-8") as file:
        json.dump({} if mode == "no_rows" else {"rows": rows, "files": files}, file)
    say(done={})


def answer_file(path):
    kind = {"py": "python"}.get(path.rsplit(".", 1)[1], path.rsplit(".", 1)[1])
    if "bad" in path:
        return {"path": path, "kind": kind, "seconds": 0.1, "error": {**failure("torch-mlir is not installed", "pip install torch-mlir"), "where": path}}
    ready = os.path.join(os.path.dirname(__file__), "..", "readers", "files", os.path.basename(path))
    if os.path.exists(ready):
        shutil.copyfile(ready, path)
        return {"path": path, "kind": kind, "seconds": 0.75, "notes": []}
    with open(path, "w", encoding="utf-8") as file:
        file.write("module {\n  func.func @main(%arg0: tensor<1xf32>) {\n    %0 = stablehlo.add %arg0, %arg0 : tensor<1xf32>\n"
                   "    return %0 : tensor<1xf32>\n  }\n}\n")
    return {"path": path, "kind": kind, "seconds": 1.5, "notes": ["checked: outputs are bit-equal"] if kind == "python" else []}


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
if request["command"] == "trace":
    answer_trace()
    sys.exit(0)
if request["command"] == "measure":
    for done in range(9):
        say(progress={"done": done, "total": 8 if done else 0, "doing": "measuring resnet18" if done else "warming up resnet18"})
        if mode == "slow":
            time.sleep(0.2)
    shutil.copyfile(os.environ["FAKE_CAPTURE"], request["output"])
    say(done={"cacheable": False})
    sys.exit(0)
if request["tracer"] == "hybrid":
    for stage in ("[1/4] warming up", "[2/4] symbolic_trace"):
        say(status=stage)
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
