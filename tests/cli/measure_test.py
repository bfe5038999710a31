"""`opscope measure` as a user runs it: `measure_test.py OPSCOPE MAKE_CAPTURES [unittest arguments]`."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import unittest

from cli_test import OPSCOPE, Program


class Measure(Program):
    def setUp(self):
        super().setUp()
        self.measured = str(self.captures / "measured.json")
        self.environment["FAKE_CAPTURE"] = self.measured

    def test_what_is_asked(self):
        code, out, err = self.run_program("measure", "resnet18", "--batch", "2", "--on", "cuda:1", "--warmup", "0", "--runs", "7",
                                          "--min-time", "2.5", "--repeat-ops", "--training", "--optimizer", "adam")  # fmt: skip
        self.assertEqual((code, err), (0, ""))
        asked = self.requests()[0]
        self.assertEqual(asked["command"], "measure")
        expected = {"on": "cuda:1", "warmup": 0, "runs": 7, "min_time": 2.5, "repeat_ops": True, "batch": 2,
                    "training": True, "optimizer": "adam", "device": None}  # fmt: skip
        self.assertEqual({key: asked[key] for key in expected}, expected)
        self.assertIn("resnet18", out)

    def test_what_is_not_asked_is_left_to_python(self):
        self.run_program("measure", "resnet18", "--device", "cuda")
        asked = self.requests()[0]
        self.assertEqual([asked[key] for key in ("on", "warmup", "runs", "min_time", "repeat_ops")], ["cuda", None, None, None, False])

    def test_it_is_never_cached(self):
        for _ in range(2):
            self.run_program("measure", "resnet18")
        self.assertEqual(len(self.requests()), 2)
        self.assertEqual(list((self.work / "cache").rglob("*.json")) if (self.work / "cache").exists() else [], [])

    def test_a_saved_measurement_needs_no_python(self):
        first = self.run_program("measure", "resnet18", "--save", "m.json", "--trace", "t.json", "--format", "json")
        self.assertEqual(first[0], 0, first[2])
        self.assertEqual(first[2].splitlines(), ["opscope: wrote m.json", "opscope: wrote t.json"])
        self.assertTrue(json.loads((self.work / "t.json").read_text())["traceEvents"])
        again = self.run_program("measure", "m.json", "--format", "json", OPSCOPE_PYTHON="/no/such/python")
        self.assertEqual(again, (0, first[1], ""))
        profile = self.run_program("profile", "m.json", "--sort", "time", "--format", "json", OPSCOPE_PYTHON="/no/such/python")
        self.assertEqual(json.loads(profile[1])["totals"]["time_seconds"], json.loads(first[1])["totals"]["time_seconds"])

    def test_formats(self):
        for format in ("txt", "json", "csv", "md", "html"):
            code, out, err = self.run_program("measure", self.measured, "--format", format, "--top", "3", "--depth", "1")
            self.assertEqual((code, err), (0, ""))
            self.assertTrue(out)

    def test_bad_input(self):
        plain = str(self.captures / "resnet18.json")
        for arguments, says in [
            (("resnet18", "--runs", "0"), "'0' is not a whole number of 1 or more"),
            (("resnet18", "--runs", "many"), "'many' is not a whole number"),
            (("resnet18", "--warmup", "-1"), "'-1' is not a whole number of 0 or more"),
            (("resnet18", "--warmup=-1"), "'-1' is not a whole number of 0 or more"),
            (("resnet18", "--min-time", "nan"), "'nan' is not a number of 0 or more"),
            (("resnet18", "--min-time", "-2"), "'-2' is not a number of 0 or more"),
            (("resnet18", "--on", "cpu", "--device", "cuda"), "two devices"),
            (("resnet18", "--tracer", "fx"), "real runs"),
            (("resnet18", "--optimizer", "adam"), "a part of training"),
            (("resnet18", "--save", "no/such/folder/m.json"), "no/such/folder"),
            (("resnet18", "--trace", "no/such/folder/t.json"), "no/such/folder"),
            (("resnet18", "--sort", "speed"), "speed"),
            ((plain,), "there are no times in it"),
            ((str(self.captures / "cnn.onnx"),), "there are no times in it"),
            ((self.measured, "--runs", "3"), "runs that were made"),
            ((self.measured, "--on", "cpu"), "runs that were made"),
            ((self.measured, "--batch", "3"), "cannot be changed"),
        ]:
            with self.subTest(arguments):
                self.assert_failed(self.run_program("measure", *arguments), says)
        self.assertEqual(self.requests(), [])

    def test_what_python_says_is_shown(self):
        result = self.run_program("measure", "resnet18", FAKE_MODE="error")
        self.assert_failed(result, "no model called 'resnet18'", "did you mean")

    def test_an_answer_without_times(self):
        result = self.run_program("measure", "resnet18", FAKE_CAPTURE=str(self.captures / "resnet18.json"))
        self.assert_failed(result, "without times")

    def test_no_bar_where_there_is_no_terminal(self):
        self.assertEqual(self.run_program("measure", "resnet18", FAKE_MODE="slow")[2], "")

    def test_bar_on_a_terminal(self):
        code, text = self.on_terminal("measure", "resnet18", "-o", "m.txt")
        self.assertEqual(code, 0, text)
        self.assertIn("warming up resnet18", text)
        self.assertIn("4 of 8  measuring resnet18", text)
        self.assertIn("████████████░░░░░░░░░░░░", text)
        self.assertTrue(text.endswith("\r\x1b[2K\x1b[?25h"), repr(text[-40:]))
        quiet = self.on_terminal("measure", "resnet18", "-o", "m.txt", "--quiet")
        self.assertEqual(quiet, (0, ""))

    def test_interrupt(self):
        self.assert_interrupted(signal.SIGINT, 130, "measure", "resnet18")

    def on_terminal(self, *arguments):
        """The exit code, and what a terminal got on stderr."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [OPSCOPE, *arguments], stderr=theirs, cwd=self.work, env={**self.environment, "FAKE_MODE": "slow"}
        )
        os.close(theirs)
        text = b""
        while process.poll() is None or select.select([ours], [], [], 0)[0]:
            if select.select([ours], [], [], 0.1)[0]:
                try:
                    text += os.read(ours, 65536)
                except OSError:  # the other end is closed
                    break
        os.close(ours)
        return process.wait(timeout=30), text.decode()


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
