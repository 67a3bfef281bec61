"""`train ngram` as one call: texts to a counting model's directory. Nothing here needs PyTorch."""

from __future__ import annotations

import shutil
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from neuralgram.errors import SplitError
from neuralgram.evaluation.evaluate import evaluate
from neuralgram.families import ESTIMATORS, options
from neuralgram.ngram import check, fit, takes
from neuralgram.ngram.model import NgramModel
from neuralgram.text.corpora import Corpora
from neuralgram.text.windows import token_frequencies
from neuralgram.textmodel import TextModel
from neuralgram.training.config import TextSettings
from neuralgram.training.jobs.texts import (
    Say,
    build,
    claim,
    part_sizes,
    provenance,
    refuse_unscorable,
    settle,
    tell,
    unless_failed,
)


def count_texts(given: Mapping[str, Any], *, say: Say = print) -> dict[str, Any]:
    """Fit the estimator `given["smoothing"]` of order `given["order"]` on the texts and save it in `given["out"]`.

    Returns what `train ngram --json` prints. Raises `InputError` and `TextError` for what cannot be done.
    """
    out = Path(given["out"])
    run = claim(out, resume=False, overwrite=bool(given.get("overwrite")))
    chosen = {
        next(iter(takers.values())).name: given[key]
        for key, takers in options(ESTIMATORS).items()
        if given.get(key) is not None
    }
    with unless_failed(out, resume=False):
        check(given["smoothing"], given["order"], **chosen)  # refused before the text is read
        settings = settle(run, given, say)
        corpora = _corpora(settings, run / "data", given, say)
        tell(corpora, given, say)
        model, seconds, notes = count_model(corpora, given["smoothing"], given["order"], **chosen)
        for note in notes:
            say(f"note: {note}")
        refuse_unscorable(corpora, model.context)
    story = provenance(settings, given)
    info = {
        **story,
        "data": {**corpora.info, **story["data"], "tokens": part_sizes(corpora)},
        "training": {"seconds": seconds, **model.config()},
    }
    trained = TextModel(model, corpora.tokenizer, corpora.boundary, info, out, token_frequencies(corpora.train))
    trained.save(out)
    record = {
        "path": str(out),
        "vocab_size": model.vocab_size,
        "tokens": len(corpora.train),
        "seconds": seconds,
        "model": model.config(),
        "valid": None if corpora.valid is None else evaluate(trained, corpora.valid).to_json(),
        "test": None if corpora.test is None else evaluate(trained, corpora.test).to_json(),
    }
    shutil.rmtree(run, ignore_errors=True)
    return record


class Counted(NamedTuple):
    """A fitted model, the seconds it took, and what the estimator warned of."""

    model: NgramModel
    seconds: float
    notes: list[str]


def count_model(corpora: Corpora, smoothing: str, order: int, **options: Any) -> Counted:
    """The estimator `smoothing` of order `order` fitted to the training part; tuned, if so, on the validation part."""
    if corpora.valid is not None and "valid" in takes(smoothing):
        options["valid"] = corpora.valid
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = fit(smoothing, corpora.train, order, **options)
    return Counted(model, time.perf_counter() - started, [str(warning.message) for warning in caught])


def _corpora(settings: dict[str, Any], folder: Path, given: Mapping[str, Any], say: Say) -> Corpora:
    """The parts of the texts; all of a text that is too short for the split nobody asked for."""
    try:
        how = TextSettings(**settings["text"])
        return build(how, settings["texts"], valid=settings["valid"], test=settings["test"], folder=folder)
    except SplitError:
        if given.get("split"):
            raise
    say(f"too short to be split {settings['text']['split']}: all of the text is counted, and none held out")
    settings["text"]["split"] = None
    return build(TextSettings(**settings["text"]), settings["texts"], folder=folder)
