"""Sections as a person reads them: in a terminal by rich, in a notebook as HTML whose numbers open under the mouse."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import east_asian_width

from neuralgram.numbers import number
from neuralgram.tracing.steps import Check, Section, Step

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

_GAP = 2  # characters between two columns
_LONGEST = 28  # characters of a row's name
_LEFT_OUT = "…"
_BAR = 20  # characters of a full bar
_MARK = 34  # characters kept for the words beside rows, as far as they need them


def to_text(title: str, sections: Iterable[Section], *, subtitle: str = "", width: int = 100) -> str:
    """The page as plain text, `width` characters wide."""
    from rich.console import Console

    out = io.StringIO()
    console = Console(file=out, width=width, highlight=False, color_system=None)
    console.print(page(title, sections, subtitle=subtitle, width=width), markup=False)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def print_page(title: str, sections: Iterable[Section], *, subtitle: str = "", console: Console | None = None) -> None:
    """The page on standard output, as wide as the terminal (100 characters where there is none)."""
    import os
    import sys

    from rich.console import Console

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 100
    target = console or Console(highlight=False, width=width)
    target.print(page(title, sections, subtitle=subtitle, width=target.width))


def page(title: str, sections: Iterable[Section], *, subtitle: str = "", width: int = 100) -> RenderableType:
    """Title, then every section under its number."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = [Text(title, style="bold")]
    if subtitle:
        parts.append(Text(subtitle))
    for count, section in enumerate(sections, 1):
        parts += [Text(""), *_section(section, count, width)]
    return Group(*parts)


def _section(section: Section, count: int, width: int) -> list[RenderableType]:
    from rich.text import Text

    parts: list[RenderableType] = [Text(f"{count}  {section.title}", style="bold")]
    if section.text:
        parts.append(Text(section.text))
    equations = [equation(step) for step in section.steps if step.equation]
    parts += [Text(line, style="italic") for line in _packed(equations, width)]
    parts += [Text(line) for line in dict.fromkeys(step.note for step in section.steps) if line]
    if section.table:
        parts += _tables(section, width)
    parts += [Text(f"   {step[()]}") for step in section.lines]
    if section.chart is not None:
        parts += [Text(line) for line in plot(section, width)]
    parts += [Text(f"   {line}", style="" if holds else "bold") for holds, line in _checks(section)]
    return parts


def equation(step: Step) -> str:
    """A step's equation with its name in front."""
    return step.equation if "=" in step.equation else f"{step.name}: {step.equation}"


def _packed(texts: Iterable[str], width: int) -> list[str]:
    """As many texts a line as fit, none of them broken unless it alone is too long."""
    lines: list[str] = []
    for text in texts:
        if lines and len(lines[-1]) + 4 + len(text) <= width:
            lines[-1] += "    " + text
        else:
            lines.append(text)
    return lines


def _checks(section: Section) -> list[tuple[bool, str]]:
    """The figures in words: those that hold in one line a quantity, those that differ in one line each."""
    groups: dict[str, list[Check]] = {}
    for check in section.checks:
        groups.setdefault(check.what.partition("[")[0], []).append(check)
    out = []
    for name, checks in groups.items():
        held = [check.relation or check.figured(check.value) for check in checks if check.holds]
        if held:
            out.append((True, f"✓ {name}: {', '.join(held)}"))
        out += [(False, check.difference) for check in checks if not check.holds]
    return out


def _tables(section: Section, width: int) -> list[RenderableType]:
    """The table, in several blocks of columns where the page is too narrow; bars and marks stand beside the last."""
    bars = next((step for step in section.table if step.name == section.bars), None)
    drawn = [] if bars is None else ["█" * round(float(bars.value[row]) * _BAR) for row in section.row_numbers]
    marks = [section.marks.get(row, "") for row in section.row_numbers] if section.marks else []
    beside = max(map(len, drawn), default=-2) + 2 + min(_MARK, max(map(len, marks), default=-2) + 2)
    made = blocks(section, width, beside)
    return [
        _table(section, found, drawn if found is made[-1] else [], marks if found is made[-1] else []) for found in made
    ]


