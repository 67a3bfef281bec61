"""The wires of the drawing: one for each weight between two numbers drawn, and the formula a wire opens.

A wire from number k of a vector v to number r of M v carries M[r][k]·v[k]. Its weight's gradient is ∂[r]·v[k], where
∂ is the gradient at what the wire leads to: δ at a hidden unit, p − e_w at a score.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from neuralgram.numbers import bracketed, number
from neuralgram.serving.explorer.drawing import Drawing, Layer
from neuralgram.tracing.names import letter_of
from neuralgram.tracing.steps import Floats, Formula

MEASURES = {
    "flow": "weight × input",
    "weight": "the weight",
    "gradient": "its gradient",
    "none": "no wires",
}
_SAID = {
    "flow": "what it carries, weight times input",
    "weight": "its weight, whatever flows",
    "gradient": "its weight's gradient: how much an update changes it",
}
# What a positive and a negative wire do, by measure.
SIGNS = {
    "flow": ("adds", "takes away"),
    "weight": ("positive", "negative"),
    "gradient": ("positive: an update lowers the weight", "negative: an update raises it"),
}
_ALL = 400  # wires between two layers that are drawn; of a matrix that is larger, only the strongest `_FEW`
_FEW = 60


class Joint(NamedTuple):
    """A matrix between two layers: M v, with what its rows and columns are called.

    key     the state-dict key of M
    vector  the letter of v
    back    the gradient at M v
    """

    key: str
    M: Floats
    v: Floats
    vector: str
    back: Floats | None
    source: Layer
    target: Layer

    @property
    def letter(self) -> str:
        """The letter of M."""
        return letter_of(self.key)


class Wire(NamedTuple):
    """One wire: its key, the keys of the numbers it joins, what it shows, and that as a share of the thickest."""

    key: str
    source: str
    target: str
    value: float
    share: float
    label: str


class Bundle(NamedTuple):
    """The wires between two layers, the strongest first, what they are in words, and whether the path is at them."""

    joint: Joint
    wires: list[Wire]
    label: str
    lit: bool


def joints(drawing: Drawing) -> list[Joint]:
    """Every matrix between two drawn layers, in the order of the drawing; the direct path comes last."""
    w, f, network = drawing.network.weights, drawing.forward, drawing.network
    g = drawing.made.update.gradients if drawing.made.update else {}
    x, scores, projected = drawing.column("x"), drawing.column("y"), drawing.column("g")
    if x is None or x.out is None:
        return []
    out: list[Joint] = []
    before, v, letter = x.out, f.x, "x"
    for i, column in enumerate(c for c in drawing.columns if c.kind == "h"):
        name = network.layers[i]
        if column.into and column.out:
            out.append(
                Joint(f"{name}.weight", w[f"{name}.weight"], v, letter, g.get(f"{name}.bias"), before, column.into)
            )
            before, v, letter = column.out, f.a[i], f"a{name.removeprefix('hidden')}"
    if scores is None or scores.into is None:
        return out
    error = g.get("out.bias")  # p − e_w
    if network.output is not None and f.g is not None:
        if projected and projected.into:
            back = None if error is None else network.output.T @ error
            out.append(Joint("project.weight", w["project.weight"], v, letter, back, before, projected.into))
            before, letter = projected.into, "g"
        key = "emb.weight" if network.tie else "out.weight"
        out.append(Joint(key, network.output, f.g, letter, error, before, scores.into))
    if "direct.weight" in w:
        out.append(Joint("direct.weight", w["direct.weight"], f.x, "x", error, x.out, scores.into))
    return out


def bundles(drawing: Drawing, measure: str, stop: str = "") -> list[Bundle]:
    """The wires that show `measure`; their thickness is a share of the thickest that leads to the same layer.

    Those that the `stop` of the path goes along are lit.
    """
    if measure == "none":
        return []
    found = joints(drawing)
    values = [_values(joint, measure) for joint in found]
    out = []
    for joint, block in zip(found, values, strict=True):
        same = [b for j, b in zip(found, values, strict=True) if j.target is joint.target]
        largest = max(float(np.abs(b).max(initial=0.0)) for b in same)
        out.append(_bundle(joint, block, largest, measure, _along(joint, stop)))
    return out


def _along(joint: Joint, stop: str) -> bool:
    """Whether a stop of the path, by its name, goes along these wires, forward or back."""
    end = joint.target.step.name[0]
    return {
        "x → hidden units": end == "z",
        "hidden → scores": end in "gy",
        "back to the hidden units": joint.vector != "x",
        "back to the window": joint.vector == "x",
    }.get(stop, False)


def _values(joint: Joint, measure: str) -> Floats:
    """What the wires between the numbers drawn show, [targets, sources]."""
    rows, columns = list(joint.target.keys), list(joint.source.keys)
    M, v = joint.M[np.ix_(rows, columns)], joint.v[columns]
    if measure == "weight":
        return M
    if measure == "gradient":
        return np.zeros_like(M) if joint.back is None else np.outer(joint.back[rows], v)
    return np.asarray(M * v, np.float64)


def _bundle(joint: Joint, block: Floats, largest: float, measure: str, lit: bool) -> Bundle:
    rows, columns = list(joint.target.keys), list(joint.source.keys)
    order = np.argsort(-np.abs(block), axis=None, kind="stable")
    if joint.M.size > _ALL:
        order = order[:_FEW]
    wires = []
    for place in order.tolist():
        i, k = divmod(place, len(columns))
        row, column, value = rows[i], columns[k], float(block[i, k])
        label = f"{_name(joint, row, column, measure)} = {number(value)}"
        share = abs(value) / largest if largest > 0 else 0.0
        key = f"wire|{joint.key}|{row}|{column}"
        wires.append(Wire(key, joint.source.keys[column], joint.target.keys[row], value, round(share, 2), label))
    count = (
        f"{len(wires)} wires" if len(wires) == joint.M.size else f"the strongest {len(wires)} of {joint.M.size:,} wires"
    )
    towards = {"y": "the scores", "g": "g"}.get(joint.target.step.name) or _units(joint.target.step.name)
    origin = _units(joint.vector) if joint.vector.startswith("a") else joint.vector
    path = " (the direct path)" if joint.key == "direct.weight" else ""
    return Bundle(joint, wires, f"{joint.letter}: {count} from {origin} to {towards}{path}", lit)


def _units(letter: str) -> str:
    """The layer that z, a, z2, a2, … are of."""
    return f"hidden layer {letter[1:]}" if letter[1:] else "the hidden units"


def _name(joint: Joint, row: int, column: int, measure: str) -> str:
    weight = f"{joint.letter}[{_row(joint, row)}][{column}]"
    return {"weight": weight, "gradient": f"∂{weight}"}.get(measure, f"{weight}·{joint.vector}[{column}]")


def _row(joint: Joint, row: int) -> str:
    rows = joint.target.step.rows
    return str(row) if rows is None else rows(row)


def gap_names(drawing: Drawing, found: list[Bundle]) -> list[str]:
    """For each two columns side by side the letter of the matrix whose wires join them, or nothing."""
    ends = {(id(b.joint.source), id(b.joint.target)): b.joint.letter for b in found}
    columns = drawing.columns
    return [ends.get((id(a.out), id(b.into)), "") for a, b in pairwise(columns)]


def in_words(found: list[Bundle], measure: str) -> str:
    """What the wires show, for who does not see them: how many, and the thickest of each bundle."""
    if not found:
        return ""
    parts = []
    for bundle in found:
        best = bundle.wires[0]
        parts.append(f"{bundle.label}, the thickest {best.label} into {_target(bundle.joint, best.key)}")
    return f"A wire is as thick as {_SAID[measure]}. " + "; ".join(parts) + "."


def _target(joint: Joint, key: str) -> str:
    return f"{joint.target.step.name}[{_row(joint, int(key.split('|')[2]))}]"


def opened_wire(drawing: Drawing, key: str) -> tuple[list[Formula], str] | None:
    """The formulas of a wire, with its numbers filled in, and a sentence about it; None where it is gone."""
    parts = key.split("|")
    if len(parts) != 4 or parts[0] != "wire":
        return None
    found = [joint for joint in joints(drawing) if joint.key == parts[1]]
    row, column = int(parts[2]), int(parts[3])
    if not found or row >= found[0].M.shape[0] or column >= found[0].M.shape[1]:
        return None
    joint = found[0]
    weight, v = float(joint.M[row, column]), float(joint.v[column])
    name, place = _name(joint, row, column, "weight"), f"{joint.vector}[{column}]"
    filled = f"{bracketed(weight)}·{bracketed(v)}"
    formulas = [Formula(f"{name}·{place}", "", filled, weight * v)]
    target = _target(joint, key)
    said = f"One of the products that {target} = {number(float(joint.target.step.value[row]))} adds up."
    if joint.back is None:
        return formulas, said
    back = float(joint.back[row])
    error = _error(joint, row)
    formulas.append(Formula(f"∂{name}", f"{error}·{place}", f"{bracketed(back)}·{bracketed(v)}", back * v))
    update = drawing.made.update
    if joint.key == "emb.weight":
        said += " C is tied: its rows are looked up as well, and their gradient adds both up."
    elif joint.key not in drawing.network.frozen and update and update.lr:
        after = weight - update.lr * back * v
        step = f"{number(weight)} − {number(update.lr)}·{bracketed(back * v)}"
        formulas.append(Formula(f"{name} after one step", f"{name} − ε·∂{name}", step, after))
    return formulas, said


def _error(joint: Joint, row: int) -> str:
    """What the gradient at a wire's end is called."""
    step = joint.target.step.name
    if step == "y":
        return f"(p − e_w)[{_row(joint, row)}]"
    return f"∂g[{row}]" if step == "g" else f"δ{step.removeprefix('z')}[{row}]"
