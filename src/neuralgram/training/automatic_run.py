"""`train nplm` as one call: what is given is taken, the rest is chosen, all is stored, and a run can be resumed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neuralgram.errors import InputError
from neuralgram.evaluation.evaluate import evaluate
from neuralgram.neural.config import NPLMConfig
from neuralgram.numbers import spaced
from neuralgram.text.corpora import Corpora
from neuralgram.textmodel import TextModel
from neuralgram.training import checkpoint, events
from neuralgram.training.auto import Plan, TextFacts, plan
from neuralgram.training.config import TrainConfig
from neuralgram.training.driver import TrainResult
from neuralgram.training.pipeline import (
    CURVE,
    ModelSettings,
    choose_device,
    read_settings,
    train_network,
    write_settings,
)
from neuralgram.training.texts import (
    NOT_SETTINGS,
    Say,
    TextSettings,
    claim,
    jsonable,
    provenance,
    refuse_unscorable,
    settle,
    unless_failed,
)

_PLANNED = (
    "context", "d_emb", "d_hidden", "direct", "activation", "tie", "head", "head_options", "dropout", "dropout_input",
    "epochs", "steps", "max_time", "batch_size", "optimizer", "schedule", "lr", "momentum", "weight_decay", "clip",
    "eval_every", "valid_tokens", "patience", "average", "precision", "threads", "seed",
)  # fmt: skip
_ANY_TEXT = TextFacts(1_000_000, 100, True, "document")  # what is wrong for it is wrong for every text
_MANY_LINES, _SHORT_LINE = 100, 40  # names, words, dates: lines that begin and end by themselves


@dataclass(frozen=True)
class Trained:
    """A finished run: the model, how training went, and what its held-out parts say."""

    model: TextModel
    result: TrainResult
    valid: dict[str, Any] | None
    test: dict[str, Any] | None
    out: Path

    def to_json(self) -> dict[str, Any]:
        """What `train nplm --json` prints."""
        return {
            "path": str(self.out),
            "learning_curve": str(self.out / CURVE),
            "parameters": sum(p.numel() for p in self.model.model.parameters()),  # type: ignore[attr-defined]
            "vocab_size": self.model.model.vocab_size,
            "log_v": math.log(self.model.model.vocab_size),
            **self.result._asdict(),
            "valid": self.valid,
            "test": self.test,
        }


def train_texts(given: Mapping[str, Any], *, on_event: events.OnEvent = events.ignore, say: Say = print) -> Trained:
    """Train on the texts that `given` names, into `given["out"]`; its other keys are options of `train nplm`.

    Raises `InputError` and `TextError` for what cannot be done, `DivergedError` when training explodes.
    """
    out, resume = Path(given["out"]), bool(given.get("resume"))
    run = claim(out, resume=resume, overwrite=bool(given.get("overwrite")))
    device = given.get("device") or "auto"
    with unless_failed(out, resume):
        choose_device(device)  # refused before the text is read
        if not resume:
            _planned(_ANY_TEXT, given)
        settings = _resumed(run, given) if resume else settle(run, given, say)
        corpora = _corpora(settings, run / "data")
        if not resume:
            _plan(settings, corpora, given, say)
            write_settings(run, settings)
    training = dict(settings["training"])
    if resume:
        training["threads"] = given.get("threads") or training["threads"]
    story = provenance(settings, given)
    with _unless_refused(out, resume):
        model, result = train_network(
            corpora,
            ModelSettings(**settings["model"]),
            TrainConfig.from_json(training),
            out,
            resume=resume,
            device=device,
            story=story,
            on_event=on_event,
        )
    held_out = {name: getattr(corpora, name) for name in ("valid", "test")}
    if any(part is not None for part in held_out.values()):
        scored = sum(len(part) for part in held_out.values() if part is not None)
        say(f"scoring {spaced(scored)} held-out tokens")
    valid, test = (None if part is None else evaluate(model, part).to_json() for part in held_out.values())
    return Trained(model, result, valid, test, out)


@contextmanager
def _unless_refused(out: Path, resume: bool) -> Iterator[None]:
    """What is refused before the first checkpoint (too large a batch, too little memory) leaves no run behind."""
    try:
        yield
    except (InputError, MemoryError):
        begun = any((out / "run" / name).exists() for name in (checkpoint.NAME, checkpoint.PREVIOUS))
        with unless_failed(out, resume or begun):
            raise


def _corpora(settings: Mapping[str, Any], folder: Path) -> Corpora:
    return TextSettings(**settings["text"]).build(
        settings["texts"], valid=settings["valid"], test=settings["test"], folder=folder
    )


def _plan(settings: dict[str, Any], corpora: Corpora, given: Mapping[str, Any], say: Say) -> None:
    """Fill in sizes and training, each with its reason, printed and stored."""
    train = corpora.train
    facts = TextFacts(
        tokens=len(train),
        vocab_size=corpora.vocab_size,
        characters=corpora.tokenizer.characters,
        boundary=corpora.boundary,
        units=1 if train.boundary is None else int(np.count_nonzero(train.ids == train.boundary)),
        validated=corpora.valid is not None,
    )
    made = _planned(facts, given)
    refuse_unscorable(corpora, made.model["context"])
    settings["model"] = jsonable(made.model)
    settings["training"] = made.training.to_json()
    settings["reasons"] |= made.reasons
    text = corpora.info["texts"]["train"]
    lines, length = text["lines"], text["bytes"] / max(1, text["lines"])
    if corpora.boundary == "document" and lines >= _MANY_LINES and length < _SHORT_LINE:
        average = f"{spaced(lines)} lines of {length:.0f} bytes on average"
        say(f"hint: {average}; if each is a unit of its own, --boundary line")
    sizes = {"vocabulary": facts.vocab_size, "training": facts.tokens}
    say(f"{'text':<14} {', '.join(f'{spaced(count)} {name}' for name, count in sizes.items())} tokens")
    for name, reason in made.reasons.items():
        value = settings["model"].get(name, settings["training"].get(name))
        say(f"{name:<14} {value!s:<10} {reason}")


def _planned(facts: TextFacts, given: Mapping[str, Any]) -> Plan:
    """The plan for such a text; refuses sizes and rates that cannot be."""
    made = plan(facts, {name: given.get(name) for name in _PLANNED})
    NPLMConfig(facts.vocab_size, **made.model)
    return made


def _resumed(run: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the stopped run; other ones now are refused, each named."""
    settings = read_settings(run)
    was = settings["given"]
    now = jsonable({key: value for key, value in given.items() if key not in NOT_SETTINGS})
    different = [
        f"{name} was {was.get(name)!r}, now {now.get(name)!r}"
        for name in sorted({*was, *now})
        if was.get(name) != now.get(name)
    ]
    if different:
        raise InputError(f"--resume with other settings: {'; '.join(different)}; give those of the stopped run")
    return settings
