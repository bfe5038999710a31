"""`opscope diff` and `opscope check` as a user runs them: `diff_test.py OPSCOPE MAKE_CAPTURES [--refresh]`."""

import csv
import io
import json
import shlex
import subprocess
import sys
import unittest

from cli_test import HERE, REFRESH, Program


class Goldens(Program):
    def test_cases(self):
        names = set()
        for line in (HERE / "diff_cases.txt").read_text().splitlines():
            if not line or line.startswith("#"):
                continue
            name, code, *arguments = shlex.split(line)
            names.add(name)
            with self.subTest(name):
                self.check(name, int(code), [text.replace("$C", str(self.captures)) for text in arguments])
        self.assertEqual(names, {path.stem for path in (HERE / "diff_golden").iterdir()})

    def check(self, name, expected_code, arguments):
        code, out, err = self.run_program(*arguments)
        text = f"{out}--- stderr, exit code {code}\n{err}".replace(str(self.captures), "$C")
        golden = HERE / "diff_golden" / f"{name}.txt"
        if REFRESH:
            golden.parent.mkdir(exist_ok=True)
            golden.write_text(text)
        self.assertEqual(code, expected_code, text)
        self.maxDiff = None
        self.assertEqual(text, golden.read_text())


class Diff(Program):
    def setUp(self):
        super().setUp()
        self.before, self.after = (str(self.captures / f"net_{when}.json") for when in ("before", "after"))

    def diff(self, *arguments):
        code, out, err = self.run_program("diff", *arguments)
        self.assertEqual((code, err), (0, ""), err)
        return out

    def test_rows_add_up_in_every_format(self):
        found = json.loads(self.diff(self.before, self.after, "--format", "json"))
        rows = list(csv.DictReader(io.StringIO(self.diff(self.before, self.after, "--format", "csv"))))
        for metric in ("params", "macs", "flops", "memory_bytes", "ops"):
            change = found["totals"][metric]["change"]
            self.assertEqual(sum(row["change"][metric] for row in found["changes"]), change)
            self.assertEqual(sum(int(row[f"{metric}_change"]) for row in rows), change)
        self.assertEqual(len(rows), len(found["changes"]))

    def test_saved_profiles(self):
        saved = []
        for path in (self.before, self.after):
            saved.append(str(self.work / path.rsplit("_", 1)[1]))
            self.assertEqual(self.run_program("profile", path, "--output", saved[-1])[0], 0)
        whole = json.loads(self.diff(self.before, self.after, "--format", "json"))
        for models in (saved, [saved[0], self.after], [self.before, saved[1]]):
            found = json.loads(self.diff(*models, "--format", "json"))
            self.assertEqual(found["totals"], whole["totals"])
            self.assertIn("a saved profile has no arguments of ops", found["notes"][-1])
        self.assert_failed(self.run_program("diff", *saved, "--output", "d.svg"), "a saved profile has no graph to draw")

    def test_pictures(self):
        for name, start in (("d.svg", b"<svg"), ("d.png", b"\x89PNG"), ("d.pdf", b"%PDF"), ("d.html", b"<div")):
            self.diff(self.before, self.after, "--output", name)
            self.assertTrue((self.work / name).read_bytes().startswith(start), name)
        svg = (self.work / "d.svg").read_text()
        for colour in ("#d9f2dd", "#fdf0d0", "#dfe8f7"):  # added, changed, moved
            self.assertIn(colour, svg)
        self.diff(self.after, self.before, "--output", "back.svg")
        self.assertIn("#fadcdc", (self.work / "back.svg").read_text())  # removed
        self.assertIn("added", (self.work / "d.html").read_text())


class Revisions(Program):
    def setUp(self):
        super().setUp()
        self.environment.update(GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_NOSYSTEM="1", GIT_CEILING_DIRECTORIES=str(self.folder))

    def git(self, *arguments):
        subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *arguments],
                       cwd=self.work, env=self.environment, check=True, capture_output=True)  # fmt: skip

    def repository(self):
        self.git("init", "-q", "-b", "main")
        (self.work / "net.py").write_text("def build(): ...\n")
        self.git("add", "net.py")
        self.git("commit", "-q", "-m", "net")

    def status(self):
        return subprocess.run(["git", "status", "--porcelain", "-uno"], cwd=self.work, env=self.environment, capture_output=True, text=True).stdout

    def test_the_file_of_the_revision_is_captured_and_nothing_is_left(self):
        self.repository()
        before = self.status()
        code, out, err = self.run_program("diff", "HEAD:net.py:build", "net.py:build")
        self.assertEqual((code, err), (0, ""), err)
        self.assertIn("HEAD:net.py:build", out)
        self.assertIn("no difference", out)
        models = [model for request in self.requests() for model in request.get("models", [request.get("model")])]
        self.assertEqual(sorted(model.endswith("/tree/net.py:build") for model in models), [False, True])
        self.assertEqual(self.status(), before)
        again = self.run_program("diff", "net.py:build", "--base-rev", "main")
        self.assertEqual(again[0], 0, again[2])
        self.assertIn("main:net.py:build", again[1])

    def test_what_is_wrong(self):
        outside = self.run_program("diff", "HEAD:net.py:build", "net.py:build")
        self.assert_failed(outside, "not in a git repository")
        self.git("init", "-q", "-b", "main")
        self.assert_failed(self.run_program("diff", "net.py:build", "--base-rev", "HEAD"), "no revision 'HEAD'", "nothing is committed yet")
        self.repository()
        (self.work / "new.py").write_text("")
        (self.work / "later.py").write_text("")
        self.git("add", "later.py")
        self.git("commit", "-q", "-m", "later")
        for spec, *says in [
            ("nope:net.py:build", "no revision 'nope'", "git log"),
            ("HEAD:other.py:build", "no file 'other.py' at revision HEAD", "git ls-tree"),
            ("HEAD:new.py:build", "no file 'new.py' at revision HEAD", "not committed"),
            ("HEAD~1:later.py:build", "no file 'later.py' at revision HEAD~1", "a later commit"),
        ]:
            with self.subTest(spec):
                self.assert_failed(self.run_program("diff", spec, "net.py:build"), *says)

    def test_what_python_says_is_told_by_revision(self):
        self.repository()
        self.assert_failed(self.run_program("diff", "HEAD:net.py:build", str(self.captures / "resnet18.json"), FAKE_MODE="error"))


