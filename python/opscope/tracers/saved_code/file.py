"""The text of the whole file around its graphs: imports, operators, a class per graph, inputs, weights, main."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from opscope._load import native
from opscope.engine import torchvision_kernels, torchvision_ops
from opscope.engine.nested import tensors_in
from opscope.tracers.saved_code import functions
from opscope.tracers.saved_code.functions import Unwritable
from opscope.tracers.saved_code.graph import Names, graph_class
from opscope.tracers.saved_code.inputs import inputs_text
from opscope.tracers.saved_code.text import Text
from opscope.tracers.saved_code.tree import GraphClassText

if TYPE_CHECKING:
    from opscope.tracers.traced import Traced

_TRACED_BY = {
    "fx": "torch.fx.symbolic_trace",
    "dynamo": "torch.compile (Dynamo)",
    "dynamo_export": "torch._dynamo.export",
    "export": "torch.export",
}
_RANDOM_TENSOR = '''
def random_tensor(shape, dtype=torch.float32, stride=None):
    """Small random numbers, zeros for integers: what stands for a weight until weights are loaded."""
    made = torch.empty(shape, dtype=dtype) if stride is None else torch.empty_strided(shape, stride, dtype=dtype)
    return made.copy_(torch.randn(shape) * 0.02) if dtype.is_floating_point else made.zero_()
'''
_SHAPES = '''
def shapes(value):
    """The shapes of an output's tensors, in the structure that they are in."""
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    if isinstance(value, dict):
        return {key: shapes(part) for key, part in value.items()}
    return [shapes(part) for part in value] if isinstance(value, (list, tuple)) else value
