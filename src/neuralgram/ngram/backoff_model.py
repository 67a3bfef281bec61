"""A counting model that is a back-off table, and what a table tells of one prediction: the contexts it knows, what they
count and free, the way it backs off.

    interpolated   p_j(w) = (a(hw) − D)/Σa + γ(h)·p_{j−1}(w)           h the last j tokens
    back-off       p_j(w) = (a(hw) − D)/Σa where hw is listed, else β(h)·p_{j−1}(w)

a is an adjusted count (see `adjusted_counts`), γ the share of Σa that discounts and pruning free. Kneser–Ney in every
form, ARPA files and the tables over classes are told alike; what was counted only where the table knows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralgram.explanation import Index, Panel, Quantity, Spelled, ending, history
from neuralgram.ngram.backoff import BackoffTable, Counted
from neuralgram.ngram.model import Config, NgramModel, State, sizes
from neuralgram.ngram.trie import Floats, Ints
from neuralgram.numbers import bracketed, number
from neuralgram.text.windows import as_ids

_UNSEEN = "A context that was never seen has the back-off weight 1: it passes its question on unchanged."
_UNCOUNTED = (
    "The counts behind these numbers are not in the model: it comes from an ARPA file, or was saved without them."
)
_MEANING = (
    "a(hw) counts how often hw occurs; where a longer n-gram is counted too, it counts the different tokens that "
    "stand before hw instead (Kneser and Ney)."
)
_ORIGINS = {
    "counts": "The discounts come from the counts of counts of the training text.",
    "tuned": "The discounts were tuned on held-out text.",
    "given": "The discounts were given.",
}
_DISCOUNTS, _KINDS = ("D1", "D2", "D3"), ("n1", "n2", "n3")


class BackoffModel(NgramModel):
    """A counting model that is a back-off table; what is read from an ARPA file is one with no more than that."""

    smoothing: ClassVar[str] = "arpa"
    nothing = -1  # it is listed nowhere, so a search ends there

    def __init__(self, table: BackoffTable, options: Config | None = None) -> None:
        self.table = table
        self.vocab_size = table.trie.vocab_size
        self.context = table.order - 1
        self.boundary = table.boundary
        self._options = dict(options or {})

    def log_probs(self, contexts: ArrayLike) -> NDArray[np.float64]:
        """Natural log-probabilities [B, V] after `contexts` [B, c]."""
        return self.table.rows(self.check_windows(contexts))

    def context_nll(self, contexts: ArrayLike, targets: ArrayLike) -> NDArray[np.float64]:
        """−log P(target | context) in nats, [B]."""
        return self.table.losses(self.check_windows(contexts, targets), as_ids(targets))

    def orders(self, contexts: ArrayLike, targets: ArrayLike) -> NDArray[np.int64]:
        """The length of the n-gram each probability is read from, [B]."""
        return self.table.longest(self.check_windows(contexts, targets), as_ids(targets))

    def explain(self, context: Ints, words: Sequence[int]) -> tuple[Panel, ...]:
        """The contexts, their counts where these are known, and each word's way through the table."""
        return panels(self.table, self.config(), context)

    def state(self) -> State:
        """The table."""
        return self.table.state()

    def config(self) -> Config:
        """What was chosen: the order, and the form, discounts and pruning of an estimator."""
        return self.chosen(**self._options)

    @classmethod
    def restored(cls, config: Config, state: State) -> Self:
        """The model that `config()` and `state()` describe."""
        V, order, boundary = sizes(config)
        known = ("smoothing", "order", "vocab_size", "boundary")
        options = {name: value for name, value in config.items() if name not in known}
        return cls(BackoffTable.from_state(V, order, boundary, state), options)


def panels(table: BackoffTable, config: Config, ids: Ints) -> tuple[Panel, ...]:
    """Of a window `ids` [c]: its contexts with their back-off weights, the counts where they are known, and each word's
    way through the table; `config` is that of the model that holds it."""
    context = table.order - 1
    nodes = table.trie.contexts(ids[None, :])[0]
    weights, followers = np.ones(context + 1), np.zeros(context + 1)
    for j in range(context + 1):
        if j and nodes[j] >= 0:
            weights[j] = np.exp(table.log_bow[j - 1][nodes[j]])
        followers[j] = len(table.trie.continuations(j + 1, nodes[j : j + 1]).word)
    quantities = [
        Quantity("bow", weights, "back-off weight"),
        Quantity("words", followers, "how many are listed after it"),
    ]
    D = np.asarray(config.get("discounts", ()), np.float64)
    counted = table.counted if D.ndim == 2 else None
    if D.ndim == 2 and counted is None:
        equation = "discounts of counts 1, 2, 3 and more, for n-grams one token longer than h"
        quantities.append(Quantity("D", D, equation, columns=_DISCOUNTS))
    contexts = Panel(
        "The contexts, short to long",
        tuple(quantities),
        ending(ids),
        "h",
        _UNSEEN if counted is not None else f"{_UNSEEN} {_UNCOUNTED}",
        marks={j: "never seen" for j in range(context + 1) if nodes[j] < 0},
    )
    between = () if counted is None else _discounting(Discounted.of(table, counted, D, ids), config, ids)
    return contexts, *between, _backing_off(table, ids, weights)


