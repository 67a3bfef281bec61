"""Softmax and its gradient; perplexity; how large a table would be; the loss before training is log V."""

from __future__ import annotations

import math

import numpy as np

from neuralgram.errors import InputError
from neuralgram.lessons.base import Lesson, Values, figures, numbers, relation
from neuralgram.lessons.training import Sample, sample_of
from neuralgram.neural.reference import Scores
from neuralgram.numbers import number
from neuralgram.tracing.formulas import elementwise, given, listed
from neuralgram.tracing.steps import Check, Floats, Index, Section

WORDS = ("fish", "do", "zebra")


def _softmax(v: Values) -> list[Section]:
    z, target = v["z"], int(v["target"])
    scores = Scores(z)
    e, p, loss = scores.e, scores.p, float(scores.loss(target))
    one = np.zeros_like(p)
    one[target] = 1.0

    def name(i: int) -> str:
        return WORDS[i]

    with np.errstate(over="ignore"):
        plain = np.exp(z)
    forward = (
        given("z", z, equation="the scores", rows=name),
        elementwise("exp z", "exp({z})", plain, {"z": z}, rows=name, equation=""),
        elementwise("e", "exp({z} − {max})", e, {"z": z, "max": float(z.max())}, rows=name),
        elementwise("p", "{e} / {Σ}", p, {"e": e, "Σ": float(e.sum())}, rows=name),
        given("max", float(z.max())),
        given("Σ", float(e.sum()), equation="Σ = Σ e"),
    )
    text = "Subtracting the largest score cancels in the fraction; it only keeps exp from overflowing (try z[0]=1000)."
    first = Section(
        "Softmax", text, forward, "word", bars="p", checks=tuple(figures("p", p, [0.659, 0.242, 0.099], 5e-4, WORDS))
    )
    backward = (
        elementwise("ℓ", "−ln {p}", loss, {"p": float(p[target])}),
        given("p", p, rows=name),
        given("e_w", one, equation="1 for the word that came", rows=name),
        elementwise("∂z", "{p} − {e_w}", p - one, {"p": p, "e_w": one}, rows=name),
        given("Σ∂z", float((p - one).sum()), equation="what the right word gains, the others lose"),
    )
    checks = figures("ℓ", loss, 0.417, 5e-4) + figures("∂z", p - one, [-0.341, 0.242, 0.099], 5e-4, WORDS)
    text = (
        f"The word that came is {WORDS[target]}. A step against the gradient raises its score and lowers the others'."
    )
    second = Section("Loss and gradient", text, backward, "word", marks={target: "target"}, checks=tuple(checks))
    return [first, second, _differences(z, target)]


def _differences(z: Floats, target: int) -> Section:
    epsilon = 1e-5
    step = np.eye(len(z)) * epsilon
    targets = np.full(len(z), target)
    slopes = (Scores(z + step).loss(targets) - Scores(z - step).loss(targets)) / (2 * epsilon)
    differences = given("Δ", slopes, equation="Δ = (ℓ(z + ε) − ℓ(z − ε)) / 2ε", rows=lambda i: WORDS[i])
    return Section("The same gradient by trying", f"ε = {number(epsilon)}", (differences,), "word")


SOFTMAX = Lesson(
    "softmax",
    "Softmax, the loss and its gradient",
    "scores to probabilities; why the gradient is p − e_w",
    "\nThree words with the scores 2, 1 and 0.1; the first of them is what came next.\n",
    {"z": numbers([2.0, 1.0, 0.1], "the scores", rows=WORDS), "target": numbers(0, "the word that came", words=WORDS)},
    _softmax,
)


