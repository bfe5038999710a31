"""Inputs of a transformers model, from its class and its config: the kinds one after the other, each if it applies."""

from __future__ import annotations

from typing import Any

from opscope.inputs.context import Asked
from opscope.inputs.forward_code import consumers
from opscope.inputs.guesses import layer_part
from opscope.inputs.images import add_images
from opscope.inputs.parts import Part, Sizes
from opscope.inputs.rare_arguments import add_after_text, add_before_text
from opscope.inputs.signature import Signature
from opscope.inputs.sound import add_sound
from opscope.inputs.text import add_decoder, add_text


def is_transformers(model: Any) -> bool:
    return hasattr(model, "main_input_name") and hasattr(getattr(model, "config", None), "model_type")


def transformers_parts(model: Any, signature: Signature, sizes: Sizes) -> tuple[list[Part], list[str]]:
    """The parts in the order of the call, what the model calls its main input first; and what to note."""
    asked = Asked(model, signature, sizes)
    for planner in (add_before_text, add_images, add_sound, add_text, add_decoder, add_after_text, _add_required):
        if "inputs" not in asked.parts:  # Perceiver's one argument, instead of the others
            planner(asked)
    order = [*asked.main, *signature.names]
    parts = sorted(asked.parts.values(), key=lambda part: order.index(part.name) if part.name in order else len(order))
    return parts, asked.notes


def _add_required(asked: Asked) -> None:
    """What forward cannot do without and no planner knows: by the layer that takes it."""
    left = [name for name in asked.arguments if name in asked.required and name not in asked.parts]
    reached = consumers(asked.model) if left else {}
    for name in left:
        argument = asked.arguments[name]
        asked.add(layer_part(argument, reached.get(name), asked.sizes, asked.sizes.name))
