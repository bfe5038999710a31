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
