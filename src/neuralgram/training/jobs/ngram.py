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
from neuralgram.numbers import figure
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

ORDERS = {True: (3, 4, 5, 6, 7, 8), False: (2, 3, 4, 5)}  # tried, of characters and bytes; of words and their pieces
_PARTS = {"valid": "validation", "test": "test"}
_MOST_COUNTED, _MOST_TUNED = 30_000_000, 2_000_000  # training tokens; tuning rebuilds the table some hundred times


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


def count_beside(corpora: Corpora) -> Counted | None:
    """Modified Kneser–Ney as good as it gets in seconds: of the order that is best on the validation part, then with
    discounts tuned there, unless the text is long.

    None where there is no validation part, or one too short to choose by, or too much text to count in seconds.
    """
    train, valid = corpora.train, corpora.valid
    if valid is None or len(train) > _MOST_COUNTED:
        return None
    started, best, least, notes = time.perf_counter(), None, float("inf"), []
    for order in ORDERS[corpora.tokenizer.characters]:
        windows = valid.windows(order - 1)
        if not len(windows):
            break
        tried = count_model(corpora, "modified-kneser-ney", order)
        loss = float(tried.model.score(windows).mean())
        if loss >= least:
            break  # longer n-grams are rarer still
        best, least, notes = tried.model, loss, tried.notes
    if best is None:
        return None
    if len(train) <= _MOST_TUNED:
        tuned = count_model(corpora, "modified-kneser-ney", best.context + 1, discounts="tuned")
        if float(tuned.model.score(valid.windows(best.context)).mean()) < least:
            best, notes = tuned.model, tuned.notes
    return Counted(best, time.perf_counter() - started, notes)


def counted_record(counted: Counted, corpora: Corpora, context: int) -> dict[str, Any]:
    """What training commands tell of the model counted beside one that reads `context` tokens: held-out perplexities
    of the tokens that both predict."""
    model = counted.model
    first = max(context, model.context) if corpora.boundary == "stream" else None
    told = TextModel(model, corpora.tokenizer, corpora.boundary, {})
    held_out = {name: getattr(corpora, name) for name in ("valid", "test")}
    config = model.config()
    return {
        "smoothing": model.smoothing,
        "order": model.context + 1,
        "discounts": config["discounts_from"],
        "seconds": counted.seconds,
        **{
            name: None if part is None or len(part) <= (first or 0) else evaluate(told, part, first=first).to_json()
            for name, part in held_out.items()
        },
    }


def counted_words(record: Mapping[str, Any]) -> str:
    """The model counted beside and its held-out perplexities, in a phrase."""
    found = [f"{name} {figure(record[name]['perplexity'], 5)}" for name in ("valid", "test") if record[name]]
    return (
        f"{', '.join(found)} perplexity by modified Kneser–Ney of order {record['order']}, "
        f"discounts {'tuned' if record['discounts'] == 'tuned' else 'from counts'}, {figure(record['seconds'], 2)} s"
    )


def advice(network: Mapping[str, Any], counted: Mapping[str, Any], improving: bool) -> str | None:
    """One line where the counting model is better than the network: by how much, and what to do.

    Both hold `valid` and `test`, of which the test part decides, where there is one.
    """
    part = next((name for name in ("test", "valid") if network[name] and counted[name]), None)
    if part is None or network[part]["perplexity"] <= counted[part]["perplexity"]:
        return None
    own, other = network[part]["perplexity"], counted[part]["perplexity"]
    more = "a larger --max-time or more text helps the network" if improving else "more text helps the network"
    return (
        f"counting was better here: perplexity {figure(other, 4)} of the {_PARTS[part]} part against {figure(own, 4)}, "
        f"{100 * (1 - other / own):.2g}% less; `neuralgram train best` makes the best of both; {more}"
    )


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
