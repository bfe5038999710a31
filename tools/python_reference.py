#!/usr/bin/env python3
"""Writes docs/reference/python.md from the signatures and docstrings of opscope.__all__; --check only says whether it is right.

    tools/python_reference.py [--check]
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import opscope
from opscope.options import OPTIONS
from opscope.results.report import Report

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "python.md"

#: The module that a name lives in decides its section; the order is that of a reader, not of the alphabet.
SECTIONS = {
    "questions.answer": "Memory",
    "api": "Profiles and graphs",
    "results.profile": "What a profile holds",
    "inputs": "What a model is called with",
    "measurement.measurement": "Measured times",
    "questions.comparison": "Models side by side",
    "peers": "Other tools' counts",
    "questions.sweep": "Sweeps",
    "questions.llm": "Language models",
    "questions.plan": "Models split over devices",
    "questions.diff": "Differences",
    "questions.check": "Budgets",
    "measurement.profiler": "A model wrapped for profiling",
    "subgraphs.partitioners": "Subgraphs",
    "subgraphs.descriptors": "Custom graphs",
    "results.visualization": "Pictures",
    "registry": "Registered models",
    "engine.custom_ops": "Costs of custom ops",
    "sources": "Finding models",
    "errors": "Errors",
}
#: Made by opscope, never by its users.
_RESULTS = {
    "Check", "Comparison", "Diff", "Fit", "Graph", "GraphStatistics", "Llm", "PartitionReport", "Plan", "Profile", "ProfilerGraph",
    "Reconciliation", "Row", "Sweep",
}  # fmt: skip
#: What such a method does goes without saying.
_USUAL = {
    "to_csv": "Its rows as CSV.",
    "to_dict": "All of it as plain Python data: what to_json writes.",
    "to_html": "The report as a page.",
    "to_json": "All of it as JSON.",
    "to_markdown": "The report as Markdown.",
}
_SILENT: list[str] = []  # public names without a docstring
HEAD = """# The Python package, name by name

Made from signatures and docstrings by `tools/python_reference.py`; `make reference` writes it anew.
[The Python package](../python.md) introduces it. Everything here is `opscope.NAME`.
"""


def page() -> str:
    parts = [HEAD, _contents(), _options()]
    for title, names in _sections().items():
        parts.append(f"\n## {title}\n")
        parts += [_entry(name) for name in names]
    parts.append(_module("dynamo"))
    if _SILENT:
        raise SystemExit(f"no docstring: {', '.join(sorted(set(_SILENT)))}")
    return "".join(parts)


@functools.cache
def _sections() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, home in sorted(opscope._HOME.items(), key=lambda item: item[0].lower()):
        if name == "Capture":  # the older name of Graph
            continue
        title = SECTIONS.get(home) or SECTIONS.get(home.split(".")[0]) or home.replace("_", " ").capitalize()
        found.setdefault(title, []).append(name)
    order = list(dict.fromkeys(SECTIONS.values()))
    return dict(sorted(found.items(), key=lambda item: order.index(item[0]) if item[0] in order else len(order)))


def _contents() -> str:
    rows = "".join(
        f"| {title} | {', '.join(f'[`{name}`](#{_anchor(name)})' for name in names)} |\n" for title, names in _sections().items()
    )
    return f"\n| | |\n|---|---|\n{rows}| Dynamo | [`dynamo`](#opscopedynamo) |\n"


def _anchor(name: str) -> str:
    """As GitHub does: of two headings that differ in case alone the second is numbered."""
    names = [each for group in _sections().values() for each in group]
    before = sum(each.lower() == name.lower() for each in names[: names.index(name)])
    return name.lower() + (f"-{before}" if before else "")


def _entry(name: str, home: Any = opscope, level: str = "###") -> str:
    value = getattr(home, name)
    if not callable(value):
        return f"\n{level} {name}\n\n{_documented(name)}\n"
    if isinstance(value, type) and issubclass(value, BaseException):
        return f"\n{level} {name}\n\n{_text(value)}\n"
    made = "" if name in _RESULTS else f"```text\n{name}{_signature(value)}\n```\n\n"
    body = f"\n{level} {name}\n\n{made}{_text(value)}\n"
    return body + (_members(value) if isinstance(value, type) else "")


def _documented(name: str) -> str:
    """A variable's words: the `#:` comment in front of it."""
    source = inspect.getsource(importlib.import_module(f"opscope.{opscope._HOME[name]}"))
    found = re.search(rf"^#: (.+)\n{name}\b", source, re.M)
    if not found:
        raise SystemExit(f"opscope.{name} has no `#:` comment")
    return found[1]


