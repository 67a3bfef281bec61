"""Relative frequencies p(w | h) = c(hw)/c(h), asked for many windows at once.

c(h) is how often h is followed by any token: Σ_w c(hw). Shapes: B windows, c = n − 1 tokens of
context, j = 0 … c the length of the context used.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neuralgram.ngram.counts import Counts
from neuralgram.ngram.trie import Continuations, Floats, Ints, join


class Pairs(NamedTuple):
    """For each window and each length j of context: joint [B, c + 1] is c(h_j w), total [B, c + 1] is c(h_j)."""

    joint: Ints
    total: Ints


class Frequencies:
    """Counts, and how often each context is followed by any token."""

    def __init__(self, counts: Counts) -> None:
        self.counts = counts
        self.trie = counts.trie
        self.totals = [counts.totals(length) for length in range(counts.order)]

    def pairs(self, contexts: Ints, targets: Ints) -> Pairs:
        """The counts of every window at every length; 0 where unseen."""
        order = contexts.shape[1] + 1
        tokens, at = join(contexts, targets, self.counts.boundary)
        nodes = self.trie.walk(tokens, order)
        joint = np.zeros((len(targets), order), np.int64)
        total = np.zeros_like(joint)
        total[:, 0] = self.totals[0][0]
        for k in range(1, order + 1):
            joint[:, k - 1] = _at(self.counts.counts[k - 1], nodes[k - 1][at])
            if k < order:
                total[:, k] = _at(self.totals[k], nodes[k - 1][at - 1])
        return Pairs(joint, total)

    def seen(self, contexts: Ints) -> tuple[Ints, Ints]:
        """The node of the last j tokens of each context, −1 where unseen, and c(h_j); [B, c + 1] each."""
        nodes = self.trie.contexts(contexts)
        total = np.stack([_at(self.totals[j], nodes[:, j]) for j in range(nodes.shape[1])], axis=1)
        return nodes, total

    def relative(self, nodes: Ints, total: Ints, length: Ints) -> Floats:
        """Rows p(· | the last `length` [B] tokens), [B, V]; uniform where that context is unseen."""
        V = self.trie.vocab_size
        rows = np.arange(len(length))
        divisor = total[rows, length]
        out = np.zeros((len(length), V))
        out[divisor == 0] = 1 / V
        for j in np.unique(length):
            row, word, node = self.continuations(nodes, length, int(j))
            out[row, word] = self.counts.counts[j][node] / divisor[row]
        return out

    def continuations(self, nodes: Ints, length: Ints, j: int) -> Continuations:
        """What follows the last j tokens, in the rows whose `length` is j."""
        return self.trie.continuations(j + 1, np.where(length == j, nodes[:, j], -1))

    def whole(self, contexts: Ints) -> Ints:
        """How many tokens of each context are read, [B]: all, or back to the last boundary symbol."""
        return whole(contexts, self.counts.boundary)


def whole(contexts: Ints, boundary: int | None) -> Ints:
    """How many tokens of each context [B, c] are read, [B]: all, or back to the last boundary symbol."""
    width = contexts.shape[1]
    length = np.full(len(contexts), width)
    if boundary is not None:
        for j in range(width, 0, -1):  # the last boundary is met last and decides
            length[contexts[:, width - j] == boundary] = j
    return length


def longest(total: Ints) -> Ints:
    """The length of the longest context seen: the last j with c(h_j) > 0 in total [B, c + 1]."""
    width = total.shape[1]
    out: Ints = width - 1 - (total[:, ::-1] > 0).argmax(axis=1)
    return out


def _at(values: Ints, nodes: Ints) -> Ints:
    return np.where(nodes >= 0, values[nodes], 0) if len(values) else np.zeros(len(nodes), np.int64)
