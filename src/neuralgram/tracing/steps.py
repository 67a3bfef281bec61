"""The one structure behind traces and lessons: numbers that know where they come from.

A `Step` is one quantity of the equation with its own inputs; it can write out the formula of any of its
numbers. A `Section` is a table of steps over the same rows. Terminal, notebook and web page show sections alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from neuralgram.numbers import number

Floats: TypeAlias = NDArray[np.float64]
Index: TypeAlias = tuple[int, ...]
Namer: TypeAlias = Callable[[int], str]

_LARGE = 512  # numbers of an input that JSON still writes out


@dataclass(frozen=True)
class Formula:
    """One number opened: `a[0] = tanh(z[0]) = tanh(0.8) = 0.664`."""

    symbol: str
    general: str
    filled: str
    value: float

    def __str__(self) -> str:
        parts = [self.symbol, self.general, self.filled, number(self.value)]
        kept = [part for i, part in enumerate(parts) if part and (i == 0 or part != parts[i - 1])]
        return " = ".join(kept)

    def to_json(self) -> dict[str, Any]:
        """The parts as JSON values."""
        return {"symbol": self.symbol, "general": self.general, "filled": self.filled, "value": self.value}


@dataclass(frozen=True, eq=False)
class Step:
    """One quantity: `value` is a number [], a vector [R] or a table [R, K], computed from `inputs` by `equation`.

    name      how formulas refer to it: a letter of the paper or what is made of them
    explain   the formula of the number at an index of `value`
    inputs    what it is computed from, by letter
    rows      names of the rows (row numbers where None); `columns` those of the columns of a table
    note      a sentence beside it
    """

    name: str
    equation: str
    value: Floats
    explain: Callable[[Index], Formula]
    inputs: Mapping[str, Floats] = field(default_factory=dict)
    rows: Namer | None = None
    columns: tuple[str, ...] = ()
    note: str = ""

    def __getitem__(self, index: int | Index) -> Formula:
        """The formula of one number: `step[0]`, `step[0, 1]`, `step[()]` for a single number."""
        return self.explain(index if isinstance(index, tuple) else (index,))

    def symbol(self, index: Index) -> str:
        """How the number at `index` is called: `H[0][1]`, `p[sat]`."""
        return symbol(self.name, index, self.rows, self.columns)

    def to_json(self, shown: Sequence[int] | None = None) -> dict[str, Any]:
        """JSON values; of a long vector only the rows `shown`, of a large input only its shape."""
        value = self.value if shown is None or self.value.ndim == 0 else self.value[list(shown)]
        return {
            "name": self.name,
            "equation": self.equation,
            "shape": list(self.value.shape),
            "columns": list(self.columns),
            "value": value.tolist(),
            "inputs": {name: _array(values) for name, values in self.inputs.items()},
            "note": self.note,
        }


@dataclass(frozen=True)
class Check:
    """A computed number beside the figure it is known to have; `tolerance` is absolute.

    A `relation` is a sentence such as "4.7 < 5.1" in the place of the numbers; value and figure are then 1 for true.
    """

    what: str
    value: float
    figure: float
    tolerance: float
    relation: str = ""

    @property
    def holds(self) -> bool:
        """Whether the number is the figure."""
        return abs(self.value - self.figure) <= self.tolerance

    @property
    def difference(self) -> str:
        """That it came out otherwise, the number beside the figure."""
        if self.relation:
            return f"≠ not here: {self.what} ({self.relation})"
        return f"≠ {self.what}: {self.figured(self.value)} here, {self.figured(self.figure)} in the original"

    def figured(self, value: float) -> str:
        """A number with the digits that the tolerance speaks of."""
        if abs(value) <= self.tolerance or (float(self.figure).is_integer() and float(value).is_integer()):
            return number(round(value))
        digits = max(1, min(12, round(-math.log10(2 * self.tolerance)))) if self.tolerance else 4
        return f"{value:.{digits}f}".replace("-", "−")

    def to_json(self) -> dict[str, Any]:
        """JSON values, with the verdict."""
        return {
            "what": self.what,
            "value": self.value,
            "figure": self.figure,
            "tolerance": self.tolerance,
            "holds": self.holds,
            "relation": self.relation,
        }


@dataclass(frozen=True, eq=False)
class Chart:
    """Lines over a common x; `levels` are horizontal lines such as log V."""

    x_name: str
    y_name: str
    x: Floats
    series: Mapping[str, Floats]
    levels: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """JSON values."""
        series = {name: values.tolist() for name, values in self.series.items()}
        return {
            "x_name": self.x_name,
            "y_name": self.y_name,
            "x": self.x.tolist(),
            "series": series,
            "levels": dict(self.levels),
        }


@dataclass(frozen=True, eq=False)
class Section:
    """A titled table: every step with rows is one column of it (or several); single numbers are lines below.

    row_name  what the rows are ("word", "unit")
    shown     the rows worth showing, in order; None shows all
    marks     a word beside a row: "saturated", "target"
    bars      the name of the step whose numbers are drawn as bars
    """

    title: str
    text: str = ""
    steps: tuple[Step, ...] = ()
    row_name: str = ""
    shown: tuple[int, ...] | None = None
    marks: Mapping[int, str] = field(default_factory=dict)
    bars: str = ""
    checks: tuple[Check, ...] = ()
    chart: Chart | None = None

    @property
    def table(self) -> tuple[Step, ...]:
        """The steps that have rows."""
        return tuple(step for step in self.steps if step.value.ndim)

    @property
    def lines(self) -> tuple[Step, ...]:
        """The steps that are single numbers."""
        return tuple(step for step in self.steps if not step.value.ndim)

    @property
    def row_numbers(self) -> list[int]:
        """The rows to show."""
        if self.shown is not None:
            return list(self.shown)
        return list(range(len(self.table[0].value))) if self.table else []

    def row(self, number: int) -> str:
        """What row `number` is called."""
        rows = self.table[0].rows
        return str(number) if rows is None else rows(number)

    def to_json(self) -> dict[str, Any]:
        """JSON values: what `shown` keeps of every step."""
        numbers = self.row_numbers
        return {
            "title": self.title,
            "text": self.text,
            "row_name": self.row_name,
            "row_numbers": numbers,
            "rows": [self.row(i) for i in numbers],
            "marks": {str(row): mark for row, mark in self.marks.items() if row in numbers},
            "bars": self.bars or None,
            "steps": [step.to_json(numbers if step.value.ndim else None) for step in self.steps],
            "checks": [check.to_json() for check in self.checks],
            "chart": self.chart.to_json() if self.chart else None,
        }


def symbol(name: str, index: Index, rows: Namer | None = None, columns: Sequence[str] = ()) -> str:
    """`name[row][column]`, rows and columns by their names where they have some."""
    if not index:
        return name
    first = str(index[0]) if rows is None else rows(index[0])
    rest = [columns[i] if columns else str(i) for i in index[1:]]
    return name + "".join(f"[{part}]" for part in (first, *rest))


def _array(values: Floats) -> dict[str, Any]:
    array = np.asarray(values, np.float64)
    return {"shape": list(array.shape), "value": array.tolist() if array.size <= _LARGE else None}
