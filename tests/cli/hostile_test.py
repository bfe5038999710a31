"""Names that mean harm, through every command and format: `hostile_test.py OPSCOPE MAKE_CAPTURES [unittest arguments]`.

A capture is another's file. Its names are made of markup, formulas, escape sequences and line breaks; none may reach a
page as markup, a spreadsheet as a formula, a terminal as a command, or a CI log as an instruction.
"""

import csv
import html.parser
import io
import itertools
import json
import re
import sys
import unittest
import xml.etree.ElementTree

from cli_test import Program

MARK = "pwned"
NAMES = [
    f"<script>{MARK}()</script>", f'"><img src=x onerror={MARK}()>', f"'><svg/onload={MARK}()>", f"]]><b>{MARK}</b>", f"--><i>{MARK}</i>",
    f"</title><u>{MARK}</u>", f"</script><script>{MARK}()", f"</style><s>{MARK}</s>", f"&lt;script&gt;{MARK}", f"\\u003cscript>{MARK}",
    f'=HYPERLINK("http://{MARK}")', f"+{MARK}+1", f"-{MARK}|' /C calc'!A0", f"@SUM({MARK})", f"\t={MARK}", f"\r={MARK}", f"=1,=2\n={MARK}",
    f"\x1b]0;{MARK}\x07", f"\x1b[31m{MARK}\x1b[2J", f"\x9b31m{MARK}", f"\u202e{MARK}", f"\x08\x08{MARK}", f"\u2028{MARK}", f"\x00{MARK}",
    f"| {MARK} |\n# {MARK}\n| --- |", f"[{MARK}](javascript:{MARK}())", f"![{MARK}](http://{MARK})", f"`{MARK}`", f"\n::error::{MARK}",
    f"%0A::set-output name=x::{MARK}", f"{MARK}\n::add-mask::x", f"{MARK}\"];evil[label=\"", f"{MARK}\\", f"${{{MARK}}}", f"$({MARK})",
]  # fmt: skip

def hostile(text, names):
    """The capture with its names replaced. Paths stay paths of names, and what a name is compared with stays as it is."""
    capture = json.loads(text)
    capture["capture"].update(model=next(names), source=next(names), torch=next(names))
    for module in capture["modules"][1:]:
        module["name"], module["type"] = next(names).replace(".", ""), next(names)
        above = capture["modules"][module["parent"]]["path"]
        module["path"] = f"{above}.{module['name']}" if above else module["name"]
    for value in capture["values"]:
        if "name" in value:
            value["name"] = next(names)
        value["device"] = next(names)
    for index, op in enumerate(capture["ops"]):
        op["source"] = f"{next(names)}:{index}"
        if index % 7 == 0:
            op["op"] = f"aten::{next(names)}"
    capture.setdefault("diagnostics", []).append({"kind": next(names), "op": next(names), "module": next(names), "message": next(names)})
    for node in capture.get("nodes", []):
        node["name"], node["target"], node["source"] = next(names), next(names), next(names)
    for part in capture.get("parts", []):
        part["name"] = next(names)
    for key in ("device_name", "host", "system", "torch", "driver", "runtime"):
        if "measurement" in capture:
            capture["measurement"]["environment"][key] = next(names)
    return json.dumps(capture)


class Page(html.parser.HTMLParser):
    """Elements, attributes and scripts of a page."""

    def __init__(self, text):
        super().__init__()
        self.wrong, self.inside, self.scripts = [], "", []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.inside = tag
        for name, value in attributes:
            if name.startswith("on") or not re.fullmatch(r"[a-z][a-z0-9-]*", name):
                self.wrong.append(f"<{tag} {name}={value!r}>")
            if name in ("href", "src") and not (value or "").startswith("#"):
                self.wrong.append(f"<{tag} {name}={value!r}>")
        if tag in ("img", "b", "u", "s", "i", "iframe", "object", "embed", "base", "form"):
            self.wrong.append(f"<{tag}>")

    def handle_endtag(self, tag):
        self.inside = ""

    def handle_data(self, data):
        if self.inside == "script":
            self.scripts.append(data)


