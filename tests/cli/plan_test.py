"""`opscope plan` as a user runs it: `plan_test.py OPSCOPE MAKE_CAPTURES [unittest arguments]`."""

import json
import sys
import unittest

from cli_test import Program

CLUSTER = """
[devices.edge]
device = "l4"
count = 2
link = "10Gbit/s, 50us"
price_per_hour = 0.7

[devices.cloud]
device = "rtx-3090"
link = "1Gbit/s, 5ms"
price_per_hour = 1.5
"""


class Plan(Program):
    def setUp(self):
        super().setUp()
        self.resnet = str(self.captures / "resnet18.json")
        self.costs = str(self.captures / "costs.json")

    def plan(self, *arguments, **environment):
        code, out, err = self.run_program("plan", *arguments, "--format", "json", **environment)
        self.assertEqual((code, err), (0, ""), err)
        return json.loads(out)

    def assert_whole(self, plan, nodes):
        placed = [node for device in plan["devices"] for node in device["nodes"]]
        self.assertEqual(sorted(placed, key=str), sorted(nodes, key=str))
        self.assertLessEqual(plan["lower_bound"], plan["objective_value"])
        for other in plan["baselines"]:
            if other["objective_value"] is not None:
                self.assertGreaterEqual(other["objective_value"], plan["objective_value"] * (1 - 1e-9))

    def test_costs(self):
        nodes = [node["id"] for node in json.loads((self.captures / "costs.json").read_text())["nodes"]]
        best = {"throughput": 6.3, "latency": 17.6, "devices": 1, "energy": 1710}
        for objective, value in best.items():
            plan = self.plan("--costs", self.costs, "--objective", objective)
            self.assert_whole(plan, nodes)
            self.assertTrue(plan["proven"])
            self.assertAlmostEqual(plan["objective_value"], value)
            self.assertEqual(plan["objective_seconds"], plan["objective_value"] if objective in ("throughput", "latency") else None)
            self.assertGreaterEqual(plan["solve_seconds"], 0)
            self.assertEqual(len(plan["devices"]), 4)

    def test_a_model_needs_no_python(self):
        for objective in ("throughput", "latency", "devices", "energy"):
            plan = self.plan(self.resnet, "--devices", "2xl4,1xrtx-3090@cloud", "--link", "10Gbit/s,50us",
                             "--objective", objective, OPSCOPE_PYTHON="/no/such/python")  # fmt: skip
            self.assert_whole(plan, [node for device in plan["devices"] for node in device["nodes"]])
            self.assertEqual(plan["search"]["nodes"], 69)

    def text(self, *arguments):
        code, out, err = self.run_program("plan", self.resnet, *arguments)
        self.assertEqual((code, err), (0, ""), err)
        return out

    def test_the_report_of_a_model(self):
        out = self.text("--devices", "2xl4,1xrtx-3090@cloud", "--link", "10Gbit/s,50us", "--link", "cloud=1Gbit/s,5ms")
        for words in ("resnet18   69 nodes   2xl4,1xcloud", "proven: no plan is better", "best chain on cloud", "Simulated", "What would help"):
            self.assertIn(words, out)
        pinned = self.text("--devices", "2xl4,1xrtx-3090@cloud", "--link", "10Gbit/s,50us", "--pin", "input=cloud", "--objective", "latency")
        self.assertIn("'l4' cannot run its part", pinned)

    def test_replicas(self):
        plan = self.plan(self.resnet, "--devices", "4xl4", "--link", "10Mbit/s,5ms", "--dp", "auto")
        self.assertEqual(plan["replicas"]["count"], 4)
        self.assertAlmostEqual(plan["replicas"]["period_seconds"], plan["objective_value"] / 4)
        self.assertIn("no number of equal ones is better", self.text("--devices", "4xl4", "--link", "10Mbit/s,5ms", "--dp", "4"))

    def test_what_runs_a_plan(self):
        cluster = ("--devices", "2xl4", "--link", "100GB/s,1us")
        stages = json.loads(self.text(*cluster, "--emit", "accelerate"))
        self.assertEqual(set(stages.values()), {0, 1})
        path = self.work / "run.py"
        self.assertEqual(self.text(*cluster, "--emit", "torch", "--output", str(path)), "")
        compile(path.read_text(), "run.py", "exec")

    def test_pictures_and_traces(self):
        picture, trace = self.work / "plan.svg", self.work / "trace.json"
        arguments = ("plan", "--costs", self.costs, "--output", str(picture), "--trace", str(trace))
        self.assertEqual(self.run_program(*arguments)[:2], (0, ""))
        self.assertIn("gpu 2", picture.read_text())
        events = json.loads(trace.read_text())["traceEvents"]
        self.assertEqual({event["cat"] for event in events if event["ph"] == "X"}, {"compute", "send", "receive"})

    def test_a_cluster_in_a_file(self):
        path = self.work / "cluster.toml"
        path.write_text(CLUSTER)
        plan = self.plan(self.resnet, "--devices", str(path), "--objective", "cost")
        self.assertEqual([device["class"] for device in plan["devices"]], ["edge", "edge", "cloud"])
        self.assertGreater(plan["cost"], 0)
        front = self.plan(self.resnet, "--devices", str(path), "--objective", "throughput,devices")["front"]
        self.assertEqual([point["devices_used"] for point in front], sorted({point["devices_used"] for point in front}, reverse=True))

    def test_two_runs_differ_in_their_time_alone(self):
        runs = [self.plan("--costs", self.costs) for _ in range(2)]
        for run in runs:
            del run["solve_seconds"]
        self.assertEqual(*runs)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
