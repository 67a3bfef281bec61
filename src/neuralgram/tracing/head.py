"""What a network's head tells of its own way from features to P, as sections."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from neuralgram.tracing.formulas import contraction, elementwise, given
from neuralgram.tracing.names import Words
from neuralgram.tracing.network import Forward, Network
from neuralgram.tracing.steps import Namer, Section, Step

if TYPE_CHECKING:
    from neuralgram.explanation import Panel, Quantity


def head_sections(network: Network, f: Forward, words: Words) -> list[Section]:
    """The head's panels after this window; nothing for a plain softmax."""
    if network.whole is None:
        return []
    looked = dict.fromkeys([*([] if words.target is None else [words.target]), *words.shown])
    return [_section(panel, words) for panel in network.whole.explain(network.weights, f.ids, list(looked))]


def _section(panel: Panel, words: Words) -> Section:
    tokens, rows = panel.rows is None, panel.rows or ()

    def name(i: int) -> str:
        return words.name(i) if tokens else rows[i]

    shown = words.shown if tokens else None
    marks = {words.target: "target"} if tokens and words.target is not None else {}
    text = panel.text
    if panel.row_name == "unit" and len(rows) > words.units:
        largest = np.abs(panel.quantities[-1].value).reshape(len(rows), -1).max(axis=1)
        shown = tuple(int(i) for i in np.argsort(-largest, kind="stable")[: words.units])
        text = f"{text} the {len(shown)} of {len(rows)} units that are largest".strip()
    title = panel.title if panel.about is None else f"{panel.title} {words.name(panel.about)}"
    steps = tuple(_step(quantity, name) for quantity in panel.quantities)
    bars = "p" if any(step.name == "p" for step in steps) else ""
    return Section(title, text, steps, panel.row_name, shown, marks, bars)


def _step(q: Quantity, rows: Namer) -> Step:
    named = rows if np.ndim(q.value) else None
    if q.product is not None:
        table, vector = q.product
        letters = ("", table, vector)
        return contraction(q.name, q.inputs[table], q.inputs[vector], letters=letters, equation=q.equation, rows=named)
    if q.formula:
        equation = q.equation or None
        return elementwise(q.name, q.formula, q.value, q.inputs, equation=equation, rows=named, columns=q.columns)
    return given(q.name, q.value, equation=q.equation, rows=named, columns=q.columns)
