#!/usr/bin/env python3
"""Stands in for the Python that a sweep talks with: a capture for every size that comes, none above 512 tokens."""

import json
import os
import shutil
import sys
import time

request = json.loads(sys.argv[sys.argv.index("opscope.capture") + 1])
mode = os.environ.get("FAKE_MODE", "")


def log(item):
    with open(os.environ["FAKE_LOG"], "a", encoding="utf-8") as file:
        file.write(json.dumps(item) + "\n")


def say(**answer):
    print(json.dumps(answer), flush=True)


log(request)
say(status="importing torch")
if mode == "no_model":
    say(error={"what": f"no model called '{request['model']}'", "where": "", "hint": "opscope list", "candidates": ["resnet18"]})
    sys.exit(2)
done = 0
for line in sys.stdin:
    for sizes in json.loads(line):
        index = sizes.pop("index")
        log(sizes)
        if mode == "crash" and done == 2:
            print("out of everything", file=sys.stderr, flush=True)
            os.kill(os.getpid(), 11)
        if mode == "slow" and done == 3:
            time.sleep(60)
        done += 1
        if sizes.get("seq_len", 0) > 512:
            say(finished={"index": index, "error": {"what": "it has 512 positions", "where": "", "hint": "", "traceback": "deep"}})
            continue
        shutil.copyfile(os.environ["FAKE_CAPTURE"], f"{request['output']}.{index}")
        say(finished={"index": index})
say(done={"cacheable": False})
