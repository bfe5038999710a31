"""The parts that a plan of inputs is made of, and the sizes that the user asked for, each to be used or refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from opscope.errors import error
from opscope.inputs import Inputs, make_tensor, with_values
from opscope.options import Options

#: Tokens of a prompt where nobody says how many, and of the answer that a decoder is given beside it.
PROMPT_TOKENS, ANSWER_TOKENS = 128, 32


@dataclass
class Part:
    """One argument of the call: a tensor by its shape, or a value; and why it is so."""

    name: str
    why: str
    shape: tuple[int, ...] | None = None  # None: a plain value
    dtype: torch.dtype | None = None  # None: floats, in the weights' dtype
    value: Any = None  # what to pass, which may be expanded from a row; None: zeros of that shape
    words: str | None = None  # what the value is: "ones", "ids 5"
    positional: bool = False
    given: bool = False  # the user's own value: passed as it is
    fill: int | None = None  # what a value of another shape would be filled with

    def make(self, floats: torch.dtype, device: torch.device) -> Any:
        if self.given or (self.shape is None and not callable(self.value)):
            return self.value
        if callable(self.value):
            return self.value(floats, device)
        if self.value is not None:
            return with_values(self.value, device)
        return make_tensor(self.shape or (), self.dtype or floats, device)

    def reshape(self, shape: tuple[int, ...], why: str, dtype: torch.dtype | None = None) -> None:
        """The same kind of value in another shape: ones stay ones, ids stay ids."""
        if shape == self.shape and dtype in (None, self.dtype):
            return
        self.shape, self.dtype, self.why = shape, dtype or self.dtype, why
        self.value = self.words = None
        if self.fill is not None and self.dtype is not None:
            self.value = torch.full((), self.fill, dtype=self.dtype).expand(shape)
            self.words = "ones" if self.fill == 1 else f"ids {self.fill}"
        self.given = False


def called_with(parts: Sequence[Part], floats: torch.dtype, device: torch.device) -> Inputs:
    """The parts as the arguments of a call."""
    args = [part.make(floats, device) for part in parts if part.positional]
    return Inputs(*args, **{part.name: part.make(floats, device) for part in parts if not part.positional})


def ones(name: str, shape: Sequence[int], why: str, dtype: torch.dtype = torch.int64) -> Part:
    return Part(name, why, tuple(shape), dtype, torch.ones((), dtype=dtype).expand(*shape), "ones", fill=1)


def numbers(name: str, values: Any, why: str, words: str | None = None) -> Part:
    """Whole numbers with the values that a processor would give."""
    tensor = values if isinstance(values, torch.Tensor) else torch.tensor(values)
    return Part(name, why, tuple(tensor.shape), tensor.dtype, tensor, words or str(tensor.tolist()))


class Sizes:
    """The sizes of a request. Asking for one marks it as used; what the model never asks for does not apply."""

    def __init__(self, request: Options, name: str) -> None:
        self.request, self.name = request, name
        self._used: set[str] = set()

    @property
    def batch(self) -> int:
        self._used.add("batch")
        return self.request.batch or 1

    def tokens(self, default: int = PROMPT_TOKENS, most: int | None = None, limit: str = "") -> int:
        """How many tokens, frames or steps; at most what the model's positions allow (`limit` says where that is)."""
        self._used.add("seq_len")
        asked: int | None = self.request.seq_len
        most = most - 1 if most and self.request.phase == "decode" else most  # the next token has a place too
        if asked is None:
            return min(default, most) if most else default
        if most and asked > most:
            option = "past_len" if self.request.phase == "decode" else "seq_len"
            raise error(
                f"{self.name} takes at most {most} tokens, and {option} is {asked}", limit, f"{option} up to {most}"
            )
        return asked

    def image(self, height: int, width: int, fixed: str = "") -> tuple[int, int]:
        """The image's size; `fixed` says why the model takes no other."""
        self._used.add("image_size")
        asked = self.request.image_size
        if asked is None:
            return height, width
        size = asked[0], asked[-1]
        if fixed and size != (height, width):
            raise error(f"{self.name} takes images of {height}x{width} only", "image_size", fixed)
        return size

    @property
    def asked_image(self) -> bool:
        return self.request.image_size is not None

    def reject_unused(self, hint: str) -> None:
        for option, why in (
            ("seq_len", "reads no sequence of tokens or frames"),
            ("image_size", "takes no image"),
            ("batch", "has inputs without a batch"),
        ):
            if getattr(self.request, option) is not None and option not in self._used:
                raise error(f"{self.name} {why}, so {option} does not apply", option, hint)
