"""Running a recipe: rows one after another, each kept when it is done; then the test part, once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from neuralgram.lm import LanguageModel
from neuralgram.modeldir import Saved, load, save
from neuralgram.recipes import mixtures, models
from neuralgram.recipes.rows import Row
from neuralgram.recipes.work import Floats, Work

_TRAIN_TOKENS = 50_000  # of the training part are scored, evenly spaced, for the column of training perplexities


def run(work: Work, patterns: Sequence[str] = ()) -> list[Row]:
    """Train, count and mix every chosen row that is not finished, then score the test part; the rows, in order."""
    rows = work.recipe.chosen(patterns)
    for i, row in enumerate(rows, 1):
        if work.finished(row) is not None:
            work.say(f"[{i}/{len(rows)}] {row.name}: done before")
            continue
        started = time.perf_counter()
        result = _made(work, row)
        seconds = time.perf_counter() - started + result.get("seconds_before", 0.0)
        result = work.finish(row, {**result, "seconds": seconds})
        models.tidy(work.model_folder(row))
        work.say(
            f"[{i}/{len(rows)}] {row.name}: validation perplexity {result['valid']['perplexity']:.1f} "
            f"({result['seconds']:.0f} s)"
        )
    for row in rows:
        if work.tested(row) is None:
            work.test(row, work.figures(row, "test", losses(work, row, "test")))
    return rows


def losses(work: Work, row: Row, part: str) -> Floats:
    """−log P of the scored tokens of a part: kept ones, or those of a mixture's parts, or the saved model's."""
    if row.kind == "mixture":
        return mixtures.losses(work, row, part, lambda inner: losses(work, inner, part))
    return work.losses(row, part, lambda: _score(work, row, part))


def _score(work: Work, row: Row, part: str, model: LanguageModel | None = None) -> Floats:
    model = model or load(work.model_folder(row)).model
    return model.score(work.windows(work.corpora(row).part(part), model.context))


def _made(work: Work, row: Row) -> dict[str, Any]:
    if row.kind == "mixture":
        return _mixed(work, row)
    fitted = models.network(work, row) if row.kind == "network" else models.counted(work, row)
    corpora = work.corpora(row)
    made = Saved(fitted.model, corpora.tokenizer, corpora.boundary, fitted.story, fitted.frequencies)
    save(work.model_folder(row), made)
    valid = work.losses(row, "valid", lambda: _score(work, row, "valid", fitted.model))
    result = {"valid": work.figures(row, "valid", valid), **fitted.told}
    if row.kind == "network":
        result["train"] = _training_perplexity(work, row, fitted.model)
    return result


def _mixed(work: Work, row: Row) -> dict[str, Any]:
    weights = mixtures.fit_weights(work, row, lambda inner: losses(work, inner, "valid"))
    valid = mixtures.combined(work, row, weights, "valid", lambda inner: losses(work, inner, "valid"))
    return {"valid": work.figures(row, "valid", valid), "weights": weights.tolist()}


def _training_perplexity(work: Work, row: Row, model: LanguageModel) -> dict[str, float]:
    """Of the finished model, not an average over training; of evenly spaced tokens."""
    windows = work.windows(work.corpora(row).train, model.context)
    count = min(_TRAIN_TOKENS, len(windows))
    places = np.arange(count, dtype=np.int64) * len(windows) // count
    found = [
        model.context_nll(*windows.gather(places[i : i + model.score_batch]))
        for i in range(0, count, model.score_batch)
    ]
    return {"perplexity": float(np.exp(np.concatenate(found).mean())), "tokens": count}
