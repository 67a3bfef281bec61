"""Word classes by the exchange algorithm: every word in turn moves to the class where the text is likeliest.

The criterion of Brown et al. (1992), the likelihood of a class bigram model, up to what no move changes:

    F = Σ_{g,h} φ(N(g, h)) − Σ_g φ(N(g, ·)) − Σ_g φ(N(·, g)),   φ(x) = x log x

(Ney & Kneser 1993; Martin, Liermann & Ney 1998.) One move is weighed against all C classes at once: only the
classes among a word's neighbours count, so a sweep costs C times the number of distinct class–word pairs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neuralgram.errors import InputError
from neuralgram.ngram.counts import Counts
from neuralgram.ngram.trie import Floats, Ints
from neuralgram.text.windows import Corpus

_TABLE = 1 << 22  # numbers whose x log x is looked up, 8 bytes each and twice that while they are made


class Classes(NamedTuple):
    """class_of [V] gives each token's class, 0 … total − 1; a boundary symbol has the last one to itself."""

    class_of: Ints
    total: int


def exchange(
    corpus: Corpus, classes: int, *, sweeps: int = 20, settled: float = 0.02, memory_limit: int | None = None
) -> Classes:
    """Cluster the words of a corpus into `classes` classes (and one for a boundary symbol).

    Words start spread over the classes by frequency rank; sweeps go from the most frequent word down, until one
    moves less than `settled` of the words, or `sweeps` are done. Words the text lacks join its rarest words, spread
    evenly over their classes. With fewer words than classes, each word is a class. Pairs are counted within
    `memory_limit` (bytes).
    """
    if classes < 1:
        raise InputError(f"{classes} classes: expected at least 1")
    counts = Counts.of(corpus, 2, memory_limit=memory_limit)
    b, V = corpus.boundary, corpus.vocab_size
    frequency = counts.counts[0].copy()
    if b is not None:
        frequency[b] = 0
    ranked = np.argsort(-frequency, kind="stable")[: int((frequency > 0).sum())]
    C = max(1, min(classes, len(ranked)))
    class_of = np.zeros(V, np.int64)
    class_of[ranked] = np.arange(len(ranked)) % C
    if b is not None:
        class_of[b] = C
    if 1 < C < len(ranked):
        known = _TABLE if memory_limit is None else min(_TABLE, memory_limit // 32)
        state = _Exchange(counts, class_of, C + (b is not None), C, known)
        for _ in range(sweeps):
            if sum(state.move(int(w)) for w in ranked) < settled * len(ranked):
                break
    if len(ranked):
        rarest = class_of[ranked[frequency[ranked] == frequency[ranked[-1]]]]
        lacking = frequency == 0
        if b is not None:
            lacking[b] = False
        words = np.flatnonzero(lacking)
        class_of[words] = rarest[np.arange(len(words)) * len(rarest) // max(len(words), 1)]
    return Classes(class_of, C + (b is not None))


class _Side(NamedTuple):
    """The classes `at` [X] found on one side of a word, and how often each is, `times` [X]."""

    at: Ints
    times: Ints


class _Neighbours:
    """The tokens on one side of each word: those of word w are `token[start[w] : start[w + 1]]`, with counts."""

    def __init__(self, word: Ints, token: Ints, count: Ints, vocab_size: int) -> None:
        turn = np.argsort(word, kind="stable")
        self.start = np.searchsorted(word[turn], np.arange(vocab_size + 1))
        self.token, self.count = token[turn], count[turn]
        self.total = np.bincount(word, count, minlength=vocab_size).astype(np.int64)

    def by_class(self, w: int, class_of: Ints, size: int) -> tuple[_Side, int]:
        """The classes next to w, w itself left out; and how often w is next to w."""
        of = slice(self.start[w], self.start[w + 1])
        token, count = self.token[of], self.count[of]
        sums = np.bincount(class_of[token], count, minlength=size).astype(np.int64)
        own = int(count[token == w].sum())
        sums[class_of[w]] -= own
        at = np.flatnonzero(sums)
        return _Side(at, sums[at]), own


class _Word(NamedTuple):
    """What counting a word into a class changes: pairs with the classes after and before it, and with itself."""

    id: int
    after: _Side
    before: _Side
    own: int


class _Exchange:
    """Class bigram counts N [G, G] with their transpose, φ of both, and their sums; changed move by move."""

    def __init__(self, counts: Counts, class_of: Ints, size: int, movable: int, known: int = _TABLE) -> None:
        left, right, count = counts.trie.parents(2), counts.trie.words(2), counts.counts[1]
        V = counts.trie.vocab_size
        self.class_of, self.size, self.movable = class_of, size, movable
        self.after = _Neighbours(left, right, count, V)
        self.before = _Neighbours(right, left, count, V)
        pairs = class_of[left] * size + class_of[right]
        self.N = np.bincount(pairs, count, minlength=size * size).reshape(size, size).astype(np.int64)
        self.NT = self.N.T.copy()
        self.left, self.right = self.N.sum(axis=1), self.N.sum(axis=0)
        pairs_counted = int(count.sum())
        self.table = np.arange(min(pairs_counted + 1, known), dtype=np.float64)
        self.whole = len(self.table) > pairs_counted
        self.table *= np.log(np.maximum(self.table, 1.0))
        self.phi = self._phi(self.N)
        self.phiT = self.phi.T.copy()
        self.words = np.bincount(class_of, minlength=size)

    def move(self, w: int) -> bool:
        """Put word w where F is largest; whether it moved. A class is never left empty."""
        g = int(self.class_of[w])
        if self.words[g] == 1:
            return False
        after, own = self.after.by_class(w, self.class_of, self.size)
        before, _ = self.before.by_class(w, self.class_of, self.size)
        word = _Word(w, after, before, own)
        self._count(word, g, -1)
        best = int(self._gains(word)[: self.movable].argmax())
        self._count(word, best, 1)
        self.words[g] -= 1
        self.words[best] += 1
        self.class_of[w] = best
        return best != g

    def _gains(self, word: _Word) -> Floats:
        """What F gains by adding the word to each class k, [G]."""
        (x, s), (y, p) = word.after, word.before
        D_xk = self._phi(self.NT[x] + s[:, None]) - self.phiT[x]  # N(k, x) grows by s(x)
        D_yk = self._phi(self.N[y] + p[:, None]) - self.phi[y]  # N(y, k) grows by p(y)
        gain: Floats = D_xk.sum(axis=0) + D_yk.sum(axis=0)
        gain[x] -= D_xk[np.arange(len(x)), x]  # N(k, k) grows by both and w's own pairs, at once
        gain[y] -= D_yk[np.arange(len(y)), y]
        both = np.full(self.size, word.own)
        both[x] += s
        both[y] += p
        gain += self._phi(self.N.diagonal() + both) - self.phi.diagonal()
        gain -= self._phi(self.left + self.after.total[word.id]) - self._phi(self.left)
        gain -= self._phi(self.right + self.before.total[word.id]) - self._phi(self.right)
        return gain

    def _count(self, word: _Word, k: int, sign: int) -> None:
        """Count the word's pairs into class k (sign 1) or out of it (sign −1)."""
        (x, s), (y, p) = word.after, word.before
        self.N[k, x] += sign * s
        self.N[y, k] += sign * p
        self.N[k, k] += sign * word.own
        x, y = np.append(x, k), np.append(y, k)
        row, column = self.N[k, x], self.N[y, k]
        self.NT[x, k], self.NT[k, y] = row, column
        self.phi[k, x], self.phi[y, k] = self._phi(row), self._phi(column)
        self.phiT[x, k], self.phiT[k, y] = self.phi[k, x], self.phi[y, k]
        self.left[k] += sign * self.after.total[word.id]
        self.right[k] += sign * self.before.total[word.id]

    def _phi(self, x: Ints) -> Floats:
        """x log x of whole numbers, 0 at 0: from a table, which is five times as fast as a logarithm."""
        if self.whole or not (large := x >= len(self.table)).any():
            return self.table.take(x)
        return np.where(large, x * np.log(np.maximum(x, 1)), self.table.take(x, mode="clip"))
