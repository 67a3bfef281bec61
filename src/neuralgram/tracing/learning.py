"""What an update does: every gradient, the rows of C it reaches, numbers before and after, gradients by trying."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralgram.neural.panels import place_name
from neuralgram.neural.reference import Forward, Gradients, Network
from neuralgram.numbers import bracketed, number
from neuralgram.tracing.formulas import given, listed
from neuralgram.tracing.names import LETTERS, Words, letter_of, locate
from neuralgram.tracing.steps import Floats, Index, Section


def norms(network: Network, g: Gradients, lr: float | None) -> Section:
    """Of every parameter its norm, its gradient's, and how far one step moves it."""
    keys = list(network.weights)
    sizes = np.array([np.linalg.norm(network.weights[key]) for key in keys])
    slopes = np.array([np.linalg.norm(g.parameters[key]) for key in keys])
    formulas = gradient_formulas(network)

    def name(i: int) -> str:
        return f"{letter_of(keys[i])} {list(network.weights[keys[i]].shape)}"

    marks = {
        i: ("frozen; " if key in network.frozen else "") + formulas.get(key, "autograd") for i, key in enumerate(keys)
    }
    steps = [
        given("‖θ‖", sizes, equation="the parameter's norm", rows=name),
        given("‖∂θ‖", slopes, equation="its gradient's norm", rows=name),
    ]
    if lr is not None:
        ratio = lr * slopes / np.where(sizes > 0, sizes, np.inf)
        steps.append(given("lr·‖∂θ‖/‖θ‖", ratio, equation="how far one step moves it", rows=name))
    return Section("Every gradient", steps=tuple(steps), row_name="parameter", marks=marks)


def gradient_formulas(network: Network) -> dict[str, str]:
    """How each parameter's gradient is made, by state-dict key, in the paper's letters."""
    out = {}
    last = len(network.layers)
    top = "g" if "project.weight" in network.weights else "a" if last == 1 else f"a{last}"
    for i, name in enumerate(network.layers, 1):
        suffix, below = ("", "x") if i == 1 else (str(i), "a" if i == 2 else f"a{i - 1}")
        out[f"{name}.weight"] = f"δ{suffix} {below}ᵀ"
        out[f"{name}.bias"] = f"δ{suffix}"
    rows = "row C[w] adds up the blocks of ∂x where w stands"
    if network.whole is not None:  # what the head's parameters receive is the head's affair
        tied = ", and what comes back through the head" if network.tie else ""
        return out | {"emb.weight": rows + tied, "project.weight": f"∂g {'a' if last == 1 else f'a{last}'}ᵀ"}
    out["emb.weight"] = rows + (f", and (p − e_w) {top}ᵀ as output vectors" if network.tie else "")
    out["out.weight"] = f"(p − e_w) {top}ᵀ"
    out["out.bias"] = "p − e_w"
    out["direct.weight"] = "(p − e_w) xᵀ"
    out["project.weight"] = f"Cᵀ(p − e_w) {'a' if last == 1 else f'a{last}'}ᵀ"
    return out


def touched_rows(f: Forward) -> NDArray[np.int64]:
    """The words of the window, each once, in the order of their first place: the rows of C that ∂x reaches."""
    return np.array(list(dict.fromkeys(int(w) for w in f.ids)), np.int64)


def rows_of_C(network: Network, f: Forward, g: Gradients, words: Words) -> Section:
    """What each word of the window receives: the blocks of ∂x of its places, repeats added up."""
    rows = touched_rows(f)
    width = network.weights["emb.weight"].shape[1]
    blocks = g.x.reshape(len(f.ids), width)
    table = np.stack([blocks[f.ids == w].sum(axis=0) for w in rows])

    def name(i: int) -> str:
        return words.name(int(rows[i]))

    def explain(index: Index) -> tuple[str, str]:
        places = np.flatnonzero(f.ids == rows[index[0]]) * width + index[1]
        return " + ".join(f"∂x[{k}]" for k in places), " + ".join(number(float(g.x[k])) for k in places)

    step = listed("∂C", table, explain, equation="the blocks of ∂x of its places, added up", rows=name)
    places = {
        i: " + ".join(place_name(int(k), len(f.ids)) for k in np.flatnonzero(f.ids == w)) for i, w in enumerate(rows)
    }
    rest = len(network.weights["emb.weight"]) - len(rows)
    others = "The other row of C receives" if rest == 1 else f"The other {rest} rows of C receive"
    text = f"{others} exactly 0" if rest else "Every word stands in this window"
    if network.tie:
        text += "; but C is also the output vectors here, and as those "
        text += (
            "all of its rows receive (p − e_w) aᵀ" if network.whole is None else "its rows receive what the head gives"
        )
    return Section("Which rows of C learn", f"{text}.", (step,), row_name="word", marks=places)


