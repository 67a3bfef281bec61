"""Scoring inside Ray Data: `dataset.map_batches(Scorer, fn_constructor_args=[model], concurrency=2)`.

A batch is columns by name, as Ray (and Hugging Face's `Dataset.map(batched=True)`) passes them; nothing of Ray is
imported here, since nothing is needed but to be called.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from neuralgram.scoring.judging import Judge


class Scorer:
    """Adds `tokens`, `unknown`, `nats`, `perplexity`, `bits_per_byte` to each batch of rows with a column of text."""

    def __init__(self, model: str, field: str = "text", *, prefix: str = "", end: bool = True) -> None:
        self.field, self.prefix = field, prefix
        self._opened = Judge(model, end=end).open()

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """The batch with its scores."""
        found = self._opened.scores([str(text) for text in batch[self.field]])
        names = ("tokens", "unknown", "nats", "perplexity", "bits_per_byte")
        columns = {self.prefix + name: np.array([getattr(one, name) for one in found]) for name in names}
        return {**batch, **columns}


class Keeper(Scorer):
    """The same, and only the rows whose perplexity is at most `max_perplexity` (and at least `min_perplexity`)."""

    def __init__(
        self, model: str, field: str = "text", *, max_perplexity: float, min_perplexity: float = 0.0, prefix: str = ""
    ) -> None:
        super().__init__(model, field, prefix=prefix)
        self.low, self.high = min_perplexity, max_perplexity

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """The rows that are kept, with their scores."""
        scored = super().__call__(batch)
        values = scored[self.prefix + "perplexity"]
        keep = (values >= self.low) & (values <= self.high)
        return {name: np.asarray(column)[keep] for name, column in scored.items()}
