"""The modules and tensors that a graph names, as the tree that __init__ builds: containers, calls, tensors.

`self.layer1[0].conv1` is what forward then says, with the paths of the model itself, so that its weights fit.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from opscope.tracers.saved_code.modules import constructor_call, empty_like
from opscope.tracers.saved_code.text import Text

_FEW = 24  # numbers of a constant that are written out


@dataclass
class Entry:
    """One name below `self`. `value` is None for a container: what it holds is in `parts`."""

    value: Any = None
    parts: dict[str, Entry] = field(default_factory=dict)
    kind: str = ""  # of a container: the class that it has in the model
    is_root: bool = False

    @property
    def is_list(self) -> bool:
        return self._is_of_modules() and sorted(map(_number, self.parts)) == list(range(len(self.parts)))

    @property
    def is_dict(self) -> bool:
        return self._is_of_modules() and all(_number(name) >= 0 for name in self.parts)

    def _is_of_modules(self) -> bool:
        if not self.parts or self.value is not None or self.is_root:
            return False
        return all(entry.value is None or isinstance(entry.value, nn.Module) for entry in self.parts.values())


def _number(name: str) -> int:
    return int(name) if name.isdigit() and str(int(name)) == name else -1


@dataclass
class GraphClassText:
    """A class of the file: its name, its whole text, and the tensors that its weights are, by name."""

    name: str
    source: str
    state: dict[str, torch.Tensor]
    inputs: list[Any]  # what forward takes, as the tracer had it


class Tree:
    def __init__(
        self, text: Text, graph_class: Callable[[str, torch.fx.GraphModule], GraphClassText], training: bool
    ) -> None:
        self.text = text
        self.state: dict[str, torch.Tensor] = {}  # what a weights file holds, by the names of the file's modules
        self.root = Entry(is_root=True)
        self._graph_class, self.training = graph_class, training
        self.modes: list[str] = []
        self._tensors: dict[int, str] = {}  # expressions of tensors that are there, for those that are tied

    def add(self, path: str, value: Any, kinds: Callable[[str], str] = lambda _: "") -> None:
        """Puts a module or tensor at a path; what lies inside a module that is there is there with it."""
        entry, way = self.root, path.split(".")
        for depth, name in enumerate(way):
            if isinstance(entry.value, nn.Module):
                return
            entry = entry.parts.setdefault(name, Entry(kind=kinds(".".join(way[: depth + 1]))))
        if entry.value is None:
            entry.value = value

    def expression(self, path: str) -> str:
        made, entry = "self", self.root
        for name in path.split("."):
            made = _access(made, entry, name)
            entry = entry.parts.get(name, Entry(value=entry.value, parts={}))
        return made

    def lines(self) -> Iterator[str]:
        """The statements of __init__, and `state` along with them."""
        yield from self._lines(self.root, "self", "")
        yield from [] if self.training else ["self.eval()"]
        yield from self.modes

    def _lines(self, entry: Entry, made: str, path: str) -> Iterator[str]:
        names = sorted(entry.parts, key=_number) if entry.is_dict else list(entry.parts)
        for name in names:
            part, own = entry.parts[name], _access(made, entry, name)
            if isinstance(part.value, torch.Tensor):
                yield self._tensor_line(part.value, made, name, own, path + name)
            elif isinstance(part.value, nn.Module):
                yield from self._module_lines(part.value, made, entry, name, own, path + name)
            elif part.value is None:
                kind = "nn.ModuleList" if part.is_list else "nn.ModuleDict" if part.is_dict else "nn.Module"
                yield _put(made, entry, name, f"{kind}()") + (f"  # {part.kind}" if part.kind else "")
                yield from self._lines(part, own, f"{path}{name}.")
            else:
                yield f"{own} = {self.text.value(part.value)}"

    def _module_lines(self, module: nn.Module, made: str, entry: Entry, name: str, own: str, path: str) -> Iterator[str]:
        if isinstance(module, torch.fx.GraphModule):
            written = self._graph_class(path, module)
            self.state.update({f"{path}.{inner}": tensor for inner, tensor in written.state.items()})
            yield _put(made, entry, name, f"{written.name}()")
            return
        call = constructor_call(module, self.text)
        yield _put(made, entry, name, call.expression)
        for attribute, value in call.after:
            yield f"{_inside(own, attribute)} = {value}"
        self.modes += [f"{_inside(own, part)}.train({mode})" for part, mode in _other_modes(module, self.training)]
        yield from self._take_state(module, own, path)

    def _take_state(self, module: nn.Module, own: str, path: str) -> Iterator[str]:
        for name, tensor in module.state_dict(keep_vars=True).items():
            if not isinstance(tensor, torch.Tensor):
                continue
            self.state[f"{path}.{name}"] = tensor
            first = self._tensors.setdefault(id(tensor), _inside(own, name))
            if first != _inside(own, name):
                yield f"{_inside(own, name)} = {first}  # tied"

    def _tensor_line(self, tensor: torch.Tensor, made: str, name: str, own: str, path: str) -> str:
        self.state[path] = tensor
        first = self._tensors.setdefault(id(tensor), own)
        is_parameter = isinstance(tensor, nn.Parameter)
        value = first if first != own else self._tensor_value(tensor, is_parameter)
        if not is_parameter:
            return f'{made}.register_buffer("{name}", {value})'
        return f"{own} = {value}" if _is_name(name) else f'{made}.register_parameter("{name}", {value})'

    def _tensor_value(self, tensor: torch.Tensor, is_parameter: bool) -> str:
        written = None if is_parameter else written_out(tensor)
        return written or empty_like(tensor, self.text, is_parameter)


def written_out(tensor: torch.Tensor) -> str | None:
    """A constant's values in the text, where they are few or plain to say; None where not."""
    has_data = tensor.device.type != "meta" and not isinstance(tensor, torch._subclasses.FakeTensor)
    if not has_data or tensor.dtype not in _WRITABLE or not tensor.is_contiguous():
        return None
    if tensor.numel() <= _FEW:
        listed = repr(tensor.tolist()).replace("inf", 'float("inf")').replace("nan", 'float("nan")')
        made = f"torch.tensor({listed}, dtype={tensor.dtype})"
        return f"{made}.reshape({list(tensor.shape)})" if tensor.numel() == 0 else made
    flat = tensor.flatten()
    if bool((flat == flat[0]).all()):
        return f"torch.full({list(tensor.shape)}, {flat[0].item()!r}, dtype={tensor.dtype})" if flat[0].isfinite() else None
    if tensor.dtype != torch.bool and torch.equal(flat, torch.arange(len(flat), device=flat.device, dtype=flat.dtype)):
        made = f"torch.arange({len(flat)}, dtype={tensor.dtype})"
        return made if tensor.dim() == 1 else f"{made}.reshape({list(tensor.shape)})"
    return None


