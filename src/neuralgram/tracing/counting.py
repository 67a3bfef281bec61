"""One prediction of a counting model as sections: the contexts it knows, the counts, what it makes of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralgram.explanation import history
from neuralgram.numbers import number
from neuralgram.tracing.formulas import given, listed
from neuralgram.tracing.names import Words
from neuralgram.tracing.steps import Floats, Index, Section


def counting_sections(lm: Any, ids: NDArray[np.int64], log_p: Floats, words: Words) -> list[Section]:
    """What stands behind the probabilities of `words.shown`, for back-off tables and for models that keep counts."""
    from neuralgram.tracing import backing_off

    if hasattr(lm, "class_of"):
        return backing_off.class_sections(lm, ids, log_p, words)
    if hasattr(lm, "table"):
        return backing_off.table_sections(lm.table, lm.config(), ids, log_p, words)
    if any(name.startswith("counts.") for name in (lm.state() if hasattr(lm, "state") else ())):
        return _count_sections(lm, ids, log_p, words)
    return []


# ---- models that keep their counts: mle, add-k, longest-match, deleted interpolation ----


def _count_sections(lm: Any, ids: NDArray[np.int64], log_p: Floats, words: Words) -> list[Section]:
    from neuralgram.ngram.counts import Counts, Frequencies, longest

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

    def context(j: int) -> str:
        return history(ids, j, words.name)

    contexts = Section(
        "The contexts, short to long",
        "h is the end of the window; c(h) is how often it was followed by anything in training.",
        (
            given("c(h)", total[0].astype(np.float64), equation="Σ_w c(h w)", rows=context),
            given(
                "words",
                followers,
                equation="how many different ones followed",
                rows=context,
            ),
        ),
        "h",
        marks=_marks(lm, used),
    )
    if hasattr(lm, "alphas"):
        return [contexts, _interpolated(lm, ids, log_p, words)]
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
        equation = "p: made of these counts"
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
    return Section("Counts to probabilities", "", steps, "word", words.shown, words.marks, bars="p")


def _interpolated(lm: Any, ids: NDArray[np.int64], log_p: Floats, words: Words) -> Section:
    """Every order's relative frequency and its weight in this context's bin."""
    everything = np.arange(lm.vocab_size)
    shares, bins = lm.components(np.repeat(ids[None, :], lm.vocab_size, axis=0), everything)
    alphas = lm.alphas[int(bins[0])]
    columns = [f"p{i}" for i in range(len(alphas))]

    def explain(index: Index) -> tuple[str, str]:
        filled = " + ".join(
            f"{number(float(a))}·{number(float(x))}" for a, x in zip(alphas, shares[index[0]], strict=True)
        )
        return "Σ_i α_i·p_i", filled

    steps = (
        given("p_i", shares, equation="p0 = 1/V, then c(h w)/c(h) order by order", rows=words.name, columns=columns),
        listed("p", np.exp(log_p), explain, equation="p = Σ_i α_i p_i", rows=words.name),
    )
    weights = ", ".join(f"α{i} = {number(float(a))}" for i, a in enumerate(alphas))
    text = f"How often the whole context occurs puts it into bin {int(bins[0])}; its weights: {weights}."
    return Section("Interpolation", text, steps, "word", words.shown, words.marks, bars="p")
