"""A step of training under a capture: forward, backward through PyTorch's own autograd, an optimiser's step.

Nothing of it reaches the user: modes, gradients and what is written are put back when the capture ends, and the
optimiser is one of our own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from opscope._load import native
from opscope.engine.nested import named_tensors, with_attributes_of
from opscope.engine.structural_copy import copy_with, model_tensors, root_module
from opscope.errors import error

#: By name: what makes the optimiser of a list of parameters, as it is by default.
OPTIMIZERS: dict[str, Callable[[Any], Any] | None] = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=1e-3),
    "sgd-momentum": lambda parameters: torch.optim.SGD(parameters, lr=1e-3, momentum=0.9),
    "adam": lambda parameters: torch.optim.Adam(parameters),
    "adamw": lambda parameters: torch.optim.AdamW(parameters),
    "adagrad": lambda parameters: torch.optim.Adagrad(parameters),
    "rmsprop": lambda parameters: torch.optim.RMSprop(parameters),
    "none": None,
}
_CACHES = ("past_key_values", "mems", "cache")  # what a model returns for its next call, and no loss is made of


@dataclass(frozen=True)
class Training:
    """How a model is trained: the optimiser by name."""

    optimizer: str = "sgd"

    def run(self, session: Any, model: Any, called: Callable[[], Any], given: Iterable[tuple[str, torch.Tensor]]) -> Any:
        """What the model gives. `called` calls it on `given`, its inputs by name, and the session is running."""
        return Step(self, session, model, given).first(called)


class Step:
    """A step of training, recorded the first time; the steps after it go on from there."""

    def __init__(
        self, training: Training, session: Any, model: Any, given: Iterable[tuple[str, torch.Tensor]] = ()
    ) -> None:
        self.root = root_module(model) or torch.nn.Module()
        self.trained = [p for p in self.root.parameters() if p.requires_grad]
        self.inputs = {name: tensor for name, tensor in given if tensor.requires_grad}
        if not self.trained and not self.inputs:
            what = "neither a parameter of the model nor an input requires a gradient"
            raise error(what, type(model).__name__, "call x.requires_grad_() on an input, or profile it without training")
        self.session, self.type = session, type(model).__name__
        self.make = OPTIMIZERS[training.optimizer]
        self.update: torch.nn.Module | None = None  # the optimiser's step
        self.optimizer: torch.optim.Optimizer | None = None

    def first(self, called: Callable[[], Any]) -> Any:
        """What the model gives."""
        session = self.session
        session.follow_autograd()
        session.begin_phase("forward")
        outputs, loss, words = self._forward(called)
        native.note("assumption", "", f"the loss is {words}")
        for path, tensor in named_tensors(outputs):
            session.add_output(tensor, path)
        session.begin_phase("backward")
        loss.backward()
        for name, tensor in (*self.root.named_parameters(), *self.inputs.items()):
            if tensor.is_leaf and tensor.grad is not None:
                session.mark_gradient(tensor.grad, f"{name}.grad")
        self._first_update()
        return outputs

    def again(self, called: Callable[[], Any]) -> Any:
        """A later step as it is, only to be timed."""
        outputs, loss, _ = self._forward(called)
        loss.backward()
        if self.update is not None:
            self.update()
        return outputs

    def state(self) -> Iterator[torch.Tensor]:
        """What the optimiser keeps from step to step."""
        kept = [] if self.optimizer is None else list(self.optimizer.state.values())
        return (value for state in kept for value in state.values() if isinstance(value, torch.Tensor))

    def _forward(self, called: Callable[[], Any]) -> tuple[Any, torch.Tensor, str]:
        with torch.enable_grad():
            self.root.train()
            self.root.zero_grad()
            for tensor in self.inputs.values():
                tensor.grad = None
            outputs = called()
            loss, words = loss_of(outputs)
        if loss is None:
            of = "parameters" if self.trained else "inputs"
            raise _unfit(f"nothing that it returns in training depends on its {of}", self.type)
        return outputs, loss, words

    def _first_update(self) -> None:
        """A later step than the first, which finds the optimiser's state as the one before it left it."""
        if self.make is None:
            return
        if not self.trained:
            native.note("assumption", "", "only inputs require gradients, so there is no step of an optimizer")
            return
        self.optimizer = optimizer = self.make(self.trained)
        self.session.hide(True)
        try:
            optimizer.step()
        finally:
            self.session.hide(False)
        for name, parameter in self.root.named_parameters():
            for part, value in optimizer.state.get(parameter, {}).items():
                if isinstance(value, torch.Tensor):
                    self.session.mark_optimizer_state(value, f"{name}.{part}")
        self.session.begin_phase("optimizer")
        self.update = _as_module(optimizer)
        self.update()


def _as_module(optimizer: Any) -> torch.nn.Module:
    """Its step as a module's call: one layer, '<Adam>', and not one of each op on each parameter."""
    stepping = type(type(optimizer).__name__, (torch.nn.Module,), {"forward": lambda _: optimizer.step()})
    made: torch.nn.Module = stepping()
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
    """A model whose weights are on the meta device as one whose weights seem to be on another, where gradients go too."""
    if not any(tensor.is_meta for tensor in model_tensors(model)):
        return model
    return copy_with(model, lambda tensor: _stand_in(tensor, device) if tensor.is_meta else tensor)


def _stand_in(tensor: torch.Tensor, device: str) -> torch.Tensor:
    made: torch.Tensor = native.abstract_like(tensor, device)
    return with_attributes_of(tensor, made.requires_grad_(tensor.requires_grad))
