"""One prediction of a network as sections: window, lookup, hidden layers, scores, softmax."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from neuralgram.numbers import number
from neuralgram.tracing import panels
from neuralgram.tracing.formulas import contraction, elementwise, given, listed, products
from neuralgram.tracing.names import Words, letter_of
from neuralgram.tracing.network import Forward, Network
from neuralgram.tracing.steps import Floats, Index, Namer, Section, Step

_FULL_TERMS = 6  # up to so many numbers in x, each product of H x has a column of its own


def sections(network: Network, f: Forward, words: Words) -> list[Section]:
    """Everything from the ids of the window to the probabilities of the next token."""
    out = [_lookup(network, f, words)]
    for i, name in enumerate(network.layers):
        out.append(_hidden(network, f, words, i, name))
    if "project.weight" in network.weights and f.g is not None:
        P = network.weights["project.weight"]
        step = contraction("g", P, f.a[-1], letters=("", "P", _unit_letter(network, -1)), equation="g = P a")
        out.append(Section("Projected to the width of C", steps=(step,), row_name="coordinate"))
    if network.whole is not None:
        told = network.whole.explain(network.weights, f.ids, panels.looked_at(words))
        return out + panels.sections(told, words)
    return [*out, _scores(network, f, words), _softmax(f, words)]


def place_name(position: int, context: int) -> str:
    """The window's places as the paper writes them, oldest first: w(t−2), w(t−1)."""
    return f"w(t−{context - position})"


def x_names(f: Forward, name: Namer) -> Callable[[int], str]:
    """What the numbers of x are called: the word they belong to, its place where a word stands twice, a coordinate."""
    context, width = len(f.ids), len(f.x) // len(f.ids)
    words = [name(int(w)) for w in f.ids]
    if len(set(words)) < context:
        words = [f"{word} {place_name(i, context)}" for i, word in enumerate(words)]
    return lambda k: f"{words[k // width]}·{k % width}"


def _lookup(network: Network, f: Forward, words: Words) -> Section:
    C = network.weights["emb.weight"]
    context, width = len(f.ids), C.shape[1]

    def row(i: int) -> str:
        return words.name(int(f.ids[i]))

    def explain(index: Index) -> tuple[str, str]:
        w, value = int(f.ids[index[0]]), number(float(C[f.ids[index[0]], index[1]]))
        return f"Σ_v onehot[v]·C[v][{index[1]}]", f"0·… + 1·{value} (v = {w}) + 0·…"

    x = listed(
        "C",
        f.x.reshape(context, width),
        explain,
        equation="x = [C[w(t−c)]; …; C[w(t−1)]]",
        inputs={"C": C[f.ids]},
        rows=row,
        note="each row is the one-hot vector of its word times C; side by side, oldest first, they are x",
    )
    places = {
        i: f"{place_name(i, context)}, id {int(w)}, x[{i * width}]"
        + (f" … x[{(i + 1) * width - 1}]" if width > 1 else "")
        for i, w in enumerate(f.ids)
    }
    return Section("Look up the window's words in C", steps=(x,), row_name="word", marks=places)


def _unit_letter(network: Network, layer: int) -> str:
    """a, a2, a3, … by layer."""
    index = layer % len(network.layers)
    return "a" if index == 0 else f"a{index + 1}"


def _hidden(network: Network, f: Forward, words: Words, layer: int, name: str) -> Section:
    H, d = network.weights[f"{name}.weight"], network.weights[f"{name}.bias"]
    suffix = "" if layer == 0 else str(layer + 1)
    below, below_letter = (f.x, "x") if layer == 0 else (f.a[layer - 1], _unit_letter(network, layer - 1))
    letters = (letter_of(f"{name}.bias"), letter_of(f"{name}.weight"), below_letter)
    z_name, a_name = f"z{suffix}", f"a{suffix}"
    z = contraction(
        z_name, H, below, letters=letters, bias=d, equation=f"{z_name} = {letters[0]} + {letters[1]} {below_letter}"
    )
    a = elementwise(
        a_name, network.activation.formula.replace("{z}", "{" + z_name + "}"), f.a[layer], {z_name: f.z[layer]}
    )
    terms = (_terms(f, words, H, d),) if layer == 0 else ()
    saturated = network.activation.saturated(network.activation.slope(f.z[layer], f.a[layer]))
    word = "off" if network.activation_name == "relu" else "saturated"
    marks = {int(unit): word for unit in np.flatnonzero(saturated)}
    title = "Hidden layer" if len(network.layers) == 1 else f"Hidden layer {layer + 1}"
    shown = _strongest(network, f, layer, words)
    text = "" if shown is None else f"the {len(shown)} of {len(d)} units that weigh most in the likeliest token's score"
    if (layer < len(network.layers) - 1 or network.whole is not None) and shown is not None:
        text = f"the {len(shown)} of {len(d)} units that are largest"
    return Section(title, text, (*terms, z, a), row_name="unit", shown=shown, marks=marks)