def _table(section: Section, found: list[Column], bars: list[str], marks: list[str]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", show_edge=False)
    table.add_column(Text("   " + section.row_name), no_wrap=True, max_width=3 + _LONGEST, overflow="ellipsis")
    for column in found:
        table.add_column(Text(column.head), justify="right", no_wrap=True)
    if any(bars):
        table.add_column("", no_wrap=True)
    if any(marks):
        table.add_column("", overflow="fold")
    for i, row in enumerate(section.row_numbers):
        cells = [Text("   " + section.row(row)), *(Text(column.cells[i]) for column in found)]
        cells += [Text(bars[i])] if any(bars) else []
        cells += [Text(marks[i], style="dim")] if any(marks) else []
        table.add_row(*cells)
    return table


_MARKS = "●○▲△■□"


def plot(section: Section, width: int, height: int = 12) -> list[str]:
    """A chart drawn in characters: one mark a line, levels as dashes, the legend below."""
    chart = section.chart
    if chart is None:
        return []
    columns = min(72, width - 14)
    values = [v for series in chart.series.values() for v in series.tolist()] + list(chart.levels.values())
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    first, last = float(chart.x[0]), float(chart.x[-1])
    grid = [[" "] * columns for _ in range(height)]

    def line(value: float) -> int:
        place: int = round((high - value) / span * (height - 1))
        return place

    for level in chart.levels.values():
        grid[line(level)] = ["╌"] * columns
    for mark, series in zip(_MARKS, chart.series.values(), strict=False):
        for x, value in zip(chart.x.tolist(), series.tolist(), strict=True):
            grid[line(value)][round((x - first) / ((last - first) or 1.0) * (columns - 1))] = mark
    labels = {0: f"{high:.3g}", height - 1: f"{low:.3g}" if abs(low) > span / 1000 else "0"}
    out = [f"{labels.get(i, ''):>8} │{''.join(cells)}" for i, cells in enumerate(grid)]
    axis = f"{first:.4g}".ljust(columns - len(f"{last:.4g}")) + f"{last:.4g}"
    out += [" " * 9 + "└" + "─" * columns, " " * 10 + axis, f"{'':10}{chart.x_name} → ; {chart.y_name} ↑"]
    out += [f"{'':10}{mark} {name}" for mark, name in zip(_MARKS, chart.series, strict=False)]
    out += [f"{'':10}╌ {name}: {number(level)}" for name, level in chart.levels.items()]
    return out


def to_html(title: str, sections: Iterable[Section], *, subtitle: str = "") -> str:
    """The page as HTML without scripts; a number's formula, filled in, is its tooltip."""
    parts = [f"<div><h3>{escape(title)}</h3>"]
    if subtitle:
        parts.append(f"<p>{escape(subtitle)}</p>")
    for section in sections:
        parts.append(f"<h4>{escape(section.title)}</h4>")
        if section.text:
            parts.append(f"<p>{escape(section.text)}</p>")
        equations = " &emsp; ".join(escape(equation(step)) for step in section.steps if step.equation)
        parts.append(f"<p><i>{equations}</i></p>" if equations else "")
        parts.append(_html_table(section) if section.table else "")
        parts += [f"<p>{escape(str(step[()]))}</p>" for step in section.lines]
        if section.chart is not None:
            parts.append(f"<pre>{escape(chr(10).join(plot(section, 90)))}</pre>")
        parts += [f"<p>{escape(line)}</p>" for _, line in _checks(section)]
    return "\n".join(part for part in parts if part) + "</div>"


def _html_table(section: Section) -> str:
    found = columns(section, 120)
    heads = "".join(f"<th>{escape(column.head)}</th>" for column in found)
    rows = [f"<tr><th>{escape(section.row_name)}</th>{heads}<th></th></tr>"]
    for i, row in enumerate(section.row_numbers):
        cells = ""
        for step, place, _, texts in found:
            if place == -2:
                cells += "<td></td>"
                continue
            formula = step[row] if place < 0 else step[row, place]
            cells += f'<td style="text-align:right" title="{escape(str(formula))}">{texts[i]}</td>'
        mark = escape(section.marks.get(row, ""))
        rows.append(f"<tr><th>{escape(section.row(row))}</th>{cells}<td>{mark}</td></tr>")
    return "<table>" + "".join(rows) + "</table>"


# ---- how a table is laid out: which columns a page of some width holds, and where it breaks ----


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
        column.width + _GAP
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
    if sum(column.width + _GAP for column in found) <= room or len(found) <= 2:
        return found
    room -= 1 + _GAP
    kept = 0
    while kept < len(found) and (kept < 2 or found[kept].width + _GAP <= room):
        room -= found[kept].width + _GAP
        kept += 1
    return [*found[:kept], Column(found[0].step, -2, _LEFT_OUT, ("",) * rows)]


def blocks(section: Section, width: int, beside: int = 0) -> list[list[Column]]:
    """The columns in blocks that are `width` characters wide, row names included; `beside` of them are kept free."""
    name = min(_LONGEST, max(map(_width, (section.row_name, *map(section.row, section.row_numbers)))))
    room = width - name - 3 - _GAP - beside
    out: list[list[Column]] = [[]]
    left = room
    for column in columns(section, room):
        if out[-1] and column.width > left:
            out.append([])
            left = room
        out[-1].append(column)
        left -= column.width + _GAP
    return out
