"""A recipe in one call: rows one after another, each kept when it is done; then the test part, once; the report."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from neuralgram.lm import LanguageModel
from neuralgram.modeldir import Saved, save
from neuralgram.recipes import models, report, table1_report
from neuralgram.recipes.rows import Row, load_recipe
from neuralgram.recipes.work import Work

_TRAIN_TOKENS = 50_000  # of the training part are scored, evenly spaced, for the column of training perplexities
SECTIONS: dict[str, report.Sections] = {
    "table1": table1_report.sections,
    "tinyshakespeare": report.tinyshakespeare,
    "tales": report.tales,
}


def reproduce(
    name: str,
    *,
    data: Path | None,
    out: Path,
    patterns: Sequence[str] = (),
    quick: bool = False,
    say: Callable[[str], None] = print,
) -> dict[str, Path]:
    """Run the recipe `name` into `out`; the paths of `report.md`, `report.json` and `report.png`.

    Finished rows are used again. Raises `InputError` for a recipe, row or file there is not.
    """
    recipe = load_recipe(name)
    work = Work(recipe, data, out, quick=quick, say=say)
    rows = run(work, patterns)
    done = [row for row in recipe.rows if row in rows or work.finished(row) is not None]
    return report.write(work, done, SECTIONS[name], _command(work, patterns))


def _command(work: Work, patterns: Sequence[str]) -> str:
    """The command that makes the report, with files by name: where they are is this machine's business."""
    words = ["neuralgram reproduce", work.recipe.name]
    words += [f"--data {work.data.name}"] if work.data is not None else []
    words += [f"--out {work.out.name}", *([f"--rows '{','.join(patterns)}'"] if patterns else [])]
    return " ".join([*words, *(["--quick"] if work.quick else [])])


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
            work.test(row, work.figures(row, "test", models.losses(work, row, "test")))
    return rows


def _made(work: Work, row: Row) -> dict[str, Any]:
    if row.kind == "mixture":
        return _mixed(work, row)
    fitted = models.network(work, row) if row.kind == "network" else models.counted(work, row)
    corpora = work.corpora(row)
    made = Saved(fitted.model, corpora.tokenizer, corpora.boundary, fitted.story, fitted.frequencies)
    save(work.model_folder(row), made)
    valid = work.losses(row, "valid", lambda: models.score(work, row, "valid", fitted.model))
    result = {"valid": work.figures(row, "valid", valid), **fitted.told}
    if row.kind == "network":
        result["train"] = _training_perplexity(work, row, fitted.model)
    return result


def _mixed(work: Work, row: Row) -> dict[str, Any]:
    weights = models.fit_weights(work, row)
    valid = models.combined(work, row, weights, "valid")
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
