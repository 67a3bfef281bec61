"""How often each n-gram of a corpus occurs, for all orders 1 … n, in sorted arrays, and how often relative to others.

Orders are counted one after another: a k-gram is the (k − 1)-gram that ends one token earlier
(already numbered) and one more token, so its key fits in 64 bits whatever V and n are.

With a boundary symbol every unit is read after one `<s>` and closed by `</s>`, both that symbol;
n-grams reach back to `<s>` and no further. A stream has neither: its first tokens end shorter n-grams only.

p(w | h) = c(hw)/c(h), where c(h) is how often h is followed by any token, Σ_w c(hw). Shapes: B windows, c = n − 1
tokens of context, j = 0 … c the length of the context used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import InputError
from neuralgram.explanation import Opened, Panel, Quantity, ending
from neuralgram.ngram import counts_on_disk
from neuralgram.ngram.counts_on_disk import Order, ends, group
from neuralgram.ngram.trie import Continuations, Floats, Ints, Trie, join, require_order
from neuralgram.text.windows import Corpus, as_ids


@dataclass(frozen=True, eq=False)
class Counts:
    """The counts of a corpus.

    trie      every n-gram that occurs, orders 1 … n
    boundary  the boundary symbol, or None for a stream
    counts    for orders 1 … n, how often each occurs, int64 [N_k]; `<s>` is not counted, `</s>` is
    suffixes  for orders 1 … n, the node (of order k − 1) of each one's last k − 1 tokens, int64 [N_k]
    """

    trie: Trie
    boundary: int | None
    counts: tuple[Ints, ...]
    suffixes: tuple[Ints, ...] = ()

    @classmethod
    def of(cls, corpus: Corpus, order: int, *, memory_limit: int | None = None) -> Counts:
        """Count the n-grams of orders 1 … `order`; with `memory_limit` (bytes) a longer text is counted on disk."""
        require_order(order)
        if not len(corpus):
            raise InputError("the corpus is empty: expected at least one token to count")
        chunk = counts_on_disk.chunk_of(memory_limit)
        if len(corpus) < chunk:
            unigrams, higher = _in_memory(corpus, order)
        else:
            unigrams, higher = counts_on_disk.orders(corpus, order, chunk)
        trie = Trie.of(corpus.vocab_size, [found.keys for found in higher])
        counts = (unigrams, *(found.counts for found in higher))
        suffixes = (np.zeros(corpus.vocab_size, np.int64), *(found.suffixes for found in higher))
        return cls(trie, corpus.boundary, counts, suffixes)

    @property
    def order(self) -> int:
        """n, the length of the longest n-grams counted."""
        return self.trie.order

    def totals(self, length: int) -> Ints:
        """How often each context of `length` tokens is followed by any token, int64 [N_length]."""
        starts = self.trie.starts[length]
        running = np.concatenate(([0], np.cumsum(self.counts[length])))
        return running[starts[1:]] - running[starts[:-1]]

    def state(self) -> dict[str, NDArray[Any]]:
        """The arrays that make the counts: `keys.k` and `counts.k`."""
        return self.trie.state() | {f"counts.{k}": count for k, count in enumerate(self.counts, 1)}

    @classmethod
    def from_state(cls, vocab_size: int, order: int, boundary: int | None, state: dict[str, NDArray[Any]]) -> Counts:
        """The counts that `state()` gave."""
        trie = Trie.from_state(vocab_size, order, state)
        return cls(trie, boundary, tuple(np.asarray(state[f"counts.{k}"], np.int64) for k in range(1, order + 1)))


def _in_memory(corpus: Corpus, order: int) -> tuple[Ints, list[Order]]:
    """Unigram counts [V], and the n-grams of orders 2 … `order`."""
    V = corpus.vocab_size
    tokens = as_ids(corpus.ids, V)
    unigrams = np.bincount(tokens, minlength=V)
    if corpus.boundary is not None:
        tokens = np.concatenate(([corpus.boundary], tokens))
    higher: list[Order] = []
    nodes = tokens
    for k in range(2, order + 1):
        at = ends(nodes, tokens, k, corpus.boundary)
        found = group(nodes[at - 1] * V + tokens[at])
        higher.append(Order(found.keys, found.counts, nodes[at[found.first]]))
        if k < order:
            nodes = np.full(len(tokens), -1, np.int64)
            nodes[at] = found.place
    return unigrams, higher


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

    def told(self, ids: Ints, marks: Mapping[int, str]) -> tuple[Panel, Floats, Floats]:
        """The contexts that end the window `ids` [c], as a panel; c(h w) after each, [V, c + 1]; c(h), [c + 1]."""
        nodes, total = self.seen(ids[None, :])
        joint = np.zeros((self.trie.vocab_size, len(ids) + 1))
        for j in range(len(ids) + 1):
            found = self.continuations(nodes, np.array([j]), j)
            joint[found.word, j] = self.counts.counts[j][found.node]
        times = total[0].astype(np.float64)
        quantities = (
            Quantity("c(h)", times, "Σ_w c(h w)"),
            Quantity("words", np.count_nonzero(joint, axis=0).astype(np.float64), "how many different ones followed"),
        )
        text = "h is the end of the window; c(h) is how often it was followed by anything in training."
        rows = ending(ids)
        return Panel("The contexts, short to long", quantities, rows, "h", text, marks=marks), joint, times

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


def shares(joint: Floats, p: Floats, equation: str, opened: Opened) -> Panel:
    """The counts c(h w) [V, c + 1] after each context, and p [V] made of those after one of them."""
    names = [f"after {j}" for j in range(joint.shape[1])]
    counted = Quantity("c(h w)", joint, "by words of context", columns=names)
    return Panel("Counts to probabilities", (counted, Quantity("p", p, equation, opened=opened)))


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
