"""How often each n-gram of a corpus occurs, for all orders 1 … n, in sorted arrays.

Orders are counted one after another: a k-gram is the (k − 1)-gram that ends one token earlier
(already numbered) and one more token, so its key fits in 64 bits whatever V and n are.

With a boundary symbol every unit is read after one `<s>` and closed by `</s>`, both that symbol;
n-grams reach back to `<s>` and no further. A stream has neither: its first tokens end shorter n-grams only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import InputError
from neuralgram.ngram import spill
from neuralgram.ngram.group import ends, group
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
        """Count the n-grams of orders 1 … `order`; with `memory_limit` (bytes) a longer text is counted on disk."""
        require_order(order)
        if not len(corpus):
            raise InputError("the corpus is empty: expected at least one token to count")
        chunk = len(corpus) + 1 if memory_limit is None else spill.chunk_of(memory_limit)
        if len(corpus) < chunk:
            unigrams, higher = _in_memory(corpus, order)
        else:
            unigrams, higher = spill.orders(corpus, order, chunk)
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


def _in_memory(corpus: Corpus, order: int) -> tuple[Ints, list[spill.Order]]:
    """Unigram counts [V], and the n-grams of orders 2 … `order`."""
    V = corpus.vocab_size
    tokens = as_ids(corpus.ids, V)
    unigrams = np.bincount(tokens, minlength=V)
    if corpus.boundary is not None:
        tokens = np.concatenate(([corpus.boundary], tokens))
    higher: list[spill.Order] = []
    nodes = tokens
    for k in range(2, order + 1):
        at = ends(nodes, tokens, k, corpus.boundary)
        found = group(nodes[at - 1] * V + tokens[at])
        higher.append(spill.Order(found.keys, found.counts, nodes[at[found.first]]))
        if k < order:
            nodes = np.full(len(tokens), -1, np.int64)
            nodes[at] = found.place
    return unigrams, higher
