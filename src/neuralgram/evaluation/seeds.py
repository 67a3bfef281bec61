"""Models that differ in nothing but their seed: how far apart chance alone puts them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from neuralgram.evaluation.evaluate import Evaluation
from neuralgram.textmodel import TextModel

# What may differ between runs that only their seeds tell apart.
_INCIDENTAL = {"seed", "threads"}


class SeedSpread(NamedTuple):
    """Of the `seeds` compared models that share everything but the seed: standard deviations (n − 1 in the divisor)."""

    seeds: int
    sd_nats: float  # of nats per token
    sd_perplexity: float
    mean_perplexity: float


def spreads(evaluations: Sequence[Evaluation]) -> list[SeedSpread | None]:
    """For each evaluation the spread of its family, or None where it has no sibling."""
    keys = [recipe(evaluation.model) for evaluation in evaluations]
    found: dict[str, SeedSpread] = {}
    for key in set(keys) - {None}:
        family = [e for e, own in zip(evaluations, keys, strict=True) if own == key]
        if key is not None and len(family) > 1:
            found[key] = spread(family)
    return [None if key is None else found.get(key) for key in keys]


def spread(family: Sequence[Evaluation]) -> SeedSpread:
    """The spread of models that differ in their seed."""
    nats = np.array([e.nats / e.tokens for e in family])
    perplexities = np.array([e.perplexity for e in family])
    return SeedSpread(len(family), float(nats.std(ddof=1)), float(perplexities.std(ddof=1)), float(perplexities.mean()))


def recipe(model: TextModel) -> str | None:
    """All that decides a model but its seed, as text; None for a model that tells no story or has no seed."""
    training = model.info.get("training", {}).get("config")
    if not training or "seed" not in training:
        return None
    data = model.info.get("data", {})
    told = {
        "model": model.info.get("model"),
        "training": {name: value for name, value in training.items() if name not in _INCIDENTAL},
        "texts": {name: facts.get("sha256") for name, facts in data.get("texts", {}).items()},
        "split": data.get("split"),
        "tokenizer": model.tokenizer.hash,
        "boundary": model.boundary,
    }
    return json.dumps(told, sort_keys=True, default=_plain)


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)
