"""Modified Kneser–Ney: three discounts an order, for counts of 1, of 2 and of 3 or more (Chen & Goodman 1999)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from neuralgram.ngram.backoff import BackoffModel
from neuralgram.ngram.counts import Counts
from neuralgram.ngram.forms import Form
from neuralgram.ngram.kneser_ney import Discounts, Settings, described, estimate
from neuralgram.text.windows import Corpus


class ModifiedKneserNey(BackoffModel):
    """Kneser–Ney smoothing with three discounts an order: the standard others compare with."""

    smoothing: ClassVar[str] = "modified-kneser-ney"

    @classmethod
    def fit(
        cls,
        corpus: Corpus,
        order: int,
        *,
        form: str = "interpolated",
        discounts: Discounts = "counts",
        valid: Corpus | None = None,
        prune: Sequence[int] = (),
        unigrams: str = "uniform",
        memory_limit: int | None = None,
    ) -> Self:
        """Count a corpus and smooth; the options are those of `KneserNey.fit`, given discounts three an order."""
        counts = Counts.of(corpus, order, memory_limit=memory_limit)
        settings = Settings(True, Form(form, unigrams), discounts, prune)
        made, D = estimate(counts, settings, valid)
        return cls(made, described(settings, D))
