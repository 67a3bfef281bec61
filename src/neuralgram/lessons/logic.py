"""AND and OR by one unit, XOR by none; XOR by two ReLU units; two linear layers that are one."""

from __future__ import annotations

import numpy as np

from neuralgram.explanation import products
from neuralgram.lessons.base import Lesson, Values, figures, numbers
from neuralgram.neural.reference import ACTIVATIONS
from neuralgram.numbers import number
from neuralgram.tracing.formulas import given, listed
from neuralgram.tracing.steps import Check, Floats, Index, Section, Step

INPUTS = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float64)
TRUTH = {"AND": [0, 0, 0, 1], "OR": [0, 1, 1, 1], "XOR": [0, 1, 1, 0]}


def _row(i: int) -> str:
    return f"{int(INPUTS[i, 0])} {int(INPUTS[i, 1])}"


def _perceptron(gate: str, w: Floats, b: float) -> Section:
    z = INPUTS @ w + b
    y = (z > 0).astype(np.float64)
    wanted = np.array(TRUTH[gate], np.float64)

    def opened(index: Index) -> tuple[str, str]:
        return "w·x + b", " + ".join([*products(w, INPUTS[index[0]]), number(b)])

    steps = (
        listed("z", z, opened, equation="z = w·x + b", rows=_row),
        listed(
            "y",
            y,
            lambda i: ("1 if z > 0, else 0", f"z = {number(float(z[i[0]]))}"),
            equation="y = 1 if z > 0, else 0",
            rows=_row,
        ),
        given(gate, wanted, equation="wanted", rows=_row),
    )
    right = int((y == wanted).sum())
    marks = {i: "wrong" for i in range(4) if y[i] != wanted[i]}
    text = f"w = ({number(float(w[0]))}, {number(float(w[1]))}), b = {number(b)}: {right} of 4 right."
    checks = tuple(figures(f"{gate}: y", y, TRUTH[gate], 0.0, [_row(i) for i in range(4)])) if gate != "XOR" else ()
    return Section(f"{gate} by one unit", text, steps, "x", marks=marks, checks=checks)


def _search() -> Section:
    """Every weight and bias on a grid, counted by how many of the four inputs it gets right."""
    grid = np.arange(-2, 2.01, 0.25)
    w1, w2, b = (axis.ravel() for axis in np.meshgrid(grid, grid, grid, indexing="ij"))
    y = (w1 * INPUTS[:, :1] + w2 * INPUTS[:, 1:] + b) > 0
    names = list(TRUTH)
    counts = np.array([[((y == np.array(TRUTH[n], bool)[:, None]).sum(0) == k).sum() for k in range(5)] for n in names])
    step = given(
        "right",
        counts.astype(np.float64),
        equation="units on the grid by how many inputs they get right",
        rows=lambda i: names[i],
        columns=["0 right", "1 right", "2 right", "3 right", "4 right"],
    )
    text = (
        "XOR would need b ≤ 0, w₁ + b > 0, w₂ + b > 0 and w₁ + w₂ + b ≤ 0. The two in the middle add up to "
        "w₁ + w₂ + 2b > 0, the two outer ones to w₁ + w₂ + 2b ≤ 0: no numbers do both. "
        f"Tried all the same, with {len(w1)} units on a grid from −2 to 2:"
    )
    checks = (Check("units that compute XOR", float(counts[2, 4]), 0.0, 0.0),)
    return Section("XOR by no unit", text, (step,), "", checks=checks)


GATES = Lesson(
    "gates",
    "AND and OR by one unit, XOR by none",
    "what a single threshold unit can and cannot separate",
    """
A perceptron answers 1 where its weighted sum is above 0: it draws one straight line through the plane of its inputs.
AND and OR each have such a line. For XOR the two 1s lie on one diagonal and the two 0s on the other.
""",
    {
        "w_and": numbers([1, 1], "weights for AND"),
        "b_and": numbers(-1, "bias for AND"),
        "w_or": numbers([1, 1], "weights for OR"),
        "b_or": numbers(0, "bias for OR"),
        "w_xor": numbers([1, 1], "your weights for XOR"),
        "b_xor": numbers(0, "your bias for XOR"),
    },
    lambda v: [
        _perceptron("AND", v["w_and"], float(v["b_and"])),
        _perceptron("OR", v["w_or"], float(v["b_or"])),
        _perceptron("XOR", v["w_xor"], float(v["b_xor"])),
        _search(),
    ],
)


