"""What a model tells of its way to P, its panels, as sections."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neuralgram.explanation import Panel, Quantity
from neuralgram.numbers import number
from neuralgram.tracing.formulas import contraction, elementwise, given, listed
from neuralgram.tracing.names import Words
from neuralgram.tracing.steps import Floats, Namer, Section, Step

_LARGEST = "units that are largest"


def sections(panels: Sequence[Panel], words: Words) -> list[Section]:
    """The panels of one prediction, in order."""
    return [_section(panel, words) for panel in panels]


def looked_at(words: Words) -> list[int]:
    """The tokens a model is asked about: the target first, then the likeliest."""
    return list(dict.fromkeys([*([] if words.target is None else [words.target]), *words.shown]))


def distribution(log_p: Floats, words: Words) -> Section:
    """Probabilities and surprisals of the words shown, of a model that tells nothing of where they come from."""
    p = np.exp(log_p)
    steps = (
        given("p", p, rows=words.name),
        listed(
            "−ln p",
            -log_p,
            lambda index: (f"−ln p[{words.name(index[0])}]", f"−ln {number(float(p[index[0]]))}"),
            equation="surprisal in nats",
            rows=words.name,
        ),
    )
    return Section("The distribution", "", steps, "word", words.shown, words.marks, bars="p")


def _section(panel: Panel, words: Words) -> Section:
    rows = panel.rows

    def name(i: int) -> str:
        if rows is None:
            return words.name(i)
        return rows(i, words.name) if callable(rows) else rows[i]

    shown = words.shown if rows is None else None
    if panel.row_of is not None:
        shown = tuple(dict.fromkeys(int(panel.row_of[w]) for w in words.shown))
    text = panel.text
    weight = _weight(panel)
    if weight is not None and len(weight) > words.units:
        shown = tuple(int(i) for i in np.argsort(-weight, kind="stable")[: words.units])
        text = f"{text} the {len(shown)} of {len(weight)} {panel.most or _LARGEST}".strip()
    title = panel.title if panel.about is None else f"{panel.title} {words.name(panel.about)}"
    steps = tuple(_step(quantity, name, words.name) for quantity in panel.quantities)
    bars = "p" if any(step.name == "p" for step in steps) else ""
    marks = {**panel.marks, **(words.marks if rows is None else {})}
    return Section(title, text, steps, panel.row_name, shown, marks, bars)


def _weight(panel: Panel) -> Floats | None:
    """How much each row matters; of units, where the panel does not say it, the size of its last numbers."""
    if panel.weight is not None or panel.row_name != "unit":
        return panel.weight
    value = panel.quantities[-1].value
    return np.asarray(np.abs(value).reshape(len(value), -1).max(axis=1), np.float64)


def _step(q: Quantity, rows: Namer, spelled: Namer) -> Step:
    named = rows if np.ndim(q.value) else None
    columns = tuple(q.columns(spelled) if callable(q.columns) else q.columns)
    if q.product is not None:
        *first, table, vector = q.product
        bias = q.inputs[first[0]] if first else None
        return contraction(
            q.name,
            q.inputs[table],
            q.inputs[vector],
            letters=(first[0] if first else "", table, vector),
            bias=bias,
            equation=q.equation,
            rows=named,
            note=q.note,
        )
    if q.opened is not None:
        opened = q.opened
        return listed(
            q.name,
            q.value,
            lambda index: opened(index, spelled),
            equation=q.equation,
            inputs=q.inputs,
            rows=named,
            columns=columns,
            note=q.note,
        )
    if q.formula:
        equation = q.equation or None
        return elementwise(
            q.name, q.formula, q.value, q.inputs, equation=equation, rows=named, columns=columns, note=q.note
        )
    return given(q.name, q.value, equation=q.equation, rows=named, columns=columns, note=q.note)
