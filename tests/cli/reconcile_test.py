"""`opscope reconcile` as a user runs it: `reconcile_test.py OPSCOPE MAKE_CAPTURES [unittest arguments]`.

fake_reconcile.py stands in for Python, with what fvcore, torch and thop really said of ResNet-18.
"""

import csv
import io
import json
import signal
import sys
import unittest

from cli_test import HERE, Program


class Reconcile(Program):
    def setUp(self):
        super().setUp()
        self.environment["OPSCOPE_PYTHON"] = str(HERE / "fake_reconcile.py")
        self.environment["FAKE_CAPTURE"] = str(self.captures / "resnet18.json")

    def data(self, *arguments):
        code, out, err = self.run_program("reconcile", *arguments, "--format", "json")
        self.assertEqual((code, err), (0, ""))
        return json.loads(out)["models"]

    def test_defaults(self):
        code, out, err = self.run_program("reconcile")
        self.assertEqual((code, err), (0, ""))
        asked = self.requests()[0]
        self.assertEqual((asked["command"], asked["models"], asked["tools"]), ("reconcile", ["resnet18"], ["fvcore"]))
        for text in ("resnet18", "fvcore", "3.64G", "3.63G", "+4.67M", "99.87%", "1.82G MACs", "11.69M"):
            self.assertIn(text, out)

    def test_several_models_have_their_own_inputs(self):
        models = self.data("--models", "resnet18, bert-base-uncased", "--with", "torch")
        self.assertEqual(len(models), 2)
        asked = self.requests()[0]
        self.assertEqual((asked["models"], asked["input_shape"]), (["resnet18", "bert-base-uncased"], None))

    def test_causes_add_up(self):
        (model,) = self.data("resnet18", "--with", "fvcore,torch,thop", "--why")
        self.assertEqual([peer["tool"] for peer in model["peers"]], ["fvcore", "torch", "thop"])
        for peer in model["peers"]:
            units = sum(cause["flops"] for cause in peer["causes"] if cause["is_unit"])
            others = sum(cause["flops"] for cause in peer["causes"] if not cause["is_unit"])
            self.assertEqual(peer["total"] + units, peer["flops"])
            self.assertEqual(peer["flops"] + others, model["flops"])
            self.assertEqual(others, peer["difference"])
            for cause in peer["causes"]:
                self.assertEqual(sum(row["flops"] for row in cause["rows"]), cause["flops"])

    def test_causes_of_fvcore_and_torch(self):
        (model,) = self.data("resnet18", "--with", "fvcore,torch", "--why")
        fvcore, torch = ({cause["kind"]: cause["flops"] for cause in peer["causes"]} for peer in model["peers"])
        relu = 64 * 112**2 + 4 * 64 * 56**2 + 4 * 128 * 28**2 + 4 * 256 * 14**2 + 4 * 512 * 7**2
        add = 2 * (64 * 56**2 + 128 * 28**2 + 256 * 14**2 + 512 * 7**2)
        pool = 64 * 56**2 * 8
        macs = 1_814_073_344
        self.assertEqual(fvcore, {"mac_counted_as_flop": macs, "activation_not_counted": relu, "pooling_counted_otherwise": pool,
                                  "elementwise_not_counted": add, "bias_not_counted": 1000})  # fmt: skip
        norms = torch.pop("norm_counted_otherwise")
        self.assertEqual(torch, {"activation_not_counted": relu, "pooling_counted_otherwise": pool + 512 * 7**2,
                                 "elementwise_not_counted": add, "bias_not_counted": 1000})  # fmt: skip
        self.assertEqual(norms, 4_967_424)

    def test_csv_has_every_module(self):
        code, out, _ = self.run_program("reconcile", "--with", "fvcore", "--why", "--format", "csv")
        rows = list(csv.DictReader(io.StringIO(out)))
        self.assertEqual(code, 0)
        self.assertEqual(sum(int(row["flops"]) for row in rows), 3_637_806_568 - 1_819_065_856)
        self.assertIn(("add_", "layer1.0"), {(row["op"], row["module"]) for row in rows})
        self.assertEqual(sum(int(row["ops"]) for row in rows if row["op"] == "relu_"), 17)

    def test_formats_and_widths(self):
        for format in ("txt", "json", "csv", "md", "html"):
            code, out, err = self.run_program("reconcile", "--with", "fvcore,calflops", "--why", "--format", format)
            self.assertEqual((code, err), (0, ""))
            self.assertIn("fvcore", out)
        for width in (60, 80, 100, 200):
            _, out, _ = self.run_program("reconcile", "--with", "fvcore,torch,thop", "--why", "--width", str(width))
            self.assertLessEqual(max(map(len, out.splitlines())), width)

    def test_a_tool_that_is_not_there(self):
        code, out, _ = self.run_program("reconcile", "--with", "calflops,torch")
        self.assertEqual(code, 0)
        self.assertIn("resnet18, calflops: calflops is not installed (pip install calflops)", out)

    def test_a_model_that_is_not_there(self):
        code, out, _ = self.run_program("reconcile", "--models", "missing,resnet18")
        self.assertEqual(code, 0)
        self.assertIn("missing: no model called 'missing' (opscope list)", out)
        self.assertIn("99.87%", out)

    def test_strict(self):
        self.assertEqual(self.run_program("reconcile", "--strict")[0], 0)
        code, out, _ = self.run_program("reconcile", "--strict", "--tolerance", "0.1%")
        self.assertEqual(code, 1)
        self.assertIn("! differs by more than 0.1%", out)
        self.assertEqual(self.run_program("reconcile", "--tolerance", "0.001")[0], 0)

    def test_bad_input(self):
        for arguments, says in [
            (("resnet18", "--models", "resnet50"), "a model and --models too"),
            (("--models", " , "), "nothing is named"),
            (("--with", ","), "nothing is named"),
            (("--tolerance", "much"), "'much' is not"),
            (("resnet18", "--training"), "a forward pass only"),
            (("resnet18", "--tracer", "fx"), "the model itself"),
            (("resnet18", "--device", "cuda"), "on the CPU"),
            ((str(self.captures / "resnet18.json"),), "a graph in a file"),
        ]:
            with self.subTest(arguments):
                self.assert_failed(self.run_program("reconcile", *arguments), says)
        self.assertEqual(self.requests(), [])

    def test_what_python_says_is_shown(self):
        self.assert_failed(self.run_program("reconcile", "--with", "fvcor", FAKE_MODE="error"), "no tool called 'fvcor'", "did you mean fvcore")
        self.assert_failed(self.run_program("reconcile", FAKE_MODE="damaged"), "pounds")

    def test_interrupt(self):
        self.assert_interrupted(signal.SIGINT, 130, "reconcile")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
