"""The program as a user runs it: `cli_test.py OPSCOPE MAKE_CAPTURES [--refresh] [unittest arguments]`.

Goldens (cases.txt, golden/) need neither torch nor a Python package; fake_python.py stands in for the capture.
"""

import csv
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
OPSCOPE, MAKE_CAPTURES = (str(Path(path).resolve()) for path in sys.argv[1:3])
REFRESH = "--refresh" in sys.argv
FAKE_PYTHON = str(HERE / "fake_python.py")


class Program(unittest.TestCase):
    """A temporary folder with captures, and an environment that leads nowhere else."""

    @classmethod
    def setUpClass(cls):
        cls._folder = tempfile.TemporaryDirectory()
        cls.folder = Path(cls._folder.name)
        cls.captures = cls.folder / "captures"
        cls.captures.mkdir()
        subprocess.run([MAKE_CAPTURES, str(cls.captures)], check=True)
        for file in ("cnn.onnx", "costs.json", "cuda_trace.json"):
            shutil.copy(HERE.parent / "readers" / "files" / file, cls.captures)

    @classmethod
    def tearDownClass(cls):
        cls._folder.cleanup()

    def setUp(self):
        self.work = Path(tempfile.mkdtemp(dir=self.folder))
        self.temp = self.work / "tmp"
        self.temp.mkdir()
        self.log = self.work / "requests"
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.work),
            "TMPDIR": str(self.temp),
            "OPSCOPE_PYTHON": FAKE_PYTHON,
            "OPSCOPE_CACHE_DIR": str(self.work / "cache"),
            "FAKE_LOG": str(self.log),
            "FAKE_CAPTURE": str(self.captures / "resnet18.json"),
            "LSAN_OPTIONS": os.environ.get("LSAN_OPTIONS", ""),  # what `make test-asan` knows to leak
        }

    def start(self, *arguments, **environment):
        return subprocess.Popen(
            [OPSCOPE, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.work,
            env={**self.environment, **environment},
        )

    def assert_interrupted(self, number, code, *arguments):
        """A signal while Python works ends both, without a word on stdout or a file left behind."""
        process = self.start(*arguments, FAKE_MODE="sleep")
        deadline = time.monotonic() + 30
        while not self.log.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(number)
        out, _ = process.communicate(timeout=30)
        self.assertEqual((process.returncode, out), (code, ""))
        self.assertEqual(list(self.temp.iterdir()), [])

    def run_program(self, *arguments, **environment):
        process = self.start(*arguments, **environment)
        out, err = process.communicate(timeout=60)
        self.assertEqual(list(self.temp.iterdir()), [], "temporary files left behind")
        return process.returncode, out, err

    def requests(self):
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    def assert_failed(self, result, *parts):
        code, out, err = result
        self.assertEqual((code, out), (2, ""), err)
        self.assertTrue(err.startswith("opscope: "), err)
        self.assertNotIn("Traceback", err)
        for part in parts:
            self.assertIn(part, err)


class Goldens(Program):
    def test_cases(self):
        for line in (HERE / "cases.txt").read_text().splitlines():
            if not line or line.startswith("#"):
                continue
            name, code, *arguments = shlex.split(line)
            with self.subTest(name):
                self.check(name, int(code), [text.replace("$C", str(self.captures)) for text in arguments])

    def check(self, name, expected_code, arguments):
        code, out, err = self.run_program(*arguments)
        text = f"{out}--- stderr, exit code {code}\n{err}".replace(str(self.captures), "$C")
        golden = HERE / "golden" / f"{name}.txt"
        if REFRESH:
            golden.write_text(text)
        self.assertEqual(code, expected_code, text)
        if code == 2:
            self.assertEqual(out, "")
        self.maxDiff = None
        self.assertEqual(text, golden.read_text())

    def test_every_golden_has_a_case(self):
        lines = (HERE / "cases.txt").read_text().splitlines()
        names = {line.split()[0] for line in lines if line and not line.startswith("#")}
        self.assertEqual(names, {path.stem for path in (HERE / "golden").iterdir()})


class Formats(Program):
    def profile(self, extension, *arguments):
        path = self.work / f"out.{extension}"
        code, out, err = self.run_program(
            "profile", str(self.captures / "resnet18.json"), "--output", str(path), *arguments
        )
        self.assertEqual((code, out, err), (0, "", ""))
        return path.read_text()

    def test_all_views_have_the_same_total(self):
        profile = json.loads(self.profile("json"))
        for key in ("macs", "flops", "input_bytes", "output_bytes", "weight_bytes", "memory_bytes"):
            total = profile["totals"][key]
            for view in ("layers", "ops", "types"):
                self.assertEqual(sum(row[key] for row in profile[view]), total, (key, view))
            self.assertEqual(profile["modules"][0][key], total)
            rows = [line.split(",") for line in self.profile("csv").splitlines()]
            column = rows[0].index(key)
            self.assertEqual(sum(int(row[column]) for row in rows[1:]), total)
        self.assertEqual(profile["total_flops"], profile["totals"]["flops"])
        self.assertEqual(profile["total_memory"], profile["totals"]["memory_bytes"])
        self.assertEqual(profile["layers"][0]["memory"], profile["layers"][0]["memory_bytes"])

    def test_two_runs_give_the_same_bytes(self):
        for extension in ("json", "csv", "md", "txt", "html"):
            self.assertEqual(self.profile(extension), self.profile(extension))

    def test_no_line_is_longer_than_asked(self):
        model = str(self.captures / "resnet18.json")
        reports = [("profile", model, "--verbose"), ("profile", model, "--level", "op"), ("explore", model), ("fuse", model),
                   ("memory", model), ("plot", "roofline", model), ("explain", model, "layer1.0.conv1"), ("devices",),
                   ("diff", model, str(self.captures / "unknown.json")), ("compare", model, str(self.captures / "unknown.json")),
                   ("help", "profile"), ("help",), ("ops",),
                   ("plan", "--costs", str(self.captures / "costs.json"), "--objective", "latency,devices"),
                   ("plan", model, "--devices", "2xl4,1xh200@cloud", "--link", "1GB/s,1us")]
        for report in reports:
            for width in (40, 61, 80):
                asked = () if report[0] == "help" else ("--width", str(width))
                _, out, err = self.run_program(*report, *asked, COLUMNS=str(width))
                self.assertEqual(err, "")
                self.assertEqual([line for line in out.splitlines() if len(line) > width], [], (report, width))

    def test_v_is_verbose_unless_a_picture_follows(self):
        model = str(self.captures / "resnet18.json")
        verbose = self.run_program("profile", model, "--verbose")
        self.assertEqual(self.run_program("profile", model, "-v"), verbose)
        self.assertEqual(self.run_program("profile", "-v", model), verbose)
        code, out, _ = self.run_program("profile", model, "-v", "model.dot")
        self.assertEqual((code, out), (0, self.run_program("profile", model)[1]))
        self.assertIn("digraph", (self.work / "model.dot").read_text())

    def test_columns_is_the_width(self):
        model = str(self.captures / "resnet18.json")
        self.assertEqual(self.run_program("profile", model, COLUMNS="80"), self.run_program("profile", model, "--width", "80"))

    def test_ascii_where_the_locale_has_nothing_else(self):
        model = str(self.captures / "resnet18.json")
        for report in (("profile", model), ("explore", model), ("fuse", model), ("memory", model), ("plot", "roofline", model)):
            out = self.run_program(*report, LC_ALL="C")[1]
            self.assertTrue(out.isascii(), out)
        self.assertIn("|- ", self.run_program("profile", model, LC_ALL="C")[1])

    def test_control_characters_do_not_reach_the_terminal(self):
        for name in ("no\x1b[2Jsuch.json", "no\x1b[2Jsuch"):
            code, out, err = self.run_program("profile", name, FAKE_MODE="error")
            self.assertNotIn("\x1b", out + err)
            self.assertEqual(code, 2)
        self.assertIn("no\\x1b[2Jsuch.json", self.run_program("profile", "no\x1b[2Jsuch.json")[2])

    def test_output_goes_through_a_link(self):
        link, target = self.work / "link.csv", self.work / "target.csv"
        link.symlink_to(target)
        for _ in range(2):
            self.run_program("profile", str(self.captures / "resnet18.json"), "--output", str(link))
            self.assertTrue(link.is_symlink())
            self.assertIn("flops", target.read_text().splitlines()[0])
            target.write_text("old")

    def test_foreign_locale(self):
        self.assertEqual(self.profile("json"), self.run_program(
            "profile", str(self.captures / "resnet18.json"), "--format", "json", LC_ALL="de_DE.UTF-8")[1])

    def test_full_disk(self):
        path = str(self.captures / "resnet18.json")
        self.assert_failed(self.run_program("profile", path, "--output", "/dev/full", "--format", "json"), "/dev/full")
        with open("/dev/full", "w") as full:
            done = subprocess.run([OPSCOPE, "profile", path], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("stdout", done.stderr)

    def test_capture_round_trip(self):
        saved = self.work / "saved.json"
        source = str(self.captures / "resnet18.json")
        self.assertEqual(self.run_program("capture", source, "-o", str(saved))[0], 0)
        self.assertEqual(saved.read_text(), Path(source).read_text())

    def test_ops_lists_the_table(self):
        code, out, _ = self.run_program("ops", "aten::conv*d", "--format", "csv")
        self.assertEqual(code, 0)
        self.assertIn("aten::conv2d,", out)

    def test_completions_parse(self):
        for shell in ("bash", "zsh", "fish"):
            code, out, _ = self.run_program("completion", shell)
            self.assertEqual(code, 0)
            self.assertIn("input-shape", out)
            if shutil.which(shell):
                self.assertEqual(subprocess.run([shell, "-n"], input=out, text=True).returncode, 0, shell)

    def test_bash_completes(self):
        script = self.run_program("completion", "bash")[1]
        for words, expected in (
            ("pro", "profile"),
            ("completion zs", "zsh"),
            ("profile x --sort par", "params"),
            ("profile x --showsh", "--showshape"),
            ("help vers", "version"),
            ("tra", "trace"),
            ("trace x --tracer hy", "hybrid"),
            ("draw x --color cat", "category"),
            ("plot roof", "roofline"),
            ("profile x --phase pre", "prefill"),
            ("profile x --batch 1", ""),
            ("devices h100-s", "h100-sxm"),
        ):
            line = ["opscope", *words.split()]
            code = f"{script}\nCOMP_WORDS=({' '.join(line)}); COMP_CWORD={len(line) - 1}; _opscope; echo ${{COMPREPLY[*]}}"
            done = subprocess.run(["bash", "-c", code], capture_output=True, text=True)
            self.assertEqual(done.stdout.strip(), expected, done.stderr)


class Trace(Program):
    """`opscope trace`; fake_python.py has the table of what works on which model."""

    def test_request(self):
        code, _, err = self.run_program("trace", "my_model", "--batch", "2", "--save-graph", "g.py", "--weights", "--export", "m.mlir")
        self.assertEqual((code, err), (0, ""))
        (request,) = self.requests()
        wanted = {
            "command": "trace", "model": "my_model", "batch": 2, "tracer": "auto", "tracers": ["static", "fx", "dynamo", "export"],
            "save_graph": str(self.work / "g.py"), "weights": True, "exports": [str(self.work / "m.mlir")],
        }
        self.assertEqual({key: request[key] for key in wanted}, wanted)
        self.assertTrue(request["folder"])
        self.assertNotIn("output", request)

    def test_one_tracer_is_compared_with_the_engine(self):
        self.run_program("trace", "my_model", "--tracer", "dynamo")
        self.run_program("trace", "resnet18", "--tracer", "static")
        self.assertEqual([request["tracers"] for request in self.requests()], [["static", "dynamo"], ["static"]])

    def test_static_is_strict_only_where_it_was_asked_for(self):
        self.assert_failed(self.run_program("trace", "looks_at_values", "--tracer", "static"), "looks at values", "--tracer auto")
        for arguments in ([], ["--tracer", "fx"]):
            self.assertEqual(self.run_program("trace", "looks_at_values", *arguments)[0], 0)
        self.assertEqual([request["strict_static"] for request in self.requests()], [True, False, False])

    def test_what_cannot_be_written_is_said_before_anything_runs(self):
        for flag in ("--save-graph", "--export"):
            self.assert_failed(self.run_program("trace", "my_model", flag, "/proc/" + {"--export": "a.pt2"}.get(flag, "a.py")), "cannot write the file")
        self.assertNotIn("does not exist", self.run_program("trace", "my_model", "--save-graph", "/proc/a.py")[2])
        self.assert_failed(self.run_program("trace", "my_model", "--save-graph", "none/a.py"), "the folder none does not exist")
        self.assertEqual(self.requests(), [])

    def test_whose_graph_the_code_is(self):
        for arguments, tracer in (([], "dynamo"), (["--tracer", "hybrid"], "export")):
            out = self.run_program("trace", "my_model", *arguments, "--save-graph", "graph.py", "--format", "json")[1]
            self.assertEqual(json.loads(out)["files"][0]["notes"][0], f"the graph of {tracer}")

    def test_all_nodes_are_in_json_and_csv(self):
        def run(*arguments):
            return self.run_program("trace", "my_model", "--tracer", "dynamo", *arguments)[1]

        self.assertIn("6 weights are not listed", run())
        self.assertNotIn("first.weight", run())
        for arguments in (["--verbose"], ["--format", "json"], ["--format", "csv"]):
            self.assertIn("first.weight", run(*arguments))

    def test_is_not_cached(self):
        for _ in range(2):
            self.run_program("trace", "resnet18")
        self.assertEqual(len(self.requests()), 2)
        self.assertFalse((self.work / "cache").exists())

    def test_every_number_in_every_format(self):
        tracers = json.loads(self.run_program("trace", "my_model", "--format", "json")[1])["tracers"]
        lines = list(csv.reader(self.run_program("trace", "my_model", "--format", "csv")[1].splitlines()))
        for row, line in zip(tracers, lines[1:], strict=True):
            cells = dict(zip(lines[0], line, strict=True))
            self.assertEqual(row["tracer"], cells["tracer"])
            for key in ("nodes", "ops", "macs", "flops", "memory_bytes", "params"):
                self.assertEqual(str(row.get(key, "")), cells[key], (row["tracer"], key))

    def test_nodes_and_what_ran_outside_are_the_total(self):
        out = self.run_program("trace", "my_model", "--tracer", "dynamo", "--format", "json")[1]
        detail = json.loads(out)
        for key in ("ops", "macs", "flops", "memory_bytes"):
            total = detail["tracer"][key]
            for view in ("nodes", "parts", "kinds"):
                self.assertEqual(sum(row[key] for row in detail[view]) + detail["outside"][key], total, (key, view))
        self.assertEqual([row["index"] for row in detail["nodes"]], list(range(1, detail["tracer"]["nodes"] + 1)))

    def test_save_as_capture(self):
        code, out, _ = self.run_program("trace", "my_model", "--save-graph", "graph.json")
        self.assertEqual(code, 0)
        self.assertIn("the graph of dynamo", out)
        self.assertEqual((self.work / "graph.json").read_text(), (self.captures / "cut.json").read_text())
        self.assertIn("3 graphs, 2 breaks", self.run_program("profile", "graph.json")[1])

    def test_save_a_part_as_capture(self):
        self.run_program("trace", "my_model", "--tracer", "dynamo", "--graph-part", "2", "--save-graph", "part.json")
        self.assertEqual(len(json.loads((self.work / "part.json").read_text())["parts"]), 1)

    def test_exports_join_the_table(self):
        _, out, _ = self.run_program("trace", "my_model", "--export", "m.mlir")
        self.assertRegex(out, r"(?m)^m\.mlir +yes +1 ")
        self.assertRegex(self.run_program("trace", "resnet18", "--tracer", "fx", "--export", "cnn.pt2")[1], r"(?m)^cnn\.pt2 +yes .* -1\.81G ")

    def test_an_export_that_failed(self):
        code, out, _ = self.run_program("trace", "my_model", "--export", "bad.mlir")
        self.assertEqual(code, 2)
        self.assertRegex(out, r"(?m)^bad\.mlir +no ")
        self.assertEqual(out.count("torch-mlir is not installed"), 1)
        self.assertIn("pip install torch-mlir", out)
        self.assertNotIn("Traceback", out)
        self.assertIn("Traceback", self.run_program("trace", "my_model", "--export", "bad.mlir", "--verbose")[1])

    def test_an_export_that_cannot_be_read_back(self):
        code, out, _ = self.run_program("trace", "my_model", "--export", "text.onnx")
        self.assertEqual(code, 2)
        self.assertIn("cannot be read back", out)

    def test_stages_show_without_a_terminal(self):
        code, out, err = self.run_program("profile", "resnet18", "--tracer", "hybrid", "--no-cache")
        self.assertEqual((code, err), (0, "[1/4] warming up\n[2/4] symbolic_trace\n"))
        self.assertEqual(self.run_program("profile", "resnet18", "--tracer", "hybrid", "--no-cache", "--quiet")[2], "")

    def test_tracers_have_keys_of_their_own(self):
        for tracer in ("fx", "dynamo", "export", "hybrid", "fx"):
            self.assertEqual(self.run_program("profile", "resnet18", "--tracer", tracer)[0], 0)
        self.assertEqual([request["tracer"] for request in self.requests()], ["fx", "dynamo", "export", "hybrid"])

    def test_wrong_files_are_found_out_first(self):
        for arguments in (["--export", "a.txt"], ["--save-graph", "a.txt"], ["--save-graph", "no/folder/a.py"], ["--weights"]):
            self.assert_failed(self.run_program("trace", "my_model", *arguments))
        self.assertEqual(self.requests(), [])

    def test_crash_and_error(self):
        self.assert_failed(self.run_program("trace", "my_model", FAKE_MODE="crash"), "signal 11")
        self.assert_failed(self.run_program("trace", "resnet81", FAKE_MODE="error"), "no model called 'resnet81'")
        self.assert_failed(self.run_program("trace", "my_model", FAKE_MODE="no_rows"), "not an answer to trace")


class Python(Program):
    def test_request(self):
        code, out, err = self.run_program(
            "profile", "--input-shape", "2", "3", "64", "64", "resnet18", "--dtype", "half", "--batch", "2"
        )
        self.assertEqual((code, err), (0, ""))
        self.assertIn("69 ops, all exact", out)
        (request,) = self.requests()
        self.assertTrue(request.pop("output"))
        self.assertEqual(
            {key: value for key, value in request.items() if value not in (None, False, {})},
            {"command": "capture", "model": "resnet18", "input_shape": [[2, 3, 64, 64]], "batch": 2, "dtype": "float16",
             "tracer": "auto"},
        )
        self.assertLessEqual({"seq_len", "phase", "kv_cache", "limits", "training", "optimizer"}, set(request))

    def test_request_for_a_language_model(self):
        code, _, err = self.run_program(
            "profile", "some/llm", "--seq-len", "64", "--phase", "decode", "--past-len", "4096", "--task", "text-generation",
            "--input", "input_ids=1x1:int64", "--input", "scale=scalar", "--limit", "nms=100", "--image-size", "480x640",
            "--trust", "--download",
        )
        self.assertEqual((code, err), (0, ""))
        (request,) = self.requests()
        wanted = {
            "seq_len": 64, "phase": "decode", "past_len": 4096, "task": "text-generation", "limits": {"nms": 100},
            "inputs": {"input_ids": {"shape": [1, 1], "dtype": "int64"}, "scale": {"shape": [], "dtype": None}},
            "image_size": [480, 640], "trust": True, "download": True,
        }
        self.assertEqual({key: request[key] for key in wanted}, wanted)

    def test_print_inputs(self):
        code, out, err = self.run_program("profile", "some/llm", "--print-inputs", "--format", "csv")
        self.assertEqual((code, out), (0, 'name,shape,dtype,value,why\ninput_ids,1x128,int64,ids 5,"vocabulary, of 30522"\n'))
        self.assertEqual(err, "opscope: a guess\n")
        self.assertEqual(self.requests()[0]["command"], "inputs")

    def test_a_file_is_the_same_from_every_folder(self):
        (self.work / "weights.pt").write_bytes(b"PK")
        self.run_program("profile", "weights.pt")
        self.assertEqual(self.requests()[0]["model"], str(self.work / "weights.pt"))

    def test_shape_spellings(self):
        for spelling in (["1,3,8,8"], ["1x3x8x8"], ["1", "3", "8", "8"]):
            self.run_program("profile", "resnet18", "--no-cache", "--input-shape", *spelling)
        self.assertEqual([request["input_shape"] for request in self.requests()], [[[1, 3, 8, 8]]] * 3)
        self.run_program("profile", "m", "--input-shape", "1", "2", "--input-shape", "3", "4")
        self.assertEqual(self.requests()[-1]["input_shape"], [[1, 2], [3, 4]])

    def test_default_model_is_said(self):
        code, out, _ = self.run_program("profile")
        self.assertEqual(code, 0)
        self.assertIn("no model given, so this is resnet18 at 1 3 224 224", out)
        self.assertEqual(self.requests()[0]["input_shape"], [[1, 3, 224, 224]])

    def test_cached_until_a_dependency_changes(self):
        watched = self.work / "watched.py"
        watched.write_text("one")
        for text, runs in (("one", 1), ("one", 1), ("two, longer", 2), ("two, longer", 2)):
            if watched.read_text() != text:
                watched.write_text(text)
            self.assertEqual(self.run_program("profile", "resnet18", FAKE_DEPENDENCY=str(watched))[0], 0)
            self.assertEqual(len(self.requests()), runs)
        watched.unlink()
        self.run_program("profile", "resnet18", "--no-cache")
        self.assertEqual(len(self.requests()), 3)

    def test_key_has_the_inputs(self):
        for arguments in ([], ["--batch", "2"], ["--dtype", "bf16"], ["--tracer", "static"], ["--input-shape", "1,2"]):
            self.run_program("profile", "resnet18", *arguments)
        self.assertEqual(len(self.requests()), 5)
        self.run_program("profile", "resnet18", "--convention", "torch", "--ridge", "3")
        self.assertEqual(len(self.requests()), 5)

    def test_what_is_not_cacheable_is_not_cached(self):
        for _ in range(2):
            self.assertEqual(self.run_program("profile", "file.py:build", FAKE_MODE="uncacheable")[0], 0)
        self.assertEqual(len(self.requests()), 2)
        self.assertFalse((self.work / "cache").exists() and list((self.work / "cache").iterdir()))

    def test_cache_is_shown_limited_and_cleared(self):
        for batch in ("1", "2", "3"):
            self.run_program("profile", "resnet18", "--batch", batch)
        shown = json.loads(self.run_program("cache", "--format", "json")[1])["cache"][0]
        self.assertEqual((shown["entries"], shown["limit_bytes"]), (3, 2_000_000_000))
        self.run_program("profile", "resnet18", "--batch", "1")  # so batch 2 was used longest ago
        limit = str(shown["bytes"] - 1)
        code, out, err = self.run_program("cache", "--limit", limit, "--format", "json")
        self.assertEqual((code, json.loads(out)["cache"][0]["entries"], err[:23]), (0, 2, "opscope: removed 1 file"))
        asked = len(self.requests())
        for batch in ("1", "3"):
            self.run_program("profile", "resnet18", "--batch", batch)
        self.assertEqual(len(self.requests()), asked)
        self.run_program("profile", "resnet18", "--batch", "2")  # again, and one that is older makes room
        self.assertEqual(len(self.requests()), asked + 1)
        self.assertEqual(json.loads(self.run_program("cache", "--format", "json")[1])["cache"][0]["entries"], 2)
        (self.work / "cache" / "notes.txt").write_text("not ours")
        self.assertEqual(json.loads(self.run_program("cache", "--clear", "--format", "json")[1])["cache"][0]["entries"], 0)
        self.assertTrue((self.work / "cache" / "notes.txt").exists())
        self.assert_failed(self.run_program("cache", "--limit", "much"), "--limit")

    def test_corrupt_cache_is_none(self):
        self.run_program("profile", "resnet18")
        (entry,) = (self.work / "cache").iterdir()
        entry.write_text(entry.read_text()[:5000])
        code, _, err = self.run_program("profile", "resnet18")
        self.assertEqual((code, err, len(self.requests())), (0, "", 2))
        self.assertEqual(self.run_program("profile", "resnet18")[0], 0)
        self.assertEqual(len(self.requests()), 2)

    def test_unwritable_cache_is_none(self):
        (self.work / "file").write_text("")
        nowhere = str(self.work / "file" / "cache")
        self.assertEqual(self.run_program("profile", "resnet18", OPSCOPE_CACHE_DIR=nowhere)[::2], (0, ""))
        code, _, err = self.run_program("profile", "resnet18", "--verbose", OPSCOPE_CACHE_DIR=nowhere)
        self.assertEqual(code, 0)
        self.assertIn("continuing without the cache", err)

    def test_capture_has_no_dependencies(self):
        watched = self.work / "watched.py"
        watched.write_text("one")
        _, out, _ = self.run_program("capture", "resnet18", FAKE_DEPENDENCY=str(watched))
        self.assertEqual(json.loads(out)["capture"]["dependencies"], [])

    def test_unknown_model(self):
        result = self.run_program("profile", "resnet81", FAKE_MODE="error")
        self.assert_failed(result, "no model called 'resnet81'", "did you mean resnet18", "opscope list")
        code, _, err = self.run_program("profile", "resnet81", "--debug", FAKE_MODE="error")
        self.assertEqual(code, 2)
        self.assertIn("Traceback: deep inside", err)
        self.assertIn("a library's chatter", err)

    def test_crash(self):
        result = self.run_program("profile", "resnet18", FAKE_MODE="crash")
        self.assert_failed(result, "signal 11", "while importing torch", "fourth")
        self.assertNotIn("first", result[2])

    def test_silence(self):
        self.assert_failed(self.run_program("profile", "resnet18", FAKE_MODE="silent"), "exit code 0")

    def test_half_a_capture(self):
        self.assert_failed(self.run_program("profile", "resnet18", FAKE_MODE="half"), "capture of resnet18")

    def test_no_package(self):
        result = self.run_program("profile", "resnet18", FAKE_MODE="no_package")
        self.assert_failed(result, "not installed", "OPSCOPE_PYTHON")

    def test_no_python(self):
        result = self.run_program("profile", "resnet18", OPSCOPE_PYTHON="/no/such/python")
        self.assert_failed(result, "/no/such/python", "OPSCOPE_PYTHON")
        self.assert_failed(self.run_program("profile", "resnet18", OPSCOPE_PYTHON="", PATH="/nowhere"), "no Python")

    def test_output_is_checked_first(self):
        self.assert_failed(self.run_program("profile", "resnet18", "-o", "no/such/folder/a.json"))
        self.assert_failed(self.run_program("profile", "resnet18", "-o", "a.xlsx"))
        self.assertEqual(self.requests(), [])

    def test_interrupt(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            self.log.unlink(missing_ok=True)
            self.assert_interrupted(number, code, "profile", "resnet18")

    HEAD = "name,family,source,params,macs,flops,captured\n"

    def test_list(self):
        code, out, _ = self.run_program("list", "resnet", "--format", "csv")
        row = "{0},resnet,torchvision 1.0,,,,\n"
        self.assertEqual((code, out), (0, self.HEAD + row.format("resnet18") + row.format("resnet34")))
        self.assertEqual(self.run_program("profile", "--list", "vgg*", "--format", "csv")[1].count("\n"), 2)
        self.assertEqual(len(self.requests()), 1)
        self.assertEqual(self.run_program("list", "ResNet-", "--format", "csv")[1], out)
        self.assertEqual(self.run_program("list", "RESNET*", "--format", "csv")[1], out)
        self.assert_failed(self.run_program("list", "resent18"), "did you mean resnet18")

    def test_list_text_has_no_empty_columns(self):
        out = self.run_program("list", "vgg")[1]
        self.assertEqual(out.splitlines()[0].split(), ["Name", "Family", "Source"])

    def test_list_by_source(self):
        self.assertEqual(self.run_program("list", "--source", "torchvision", "--format", "csv")[1].count("\n"), 4)
        self.assert_failed(self.run_program("list", "--source", "hf"), "no source called 'transformers'", "torchvision")

    def test_list_profiles_what_it_lists(self):
        code, out, err = self.run_program("list", "resnet", "--profile", "--format", "csv")
        self.assertEqual((code, err), (0, ""))
        works = "resnet18,resnet,torchvision 1.0,11689512,1814073344,3637806568,static\n"
        self.assertEqual(out, self.HEAD + works + "resnet34,resnet,torchvision 1.0,,,,failed: too deep\n")
        asked = len(self.requests())
        self.assertEqual(self.run_program("list", "--works", "--format", "csv")[1], self.HEAD + works)
        self.assertEqual(self.run_program("profile", "resnet18")[0], 0)
        self.assertEqual(len(self.requests()), asked, "what was profiled is in the cache")
        table = self.run_program("list", "resnet")[1]
        self.assertIn("11.7M", table)
        self.assertIn("failed: too deep", table)

    def test_list_goes_on_after_a_crash(self):
        code, out, _ = self.run_program("list", "--profile", "--format", "json", FAKE_MODE="crash_on_vgg")
        rows = {row["name"]: row for row in json.loads(out)["models"]}
        self.assertEqual(code, 0)
        self.assertIn("signal 11", rows["vgg11"]["captured"])
        self.assertEqual((rows["resnet18"]["captured"], rows["vgg11"]["flops"]), ("static", None))

    def test_list_works_needs_a_profile(self):
        self.assert_failed(self.run_program("list", "--works"), "--profile")

    def test_list_only_cached_asks_nobody(self):
        self.assertEqual(self.run_program("list", "--only-cached")[:2], (0, ""))
        self.assertEqual(self.requests(), [])

    def test_registry(self):
        registry = self.work / "models.py"
        registry.write_text("")
        self.run_program("profile", "mine", "--registry", "models.py")
        self.assertEqual(self.requests()[0]["registry"], str(registry))
        self.run_program("profile", "mine2", OPSCOPE_REGISTRY=str(registry))
        self.assertEqual(self.requests()[1]["registry"], str(registry))
        self.assert_failed(self.run_program("profile", "mine", "--registry", "none.py"), "none.py")


if __name__ == "__main__":
    os.chmod(FAKE_PYTHON, 0o755)
    unittest.main(argv=[sys.argv[0], *(text for text in sys.argv[3:] if text != "--refresh")])
