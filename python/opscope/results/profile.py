"""Profile: a native profile with Python's ways in. Every number and every formatted text comes from C++."""

from __future__ import annotations

import os
from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import TYPE_CHECKING, Any

from opscope.results.report import written

if TYPE_CHECKING:
    import pandas


class Row(Mapping[str, Any]):
    """One row of a view: row.flops and row["flops"] are the same."""

    __slots__ = ("_data",)

    def __init__(self, data: dict[str, Any]) -> None:
        self._data = data

    def __getitem__(self, key: str) -> Any:
        return self._data[key]

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no '{name}' here: there is {', '.join(self._data)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def keys(self) -> KeysView[str]:
        return self._data.keys()

    def values(self) -> ValuesView[Any]:
        return self._data.values()

    def items(self) -> ItemsView[str, Any]:
        return self._data.items()

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._data]

    def __repr__(self) -> str:
        return f"Row({', '.join(f'{key}={value!r}' for key, value in self._data.items())})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Row, (self._data,))


class Totals(Row):
    """The row of totals. Each number is found when it is read: some take longer than all the others together."""

    __slots__ = ("_native",)

    def __init__(self, native_profile: Any) -> None:
        self._native = native_profile

    def __getitem__(self, key: str) -> Any:
        return self._native.total(key)

    def __getattr__(self, name: str) -> Any:
        if name == "_data":
            self._data = self._native.part("totals")
            return self._data
        return super().__getattr__(name)


def counted(number: int, noun: str) -> str:
    """'1 node', '2,048 nodes'."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


class Profile:
    """What a model costs. `print(profile)` shows the report; the views below it are lists of rows.

    Every view groups the same ops, so the totals of each are `totals`.
    """

    def __init__(self, native_profile: Any) -> None:
        self._native = native_profile
        self._parts: dict[str, Any] = {}  # that were asked for

    def _part(self, name: str) -> Any:
        if name not in self._parts:
            self._parts[name] = self._native.part(name)
        return self._parts[name]

    @property
    def model(self) -> str:
        """What the report calls the model."""
        return str(self._native.model)

    @property
    def inputs(self) -> list[Row]:
        """What the model was called with: name, shape, dtype."""
        return self._rows("inputs")

    @property
    def hardware(self) -> Row | None:
        """What the device named could do at best: its ridge, times at the roofline, findings. None where none was."""
        found = self._part("hardware")
        return None if found is None else Row(found)

    @property
    def prediction(self) -> Row | None:
        """The run as it is predicted on the device named: mode, limits, sources, notes, calibration. None where none was.

        Its seconds, p10 and p90 are those of `totals`; `sources` says where the device's time is known from.
        """
        hardware = self.hardware
        found = None if hardware is None else hardware.get("prediction")
        return None if found is None else Row(found)

    @property
    def totals(self) -> Row:
        """Parameters, MACs, FLOPs, bytes and counts of the whole model."""
        return Totals(self._native)

    @property
    def modules(self) -> list[Row]:
        """The module tree, the root first, children after their parent; each row includes those below it."""
        return self._rows("modules")

    @property
    def layers(self) -> list[Row]:
        """Leaf-module calls and free-standing functions, in the order they ran."""
        return self._rows("layers")

    @property
    def ops(self) -> list[Row]:
        """Every operator call, in the order they ran."""
        return self._rows("ops")

    @property
    def types(self) -> list[Row]:
        """Operator types, the most expensive first."""
        return self._rows("types")

    @property
    def coverage(self) -> Row:
        """How many ops are exact, estimated, an upper bound or unknown, and the names of the unknown ones."""
        return Row(self._part("coverage"))

    @property
    def memory(self) -> Row:
        """The most that is in use at one time: peak_memory_bytes, where it is, its split, the peak of each phase."""
        return Row(self._part("memory"))

    @property
    def capture(self) -> Row:
        """How the model was captured: tracer, seconds, ops, ops on the slow path."""
        return Row(self._part("capture"))

    @property
    def diagnostics(self) -> list[Row]:
        """What was assumed or not known: kind, op, module and message."""
        return self._rows("diagnostics")

    @property
    def measurement(self) -> Row | None:
        """How it was measured: whole runs with and without op timers, what ops account for, the environment, real memory.

        None where the model was not run: see opscope.measure.
        """
        found = self._part("measurement")
        return None if found is None else Row(found)

    def by_module(self) -> dict[str, Row]:
        """Rows of the module tree by path; the root's path is ''."""
        return {row["path"]: row for row in self.modules}

    def by_type(self) -> dict[str, Row]:
        """Rows by operator type: 'conv2d', 'add', ..."""
        return {row["type"]: row for row in self.types}

    def explain(self, node: str) -> str:
        """The formula of a layer or op with its values put in."""
        return str(self._native.explain(node))

    def table(
        self,
        *,
        show_shapes: bool = False,
        depth: int | None = None,
        top: int = 10,
        sort: str = "flops",
        fold: bool = True,
        verbose: bool = False,
        width: int = 100,
        color: bool = False,
    ) -> str:
        """The report that `opscope profile` prints, as text."""
        return str(
            self._native.to_text(
                width=width,
                color=color,
                show_shapes=show_shapes,
                fold=fold,
                verbose=verbose,
                depth=-1 if depth is None else depth,
                top=top,
                sort=sort,
            )
        )

    def to_dict(self) -> dict[str, Any]:
        """The whole profile as plain Python data: what to_json writes."""
        return dict(self._native.to_dict())

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """The profile as JSON; written to `path` too if there is one."""
        return written(self._native.to_json(), path)

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """One line per layer, as CSV; written to `path` too if there is one."""
        return written(self._native.to_csv(), path)

    def to_markdown(self, path: str | os.PathLike[str] | None = None) -> str:
        """The report as Markdown; written to `path` too if there is one."""
        return written(self._native.to_markdown(), path)

    def trace(self, path: str | os.PathLike[str] | None = None) -> str:
        """One measured run as a Chrome and Perfetto trace; written to `path` too if there is one."""
        return written(self._native.chrome_trace(), path)

    def save(self, path: str | os.PathLike[str]) -> None:
        """The capture behind it, and what was measured: a file that every command and opscope.load read without a model."""
        self._native.graph.save(os.fspath(path))

    def to_pandas(self, view: str = "layers") -> pandas.DataFrame:
        """A DataFrame of one view: 'layers', 'modules', 'ops' or 'types'."""
        if view not in _VIEWS:
            raise ValueError(f"no view called {view!r}: {', '.join(_VIEWS)}")
        try:
            import pandas
        except ImportError:
            raise ImportError("to_pandas needs pandas: pip install pandas") from None
        return pandas.DataFrame(self._native.columns(view))

    def _rows(self, view: str) -> list[Row]:
        return [Row(item) for item in self._part(view)]

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        totals = self.totals
        counts = ", ".join(f"{key}={totals[key]}" for key in ("params", "macs", "flops", "memory_bytes", "ops"))
        return f"<opscope.Profile of {self.model}: {counts}>"

    def _repr_html_(self) -> str:
        return str(self._native.to_html())


_VIEWS = ("layers", "modules", "ops", "types")
