"""Kneser–Ney smoothing with one discount an order (Kneser & Ney 1995), and modified, with three: for counts of 1, of 2
and of 3 or more (Chen & Goodman 1999). The equations stand in `adjusted_counts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

from neuralgram.errors import InputError
from neuralgram.ngram import discounts as absolute
from neuralgram.ngram.adjusted_counts import Adjusted, Form, pruning, table
from neuralgram.ngram.backoff import BackoffTable
from neuralgram.ngram.backoff_model import BackoffModel
from neuralgram.ngram.counts import Counts
from neuralgram.ngram.model import Counting
from neuralgram.ngram.trie import Floats
from neuralgram.settings import setting
from neuralgram.text.windows import Corpus

Discounts = str | Sequence[Any]


@dataclass(frozen=True)
class Smoothing(Counting):
    """The options of what Kneser–Ney smooths. In Python `discounts` may be numbers too; `numbered` sees to these."""

    form: str = setting(
        "interpolated",
        help="How orders are combined.",
        choices=("interpolated", "backoff"),
        expected="interpolated or backoff",
    )
    discounts: str = setting(
        "counts",
        help="From counts of counts, or tuned.",
        choices=("counts", "tuned"),
        expected="counts, tuned, or a list with one or three numbers an order",
    )
    unigrams: str = setting(
        "uniform",
        help="What the lowest order is interpolated with.",
        choices=("uniform", "unseen"),
        expected="uniform or unseen",
    )


def numbered(order: int, options: dict[str, Any]) -> dict[str, Any]:
    """The options without discounts that are numbers, one or three for each order, or an `InputError`."""
    if isinstance(options.get("discounts", ""), str):
        return options
    absolute.given(options["discounts"], order)
    return {name: value for name, value in options.items() if name != "discounts"}


class Plan(NamedTuple):
    """How a table is made: `modified` has three discounts an order; the rest as `KneserNey.fit` says."""

    modified: bool
    form: Form
    discounts: Discounts = "counts"
    thresholds: Sequence[int] = ()
    quiet: bool = False


def form_of(name: str, unigrams: str) -> Form:
    """The form of that name; in the back-off form the unigrams' freed part always goes to the unseen."""
    return Form(name, "unseen" if name == "backoff" else unigrams)


def estimate(counts: Counts, plan: Plan, valid: Corpus | None = None) -> tuple[BackoffTable, Floats]:
    """The table, and its discounts [n, 3]."""
    wanted = plan.discounts
    if wanted == "tuned" and (valid is None or not len(valid)):
        raise InputError("no held-out text to tune the discounts on: give `valid`, or take them from the counts")
    adjusted = Adjusted.of(counts, plan.thresholds)
    if isinstance(wanted, str):
        D = absolute.of_counts(adjusted.counts, modified=plan.modified, quiet=plan.quiet)
    else:
        D = absolute.given(wanted, counts.order)
    if wanted == "tuned" and valid is not None:
        D = absolute.tuned(adjusted, D, plan.form, valid, modified=plan.modified)
    return table(adjusted, D, plan.form), D


class KneserNey(BackoffModel):
    """Kneser–Ney smoothing with one discount an order."""

    smoothing: ClassVar[str] = "kneser-ney"
    modified: ClassVar[bool] = False

    @dataclass(frozen=True)
    class Settings(Smoothing):
        """The options of Kneser–Ney smoothing."""

        prune: tuple[int, ...] = setting(
            (),
            help="Drop n-grams seen at most so often: 0,0,1 keeps pairs whole.",
            unit="times, order by order",
            expected="counts, one an order, such as 0,0,1",
        )

    @classmethod
    def check(cls, order: int, **options: Any) -> None:
        """As every estimator does, and the numbers that go by order: discounts and what is pruned."""
        super().check(order, **numbered(order, options))
        pruning(options.get("prune", ()), order)

    @classmethod
    def fit(
        cls,
        corpus: Corpus,
        order: int,
        *,
        form: str = Settings.form,
        discounts: Discounts = Settings.discounts,
        valid: Corpus | None = None,
        prune: Sequence[int] = Settings.prune,
        unigrams: str = Settings.unigrams,
        memory_limit: int | None = Settings.memory_limit,
    ) -> Self:
        """Count a corpus and smooth.

        form       `interpolated` or `backoff`
        discounts  from the `counts` of counts, `tuned` on `valid`, or given: one number an order, or three
        prune      n-grams of order k seen at most prune[k − 1] times are left out; prune[0] is 0, the last holds on
        unigrams   where the unigrams' freed part goes: to all tokens (`uniform`) or to those never seen (`unseen`)
        """
        cls.check(order, form=form, discounts=discounts, prune=prune, unigrams=unigrams, memory_limit=memory_limit)
        plan = Plan(cls.modified, form_of(form, unigrams), discounts, prune)
        counts = Counts.of(corpus, order, memory_limit=memory_limit)
        made, D = estimate(counts, plan, valid)
        return cls(made, described(plan, D))


class ModifiedKneserNey(KneserNey):
    """Kneser–Ney smoothing with three discounts an order: the standard others compare with."""

    smoothing: ClassVar[str] = "modified-kneser-ney"
    modified: ClassVar[bool] = True


def described(plan: Plan, D: Floats) -> dict[str, Any]:
    """The options a fitted model keeps in its `config()`."""
    return {
        "form": plan.form.name,
        "unigrams": plan.form.unigrams,
        "discounts": D.tolist(),
        "discounts_from": plan.discounts if isinstance(plan.discounts, str) else "given",
        "prune": [int(t) for t in plan.thresholds],
    }
