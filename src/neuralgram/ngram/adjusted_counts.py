"""Kneser–Ney smoothing in all its forms: adjusted counts, discounted, written into a back-off table.

a(hw) = c(hw) at the longest order and for n-grams that nothing precedes (those that begin with `<s>`);
below, the number of distinct tokens seen before hw. With D(a) the discount and h' = h without its oldest token:

    interpolated   P(w | h) = (a(hw) − D(a(hw)))/Σ_w a(hw) + γ(h) P(w | h'),   P(w | no context) ends in 1/V
    back-off       P(w | h) = (a(hw) − D(a(hw)))/Σ_w a(hw)   where a(hw) > 0,  else β(h) P(w | h')

γ(h) = Σ_w D(a(hw))/Σ_w a(hw) is what the discounts free; β(h) scales it to what h' gives the words unseen after h.
N-grams pruned by their count give all of theirs to γ. (Kneser & Ney 1995; Chen & Goodman 1999, section 3.)

KenLM's estimator makes the interpolated, modified form, and the tables agree. V counts the unknown symbol and
`</s>`, never `<s>`; an unknown symbol that the text lacks gets its share γ/V of the unigrams. `unigrams="unseen"`
departs from this: what the unigrams' discounts free goes to the tokens never seen alone (as in the back-off form).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import InputError
from neuralgram.ngram.backoff import BackoffTable, Counted, prune
from neuralgram.ngram.counts import Counts
from neuralgram.ngram.model import log
from neuralgram.ngram.trie import Floats, Ints, Trie


@dataclass(frozen=True, eq=False)
class Adjusted:
    """Adjusted counts, and what each context's continuations sum to.

    counts    a for orders 1 … n, [N_k]
    parents   the context (node of order k − 1) of every k-gram, [N_k]
    suffixes  its last k − 1 tokens (node of order k − 1), [N_k]
    kept      false where pruned, [N_k], or None where nothing is
    totals    Σ_w a(hw) for contexts of 0 … n − 1 tokens, [N_j]
    kinds     how many kept continuations have a = 1, a = 2 and a ≥ 3, [N_j, 3]
    freed     Σ_w a(hw) over the pruned ones, [N_j]
    """

    trie: Trie
    boundary: int | None
    counts: tuple[Ints, ...]
    parents: tuple[Ints, ...]
    suffixes: tuple[Ints, ...]
    kept: tuple[NDArray[np.bool_], ...] | None
    totals: tuple[Ints, ...]
    kinds: tuple[Ints, ...]
    freed: tuple[Ints, ...]

    @classmethod
    def of(cls, counts: Counts, thresholds: Sequence[int] = ()) -> Adjusted:
        """Adjust counts; n-grams of order k with c ≤ thresholds[k − 1] are pruned (the last one holds for the rest)."""
        trie, order = counts.trie, counts.order
        suffixes = counts.suffixes
        adjusted = list(counts.counts)
        for k in range(1, order):
            before = np.bincount(suffixes[k], minlength=trie.size(k))
            adjusted[k - 1] = np.where(before > 0, before, adjusted[k - 1])
        parents = [trie.parents(k) for k in range(1, order + 1)]
        kept = _kept(counts, thresholds)
        sums = [_sums(trie, j, adjusted[j], None if kept is None else kept[j]) for j in range(order)]
        totals, kinds, freed = (tuple(column) for column in zip(*sums, strict=True))
        return cls(trie, counts.boundary, tuple(adjusted), tuple(parents), suffixes, kept, totals, kinds, freed)

    @property
    def order(self) -> int:
        """n, the length of the longest n-grams."""
        return self.trie.order

    def discounted(self, k: int, D: Floats) -> Floats:
        """(a − D(a))/Σ a of every k-gram, [N_k]; D [3]."""
        a = self.counts[k - 1]
        off = np.concatenate(([0.0], D))[np.minimum(a, 3)]
        out: Floats = np.maximum(a - off, 0.0) / np.maximum(self.totals[k - 1], 1)[self.parents[k - 1]]
        return out

    def gamma(self, j: int, D: Floats) -> Floats:
        """What discounts and pruning free in every context of j tokens, [N_j]; 1 where nothing follows."""
        total = self.totals[j]
        return np.where(total > 0, (self.kinds[j] @ D + self.freed[j]) / np.maximum(total, 1), 1.0)


def pruning(thresholds: Sequence[int], order: int) -> list[int]:
    """One threshold an order, or an `InputError`; the last one given holds for the longer n-grams too."""
    levels = [int(t) for t in thresholds] or [0]
    if levels[0] != 0 or any(b < a for a, b in pairwise(levels)) or len(levels) > order:
        raise InputError(
            f"pruning thresholds {levels}: expected 0 for unigrams, then up to {order - 1} more that never fall"
        )
    return levels + levels[-1:] * (order - len(levels))


def _kept(counts: Counts, thresholds: Sequence[int]) -> tuple[NDArray[np.bool_], ...] | None:
    """Which n-grams stay: those of count above their order's threshold."""
    levels = pruning(thresholds, counts.order)
    if not any(levels):
        return None
    return tuple(
        count > t if t else np.ones(len(count), np.bool_) for count, t in zip(counts.counts, levels, strict=True)
    )


