"""A language model as it is served: what it holds, how much fits, and how fast that can be."""

from __future__ import annotations

import os
from typing import Any

from opscope._load import native
from opscope.errors import Error, error
from opscope.options import Options, takes_options
from opscope.questions.costs import cost_settings, on_hardware
from opscope.questions.diff import spec_of
from opscope.questions.sweep import _capture_at, _in_a_row, _listed, _text
from opscope.results.profile import Row
from opscope.results.report import Report


class Llm(Report):
    """What `opscope.llm` found: sizes, the costs of prefill and decode steps, and a row for each batch on each device."""

    @property
    def parameters(self) -> int:
        """All parameters, shared ones once."""
        return int(self._data["parameters"])

    @property
    def active_parameters(self) -> int:
        """Those that one token uses: of a mixture of experts, without the experts that it does not choose."""
        return int(self._data["active_parameters"])

    @property
    def kv_bytes_per_token(self) -> int:
        """Bytes by which the KV cache of a long sequence grows with each token."""
        return int(self._data["kv_cache"]["bytes_per_token"])

    @property
    def steps(self) -> list[Row]:
        """Prefills, then decode steps, by batch: `served`, and `eager` as transformers runs them."""
        return [Row(step) for step in self._data["steps"]]

    @property
    def devices(self) -> list[Row]:
        """By device: `largest_batch`, and `batches` with times, tokens per second, memory and the longest context."""
        return [Row(device) for device in self._data["devices"]]

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Tokens per second over the batch, for a few contexts: .svg, .png or .pdf. Needs `plot=True`."""
        if not self._data["points"]:
            raise error("the points of a plot were not asked for", "plot", "opscope.llm(..., plot=True)")
        self._native.draw(os.fspath(path))

    def __repr__(self) -> str:
        return f"<opscope.Llm of {self._data['model']}: {self.parameters:,} parameters, {self.kv_bytes_per_token:,} bytes per token>"


@takes_options
def llm(
    model: Any,
    *,
    hardware: str | os.PathLike[str] | None = None,
    prompt: int | None = None,
    generate: int | None = None,
    batch: Any = None,
    reserve: str | int | None = None,
    float32: str | None = None,
    routing: str | int | None = None,
    mode: str | None = None,
    host: str | float | None = None,
    plot: bool = False,
    **options: Any,
) -> Llm:
    """A language model as it is served, on one page: memory, KV cache, largest batch and context, times and tokens per second.

    `prompt` tokens (2048) are read and `generate` (256) are made, in batches of 1, 8 and 32 or of `batch`. `hardware` names
    devices ('h200,l4'); without it there are no times. They are predicted, with what the roofline allows beside them: as a CUDA graph
    is replayed, or in another `mode` of `opscope.predict`. The weights have the dtype that they were published in. `reserve` is
    kept free of each device's memory: '1GiB', '10%'. `routing` is that of a mixture of experts: 'balanced', 'worst' or a number of
    experts in each layer. `plot=True` finds the points of the picture too.
    """
    for name, given in (("prompt", prompt), ("generate", generate)):
        if given is not None and given < 1:
            raise error(f"{name} is {given}", name, "a whole number of 1 or more")
    options = on_hardware(options, hardware, model, as_gpu=True)
    if options.get("phase") is None and any(options.get(name) is not None for name in ("kv_cache", "kv_capacity", "kv_dtype", "kv_block")):
        options = {**options, "phase": "decode"}  # of its decode steps
    asked = Options(**{**options, "dtype": options.get("dtype") or "published"})
    settings = cost_settings(hardware=hardware, float32=float32, routing=routing, mode=mode, host=host)
    with _in_a_row():
        capture = _capture_at(model, None, asked)
        try:
            found = native.llm(
                asked.request,
                spec_of(model),
                capture,
                prompt=_text(prompt),
                generate=_text(generate),
                batches="" if batch is None else _listed(batch),
                reserve=_text(reserve),
                plot=plot,
                **settings,
            )
        except Error as problem:
            raise _without_phase(problem) from None
    return Llm(found)


def _without_phase(problem: Error) -> Exception:
    """The phases are our own: who asked for this page named none."""
    if getattr(problem, "where", "") != "phase":
        return problem
    return error(getattr(problem, "what", None) or str(problem), "", "name a class that generates, such as one ...ForCausalLM")
