"""Adjusted counts: what Kneser–Ney smoothing discounts, and what each context's continuations sum to.

a(hw) = c(hw) at the longest order and for n-grams that nothing precedes (those that begin with `<s>`);
below, the number of distinct tokens seen before hw (Kneser & Ney 1995).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import InputError
from neuralgram.ngram.counts import Counts
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