def _perplexity(v: Values) -> list[Section]:
    p, size = v["p"], int(v["V"])
    nats = -np.log(p)
    mean = float(nats.mean())

    def name(i: int) -> str:
        return f"token {i + 1}"

    observed = (
        given("p", p, equation="what the model gave the tokens that came", rows=name),
        elementwise("−ln p", "−ln {p}", nats, {"p": p}, rows=name, equation="surprisal in nats"),
        elementwise("bits", "{−ln p} / ln 2", nats / math.log(2), {"−ln p": nats}, rows=name, equation="nats / ln 2"),
        listed(
            "mean",
            mean,
            lambda i: ("Σ −ln p / N", f"({' + '.join(number(float(n)) for n in nats)}) / {len(p)}"),
            equation="mean = Σ −ln p / N",
        ),
        elementwise("perplexity", "exp({mean})", math.exp(mean), {"mean": mean}),
    )
    uniform = (
        elementwise("loss", "ln {V}", math.log(size), {"V": float(size)}, equation="loss = ln V"),
        elementwise("perplexity", "exp({ln V})", float(size), {"ln V": math.log(size)}),
    )
    whole = math.exp(float(-np.log(np.full(size, 1 / size)).mean()))
    halves = (
        given("mean of perplexities", float(np.exp(nats).mean()), equation="not it: the mean of 1/p"),
        given("exp of mean loss", math.exp(mean), equation="it"),
    )
    return [
        Section(
            "Two tokens",
            "",
            observed,
            "token",
            checks=tuple(figures("perplexity", math.exp(mean), math.sqrt(8), 1e-12)),
        ),
        Section(
            f"Uniform over {size} words",
            f"A model that spreads its bets evenly has exactly the perplexity of its vocabulary: {size}.",
            uniform,
            checks=tuple(figures("perplexity", whole, 100, 1e-9)),
        ),
        Section("One average, taken in the right place", "Sum the losses, divide by the tokens, then exp.", halves),
    ]


PERPLEXITY = Lesson(
    "perplexity",
    "Perplexity",
    "√8 for probabilities 0.5 and 0.25; 100 for a uniform guess among 100",
    """
The loss of a text is the mean of −ln p over its tokens; perplexity is exp of it: among how many equally likely
tokens the model was choosing, on average. It tells how much probability the tokens got, not how often the best guess
was right.
""",
    {
        "p": numbers([0.5, 0.25], "the probabilities of the tokens that came", least=1e-300, most=1),
        "V": numbers(100, "the size of a vocabulary", whole=True, least=1, most=1e6),
    },
    _perplexity,
)


def _size(v: Values) -> list[Section]:
    V, c, m, h = (int(v[name]) for name in ("V", "c", "m", "h"))
    direct = bool(v["direct"])
    X = c * m
    parts = {
        "C: V·m": (V * m, f"{V}·{m}"),
        "H, d: h·(c·m) + h": (h * X + h, f"{h}·{X} + {h}"),
        "U, b: V·h + V": (V * h + V, f"{V}·{h} + {V}"),
    }
    if direct:
        parts["W: V·c·m"] = (V * X, f"{V}·{X}")
    names = [*parts, "in all"]
    sizes = [size for size, _ in parts.values()]
    total = sum(sizes)
    if h == 0 and not direct:
        raise InputError("h = 0 without the direct path: nothing is left to predict from")

    def opened(index: Index) -> tuple[str, str]:
        if index[0] == len(parts):
            return "the sum", " + ".join(str(size) for size in sizes)
        return names[index[0]].partition(": ")[2], list(parts.values())[index[0]][1]

    step = listed("numbers", [*sizes, total], opened, equation="", rows=lambda i: names[i])
    share = given("share", np.array([*sizes, total]) / total, equation="of all", rows=lambda i: names[i])
    text = "Linear in V and in c. Most of it is the output layer, and so is most of the work."
    checks = figures("C", parts["C: V·m"][0], 491_490, 0.0) + figures("H, d", sizes[1], 12_100, 0.0)
    checks += figures("U, b", sizes[2], 1_654_683, 0.0) + figures("in all", total, 2_158_273, 0.0)
    network = Section("The network's numbers", text, (step, share), "parameters", checks=tuple(checks))
    return [_tables(V, c), network, _direct(V, c, m, h)]


def _tables(V: int, c: int) -> Section:
    n = c + 1
    if n * math.log10(V) > 300:
        raise InputError(f"V = {number(V)}, c = {c}: V^{n} is above 10^300; choose a smaller V or c")
    steps = (
        elementwise(
            "V^n",
            "{V}^{n}",
            float(V) ** n,
            {"V": float(V), "n": float(n)},
            equation=f"a number for each of the V^{n} n-grams",
        ),
        elementwise("V^c", "{V}^{c}", float(V) ** c, {"V": float(V), "c": float(c)}, equation=f"their V^{c} histories"),
        listed("256^8", 256.0**8, lambda i: ("eight bytes", "256^8"), equation="the histories of eight bytes"),
    )
    text = "A count for every n-gram: nearly all of them are 0, whatever text is counted."
    checks = [
        *figures("V⁵ / 10²¹", float(V) ** n / 1e21, 1.18, 5e-3),
        *figures("256⁸ / 10¹⁹", 256.0**8 / 1e19, 1.84, 5e-3),
    ]
    return Section("A table of counts", text, steps, checks=tuple(checks))


