#!/usr/bin/env python3
"""Stands in for the Python that runs other tools: ResNet-18's capture, and what the tools really said of it."""

import json
import os
import shutil
import sys
import time

request = json.loads(sys.argv[sys.argv.index("opscope.capture") + 1])
mode = os.environ.get("FAKE_MODE", "")
with open(os.environ["FAKE_LOG"], "a", encoding="utf-8") as log:
    log.write(json.dumps(request) + "\n")


def say(**answer):
    print(json.dumps(answer), flush=True)


say(status="importing torch")
if mode == "error":
    say(error={"what": "no tool called 'fvcor'", "where": "--with", "hint": "", "candidates": ["fvcore"]})
    sys.exit(2)
if mode == "sleep":
    time.sleep(60)
folder = request["folder"]
with open(os.path.join(os.path.dirname(__file__), "peers_resnet18.json"), encoding="utf-8") as file:
    said = json.load(file)
wanted = [row for row in said["peers"] if row["tool"] in request["tools"]]
for index, model in enumerate(request["models"]):
    answer = {"peers": wanted, "weight_bytes": said["weight_bytes"]}
    if model == "missing":
        answer = {"error": {"what": "no model called 'missing'", "where": "", "hint": "opscope list"}}
    if mode == "damaged":
        answer["peers"] = [{"tool": "torch", "unit": "pounds"}]
    shutil.copyfile(os.environ["FAKE_CAPTURE"], os.path.join(folder, f"{index}.json"))
    with open(os.path.join(folder, f"{index}.peers.json"), "w", encoding="utf-8") as file:
        json.dump(answer, file)
say(done={})
