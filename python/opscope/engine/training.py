"""A step of training under a capture: forward, backward through PyTorch's own autograd, an optimiser's step.

Nothing of it reaches the user: modes, gradients and what is written are put back when the capture ends, and the
optimiser is one of our own.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from opscope._load import native
from opscope.engine.nested import named_tensors, with_attributes_of
from opscope.engine.recipe import eight_bit
from opscope.engine.recipe.optimizers import embeddings_of, maker_of
from opscope.engine.recipe.precision import MasterWeights, Scaler, autocast, check_scaled, name_of
from opscope.engine.structural_copy import copy_with, model_tensors, root_module
from opscope.errors import error

_CACHES = ("past_key_values", "mems", "cache")  # what a model returns for its next call, and no loss is made of


_SHOWN = 2  # micro-steps of a static capture: the first, and one that finds gradients, as all others do


@dataclass(frozen=True)
class Training:
    """How a model is trained: the optimiser by name, in which precision, and how often before a step of the optimiser."""

    optimizer: str = "sgd"
    autocast: str | None = None
    accumulate: int = 1
    master_weights: bool = False

    def __post_init__(self) -> None:
        if self.optimizer.endswith(":8bit"):
            eight_bit.declare()

    def run(self, session: Any, model: Any, called: Callable[[], Any], given: Iterable[tuple[str, torch.Tensor]], device: str) -> Any:
        """What the model gives. `called` calls it on `given`, its inputs by name, and the session is running."""
        return Step(self, session, model, given, device).first(called)

    def finish(self, graph: Any) -> None:
        """Micro-steps that a static capture leaves out are as the last one that it has."""
        if self.accumulate <= _SHOWN:
            return
        for part in ("forward", "backward"):
            graph.repeat_phase(f"{part} {_SHOWN}", self.accumulate - _SHOWN + 1)
        words = f"each of the {self.accumulate} micro-steps after the first is as the second"
        graph.add_diagnostic("assumption", "", "", words)


class Step:
    """A step of training, recorded the first time; the steps after it go on from there."""

    def __init__(
        self, training: Training, session: Any, model: Any, given: Iterable[tuple[str, torch.Tensor]], device: str
    ) -> None:
        self.root = root_module(model) or torch.nn.Module()
        self.trained = [p for p in self.root.parameters() if p.requires_grad]
        self.inputs = {name: tensor for name, tensor in given if tensor.requires_grad}
        if not self.trained and not self.inputs:
            what = "neither a parameter of the model nor an input requires a gradient"
            raise error(what, type(model).__name__, "call x.requires_grad_() on an input, or profile it without training")
        self.training, self.session, self.type, self.device = training, session, type(model).__name__, device
        self.make = maker_of(training.optimizer)
        self.steps = training.accumulate if session.is_eager else min(training.accumulate, _SHOWN)
        self.update: torch.nn.Module | None = None  # the optimiser's step
        self.optimizer: Any = None
        self.scaler: Scaler | None = None
        if training.autocast == "float16" and self.make is not None and self.trained:
            check_scaled(self.trained, training.master_weights)
            self.scaler = Scaler(device)

    def first(self, called: Callable[[], Any]) -> Any:
        """What the model gives."""
        session = self.session
        session.follow_autograd()
        self._begin()
        outputs: Any = None
        for number in range(1, self.steps + 1):
            outputs = None  # a loop's variables are gone by its next forward
            suffix = f" {number}" if number > 1 else ""
            session.begin_phase(f"forward{suffix}")
            outputs, loss, words = self._forward(called)
            if number == 1:
                native.note("assumption", "", f"the loss is {words}{self._labels(outputs)}")
            if number == self.steps:
                for path, tensor in named_tensors(outputs):
                    session.add_output(tensor, path)
            session.begin_phase(f"backward{suffix}")
            loss.backward()
            loss = None
            if number == 1:
                self._mark_gradients()
        self._first_update()
        return outputs

    def again(self, called: Callable[[], Any]) -> Any:
        """A later step as it is, only to be timed."""
        self._begin()
        outputs: Any = None
        for _ in range(self.steps):
            outputs = None
            outputs, loss, _ = self._forward(called)
            loss.backward()
        if self.update is not None:
            self.update()
        return outputs

    def state(self) -> Iterator[torch.Tensor]:
        """What the optimiser keeps from step to step."""
        kept = [] if self.optimizer is None else list(self.optimizer.state.values())
        return (value for state in kept for value in state.values() if isinstance(value, torch.Tensor))

    def _begin(self) -> None:
        self.root.train()
        self.root.zero_grad()
        for tensor in self.inputs.values():
            tensor.grad = None
        if self.scaler is not None and self.update is None:
            with self._hidden():
                for part, tensor in zip(("scale", "growth_tracker"), self.scaler.begin(self.device), strict=True):
                    self.session.mark_optimizer_state(tensor, f"GradScaler.{part}")
            native.note("assumption", "", "the gradients are finite, so GradScaler lets the optimizer step")

    def _labels(self, outputs: Any) -> str:
        """How to have the model's own loss, where it has one and was given no labels."""
        logits = outputs.get("logits") if isinstance(outputs, dict) else None
        own = inspect.signature(self.root.forward).parameters
        if not isinstance(logits, torch.Tensor) or logits.dim() not in (2, 3) or "labels" not in own or outputs.get("loss") is not None:
            return ""
        return f"; the model's own is that of --input labels={'x'.join(map(str, logits.shape[:-1]))}:int64"

    def _mark_gradients(self) -> None:
        for name, tensor in (*self.root.named_parameters(), *self.inputs.items()):
            if tensor.is_leaf and tensor.grad is not None:
                self.session.mark_gradient(tensor.grad, f"{name}.grad")

    def _forward(self, called: Callable[[], Any]) -> tuple[Any, Any, str]:
        with torch.enable_grad(), autocast(self.device, self.training.autocast):
            outputs = called()
            loss, words = loss_of(outputs)
            if loss is None:
                of = "parameters" if self.trained else "inputs"
                raise _unfit(f"nothing that it returns in training depends on its {of}", self.type)
            if self.training.accumulate > 1:
                loss = loss / self.training.accumulate
            return outputs, loss if self.scaler is None else self.scaler.scale(loss), words

    def _first_update(self) -> None:
        """A later step than the first, which finds the optimiser's state as the one before it left it."""
        if self.make is None:
            return
        if not self.trained:
            native.note("assumption", "", "only inputs require gradients, so there is no step of an optimizer")
            return
        self.session.assume_numbers(0.0)  # norms of weights and of updates, and counts of infinities
        with self._hidden():
            self.optimizer = optimizer = self._made()
            optimizer.step()
        for name, parameter in self.root.named_parameters():
            for part, value in optimizer.state.get(parameter, {}).items():
                if isinstance(value, torch.Tensor):
                    self.session.mark_optimizer_state(value, f"{name}.{part}")
        self.session.begin_phase("optimizer")
        self.update = _as_module(optimizer, self.scaler)
        self.update()
        self.session.assume_numbers(None)

    def _made(self) -> Any:
        assert self.make is not None
        make = self.make
        if self.training.optimizer == "muon":
            embeddings = embeddings_of(self.root)
            make = functools.partial(make, embeds=[i for i, p in enumerate(self.trained) if id(p) in embeddings])
        return MasterWeights(make, self.trained) if self.training.master_weights else make(self.trained)

    @contextmanager
    def _hidden(self) -> Iterator[None]:
        """What comes before the step that is recorded."""
        self.session.hide(True)
        try:
            yield
        finally:
            self.session.hide(False)


