"""What the planners of a transformers model share: the model, its config, the parts so far, places in the prompt."""

from __future__ import annotations

from typing import Any

import torch

from opscope import _engine
from opscope.errors import Error
from opscope.input_config import AUDIO_CONFIGS, VISION_CONFIGS, towers
from opscope.input_parts import Part, Sizes
from opscope.input_signature import Signature
from opscope.inputs import float_dtype, input_device


class Asked:
    """A model that is asked what it takes."""

    def __init__(self, model: Any, signature: Signature, sizes: Sizes) -> None:
        self.model, self.config, self.sizes = model, model.config, sizes
        self.names = set(signature.names)
        self.required = {argument.name for argument in signature.required}
        self.parts: dict[str, Part] = {}
        self.places: list[tuple[int, int]] = []  # (token id, how many) that stand for images and sound in a prompt
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

    def padding_offset(self) -> int:
        """RoBERTa's positions begin after its padding's: 514 rows are 512 tokens."""
        for name, module in self.model.named_modules():
            if isinstance(module, torch.nn.Embedding) and name.endswith("position_embeddings"):
                return 0 if module.padding_idx is None else module.padding_idx + 1
        return 0

    def values(self) -> dict[str, Any]:
        """The parts so far as tensors."""
        floats, device = float_dtype(self.model), input_device(self.model)
        return {name: part.make(floats, device) for name, part in self.parts.items()}

    def run(self, method: str, names: set[str]) -> Any:
        """What a method of the model gives for the parts so far, by shapes alone; None where it cannot be run."""
        function = getattr(self.model, method, None)
        if function is None:
            return None
        try:
            given = {name: value for name, value in self.values().items() if name in names}
            return _engine.run_abstract(self.model, (), given, call=function)
        except Error:
            return None
