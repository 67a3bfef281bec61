"""Absolute discounts: how much is taken off a count of 1, of 2, and of 3 or more.

From the counts of counts n_1 … n_4 (Ney, Essen & Kneser 1994; Chen & Goodman 1999, equation 26):

    one a count        D = n_1/(n_1 + 2 n_2)
    three (modified)   D_i = i − (i + 1) Y n_{i+1}/n_i,  Y = n_1/(n_1 + 2 n_2)

Small or odd texts lack some n_i, or put a D_i outside 0 … i. Then the order takes the fixed discounts that
KenLM's estimator falls back to, 0.5, 1 and 1.5 (0.5 where there is one). Others put what occurs i times below what
occurs i − 1 times (KenLM's lets that stand): that D_i is replaced. A warning says so.

Or by the loss on held-out text: one discount after another is moved to where the loss is least (golden section; the
loss has one valley in each), twice over all of them. What the held-out tokens need is looked up once; a move rebuilds
the orders from its own upwards.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from neuralgram.errors import InputError
from neuralgram.ngram.adjusted_counts import Adjusted, Form, backed_off, interpolated, unigrams
from neuralgram.ngram.model import log
from neuralgram.ngram.trie import Floats, Ints, join
from neuralgram.text.windows import Corpus

FALLBACK = (0.5, 1.0, 1.5)
_STEP = 0.5  # by which they rise
_I = np.arange(1, 4)
SWEEPS = 2  # of tuning, over all discounts
_GOLDEN = (math.sqrt(5) - 1) / 2
_MARGIN = 1e-3  # discounts stay this far inside 0 … i, so that no n-gram and no context is left with nothing


def of_counts(counts: Sequence[Ints], *, modified: bool, quiet: bool = False) -> Floats:
    """Discounts [n, 3] for adjusted counts of orders 1 … n; three equal ones a row unless `modified`.

    Each is within 0 < D_i ≤ i, and what is left of a count, i − D_i, never falls as the count grows.
    """
    out = np.empty((len(counts), 3))
    for row, (order, count) in zip(out, enumerate(counts, 1), strict=True):
        n = np.bincount(count[(count > 0) & (count < 5)], minlength=5)
        found = _modified(n) if modified else _single(n)
        if found is None or not ((found > 0) & (found <= _I)).all():
            row[:] = FALLBACK if modified else FALLBACK[0]
            fixed = ", ".join(f"{D:g}" for D in FALLBACK) if modified else f"{FALLBACK[0]:g}"
            said = (
                f"which does not determine its discounts; it takes the usual fixed ones, {fixed}, as KenLM does. "
                "Where nearly every n-gram is frequent, as single characters are, that changes little."
            )
        else:
            row[:] = _rising(found)
            said = "".join(
                f"by which {i} times would rank below {i - 1}: D{i} is not {was:.4g} but {now:.4g}. "
                for i, was, now in zip((1, 2, 3), found, row, strict=True)
                if was != now
            ).rstrip()
        if said and not quiet:
            times = f"{n[1]}, {n[2]}, {n[3]} and {n[4]} n-grams occur 1, 2, 3 and 4 times"
            warnings.warn(f"order {order}: {times}, {said}", stacklevel=3)
    return out


def _rising(D: Floats) -> Floats:
    """D [3] with each D_i > D_{i−1} + 1 replaced by D_{i−1} + 0.5, the step of the fixed ones: i would be left with
    less than i − 1 is. Where nothing occurs four times, D_3 = 3 is such a one: the count would be worth nothing.
    """
    out = D.copy()
    for i in (1, 2):
        if out[i] > out[i - 1] + 1:
            out[i] = out[i - 1] + _STEP
    return out


def given(discounts: Sequence[Any], order: int) -> Floats:
    """Discounts [n, 3] that the caller chose: for each order one number or three, 0 < D_i ≤ i."""
    try:
        out = np.array([np.broadcast_to(np.asarray(row, np.float64), 3) for row in discounts])
    except (ValueError, TypeError):
        out = np.empty(0)
    if out.shape != (order, 3) or not ((out > 0) & (out <= _I)).all():
        raise InputError(f"discounts {discounts!r}: expected for each order 1 … {order} one or three, 0 < D_i ≤ i")
    return out


def _single(n: Ints) -> Floats | None:
    return np.full(3, n[1] / (n[1] + 2 * n[2])) if n[1] and n[2] else None


def _modified(n: Ints) -> Floats | None:
    if not n[1:4].all():
        return None
    Y = n[1] / (n[1] + 2 * n[2])
    discounts: Floats = _I - (_I + 1) * Y * n[2:5] / n[1:4]
    return discounts


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
    """Set D[k − 1, columns] to where the loss is least, if that is better than where it is.

    No further than where what is left of a count would rank below what is left of a smaller one.
    """

    def loss(value: float) -> float:
        trial = D.copy()
        trial[k - 1, columns] = value
        return held_out.loss(trial, k)

    first, last = columns[0], columns[-1]
    low, high = _MARGIN, 1.0 + first - _MARGIN
    value, found = _least(loss, low, high)
    if first > 0:
        high = min(high, float(D[k - 1, first - 1]) + 1)
    if last < 2:
        low = max(low, float(D[k - 1, last + 1]) - 1)
    if not low <= value <= high:
        value = min(max(value, low), high)
        found = loss(value)
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
