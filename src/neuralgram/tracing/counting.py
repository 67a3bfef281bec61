"""One prediction of a counting model as sections: the contexts it knows, the counts, what it makes of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralgram.tracing.algebra import given, listed
from neuralgram.tracing.prediction import Words
from neuralgram.tracing.steps import Floats, Index, Section, bracketed, number


def counting_sections(lm: Any, ids: NDArray[np.int64], log_p: Floats, words: Words) -> list[Section]:
    """What stands behind the probabilities of `words.shown`, for back-off tables and for models that keep counts."""
    if hasattr(lm, "table"):
        out = _table_sections(lm, ids, log_p, words)
    elif any(name.startswith("counts.") for name in (lm.state() if hasattr(lm, "state") else ())):
        out = _count_sections(lm, ids, log_p, words)
    else:
        return [distribution(log_p, words)]
    return out


def distribution(log_p: Floats, words: Words, title: str = "The distribution") -> Section:
    """Probabilities and surprisals of the words shown, with nothing said of where they come from."""
    p = np.exp(log_p)
    steps = (
        given("p", p, rows=words.name),
        listed(
            "−ln p",
            -log_p,
            lambda index: (f"−ln p[{words.name(index[0])}]", f"−ln {number(float(p[index[0]]))}"),
            equation="surprisal in nats",
            rows=words.name,
        ),
    )
    return Section(title, "", steps, "word", words.shown, _target(words), bars="p")


def _target(words: Words) -> dict[int, str]:
    return {} if words.target is None else {words.target: "target"}


def history(ids: NDArray[np.int64], length: int, words: Words) -> str:
    """The last `length` tokens of the window, as one reads them."""
    return " ".join(words.name(int(w)) for w in ids[len(ids) - length :]) if length else "(no context)"


# ---- models that keep their counts: mle, add-k, longest-match, deleted interpolation ----


def _count_sections(lm: Any, ids: NDArray[np.int64], log_p: Floats, words: Words) -> list[Section]:
    from neuralgram.ngram.counts import Counts
    from neuralgram.ngram.frequencies import Frequencies, longest

    frequencies = Frequencies(Counts.from_state(lm.vocab_size, lm.context + 1, lm.boundary, lm.state()))
    window = ids[None, :]
    nodes, total = frequencies.seen(window)
    used = int(longest(total)[0]) if lm.smoothing == "longest-match" else int(frequencies.whole(window)[0])
    joint = np.zeros((lm.vocab_size, lm.context + 1))
    followers = np.zeros(lm.context + 1)
    for j in range(lm.context + 1):
        found = frequencies.continuations(nodes, np.array([j]), j)
        joint[found.word, j] = frequencies.counts.counts[j][found.node]
        followers[j] = np.count_nonzero(joint[:, j])
    contexts = Section(
        "The contexts, short to long",
        "h is the end of the window; c(h) is how often it was followed by anything in training.",
        (
            given("c(h)", total[0].astype(np.float64), equation="Σ_w c(h w)", rows=lambda j: history(ids, j, words)),
            given(
                "words", followers, equation="how many different ones followed", rows=lambda j: history(ids, j, words)
            ),
        ),
        "h",
        marks=_marks(lm, used),
    )
    return [contexts, _shares(lm, _Counted(joint, total[0].astype(np.float64), used), log_p, words)]


class _Counted(NamedTuple):
    joint: Floats  # c(h w), [V, c + 1]
    total: Floats  # c(h), [c + 1]
    used: int  # the length of the context read


def _marks(lm: Any, used: int) -> dict[int, str]:
    if lm.smoothing in ("add-k", "mle", "longest-match"):
        longer = "; longer ones were never seen" if lm.smoothing == "longest-match" and used < lm.context else ""
        return {used: f"← read (order {used + 1}){longer}"}
    return dict.fromkeys(range(lm.context + 1), "← read, weighted")


def _shares(lm: Any, counts: _Counted, log_p: Floats, words: Words) -> Section:
    joint, total, used = counts
    V, p, config = lm.vocab_size, np.exp(log_p), lm.config()
    k, floor = config.get("k"), config.get("floor", 0.0)
    if lm.smoothing == "add-k":
        equation = f"p = (c(h w) + k) / (c(h) + k·V), k = {number(k)}, V = {V}"
    elif lm.smoothing in ("mle", "longest-match"):
        equation = "p = c(h w) / c(h)" + (f", mixed with {number(floor)} of 1/V" if floor else "")
    else:
        equation = "p: every order's c(h w)/c(h), weighted"
    names = [f"after {j}" for j in range(joint.shape[1])]

    def explain(index: Index) -> tuple[str, str]:
        count, whole = number(float(joint[index[0], used])), number(float(total[used]))
        if lm.smoothing == "add-k":
            return equation.removeprefix("p = "), f"({count} + {number(k)}) / ({whole} + {number(k)}·{V})"
        if lm.smoothing in ("mle", "longest-match"):
            share = f"{count} / {whole}" if total[used] else f"1 / {V}"
            return equation.removeprefix(
                "p = "
            ), f"(1 − {number(floor)})·{share} + {number(floor)}/{V}" if floor else share
        return equation.removeprefix("p: "), ""

    steps = (
        given("c(h w)", joint, equation="by words of context", rows=words.name, columns=names),
        listed("p", p, explain, equation=equation, rows=words.name),
    )
    return Section("Counts to probabilities", "", steps, "word", words.shown, _target(words), bars="p")


# ---- back-off tables: Kneser–Ney in every form, ARPA files ----


def _table_sections(lm: Any, ids: NDArray[np.int64], log_p: Floats, words: Words) -> list[Section]:
    table = lm.table
    nodes = table.trie.contexts(ids[None, :])[0]
    weights = np.ones(lm.context + 1)
    followers = np.zeros(lm.context + 1)
    for j in range(lm.context + 1):
        if j and nodes[j] >= 0:
            weights[j] = np.exp(table.log_bow[j - 1][nodes[j]])
        followers[j] = len(table.trie.continuations(j + 1, nodes[j : j + 1]).word)
    orders = table.longest(np.repeat(ids[None, :], lm.vocab_size, axis=0), np.arange(lm.vocab_size))
    steps = [
        given("bow", weights, equation="back-off weight", rows=lambda j: history(ids, j, words)),
        given("words", followers, equation="how many are listed after it", rows=lambda j: history(ids, j, words)),
    ]
    discounts = np.asarray(lm.config().get("discounts", ()), np.float64)
    if discounts.ndim == 2:
        columns = ("D1", "D2", "D3+")
        steps.append(
            given(
                "D",
                discounts[: lm.context + 1],
                equation="discounts of counts 1, 2, 3 and more, for n-grams one token longer than h",
                rows=lambda j: history(ids, j, words),
                columns=columns,
            )
        )
    marks = {j: "never seen" for j in range(lm.context + 1) if nodes[j] < 0}
    text = "A context that was never seen has the back-off weight 1: it passes its question on unchanged."
    contexts = Section("The contexts, short to long", text, tuple(steps), "h", marks=marks)
    return [contexts, _backed_off(ids, log_p, words, orders, weights)]


def _backed_off(
    ids: NDArray[np.int64], log_p: Floats, words: Words, orders: NDArray[np.int64], weights: Floats
) -> Section:
    """p of the n-gram each word is read from, times the weights of the longer contexts that did not list it."""
    p = np.exp(log_p)
    passed = np.array([float(np.prod(weights[order:])) for order in orders])
    listed_p = p / passed
    steps = (
        given("order", orders.astype(np.float64), equation="length of the longest n-gram listed", rows=words.name),
        given("p(w|h′)", listed_p, equation="its probability in the table", rows=words.name),
        listed(
            "weights",
            passed,
            lambda index: (
                " · ".join(f"bow({history(ids, j, words)})" for j in range(len(weights) - 1, orders[index[0]] - 1, -1)),
                "·".join(bracketed(float(weights[j])) for j in range(len(weights) - 1, orders[index[0]] - 1, -1)),
            ),
            equation="back-off weights of the longer contexts, multiplied",
            rows=words.name,
        ),
        listed(
            "p",
            p,
            lambda index: (
                f"p({words.name(index[0])} | {history(ids, int(orders[index[0]]) - 1, words)}) · weights",
                f"{number(float(listed_p[index[0]]))}·{number(float(passed[index[0]]))}",
            ),
            equation="p = p(w|h′) · weights",
            rows=words.name,
        ),
    )
    return Section("Backing off", "", steps, "word", words.shown, _target(words), bars="p")