def before_after(network: Network, steps: tuple[Forward, Forward], g: Gradients, words: Words, lr: float) -> Section:
    """What the step did to the rows of the window's words, and to the probabilities; `steps` are before and after."""
    f, stepped = steps
    rows = [int(w) for w in touched_rows(f)]
    frozen = "emb.weight" in network.frozen
    before = network.weights["emb.weight"][rows]
    gC = np.zeros_like(before) if frozen else g.parameters["emb.weight"][rows]
    p_rows = list(words.shown)
    b_rows = p_rows if "out.bias" in network.by_token else []
    b, gb = network.weights["out.bias"][b_rows], g.parameters["out.bias"][b_rows]
    gb = np.zeros_like(gb) if "out.bias" in network.frozen else gb
    names = [
        *(f"C[{words.name(w)}][{i}]" for w in rows for i in range(before.shape[1])),
        *(f"{LETTERS['out.bias']}[{words.name(w)}]" for w in b_rows),
    ]
    old = np.concatenate([before.ravel(), b])
    slope = np.concatenate([gC.ravel(), gb])
    p_names = [f"P({words.name(w)})" for w in p_rows]
    all_old, all_new = np.concatenate([old, f.p[p_rows]]), np.concatenate([old - lr * slope, stepped.p[p_rows]])
    every = names + p_names

    def name(i: int) -> str:
        return every[i]

    def explain(index: Index) -> tuple[str, str]:
        i = index[0]
        if i >= len(names):
            return "the same window, predicted again with every parameter changed", ""
        return f"{every[i]} − lr·∂{every[i]}", f"{number(old[i])} − {number(lr)}·{bracketed(slope[i])}"

    columns = (
        given("before", all_old, rows=name),
        listed("after", all_new, explain, equation="θ ← θ − lr·∂θ", rows=name),
    )
    shown = _largest(len(names), np.abs(slope), len(p_names))
    text = f"lr = {number(lr)}; every gradient is taken from the numbers before the step."
    return Section("One step", text, columns, row_name="number", shown=shown)


def _largest(count: int, moved: Floats, extra: int) -> tuple[int, ...] | None:
    """All parameters where they are few, else the 24 that moved most; then the probabilities."""
    if count <= 32:
        return None
    kept = sorted(int(i) for i in np.argsort(-moved, kind="stable")[:24])
    return (*kept, *range(count, count + extra))


# ---- gradients beside their finite differences ----


@dataclass(frozen=True)
class Difference:
    """One entry of a gradient beside its central difference (ℓ(θ + ε) − ℓ(θ − ε)) / 2ε."""

    name: str
    symbol: str
    index: Index
    value: float
    gradient: float
    difference: float
    epsilon: float

    @property
    def error(self) -> float:
        """|gradient − difference|, against the larger of the two where that is above 1."""
        return abs(self.gradient - self.difference) / max(1.0, abs(self.gradient), abs(self.difference))

    def to_json(self) -> dict[str, Any]:
        """JSON values."""
        return {**self.__dict__, "index": list(self.index), "error": self.error}


def finite_differences(
    network: Network, f: Forward, target: int, places: Iterable[str], row_of: Callable[[str, str], int | None]
) -> list[Difference]:
    """The gradient at each of `places` (`H[0][1]`, `C[cat][0]`) beside its central difference in float64."""
    exact = network.backward(f, target).parameters
    out = []
    for place in places:
        name, index = locate(place, network.weights, row_of)
        theta = float(network.weights[name][index])
        epsilon = 1e-5 * max(1.0, abs(theta))

        def moved(to: float, name: str = name, index: Index = index) -> float:
            weights = dict(network.weights)
            weights[name] = weights[name].copy()
            weights[name][index] = to
            return float(network.with_weights(weights).forward(f.ids).loss(target))

        difference = (moved(theta + epsilon) - moved(theta - epsilon)) / (2 * epsilon)
        out.append(Difference(name, place.strip(), index, theta, float(exact[name][index]), difference, epsilon))
    return out


def difference_section(found: list[Difference]) -> Section:
    """The finite differences as a table."""
    values = {
        "θ": [d.value for d in found],
        "∂θ": [d.gradient for d in found],
        "Δ": [d.difference for d in found],
        "error": [d.error for d in found],
    }
    equations = {
        "θ": "the parameter",
        "∂θ": "by the chain rule",
        "Δ": "Δ = (ℓ(θ + ε) − ℓ(θ − ε)) / 2ε",
        "error": "|∂θ − Δ|",
    }

    def name(i: int) -> str:
        return found[i].symbol

    steps = tuple(given(key, value, equation=equations[key], rows=name) for key, value in values.items())
    return Section("Checked by finite differences", f"ε = {number(found[0].epsilon)}", steps, row_name="parameter")
