"""A set of n-grams as sorted arrays: the one structure under counts, back-off tables and ARPA files.

The nodes of order k are the k-grams, numbered in sorted order. A k-gram is its first k − 1 tokens
(a node of order k − 1) and its last token, joined in one integer key = parent·V + word; the keys of
an order are sorted, so the continuations of a context lie side by side and finding many k-grams is one
binary search. Node i of order 1 is token i: every token of the vocabulary has one. The context of
no tokens is node 0 of order 0.

A boundary symbol b is `<s>` where an n-gram begins with it and `</s>` where one ends with it; no
n-gram holds it elsewhere, so a context is cut at its last b by what the set holds, and a run of b reads as one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import InputError, ModelDirError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Continuations(NamedTuple):
    """What follows a batch of contexts: context `row` [E] is followed by `word` [E], the n-gram `node` [E]."""

    row: Ints
    word: Ints
    node: Ints


class Tokens(NamedTuple):
    """A batch of windows as few runs of tokens, so that windows that overlap are looked up once.

    tokens [S]; at [B] is where each window's target stands, after the c tokens of its context.
    """

    tokens: Ints
    at: Ints


@dataclass(frozen=True, eq=False)
class Trie:
    """The n-grams of orders 1 … n over V tokens.

    vocab_size  V
    keys        for orders 2 … n: parent·V + word, sorted, int64 [N_k]
    starts      for orders 1 … n − 1: where the continuations of node i start among those of the next
                order, int64 [N_k + 1]; with `starts[0]` = [0, V] for the context of no tokens
    """

    vocab_size: int
    keys: tuple[Ints, ...]
    starts: tuple[Ints, ...]

    @classmethod
    def of(cls, vocab_size: int, keys: list[Ints]) -> Trie:
        """The set with these keys for orders 2, 3, …; refuses keys that are not sorted or have no parent."""
        starts = [np.array([0, vocab_size], np.int64)]
        size = vocab_size
        for order, key in enumerate(keys, 2):
            if len(key) and (key[0] < 0 or key[-1] >= size * vocab_size or not (key[1:] > key[:-1]).all()):
                raise ModelDirError(
                    f"n-grams of order {order} are not sorted: the file is damaged, make the model again"
                )
            starts.append(np.searchsorted(key, np.arange(size + 1, dtype=np.int64) * vocab_size))
            size = len(key)
        return cls(vocab_size, tuple(keys), tuple(starts))

    @property
    def order(self) -> int:
        """n, the length of the longest n-grams."""
        return len(self.keys) + 1

    def size(self, order: int) -> int:
        """N_k, the number of n-grams of an order (order 0 is the one context of no tokens)."""
        return (1, self.vocab_size)[order] if order < 2 else len(self.keys[order - 2])

    def parents(self, order: int) -> Ints:
        """The node of the first k − 1 tokens of every k-gram, int64 [N_k]."""
        return self.keys[order - 2] // self.vocab_size if order > 1 else np.zeros(self.vocab_size, np.int64)

    def words(self, order: int) -> Ints:
        """The last token of every k-gram, int64 [N_k]."""
        return self.keys[order - 2] % self.vocab_size if order > 1 else np.arange(self.vocab_size)

    def suffixes(self, order: int) -> Ints:
        """The node (of order k − 1) of the last k − 1 tokens of every k-gram, −1 where there is none."""
        suffix = np.zeros(self.vocab_size, np.int64)
        for k in range(2, order + 1):
            suffix = self.find(k, suffix[self.parents(k)] if k > 2 else suffix[:1].repeat(self.size(2)), self.words(k))
        return suffix

    def ngrams(self, order: int) -> Ints:
        """The tokens of every k-gram, oldest first, int64 [N_k, k]."""
        out = np.empty((self.size(order), order), np.int64)
        node = np.arange(len(out))
        for k in range(order, 0, -1):
            out[:, k - 1] = self.words(k)[node]
            node = self.parents(k)[node]
        return out

    def find(self, order: int, parents: Ints, words: Ints) -> Ints:
        """The nodes of order k that continue `parents` (of order k − 1) by `words`; −1 where unseen or parent is −1."""
        if order == 1:
            return np.where(parents >= 0, words, -1)
        keys = self.keys[order - 2]
        out = np.full(len(words), -1, np.int64)
        asked = np.flatnonzero(parents >= 0)
        if not len(keys) or not len(asked):
            return out
        wanted = parents[asked] * self.vocab_size + words[asked]
        if len(wanted) > 4096:  # sorted questions walk the keys in order: three times as fast on large sets
            turn = np.argsort(wanted)
            asked, wanted = asked[turn], wanted[turn]
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        out[asked] = np.where(keys[place] == wanted, place, -1)
        return out

    def walk(self, tokens: Ints, order: int) -> list[Ints]:
        """For k = 1 … order, the node of the k-gram that ends at each token, [S] each; −1 where it is unseen."""
        nodes = [tokens]
        for k in range(2, order + 1):
            before = np.empty_like(tokens)
            before[:1] = -1
            before[1:] = nodes[-1][:-1]
            nodes.append(self.find(k, before, tokens))
        return nodes

    def contexts(self, contexts: Ints) -> Ints:
        """For each context [B, c] the node of its last j tokens in column j = 0 … c, −1 where unseen; [B, c + 1]."""
        count, width = contexts.shape
        out = np.zeros((count, width + 1), np.int64)
        if width and count:
            nodes = self.walk(contexts.ravel(), width)  # the last j ≤ c tokens of a row lie within it
            for j in range(1, width + 1):
                out[:, j] = nodes[j - 1].reshape(contexts.shape)[:, -1]
        return out

    def continuations(self, order: int, nodes: Ints) -> Continuations:
        """The n-grams of order k that continue `nodes` [B] of order k − 1 (−1: none), row by row."""
        starts = self.starts[order - 1]
        first = np.where(nodes >= 0, starts[nodes], 0)
        count = np.where(nodes >= 0, starts[nodes + 1], 0) - first
        row = np.repeat(np.arange(len(nodes)), count)
        node = np.arange(len(row)) - np.repeat(np.cumsum(count) - count - first, count)
        word = self.keys[order - 2][node] % self.vocab_size if order > 1 else node
        return Continuations(row, word, node)

    def state(self) -> dict[str, NDArray[Any]]:
        """The arrays that make the set: `keys.k` for k = 2 … n."""
        return {f"keys.{k}": keys for k, keys in enumerate(self.keys, 2)}

    @classmethod
    def from_state(cls, vocab_size: int, order: int, state: dict[str, NDArray[Any]]) -> Trie:
        """The set that `state()` gave."""
        return cls.of(vocab_size, [np.asarray(state[f"keys.{k}"], np.int64) for k in range(2, order + 1)])


def join(contexts: Ints, targets: Ints, boundary: int | None) -> Tokens:
    """Windows (contexts [B, c], targets [B]) as runs: a window that only shifts the one before it adds one token."""
    count, width = contexts.shape
    fresh = np.ones(count, np.bool_)
    if count > 1:
        follows = (contexts[1:, -1:] == targets[:-1, None]).all(axis=1) & (contexts[1:, :-1] == contexts[:-1, 1:]).all(
            axis=1
        )
        if boundary is not None:
            follows |= (targets[:-1] == boundary) & (contexts[1:] == boundary).all(axis=1)
        fresh[1:] = ~follows
    at = np.cumsum(1 + width * fresh) - 1
    tokens = np.empty(int(at[-1]) + 1 if count else 0, np.int64)
    tokens[at] = targets
    for j in range(width):
        tokens[at[fresh] - width + j] = contexts[fresh, j]
    return Tokens(tokens, at)


def require_order(order: int) -> int:
    """`order` if it is 1 … 20, or an `InputError`."""
    whole = hasattr(order, "__index__") and not isinstance(order, bool)
    if not whole or not 1 <= order <= 20:
        raise InputError(f"order {order}: expected 1 to 20 tokens an n-gram, the predicted one included")
    return order
