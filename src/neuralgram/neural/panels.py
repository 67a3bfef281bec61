"""What a network tells of one prediction: window, lookup, hidden layers, scores, softmax or the head's own way to P."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from neuralgram.explanation import Floats, Index, Panel, Quantity, Spelled, products
from neuralgram.neural.reference import Forward, Network
from neuralgram.numbers import number

_FULL_TERMS = 6  # up to so many numbers in x, each product of H x has a column of its own


def explain(network: Network, f: Forward, words: Sequence[int]) -> tuple[Panel, ...]:
    """Everything from the ids of one window to the probabilities of the next token."""
    out = [_lookup(network, f), *(_hidden(network, f, i) for i in range(len(network.layers)))]
    if "project.weight" in network.weights:
        a = letter(network, -1)
        inputs = {"P": network.weights["project.weight"], a: f.a[-1]}
        g = Quantity("g", _known(f.g), "g = P a", inputs=inputs, product=("P", a))
        out.append(Panel("Projected to the width of C", (g,), _numbered(_known(f.g)), "coordinate"))
    if network.whole is not None:
        return (*out, *network.whole.explain(network.weights, f.ids, words))
    return (*out, _scores(network, f), _softmax(f))


def summary(config: Mapping[str, Any]) -> str:
    """A network's sizes and options, in a line."""
    hidden = config["d_hidden"]
    sizes = f"V {config['vocab']}, c {config['context']}, m {config['d_emb']}, h {hidden}"
    options = [config["activation"] if hidden else "no hidden layer", "direct path" if config["direct"] else ""]
    options += ["tied" if config["tie"] else "", "" if config["head"] == "softmax" else f"head {config['head']}"]
    return f"a network: {sizes}, {', '.join(option for option in options if option)}"


def place_name(position: int, context: int) -> str:
    """The window's places as the paper writes them, oldest first: w(t−2), w(t−1)."""
    return f"w(t−{context - position})"


def x_names(f: Forward, spelled: Spelled) -> Callable[[int], str]:
    """What the numbers of x are called: the word they belong to, its place where a word stands twice, a coordinate."""
    context, width = len(f.ids), len(f.x) // len(f.ids)
    words = [spelled(int(w)) for w in f.ids]
    if len(set(words)) < context:
        words = [f"{word} {place_name(i, context)}" for i, word in enumerate(words)]
    return lambda k: f"{words[k // width]}·{k % width}"


def letter(network: Network, layer: int) -> str:
    """a, a2, a3, … by layer."""
    index = layer % len(network.layers)
    return "a" if index == 0 else f"a{index + 1}"


def _known(values: Floats | None) -> Floats:
    return np.empty(0) if values is None else values


def _numbered(values: Floats) -> tuple[str, ...]:
    return tuple(map(str, range(len(values))))


def _lookup(network: Network, f: Forward) -> Panel:
    C = network.weights["emb.weight"]
    context, width = len(f.ids), C.shape[1]

    def opened(index: Index, _: Spelled) -> tuple[str, str]:
        w, value = int(f.ids[index[0]]), number(float(C[f.ids[index[0]], index[1]]))
        return f"Σ_v onehot[v]·C[v][{index[1]}]", f"0·… + 1·{value} (v = {w}) + 0·…"

    x = Quantity(
        "C",
        f.x.reshape(context, width),
        "x = [C[w(t−c)]; …; C[w(t−1)]]",
        inputs={"C": C[f.ids]},
        opened=opened,
        note="each row is the one-hot vector of its word times C; side by side, oldest first, they are x",
    )
    places = {
        i: f"{place_name(i, context)}, id {int(w)}, x[{i * width}]"
        + (f" … x[{(i + 1) * width - 1}]" if width > 1 else "")
        for i, w in enumerate(f.ids)
    }
    return Panel("Look up the window's words in C", (x,), lambda i, spelled: spelled(int(f.ids[i])), marks=places)