def _xor(v: Values) -> list[Section]:
    W, b, u, c = v["W"], v["b"], v["u"], float(v["c"])
    z = INPUTS @ W.T + b
    h = ACTIVATIONS["relu"].f(z)
    y = h @ u + c
    steps = (
        listed(
            "z",
            z,
            lambda i: ("W x + b", " + ".join([*products(W[i[1]], INPUTS[i[0]]), number(float(b[i[1]]))])),
            equation="z = W x + b",
            rows=_row,
            columns=["z₁", "z₂"],
        ),
        listed(
            "h",
            h,
            lambda i: ("max(0, z)", f"max(0, {number(float(z[i]))})"),
            equation="h = ReLU(z)",
            rows=_row,
            columns=["h₁", "h₂"],
        ),
        listed(
            "y",
            y,
            lambda i: ("u·h + c", " + ".join([*products(u, h[i[0]]), number(c)])),
            equation="y = u·h + c",
            rows=_row,
        ),
        given("XOR", TRUTH["XOR"], equation="wanted", rows=_row),
    )
    text = (
        "The hidden layer puts 01 and 10 on the same point; in its coordinates one line separates the answers. "
        "It did not answer the question, it moved the points to where the last unit can."
    )
    names = [f"{_row(i)}][{j}" for i in range(4) for j in range(2)]
    checks = figures("h", h, [[0, 0], [1, 0], [1, 0], [2, 1]], 0.0, names)
    checks += figures("y", y, TRUTH["XOR"], 0.0, [_row(i) for i in range(4)])
    return [Section("XOR by two ReLU units", text, steps, "x", checks=tuple(checks)), _without(W, b, u, c)]


def _apart(one: Floats, two: Floats) -> float:
    """The largest difference, against the larger numbers where these are above 1."""
    return float(np.abs(one - two).max() / max(1.0, np.abs(one).max()))


def _without(W: Floats, b: Floats, u: Floats, c: float) -> Section:
    """The same network with the bend taken out: one linear map."""
    y = (INPUTS @ W.T + b) @ u + c
    folded_w, folded_b = u @ W, float(u @ b + c)
    steps = (
        given("y", y, equation="y = u·(W x + b) + c, no ReLU", rows=_row),
        listed(
            "one layer",
            INPUTS @ folded_w + folded_b,
            lambda i: ("(u W) x + (u·b + c)", " + ".join([*products(folded_w, INPUTS[i[0]]), number(folded_b)])),
            equation="(u W) x + (u·b + c)",
            rows=_row,
        ),
        given("XOR", TRUTH["XOR"], equation="wanted", rows=_row),
    )
    gap = _apart(steps[0].value, steps[1].value)
    text = "Take the ReLU out and both layers together are one straight line again: XOR is gone."
    return Section(
        "The same without ReLU", text, steps, "x", checks=(Check("two layers − one layer", gap, 0.0, 1e-12),)
    )


XOR = Lesson(
    "xor",
    "XOR by two ReLU units",
    "a hidden layer makes inputs separable; without its bend it does not",
    "\nOne unit cannot compute XOR (see `gates`). Two units in between can: they give the inputs new coordinates.\n",
    {
        "W": numbers([[1, 1], [1, 1]], "weights of the two hidden units"),
        "b": numbers([0, -1], "their biases"),
        "u": numbers([1, -2], "the readout's weights"),
        "c": numbers(0, "the readout's bias"),
    },
    _xor,
)


def _folding(v: Values) -> list[Section]:
    W1, b1, W2, b2, x = v["W1"], v["b1"], v["W2"], v["b2"], v["x"]
    between = W1 @ x + b1
    twice, W, b = W2 @ between + b2, W2 @ W1, W2 @ b1 + b2
    once = W @ x + b

    def opened(row: int, M: Floats, column: Floats, bias: Floats) -> str:
        return " + ".join([*products(M[row], column), number(float(bias[row]))])

    layers = (
        listed(
            "W2 z + b2", twice, lambda i: ("", opened(i[0], W2, between, b2)), equation="z = W1 x + b1; y = W2 z + b2"
        ),
        listed("W x + b", once, lambda i: ("", opened(i[0], W, x, b)), equation="W = W2 W1; b = W2 b1 + b2"),
    )
    matrix: tuple[Step, ...] = (
        listed(
            "W",
            W,
            lambda i: ("Σ_k W2[i][k]·W1[k][j]", " + ".join(products(W2[i[0]], W1[:, i[1]]))),
            equation="W = W2 W1",
            columns=[str(j) for j in range(W.shape[1])],
        ),
        listed("b", b, lambda i: ("W2 b1 + b2", opened(i[0], W2, b1, b2)), equation="b = W2 b1 + b2"),
    )
    gap = _apart(twice, once)
    bent = W2 @ ACTIVATIONS["relu"].f(between) + b2
    relu = (given("with ReLU", bent, equation="W2 max(0, z) + b2"),)
    return [
        Section("One matrix in the place of two", "", matrix, "output"),
        Section("Both give the same y", "", layers, "output", checks=(Check("two − one", gap, 0.0, 1e-12),)),
        Section("With a bend between them they do not", "", relu, "output"),
    ]


FOLDING = Lesson(
    "folding",
    "Two linear layers are one",
    "why the function between layers is not optional",
    "\nW2 (W1 x + b1) + b2 = (W2 W1) x + (W2 b1 + b2): depth without a bend between the layers buys nothing.\n",
    {
        "W1": numbers([[1, -2], [0.5, 1], [-1, 0.5]], "the first layer's weights"),
        "b1": numbers([0.5, -1, 0], "its biases"),
        "W2": numbers([[1, 2, -1], [0.5, -1, 1]], "the second layer's weights"),
        "b2": numbers([0, 1], "its biases"),
        "x": numbers([1, 2], "the input"),
    },
    _folding,
)