def _text(value: Any, name: str = "") -> str:
    doc = inspect.getdoc(value)
    if not doc or (isinstance(value, type) and dataclasses.is_dataclass(value) and doc.startswith(f"{value.__name__}(")):
        if (usual := _USUAL.get(name.rpartition(".")[2])) is not None:
            return usual
        _SILENT.append(name or getattr(value, "__qualname__", str(value)))
        return ""
    return doc.strip()


def _signature(function: Any) -> str:
    """Options are a table of their own."""
    try:
        signature = inspect.signature(function)
    except ValueError:
        return "(...)"
    options = {name: default for name, (_, default, _) in OPTIONS.items()}
    parameters = list(signature.parameters.values())
    own = [each for each in parameters if each.name not in options or each.default not in (options[each.name], {})]
    if len(parameters) - len(own) >= len(options) - 2:  # a function may have one or two of them for itself
        parameters = [*own, inspect.Parameter("options", inspect.Parameter.VAR_KEYWORD)]
    parameters = [each.replace(annotation=inspect.Parameter.empty) for each in parameters if each.name != "self"]
    words = str(signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty))
    words = re.sub(r"<factory>", "...", words)
    returned = signature.return_annotation
    if isinstance(function, type) or returned in (inspect.Signature.empty, "None", None):
        return words
    return f"{words} -> {_type(returned)}"


def _type(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    return str(text).replace("opscope.", "").replace("'", "")


def _public(kind: type) -> Iterator[tuple[str, Any]]:
    """What a class offers, then what it has from opscope.results.report.Report."""
    yield from _own(kind)
    if issubclass(kind, Report):
        yield from ((name, value) for name, value in _own(Report) if name not in vars(kind))


def _own(kind: type) -> Iterator[tuple[str, Any]]:
    for name, value in vars(kind).items():
        if name.startswith("_") or name == "forward":
            continue
        if isinstance(value, (property, functools.cached_property)) or (inspect.isfunction(value) and name in _own_methods(kind)):
            yield name, value


def _own_methods(kind: type) -> set[str]:
    """Those that the class's own text defines, not those that a loop passed on."""
    return set(re.findall(r"^    def (\w+)", inspect.getsource(kind), re.M))


def _members(kind: type) -> str:
    rows = []
    for name, value in _public(kind):
        function = inspect.isfunction(value)
        shown = name + (_signature(value) if function else "")
        words = _text(value, f"{kind.__qualname__}.{name}").replace("\n\n", " ").replace("\n", " ").replace("|", "\\|").replace("<", "\\<")
        rows.append(f"| `{shown}` | {words} |\n".replace(" | None`", " \\| None`"))
    return "\n| | |\n|---|---|\n" + "".join(_escaped(row) for row in rows) if rows else ""


def _escaped(row: str) -> str:
    """A pipe within a cell's code would end the cell."""
    start, end = row.index("`"), row.index("`", row.index("`") + 1)
    return row[:start] + re.sub(r"(?<!\\)\|", "\\|", row[start:end]) + row[end:]


def _options() -> str:
    rows = "".join(f"| `{name}` | `{default!r}` | {words} |\n" for name, (_, default, words) in OPTIONS.items())
    return (
        "\n## Options\n\nWhat every function that takes a model takes as `**options`; "
        "the command line has the same as flags, with dashes.\n\n"
        f"| option | default | |\n|---|---|---|\n{rows}"
    )


def _module(name: str) -> str:
    module: ModuleType = getattr(opscope, name)
    names = [
        key for key, value in vars(module).items()
        if not key.startswith("_") and callable(value) and getattr(value, "__module__", "") == module.__name__
    ]  # fmt: skip
    public = [key for key in names if key not in ("require_compile", "Timeline")]
    return f"\n## opscope.{name}\n\n{_text(module)}\n" + "".join(_entry(key, module) for key in public)


def difference() -> list[str]:
    there = PAGE.read_text() if PAGE.exists() else ""
    return list(difflib.unified_diff(there.splitlines(), page().splitlines(), str(PAGE), "the package", lineterm="", n=0))


if __name__ == "__main__":
    lines = difference()
    if "--check" in sys.argv and lines:
        sys.exit("\n".join([f"{PAGE} is out of date; `make reference` writes it anew:", *lines[:30]]))
    if lines:
        PAGE.write_text(page())
