"""How often each n-gram of a corpus occurs, for all orders 1 … n, in sorted arrays.

Orders are counted one after another: a k-gram is the (k − 1)-gram that ends one token earlier
(already numbered) and one more token, so its key fits in 64 bits whatever V and n are.

With a boundary symbol every unit is read after one `<s>` and closed by `</s>`, both that symbol;
n-grams reach back to `<s>` and no further. A stream has neither: its first tokens end shorter n-grams only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import InputError
from neuralgram.ngram.trie import Ints, Trie, require_order
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
        """Count the n-grams of orders 1 … `order`."""
        require_order(order)
        if not len(corpus):
            raise InputError("the corpus is empty: expected at least one token to count")
        V = corpus.vocab_size
        tokens = as_ids(corpus.ids, V)
        if corpus.boundary is not None:
            tokens = np.concatenate(([corpus.boundary], tokens))
        first = np.bincount(tokens, minlength=V)
        if corpus.boundary is not None:
            first[corpus.boundary] -= 1
        keys: list[Ints] = []
        counts, suffixes = [first], [np.zeros(V, np.int64)]
        nodes = tokens
        for k in range(2, order + 1):
            at = _ends(nodes, tokens, k, corpus.boundary)
            group = _group(nodes[at - 1] * V + tokens[at])
            suffixes.append(nodes[at[group.first]])
            if k < order:
                nodes = np.full(len(tokens), -1, np.int64)
                nodes[at] = group.place
            keys.append(group.keys)
            counts.append(group.counts)
        return cls(Trie.of(V, keys), corpus.boundary, tuple(counts), tuple(suffixes))

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


def _ends(nodes: Ints, tokens: Ints, order: int, boundary: int | None) -> Ints:
    """Where the n-grams of an order end: the one before is there and, if longer than `<s>`, does not end in `</s>`."""
    known = nodes[:-1] >= 0
    if boundary is not None and order > 2:
        known &= tokens[:-1] != boundary
    return np.flatnonzero(known) + 1


class Group(NamedTuple):
    """Sorted distinct keys [N], how often each occurs [N], where one occurrence is [N]; each asked key's place [M]."""

    keys: Ints
    counts: Ints
    first: Ints
    place: Ints


def _group(keys: Ints) -> Group:
    """Sort `keys` [M] and join equal ones."""
    turn = np.argsort(keys)
    ordered = keys[turn]
    new = np.ones(len(keys), np.bool_)
    new[1:] = ordered[1:] != ordered[:-1]
    first = np.flatnonzero(new)
    place = np.empty(len(keys), np.int64)
    place[turn] = np.cumsum(new) - 1
    return Group(ordered[first], np.diff(first, append=len(keys)), turn[first], place)