class Hostile(Program):
    def setUp(self):
        super().setUp()
        names = itertools.cycle(NAMES)
        self.files = []
        for name in ("resnet18", "training", "cut", "measured_gpu", "resnet18_fx"):
            for turn in range(3):  # each place gets other names
                next(names)
                path = self.work / f"{name}{turn}.json"
                path.write_text(hostile((self.captures / f"{name}.json").read_text(), names))
                self.files.append(str(path))

    def answers(self, *formats):
        """Every command's answer in each format, with what was asked."""
        for index, file in enumerate(self.files):
            other = self.files[(index + 3) % len(self.files)]
            commands = [["profile", file, "--verbose"], ["profile", file, "--hardware", "h100"], ["explore", file], ["fuse", file], ["memory", file],
                        ["compare", file, other], ["diff", file, other], ["check", file, "--max", "flops=1,params=1", "--against", other],
                        ["explain", file, "0"], ["trace", file]]  # fmt: skip
            if "measured" in file:
                commands.append(["measure", file])
            for command, form in itertools.product(commands, formats):
                asked = [*command, "--format", form]
                code, out, err = self.run_program(*asked)
                if code == 2:
                    self.assert_tame_terminal(err, asked)
                    continue
                self.assertIn(code, (0, 1), (asked, err))
                yield asked, out, err

    def assert_tame_terminal(self, text, asked):
        wild = re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
        self.assertIsNone(wild, (asked, wild and text[max(0, wild.start() - 40) : wild.end() + 40]))

    def test_terminal_text(self):
        count = 0
        for asked, out, err in self.answers("txt"):
            count += MARK in out
            self.assert_tame_terminal(out + err, asked)
            self.assertNotRegex(out, r"(?m)^::", asked)  # GitHub would take it for a command
        self.assertGreater(count, 50)

    def test_markdown(self):
        for asked, out, _ in self.answers("md"):
            self.assert_tame_terminal(out, asked)
            bare = re.sub(r"(?s)\n```\n.*?\n```\n", "", out)
            bare = re.sub(r"\\.|`[^`\n]*`|&[a-z]+;", "", bare)  # without code, escapes and entities
            self.assertNotRegex(bare, r"\]\((?:javascript|http)|<(?!/?(?:details|summary)\b)[a-z/!]", asked)
            self.assertLessEqual(len(re.findall(r"(?m)^# ", bare)), 1, asked)

    def test_html(self):
        for asked, out, _ in self.answers("html"):
            page = Page(out)
            self.assertEqual(page.wrong, [], asked)
            self.assertNotIn(f"{MARK}()</script>", out)

    def test_csv(self):
        for asked, out, _ in self.answers("csv"):
            rows = list(csv.reader(io.StringIO(out)))
            self.assertEqual({len(row) for row in rows}, {len(rows[0])}, asked)
            for cell in itertools.chain.from_iterable(rows):
                self.assertFalse(len(cell) > 1 and cell[0] in "=+-@\t\r" and MARK in cell, (asked, cell))

    def test_json(self):
        for asked, out, _ in self.answers("json"):
            json.loads(out)
            self.assert_tame_terminal(out.replace("\n", ""), asked)

    def test_pictures(self):
        for file in self.files:
            for command in (["draw"], ["plot", "roofline"], ["plot", "memory"], ["plot", "types"], ["plot", "icicle"]):
                for extension in ("svg", "html", "dot") if command == ["draw"] else ("svg",):
                    path = self.work / f"out.{extension}"
                    asked = [*command, file, *([str(path)] if command == ["draw"] else ["--output", str(path)])]
                    code, _, err = self.run_program(*asked)
                    self.assertEqual(code, 0, (asked, err))
                    self.assert_tame_terminal(err, asked)
                    text = path.read_text()
                    if extension == "svg":
                        xml.etree.ElementTree.fromstring(text)
                    if extension == "dot":
                        self.assertEqual(re.sub(r'"(?:\\.|[^"\\])*"', "", text).count(MARK), 0, asked)
                        continue
                    self.assertEqual(Page(text).wrong, [], asked)
                    self.assertNotIn(f"<script>{MARK}", text, asked)

    def test_a_written_budget_has_its_own_keys_only(self):
        for index, file in enumerate(self.files):
            path = self.work / f"budget{index}.toml"
            code, _, err = self.run_program("check", file, "--write-budget", str(path))
            self.assertEqual(code, 0, err)
            self.assertEqual(re.findall(r"(?m)^\[.*", path.read_text()), ["[[model]]", "[model.max]"])
            code, _, err = self.run_program("check", "--budget", str(path))
            self.assertIn(code, (0, 1), err)  # what is unknown is not within a budget

    def test_annotations_are_one_line_each(self):
        for file in self.files[:6]:
            code, out, err = self.run_program("check", file, "--max", "flops=1,params=1", "--format", "github")
            for line in (out + err).splitlines():
                if line.lstrip().startswith("::"):
                    self.assertRegex(line, r"^::(error|warning|notice)( [^:]*)?::")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
