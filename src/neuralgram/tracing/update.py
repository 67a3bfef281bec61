"""One update of a network as sections: the error, its way back, every gradient, before and after."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from neuralgram.errors import InputError
from neuralgram.neural.panels import x_names
from neuralgram.neural.reference import Forward, Gradients, Network
from neuralgram.tracing import learning
from neuralgram.tracing.formulas import contraction, elementwise, given, listed
from neuralgram.tracing.names import Words
from neuralgram.tracing.steps import Floats, Index, Section, Step


@dataclass(frozen=True, eq=False)
class Update:
    """What one example with a target teaches: gradients, and with a learning rate one full SGD step.

    gradients      by state-dict key, in its order; nats per unit of the parameter
    frozen         parameters that training leaves alone
    after          the weights after the step, or None without a learning rate
    loss, probability          −log p[target] and p[target] before the step
    loss_after, …              the same after it, or None
    """

    target: int
    lr: float | None
    gradients: dict[str, Floats]
    frozen: frozenset[str]
    sections: tuple[Section, ...]
    after: dict[str, Floats] | None
    loss: float
    loss_after: float | None

    @property
    def probability(self) -> float:
        """p[target] before the step."""
        return float(np.exp(-self.loss))

    @property
    def probability_after(self) -> float | None:
        """p[target] after the step."""
        return None if self.loss_after is None else float(np.exp(-self.loss_after))

    def to_json(self) -> dict[str, Any]:
        """JSON values; of each gradient its norm (`Trace.gradient` has the entries)."""
        norms = {name: float(np.linalg.norm(g)) for name, g in self.gradients.items()}
        return {
            "target": self.target,
            "lr": self.lr,
            "loss": self.loss,
            "probability": self.probability,
            "loss_after": self.loss_after,
            "probability_after": self.probability_after,
            "gradient_norms": norms,
            "sections": [section.to_json() for section in self.sections],
        }


def update(network: Network, f: Forward, words: Words, lr: float | None) -> Update:
    """The gradients of −log p[target] and, with `lr`, the step θ ← θ − lr·∂ℓ/∂θ of everything that is not frozen."""
    target = words.target
    if target is None:
        raise InputError("no target: a gradient needs the token that came next (--target)")
    if lr is not None and not (np.isfinite(lr) and lr >= 0):
        raise InputError(f"learning rate {lr}: expected a number of 0 or more")
    g = network.backward(f, target)
    error = _error(f, g, words) if network.whole is None else _loss(f, words)
    parts = [error, *_back(network, g), _window(network, f, g, words), learning.norms(network, g, lr)]
    parts.append(learning.rows_of_C(network, f, g, words))
    after, loss_after = None, None
    if lr is not None:
        after = {
            name: w if name in network.frozen else w - lr * g.parameters[name] for name, w in network.weights.items()
        }
        stepped = network.with_weights(after).forward(f.ids)
        loss_after = float(stepped.loss(target))
        parts.append(learning.before_after(network, (f, stepped), g, words, lr))
    loss = float(f.loss(target))
    return Update(target, lr, g.parameters, network.frozen, tuple(parts), after, loss, loss_after)


def _surprise(f: Forward, words: Words) -> Step:
    return elementwise("ℓ", "−ln {p}", -float(f.log_p[words.target]), {"p": float(f.p[words.target])})


def _loss(f: Forward, words: Words) -> Section:
    """The loss alone: how it comes back through the head is the head's affair, and autograd's."""
    text = "∂q is short for ∂ℓ/∂q. Through the head, and for its own parameters, ∂ is what autograd gives."
    return Section("The error", text, (_surprise(f, words),))


def _error(f: Forward, g: Gradients, words: Words) -> Section:
    one = np.zeros_like(f.p)
    one[words.target] = 1.0
    steps = (
        _surprise(f, words),
        given("p", f.p, equation="the prediction", rows=words.name),
        given("e_w", one, equation="1 for the token that came", rows=words.name),
        elementwise("∂y", "{p} − {e_w}", g.y, {"p": f.p, "e_w": one}, rows=words.name),
    )
    return Section("The error at the scores", "∂q is short for ∂ℓ/∂q", steps, "word", words.shown, words.marks)


def _back(network: Network, g: Gradients) -> list[Section]:
    """The error at each hidden layer, last layer first."""
    out = []
    count = len(g.a)
    for i in reversed(range(count)):
        suffix = "" if i == 0 else str(i + 1)
        above = "" if i + 1 == count else str(i + 2)
        if i + 1 < count:
            weight, error, letters = network.weights[f"hidden{above}.weight"].T, g.delta[i + 1], f"H{above}"
            back = contraction(
                f"∂a{suffix}", weight, error, letters=("", f"{letters}ᵀ", f"δ{above}"), equation=f"{letters}ᵀ δ{above}"
            )
        else:
            back = _from_output(network, g, suffix)
        formula = network.activation.slope_formula
        slope = listed(
            "slope",
            g.slope[i],
            partial(_slope_formula, formula, suffix),
            equation="f′(z) = " + formula.format(a=f"a{suffix}", z=f"z{suffix}"),
        )
        delta = elementwise(
            f"δ{suffix}", "{" + back.name + "}·{slope}", g.delta[i], {back.name: g.a[i], "slope": g.slope[i]}
        )
        shown = None
        if len(g.delta[i]) > 16:
            shown = tuple(int(unit) for unit in np.argsort(-np.abs(g.delta[i]), kind="stable")[:12])
        text = "" if shown is None else f"the {len(shown)} of {len(g.delta[i])} units with the largest error"
        title = "Back to the hidden layer" if count == 1 else f"Back to hidden layer {i + 1}"
        out.append(Section(title, text, (back, slope, delta), row_name="unit", shown=shown))
    return out


def _slope_formula(formula: str, suffix: str, index: Index) -> tuple[str, str]:
    return formula.format(a=f"a{suffix}[{index[0]}]", z=f"z{suffix}[{index[0]}]"), ""


def _from_output(network: Network, g: Gradients, suffix: str) -> Step:
    """∂a = Uᵀ(p − e_w), with C, and the projection, in the place of U where they are; else as autograd gives it."""
    output, letter = network.output, "C" if network.tie else "U"
    if network.whole is not None:
        P = network.weights.get("project.weight")
        if P is None:
            return given(f"∂a{suffix}", g.a[-1], equation="through the head")
        return contraction(f"∂a{suffix}", P.T, g.g, letters=("", "Pᵀ", "∂g"), equation="Pᵀ ∂g")
    if output is None:
        raise InputError("no hidden layer: expected one")
    if "project.weight" in network.weights:
        P = network.weights["project.weight"]
        return contraction(
            f"∂a{suffix}", P.T, g.g, letters=("", "Pᵀ", f"({letter}ᵀ∂y)"), equation=f"Pᵀ {letter}ᵀ (p − e_w)"
        )
    return contraction(f"∂a{suffix}", output.T, g.y, letters=("", f"{letter}ᵀ", "∂y"), equation=f"{letter}ᵀ (p − e_w)")


def _window(network: Network, f: Forward, g: Gradients, words: Words) -> Section:
    names = x_names(f, words.name)
    parts = [("Hᵀδ", "Hᵀ δ")] if g.delta else []
    if "direct.weight" in network.weights:
        parts.append(
            ("Wᵀ∂y", "Wᵀ (p − e_w)") if network.whole is None else ("direct", "what comes straight through the head")
        )
    whole = "∂x = " + " + ".join(equation for _, equation in parts)
    called = parts if len(parts) > 1 else [("∂x", whole)]  # of two parts each has a name of its own
    steps: list[Step] = []
    if g.delta:
        H, (name, equation) = network.weights["hidden.weight"], called[0]
        steps.append(contraction(name, H.T, g.delta[0], letters=("", "Hᵀ", "δ"), equation=equation, rows=names))
    if len(parts) > len(steps):
        W, (name, equation) = network.weights["direct.weight"], called[-1]
        if network.whole is None:
            steps.append(contraction(name, W.T, g.y, letters=("", "Wᵀ", "∂y"), equation=equation, rows=names))
        else:
            steps.append(given(name, g.past, equation=equation, rows=names))
    if len(steps) > 1:
        values: dict[str, Floats | float] = {step.name: step.value for step in steps}
        template = " + ".join("{" + name + "}" for name in values)
        steps.append(elementwise("∂x", template, g.x, values, equation=whole, rows=names))
    shown = None if len(g.x) <= 16 else tuple(int(k) for k in np.argsort(-np.abs(g.x), kind="stable")[:12])
    text = "" if shown is None else f"the {len(shown)} of {len(g.x)} numbers of x with the largest gradient"
    return Section("Back to the window", text, tuple(steps), row_name="x", shown=shown)
