"""`opscope compare` as a user runs it: `compare_test.py OPSCOPE MAKE_CAPTURES [unittest arguments]`."""

import csv
import io
import json
import sys
import unittest

from cli_test import Program


class Compare(Program):
    def setUp(self):
        super().setUp()
        self.resnet = str(self.captures / "resnet18.json")
        self.training = str(self.captures / "training.json")
        self.unknown = str(self.captures / "unknown.json")
        self.measured = str(self.captures / "measured.json")
        self.profile = str(self.captures / "profile.json")

    def compare(self, *arguments, **environment):
        code, out, err = self.run_program("compare", *arguments, **environment)
        self.assertEqual((code, err), (0, ""), err)
        return out

    def saved(self, name, *arguments):
        path = str(self.work / name)
        self.assertEqual(self.run_program("profile", *arguments, "--output", path)[0], 0)
        return path

    def test_captures_need_no_python(self):
        out = self.compare(self.resnet, self.training, OPSCOPE_PYTHON="/no/such/python")
        self.assertIn("Parameters", out)
        self.assertIn("not the same work: a forward pass", out)

    def test_a_saved_profile_is_as_good_as_its_capture(self):
        saved = self.saved("saved.json", self.resnet, "--hardware", "h100")
        found = json.loads(self.compare(self.resnet, saved, "--hardware", "h100", "--format", "json"))
        first, second = found["models"]
        self.assertEqual([first["label"], second["label"]], ["resnet18", "saved"])
        self.assertTrue(second["saved_profile"])
        same = ("params", "macs", "flops", "memory_bytes", "fused_bytes", "peak_memory_bytes", "arithmetic_intensity",
                "roofline_seconds", "memory_bound_time_share", "fused_roofline_seconds", "ops", "layers", "subgraphs", "types")  # fmt: skip
        self.assertEqual({key: first[key] for key in same}, {key: second[key] for key in same})
        self.assertEqual((first["best"], second["best"]), ([], []))

    def test_a_saved_profile_without_the_device_says_so(self):
        out = self.compare(self.resnet, self.saved("saved.json", self.resnet), "--hardware", "h100")
        self.assertIn("saved: a saved profile, made without --hardware h100-sxm", " ".join(out.split()))

    def test_unknown_ops_make_a_lower_bound(self):
        out = " ".join(self.compare(self.resnet, self.unknown).split())
        self.assertIn("so its totals are lower bounds, marked ≥", out)

    def test_all_that_are_not_cached_are_captured_by_one_python(self):
        capture = {"FAKE_CAPTURE": self.resnet}
        self.compare("resnet18", "vgg11", self.training, "--batch", "4", "--dtype", "bf16", **capture)
        (asked,) = self.requests()
        self.assertEqual((asked["command"], asked["models"]), ("capture_many", ["resnet18", "vgg11"]))
        self.assertEqual((asked["batch"], asked["dtype"], asked["tracer"]), (4, "bfloat16", "auto"))
        self.compare("vgg11", "resnet18", "--batch", "4", "--dtype", "bf16", **capture)
        self.assertEqual(len(self.requests()), 1)  # both from the cache
        self.run_program("profile", "vgg11", "--batch", "4", "--dtype", "bf16", **capture)
        self.assertEqual(len(self.requests()), 1)  # which is the same that profile looks in

    def test_what_cannot_be_captured_is_named(self):
        result = self.run_program("compare", "resnet18", "resnet34", FAKE_CAPTURE=self.resnet)
        self.assert_failed(result, "resnet34: too deep")

    def test_a_crash_is_named(self):
        result = self.run_program("compare", "resnet18", "vgg11", FAKE_CAPTURE=self.resnet, FAKE_MODE="crash_on_vgg")
        self.assert_failed(result, "vgg11: Python ended without an answer")

    def test_patterns(self):
        out = self.compare("*11", "resnet*", "--format", "csv", FAKE_CAPTURE=self.resnet)
        rows = list(csv.DictReader(io.StringIO(out)))
        self.assertEqual([row["label"] for row in rows], ["vgg11", "resnet18"])
        text = self.compare("*11", "resnet*", FAKE_CAPTURE=self.resnet)
        self.assertIn("left out: resnet34: too deep", text)

    def test_a_pattern_goes_on_after_a_crash(self):
        text = self.compare("vgg*", self.training, "resnet*", FAKE_CAPTURE=self.resnet, FAKE_MODE="crash_on_vgg")
        said = " ".join(text.split())
        self.assertIn("left out: vgg11: Python ended without an answer", said)
        self.assertIn("left out: resnet34: too deep", said)
        self.assertIn("2 models", said)

    def test_formats_have_the_same_totals(self):
        models = [self.resnet, self.training]
        found = json.loads(self.compare(*models, "--format", "json"))
        self.assertEqual(found["schema_version"], 1)
        rows = list(csv.DictReader(io.StringIO(self.compare(*models, "--format", "csv"))))
        for one, row in zip(found["models"], rows, strict=True):
            self.assertEqual((one["label"], str(one["flops"]), str(one["params"])), (row["label"], row["flops"], row["params"]))
            totals = json.loads(self.run_program("profile", models[rows.index(row)], "--format", "json")[1])["totals"]
            self.assertEqual({key: one[key] for key in ("flops", "macs", "memory_bytes", "peak_memory_bytes")},
                             {key: totals[key] for key in ("flops", "macs", "memory_bytes", "peak_memory_bytes")})  # fmt: skip
        for format in ("md", "html"):
            self.assertIn("Parameters", self.compare(*models, "--format", format))

    def test_by_type_and_module(self):
        found = json.loads(self.compare(self.resnet, self.measured, "--by", "module", "--metric", "params", "--format", "json"))
        self.assertEqual(found["metric"], "params")
        self.assertEqual([row["name"] for row in found["rows"]][:3], ["conv1", "bn1", "layer1"])
        out = self.compare(self.resnet, self.training, "--by", "type", "--sort", "mem", "--top", "2")
        self.assertIn("conv2d", out)
        self.assertIn("more types", out)
        times = self.compare(self.measured, self.resnet, "--by", "type", "--metric", "time-seconds", "--format", "csv")
        self.assertTrue(times.startswith("type,measured.time_seconds"), times[:80])

    def test_measured_captures_have_times(self):
        out = self.compare(self.measured, self.resnet)
        self.assertIn("Time, measured", out)

    def test_pictures(self):
        out = self.compare(self.resnet, self.training, "--pareto", "p.svg", "--quiet")
        self.assertIn("Parameters", out)
        self.assertIn("FLOPs against parameters", (self.work / "p.svg").read_text())
        self.assertEqual(self.compare(self.resnet, self.training, "--output", "q.svg", "--x", "flops", "--y", "peak-memory-bytes"), "")
        self.assertIn("Peak memory against FLOPs", (self.work / "q.svg").read_text())

    def test_bad_input(self):
        for arguments, says in [
            ((), "which models?"),
            ((self.resnet,), "compare needs two or more models"),
            ((self.resnet, self.training, "--by", "color"), "choose type or module"),
            ((self.resnet, self.training, "--metric", "flops"), "add --by"),
            ((self.resnet, self.training, "--by", "type", "--metric", "params"), "op types have no parameters"),
            ((self.resnet, self.training, "--by", "type", "--metric", "speed"), "no metric called 'speed'"),
            ((self.resnet, self.training, "--by", "type", "--metric", "time"), "opscope measure"),
            ((self.resnet, self.training, "--batch", "2"), "a saved capture cannot be changed"),
            ((self.resnet, self.profile, "--batch", "2"), "a saved capture cannot be changed"),
            ((self.resnet, str(self.captures / "broken.json")), "broken.json"),
            ((self.resnet, self.training, "--pareto", "p.txt"), "svg, png or pdf"),
            ((self.resnet, self.training, "--pareto", "no/such/folder/p.svg"), "no/such/folder"),
            ((self.resnet, self.training, "-o", "p.svg", "--x", "time"), "fewer than two"),
            ((self.resnet, "nothing*"), "no model matches 'nothing*'"),
        ]:
            with self.subTest(arguments):
                self.assert_failed(self.run_program("compare", *arguments), says)

    def test_other_commands_refuse_a_profile(self):
        result = self.run_program("memory", self.profile)
        self.assert_failed(result, "this is a saved profile", "compare, diff and check take it")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