def _as_module(optimizer: Any, scaler: Scaler | None) -> torch.nn.Module:
    """Its step as a module's call: one layer, '<Adam>', and not one of each op on each parameter."""

    def step(_: Any) -> None:
        if scaler is None:
            optimizer.step()
            return
        if isinstance(optimizer, MasterWeights):
            optimizer.take_gradients()  # which are unscaled in float32
        scaler.step(optimizer)
        scaler.update()

    made: torch.nn.Module = type(name_of(optimizer), (torch.nn.Module,), {"forward": step})()
    return made


def _unfit(what: str, where: str) -> Exception:
    return error(what, where, "profile it without training")


def loss_of(outputs: Any) -> tuple[torch.Tensor | None, str]:
    """The model's own loss where it returns one, or several by name; else the sum of its outputs' means."""
    own = outputs.get("loss") if isinstance(outputs, dict) else getattr(outputs, "loss", None)
    if _is_scalar(own):
        return own, "the model's own"
    if _is_scalar(outputs):
        return outputs, "what the model returns"
    if isinstance(outputs, dict) and outputs and all(_is_scalar(part) for part in outputs.values()):
        return sum(outputs.values()), "the sum of those that the model returns"  # type: ignore[return-value]
    total, names = None, []
    for path, tensor in named_tensors(outputs):
        if tensor.requires_grad and not path.startswith(_CACHES):
            mean = (tensor.abs() if tensor.is_complex() else tensor).mean()
            total = mean if total is None else total + mean
            names.append(path or "the output")
    shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    return total, f"the mean of {shown}" if len(names) == 1 else f"the sum of the means of {shown}"


def _is_scalar(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dim() == 0 and value.requires_grad


def with_stand_ins(model: Any, device: str) -> Any:
    """A model whose weights are on another device than `device`, or on none, as one whose weights are there, with their gradients."""
    elsewhere = device.startswith("cuda") and not torch.cuda.is_available()

    def is_replaced(tensor: torch.Tensor) -> bool:
        return tensor.is_meta or (elsewhere and (tensor.is_floating_point() or tensor.is_complex()))

    if not any(map(is_replaced, model_tensors(model))):
        return model
    return copy_with(model, lambda tensor: _stand_in(tensor, device) if is_replaced(tensor) else tensor)


def _stand_in(tensor: torch.Tensor, device: str) -> torch.Tensor:
    made: torch.Tensor = native.abstract_like(tensor, device)
    return with_attributes_of(tensor, made.requires_grad_(tensor.requires_grad))
