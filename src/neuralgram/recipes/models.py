"""From a row's settings and its text to a model and what its making told, and to the losses of its tokens.

Mixture rows have weights that are given, or fitted on validation; P = Σ_k λ_k P_k token by token, so that a mixture
costs no more scoring than its parts have had already. The numbers are those of `neuralgram.mixture.Mixture`, as a test
says.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import InputError
from neuralgram.lm import LanguageModel
from neuralgram.mixture import Uniform
from neuralgram.modeldir import load
from neuralgram.ngram.context_bins import ContextBins, em
from neuralgram.ngram.word_classes import Classes, exchange
from neuralgram.recipes.rows import Row
from neuralgram.recipes.work import Floats, Work, save_array
from neuralgram.text.windows import token_frequencies
from neuralgram.training.config import TrainConfig
from neuralgram.training.jobs.ngram import count_model
from neuralgram.training.jobs.texts import part_sizes, versions

if TYPE_CHECKING:
    from neuralgram.neural.nplm import NPLM

ITERATIONS = 200
_FLOORS = ("uniform", "unseen")  # further parts, as `mix --uniform` and `--unseen` have them
_QUICK_EPOCHS = 1.0


@dataclass(frozen=True)
class Fitted:
    """A model, the frequencies of its training text, its story for neuralgram.json, and what the report needs."""

    model: Any
    frequencies: NDArray[np.int64]
    story: dict[str, Any]
    told: dict[str, Any]


def counted(work: Work, row: Row) -> Fitted:
    """Fit the estimator `smoothing` of order `order`; what it warns of is kept."""
    corpora, s = work.corpora(row), row.settings
    options = dict(s.get("options", {}))
    if "classes" in options:
        options["classes"] = _classes(work, row, options["classes"])
    model, seconds, notes = count_model(corpora, s["smoothing"], s["order"], **options)
    told = {"model": model.config(), "training": {"seconds": seconds}, "warnings": notes}
    return Fitted(model, token_frequencies(corpora.train), _story(work, row, told), told)


def network(work: Work, row: Row) -> Fitted:
    """Train a network, going on where a killed run stopped; further `phases` go on with its weights.

    A phase may change the output layer to another with the same parameters (sampled, then exact) and any setting of
    training; the weights it starts from are the best so far.
    """
    from neuralgram.training.events import Evaluated, Event
    from neuralgram.training.jobs.network import train_model

    corpora, s = work.corpora(row), row.settings
    run = _run_folder(work, row)
    results: list[dict[str, Any]] = []
    model: NPLM | None = None
    before = 0.0  # seconds that a run which was stopped had taken
    for number, (sizes, config) in enumerate(_phases(s, work.quick)):

        def show(event: Event) -> None:
            if isinstance(event, Evaluated):
                work.say(f"    {row.name}: epoch {event.epoch:.2f}, validation {event.valid_perplexity:.1f}")

        folder, started = run / str(number), time.perf_counter()
        model, result = train_model(corpora, sizes, config, folder, start=model, resume=True, on_event=show)
        before += max(0.0, result.seconds - (time.perf_counter() - started))
        results.append({"config": config.to_json(), **result._asdict()})
    if model is None:
        raise InputError(f"row {row.name} has no training: expected a [training] table")
    told = {"model": model.config(), "training": results, "seconds_before": before}
    story = _story(work, row, {"model": told["model"], "training": results[-1]})
    return Fitted(model, token_frequencies(corpora.train), story, told)


def tidy(folder: Path) -> None:
    """Leave of a run's checkpoints its logs only."""
    phases = [phase for phase in (folder / "run").glob("*") if phase.is_dir()]
    if phases:
        from neuralgram.training.jobs.network import tidy as leave_log

        for phase in phases:
            leave_log(phase)


def _phases(settings: Mapping[str, Any], quick: bool) -> list[tuple[dict[str, Any], TrainConfig]]:
    """Sizes and training settings of each phase: those of the row, then with what each of `phases` changes."""
    sizes, training = dict(settings["model"]), dict(settings["training"])
    made = []
    for changes in ({}, *settings.get("phases", ())):
        sizes |= changes.get("model", {})
        training |= changes.get("training", {})
        config = TrainConfig.from_json(training)
        if quick and config.epochs is not None:
            config = replace(config, epochs=min(config.epochs, _QUICK_EPOCHS))
        made.append((dict(sizes), config))
    return made


