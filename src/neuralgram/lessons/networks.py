"""Two networks small enough to do by hand: three tokens, five words."""

from __future__ import annotations

import numpy as np

from neuralgram.lessons.base import Lesson, Parameter, Values, figures, numbers
from neuralgram.neural.panels import explain
from neuralgram.neural.reference import Forward, Network
from neuralgram.numbers import bracketed, number
from neuralgram.text.windows import windows
from neuralgram.tracing.formulas import given, listed
from neuralgram.tracing.names import Words
from neuralgram.tracing.panels import sections
from neuralgram.tracing.steps import Check, Floats, Index, Section
from neuralgram.tracing.update import Update, update

THREE = ("a", "b", "c")
FIVE = ("the", "cat", "dog", "sat", "ran")


def network(v: Values) -> Network:
    """The network of a lesson's numbers C, H, d, U, b and, where there is one, W."""
    names = {"emb.weight": "C", "hidden.weight": "H", "hidden.bias": "d", "out.weight": "U", "out.bias": "b"}
    weights = {key: np.asarray(v[letter], np.float64) for key, letter in names.items()}
    if "W" in v:
        weights["direct.weight"] = np.asarray(v["W"], np.float64)
    return Network(weights)


def _ids(v: Values) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    return v["window"].astype(np.int64)


def _three(v: Values) -> list[Section]:
    net, ids, target = network(v), _ids(v), int(v["target"])
    f = net.forward(ids)
    words = Words(lambda i: THREE[i], (0, 1, 2), target, 12)
    made = update(net, f, words, None)
    pages = sections(explain(net, f, words.shown), words)
    checks = _three_checks(net, f, made)
    return [_windows(), *pages, *made.sections, _reversed(net, f, words), _figures(checks)]


def _windows() -> Section:
    contexts, targets = windows([5, 6, 7, 8], 2)
    table = np.column_stack([contexts, targets]).astype(np.float64)
    step = given("ids", table, equation="5 6 7 8 with c = 2", columns=["w(t−2)", "w(t−1)", "target"])
    text = "Every token that has a full window before it is a target; the first two never are."
    checks = figures("windows", table, [[5, 6, 7], [6, 7, 8]], 0.0, ["0][0", "0][1", "0][2", "1][0", "1][1", "1][2"])
    return Section("Windows", text, (step,), "window", checks=tuple(checks))


def _reversed(net: Network, f: Forward, words: Words) -> Section:
    back = net.forward(f.ids[::-1].copy())
    without = f.y - net.parts(f.x, f.g).get("direct", 0.0)
    steps = (
        given("y", f.y, equation="this window", rows=words.name),
        given("y reversed", back.y, equation="the window read the other way round", rows=words.name),
        given("y without W", without, equation="b + U a alone", rows=words.name),
    )
    text = "Each place of the window has its own columns of H and W: order is part of the model."
    return Section("What order and the direct path do", text, steps, "word")


def _three_checks(net: Network, f: Forward, made: Update) -> list[Check]:
    six = 5e-7
    back = net.forward(np.array([2, 0]))
    straight = net.forward(np.array([0, 2]))
    checks = figures("x", f.x, [1, -1], six) + figures("a", f.a[0], 0.761594, six)
    checks += figures("y", f.y, [1.761594, 0.5, -1.761594], six, THREE)
    with np.errstate(over="ignore"):  # the scores a reader has chosen may be beyond exp
        e = np.exp(f.y)
    checks += figures("exp y", e, [5.821711, 1.648721, 0.171771], six, THREE)
    checks += figures("Σ exp y", e.sum(), 7.642203, six)
    checks += figures("p", f.p, [0.761784, 0.215739, 0.022477], six, THREE)
    checks += figures("ℓ", made.loss, 0.272092, six)
    checks += figures("∂b", made.gradients["out.bias"], [-0.238216, 0.215739, 0.022477], six, THREE)
    slope = 1 - float(f.a[0][0]) ** 2
    delta = float(made.gradients["hidden.bias"][0])
    g_a = float((net.weights["out.weight"].T @ made.gradients["out.bias"])[0])
    checks += figures("∂a", g_a, -0.260692, six) + figures("1 − tanh²1", slope, 0.419974, six)
    checks += figures("δ", delta, -0.109484, six)
    checks += figures("∂C(b)", made.gradients["emb.weight"][1], 0.0, 0.0)
    checks += figures("y for (c, a)", back.y, [-1.761594, 0.5, 1.761594], six, THREE)
    without = straight.y - net.parts(straight.x, straight.g).get("direct", 0.0)
    return checks + figures("y without W", without, [0.761594, 0.5, -0.761594], six, THREE)


def _figures(checks: list[Check]) -> Section:
    return Section("The figures", checks=tuple(checks))


def _window(words: tuple[str, ...], ids: list[int]) -> Parameter:
    return numbers(ids, "the window, oldest first", words=words)


THREE_TOKENS = Lesson(
    "three-tokens",
    "Three tokens, one hidden unit, by hand",
    "the whole equation with numbers that fit on a page, forward and back",
    """
Vocabulary a, b, c; a window of two; one coordinate a token; one hidden unit; and the direct path W from the vectors
straight to the scores: y = b + W x + U tanh(d + H x). The window is (a, c), and a comes next.
""",
    {
        "window": _window(THREE, [0, 2]),
        "target": numbers(0, "the token that comes next", words=THREE),
        "C": numbers([[1], [0], [-1]], "a row a token", rows=THREE),
        "H": numbers([[0.5, -0.5]], "hidden weights"),
        "d": numbers([0], "hidden bias"),
        "U": numbers([[1], [0], [-1]], "output weights", rows=THREE),
        "b": numbers([0, 0.5, 0], "output biases", rows=THREE),
        "W": numbers([[1, 0], [0, 0], [0, 1]], "the direct path", rows=THREE),
    },
    _three,
)


