"""What a user may ask of a capture beside the model: C++'s CaptureRequest, which checks it, and what only Python can hold."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import torch

from opscope._load import native
from opscope.errors import error

#: Options that are objects of Python, by name: annotation, default and what they are.
_OWN: dict[str, tuple[str, Any, str]] = {
    "name": ("str | None", None, "what the report calls the model"),
    "named_inputs": ("Mapping[str, Any]", {}, "inputs by name: a shape, (shape, dtype) or a value; --input"),
}
#: The keyword arguments of `profile` and `capture`: C++ has a row for each.
OPTIONS = _OWN | {key: (annotation, default, help) for key, annotation, default, help in native.capture_options()}


class Options:
    """The keyword arguments of `profile` and `capture`, checked; each is an attribute, None where it is left to the model."""

    def __init__(self, *, name: str | None = None, named_inputs: Mapping[str, Any] | None = None, **given: Any) -> None:
        if isinstance(given.get("device"), int):
            given["device"] = torch.device(given["device"])
        self.name, self.named_inputs = name, dict(named_inputs or {})
        self._asked = given
        self.request = native.CaptureRequest(given)

    def __getattr__(self, option: str) -> Any:
        if option == "request":  # not made yet
            raise AttributeError(option)
        return getattr(self.request, option)

    def replace(self, **changed: Any) -> Options:
        """The same with some of them changed."""
        return Options(**{"name": self.name, "named_inputs": self.named_inputs, **self._asked, **changed})

    def refuse_edits(self, what: str) -> None:
        """For what runs the model itself, or compares it with what others say of it."""
        for name in native.edits():
            if name in self.given():
                raise error(f"{what} is of the model as it is", name, "leave it out")

    def given(self) -> list[str]:
        """Names of the options that are not as they are by default."""
        return [*(option for option in _OWN if getattr(self, option)), *self.request.given()]


_Function = TypeVar("_Function", bound=Callable[..., Any])


def takes_options(function: _Function) -> _Function:
    """Shows the options in the signature of a function that takes them as **options."""
    signature = inspect.signature(function)
    own = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default, _) in OPTIONS.items()
        if name not in signature.parameters
    ]
    function.__signature__ = signature.replace(parameters=[*own, *options])  # type: ignore[attr-defined]
    return function