'''


@dataclass
class SavedFile:
    source: str
    parts: dict[str, GraphClassText]  # by the name of their class
    notes: list[str]


def file_of(traced: Traced) -> SavedFile:
    """Raises Unwritable for what has no form in Python."""
    text = Text(_device(traced))
    classes, parts = _classes(traced, text)
    return SavedFile(_file_text(traced, text, classes, parts), parts, text.notes)


def _device(traced: Traced) -> torch.device:
    tensors = [*traced.root.parameters(), *traced.root.buffers()] if isinstance(traced.root, torch.nn.Module) else []
    return next((tensor.device for tensor in tensors if tensor.device.type != "meta"), torch.device("cpu"))


# --- the classes ----------------------------------------------------------------------------------------------


def _classes(traced: Traced, text: Text) -> tuple[list[GraphClassText], dict[str, GraphClassText]]:
    """Every class of the file in order, and those of the parts by name."""
    root = traced.root if isinstance(traced.root, torch.nn.Module) else None
    given = frozenset(map(id, tensors_in((traced.args, traced.kwargs)))) if traced.tracer == "export" else None
    names = Names(text, root, _tensor_paths(root), given)
    parts: dict[str, GraphClassText] = {}
    model = _model_name(traced)
    for number, part in enumerate(traced.parts, 1):
        wanted = model if len(traced.parts) == 1 else f"{model}Part{number}"
        about = _about(traced, part, number, model)
        made = graph_class(wanted, part.module, tuple(part.args), names, about, part.roots)
        parts[made.name] = made
    return names.classes, parts


def _model_name(traced: Traced) -> str:
    if isinstance(traced.root, torch.nn.Module):
        return type(traced.root).__name__
    return str(getattr(traced.root, "__name__", "Model"))


def _tensor_paths(root: torch.nn.Module | None) -> dict[int, str]:
    paths: dict[int, str] = {}
    if root is not None:
        for name, tensor in [*root.named_parameters(remove_duplicate=False), *root.named_buffers(remove_duplicate=False)]:
            paths.setdefault(id(tensor), name)
    return paths


def _about(traced: Traced, part: Any, number: int, model: str) -> str:
    count = len(part.module.graph.nodes)
    which = "" if len(traced.parts) == 1 else f", part {number} of {len(traced.parts)}"
    return f"{model} by {_TRACED_BY.get(traced.tracer, traced.tracer)}{which}: {count} nodes."


# --- the file -------------------------------------------------------------------------------------------------


def _file_text(traced: Traced, text: Text, classes: list[GraphClassText], parts: dict[str, GraphClassText]) -> str:
    several = len(parts) > 1
    inputs = {name: inputs_text(part.inputs, text) for name, part in parts.items()}
    operators = _operator_text(text)
    blocks = [_header(traced, parts, text), _imports(text), f'DEVICE = torch.device("{text.device}")']
    blocks += [operators] if operators else []
    blocks += text.definitions.values()
    blocks += [_RANDOM_TENSOR.strip()] if "random_tensor" in text.helpers else []
    breaks = _break_comments(traced)
    for written in classes:
        number = list(parts).index(written.name) if written.name in parts else None
        if number is not None and (comment := breaks.get(number - 1)):
            blocks.append(comment)
        blocks.append(written.source)
    blocks += [breaks[len(parts) - 1]] if len(parts) - 1 in breaks else []
    blocks += [_example_inputs(inputs, several), _load_weights(several), _SHAPES.strip(), _main(list(parts), several)]
    return "\n\n".join(blocks[:2]) + "\n\n" + "\n\n\n".join(blocks[2:]) + "\n"


def _header(traced: Traced, parts: dict[str, GraphClassText], text: Text) -> str:
    what = next(iter(parts)) if len(parts) == 1 else f"{len(parts)} parts of {_model_name(traced)}"
    by, version = _TRACED_BY.get(traced.tracer, traced.tracer), torch.__version__.partition("+")[0]
    lines = [f'"""{what}, as {by} of torch {version} sees {"it" if len(parts) == 1 else "them"}.', ""]
    lines += ["Run it: python FILE.py [WEIGHTS.pt]. Without weights, numbers are random and shapes are right."]
    lines += [f"Note: {note}." for note in text.notes]
    return "\n".join([*lines, '"""'])


def _imports(text: Text) -> str:
    always = {"import os", "import sys", "import torch", "import torch.nn.functional as F", "from torch import nn"}
    lines = always | text.imports
    plain = sorted(line for line in lines if line.startswith("import"))
    return "\n".join([*plain, *sorted(line for line in lines if line.startswith("from"))])


def _operator_text(text: Text) -> str:
    """Registers operators that are not PyTorch's: by importing their library, or by their own source."""
    blocks = []
    for namespace in sorted({name.partition("::")[0] for name in text.operators}):
        wanted = sorted(name for name in text.operators if name.startswith(f"{namespace}::"))
        if namespace == "torchvision":
            blocks.append(_torchvision_text(wanted, text))
        elif all(functions.custom_operator(name) for name in wanted):
            for name in wanted:
                functions.inline(functions.custom_operator(name), text)
        elif (package := functions.installed_package(namespace)) is not None:
            text.imports.add(f"import {package}")
        else:
            raise Unwritable(f"nothing that can be imported registers the operator {wanted[0]}")
    return "\n\n".join(blocks)


def _torchvision_text(wanted: list[str], text: Text) -> str:
    lines = ["try:", f"    import torchvision  # noqa: F401  {', '.join(wanted)}"]
    names = [name.partition("::")[2] for name in wanted]
    if not torchvision_ops.replaced() or not all(name in torchvision_ops._KERNELS for name in names):
        return "\n".join(["import torchvision  # noqa: F401  " + ", ".join(wanted)])
    lines += ["except (ImportError, RuntimeError):"]
    lines += ["    pass  # its library does not load beside this torch; its operators are defined below"]
    for name in names:
        functions.inline(getattr(torchvision_kernels, name), text)
    schemas = {schema.partition("(")[0]: schema for schema in torchvision_ops.SCHEMAS}
    rows = ['library = torch.library.Library("torchvision", "FRAGMENT")']
    for name in names:
        rows += [f'if not hasattr(torch.ops.torchvision, "{name}"):', f'    library.define("{schemas[name]}")']
        rows += [f'    library.impl("{name}", {name}, "CPU")']
    text.definitions["library"] = "\n".join(rows)
    text.note("torchvision's own library did not load, so its operators are written out in plain torch, slow but the same")
    return "\n".join(lines)


def _break_comments(traced: Traced) -> dict[int, str]:
    """By the index of the part before it, what ended that part."""
    found: dict[int, list[str]] = {}
    for each in traced.breaks:
        reason, _ = native.explain_tracer_failure("dynamo", "Unsupported", each.text)
        place = f" ({each.source})" if each.source else ""
        index = each.after if each.after is not None else -1
        found.setdefault(index, []).append(f"# graph break: {' '.join(reason.split())}{place}")
    return {index: "\n".join(lines) for index, lines in found.items()}


def _example_inputs(inputs: dict[str, list[str]], several: bool) -> str:
    lines = ["def example_inputs(part):" if several else "def example_inputs():"]
    lines += ['    """Inputs of the shapes that it was traced with."""', "    torch.manual_seed(0)"]
    for name, values in inputs.items():
        indent = "    "
        if several:
            lines.append(f"    if part is {name}:")
            indent = "        "
        rows = [f"{indent}    {value}," for value in values]
        lines += [f"{indent}return (", *rows, f"{indent})"] if rows else [f"{indent}return ()"]
    if several:
        lines.append("    raise ValueError(part)")
    return "\n".join(lines)


def _load_weights(several: bool) -> str:
    taken = "path, part" if several else "path"
    lines = [f"def load_weights({taken}):"]
    if several:
        lines += ['    """The tensors of a weights file that one part needs: for its load_state_dict."""']
        lines += ["    return torch.load(path, map_location=DEVICE, weights_only=True)[part.__name__]"]
    else:
        lines += ['    """The tensors of a weights file by name: for load_state_dict."""']
        lines += ["    return torch.load(path, map_location=DEVICE, weights_only=True)"]
    return "\n".join(lines)


def _main(parts: list[str], several: bool) -> str:
    lines = ["def main():", '    beside = os.path.splitext(os.path.abspath(__file__))[0] + ".pt"']
    lines += ["    weights = sys.argv[1] if len(sys.argv) > 1 else beside if os.path.exists(beside) else None"]
    given = "weights, part" if several else "weights"
    body = [
        f"model = {'part' if several else parts[0]}().to(DEVICE)",
        "if weights:",
        f"    model.load_state_dict(load_weights({given}))",
        "with torch.no_grad():",
        f"    print({'part.__name__, ' if several else ''}shapes(model(*example_inputs({'part' if several else ''}))))",
    ]
    if several:
        lines += [f"    for part in ({', '.join(parts)}):"]
    indent = "        " if several else "    "
    lines += [indent + line for line in body]
    return "\n".join([*lines, "", "", 'if __name__ == "__main__":', "    main()"])
