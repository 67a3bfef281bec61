"""How a section's table is laid out: which columns a page of some width holds, and where it breaks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple
from unicodedata import east_asian_width

from neuralgram.tracing.steps import Section, Step, number

GAP = 2  # characters between two columns
LONGEST = 28  # characters of a row's name
_LEFT_OUT = "…"


class Column(NamedTuple):
    """One column: its step and place there (−1: the step has one column, −2: what was left out), its texts."""

    step: Step
    place: int
    head: str
    cells: tuple[str, ...]

    @property
    def width(self) -> int:
        """Characters it takes."""
        return max(map(_width, (self.head, *self.cells)))


def _width(text: str) -> int:
    """Characters of a terminal that a text takes; some of them are two wide."""
    return len(text) + sum(east_asian_width(c) in "WF" for c in text)


def cell(value: float) -> str:
    """A number in a table: four decimals, so that a column lines up; whole numbers as such."""
    text = number(value)
    if "e" in text or "∞" in text or "nan" in text or float(value).is_integer():
        return text
    return f"{value:.4f}".replace("-", "−")


def columns(section: Section, room: float = math.inf) -> list[Column]:
    """The table's columns. Of one whose columns have no names (coordinates) only the first that fit `room` are kept."""
    rows = section.row_numbers
    made = [_columns(step, rows) for step in section.table]
    taken = sum(
        column.width + GAP
        for step, found in zip(section.table, made, strict=True)
        for column in found
        if not _coordinates(step)
    )
    wide = [i for i, step in enumerate(section.table) if _coordinates(step)]
    for i in wide:
        made[i] = _first(made[i], (room - taken) / len(wide), len(rows))
    return [column for found in made for column in found]


def _coordinates(step: Step) -> bool:
    return step.value.ndim == 2 and not step.columns


def _columns(step: Step, rows: Sequence[int]) -> list[Column]:
    if step.value.ndim == 1:
        return [Column(step, -1, step.name, tuple(cell(float(step.value[row])) for row in rows))]
    names = step.columns or tuple(map(str, range(step.value.shape[1])))
    return [
        Column(step, k, name, tuple(cell(float(step.value[row, k])) for row in rows)) for k, name in enumerate(names)
    ]


def _first(found: list[Column], room: float, rows: int) -> list[Column]:
    """As many columns as fit into `room`, at least two, and a mark where some are left out."""
    if sum(column.width + GAP for column in found) <= room or len(found) <= 2:
        return found
    room -= 1 + GAP
    kept = 0
    while kept < len(found) and (kept < 2 or found[kept].width + GAP <= room):
        room -= found[kept].width + GAP
        kept += 1
    return [*found[:kept], Column(found[0].step, -2, _LEFT_OUT, ("",) * rows)]


def blocks(section: Section, width: int, beside: int = 0) -> list[list[Column]]:
    """The columns in blocks that are `width` characters wide, row names included; `beside` of them are kept free."""
    name = min(LONGEST, max(map(_width, (section.row_name, *map(section.row, section.row_numbers)))))
    room = width - name - 3 - GAP - beside
    out: list[list[Column]] = [[]]
    left = room
    for column in columns(section, room):
        if out[-1] and column.width > left:
            out.append([])
            left = room
        out[-1].append(column)
        left -= column.width + GAP
    return out
