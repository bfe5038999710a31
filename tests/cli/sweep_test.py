"""`opscope sweep` and `opscope fit` as a user runs them: `sweep_test.py OPSCOPE MAKE_CAPTURES [unittest arguments]`.

Files with dynamic dimensions need no Python; fake_sweep.py stands in for it elsewhere.
"""

import csv
import io
import json
import shutil
import signal
import sys
import time
import unittest

from cli_test import HERE, Program


class Swept(Program):
    def setUp(self):
        super().setUp()
        self.environment["OPSCOPE_PYTHON"] = str(HERE / "fake_sweep.py")
        for name in ("cnn_dynamic.onnx", "dynamic.pt2"):
            shutil.copy(HERE.parent / "readers" / "files" / name, self.work)

    def rows(self, *arguments):
        code, out, err = self.run_program("sweep", *arguments, "--format", "csv")
        self.assertEqual((code, err), (0, ""))
        return list(csv.DictReader(io.StringIO(out)))


class Sweep(Swept):
    def test_dimensions_of_a_file(self):
        rows = self.rows("cnn_dynamic.onnx", "--dim", "batch=1,2,4,..,16")
        self.assertEqual([row["batch"] for row in rows], ["1", "2", "4", "8", "16"])
        self.assertEqual({int(row["macs"]) // int(row["batch"]) for row in rows}, {int(rows[0]["macs"])})
        self.assertEqual(self.requests(), [])

    def test_polynomials_equal_captures(self):
        dims = ("cnn_dynamic.onnx", "--dim", "batch=1:300")
        fitted, captured = self.rows(*dims, "--polynomial"), self.rows(*dims, "--every-point")
        self.assertEqual({row["state"] for row in captured}, {"captured"})
        self.assertGreater(sum(row["state"] == "fitted" for row in fitted), 250)
        for left, right in zip(fitted, captured, strict=True):
            self.assertEqual({**left, "state": ""}, {**right, "state": ""})

    def test_formats_agree(self):
        arguments = ("sweep", "cnn_dynamic.onnx", "--dim", "batch=1:64:x2", "--memory", "1MiB")
        code, text, _ = self.run_program(*arguments)
        self.assertEqual(code, 0)
        self.assertIn("Crossovers", text)
        report = json.loads(self.run_program(*arguments, "--format", "json")[1])
        self.assertEqual(report["schema_version"], 1)
        self.assertTrue(report["complete"])
        self.assertEqual([point["batch"] for point in report["points"]], [1, 2, 4, 8, 16, 32, 64])
        for remark in report["remarks"]:
            self.assertIn(remark, " ".join(text.split()))
        self.assertIn("| batch |", self.run_program(*arguments, "--format", "md")[1])
        self.assertIn("<table", self.run_program(*arguments, "--format", "html")[1])

    def test_widths(self):
        for width in (60, 80, 100, 200):
            _, out, _ = self.run_program("sweep", "cnn_dynamic.onnx", "--dim", "batch=1:64:x2", "--width", str(width))
            self.assertLessEqual(max(map(len, out.splitlines())), width)

    def test_a_grid_and_a_picture(self):
        code, out, _ = self.run_program("sweep", "tiny", "--batch", "1,2", "--seq-len", "8,16", "--metric", "flops")
        self.assertEqual(code, 0)
        self.assertIn("batch \\ seq_len", out)
        for name in ("lines.svg", "lines.png", "lines.pdf"):
            code, out, err = self.run_program("sweep", "tiny", "--batch", "1,2", "--seq-len", "8,16", "--output", name)
            self.assertEqual((code, out), (0, ""), err)
            self.assertGreater((self.work / name).stat().st_size, 500)

    def test_one_python_captures_every_point(self):
        self.rows("tiny", "--batch", "1,2", "--seq-len", "8,16", "--dtype", "fp32,bf16", "--training")
        first, *points = self.requests()
        self.assertEqual((first["command"], first["model"], first["training"]), ("sweep", "tiny", True))
        self.assertEqual(len(points), 8)
        self.assertEqual(points[0], {"batch": 1, "seq_len": 8, "dtype": "float32"})
        self.assertEqual(points[-1], {"batch": 2, "seq_len": 16, "dtype": "bfloat16"})

    def test_points_that_fail_are_rows(self):
        rows = self.rows("tiny", "--seq-len", "256:1024:x2")
        self.assertEqual([row["state"] for row in rows], ["captured", "captured", "failed"])
        self.assertEqual(rows[-1]["problem"], "it has 512 positions")
        result = self.run_program("sweep", "tiny", "--seq-len", "600,700")
        self.assert_failed(result, "it has 512 positions")

    def test_batch_sizes_of_profile(self):
        code, out, _ = self.run_program("profile", "tiny", "--batch-sizes", "1,4,8", "--visualize", "batches.svg")
        self.assertEqual(code, 0)
        self.assertIn("batch", out)
        self.assertTrue((self.work / "batches.svg").exists())
        self.assert_failed(self.run_program("profile", "tiny", "--batch-sizes", "1,4", "--batch", "2"), "exclude each other")

    def test_interrupt_keeps_what_is_done(self):
        process = self.start("sweep", "tiny", "--batch", "1,2,4,8,16", "--format", "csv", FAKE_MODE="slow")
        deadline = time.monotonic() + 30
        while len(self.requests()) < 5 and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130)
        self.assertEqual([row["batch"] for row in csv.DictReader(io.StringIO(out))], ["1", "2", "4"])
        self.assertIn("2 of 5 points are not done", err)
        self.assertEqual(list(self.temp.iterdir()), [])

    def test_mistakes(self):
        for arguments, parts in {
            ("tiny",): ("nothing varies", "--batch"),
            ("tiny", "--batch", "1,,2"): ("a value is missing", "--batch"),
            ("tiny", "--batch", "1,2,4,..,100"): ("comes to 128", "--batch"),
            ("tiny", "--batch", "1,2", "--metric", "flop"): ("no metric called 'flop'", "did you mean flops"),
            ("tiny", "--batch", "1,2", "--memory", "24cows"): ("cows", "--memory"),
            ("tiny", "--dtype", "fp31"): ("no dtype called 'fp31'",),
            ("tiny", "--image-size", "2x3x4"): ("a height and a width",),
            ("tiny", "--batch", "1:5000", "--seq-len", "1:5000"): ("more than 1,000,000 points",),
            ("tiny", "--batch", "1,2", "--polynomial", "--every-point"): ("exclude each other",),
            ("tiny", "--batch", "1,2", "--metric", "predicted"): ("a predicted time is of a device", "--hardware h200"),
            ("tiny", "--batch", "1,2", "--mode", "graph"): ("none is named", "--mode"),
            ("cnn_dynamic.onnx", "--batch", "1,2"): ("an exported model has its shapes in the file", "--dim"),
        }.items():
            with self.subTest(arguments):
                self.assert_failed(self.run_program("sweep", *arguments), *parts)
        self.assert_failed(self.run_program("sweep", "tiny", "--batch", "1,2", FAKE_MODE="no_model"), "no model called 'tiny'")
        self.assert_failed(self.run_program("sweep", "tiny", "--batch", "1:8", FAKE_MODE="crash"), "signal 11", "out of everything")


    def test_predicted_times_by_polynomials_equal_captures(self):
        dims = ("cnn_dynamic.onnx", "--dim", "batch=1:60", "--hardware", self.captures / "lab.toml", "--mode", "graph")
        fitted, captured = self.rows(*dims, "--polynomial"), self.rows(*dims, "--every-point")
        self.assertGreater(sum(row["state"] == "fitted" for row in fitted), 40)
        for left, right in zip(fitted, captured, strict=True):
            self.assertEqual({**left, "state": ""}, {**right, "state": ""})
            self.assertLess(float(left["predicted_p10_seconds"]), float(left["predicted_seconds"]))
            self.assertGreater(float(left["predicted_p90_seconds"]), float(left["predicted_seconds"]))
        self.assertGreater(float(fitted[-1]["predicted_seconds"]), float(fitted[0]["predicted_seconds"]))

    def test_several_devices(self):
        lab, mine = self.captures / "lab.toml", self.captures / "my_gpu.toml"
        arguments = ("sweep", "cnn_dynamic.onnx", "--dim", "batch=1:4096:x4", "--hardware", f"{lab},{mine}")
        code, text, _ = self.run_program(*arguments)
        self.assertEqual(code, 0)
        self.assertIn("Predicted, lab", text)
        self.assertIn("Predicted, mine", text)
        report = json.loads(self.run_program(*arguments, "--format", "json")[1])
        self.assertEqual((report["hardware"], report["other_hardware"], report["mode"]), ("lab", ["mine"], "eager"))
        for point in report["points"]:
            self.assertGreater(point["predicted_seconds"], 0)
            self.assertGreater(point["mine.predicted_p90_seconds"], point["mine.predicted_seconds"])
        self.assertIn("device", {turn["kind"] for turn in report["turning_points"]})
        self.assertIn("host", {turn["kind"] for turn in report["turning_points"]})
        picture = self.work / "times.svg"
        self.assertEqual(self.run_program(*arguments, "--metric", "predicted", "-o", picture)[0], 0)
        self.assertIn("mine", picture.read_text())


class Fit(Swept):
    def test_a_predicted_time(self):
        fit = ("fit", "cnn_dynamic.onnx", "--variable", "batch", "--hardware", self.captures / "lab.toml", "--mode", "graph")
        code, out, _ = self.run_program(*fit, "--max-time", "1ms", "--format", "json")
        self.assertEqual(code, 0)
        report = json.loads(out)
        self.assertEqual((report["limited_by"], report["memory_bytes"], report["max_time_seconds"]), ("time", None, 0.001))
        self.assertEqual((report["hardware"], report["mode"]), ("lab", "graph"))
        self.assertLessEqual(report["best"]["predicted_seconds"], 1e-3)
        self.assertGreater(report["next"]["predicted_seconds"], 1e-3)
        self.assertLess(report["best"]["predicted_p10_seconds"], report["best"]["predicted_seconds"])
        text = " ".join(self.run_program(*fit, "--max-time", "1ms")[1].split())
        self.assertIn(f"Batch {report['largest']:,} is the largest that is predicted to take at most 1.00 ms", text)
        both = json.loads(self.run_program(*fit, "--max-time", "1ms", "--memory", "1GiB", "--format", "json")[1])
        self.assertEqual((both["limited_by"], both["largest"]), ("time", report["largest"]))
        self.assertEqual(both["second_limit"]["kind"], "memory")
        self.assertGreater(both["second_limit"]["at"], both["largest"])
        less = json.loads(self.run_program(*fit, "--max-time", "1ms", "--memory", "1MiB", "--format", "json")[1])
        self.assertEqual((less["limited_by"], less["second_limit"]["kind"]), ("memory", "time"))
        self.assertLess(less["largest"], report["largest"])
        code, out, _ = self.run_program(*fit, "--max-time", "1ns")
        self.assertEqual(code, 1)
        self.assertIn("Not even batch 1 is predicted to take at most 1 ns", out)

    def test_wrong_times(self):
        fit = ("fit", "tiny", "--memory", "1GiB")
        self.assert_failed(self.run_program(*fit, "--max-time", "20ms"), "a predicted time is of a device", "--hardware h200")
        self.assert_failed(self.run_program(*fit, "--hardware", "h200", "--max-time", "abc"), "'abc'", "--max-time", "5ms")
        self.assert_failed(self.run_program(*fit, "--hardware", "h200", "--max-time", "0"), "must be above 0", "20ms")
        self.assert_failed(self.run_program(*fit, "--mode", "graph"), "none is named", "--mode")

    def test_a_dimension_of_a_file(self):
        code, out, _ = self.run_program("fit", "cnn_dynamic.onnx", "--variable", "batch", "--memory", "1MiB", "--format", "json")
        self.assertEqual(code, 0)
        report = json.loads(out)
        self.assertEqual(report["limited_by"], "memory")
        self.assertLessEqual(report["best"]["needed_bytes"], 1 << 20)
        self.assertGreater(report["next"]["needed_bytes"], 1 << 20)
        self.assertGreater(report["best"]["reserved_bytes"], 0)
        self.assertEqual(report["reserve"], "default")
        code, text, _ = self.run_program("fit", "cnn_dynamic.onnx", "--variable", "batch", "--memory", "1MiB")
        self.assertIn(f"Batch {report['largest']:,} is the largest that fits 1MiB", text)
        self.assertIn(f"Next: batch {report['largest'] + 1:,} needs", text)
        words = ("fit", "cnn_dynamic.onnx", "--variable", "batch", "--memory", "1MiB", "--reserve", "0", "--format", "json")
        without = json.loads(self.run_program(*words)[1])
        self.assertGreater(without["largest"], report["largest"])
        self.assertEqual((without["reserve"], without["best"]["reserved_bytes"]), ("given", 0))

    def test_ends(self):
        code, out, _ = self.run_program("fit", "tiny", "--variable", "seq-len", "--memory", "24GiB")
        self.assertEqual(code, 0)
        self.assertIn("the model accepts no more: it has 512 positions", " ".join(out.split()))
        code, out, _ = self.run_program("fit", "cnn_dynamic.onnx", "--variable", "batch", "--memory", "1KiB")
        self.assertEqual(code, 1)
        self.assertIn("Not even batch 1 fits", out)

    def test_wrong_questions(self):
        self.assert_failed(self.run_program("fit", "tiny"), "how much memory is there?", "--memory 24GiB")
        self.assert_failed(self.run_program("fit", "tiny", "--memory", "1GiB", "--reserve", "1GiB"), "all of the memory")
        self.assert_failed(self.run_program("fit", "tiny", "--memory", "1GiB", "--variable", "bach"), "did you mean batch")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
