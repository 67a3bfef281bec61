"""Bins of contexts by how often they occur: q = l(freq(h)), l(x) = ⌈−log((1 + x)/T)⌉ (Bengio et al. 2003).

T is the size of the training text. Frequent contexts fall into low bins, those never seen into the last.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import InputError
from neuralgram.ngram.counts import Counts, whole
from neuralgram.ngram.trie import Floats, Ints
from neuralgram.text.windows import Corpus


def bin_of(frequency: Ints, size: int) -> Ints:
    """The bin l(x) of each frequency x [B] in a training text of `size` tokens."""
    bins = np.ceil(-np.log((1.0 + frequency) / size)).astype(np.int64)
    return np.clip(bins, 0, bin_count(size) - 1)


def bin_count(size: int) -> int:
    """How many bins a training text of `size` tokens has: l(0) + 1."""
    return math.ceil(math.log(size)) + 1


def em(components: Floats, bins: Ints, count: int, iterations: int) -> Floats:
    """Weights [Q, K] that maximise Σ log Σ_k α_k(q) p_k, from uniform ones, by expectation–maximisation.

    components [N, K] are the p_k of held-out tokens, bins [N] their q. A bin without held-out tokens has the
    weights that all tokens together ask for.
    """
    K = components.shape[1]
    pooled = _em(components, np.zeros(len(bins), np.int64), 1, iterations) if count > 1 else np.full((1, K), 1 / K)
    weights = _em(components, bins, count, iterations)
    return np.where(np.bincount(bins, minlength=count)[:, None] > 0, weights, pooled)


def _em(components: Floats, bins: Ints, count: int, iterations: int) -> Floats:
    weights = np.full((count, components.shape[1]), 1 / components.shape[1])
    times = np.maximum(np.bincount(bins, minlength=count), 1)[:, None]
    for _ in range(iterations):
        last = weights
        share = weights[bins] * components
        total = share.sum(axis=1, keepdims=True)
        share = np.where(total > 0, share / np.where(total > 0, total, 1.0), weights[bins])
        weights = np.stack([np.bincount(bins, column, minlength=count) for column in share.T], axis=1) / times
        weights /= np.maximum(weights.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        if np.abs(weights - last).max() < 1e-9:
            break
    return weights


class ContextBins:
    """The bin of a context: of how often its last `length` tokens occur in a training text.

    A context that reaches back to the boundary symbol is cut there, and frequencies are counted accordingly.
    """

    def __init__(self, counts: Counts) -> None:
        self.counts = counts
        self.length = counts.order
        self.size = int(counts.counts[0].sum())

    @classmethod
    def of(cls, corpus: Corpus, length: int = 2) -> ContextBins:
        """Count the contexts of `length` tokens (the paper's: 2) of the training text."""
        if length < 1:
            raise InputError(f"contexts of {length} tokens: expected at least 1 to bin by their frequency")
        return cls(Counts.of(corpus, length))

    def __len__(self) -> int:
        return bin_count(self.size)

    def __call__(self, contexts: Ints) -> Ints:
        """The bins [B] of contexts [B, c], c ≥ `length`."""
        last = contexts[:, contexts.shape[1] - self.length :]
        nodes, read = self.counts.trie.contexts(last), whole(last, self.counts.boundary)
        frequency = np.zeros(len(last), np.int64)
        for j in range(1, self.length + 1):
            rows = np.flatnonzero((read == j) & (nodes[:, j] >= 0))
            frequency[rows] = self.counts.counts[j - 1][nodes[rows, j]]
        return bin_of(frequency, self.size)

    def ranges(self) -> list[tuple[int, int]]:
        """The frequencies of the contexts in each bin, (least, most); a bin that holds none has least > most."""
        low, high = np.zeros(len(self), np.int64), np.full(len(self), self.size)  # the least frequency of a bin ≤ q
        while (low < high).any():
            middle = (low + high) // 2
            found = bin_of(middle, self.size) <= np.arange(len(self))
            low, high = np.where(found, low, middle + 1), np.where(found, middle, high)
        most = [self.size, *(int(least) - 1 for least in low[:-1])]
        return list(zip(low.tolist(), most, strict=True))

    def state(self) -> dict[str, NDArray[Any]]:
        """The counts, to make the bins again from."""
        return self.counts.state()
