"""Add-k: p(w | h) = (c(hw) + k)/(c(h) + kV), every n-gram counted k times more than it occurs (Lidstone).

The order and k are chosen together on held-out text: for each order the held-out tokens fall into few
distinct (c(hw), c(h)) pairs, so the loss at every k is a small sum over these.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralgram.errors import InputError
from neuralgram.explanation import Index, Panel, Spelled
from neuralgram.ngram.counts import Counts, Frequencies, shares
from neuralgram.ngram.model import Config, Counting, NgramModel, State, sizes
from neuralgram.ngram.trie import Floats, Ints, require_order
from neuralgram.numbers import number
from neuralgram.settings import setting
from neuralgram.text.windows import Corpus, as_ids

KS = (*(digit * 10.0**power for power in range(-4, 1) for digit in (1, 2, 3, 5)), 10.0)


class AddK(NgramModel):
    """Add-k smoothing at one order."""

    smoothing = "add-k"

    @dataclass(frozen=True)
    class Settings(Counting):
        """The options of add-k smoothing."""

        k: float | None = setting(
            None,
            help="What is added to every count.",
            above=0,
            auto="n and k are tuned on the validation part",
            refused="k = {value}: expected a number above 0 (the estimator `mle` adds nothing)",
        )

    def __init__(self, counts: Counts, k: float) -> None:
        given = self.Settings(k=k).k
        if given is None:
            raise InputError("k = None: expected a number above 0; `AddK.fit` chooses one by held-out text")
        self._frequencies = Frequencies(counts)
        self.vocab_size = counts.trie.vocab_size
        self.context = counts.order - 1
        self.boundary = counts.boundary
        self.k = given

    @classmethod
    def fit(
        cls,
        corpus: Corpus,
        order: int,
        *,
        k: float | None = Settings.k,
        valid: Corpus | None = None,
        memory_limit: int | None = Settings.memory_limit,
    ) -> Self:
        """With `k`, the model of that order; without, the order (up to `order`) and k that fit `valid` best."""
        k = cls.Settings(k=k, memory_limit=memory_limit).k
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
        add = _Added(self.k, self.vocab_size)
        whole = add.whole(total[np.arange(len(length)), length])
        out = np.repeat(add.log(add.k, whole)[:, None], self.vocab_size, axis=1)
        for j in np.unique(length):
            row, word, node = self._frequencies.continuations(nodes, length, int(j))
            out[row, word] = add.log(add.own(self._frequencies.counts.counts[j][node]), whole[row])
        return out

    def context_nll(self, contexts: ArrayLike, targets: ArrayLike) -> NDArray[np.float64]:
        """−log P(target | context) in nats, [B]."""
        windows = self.check_windows(contexts, targets)
        pairs = self._frequencies.pairs(windows, as_ids(targets))
        rows, length = np.arange(len(windows)), self._frequencies.whole(windows)
        add = _Added(self.k, self.vocab_size)
        return -add.log(add.own(pairs.joint[rows, length]), add.whole(pairs.total[rows, length]))

    def explain(self, context: Ints, words: Sequence[int]) -> tuple[Panel, ...]:
        """The contexts, short to long, and the counts after the one that is read."""
        used = int(self._frequencies.whole(context[None, :])[0])
        contexts, joint, total = self._frequencies.told(context, {used: f"← read (order {used + 1})"})
        k, V = number(self.k), self.vocab_size
        equation = f"(c(h w) + k) / (c(h) + k·V), k = {k}, V = {V}"

        def opened(index: Index, spelled: Spelled) -> tuple[str, str]:
            count = number(float(joint[index[0], used]))
            return equation, f"({count} + {k}) / ({number(float(total[used]))} + {k}·{V})"

        p = np.exp(self.log_probs(context[None, :])[0])
        return contexts, shares(joint, p, f"p = {equation}", opened)

    def state(self) -> State:
        """The counts."""
        return self._frequencies.counts.state()

    def config(self) -> Config:
        """What was chosen: the order and k."""
        return self.chosen(k=self.k)

    @classmethod
    def restored(cls, config: Config, state: State) -> Self:
        """The model that `config()` and `state()` describe."""
        V, order, boundary = sizes(config)
        return cls(Counts.from_state(V, order, boundary, state), config["k"])


class _Added:
    """c(hw) + k and c(h) + kV, both divided by the same power of 2 where k is large: kV must not overflow, and nothing
    is rounded by it. Where k is so small that a float is too coarse for their ratio, its logarithm is a difference.
    """

    def __init__(self, k: float, vocab_size: int) -> None:
        self.scale = 2.0 ** max(math.frexp(k)[1] - 1, 0)
        self.coarse = k < 1e-280  # above it k/c(h) is a float for every count of 64 bits
        self.k = k / self.scale
        self.everywhere = self.k * vocab_size

    def own(self, joint: Ints) -> Floats:
        """c(hw) + k of c(hw) [B]."""
        return self._sum(joint, self.k)

    def whole(self, total: Ints) -> Floats:
        """c(h) + kV of c(h) [B]."""
        return self._sum(total, self.everywhere)

    def log(self, own: Floats | float, whole: Floats) -> Floats:
        """log own/whole, [B]."""
        if self.coarse:
            return np.log(own) - np.log(whole)
        ratio: Floats = own / whole
        return np.log(ratio, out=ratio)

    def _sum(self, counts: Ints, added: float) -> Floats:
        out = counts.astype(np.float64)
        if self.scale != 1:
            out /= self.scale
        out += added
        return out


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
    if not ks or not all(0 < k <= sys.float_info.max for k in ks):
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
    whole, own = pair // (int(total.max()) + 1), pair % (int(total.max()) + 1)
    added = [_Added(float(k), vocab_size) for k in ks]
    return np.array([-(add.log(add.own(own), add.whole(whole)) * times).sum() for add in added])
