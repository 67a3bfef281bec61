"""HTML of numbers that can be opened: a skeleton that seldom changes, and values that are filled in while training."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from neuralgram.numbers import number
from neuralgram.text.tokenizers.base import visible
from neuralgram.tracing.render import cell
from neuralgram.tracing.steps import Formula, Section, Step

_ROWS = 40  # rows of a table that a page shows


class Shown(NamedTuple):
    """What stands in one cell: its text, −1 … 1 for its colour, 0 … 1 for its bar; `about` it on pointing."""

    text: str
    colour: float | None = None
    bar: float | None = None
    about: str | None = None


class Numbers:
    """Collects cells while a view writes its HTML; `key` is what a click on one tells."""

    def __init__(self) -> None:
        self.values: dict[str, Shown] = {}

    def cell(
        self, key: str, value: float, *, scale: float | None = None, bar: float | None = None, label: str = ""
    ) -> str:
        """A number as a button. `scale` is the size that gets the strongest colour; `bar` the length of its bar."""
        colour = None if scale is None else float(np.clip(value / scale, -1, 1)) if scale > 0 else 0.0
        self.values[key] = Shown(cell(float(value)), colour, bar)
        name = f' aria-label="{escape(label)}"' if label else ""
        return f'<button type="button" class="n" data-n="{escape(key)}"{name}></button>'

    def still(self, key: str, value: float, scale: float) -> str:
        """A number that opens nothing."""
        self.values[key] = Shown(cell(float(value)), float(np.clip(value / scale, -1, 1)) if scale > 0 else 0.0)
        return f'<span class="n" data-n="{escape(key)}"></span>'

    def text(self, key: str, text: str) -> str:
        """A piece of text that changes, and is no number to open."""
        self.values[key] = Shown(text)
        return f'<span data-n="{escape(key)}"></span>'


def word(symbol: str) -> str:
    """A token as HTML, its white space visible."""
    return f'<span class="w">{escape(visible(symbol))}</span>'


def two_bars(values: Sequence[float], colours: Sequence[str]) -> str:
    """Probabilities as bars, one under the other, each with its number."""
    lines = "".join(
        f'<span class="line"><span class="bar" style="background:{colour};width:{max(0.4, 78 * value):.1f}%"></span>'
        f"<small>{value:.3f}</small></span>"
        for value, colour in zip(values, colours, strict=True)
    )
    return f'<span class="pair">{lines}</span>'


def sections_html(sections: Iterable[Section], numbers: Numbers, prefix: str, *, level: int = 3) -> str:
    """Sections one under the other; cell keys are `prefix|section|step|index…`."""
    return "".join(section_html(s, numbers, f"{prefix}|{i}", level=level) for i, s in enumerate(sections))


def section_html(section: Section, numbers: Numbers, prefix: str, *, level: int = 3) -> str:
    """One section: its sentence and equations, its table, its single numbers, its checks."""
    parts = [f"<h{level}>{escape(section.title)}</h{level}>"]
    if section.text:
        parts.append(f"<p>{numbers.text(f'{prefix}|text', section.text)}</p>")
    equations = dict.fromkeys(step.equation for step in section.steps if step.equation)
    if equations:
        parts.append('<p class="eq">' + " &emsp; ".join(f"<span>{escape(e)}</span>" for e in equations) + "</p>")
    parts += [f"<p>{escape(note)}</p>" for note in dict.fromkeys(s.note for s in section.steps) if note]
    if section.table:
        parts.append(_table(section, numbers, prefix))
    for step in section.lines:
        at = section.steps.index(step)
        parts.append(f'<p class="line">{escape(step.name)} = {numbers.cell(f"{prefix}|{at}", float(step.value))}</p>')
    if section.checks:
        parts.append(_checks(section, numbers, prefix))
    return f'<section class="sec">{"".join(parts)}</section>'


def _table(section: Section, numbers: Numbers, prefix: str) -> str:
    rows = section.row_numbers[:_ROWS]
    steps = [(i, step) for i, step in enumerate(section.steps) if step.value.ndim]
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for _, step in steps for name in _columns(step))
    marked = bool(section.marks)
    head = f'<tr><th scope="col">{escape(section.row_name)}</th>{heads}{"<th></th>" if marked else ""}</tr>'
    body = []
    for row in rows:
        cells = "".join(
            f"<td>{c}</td>" for i, step in steps for c in _cells(section, step, row, numbers, f"{prefix}|{i}")
        )
        mark = f'<td class="mark">{escape(section.marks.get(row, ""))}</td>' if marked else ""
        name = escape(section.row(row))
        body.append(f'<tr><th scope="row">{name}</th>{cells}{mark}</tr>')
    more = len(section.row_numbers) - len(rows)
    note = f'<p class="hint">and {more} more rows</p>' if more > 0 else ""
    return f'<div class="scroll"><table>{head}{"".join(body)}</table></div>{note}'


def _columns(step: Step) -> list[str]:
    if step.value.ndim == 1:
        return [step.name]
    names = step.columns or tuple(str(i) for i in range(step.value.shape[1]))
    return [f"{step.name} {name}" for name in names]


def _cells(section: Section, step: Step, row: int, numbers: Numbers, prefix: str) -> list[str]:
    values = step.value[row]
    is_bar = step.name == section.bars and step.value.ndim == 1
    largest = float(np.abs(step.value).max(initial=0.0))
    if step.value.ndim == 1:
        bar = float(values) / largest if is_bar and largest > 0 else None
        scale = None if is_bar else largest
        return [numbers.cell(f"{prefix}|{row}", float(values), scale=scale, bar=bar)]
    return [numbers.cell(f"{prefix}|{row}|{k}", float(value), scale=largest) for k, value in enumerate(values)]


def _checks(section: Section, numbers: Numbers, prefix: str) -> str:
    """Each figure beside the published one; of a relation the sentence with its numbers, and whether it holds."""
    rows = []
    for i, check in enumerate(section.checks):
        here = check.relation or cell(check.value)
        published = "" if check.relation else number(check.figure)
        verdict = "as published" if check.holds else "not so here" if check.relation else "changed"
        rows.append(
            f'<tr><th scope="row">{escape(check.what)}</th>'
            f"<td>{numbers.text(f'{prefix}|check|{i}', here)}</td><td>{escape(published)}</td>"
            f"<td>{numbers.text(f'{prefix}|verdict|{i}', verdict)}</td></tr>"
        )
    figures = any(not check.relation for check in section.checks)
    head = f'<tr><th></th><th scope="col">here</th><th scope="col">{"published" if figures else ""}</th><th></th></tr>'
    return f'<div class="scroll"><table class="checks">{head}{"".join(rows)}</table></div>'


def opened(sections: Iterable[Section], key: str) -> tuple[Step, Formula] | None:
    """The step and formula of the cell whose key ends in `section|step|index…`, or None where it is gone."""
    try:
        section, step, *index = (int(part) for part in key.split("|"))
        found = list(sections)[section].steps[step]
        return found, found[tuple(index)]
    except (ValueError, IndexError):
        return None


def formula_html(step: Step, formula: Formula) -> str:
    """A number opened: its equation, and the formula with its own inputs filled in."""
    about = f'<p class="hint">{escape(step.note)}</p>' if step.note else ""
    equation = f'<p class="eq">{escape(step.equation)}</p>' if step.equation else ""
    return f'{equation}<div class="formula">{_lines(formula)}</div>{about}'


def formulas_html(formulas: Iterable[Formula], note: str) -> str:
    """Several formulas side by side, and a sentence about them."""
    shown = "".join(f'<div class="formula">{_lines(formula)}</div>' for formula in formulas)
    return f'<div class="formulas">{shown}</div><p class="hint">{escape(note)}</p>'


def _lines(formula: Formula) -> str:
    lines = [formula.symbol]
    lines += [f"= {part}" for part in (formula.general, formula.filled) if part]
    lines.append(f"= {number(formula.value)}")
    return "".join(f"<div>{escape(line)}</div>" for line in dict.fromkeys(lines))


def wire_legend(positive: str, negative: str) -> str:
    """A short piece of a wire of either sign, and what it means."""
    pieces = []
    for classes, text in (("wire", positive), ("wire down", negative)):
        line = f'<g class="{classes}"><path class="line" stroke-width="4" d="M0 5H34"/></g>'
        pieces.append(f'<span class="key"><svg width="34" height="10" aria-hidden="true">{line}</svg>{text}</span>')
    return f'<div class="legend-note">{"".join(pieces)}</div>'