def _backing_off(table: BackoffTable, ids: Ints, weights: Floats) -> Panel:
    """p of the n-gram each word is read from, times the weights of the longer contexts that did not list it."""
    V = table.trie.vocab_size
    orders = table.longest(np.repeat(ids[None, :], V, axis=0), np.arange(V))
    p = np.exp(table.rows(ids[None, :])[0])
    passed = np.array([float(np.prod(weights[order:])) for order in orders])
    listed_p = np.divide(p, passed, out=np.zeros_like(p), where=passed > 0)

    def longer(index: Index, spelled: Spelled) -> tuple[str, str]:
        lengths = range(len(weights) - 1, orders[index[0]] - 1, -1)
        general = " · ".join(f"bow({history(ids, j, spelled)})" for j in lengths)
        return general, "·".join(bracketed(float(weights[j])) for j in lengths)

    def read(index: Index, spelled: Spelled) -> tuple[str, str]:
        w = index[0]
        general = f"p({spelled(w)} | {history(ids, int(orders[w]) - 1, spelled)}) · weights"
        return general, f"{number(float(listed_p[w]))}·{number(float(passed[w]))}"

    quantities = (
        Quantity("order", orders.astype(np.float64), "length of the longest n-gram listed"),
        Quantity("p(w|h′)", listed_p, "its probability in the table"),
        Quantity("weights", passed, "back-off weights of the longer contexts, multiplied", opened=longer),
        Quantity("p", p, "p = p(w|h′) · weights", opened=read),
    )
    return Panel("Backing off", quantities)


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
    def of(cls, table: BackoffTable, counted: Counted, D: Floats, ids: Ints) -> Discounted:
        """Of a window `ids` [c]."""
        V, J = table.trie.vocab_size, table.order
        nodes = table.trie.contexts(ids[None, :])[0]
        a, inside, p = np.zeros((V, J)), np.zeros((V, J), np.bool_), np.zeros((V, J))
        pruned, weight = np.zeros(J), np.ones(J)
        for j in range(J):
            if j and nodes[j] >= 0:
                weight[j] = np.exp(table.log_bow[j - 1][nodes[j]])
            if nodes[j] >= 0 and counted.pruned:
                pruned[j] = counted.pruned[j][nodes[j]]
            found = table.trie.continuations(j + 1, nodes[j : j + 1])
            a[found.word, j], inside[found.word, j] = counted.a[j][found.node], True
            p[:, j] = weight[j] * p[:, j - 1]
            p[found.word, j] = np.exp(table.log_p[j][found.node])
        kinds = np.stack([(a == 1).sum(0), (a == 2).sum(0), (a > 2).sum(0)], axis=1).astype(np.float64)
        total, freed = a.sum(axis=0) + pruned, (kinds * D).sum(axis=1) + pruned
        gamma = np.divide(freed, total, out=np.ones(J), where=total > 0)
        return cls(a, inside, total, pruned, kinds, D, gamma, weight, p)


def _discounting(found: Discounted, config: Config, ids: Ints) -> tuple[Panel, ...]:
    """What the contexts count and free; each word's count; each word's probability, order by order."""
    after = [f"after {j}" for j in range(len(found.total))]
    counts = Quantity("a(hw)", found.a, "by tokens of context", columns=after)
    origin = _ORIGINS.get(str(config.get("discounts_from")), "")
    return _freed(found, ids, origin), Panel("The counts", (counts,), text=_MEANING), _orders(found, config, after)


def _freed(found: Discounted, ids: Ints, origin: str) -> Panel:
    def opened(index: Index, spelled: Spelled) -> tuple[str, str]:
        j = index[0]
        if not found.total[j]:
            return "1, as nothing was counted after h", ""
        pairs = zip(found.kinds[j], found.D[j], strict=True)
        parts = [f"{number(float(n))}·{number(float(D))}" for n, D in pairs if n]
        parts += [number(float(found.pruned[j]))] if found.pruned[j] else []
        return "(n1·D1 + n2·D2 + n3·D3)/Σa", f"({' + '.join(parts)})/{number(float(found.total[j]))}"

    pruned = Quantity("pruned", found.pruned, "the part of Σa that the table leaves out")
    quantities = (
        Quantity("Σa", found.total, "Σ_w a(hw)"),
        *([pruned] if found.pruned.any() else []),
        Quantity("n", found.kinds, "how many words have a of 1, 2, 3 or more", columns=_KINDS),
        Quantity("D", found.D, "what each of them is discounted", columns=_DISCOUNTS),
        Quantity("γ", found.gamma, "the share of Σa that is freed", opened=opened),
    )
    return Panel("What the discounts free", quantities, ending(ids), "h", origin)


def _orders(found: Discounted, config: Config, after: list[str]) -> Panel:
    back_off = config.get("form") == "backoff"
    unseen = int((found.a[:, 0] == 0).sum()) if back_off or config.get("unigrams") == "unseen" else 0

    def discounted(w: int, j: int) -> str:
        a = float(found.a[w, j])
        return f"({number(a)} − {number(float(found.D[j, min(int(a), 3) - 1]))})/{number(float(found.total[j]))}"

    def unigram(w: int) -> tuple[str, str]:
        gamma, V = number(float(found.gamma[0])), len(found.a)
        rest = (f"γ/{unseen}, shared by words never seen", f"{gamma}/{unseen}") if unseen else ("γ/V", f"{gamma}/{V}")
        if not found.a[w, 0]:
            return rest
        own = ("(a − D)/Σa", discounted(w, 0))
        return own if unseen else (f"{own[0]} + {rest[0]}", f"{own[1]} + {rest[1]}")

    def opened(index: Index, spelled: Spelled) -> tuple[str, str]:
        w, j = index
        if j == 0:
            return unigram(w)
        letter = "β" if back_off else "γ"
        shorter = f"p[{spelled(w)}][after {j - 1}]"
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
    p_j = Quantity("p_j", found.p, f"{equation} of one token less", opened=opened, columns=after)
    return Panel("Order by order", (p_j,))
