"""Absolute discounts: how much is taken off a count of 1, of 2, and of 3 or more.

From the counts of counts n_1 … n_4 (Ney, Essen & Kneser 1994; Chen & Goodman 1999, equation 26):

    one a count        D = n_1/(n_1 + 2 n_2)
    three (modified)   D_i = i − (i + 1) Y n_{i+1}/n_i,  Y = n_1/(n_1 + 2 n_2)

Small or odd texts lack some n_i, or put a D_i outside 0 … i. Then the order takes the fixed discounts that
KenLM's estimator falls back to, 0.5, 1 and 1.5 (0.5 where there is one), and a warning says so.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from neuralgram.errors import InputError
from neuralgram.ngram.trie import Floats, Ints

FALLBACK = (0.5, 1.0, 1.5)


def of_counts(counts: Sequence[Ints], *, modified: bool, strict: bool, quiet: bool = False) -> Floats:
    """Discounts [n, 3] for adjusted counts of orders 1 … n; three equal ones a row unless `modified`.

    `strict` refuses D_i = i, which would leave an n-gram seen i times nothing (no harm when interpolated).
    """
    out = np.empty((len(counts), 3))
    for row, (order, count) in zip(out, enumerate(counts, 1), strict=True):
        n = np.bincount(count[(count > 0) & (count < 5)], minlength=5)
        found = _modified(n) if modified else _single(n)
        good = found is not None and bool((found > 0).all()) and bool((found <= np.arange(1, 4)).all())
        if found is not None and good and not (strict and (found == np.arange(1, 4)).any()):
            row[:] = found
            continue
        row[:] = FALLBACK if modified else FALLBACK[0]
        if not quiet:
            fixed = ", ".join(f"{D:g}" for D in FALLBACK) if modified else f"{FALLBACK[0]:g}"
            warnings.warn(
                f"order {order}: {n[1]}, {n[2]}, {n[3]} and {n[4]} n-grams occur 1, 2, 3 and 4 times, which does not "
                f"determine its discounts; it takes the usual fixed ones, {fixed}, as KenLM does. Where nearly every "
                "n-gram is frequent, as single characters are, that changes little.",
                stacklevel=3,
            )
    return out


def given(discounts: Sequence[Any], order: int) -> Floats:
    """Discounts [n, 3] that the caller chose: for each order one number or three, 0 < D_i ≤ i."""
    try:
        out = np.array([np.broadcast_to(np.asarray(row, np.float64), 3) for row in discounts])
    except ValueError:
        out = np.empty(0)
    if out.shape != (order, 3) or not ((out > 0) & (out <= np.arange(1, 4))).all():
        raise InputError(f"discounts {discounts!r}: expected for each order 1 … {order} one or three, 0 < D_i ≤ i")
    return out


def _single(n: Ints) -> Floats | None:
    return np.full(3, n[1] / (n[1] + 2 * n[2])) if n[1] and n[2] else None


def _modified(n: Ints) -> Floats | None:
    if not n[1:4].all():
        return None
    i = np.arange(1, 4)
    Y = n[1] / (n[1] + 2 * n[2])
    discounts: Floats = i - (i + 1) * Y * n[2:5] / n[1:4]
    return discounts
