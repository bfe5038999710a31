"""A model split over devices, or a plain graph of costs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from opscope._load import native
from opscope.api import capture
from opscope.errors import error
from opscope.options import takes_options
from opscope.questions.costs import is_graph_file
from opscope.results.profile import Row
from opscope.results.report import Report


class Plan(Report):
    """What `opscope.plan` found: which device has what, what it takes, and what no plan is better than."""

    @property
    def objective_value(self) -> float:
        """Of the plan by its objective: seconds, devices, the price of a run, or joules."""
        return float(self._data["objective_value"])

    @property
    def lower_bound(self) -> float:
        """No plan is better than this."""
        return float(self._data["lower_bound"])

    @property
    def proven(self) -> bool:
        """No plan is better than this one."""
        return bool(self._data["proven"])

    @property
    def stages(self) -> list[Row]:
        """The devices that are used, in the order that they run in: their `nodes`, seconds and bytes."""
        used = [device for device in self._data["devices"] if device["stage"] is not None]
        return [Row(device) for device in sorted(used, key=lambda device: device["stage"])]

    @property
    def front(self) -> list[Row]:
        """With two objectives: the plans that no other beats in both, with their figures and devices."""
        return [Row(plan) for plan in self._data.get("front", [])]

    def plot(self, path: str | os.PathLike[str]) -> None:
        """The simulated runs as a picture: .svg, .png or .pdf."""
        self._native.draw(os.fspath(path))

    def trace(self, path: str | os.PathLike[str]) -> None:
        """The simulated runs as a trace for ui.perfetto.dev."""
        self._native.trace(os.fspath(path))

    def emit(self, path: str | os.PathLike[str], form: str = "torch") -> None:
        """What runs the plan: 'torch', a program for torchrun, or 'accelerate', a device_map as JSON."""
        self._native.emit(os.fspath(path), form)

    def __repr__(self) -> str:
        return f"<opscope.Plan of {self._data['name']}: {self._data['objective']} {self.objective_value:g} on {len(self.stages)} devices>"


@takes_options
def plan(
    model: Any = None,
    inputs: Any = None,
    *,
    devices: str | Iterable[str] | os.PathLike[str] | None = None,
    links: str | Iterable[str] = (),
    pins: str | Iterable[str] = (),
    objective: str | Iterable[str] = "throughput",
    costs: str | os.PathLike[str] | None = None,
    overlap: bool = True,
    in_flight: int | None = None,
    dp: int | str | None = None,
    reserve: str | int | None = None,
    mode: str | None = None,
    host: str | float | None = None,
    float32: str = "torch",
    routing: str | int = "balanced",
    **options: Any,
) -> Plan:
    """A model split over devices: the best split by an objective, with a bound that no split is better than.

    `devices` is '4xh200', '12xjetson-agx-orin-64gb,1xrtx-3090@cloud' or the file of a cluster, `links` the bandwidth and latency of
    each device, '50Mbit/s,2ms', or of one group, 'cloud=1Mbit/s,20ms'. `objective` is 'throughput', 'latency', 'devices', 'cost' or
    'energy', or two of them for their Pareto front. `pins` keeps the inputs or the results in a group: 'input=cloud'. Devices wait
    for their transfers with `overlap=False`. `in_flight` runs are on their way at once, each with its KV cache. `dp` replicas of the
    model share the devices evenly; 'auto' is the number that makes runs most often. In place of a model, `costs` is the file of a
    graph of costs.
    """
    wanted = objective if isinstance(objective, str) else ",".join(objective)
    if costs is not None:
        if model is not None or devices is not None:
            raise error("a graph of costs says that itself", "model" if model is not None else "devices", "leave it out")
        return Plan(native.plan_costs(os.fspath(costs), wanted))
    task = native.plan_task(
        devices="" if devices is None else _joined(devices),
        links=_listed(links),
        pins=_listed(pins),
        objective=wanted,
        reserve="" if reserve is None else str(reserve),
        in_flight="" if in_flight is None else str(in_flight),
        overlap=overlap,
        float32=float32,
        mode=mode or "",
        host="" if host is None else str(host),
        routing=str(routing),
        dp="" if dp is None else str(dp),
    )
    if task.gpu and options.get("device") is None and not is_graph_file(model):
        options = {**options, "device": "cuda", "gpu": options.get("gpu") or task.gpu}
    return Plan(native.plan(capture(model, inputs, **options)._graph, task))


def _listed(texts: str | Iterable[str]) -> list[str]:
    return [texts] if isinstance(texts, str) else list(texts)


def _joined(devices: str | Iterable[str] | os.PathLike[str]) -> str:
    return os.fspath(devices) if isinstance(devices, (str, os.PathLike)) else ",".join(devices)