def _five(v: Values) -> list[Section]:
    net, ids, target, lr = network(v), _ids(v), int(v["target"]), float(v["lr"])
    f = net.forward(ids)
    words = Words(lambda i: FIVE[i], tuple(range(5)), target, 12)
    made = update(net, f, words, lr)
    pages = [*sections(explain(net, f, words.shown), words), _contexts(net, target, words), *made.sections[:-1]]
    return [*pages, _table(net, made, words), _figures(_five_checks(net, f, made))]


def _contexts(net: Network, target: int, words: Words) -> Section:
    """P of every word after three windows."""
    asked = ((0, 1), (0, 2), (1, 0))
    names = [" ".join(FIVE[i] for i in ids) for ids in asked]
    table = np.stack([net.forward(np.array(ids)).p for ids in asked], axis=1)
    step = given("P", table, equation="the same weights, three windows", rows=words.name, columns=names)
    text = (
        "cat and dog were put close together, so the distributions after “the cat” and “the dog” are close; "
        "turning the window round puts the same rows on other columns of H, and changes more."
    )
    marks = {target: "target"}
    return Section("Change the words, keep the network", text, (step,), "word", marks=marks)


def _table(net: Network, made: Update, words: Words) -> Section:
    """Before and after: every row of C, the target's bias, its probability."""
    C, after = net.weights["emb.weight"], made.after or {}
    lr, target = float(made.lr or 0.0), made.target
    names = [f"C({word})[{i}]" for word in FIVE for i in range(C.shape[1])]
    names += [f"b({FIVE[target]})", f"P({FIVE[target]} | window)"]
    old = np.array([*C.ravel(), net.weights["out.bias"][target], made.probability])
    new = np.array([*after["emb.weight"].ravel(), after["out.bias"][target], made.probability_after or 0.0])
    slope = np.array([*made.gradients["emb.weight"].ravel(), made.gradients["out.bias"][target], 0.0])

    def opened(index: Index) -> tuple[str, str]:
        i = index[0]
        if i == len(names) - 1:
            return "the window again, every parameter changed", ""
        return f"{names[i]} − lr·∂{names[i]}", f"{number(old[i])} − {number(lr)}·{bracketed(slope[i])}"

    steps = (
        given("before", old, rows=lambda i: names[i]),
        listed("after", new, opened, equation="θ ← θ − lr·∂θ", rows=lambda i: names[i]),
    )
    marks = {i: "unchanged" for i in range(len(names)) if old[i] == new[i]}
    text = (
        "All gradients are taken before anything is changed. Words outside the window keep their rows, the target too."
    )
    return Section("One full update", text, steps, "number", marks=marks)


def _five_checks(net: Network, f: Forward, made: Update) -> list[Check]:
    after: dict[str, Floats] = made.after or {}

    def sat(*ids: int) -> float:
        return float(net.forward(np.array(ids)).p[3])

    checks = figures("a", f.a[0], [0.6640, 0.2913])
    checks += figures("y", f.y, [-0.2074, -0.1619, -0.1247, 1.1388, 0.7606], names=FIVE)
    checks += figures("p", f.p, [0.1041, 0.1089, 0.1131, 0.4000, 0.2740], names=FIVE)
    checks += figures("P(sat | the cat)", sat(0, 1), 0.4000)
    checks += figures("P(sat | the dog)", sat(0, 2), 0.395, 5e-4) + figures("P(sat | cat the)", sat(1, 0), 0.324, 5e-4)
    C = after["emb.weight"]
    checks += figures("C(the) after", C[0], [0.2193, -0.0976]) + figures("C(cat) after", C[1], [0.8480, 0.4265])
    checks += figures("C(dog) after", C[2], [0.7, 0.5], 0.0) + figures("C(sat) after", C[3], [-0.3, 0.9], 0.0)
    checks += figures("b(sat) after", after["out.bias"][3], 0.4200)
    return checks + figures("P(sat | the cat) after", made.probability_after or 0.0, 0.4811)


FIVE_WORDS = Lesson(
    "five-words",
    "Five words: a prediction and one update",
    "the, cat, dog, sat, ran: every lookup, score, probability and change",
    """
Two words are read, each has two coordinates, there are two hidden units and no direct path. The weights were put there
by hand, cat and dog close together; nothing was learned yet. Then “the cat” is followed by “sat”, and one step is made.
""",
    {
        "window": _window(FIVE, [0, 1]),
        "target": numbers(3, "the word that comes next", words=FIVE),
        "lr": numbers(0.2, "the learning rate", least=0),
        "C": numbers([[0.2, -0.1], [0.8, 0.4], [0.7, 0.5], [-0.3, 0.9], [-0.4, 1.0]], "a row a word", rows=FIVE),
        "H": numbers([[0.5, -0.2, 0.8, 0.1], [-0.4, 0.6, 0.1, 0.9]], "hidden weights"),
        "d": numbers([0, 0], "hidden biases"),
        "U": numbers([[-0.4, 0.2], [-0.2, -0.1], [-0.1, -0.2], [1, 0.6], [0.6, 0.9]], "output weights", rows=FIVE),
        "b": numbers([0, 0, 0, 0.3, 0.1], "output biases", rows=FIVE),
    },
    _five,
)
