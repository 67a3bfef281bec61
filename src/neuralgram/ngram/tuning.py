"""Discounts chosen by the loss on held-out text.

One discount after another is moved to where the held-out loss is least (golden section; the loss has one
valley in each), twice over all of them. What the held-out tokens need is looked up once; a move rebuilds
the orders from its own upwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from neuralgram.errors import InputError
from neuralgram.ngram.adjusted import Adjusted
from neuralgram.ngram.forms import Form, backed_off, interpolated, unigrams
from neuralgram.ngram.model import log
from neuralgram.ngram.trie import Floats, Ints, join
from neuralgram.text.windows import Corpus

SWEEPS = 2
_GOLDEN = (math.sqrt(5) - 1) / 2
_MARGIN = 1e-3  # discounts stay this far inside 0 … i, so that no n-gram and no context is left with nothing


def tuned(adjusted: Adjusted, start: Floats, form: Form, valid: Corpus, *, modified: bool) -> Floats:
    """Discounts [n, 3] with the least loss on `valid`, from those in `start`."""
    if (adjusted.trie.vocab_size, adjusted.boundary) != (valid.vocab_size, valid.boundary):
        raise InputError("held-out text of another vocabulary or boundary: expected the training text's tokenizer")
    held_out = _HeldOut(adjusted, form, valid)
    D = start.copy()
    groups = [[0], [1], [2]] if modified else [[0, 1, 2]]
    for _ in range(SWEEPS):
        for k in range(1, adjusted.order + 1):
            for columns in groups:
                _move(held_out, D, k, columns)
            held_out.settle(k, D[k - 1])
    return D


def _move(held_out: _HeldOut, D: Floats, k: int, columns: list[int]) -> None:
    """Set D[k − 1, columns] to where the loss is least, if that is better than where it is."""

    def loss(value: float) -> float:
        trial = D.copy()
        trial[k - 1, columns] = value
        return held_out.loss(trial, k)

    value, found = _least(loss, _MARGIN, 1.0 + columns[0] - _MARGIN)
    if found < held_out.loss(D, k):
        D[k - 1, columns] = value


def _least(f: Callable[[float], float], low: float, high: float, steps: int = 9) -> tuple[float, float]:
    """Golden section search: where f is least between `low` and `high`, and f there."""
    a, b = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_a, at_b = f(a), f(b)
    for _ in range(steps):
        if at_a < at_b:
            high, b, at_b = b, a, at_a
            a = high - _GOLDEN * (high - low)
            at_a = f(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + _GOLDEN * (high - low)
            at_b = f(b)
    return (a, at_a) if at_a < at_b else (b, at_b)


class _HeldOut:
    """The held-out tokens as nodes of every order, and their loss under any discounts."""

    def __init__(self, adjusted: Adjusted, form: Form, valid: Corpus) -> None:
        order = adjusted.order
        self._adjusted, self._form = adjusted, form
        self._step = interpolated if form.name == "interpolated" else backed_off
        windows = valid.windows(order - 1)
        if not len(windows):
            raise InputError(f"{len(valid)} held-out tokens: expected at least {order} to tune on")
        tokens, at = join(*windows.slice(0, len(windows)), adjusted.boundary)
        walked = adjusted.trie.walk(tokens, order)
        self._contexts: list[Ints] = [np.zeros(len(at), np.int64)] + [nodes[at - 1] for nodes in walked[:-1]]
        self._targets = [nodes[at] for nodes in walked]
        if adjusted.kept is not None:
            kept = zip(self._targets, adjusted.kept, strict=True)
            self._targets = [np.where((node >= 0) & keep[node], node, -1) for node, keep in kept]
        self._settled: list[tuple[Floats, Floats]] = []

    def settle(self, k: int, D: Floats) -> None:
        """Keep order k with its discounts D [3]: the orders above build on it."""
        del self._settled[k - 1 :]
        self._settled.append(self._order(k, D, self._settled[-1] if k > 1 else None))

    def loss(self, D: Floats, k: int) -> float:
        """Σ −log P of the held-out tokens with discounts D [n, 3]; the orders below k are those settled."""
        made = self._settled[k - 2] if k > 1 else None
        for order in range(k, self._adjusted.order + 1):
            made = self._order(order, D[order - 1], made)
        return float(-log(made[1]).sum()) if made else 0.0

    def _order(self, k: int, D: Floats, below: tuple[Floats, Floats] | None) -> tuple[Floats, Floats]:
        """P of every k-gram, and of every held-out token by the model of order k, given those of the order below."""
        node, context = self._targets[k - 1], self._contexts[k - 1]
        if below is None:
            p = unigrams(self._adjusted, D, self._form.unigrams)
            return p, p[node]
        p, weight = self._step(self._adjusted, k, D, below[0])
        fallen = below[1] * np.where(context >= 0, weight[context], 1.0)
        return p, np.where(node >= 0, p[node], fallen) if len(p) else fallen
