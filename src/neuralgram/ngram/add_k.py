"""Add-k: p(w | h) = (c(hw) + k)/(c(h) + kV), every n-gram counted k times more than it occurs (Lidstone).

The order and k are chosen together on held-out text: for each order the held-out tokens fall into few
distinct (c(hw), c(h)) pairs, so the loss at every k is a small sum over these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralgram.errors import InputError
from neuralgram.ngram.counts import Counts, Frequencies
from neuralgram.ngram.model import Config, NgramModel, State, sizes
from neuralgram.ngram.trie import Ints, require_order
from neuralgram.text.windows import Corpus, as_ids

KS = (*(digit * 10.0**power for power in range(-4, 1) for digit in (1, 2, 3, 5)), 10.0)


class AddK(NgramModel):
    """Add-k smoothing at one order."""

    smoothing = "add-k"

    def __init__(self, counts: Counts, k: float) -> None:
        if not (math.isfinite(k) and k > 0):
            raise InputError(f"k = {k}: expected a number above 0 (the estimator `mle` adds nothing)")
        self._frequencies = Frequencies(counts)
        self.vocab_size = counts.trie.vocab_size
        self.context = counts.order - 1
        self.boundary = counts.boundary
        self.k = float(k)

    @classmethod
    def fit(
        cls,
        corpus: Corpus,
        order: int,
        *,
        k: float | None = None,
        valid: Corpus | None = None,
        memory_limit: int | None = None,
    ) -> Self:
        """With `k`, the model of that order; without, the order (up to `order`) and k that fit `valid` best."""
        if k is None:
            if valid is None:
                raise InputError("add-k has neither k nor held-out text: give k, or `valid` to tune n and k on")
            order, k = tune(corpus, valid, order, memory_limit=memory_limit)[:2]
        return cls(Counts.of(corpus, order, memory_limit=memory_limit), k)

    def log_probs(self, contexts: ArrayLike) -> NDArray[np.float64]:
        """Natural log-probabilities [B, V] after `contexts` [B, c]; uniform after a context never seen."""
        windows = self.check_windows(contexts)
        nodes, total = self._frequencies.seen(windows)
        length = self._frequencies.whole(windows)
        divisor = total[np.arange(len(length)), length] + self.k * self.vocab_size
        out = np.repeat(np.log(self.k / divisor)[:, None], self.vocab_size, axis=1)
        for j in np.unique(length):
            row, word, node = self._frequencies.continuations(nodes, length, int(j))
            out[row, word] = np.log((self._frequencies.counts.counts[j][node] + self.k) / divisor[row])
        return out

    def context_nll(self, contexts: ArrayLike, targets: ArrayLike) -> NDArray[np.float64]:
        """−log P(target | context) in nats, [B]."""
        windows = self.check_windows(contexts, targets)
        pairs = self._frequencies.pairs(windows, as_ids(targets))
        rows, length = np.arange(len(windows)), self._frequencies.whole(windows)
        divisor = pairs.total[rows, length] + self.k * self.vocab_size
        losses: NDArray[np.float64] = -np.log((pairs.joint[rows, length] + self.k) / divisor)
        return losses

    def state(self) -> State:
        """The counts."""
        return self._frequencies.counts.state()

    def config(self) -> Config:
        """What was chosen: the order and k."""
        return self.chosen(k=self.k)

    @classmethod
    def from_state(cls, config: Config, state: State) -> Self:
        """The model that `config()` and `state()` describe."""
        V, order, boundary = sizes(config)
        return cls(Counts.from_state(V, order, boundary, state), config["k"])


class Tuned(NamedTuple):
    """The best order and k, their held-out loss in nats a token, and the losses [orders, ks] it was the least of."""

    order: int
    k: float
    loss: float
    losses: NDArray[np.float64]
    ks: tuple[float, ...]


def tune(
    train: Corpus, valid: Corpus, max_order: int = 6, ks: Sequence[float] = KS, *, memory_limit: int | None = None
) -> Tuned:
    """Choose n = 1 … `max_order` and k among `ks` by the loss on `valid`; every order predicts the same tokens.

    Of equal losses the shortest order wins, then the first k.
    """
    if not ks or not all(math.isfinite(k) and k > 0 for k in ks):
        raise InputError(f"values of k {list(ks)}: expected numbers above 0")
    if (train.vocab_size, train.boundary) != (valid.vocab_size, valid.boundary):
        raise InputError("held-out text of another vocabulary or boundary: expected the training text's tokenizer")
    if not len(valid):
        raise InputError("the held-out text is empty: expected at least one token to tune n and k on")
    orders = min(require_order(max_order), len(valid))
    frequencies = Frequencies(Counts.of(train, orders, memory_limit=memory_limit))
    windows = valid.windows(orders - 1)
    totals = np.zeros((orders, len(ks)))
    for start in range(0, len(windows), AddK.score_batch):
        contexts, targets = windows.slice(start, start + AddK.score_batch)
        pairs, whole, rows = frequencies.pairs(contexts, targets), frequencies.whole(contexts), np.arange(len(targets))
        for n in range(orders):
            j = np.minimum(n, whole)
            totals[n] += _losses(pairs.joint[rows, j], pairs.total[rows, j], ks, train.vocab_size)
    losses = totals / len(windows)
    best = int(losses.argmin())
    order, k = best // len(ks) + 1, float(ks[best % len(ks)])
    return Tuned(order, k, float(losses.flat[best]), losses, tuple(ks))


def _losses(joint: Ints, total: Ints, ks: Sequence[float], vocab_size: int) -> NDArray[np.float64]:
    """Σ −log((c(hw) + k)/(c(h) + kV)) for each k, summed over the distinct pairs of counts."""
    pair, times = np.unique(total * (int(total.max()) + 1) + joint, return_counts=True)
    seen, after = pair // (int(total.max()) + 1), pair % (int(total.max()) + 1)
    k = np.asarray(ks, np.float64)[:, None]
    losses: NDArray[np.float64] = (np.log((seen + k * vocab_size) / (after + k)) * times).sum(axis=1)
    return losses