def _run_folder(work: Work, row: Row) -> Path:
    """Where checkpoints are; those of other settings are thrown away."""
    folder = work.model_folder(row) / "run"
    mark = folder / "fingerprint"
    fingerprint = work.fingerprint(row)
    if not mark.exists() or mark.read_text() != fingerprint:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        mark.write_text(fingerprint)
    return folder


def _classes(work: Work, row: Row, classes: int) -> Classes:
    """The clustering, made once for all orders and forms."""
    corpora = work.corpora(row)
    if work.quick:
        classes = max(2, classes // 20)
    path = work.out / "classes" / f"{row.text}-{classes}-{work.text_fingerprint(row)[:12]}.npy"
    if path.exists():
        class_of = np.load(path)
        return Classes(class_of, int(class_of.max()) + 1)
    work.say(f"    clustering {corpora.vocab_size} types into {classes} classes")
    found = exchange(corpora.train, classes)
    save_array(path, found.class_of)
    return found


def _story(work: Work, row: Row, told: Mapping[str, Any]) -> dict[str, Any]:
    corpora = work.corpora(row)
    data = {**corpora.info, "tokens": part_sizes(corpora), "sources": {"texts": [work.recipe.file]}}
    return {
        "recipe": {"name": work.recipe.name, "row": row.name, "quick": work.quick},
        "data": data,
        "training": told["training"],
        "versions": versions(),
    }


def losses(work: Work, row: Row, part: str) -> Floats:
    """−log P of the scored tokens of a part: kept ones, or those of a mixture's parts, or the saved model's."""
    if row.kind == "mixture":
        return _mixture_losses(work, row, part)
    return work.losses(row, part, lambda: score(work, row, part))


def score(work: Work, row: Row, part: str, model: LanguageModel | None = None) -> Floats:
    """−log P of the scored tokens of a part under a row's `model`; without it, under the saved one."""
    model = model or load(work.model_folder(row)).model
    return model.score(work.windows(work.corpora(row).part(part), model.context))


def fit_weights(work: Work, row: Row) -> Floats:
    """λ [Q, K]: one row, or one a bin of contexts by their frequency in training."""
    weights = row.settings["weights"]
    if not isinstance(weights, str):
        return np.atleast_2d(np.array(weights, np.float64))
    columns = _columns(work, row, "valid")
    if weights == "learned":
        return em(_scaled(columns), np.zeros(len(columns), np.int64), 1, ITERATIONS)
    bins = ContextBins.of(work.corpora(row).train)
    return em(_scaled(columns), _bins(work, row, "valid", bins), len(bins), ITERATIONS)


def _mixture_losses(work: Work, row: Row, part: str) -> Floats:
    """Of a finished mixture."""
    kept = work.finished(row)
    weights = fit_weights(work, row) if kept is None else np.array(kept["weights"])
    return combined(work, row, weights, part)


def combined(work: Work, row: Row, weights: Floats, part: str) -> Floats:
    """−log Σ_k λ_k P_k of every scored token."""
    columns = _columns(work, row, part)
    q = np.zeros(len(columns), np.int64)
    if len(weights) > 1:
        q = _bins(work, row, part, ContextBins.of(work.corpora(row).train))
    with np.errstate(divide="ignore"):
        logs = np.log(weights)[q]
    out = np.full(len(columns), -np.inf)
    for k in range(columns.shape[1]):
        np.logaddexp(out, logs[:, k] - columns[:, k], out=out)
    return -out


def _columns(work: Work, row: Row, part: str) -> Floats:
    """The parts' losses, [N, K]; the floors of the row are the last."""
    columns = [losses(work, work.recipe.row(name), part) for name in row.settings["parts"]]
    train, targets = work.corpora(row).train, work.targets(row, part)
    for name in (name for name in _FLOORS if row.settings.get(name)):
        among = np.flatnonzero(token_frequencies(train) == 0) if name == "unseen" else None
        columns.append(Uniform(train.vocab_size, among).context_nll(np.empty((len(targets), 0)), targets))
    return np.stack(columns, axis=1)


def _scaled(columns: Floats) -> Floats:
    """P up to a factor a token, which expectation–maximisation does not see."""
    scaled: Floats = np.exp(columns.min(axis=1, keepdims=True) - columns)
    return scaled


def _bins(work: Work, row: Row, part: str, bins: ContextBins) -> NDArray[np.int64]:
    windows = work.windows(work.corpora(row).part(part), max(work.recipe.first, bins.length))
    steps = range(0, len(windows), 65536)
    return np.concatenate([bins(windows.slice(i, i + 65536)[0]) for i in steps])
