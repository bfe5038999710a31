"""Inputs of a transformers model, from its class and its config: the kinds one after the other, each if it applies."""

from __future__ import annotations

from typing import Any

from opscope.input_context import Asked
from opscope.input_images import add_images
from opscope.input_parts import Part, Sizes
from opscope.input_signature import Signature
from opscope.input_sound import add_sound
from opscope.input_text import add_decoder, add_text


def is_transformers(model: Any) -> bool:
    return hasattr(model, "main_input_name") and hasattr(getattr(model, "config", None), "model_type")


def transformers_parts(model: Any, signature: Signature, sizes: Sizes) -> tuple[list[Part], list[str]]:
    """The parts in the order of the call, what the model calls its main input first; and what to note."""
    asked = Asked(model, signature, sizes)
    add_images(asked)
    add_sound(asked)
    add_text(asked)
    add_decoder(asked)
    order = [*asked.main, *signature.names]
    parts = sorted(asked.parts.values(), key=lambda part: order.index(part.name) if part.name in order else len(order))
    return parts, asked.notes
