"""Mixture rows: the weights are given, or fitted on validation; the parts' losses are measured once and used again.

P = Σ_k λ_k P_k token by token, so that a mixture costs no more scoring than its parts have had already; the same
numbers as `neuralgram.mixture.Mixture` gives (a test says so).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from neuralgram.mixture import Uniform
from neuralgram.ngram.context_bins import ContextBins, em
from neuralgram.recipes.rows import Row
from neuralgram.recipes.work import Floats, Work
from neuralgram.text.windows import token_frequencies

ITERATIONS = 200
FLOORS = ("uniform", "unseen")  # further parts, as `mix --uniform` and `--unseen` have them

LossesOf = Callable[[Row], Floats]


def fit_weights(work: Work, row: Row, losses_of: LossesOf) -> Floats:
    """λ [Q, K]: one row, or one a bin of contexts by their frequency in training."""
    weights = row.settings["weights"]
    if not isinstance(weights, str):
        return np.atleast_2d(np.array(weights, np.float64))
    columns = _columns(work, row, "valid", losses_of)
    if weights == "learned":
        return em(_scaled(columns), np.zeros(len(columns), np.int64), 1, ITERATIONS)
    bins = ContextBins.of(work.corpora(row).train)
    return em(_scaled(columns), _bins(work, row, "valid", bins), len(bins), ITERATIONS)


def losses(work: Work, row: Row, part: str, losses_of: LossesOf) -> Floats:
    """Of a finished mixture."""
    kept = work.finished(row)
    weights = fit_weights(work, row, losses_of) if kept is None else np.array(kept["weights"])
    return combined(work, row, weights, part, losses_of)


def combined(work: Work, row: Row, weights: Floats, part: str, losses_of: LossesOf) -> Floats:
    """−log Σ_k λ_k P_k of every scored token."""
    columns = _columns(work, row, part, losses_of)
    q = np.zeros(len(columns), np.int64)
    if len(weights) > 1:
        q = _bins(work, row, part, ContextBins.of(work.corpora(row).train))
    with np.errstate(divide="ignore"):
        logs = np.log(weights)[q]
    out = np.full(len(columns), -np.inf)
    for k in range(columns.shape[1]):
        np.logaddexp(out, logs[:, k] - columns[:, k], out=out)
    return -out


def _columns(work: Work, row: Row, part: str, losses_of: LossesOf) -> Floats:
    """The parts' losses, [N, K]; the floors of the row are the last."""
    columns = [losses_of(work.recipe.row(name)) for name in row.settings["parts"]]
    train, targets = work.corpora(row).train, work.targets(row, part)
    for name in (name for name in FLOORS if row.settings.get(name)):
        among = np.flatnonzero(token_frequencies(train) == 0) if name == "unseen" else None
        columns.append(Uniform(train.vocab_size, among).context_nll(np.empty((len(targets), 0)), targets))
    return np.stack(columns, axis=1)


def _scaled(columns: Floats) -> Floats:
    """P up to a factor a token, which expectation–maximisation does not see."""
    scaled: Floats = np.exp(columns.min(axis=1, keepdims=True) - columns)
    return scaled


def _bins(work: Work, row: Row, part: str, bins: ContextBins) -> NDArray[np.int64]:
    windows = work.windows(work.corpora(row).part(part), max(work.recipe.first, bins.length))
    steps = range(0, len(windows), 65536)
    return np.concatenate([bins(windows.slice(i, i + 65536)[0]) for i in steps])
