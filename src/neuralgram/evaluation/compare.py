"""Comparing models on the same tokens, with the uncertainty of the difference.

The text is cut into groups (files, units, or blocks of a stream) that are resampled together for both models:
a paired bootstrap (Efron 1979; Koehn 2004). What is compared is nats per token, a ratio of sums, so long groups weigh
what they are worth. A model is called better only where the interval leaves out zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import InputError
from neuralgram.evaluation.evaluate import Evaluation

DRAWS = 2000
BLOCKS = 200  # of a stream that has no units: long enough to keep neighbours together, many enough to resample


class Difference(NamedTuple):
    """How much worse than the first model, in nats per token (positive: worse), with a 95% interval."""

    nats: float
    low: float
    high: float
    groups: int

    @property
    def decided(self) -> bool:
        """Whether the interval leaves out zero."""
        return self.low > 0 or self.high < 0


class Ranked(NamedTuple):
    """One row of a comparison; the first row's difference is None."""

    evaluation: Evaluation
    difference: Difference | None


def rank(evaluations: Sequence[Evaluation], *, seed: int = 0) -> list[Ranked]:
    """Best first. All must have scored the same tokens: one tokenizer, one boundary, one text.

    Raises `InputError` where they did not.
    """
    ordered = sorted(evaluations, key=lambda e: (e.nats, e.path))
    best = ordered[0]
    for other in ordered[1:]:
        if not np.array_equal(other.targets, best.targets):
            raise InputError(
                f"{best.path} and {other.path} scored different tokens ({best.tokens} and {other.tokens}): "
                "only models over one tokenizer and boundary can be ranked"
            )
    groups = group_starts(best)
    return [Ranked(best, None)] + [
        Ranked(other, difference(other.losses, best.losses, groups, seed=seed)) for other in ordered[1:]
    ]


def group_starts(evaluation: Evaluation) -> NDArray[np.int64]:
    """Where each group of scored tokens begins: after every end of a unit, or every so many tokens of a stream."""
    n, end = evaluation.tokens, evaluation.model.boundary_id
    if end is not None:
        starts = np.flatnonzero(evaluation.targets[:-1] == end) + 1
        if len(starts):
            return np.concatenate([[0], starts]).astype(np.int64)
    return np.unique(np.linspace(0, n, min(BLOCKS, n), endpoint=False).astype(np.int64))


def difference(
    losses: NDArray[np.float64], reference: NDArray[np.float64], starts: NDArray[np.int64], *, seed: int = 0
) -> Difference:
    """Mean of `losses` − `reference` over tokens, with the 95% interval of a paired bootstrap over groups.

    One group gives no interval: it is (−inf, inf).
    """
    gaps = np.add.reduceat(losses - reference, starts)
    sizes = np.diff(np.append(starts, len(losses))).astype(np.float64)
    value = float(gaps.sum() / sizes.sum())
    count = len(starts)
    if count < 2 or not np.isfinite(gaps).all():
        return Difference(value, -np.inf, np.inf, count)
    rng = np.random.default_rng(seed)
    means = np.empty(DRAWS)
    for i in range(DRAWS):  # one draw at a time: groups may be a million lines
        weights = np.bincount(rng.integers(count, size=count), minlength=count)
        means[i] = weights @ gaps / (weights @ sizes)
    low, high = np.quantile(means, [0.025, 0.975])
    return Difference(value, float(low), float(high), count)
