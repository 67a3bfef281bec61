"""The wires of the drawing: what they carry adds up to the network's own numbers, their gradients are autograd's."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch

from neuralgram.neural.nplm import NPLM
from neuralgram.rng import PCG32
from neuralgram.serving.explorer.drawing import Drawing, inputs_of
from neuralgram.serving.explorer.inside import Window, traced
from neuralgram.serving.explorer.markup import Numbers
from neuralgram.serving.explorer.snapshot import five_words
from neuralgram.serving.explorer.wires import bundles, gap_names, in_words, joints, opened_wire
from neuralgram.text.tokenizers import Words
from neuralgram.textmodel import TextModel

SHAPES: dict[str, dict[str, Any]] = {
    "direct": {"direct": True},
    "no direct path": {"direct": False},
    "direct alone": {"d_hidden": [], "direct": True},
    "two hidden layers": {"d_hidden": [5, 4], "activation": "relu", "direct": True},
    "tied": {"tie": True, "direct": False},
    "tied, as wide as C": {"tie": True, "d_hidden": 3, "direct": True},
}
WINDOW, TARGET = [2, 0, 2], 4


def network(shape: dict[str, Any], vocab: int = 7) -> NPLM:
    """A network in float64 whose numbers are far from 0."""
    torch.manual_seed(3)
    sizes = {"vocab": vocab, "context": 3, "d_emb": 3, "d_hidden": 6}
    made = NPLM(**(sizes | shape), rng=PCG32(5)).double()
    for parameter in made.parameters():
        parameter.data.add_(0.3 * torch.randn_like(parameter))
    return made


def drawn(model: Any, window: Window) -> Drawing:
    if isinstance(model, NPLM):
        model = TextModel(model, Words([f"w{i}" for i in range(model.vocab_size)]), "stream")
    return Drawing(traced(model, window), Numbers())


FIVE = drawn(five_words(), Window([0, 1], 3, 0.2))


def test_the_wires_of_the_five_words():
    """FACTS 2b: z = (0.8, 0.3) and y[sat] = 1.1388 as sums of the products written out by hand."""
    into_hidden, into_scores = bundles(FIVE, "flow")
    assert [wire.label for wire in into_hidden.wires][:2] == ["H[0][2]·x[2] = 0.64", "H[1][3]·x[3] = 0.36"]
    assert len(into_hidden.wires) == 8
    assert len(into_scores.wires) == 10
    best = into_hidden.wires[0]
    assert (best.value, best.share) == (pytest.approx(0.8 * 0.8), 1.0)
    weakest = into_hidden.wires[-1]
    assert weakest.share == pytest.approx(abs(weakest.value) / 0.64, abs=0.005)
    to_sat = [wire for wire in into_scores.wires if wire.key.split("|")[2] == "3"]
    assert sum(wire.value for wire in to_sat) == pytest.approx(1.1388 - 0.3, abs=5e-5)
    assert gap_names(FIVE, bundles(FIVE, "flow")) == ["", "H", "U", ""]
    assert gap_names(FIVE, bundles(FIVE, "none")) == [""] * 4
    assert 'class="net wired"' in FIVE.html("", gap_names(FIVE, bundles(FIVE, "flow")))
    assert 'class="net"' in FIVE.html("", gap_names(FIVE, bundles(FIVE, "none")))
    said = in_words(bundles(FIVE, "flow"), "flow")
    assert "H: 8 wires from x to the hidden units, the thickest H[0][2]·x[2] = 0.64 into z[0]" in said
    assert "U: 10 wires from the hidden units to the scores, the thickest U[sat][0]·a[0] = 0.664 into y[sat]" in said


def test_a_wire_opens_its_formulas():
    formulas, about = opened_wire(FIVE, "wire|hidden.weight|0|2")
    assert [str(formula) for formula in formulas] == [
        "H[0][2]·x[2] = 0.8·0.8 = 0.64",
        "∂H[0][2] = δ[0]·x[2] = (−0.2853)·0.8 = −0.2283",
        "H[0][2] after one step = H[0][2] − ε·∂H[0][2] = 0.8 − 0.2·(−0.2283) = 0.8457",
    ]
    assert about == "One of the products that z[0] = 0.8 adds up."
    formulas, _ = opened_wire(FIVE, "wire|out.weight|3|0")
    assert formulas[1].value == pytest.approx((0.4000 - 1) * 0.6640, abs=1e-4)
    assert formulas[1].general == "(p − e_w)[sat]·a[0]"
    assert formulas[2].value == pytest.approx(FIVE.made.update.after["out.weight"][3, 0])
    gone = ("wire|hidden.weight|9|0", "wire|hidden2.weight|0|0", "wire|hidden.weight|0", "draw|0|0|0|0")
    assert [opened_wire(FIVE, key) for key in gone] == [None] * 4


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_what_the_wires_carry_adds_up(shape: dict[str, Any]):
    """Bias and wires give every number the wires lead to, and the scores' softmax is the network's own distribution."""
    model = network(shape)
    drawing = drawn(model, Window(WINDOW, TARGET, 0.1))
    sums: dict[str, float] = {}
    sources: dict[str, set[str]] = {}
    for bundle in bundles(drawing, "flow"):
        assert len(bundle.wires) == bundle.joint.M.size
        for wire in bundle.wires:
            sums[wire.target] = sums.get(wire.target, 0.0) + wire.value
            sources.setdefault(wire.target, set()).add(wire.source)
            assert wire.share >= 0
    for key, found in sources.items():
        assert set(inputs_of(drawing, key)) == found  # what is marked when the number is opened
    state = model.state()
    y = drawing.column("y").into.keys
    scores = np.array([sums[y[v]] for v in range(7)]) + state["out.bias"]
    theirs = model.log_probs([WINDOW])[0]
    assert scores - np.log(np.exp(scores).sum()) == pytest.approx(theirs, abs=1e-9)
    if model.settings.widths:
        x = state["emb.weight"][WINDOW].ravel()
        z = next(column for column in drawing.columns if column.kind == "h").into.keys
        expected = state["hidden.weight"] @ x
        assert [sums[z[u]] for u in z] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_the_gradients_of_the_wires_are_autograds(shape: dict[str, Any]):
    model = network(shape)
    drawing = drawn(model, Window(WINDOW, TARGET, 0.1))
    model.loss(torch.tensor([WINDOW]), torch.tensor([TARGET])).sum().backward()
    theirs = {name: parameter.grad for name, parameter in model.named_parameters()}
    compared = 0
    for bundle in bundles(drawing, "gradient"):
        if bundle.joint.key == "emb.weight":  # C is looked up as well
            continue
        for wire in bundle.wires:
            row, column = map(int, wire.key.split("|")[2:])
            assert wire.value == pytest.approx(float(theirs[bundle.joint.key][row, column]), abs=1e-6)
            compared += 1
    weights = [name for name in theirs if name.endswith("weight") and name != "emb.weight"]
    assert compared == sum(theirs[name].numel() for name in weights)


def test_of_a_large_layer_the_strongest_are_drawn_and_it_says_so():
    model = network({"d_hidden": 90, "direct": True}, vocab=60)
    drawing = drawn(model, Window(WINDOW, TARGET, 0.1))
    for bundle in bundles(drawing, "flow"):
        joint = bundle.joint
        between = np.ix_(list(joint.target.keys), list(joint.source.keys))
        expected = np.sort(np.abs(joint.M * joint.v)[between].ravel())[::-1][:60]
        assert [abs(wire.value) for wire in bundle.wires] == pytest.approx(expected.tolist())
        assert f"the strongest 60 of {joint.M.size:,} wires" in bundle.label
    assert "the strongest 60 of 810 wires from x" in in_words(bundles(drawing, "flow"), "flow")
    assert "12 of 90 units" in drawing.html()


def test_a_stop_of_the_path_lights_the_wires_it_goes_along():
    drawing = drawn(network(SHAPES["direct"]), Window(WINDOW, TARGET, 0.1))

    def lit(stop: str) -> str:
        return "".join(bundle.joint.letter for bundle in bundles(drawing, "flow", stop) if bundle.lit)

    stops = (
        "words → rows of C",
        "x → hidden units",
        "hidden → scores",
        "back to the hidden units",
        "back to the window",
    )
    assert [lit(stop) for stop in stops] == ["", "H", "UW", "U", "HW"]


def test_the_weights_are_shown_whatever_flows():
    drawing = drawn(network(SHAPES["two hidden layers"]), Window(WINDOW, TARGET, 0.1))
    for joint, bundle in zip(joints(drawing), bundles(drawing, "weight"), strict=True):
        got = {tuple(map(int, wire.key.split("|")[2:])): wire.value for wire in bundle.wires}
        assert got == {index: float(value) for index, value in np.ndenumerate(joint.M)}
        assert all(re.match(r"\w+\[\w+\]\[\d+\] = ", wire.label) for wire in bundle.wires)
