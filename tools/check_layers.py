"""Fails when a folder of src/ includes one that comes later in the pipeline, or two files define a type of one name:
the linker would keep one of the two, and its destructor.

    python3 tools/check_layers.py src
    python3 tools/check_layers.py --self-test

The rules are the table below: which folders each folder may include, and which folders may see the
headers of torch and of Python.
"""

import pathlib
import re
import sys
import tempfile

PIPELINE = ["base", "graph", "ops", "cost", "metrics", "partition", "hardware", "analyse", "report"]
ALLOWED = {folder: set(PIPELINE[: i + 1]) for i, folder in enumerate(PIPELINE)}
ALLOWED["readers"] = {"base", "graph", "ops", "metrics", "analyse", "readers"}  # analyse: figures of saved profiles, budgets
ALLOWED["torch"] = {"base", "graph", "ops", "torch"}
ALLOWED["app"] = set(PIPELINE) | {"readers", "app"}
ALLOWED["cli"] = ALLOWED["app"] | {"cli"}
ALLOWED["python"] = ALLOWED["app"] | {"torch", "python"}

# Headers from outside that only some folders may see: pattern, folders, name in the message. torch's own
# headers carry pybind11, which is a Python header.
OUTSIDE = [
    (re.compile(r"(torch|ATen|c10|caffe2)/"), {"torch", "python"}, "torch"),
    (re.compile(r"(Python\.h$|pybind11/|torch/(extension\.h$|csrc/.*python))"), {"python"}, "Python"),
    (re.compile(r"simdjson(\.h$|/)"), {"readers", "app", "cli"}, "simdjson"),
    (re.compile(r"CLI/"), {"cli"}, "CLI11"),
    (re.compile(r"sqlite3"), {"readers"}, "SQLite"),
    (re.compile(r"toml\+\+/"), {"readers"}, "toml++"),
    (re.compile(r"(onnx|google/protobuf)/"), {"cli"}, "libonnx"),  # torch's process has a protobuf of its own
]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SUFFIXES = {".h", ".cc"}
NAMESPACE = re.compile(r"^namespace\s*([\w:]*)\s*\{")
TYPE = re.compile(r"^(?:struct|class|enum class)\s+(\w+)\b(?!::)[^;(]*\{")


def check_include(folder, bracket, path, folders):
    """What is wrong with one #include, or None."""
    first = path.split("/", 1)[0]
    if bracket == '"' and first in folders and "/" in path:
        if first not in ALLOWED[folder]:
            return f"{folder}/ may not include {first}/"
        return None
    for pattern, allowed, name in OUTSIDE:
        if pattern.match(path) and folder not in allowed:
            return f"only {', '.join(sorted(allowed))} may include {name}'s headers"
    return None


def types_in(lines):
    """(namespace, name) of each type that other files can see."""
    space = []
    for line in lines:
        opened = NAMESPACE.match(line)
        if opened:
            space.append(opened[1])
        elif line.startswith("}  // namespace") and space:
            space.pop()
        found = TYPE.match(line)
        if found and "" not in space:
            yield "::".join(space), found[1]


def check(root):
    root = pathlib.Path(root)
    problems = []
    seen = {}
    for file in sorted(root.rglob("*")):
        if file.suffix not in SUFFIXES:
            continue
        relative = file.relative_to(root)
        folder = relative.parts[0]
        if folder not in ALLOWED:
            problems.append(f"{relative}: {folder}/ is not a folder of the pipeline")
            continue
        lines = file.read_text(encoding="utf-8").splitlines()
        for name in types_in(lines):
            other = seen.setdefault(name, relative)
            if other != relative:
                problems.append(f"{relative}: {'::'.join(name)} is a type in {other} too")
        for number, line in enumerate(lines, 1):
            found = INCLUDE.match(line)
            problem = found and check_include(folder, found[1], found[2], ALLOWED)
            if problem:
                problems.append(f"{relative}:{number}: {problem} ({found[2]})")
    return problems


SELF_TEST = [
    ("graph/a.h", '#include "base/error.h"', True),
    ("graph/a.h", '#include "cost/cost.h"', False),
    ("base/a.cc", '#include "graph/graph.h"', False),
    ("report/a.cc", '#include "analyse/profile/profile.h"', True),
    ("readers/a.cc", "#include <simdjson.h>", True),
    ("report/a.cc", "#include <simdjson.h>", False),
    ("readers/a.cc", '#include "analyse/profile/figures.h"', True),
    ("readers/a.cc", "#include <toml++/toml.h>", True),
    ("cli/a.cc", "#include <toml++/toml.h>", False),
    ("readers/a.cc", '#include "report/core/report.h"', False),
    ("torch/a.cc", "#include <torch/library.h>", True),
    ("torch/a.cc", '#include "torch/recording/recording.h"', True),
    ("torch/a.cc", "#include <Python.h>", False),
    ("torch/a.cc", '#include "analyse/profile/profile.h"', False),
    ("cost/a.cc", "#include <ATen/ATen.h>", False),
    ("cost/a.cc", '  #  include  "c10/core/Device.h"', False),
    ("python/a.cc", "#include <torch/extension.h>", True),
    ("cli/a.cc", "#include <CLI/CLI.hpp>", True),
    ("cli/a.cc", '#include "torch/recording/recording.h"', False),
    ("readers/a.cc", "#include <onnx/onnx_pb.h>", False),
    ("cli/a.cc", "#include <onnx/onnx_pb.h>", True),
    ("cli/a.cc", '// #include "torch/recording/recording.h"', True),
    ("elsewhere/a.cc", "", False),
    ("graph/a.cc", "namespace opscope {\nnamespace {\nstruct A {};\n}  // namespace\n}  // namespace opscope", True),
]
TWICE = "namespace opscope {\nstruct A {\n};\n}  // namespace opscope\n"


def self_test():
    failures = 0
    for path, line, good in SELF_TEST:
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, path)
            file.parent.mkdir(parents=True)
            file.write_text(line + "\n", encoding="utf-8")
            if (not check(folder)) != good:
                failures += 1
                print(f"{path}: {line!r} should be {'fine' if good else 'refused'}", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("a.h", "b.h"):
            pathlib.Path(folder, "graph").mkdir(exist_ok=True)
            pathlib.Path(folder, "graph", name).write_text(TWICE, encoding="utf-8")
        if len(check(folder)) != 1:
            failures += 1
            print("a type in two files should be refused", file=sys.stderr)
    return failures


def main(arguments):
    if arguments == ["--self-test"]:
        return 1 if self_test() else 0
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    problems = check(arguments[0])
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