def _other_modes(module: nn.Module, training: bool) -> list[tuple[str, bool]]:
    """Submodules that are in training while the model is not, or the other way round: frozen norms, live dropout."""
    parts = {name: part.training for name, part in module.named_modules()}
    if set(parts.values()) == {not training}:
        return [("", not training)]
    leaves = {name for name, part in module.named_modules() if not part._modules}
    return [(name, mode) for name, mode in parts.items() if mode != training and name in leaves]


_WRITABLE = {torch.float32, torch.float64, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool}


def _is_name(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)


def _access(made: str, entry: Entry, name: str) -> str:
    if entry.is_list:
        return f"{made}[{name}]"
    if entry.is_dict:
        return f'{made}["{name}"]'
    return f"{made}.{name}" if _is_name(name) else f'getattr({made}, "{name}")'


def _put(made: str, entry: Entry, name: str, value: str) -> str:
    if entry.is_list:
        return f"{made}.append({value})"
    if entry.is_dict:
        return f'{made}["{name}"] = {value}'
    return f"{made}.{name} = {value}" if _is_name(name) else f'{made}.add_module("{name}", {value})'


def _inside(own: str, path: str) -> str:
    """A path below a module that one call made."""
    for name in path.split(".") if path else ():
        own = f"{own}.{name}" if _is_name(name) else f'getattr({own}, "{name}")'
    return own
