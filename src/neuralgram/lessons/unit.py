"""One unit and its activations."""

from __future__ import annotations

import numpy as np

from neuralgram.explanation import products
from neuralgram.lessons.base import Lesson, Values, numbers
from neuralgram.neural.reference import ACTIVATIONS
from neuralgram.numbers import number
from neuralgram.tracing.formulas import elementwise, given, listed
from neuralgram.tracing.steps import Chart, Check, Section


def _build(v: Values) -> list[Section]:
    return [_unit(v), _curves(), _vanishing(int(v["layers"]))]


def _bent(name: str, z: float) -> float:
    return float(ACTIVATIONS[name].f(np.array(z)))


def _unit(v: Values) -> Section:
    x, w, b = v["x"], v["w"], float(v["b"])
    z = float(w @ x + b)
    s, t, r = _bent("sigmoid", z), _bent("tanh", z), _bent("relu", z)
    double = 2 * _bent("sigmoid", 2 * z) - 1
    steps = (
        listed("z", z, lambda i: ("w·x + b", " + ".join([*products(w, x), number(b)])), equation="z = w·x + b"),
        elementwise("σ(z)", "1 / (1 + e^(−{z}))", s, {"z": z}, equation="σ(z) = 1 / (1 + e^−z)"),
        elementwise("tanh(z)", "tanh({z})", t, {"z": z}, equation="tanh(z) = 2σ(2z) − 1"),
        elementwise("2σ(2z) − 1", "2·σ(2·{z}) − 1", double, {"z": z}, equation=""),
        elementwise("ReLU(z)", "max(0, {z})", r, {"z": z}, equation="ReLU(z) = max(0, z)"),
    )
    text = "Inputs x, a weight for each, a bias; then one of three functions bends the sum."
    return Section("One unit", text, steps, checks=(Check("tanh(z) − (2σ(2z) − 1)", t - double, 0.0, 1e-12),))


def _curves() -> Section:
    z = np.arange(-6.0, 7.0)

    def name(i: int) -> str:
        return f"z = {number(float(z[i]))}"

    steps = []
    for letter, key in (("σ", "sigmoid"), ("tanh", "tanh"), ("ReLU", "relu")):
        f = ACTIVATIONS[key]
        a = f.f(z)
        steps.append(elementwise(letter, f.formula, a, {"z": z}, equation="", rows=name))
        slope = f.slope(z, a)
        steps.append(
            elementwise(f"{letter}′", f.slope_formula, slope, {"z": z, "a": a}, equation=_SLOPES[key], rows=name)
        )
    line = np.linspace(-6, 6, 49)
    chart = Chart(
        "z",
        "derivative",
        line,
        {
            f"{letter}′": ACTIVATIONS[key].slope(line, ACTIVATIONS[key].f(line))
            for letter, key in (("σ", "sigmoid"), ("tanh", "tanh"))
        },
    )
    text = (
        "σ and tanh go flat on both sides: they saturate, and their derivatives fall towards 0. "
        "ReLU's derivative is 1 wherever z is positive."
    )
    return Section("Three activations and their derivatives", text, tuple(steps), "", chart=chart)


_SLOPES = {"sigmoid": "σ′ = σ(1 − σ)", "tanh": "tanh′ = 1 − tanh²", "relu": "ReLU′ = 1 if z > 0, else 0"}


def _vanishing(layers: int) -> Section:
    z = np.array([0.0, 1.0, 2.0, 4.0])

    def name(i: int) -> str:
        return f"z = {number(float(z[i]))} in each"

    steps = []
    for letter, key in (("σ′", "sigmoid"), ("tanh′", "tanh"), ("ReLU′", "relu")):
        f = ACTIVATIONS[key]
        slope = f.slope(z, f.f(z))
        power = f"^{layers}"
        steps.append(
            elementwise(f"{letter}{power}", "{s}" + power, slope**layers, {"s": slope}, equation="", rows=name)
        )
    text = (
        f"An error that travels back through {layers} layers is multiplied by one derivative a layer. "
        "With σ at most a quarter of it survives each time, even at the best place."
    )
    best = given("best of σ′", 0.25**layers, equation=f"(1/4)^{layers}")
    return Section("Why it matters: the error on its way back", text, (*steps, best))


UNIT = Lesson(
    "unit",
    "One unit and its three activations",
    "a weighted sum, then σ, tanh or ReLU; where their derivatives vanish",
    """
A unit multiplies each input by a weight, adds a bias, and sends the sum through a function that is not a straight
line. Without that function any number of layers would be worth a single one (see the lesson `folding`).
""",
    {
        "x": numbers([1.0, -0.5], "the inputs"),
        "w": numbers([0.8, 0.6], "a weight for each input"),
        "b": numbers(0.1, "the bias"),
        "layers": numbers(10, "how many layers the error passes", whole=True, least=1, most=50),
    },
    _build,
)
