"""The network drawn for one window, from left to right: columns of numbers, and where each number stands."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

import numpy as np

from neuralgram.errors import InputError
from neuralgram.explanation import Floats
from neuralgram.serving.explorer.markup import Numbers, word
from neuralgram.tracing import Section, Step, Trace

WHOLE = 40  # layers of up to so many numbers are drawn whole, in an order that never changes
PART = 24  # numbers of x, or of a projection, that are drawn where there are more than `WHOLE`
_ROW = 12  # numbers of a row of C


class Layer(NamedTuple):
    """The drawn numbers of one quantity: the step they belong to, and the key of each by its index in that quantity."""

    step: Step
    keys: dict[int, str]


@dataclass(frozen=True, eq=False)
class Column:
    """One column: its kind (C, x, h, g, y, p), heading, equation and body, and the layers it receives and gives."""

    kind: str
    title: str
    equation: str
    body: str
    into: Layer | None = None
    out: Layer | None = None


class Drawing:
    """The columns of one trace; their numbers are collected in `numbers`."""

    def __init__(self, made: Trace, numbers: Numbers) -> None:
        if made.forward is None or made.network is None:
            raise InputError("this model is no network: nothing to draw")
        self.made, self.numbers = made, numbers
        self.forward, self.network = made.forward, made.network
        self._sections = list(made.all_sections)
        layers = range(len(self.network.layers))
        columns = [self._rows_of_C(), self._x(), *(self._hidden(i) for i in layers), self._projected()]
        columns += [self._scores(), self._probabilities()]
        self.columns = [column for column in columns if column is not None]

    def column(self, kind: str) -> Column | None:
        """The last column of a kind, or None where the network has none."""
        return next((c for c in reversed(self.columns) if c.kind == kind), None)

    def html(self, marked: str = "", wired: Sequence[str] = ()) -> str:
        """Columns side by side, those of the kinds `marked`; `wired` names the matrix between each two, or nothing."""
        names = wired or [""] * (len(self.columns) - 1)
        drawn = []
        for i, c in enumerate(self.columns):
            if i:
                drawn.append(f'<div class="gap wired"><span>{names[i - 1]}</span></div>' if names[i - 1] else _ARROW)
            classes = f"stage {c.kind}" + (" on" if c.kind in marked else "")
            equation = f'<p class="eq">{escape(c.equation)}</p>'
            drawn.append(f'<div class="{classes}"><h4>{c.title}</h4>{equation}{c.body}</div>')
        classes = (" wired" if any(wired) else "") + (" past" if any(wired) and self.past else "")
        return f'<div class="net{classes}">{"".join(drawn)}</div>'

    @property
    def past(self) -> bool:
        """Whether a direct path runs past hidden units."""
        network = self.network
        return network.whole is None and "direct.weight" in network.weights and self.forward.g is not None

    # ---- the columns ----

    def _find(self, title: str, name: str) -> tuple[int, int] | None:
        for i, section in enumerate(self._sections):
            for j, step in enumerate(section.steps):
                if section.title.startswith(title) and step.name == name:
                    return i, j
        return None

    def _at(self, at: tuple[int, int]) -> tuple[Section, Step]:
        section = self._sections[at[0]]
        return section, section.steps[at[1]]

    def _layer(self, at: tuple[int, int], indices: Iterable[int]) -> Layer:
        return Layer(self._at(at)[1], {i: f"draw|{at[0]}|{at[1]}|{i}" for i in indices})

    def _cell(self, key: str, value: float, step: Step, *, bar: bool = False) -> str:
        if bar:
            return self.numbers.cell(key, value, bar=value)
        return self.numbers.cell(key, value, scale=float(np.abs(step.value).max(initial=0.0)))

    def _rows_of_C(self) -> Column | None:
        at = self._find("Look up", "C")
        if at is None:
            return None
        step = self._at(at)[1]
        width = step.value.shape[1]
        rows = []
        for i, place in enumerate(self.made.window):
            shown = range(min(width, _ROW))
            cells = [self._cell(f"draw|{at[0]}|{at[1]}|{i}|{k}", float(step.value[i, k]), step) for k in shown]
            more = f'<span class="hint">+{width - _ROW}</span>' if width > _ROW else ""
            name = f'<div class="row"><span class="lab">{word(place.symbol)}</span></div>'
            rows.append(f'{name}<div class="row">{"".join(cells)}{more}</div>')
        return Column("C", "words → rows of C", "C[w], oldest first", "".join(rows))

    def _x(self) -> Column | None:
        at = self._find("Look up", "C")
        if at is None:
            return None
        step = self._at(at)[1]
        width = step.value.shape[1]
        shown = self._weighty(self.forward.x, "direct.weight", *(f"{name}.weight" for name in self.network.layers[:1]))
        keys = {k: f"draw|{at[0]}|{at[1]}|{k // width}|{k % width}|x" for k in shown}
        rows = [_row(f"x[{k}]", self._cell(key, float(self.forward.x[k]), step)) for k, key in keys.items()]
        equation = _shown(shown, self.forward.x) or "side by side"
        return Column("x", "x", equation, "".join(rows), out=Layer(step, keys))

    def _weighty(self, x: Floats, *above: str) -> list[int]:
        """All of x, or the numbers that weigh most in the matrices `above` them, whatever the sign."""
        if len(x) <= WHOLE:
            return list(range(len(x)))
        w = self.network.weights
        weights = [np.abs(w[name]).sum(axis=0) for name in above if name in w]
        weight = sum(weights, np.zeros_like(x)) * np.abs(x)
        return sorted(int(k) for k in np.argsort(-weight, kind="stable")[:PART])

    def _hidden(self, layer: int) -> Column | None:
        suffix = "" if layer == 0 else str(layer + 1)
        at_z, at_a = self._find("Hidden", f"z{suffix}"), self._find("Hidden", f"a{suffix}")
        if at_z is None or at_a is None:
            return None
        (section, z), (_, a) = self._at(at_z), self._at(at_a)
        shown = sorted(section.row_numbers)
        into, out = self._layer(at_z, shown), self._layer(at_a, shown)
        rows = []
        for u in shown:
            mark = f' <span class="hint">{section.marks[u]}</span>' if u in section.marks else ""
            both = [self._cell(keys[u], float(step.value[u]), step) for step, keys in (into, out)]
            rows.append(_row(str(u), f'{both[0]}<span aria-hidden="true">→</span>{both[1]}{mark}'))
        if len(shown) < len(z.value):
            rows.append(f'<div class="hint">{len(shown)} of {len(z.value)} units</div>')
        return Column(
            "h",
            f"hidden{f' {suffix}' if suffix else ''}: z → a",
            f"{z.equation}, {a.equation}",
            "".join(rows),
            into,
            out,
        )

    def _projected(self) -> Column | None:
        at = self._find("Projected", "g")
        if at is None:
            return None
        step = self._at(at)[1]
        layer = self._layer(at, self._weighty(step.value, "emb.weight" if self.network.tie else "out.weight"))
        rows = [_row(str(k), self._cell(key, float(step.value[k]), step)) for k, key in layer.keys.items()]
        part = _shown(layer.keys, step.value)
        equation = f"{step.equation}, {part}" if part else step.equation
        return Column("g", "projected g", equation, "".join(rows), layer, layer)

    def _scores(self) -> Column | None:
        at = self._find("Scores", "y") if self.network.whole is None else None  # another head has no one y
        if at is None:
            return None
        layer, body = self._outcomes(at)
        return Column("y", "scores y", layer.step.equation, body, layer, layer)

    def _probabilities(self) -> Column | None:
        title = next((section.title for section in self._sections if section.bars == "p"), "Softmax")
        at = self._find(title, "p")
        if at is None:
            return None
        layer, body = self._outcomes(at, bars=True)
        equation = "p = exp(y − max) / Σ" if title == "Softmax" else layer.step.equation
        return Column("p", "probabilities p", equation, body, layer)

    def _outcomes(self, at: tuple[int, int], *, bars: bool = False) -> tuple[Layer, str]:
        """A number a word: of a small vocabulary all, in the order of their ids, which never changes."""
        section, step = self._at(at)
        rows = section.row_numbers
        layer = self._layer(at, sorted(rows) if len(rows) == len(step.value) else rows)
        target = self.made.target.id if self.made.target else -1
        body = []
        for v, key in layer.keys.items():
            mark = ' <span class="hint">came next</span>' if bars and v == target else ""
            body.append(_row(word(section.row(v)), self._cell(key, float(step.value[v]), step, bar=bars) + mark))
        return layer, "".join(body)


_ARROW = '<div class="gap" aria-hidden="true">→</div>'


def _shown(part: Collection[int], whole: Floats) -> str:
    """What is said where not all numbers are drawn."""
    return f"the largest {len(part)} of {len(whole)}" if len(part) < len(whole) else ""


def _row(label: str, cells: str) -> str:
    return f'<div class="row"><span class="lab">{label}</span>{cells}</div>'


def inputs_of(drawing: Drawing, key: str | None) -> list[str]:
    """Keys of the drawn numbers that go into the drawn number `key`: what its formula reads, marked on the drawing."""
    before: Column | None = None
    for column in drawing.columns:
        into, out = _keys(column.into), _keys(column.out)
        if column.kind == "x" and key in out:
            return [str(key).removesuffix("|x")]
        if key in into and before:
            return _keys(before.into if before.kind == "y" else before.out) + _past(drawing, column, before)
        if key in out and column.into:  # an activation: the sum under it
            return [into[out.index(str(key))]]
        before = column
    return []


def _keys(layer: Layer | None) -> list[str]:
    return list(layer.keys.values()) if layer else []


def _past(drawing: Drawing, column: Column, before: Column) -> list[str]:
    """x, for a score that reads it past the hidden units; for a probability of a head that has no scores as well."""
    x = drawing.column("x")
    reads = column.kind in "yp" and before.kind in "hg" and "direct.weight" in drawing.network.weights
    return _keys(x.out) if reads and x else []
