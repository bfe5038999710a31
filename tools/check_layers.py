"""Fails when a folder of src/ includes one that comes later in the pipeline, when units include each other in a circle
(a unit is a header and the source file of its name), or when two files define a type of one name: the linker would keep
one of the two, and its destructor.

    python3 tools/check_layers.py src
    python3 tools/check_layers.py --self-test

The rules are the table below: which folders each folder may include, and which folders may see the
headers of torch and of Python.
"""

import pathlib
import re
import sys
import tempfile

PIPELINE = ["base", "graph", "ops", "cost", "metrics", "partition", "hardware", "analyse", "plan", "report"]
ALLOWED = {folder: set(PIPELINE[: i + 1]) for i, folder in enumerate(PIPELINE)}
ALLOWED["readers"] = {"base", "graph", "ops", "metrics", "analyse", "plan", "readers"}  # figures of profiles, budgets, costs
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


def unit_of(path):
    """A header and the source file of its name."""
    return path.rsplit(".", 1)[0]


def circles(includes):
    """The sets of units that reach each other, each sorted: Tarjan's strongly connected components."""
    order, low, stack, found = {}, {}, [], []

    def visit(unit):
        order[unit] = low[unit] = len(order)
        stack.append(unit)
        for other in sorted(includes.get(unit, ())):
            if other not in order:
                visit(other)
            if other in stack:
                low[unit] = min(low[unit], low[other])
        if low[unit] == order[unit]:
            at = stack.index(unit)
            found.append(sorted(stack[at:]))
            del stack[at:]

    for unit in sorted(includes):
        if unit not in order:
            visit(unit)
    return [units for units in found if len(units) > 1]


def check_cycles(includes):
    for units in circles(includes):
        yield f"{units[0]}: units include each other in a circle: {', '.join(units)}"


def check(root):
    root = pathlib.Path(root)
    problems = []
    seen = {}
    includes = {}
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
            if found and found[1] == '"' and (root / found[2]).is_file():
                unit, other = unit_of(relative.as_posix()), unit_of(found[2])
                includes.setdefault(unit, set()).update({other} - {unit})
    return problems + list(check_cycles(includes))


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


# Files and their includes, and whether there is a circle.
CIRCLES = [
    ({"graph/a.h": [], "graph/a.cc": ["graph/a.h", "graph/b.h"], "graph/b.h": ["graph/c.h"], "graph/c.h": []}, False),
    ({"graph/a.h": ["graph/b.h"], "graph/b.h": ["graph/a.h"]}, True),
    # What the header leaves out the source file brings in: the two are one unit.
    ({"graph/a.h": [], "graph/a.cc": ["graph/b.h"], "graph/b.h": ["graph/a.h"]}, True),
    ({"cost/a.h": ["cost/room/b.h"], "cost/room/b.h": ["cost/c.h"], "cost/c.h": [], "cost/c.cc": ["cost/a.h"]}, True),
    ({"graph/a.h": ["graph/a_parts.h"], "graph/a_parts.h": [], "graph/a.cc": ["graph/a.h", "graph/a_parts.h"]}, False),
]


def self_test_circles():
    failures = 0
    for files, is_circle in CIRCLES:
        with tempfile.TemporaryDirectory() as folder:
            for path, included in files.items():
                file = pathlib.Path(folder, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text("".join(f'#include "{other}"\n' for other in included), encoding="utf-8")
            if bool(check(folder)) != is_circle:
                failures += 1
                print(f"{files} should be {'refused' if is_circle else 'fine'}", file=sys.stderr)
    return failures


def self_test():
    failures = self_test_circles()
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
