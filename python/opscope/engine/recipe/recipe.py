"""A model as it is trained: a copy with other modules and the same weights, whatever is asked for done to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from opscope.engine.nested import replace, with_attributes_of
from opscope.engine.recipe import adapters, checkpoints, patterns
from opscope.engine.structural_copy import copy_with, root_module
from opscope.errors import error

_FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}


@dataclass(frozen=True)
class Recipe:
    """What is done to a model before it is captured."""

    checkpoint: str | None = None
    freeze: str | None = None
    lora: str | None = None
    channels_last: bool = False

    def adapted(self, model: Any) -> tuple[Any, list[str]]:
        """A copy with all of it, and what to say of it; the model itself where nothing is asked."""
        if self == Recipe():
            return model, []
        root = root_module(model)
        if root is None:
            option = next(name for name, value in vars(self).items() if value)
            raise error("it has no modules", option, "give an nn.Module, or leave this out")
        frozen = self._frozen(root)

        def tensor_for(tensor: torch.Tensor) -> torch.Tensor:
            return self._tensor(tensor, id(tensor) in frozen)

        model = copy_with(model, tensor_for)
        made, notes = root_module(model), []
        assert made is not None
        if self.lora:
            lora = adapters.Lora.read(self.lora)
            notes.append(adapters.add_adapters(adapters.linears_of(made, lora.targets), lora))
        if self.checkpoint:
            notes.append(f"checkpointed: {checkpoints.set_checkpoints(made, self.checkpoint)}")
        if self.freeze or self.lora:
            counts = [(parameter.numel(), parameter.requires_grad) for parameter in made.parameters()]
            every, trained = sum(count for count, _ in counts), sum(count for count, wanted in counts if wanted)
            notes.append(f"{trained:,} of {every:,} parameters are trained ({trained / max(every, 1):.2%})")
        return model, notes

    def inputs(self, value: Any) -> Any:
        """Images in the asked layout."""
        return replace(value, "", lambda tensor, _: self._laid_out(tensor)) if self.channels_last else value

    def _frozen(self, root: torch.nn.Module) -> set[int]:
        """The parameters that are not trained, by id."""
        named = dict(root.named_parameters(remove_duplicate=False))
        found = {id(parameter) for parameter in named.values()} if self.lora else set()
        if self.freeze:
            found |= {id(named[name]) for name in patterns.chosen(self.freeze, named, "freeze", "parameter")}
            if not self.lora and found.issuperset(map(id, named.values())):
                raise error("all parameters are frozen, so nothing is trained", "freeze", "'!head*' freezes all but the head")
        return found

    def _tensor(self, tensor: torch.Tensor, is_frozen: bool) -> torch.Tensor:
        if is_lazy(tensor):
            return tensor
        laid_out = self._laid_out(tensor) if self.channels_last and tensor.is_floating_point() else tensor
        if laid_out is tensor and not is_frozen:
            return tensor
        if not isinstance(tensor, torch.nn.Parameter):
            return laid_out
        wanted = tensor.requires_grad and not is_frozen
        return with_attributes_of(tensor, torch.nn.Parameter(laid_out.detach(), requires_grad=wanted))

    def _laid_out(self, tensor: torch.Tensor) -> torch.Tensor:
        form = _FORMATS.get(tensor.dim()) if self.channels_last and tensor.layout == torch.strided else None
        return tensor if form is None else tensor.detach().contiguous(memory_format=form).requires_grad_(tensor.requires_grad)