def _direct(V: int, c: int, m: int, h: int) -> Section:
    n = c + 1
    formula = V * (1 + n * m + h) + h * (1 + (n - 1) * m)
    steps = (
        elementwise(
            "with W",
            "{V}·(1 + {n}·{m} + {h}) + {h}·(1 + ({n} − 1)·{m})",
            float(formula),
            {"V": float(V), "n": float(n), "m": float(m), "h": float(h)},
            equation="V(1 + n·m + h) + h(1 + (n − 1)·m)",
        ),
        elementwise("W alone", "{V}·{c}·{m}", float(V * c * m), {"V": float(V), "c": float(c), "m": float(m)}),
    )
    return Section("With the direct path", "The paper's own count.", steps)


SIZE = Lesson(
    "size",
    "The size of the problem",
    "V⁵ n-grams against two million parameters; 256⁸ histories",
    """
A table has one number for every n-gram, and the number of n-grams grows as a power of the window. The network has one
vector a word and one function for all windows. The sizes are those of the paper's best network on Brown.
""",
    {
        "V": numbers(16383, "vocabulary", whole=True, least=1, most=1e9),
        "c": numbers(4, "window, n − 1", whole=True, least=1, most=100),
        "m": numbers(30, "coordinates a word", whole=True, least=1, most=1e5),
        "h": numbers(100, "hidden units", whole=True, least=0, most=1e6),
        "direct": numbers(0, "1 with the direct path", whole=True, least=0, most=1),
    },
    _size,
)


def _first_loss(sample: Sample, scale: float, context: int) -> float:
    """The loss of an untrained network whose output weights are `scale` times as large as they should be."""
    from neuralgram.neural.nplm import NPLM
    from neuralgram.rng import PCG32

    network = NPLM(sample.train.vocab_size, context, 10, 64, direct=False, rng=PCG32(0)).network()
    weights = {**network.weights, "out.weight": network.weights["out.weight"] * scale}
    contexts, targets = sample.train.windows(context).slice(0, 512)
    return float(network.with_weights(weights).forward(contexts).loss(targets).mean())


def _log_V(v: Values) -> list[Section]:
    scales = v["scale"]
    texts = {"the story, by characters": sample_of("story"), "the animals, by words": sample_of("animals")}
    names = list(texts)
    sizes = np.array([sample.train.vocab_size for sample in texts.values()], np.float64)
    losses = np.array([[_first_loss(sample, float(s), 3) for s in scales] for sample in texts.values()])
    uniform = (
        given("V", sizes, rows=lambda i: names[i]),
        elementwise(
            "log V", "ln {V}", np.log(sizes), {"V": sizes}, rows=lambda i: names[i], equation="−ln(1/V) = ln V"
        ),
        given("perplexity", sizes, equation="exp(ln V) = V", rows=lambda i: names[i]),
    )
    checks = figures("V", sizes, [26, 16], 0.0) + figures("log V", np.log(sizes), [3.26, 2.77], 5e-3)
    measured = given(
        "first loss",
        losses,
        equation="mean −ln p before any update, output weights × …",
        rows=lambda i: names[i],
        columns=[f"× {s:g}" for s in scales],
    )
    near: list[Check] = [
        relation(
            "as initialised, the first loss is log V",
            bool(np.abs(losses[:, 0] - np.log(sizes)).max() < 0.05),
            ", ".join(f"{loss:.3f}" for loss in losses[:, 0]),
        )
    ]
    text = (
        "An output layer that starts too large is sure of wrong words before it has seen anything: "
        "the first updates go into undoing that. A first loss far above log V says so."
    )
    return [
        Section("A guess that knows nothing", "Every word gets 1/V.", uniform, "text", checks=tuple(checks)),
        Section("Networks before their first update", text, (measured,), "text", checks=tuple(near)),
    ]


LOG_V = Lesson(
    "log-v",
    "The loss before training is log V",
    "3.26 for 26 characters, 2.77 for 16 words; much more is a fault",
    "\nThe cheapest test of all: look at the loss before the first update.\n",
    {"scale": numbers([1, 10, 100, 1000], "what the output weights are multiplied by", least=0, most=1e6)},
    _log_V,
    seconds=2,
)
