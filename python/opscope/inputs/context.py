"""What the planners of a transformers model share: the model, its config, the parts so far, places in the prompt."""

from __future__ import annotations

import inspect
from typing import Any

import torch

from opscope.engine import abstract_run
from opscope.errors import Error
from opscope.inputs import float_dtype, input_device
from opscope.inputs.config import AUDIO_CONFIGS, VISION_CONFIGS, find, towers
from opscope.inputs.facts import fact
from opscope.inputs.parts import Part, Sizes
from opscope.inputs.signature import Signature


class Asked:
    """A model that is asked what it takes."""

    def __init__(self, model: Any, signature: Signature, sizes: Sizes) -> None:
        self.model, self.config, self.sizes = model, model.config, sizes
        self.names = set(signature.names)
        self.arguments = {argument.name: argument for argument in signature.arguments}
        self.required = {argument.name for argument in signature.required}
        self.parts: dict[str, Part] = {}
        self.places: list[tuple[int, int]] = []  # (token id, how many) that stand for images and sound in a prompt
        self.kinds: list[int] = []  # of each of those: 1 an image, 3 sound
        self.notes: list[str] = []
        modalities = getattr(model, "input_modalities", None) or ()
        self.modalities = {modalities} if isinstance(modalities, str) else set(modalities)
        main = getattr(model, "main_input_name", "input_ids")
        self.main = [main] if isinstance(main, str) else list(main)
        self.vision = towers(self.config, VISION_CONFIGS)
        self.audio = towers(self.config, AUDIO_CONFIGS)

    def add(self, *parts: Part) -> None:
        """Notes parts that the forward takes by name; the first of a name stays."""
        for part in parts:
            self.parts.setdefault(part.name, part)

    def embedding(self) -> torch.nn.Embedding | None:
        try:
            table = self.model.get_input_embeddings()
        except (NotImplementedError, AttributeError):
            return None
        return table if isinstance(table, torch.nn.Embedding) else None

    def values(self) -> dict[str, Any]:
        """The parts so far as tensors."""
        floats, device = float_dtype(self.model), input_device(self.model)
        return {name: part.make(floats, device) for name, part in self.parts.items()}

    def owner(self, method: str) -> Any:
        """The part whose method of this name takes what is planned; outer ones may only pass it on."""
        having = [module for module in self.model.modules() if hasattr(module, method)]
        named = (m for m in having if set(inspect.signature(getattr(m, method)).parameters) & set(self.parts))
        return next(named, having[0] if having else None)

    def run(self, method: str) -> Any:
        """What a method of the model gives for those of the parts that it takes, by shapes alone."""
        function = getattr(self.owner(method), method)
        takes = inspect.signature(function).parameters
        given = {name: value for name, value in self.values().items() if name in takes}
        return abstract_run.run_abstract(self.model, (), given, call=function)

    def try_shapes(self, name: str, shapes: list[tuple[int, ...]]) -> None:
        """Gives a part the first of these shapes that its tower runs with; the first of all where none does."""
        method = "get_image_features" if self.owner("get_image_features") is not None else "forward"
        for shape in [*shapes, shapes[0]]:
            self.parts[name].shape = shape
            try:
                self.run(method)
                return
            except Error:
                continue

    def add_place(self, token: int, method: str, kind: int, known: tuple[str, ...], parts: tuple[str, ...]) -> None:
        """Where images or sound stand in the prompt: as many tokens as the model's own tower gives features.

        Where that tower cannot be run by shapes alone, the config's number; where it has none, the text goes alone.
        """
        count, problem = None, ""
        try:
            count = feature_rows(self.run(method), self.sizes.batch)
        except Error as stopped:
            problem = str(stopped)
        if count is None:
            number, _ = find([*self.vision, *self.audio], *known)
            count = number if isinstance(number, int) and number > 0 else None
        if count:
            self.places.append((token, count))
            self.kinds.append(kind)
            return
        for name in parts:
            self.parts.pop(name, None)
        self.notes.append(
            f"{', '.join(parts[:1])} left out, the text goes alone: {method} gave no features ({problem})"
        )


@fact
def padding_offset(model: Any) -> int:
    """RoBERTa's positions begin after its padding's: 514 rows are 512 tokens."""
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Embedding) and name.endswith("position_embeddings"):
            return 0 if module.padding_idx is None else module.padding_idx + 1
    return 0


def feature_rows(found: Any, batch: int) -> int | None:
    """How many tokens of a prompt these features replace."""
    for name in ("pooler_output", "last_hidden_state"):  # what is put in the prompt's place, else what it is made of
        if getattr(found, name, None) is not None:
            found = getattr(found, name)
            break
    tensors = [found] if isinstance(found, torch.Tensor) else list(found) if isinstance(found, (list, tuple)) else []
    if not tensors or not all(isinstance(tensor, torch.Tensor) for tensor in tensors):
        return None
    return sum(tensor.numel() for tensor in tensors) // tensors[0].shape[-1] // batch