class Budgets(Program):
    def setUp(self):
        super().setUp()
        self.resnet, self.unknown = (str(self.captures / f"{name}.json") for name in ("resnet18", "unknown"))

    def budget(self, text):
        (self.work / "budget.toml").write_text(text)
        return ["--budget", "budget.toml"]

    def test_of_one_model(self):
        arguments = self.budget('[max]\nflops = "4.2G"\n[modules."layer4.1"]\nparams = "4M"\n[types.conv2d]\nops = 20\n')
        code, out, err = self.run_program("check", self.resnet, *arguments)
        self.assertEqual(code, 1, err)
        self.assertIn("layer4.1 params", out)
        self.assertIn("1 of 3 limits not met", out)

    def test_of_several_models(self):
        arguments = self.budget(f'[max]\nops = 100\n[[model]]\nspec = "{self.resnet}"\nmax = {{ params = "12M" }}\n'
                                f'[[model]]\nspec = "{self.unknown}"\n')  # fmt: skip
        code, out, err = self.run_program("check", *arguments, "--format", "json")
        self.assertEqual(code, 0, err)
        self.assertEqual([len(model["limits"]) for model in json.loads(out)["models"]], [2, 1])
        one = self.run_program("check", self.unknown, *arguments, "--format", "json")
        self.assertEqual(len(json.loads(one[1])["models"]), 1)
        self.assert_failed(self.run_program("check", "resnet50", *arguments), "the budget has no model called 'resnet50'")

    def test_flags_of_a_model_go_into_its_capture(self):
        arguments = self.budget('[[model]]\nspec = "resnet18"\nbatch = 8\nimage_size = [224, 224]\nmax = { params = "12M" }\n')
        self.assertEqual(self.run_program("check", *arguments)[0], 0)
        asked = self.requests()[0]
        self.assertEqual((asked["batch"], asked["image_size"]), (8, [224, 224]))
        arguments = self.budget('[[model]]\nspec = "resnet18"\nbtach = 8\nmax = { params = "12M" }\n')
        self.assert_failed(self.run_program("check", *arguments), "'btach'", "did you mean batch?")

    def test_what_is_wrong_in_it(self):
        for text, *says in [
            ("[max\n", "not TOML", "budget.toml:1"),
            ('[max]\nflop = "1G"\n', "budget.toml:2", "did you mean flops?"),
            ('[modules."layer9"]\nflops = 1\n', "no module called 'layer9'", "budget.toml:2"),
            ("[types.conv2]\nops = 1\n", "no op type called 'conv2'", "did you mean conv2d?"),
        ]:
            with self.subTest(text):
                self.assert_failed(self.run_program("check", self.resnet, *self.budget(text)), *says)

    def test_one_that_is_written_is_just_kept(self):
        written = self.run_program("check", self.resnet, "--write-budget", "now.toml")
        self.assertEqual(written, (0, "", "opscope: wrote now.toml\n"))
        code, out, err = self.run_program("check", "--budget", "now.toml")
        self.assertEqual(code, 0, err)
        self.assertIn("6 limits kept", out)
        text = (self.work / "now.toml").read_text()
        self.assertIn("params = 11689512", text)
        (self.work / "now.toml").write_text(text.replace("params = 11689512", "params = 11689511"))
        self.assertEqual(self.run_program("check", "--budget", "now.toml")[0], 1)

    def test_one_that_is_written_counts_as_it_was_counted(self):
        self.run_program("check", self.resnet, "--convention", "fvcore", "--write-budget", "fvcore.toml")
        self.assertIn('convention = "fvcore"\n', (self.work / "fvcore.toml").read_text())
        code, out, err = self.run_program("check", "--budget", "fvcore.toml", "--format", "json")
        self.assertEqual(code, 0, err)
        flops = next(r for r in json.loads(out)["models"][0]["limits"] if r["metric"] == "flops")
        self.assertEqual(flops["value"], flops["allowed"])

    def test_one_base_is_not_for_several_models(self):
        capture = str(self.captures / "resnet18.json")
        (self.work / "two.toml").write_text(f'[max]\nops = 9\n[[model]]\nspec = "{capture}"\n[[model]]\nspec = "other"\n')
        code, _, err = self.run_program("check", "--budget", "two.toml", "--against", capture)
        self.assertEqual(code, 2)
        self.assertIn("one version is no base for 2 models", err)

    def test_a_switch_is_true_or_false(self):
        (self.work / "switch.toml").write_text('[max]\nops = 9\n[[model]]\nspec = "resnet18"\ntraining = "yes"\n')
        code, _, err = self.run_program("check", "--budget", "switch.toml")
        self.assertEqual(code, 2)
        self.assertIn("'training' is true or false, not 'yes'", err)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *[argument for argument in sys.argv[3:] if argument != "--refresh"]])