def _sums(trie: Trie, j: int, a: Ints, kept: NDArray[np.bool_] | None) -> tuple[Ints, Ints, Ints]:
    """Of every context of j tokens: Σ a; how many kept a are 1, 2, 3 or more; Σ of the pruned a."""
    starts = trie.starts[j]
    stays = a if kept is None else np.where(kept, a, 0)
    kinds = np.stack([_over(starts, stays == 1), _over(starts, stays == 2), _over(starts, stays > 2)], axis=1)
    total = _over(starts, a)
    return total, kinds, total - _over(starts, stays) if kept is not None else np.zeros_like(total)


def _over(starts: Ints, values: NDArray[Any]) -> Ints:
    """Sums of `values` over each context's continuations."""
    running = np.zeros(len(values) + 1, np.int64)
    np.cumsum(values, out=running[1:])
    return running[starts[1:]] - running[starts[:-1]]


class Form(NamedTuple):
    """`interpolated` or `backoff`, and where the unigrams' freed part goes: `uniform` or, always in the back-off form,
    `unseen`.
    """

    name: str
    unigrams: str


def unigrams(adjusted: Adjusted, D: Floats, rest: str) -> Floats:
    """P(w), [V]: the freed part goes to every token alike (`uniform`), or to those never seen (`unseen`) if any."""
    p = adjusted.discounted(1, D)
    gamma = float(adjusted.gamma(0, D)[0])
    unseen = adjusted.counts[0] == 0
    if rest == "unseen" and unseen.any():
        return p + np.where(unseen, gamma / int(unseen.sum()), 0.0)
    out: Floats = p + gamma / len(p)
    return out


def interpolated(adjusted: Adjusted, k: int, D: Floats, lower: Floats) -> tuple[Floats, Floats]:
    """P of every k-gram [N_k] given that of its last k − 1 tokens, and γ of every context [N_{k−1}]; D [3]."""
    gamma = adjusted.gamma(k - 1, D)
    p = adjusted.discounted(k, D) + gamma[adjusted.parents[k - 1]] * lower[adjusted.suffixes[k - 1]]
    return p, gamma


def backed_off(adjusted: Adjusted, k: int, D: Floats, lower: Floats) -> tuple[Floats, Floats]:
    """P of every k-gram [N_k], and β(h) = γ(h)/(1 − Σ P(w | h') over the words listed after h); D [3].

    Where every word of the vocabulary is listed nothing is left to back off to: P is scaled up by what γ took.
    """
    gamma, p, parents = adjusted.gamma(k - 1, D), adjusted.discounted(k, D), adjusted.parents[k - 1]
    below = lower[adjusted.suffixes[k - 1]]
    if adjusted.kept is not None:
        below = below * adjusted.kept[k - 1]
    full = adjusted.kinds[k - 1].sum(axis=1) == adjusted.trie.vocab_size
    rest = np.where(full, 1.0, 1.0 - np.bincount(parents, below, minlength=len(gamma)))
    p = p / np.where(full, 1.0 - gamma, 1.0)[parents]
    return p, np.where(full, 1.0, gamma / rest)


def table(adjusted: Adjusted, D: Floats, form: Form) -> BackoffTable:
    """The back-off table of a form with discounts D [n, 3]."""
    step = interpolated if form.name == "interpolated" else backed_off
    p, weights = [unigrams(adjusted, D[0], form.unigrams)], []
    for k in range(2, adjusted.order + 1):
        higher, weight = step(adjusted, k, D[k - 1], p[-1])
        p.append(higher)
        weights.append(weight)
    counted = Counted.of(adjusted.counts, adjusted.freed if adjusted.kept is not None else ())
    made = BackoffTable(adjusted.trie, adjusted.boundary, tuple(map(log, p)), tuple(map(log, weights)), counted)
    return made if adjusted.kept is None else prune(made, adjusted.kept[1:])
