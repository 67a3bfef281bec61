"""Comparing models on the same tokens, with the uncertainty of the difference.

The text is cut into groups (files, units, or blocks of a stream) that are resampled together for both models:
a paired bootstrap (Efron 1979; Koehn 2004). What is compared is nats per token, a ratio of sums, so long groups weigh
what they are worth. A model is called better only where the interval leaves out zero, and where both were trained with
several seeds, only by more than what seeds alone make of it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import InputError
from neuralgram.evaluation.evaluate import Evaluation
from neuralgram.text.staging import Documents
from neuralgram.textmodel import TextModel

DRAWS = 2000
BLOCKS = 200  # of a stream that has no units: long enough to keep neighbours together, many enough to resample
FEW = 10  # files: resampling fewer says little about others, and blocks are taken
_SIGMAS = 1.96  # a 95% interval of a normal
# What may differ between runs that only their seeds tell apart.
_INCIDENTAL = {"seed", "threads"}


class Difference(NamedTuple):
    """How much worse than the first model, in nats per token (positive: worse), with a 95% interval."""

    nats: float
    low: float
    high: float
    groups: int
    kind: str = "groups"  # what was resampled: files, units or blocks

    @property
    def decided(self) -> bool:
        """Whether the interval leaves out zero."""
        return self.low > 0 or self.high < 0


class SeedSpread(NamedTuple):
    """Of the `seeds` compared models that share everything but the seed: standard deviations (n − 1 in the divisor)."""

    seeds: int
    sd_nats: float  # of nats per token
    sd_perplexity: float
    mean_perplexity: float


class Ranked(NamedTuple):
    """One row of a comparison; the first row's difference is None, and `seeds` where it is the only one of its kind."""

    evaluation: Evaluation
    difference: Difference | None
    seeds: SeedSpread | None = None
    better: bool = False  # whether the first model may be called better than this one

    @property
    def nats_per_token(self) -> float:
        """The mean loss, by which rows are ordered."""
        return self.evaluation.nats / self.evaluation.tokens


class Groups(NamedTuple):
    """What is resampled: where each group of scored tokens starts, and what the groups are."""

    starts: NDArray[np.int64]
    kind: str


def rank(evaluations: Sequence[Evaluation], *, documents: Documents | None = None, seed: int = 0) -> list[Ranked]:
    """Best first. All must have scored the same tokens: one tokenizer, one boundary, one text.

    `documents` says where the files of a stream begin. Raises `InputError` where the tokens differ.
    """
    ordered = sorted(evaluations, key=_place)
    best, spread = ordered[0], spreads(ordered)
    for other in ordered[1:]:
        if not np.array_equal(other.targets, best.targets):
            raise InputError(
                f"{best.path} and {other.path} scored different tokens ({best.tokens} and {other.tokens}): "
                "only models over one tokenizer and boundary can be ranked"
            )
    groups = groups_of(best, documents)
    rows = [Ranked(best, None, spread[0])]
    for other, own in zip(ordered[1:], spread[1:], strict=True):
        found = difference(other.losses, best.losses, groups.starts, seed=seed, kind=groups.kind)
        rows.append(Ranked(other, found, own, found.decided and abs(found.nats) > _noise(spread[0], own)))
    return rows


def _place(e: Evaluation) -> tuple[float, int, float, str]:
    """The total loss; of infinite ones fewer tokens without probability come first, then the loss of the others."""
    infinite = np.isinf(e.losses)
    return e.nats, int(infinite.sum()), float(e.losses[~infinite].sum()), e.path


def groups_of(evaluation: Evaluation, documents: Documents | None = None) -> Groups:
    """Units where the text has them, files where a stream is made of enough of them, else blocks of so many tokens."""
    n, starts = evaluation.tokens, evaluation.unit_starts
    if starts is not None and len(starts) > 1:
        return Groups(starts, "units")
    return starts_of(n, evaluation.first, documents if starts is None else None)


def starts_of(n: int, first: int, documents: Documents | None) -> Groups:
    """The groups of a stream's `n` scored tokens, `first` being the place of the first of them."""
    if documents is not None and len(documents.starts) >= FEW:
        return Groups(np.unique(documents.within(first, first + n).starts), "files")
    return Groups(np.unique(np.linspace(0, n, min(BLOCKS, n), endpoint=False).astype(np.int64)), "blocks")


def difference(
    losses: NDArray[np.float64],
    reference: NDArray[np.float64],
    starts: NDArray[np.int64],
    *,
    seed: int = 0,
    kind: str = "groups",
) -> Difference:
    """Mean of `losses` − `reference` over tokens, with the 95% interval of a paired bootstrap over groups.

    A token that neither gives any probability tells them not apart. Where each gives none to a token that the other
    does, both means are infinite, and the difference 0. One group gives no interval: it is (−inf, inf).
    """
    apart = ~(np.isinf(losses) & np.isinf(reference))
    by_token = np.zeros(len(losses))
    np.subtract(losses, reference, out=by_token, where=apart)
    count, low, high = len(starts), by_token.min(initial=0.0), by_token.max(initial=0.0)
    if np.isinf(low) or np.isinf(high):
        return Difference(0.0 if np.isinf(low) and np.isinf(high) else float(low + high), -np.inf, np.inf, count, kind)
    gaps = np.add.reduceat(by_token, starts)
    sizes = np.diff(np.append(starts, len(losses))).astype(np.float64)
    value = float(gaps.sum() / sizes.sum())
    if count < 2:
        return Difference(value, -np.inf, np.inf, count, kind)
    rng = np.random.default_rng(seed)
    means = np.empty(DRAWS)
    for i in range(DRAWS):  # one draw at a time: groups may be a million lines
        weights = np.bincount(rng.integers(count, size=count), minlength=count)
        means[i] = weights @ gaps / (weights @ sizes)
    low, high = np.quantile(means, [0.025, 0.975])
    return Difference(value, float(low), float(high), count, kind)


def _noise(first: SeedSpread | None, second: SeedSpread | None) -> float:
    """The difference in nats per token that two models reach by their seeds alone, in 19 of 20 cases."""
    variance = sum(spread.sd_nats**2 for spread in (first, second) if spread is not None)
    return float(_SIGMAS * np.sqrt(variance))


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
    return SeedSpread(len(family), _sd(nats), _sd(perplexities), float(perplexities.mean()))


def _sd(values: NDArray[np.float64]) -> float:
    return float(values.std(ddof=1)) if np.isfinite(values).all() else np.inf


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
