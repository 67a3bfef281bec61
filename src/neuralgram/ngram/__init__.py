"""Counting models: counts, one file an estimator, word classes, ARPA files."""

from __future__ import annotations

import inspect
from typing import Any

from neuralgram.errors import InputError
from neuralgram.families import ESTIMATORS, member
from neuralgram.ngram.model import NgramModel
from neuralgram.text.windows import Corpus


def fit(smoothing: str, corpus: Corpus, order: int, **options: Any) -> NgramModel:
    """Fit the estimator of that name; options another estimator has are refused by name."""
    check(smoothing, order, **options)
    return estimator(smoothing).fit(corpus, order, **options)


def check(smoothing: str, order: int, **options: Any) -> None:
    """Refuse, without a text, what no text could make right: the name, the order, options that are not its own."""
    taken = takes(smoothing)
    for name in options:
        if name not in taken:
            raise InputError(f"{smoothing} takes no option {name}: it takes {', '.join(taken) or 'none'}")
    estimator(smoothing).check(order, **options)


def takes(smoothing: str) -> tuple[str, ...]:
    """The options of an estimator: its `Settings`, and `valid` where it fits something to held-out text."""
    return tuple(name for name in inspect.signature(estimator(smoothing).fit).parameters if name not in _GIVEN)


def estimator(smoothing: str) -> type[NgramModel]:
    """The class of that name, or an `InputError` that lists the names."""
    found: type[NgramModel] = member(ESTIMATORS, smoothing, "smoothing")
    return found


_GIVEN = ("corpus", "order")