def _terms(f: Forward, words: Words, H: Floats, d: Floats) -> Step:
    """d and the parts of H x side by side: product by product where there are few, else word by word."""
    width = len(f.x) // len(f.ids)
    names = x_names(f, words.name)
    if len(f.x) <= _FULL_TERMS:
        blocks = [slice(k, k + 1) for k in range(len(f.x))]
        columns = ["d", *(names(k) for k in range(len(f.x)))]
    else:
        blocks = [slice(i * width, (i + 1) * width) for i in range(len(f.ids))]
        columns = ["d", *(f"{words.name(int(w))} {place_name(i, len(f.ids))}" for i, w in enumerate(f.ids))]
    table = np.column_stack([d, *(H[:, block] @ f.x[block] for block in blocks)])

    def explain(index: Index) -> tuple[str, str]:
        if index[1] == 0:
            return f"d[{index[0]}]", ""
        block = blocks[index[1] - 1]
        first, last = block.start, block.stop - 1
        span = f"x[{first}]" if first == last else f"k = {first} … {last}"
        general = f"H[{index[0]}][{first}]·{span}" if first == last else f"Σ_k H[{index[0]}][k]·x[k], {span}"
        return general, " + ".join(products(H[index[0], block], f.x[block]))

    return listed("Hx", table, explain, equation="the terms of d + H x", inputs={"x": f.x, "d": d}, columns=columns)


def _strongest(network: Network, f: Forward, layer: int, words: Words) -> tuple[int, ...] | None:
    """The units to show where there are more than `words.units`: those that weigh most in the best score."""
    a = f.a[layer]
    if len(a) <= words.units:
        return None
    weight = np.abs(a)
    if layer == len(f.a) - 1 and network.output is not None and network.whole is None:
        vector = network.output[words.shown[0]]
        if "project.weight" in network.weights:
            vector = vector @ network.weights["project.weight"]
        weight = np.abs(vector * a)
    return tuple(int(unit) for unit in np.argsort(-weight, kind="stable")[: words.units])


def _scores(network: Network, f: Forward, words: Words) -> Section:
    w = network.weights
    steps = [given("b", w["out.bias"], equation="b, the word's own", rows=words.name)]
    parts: dict[str, Floats | float] = {"b": w["out.bias"]}
    if f.direct is not None:
        steps.append(
            contraction("Wx", w["direct.weight"], f.x, letters=("", "W", "x"), equation="W x", rows=words.name)
        )
        parts["Wx"] = f.direct
    if f.hidden is not None and f.g is not None and network.output is not None:
        letter, vector = ("C" if network.tie else "U"), ("g" if "project.weight" in w else _unit_letter(network, -1))
        name = f"{letter}{vector}"
        equation = f"{letter} {vector}" + (" (tied: the rows of C)" if network.tie else "")
        steps.append(
            contraction(name, network.output, f.g, letters=("", letter, vector), equation=equation, rows=words.name)
        )
        parts[name] = f.hidden
    template = " + ".join("{" + name + "}" for name in parts)
    steps.append(elementwise("y", template, f.y, parts, rows=words.name))
    return Section("Scores", steps=tuple(steps), row_name="word", shown=words.shown, marks=words.marks)


def _softmax(f: Forward, words: Words) -> Section:
    total = float(f.e.sum())
    highest, total_step = (
        listed(
            "max",
            f.highest,
            lambda index: (f"y[{words.name(int(f.y.argmax()))}]", ""),
            equation="the largest score",
            note="subtracting it changes no probability and keeps exp from overflowing",
        ),
        listed("Σ", total, lambda index: (f"Σ_v e[v] over {len(f.e)} words", ""), equation="Σ = Σ_v e[v]"),
    )
    e = elementwise("e", "exp({y} − {max})", f.e, {"y": f.y, "max": f.highest}, rows=words.name)
    p = elementwise("p", "{e} / {Σ}", f.p, {"e": f.e, "Σ": total}, rows=words.name)
    return Section(
        "Softmax",
        steps=(highest, total_step, e, p),
        row_name="word",
        shown=words.shown,
        marks=words.marks,
        bars="p",
    )
