"""The counts behind a back-off table: what is discounted, what that frees, and what each order makes of it.

    interpolated   p_j(w) = (a(hw) − D)/Σa + γ(h)·p_{j−1}(w)           h the last j tokens
    back-off       p_j(w) = (a(hw) − D)/Σa where hw is listed, else β(h)·p_{j−1}(w)

a is an adjusted count (see `ngram.adjusted_counts`), γ the share of Σa that discounts and pruning free.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralgram.explanation import history
from neuralgram.numbers import number
from neuralgram.tracing.formulas import given, listed
from neuralgram.tracing.names import Words
from neuralgram.tracing.steps import Floats, Index, Section

_MEANING = (
    "a(hw) counts how often hw occurs; where a longer n-gram is counted too, it counts the different tokens that "
    "stand before hw instead (Kneser and Ney)."
)


@dataclass(frozen=True, eq=False)
class Discounted:
    """What the contexts of j = 0 … c tokens that end a window were counted as; J = c + 1.

    a [V, J]        counts, 0 where an n-gram is not listed (`inside` [V, J])
    total [J]       Σ_w a, with `pruned` [J], the part that was left out of the table
    kinds [J, 3]    how many listed n-grams have a = 1, a = 2, a ≥ 3; `D` [J, 3] are their discounts
    gamma [J]       (Σ kinds·D + pruned)/Σa, 1 where nothing was counted; `weight` [J] is the back-off weight
    p [V, J]        the probability after each context
    """

    a: Floats
    inside: NDArray[np.bool_]
    total: Floats
    pruned: Floats
    kinds: Floats
    D: Floats
    gamma: Floats
    weight: Floats
    p: Floats

    @classmethod
    def of(cls, table: Any, D: Floats, ids: NDArray[np.int64]) -> Discounted:
        """Of a window `ids` [c]; the table's counts are known."""
        V, J = table.trie.vocab_size, table.order
        nodes = table.trie.contexts(ids[None, :])[0]
        a, inside, p = np.zeros((V, J)), np.zeros((V, J), np.bool_), np.zeros((V, J))
        pruned, weight = np.zeros(J), np.ones(J)
        for j in range(J):
            if j and nodes[j] >= 0:
                weight[j] = np.exp(table.log_bow[j - 1][nodes[j]])
            if nodes[j] >= 0 and table.counted.pruned:
                pruned[j] = table.counted.pruned[j][nodes[j]]
            found = table.trie.continuations(j + 1, nodes[j : j + 1])
            a[found.word, j], inside[found.word, j] = table.counted.a[j][found.node], True
            p[:, j] = weight[j] * p[:, j - 1]
            p[found.word, j] = np.exp(table.log_p[j][found.node])
        kinds = np.stack([(a == 1).sum(0), (a == 2).sum(0), (a > 2).sum(0)], axis=1).astype(np.float64)
        total, freed = a.sum(axis=0) + pruned, (kinds * D).sum(axis=1) + pruned
        gamma = np.divide(freed, total, out=np.ones(J), where=total > 0)
        return cls(a, inside, total, pruned, kinds, D, gamma, weight, p)


def discount_sections(
    table: Any, config: Mapping[str, Any], ids: NDArray[np.int64], words: Words
) -> tuple[Section, ...]:
    """What the contexts count and free; each word's count; each word's probability, order by order."""
    found = Discounted.of(table, np.asarray(config["discounts"], np.float64), ids)
    after = [f"after {j}" for j in range(table.order)]
    step = given("a(hw)", found.a, equation="by tokens of context", rows=words.name, columns=after)
    counts = Section("The counts", _MEANING, (step,), "word", words.shown, words.marks)
    origin = _ORIGINS.get(str(config.get("discounts_from")), "")
    return _freed(found, ids, words, origin), counts, _orders(found, config, words)


_KINDS = ("n1", "n2", "n3")
_ORIGINS = {
    "counts": "The discounts come from the counts of counts of the training text.",
    "tuned": "The discounts were tuned on held-out text.",
    "given": "The discounts were given.",
}


def _freed(found: Discounted, ids: NDArray[np.int64], words: Words, origin: str) -> Section:
    def name(j: int) -> str:
        return history(ids, j, words.name)

    def explain(index: Index) -> tuple[str, str]:
        j = index[0]
        if not found.total[j]:
            return "1, as nothing was counted after h", ""
        pairs = zip(found.kinds[j], found.D[j], strict=True)
        parts = [f"{number(float(n))}·{number(float(D))}" for n, D in pairs if n]
        parts += [number(float(found.pruned[j]))] if found.pruned[j] else []
        return "(n1·D1 + n2·D2 + n3·D3)/Σa", f"({' + '.join(parts)})/{number(float(found.total[j]))}"

    steps = [given("Σa", found.total, equation="Σ_w a(hw)", rows=name)]
    if found.pruned.any():
        steps.append(given("pruned", found.pruned, equation="the part of Σa that the table leaves out", rows=name))
    steps += [
        given("n", found.kinds, equation="how many words have a of 1, 2, 3 or more", rows=name, columns=_KINDS),
        given("D", found.D, equation="what each of them is discounted", rows=name, columns=("D1", "D2", "D3")),
        listed("γ", found.gamma, explain, equation="the share of Σa that is freed", rows=name),
    ]
    return Section("What the discounts free", origin, tuple(steps), "h")


def _orders(found: Discounted, config: Mapping[str, Any], words: Words) -> Section:
    back_off = config.get("form") == "backoff"
    unseen = int((found.a[:, 0] == 0).sum()) if back_off or config.get("unigrams") == "unseen" else 0
    V, J = found.a.shape

    def discounted(w: int, j: int) -> str:
        a = float(found.a[w, j])
        return f"({number(a)} − {number(float(found.D[j, min(int(a), 3) - 1]))})/{number(float(found.total[j]))}"

    def unigram(w: int) -> tuple[str, str]:
        gamma = number(float(found.gamma[0]))
        rest = (f"γ/{unseen}, shared by words never seen", f"{gamma}/{unseen}") if unseen else ("γ/V", f"{gamma}/{V}")
        if not found.a[w, 0]:
            return rest
        own = ("(a − D)/Σa", discounted(w, 0))
        return own if unseen else (f"{own[0]} + {rest[0]}", f"{own[1]} + {rest[1]}")

    def explain(index: Index) -> tuple[str, str]:
        w, j = index
        if j == 0:
            return unigram(w)
        letter = "β" if back_off else "γ"
        shorter = f"p[{words.name(w)}][after {j - 1}]"
        lower = f"{letter}·{shorter}", f"{number(float(found.weight[j]))}·{number(float(found.p[w, j - 1]))}"
        if not found.inside[w, j]:
            return lower if found.total[j] else (shorter, "")
        own = ("(a − D)/Σa", discounted(w, j))
        if not back_off:
            return f"{own[0]} + {lower[0]}", f"{own[1]} + {lower[1]}"
        if found.inside[:, j].all():  # nothing is left to back off to: what is freed is shared out again
            return f"{own[0]}/(1 − γ)", f"{own[1]}/(1 − {number(float(found.gamma[j]))})"
        return own

    equation = "(a − D)/Σa where listed, else β·p" if back_off else "(a − D)/Σa + γ·p"
    columns = [f"after {j}" for j in range(J)]
    step = listed("p_j", found.p, explain, equation=f"{equation} of one token less", rows=words.name, columns=columns)
    return Section("Order by order", "", (step,), "word", words.shown, words.marks)
