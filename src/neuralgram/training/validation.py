"""Held-out loss during training: exact, in float64, the same tokens every time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from neuralgram.errors import InputError
from neuralgram.text.windows import Windows

if TYPE_CHECKING:
    from neuralgram.neural.nplm import NPLM


class Validation:
    """Scores `windows`, or `limit` of them evenly spaced where there are more; `tokens` says how many.

    Raises `InputError` where there is nothing to score.
    """

    def __init__(self, windows: Windows, limit: int | None = None) -> None:
        self.windows = windows
        self.tokens = len(windows) if limit is None else min(limit, len(windows))
        if not self.tokens:
            raise InputError(
                f"a validation text of {len(windows.corpus)} tokens has nothing to score: "
                f"expected more than the context, {windows.context}; give a longer one or none"
            )
        self.whole = self.tokens == len(windows)

    def loss(self, model: NPLM) -> float:
        """The mean −log P in nats over the scored tokens: the total over the count, however batched."""
        return self._total(model, self.tokens) / self.tokens

    def part(self, model: NPLM, tokens: int) -> None:
        """Score the first `tokens` of them, for timing."""
        self._total(model, min(tokens, self.tokens))

    def _total(self, model: NPLM, tokens: int) -> float:
        total = 0.0
        for start in range(0, tokens, model.score_batch):
            places = np.arange(start, min(start + model.score_batch, tokens), dtype=np.int64)
            if not self.whole:  # place i of n is window ⌊i·N/n⌋
                places = places * len(self.windows) // self.tokens
            total += float(model.context_nll(*self.windows.gather(places)).sum())
        return total