def _hidden(network: Network, f: Forward, layer: int) -> Panel:
    name, a, z = network.layers[layer], f.a[layer], f.z[layer]
    suffix, first = ("", True) if layer == 0 else (str(layer + 1), False)
    H, d = network.weights[f"{name}.weight"], network.weights[f"{name}.bias"]
    H_name, d_name, below = f"H{suffix}", f"d{suffix}", "x" if first else letter(network, layer - 1)
    inputs = {d_name: d, H_name: H, below: f.x if first else f.a[layer - 1]}
    equation = f"z{suffix} = {d_name} + {H_name} {below}"
    formula = network.activation.formula.replace("{z}", f"{{z{suffix}}}")
    quantities = (
        *([_terms(f, H, d)] if first else []),
        Quantity(f"z{suffix}", z, equation, inputs=inputs, product=(d_name, H_name, below)),
        Quantity(f"a{suffix}", a, formula=formula, inputs={f"z{suffix}": z}),
    )
    saturated = np.flatnonzero(network.activation.saturated(network.activation.slope(z, a)))
    marks = {int(unit): "off" if network.activation_name == "relu" else "saturated" for unit in saturated}
    title = "Hidden layer" if len(network.layers) == 1 else f"Hidden layer {layer + 1}"
    weight, most = np.abs(a), "units that are largest"
    if layer == len(f.a) - 1 and network.output is not None and network.whole is None:
        vector = network.output[int(f.y.argmax())]
        if "project.weight" in network.weights:
            vector = vector @ network.weights["project.weight"]
        weight, most = np.abs(vector * a), "units that weigh most in the likeliest token's score"
    return Panel(title, quantities, _numbered(a), "unit", marks=marks, weight=weight, most=most)


def _terms(f: Forward, H: Floats, d: Floats) -> Quantity:
    """d and the parts of H x side by side: product by product where there are few, else word by word."""
    width = len(f.x) // len(f.ids)
    few = len(f.x) <= _FULL_TERMS
    step = 1 if few else width
    blocks = [slice(k, k + step) for k in range(0, len(f.x), step)]
    table = np.column_stack([d, *(H[:, block] @ f.x[block] for block in blocks)])

    def columns(spelled: Spelled) -> list[str]:
        names = x_names(f, spelled)
        words = [f"{spelled(int(w))} {place_name(i, len(f.ids))}" for i, w in enumerate(f.ids)]
        return ["d", *(map(names, range(len(f.x))) if few else words)]

    def opened(index: Index, _: Spelled) -> tuple[str, str]:
        if index[1] == 0:
            return f"d[{index[0]}]", ""
        block = blocks[index[1] - 1]
        first, last = block.start, block.stop - 1
        span = f"x[{first}]" if first == last else f"k = {first} … {last}"
        general = f"H[{index[0]}][{first}]·{span}" if first == last else f"Σ_k H[{index[0]}][k]·x[k], {span}"
        return general, " + ".join(products(H[index[0], block], f.x[block]))

    return Quantity("Hx", table, "the terms of d + H x", inputs={"x": f.x, "d": d}, opened=opened, columns=columns)


def _scores(network: Network, f: Forward) -> Panel:
    w, parts = network.weights, network.parts(f.x, f.g)
    quantities = [Quantity("b", w["out.bias"], "b, the word's own")]
    if "direct" in parts:
        inputs = {"W": w["direct.weight"], "x": f.x}
        quantities.append(Quantity("Wx", parts["direct"], "W x", inputs=inputs, product=("W", "x")))
    if "hidden" in parts:
        table, vector = ("C" if network.tie else "U"), ("g" if "project.weight" in w else letter(network, -1))
        equation = f"{table} {vector}" + (" (tied: the rows of C)" if network.tie else "")
        inputs = {table: _known(network.output), vector: _known(f.g)}
        made = Quantity(f"{table}{vector}", parts["hidden"], equation, inputs=inputs, product=(table, vector))
        quantities.append(made)
    terms = {quantity.name: quantity.value for quantity in quantities}
    quantities.append(Quantity("y", f.y, formula=" + ".join("{" + name + "}" for name in terms), inputs=terms))
    return Panel("Scores", tuple(quantities))


def _softmax(f: Forward) -> Panel:
    highest, total = np.asarray(f.y.max()), np.asarray(f.e.sum())

    def largest(_: Index, spelled: Spelled) -> tuple[str, str]:
        return f"y[{spelled(int(f.y.argmax()))}]", ""

    def summed(_: Index, spelled: Spelled) -> tuple[str, str]:
        return f"Σ_v e[v] over {len(f.y)} words", ""

    quantities = (
        Quantity(
            "max",
            highest,
            "the largest score",
            opened=largest,
            note="subtracting it changes no probability and keeps exp from overflowing",
        ),
        Quantity("Σ", total, "Σ = Σ_v e[v]", opened=summed),
        Quantity("e", f.e, formula="exp({y} − {max})", inputs={"y": f.y, "max": highest}),
        Quantity("p", f.p, formula="{e} / {Σ}", inputs={"e": f.e, "Σ": total}),
    )
    return Panel("Softmax", quantities)
