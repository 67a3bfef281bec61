"""Kneser–Ney smoothing with one discount an order (Kneser & Ney 1995), and modified, with three: for counts of 1, of 2
and of 3 or more (Chen & Goodman 1999). The equations stand in `adjusted_counts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

from neuralgram.errors import InputError
from neuralgram.ngram import discounts as absolute
from neuralgram.ngram.adjusted_counts import Adjusted, Form, table
from neuralgram.ngram.backoff import BackoffModel, BackoffTable
from neuralgram.ngram.counts import Counts
from neuralgram.ngram.trie import Floats
from neuralgram.text.windows import Corpus

Discounts = str | Sequence[Any]


class Settings(NamedTuple):
    """How a Kneser–Ney model is made: `modified` has three discounts an order; the rest as `KneserNey.fit` says."""

    modified: bool
    form: Form
    discounts: Discounts = "counts"
    thresholds: Sequence[int] = ()
    quiet: bool = False


def estimate(counts: Counts, settings: Settings, valid: Corpus | None = None) -> tuple[BackoffTable, Floats]:
    """The table, and its discounts [n, 3]."""
    form, wanted = settings.form.checked(), settings.discounts
    if wanted == "tuned" and (valid is None or not len(valid)):
        raise InputError("no held-out text to tune the discounts on: give `valid`, or take them from the counts")
    adjusted = Adjusted.of(counts, settings.thresholds)
    if not isinstance(wanted, str):
        D = absolute.given(wanted, counts.order)
    elif wanted in ("counts", "tuned"):
        D = absolute.of_counts(adjusted.counts, modified=settings.modified, quiet=settings.quiet)
    else:
        raise InputError(f"discounts {wanted!r}: expected counts, tuned, or a list with one or three numbers an order")
    if wanted == "tuned" and valid is not None:
        D = absolute.tuned(adjusted, D, form, valid, modified=settings.modified)
    return table(adjusted, D, form), D


class KneserNey(BackoffModel):
    """Kneser–Ney smoothing with one discount an order."""

    smoothing: ClassVar[str] = "kneser-ney"

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
        """Count a corpus and smooth.

        form       `interpolated` or `backoff`
        discounts  from the `counts` of counts, `tuned` on `valid`, or given: one number an order
        prune      n-grams of order k seen at most prune[k − 1] times are left out; prune[0] is 0, the last holds on
        unigrams   where the unigrams' freed part goes: to all tokens (`uniform`) or to those never seen (`unseen`)
        """
        counts = Counts.of(corpus, order, memory_limit=memory_limit)
        settings = Settings(False, Form(form, unigrams), discounts, prune)
        made, D = estimate(counts, settings, valid)
        return cls(made, described(settings, D))


def described(settings: Settings, D: Floats) -> dict[str, Any]:
    """The options a fitted model keeps in its `config()`."""
    origin = settings.discounts if isinstance(settings.discounts, str) else "given"
    form = settings.form.checked()
    return {
        "form": form.name,
        "unigrams": form.unigrams,
        "discounts": D.tolist(),
        "discounts_from": origin,
        "prune": [int(t) for t in settings.thresholds],
    }


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
