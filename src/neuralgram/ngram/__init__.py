"""Counting models: counts, one file an estimator, word classes, ARPA files."""

from __future__ import annotations

import inspect
from typing import Any

from neuralgram.errors import InputError, ModelDirError
from neuralgram.ngram.add_k import AddK
from neuralgram.ngram.adjusted_counts import Form, pruning
from neuralgram.ngram.backoff import BackoffModel
from neuralgram.ngram.class_model import ClassModel
from neuralgram.ngram.deleted_interpolation import DeletedInterpolation
from neuralgram.ngram.kneser_ney import KneserNey, ModifiedKneserNey
from neuralgram.ngram.model import Config, NgramModel, State
from neuralgram.ngram.relative_frequency import LongestMatch, MaximumLikelihood
from neuralgram.ngram.trie import require_order
from neuralgram.text.windows import Corpus

# A new estimator is one file and one line here; the contract tests run over it by themselves.
ESTIMATORS: dict[str, type[NgramModel]] = {
    "mle": MaximumLikelihood,
    "add-k": AddK,
    "longest-match": LongestMatch,
    "kneser-ney": KneserNey,
    "modified-kneser-ney": ModifiedKneserNey,
    "deleted-interpolation": DeletedInterpolation,
    "class": ClassModel,
}


def fit(smoothing: str, corpus: Corpus, order: int, **options: Any) -> NgramModel:
    """Fit the estimator of that name; options another estimator has are refused by name."""
    check(smoothing, order, **options)
    return _named(smoothing).fit(corpus, order, **options)


def check(smoothing: str, order: int, **options: Any) -> None:
    """Refuse, without a text, what no text could make right: the name, the order, options that are not its own."""
    estimator = _named(smoothing)
    require_order(order)
    taken = [name for name in inspect.signature(estimator.fit).parameters if name not in ("corpus", "order")]
    for name in options:
        if name not in taken:
            raise InputError(f"{smoothing} takes no option {name}: it takes {', '.join(taken) or 'none'}")
    Form(options.get("form", "interpolated"), options.get("unigrams", "uniform")).checked()
    pruning(options.get("prune", ()), order)


def from_state(config: Config, state: State) -> NgramModel:
    """Any stored counting model: `config()` and `state()` of it, whichever estimator made it."""
    smoothing = config.get("smoothing")
    stored = ESTIMATORS | {BackoffModel.smoothing: BackoffModel}
    if smoothing not in stored:
        raise ModelDirError(f"a stored n-gram model of smoothing {smoothing!r}: expected one of {', '.join(stored)}")
    return stored[smoothing].from_state(config, state)


def _named(smoothing: str) -> type[NgramModel]:
    if smoothing not in ESTIMATORS:
        raise InputError(f"smoothing {smoothing!r}: expected one of {', '.join(ESTIMATORS)}")
    return ESTIMATORS[smoothing]
