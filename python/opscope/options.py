"""What a user may ask of a capture beside the model: one record for the Python API and the command line alike."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

#: prefill: the whole prompt of a language model. decode: one new token with a KV cache.
PHASES = ("prefill", "decode")


@dataclass(frozen=True)
class InputRequest:
    """Every part of the inputs that the user said; None is left to the model."""

    input_shape: Any = None  # one shape, or several: the tensors in the order of the call
    batch: int | None = None
    seq_len: int | None = None  # tokens, frames of features: what the model reads one after the other
    image_size: Any = None  # one side, or (height, width)
    named: Mapping[str, Any] = field(default_factory=dict)  # name -> shape, (shape, dtype) or a value to pass as it is
    phase: str | None = None  # one of PHASES
    past_len: int | None = None  # tokens in the KV cache, for decode


@dataclass(frozen=True)
class SourceRequest:
    """How a named model is to be found and built."""

    registry: str | None = None
    task: str | None = None  # the head of a transformers or ultralytics model
    trust: bool = False  # open pickles, which may run code
    download: bool = False  # fetch what is not here
    with_data: bool = False  # build with real weights' memory, for an eager run
    dtype: Any = None  # that the user names


@dataclass(frozen=True)
class Options:
    """The keyword arguments of `profile` and `capture`."""

    name: str | None = None  # what the report calls the model
    input_shape: Any = None  # one shape, or several: the tensors in the order of the call
    batch: int | None = None  # samples in the batch
    seq_len: int | None = None  # tokens, or frames of features; 128 where the model does not say
    image_size: Any = None  # one side, or (height, width)
    named_inputs: Mapping[str, Any] = field(default_factory=dict)  # inputs by name: a shape, (shape, dtype) or a value; --input
    phase: str | None = None  # of a language model: "prefill" (the whole prompt) or "decode" (one new token with a KV cache)
    past_len: int | None = None  # tokens in the KV cache; 128
    limits: Mapping[str, int] = field(default_factory=dict)  # upper bounds of data-dependent sizes: {"nms": 100}
    dims: Mapping[str, int] = field(default_factory=dict)  # dynamic dimensions of a .pt2 or ONNX file
    task: str | None = None  # the head of a transformers or ultralytics model
    trust: bool = False  # open pickles and a model's own code, which may run anything
    download: bool = False  # fetch configs and weights that are not here
    registry: str | None = None  # a Python file that calls register_model; else $OPSCOPE_REGISTRY
    dtype: Any = None  # of the weights and inputs of a model given by name: "bfloat16", torch.float16
    device: Any = None  # what the model sees; it need not exist on this machine
    tracer: str = "auto"  # "static" (no data), "eager" (a real run), "fx", "dynamo", "export" or "hybrid"
    source_lines: bool = False  # record each op's line of code
    training: bool = False  # a training step: forward, backward and the optimizer
    optimizer: str | None = None  # of the training: sgd (the default), sgd-momentum, adam, adamw, adagrad, rmsprop or none

    def inputs(self) -> InputRequest:
        return InputRequest(
            self.input_shape, self.batch, self.seq_len, self.image_size, self.named_inputs, self.phase, self.past_len
        )

    def source(self) -> SourceRequest:
        return SourceRequest(self.registry, self.task, self.trust, self.download, self.tracer == "eager", self.dtype)

    def given(self) -> list[str]:
        """Names of the options that are not as they are by default."""
        return [name for name, default in _DEFAULTS.items() if getattr(self, name) != default]


def _default(option: Any) -> Any:
    return {} if option.default is dataclasses.MISSING else option.default


_DEFAULTS = {each.name: _default(each) for each in dataclasses.fields(Options)}

_Function = TypeVar("_Function", bound=Callable[..., Any])


def takes_options(function: _Function) -> _Function:
    """Shows Options' fields in the signature of a function that takes them as **options."""
    signature = inspect.signature(function)
    own = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    options = [
        inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=_default(each), annotation=each.type)
        for each in dataclasses.fields(Options)
        if each.name not in signature.parameters
    ]
    function.__signature__ = signature.replace(parameters=[*own, *options])  # type: ignore[attr-defined]
    return function
