"""`train nplm` as one call: what is given is taken, the rest is chosen, all is stored, and a run can be resumed.

While a run goes on, OUT/run holds its settings, ids, log and checkpoints; the model's own files are written into OUT
when it ends, so an older model there stays whole until the new one replaces it.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neuralgram.errors import InputError, ModelDirError
from neuralgram.evaluation.evaluate import evaluate
from neuralgram.evaluation.plots import learning_curve
from neuralgram.files import write_atomic
from neuralgram.neural.config import NPLMConfig
from neuralgram.neural.nplm import NPLM
from neuralgram.numbers import spaced
from neuralgram.rng import generator
from neuralgram.settings import shown
from neuralgram.text.corpora import Corpora
from neuralgram.text.windows import Corpus, token_frequencies
from neuralgram.textmodel import TextModel
from neuralgram.training import checkpoint, events
from neuralgram.training.config import TextSettings, TrainConfig
from neuralgram.training.fit import fit
from neuralgram.training.jobs.ngram import advice, count_beside, counted_record, counted_words
from neuralgram.training.jobs.plan import PLANNED, Plan, TextFacts, plan
from neuralgram.training.jobs.texts import (
    NOT_SETTINGS,
    Say,
    build,
    claim,
    jsonable,
    part_sizes,
    provenance,
    refuse_unscorable,
    settle,
    tell,
    unless_failed,
)
from neuralgram.training.loop import Trainer
from neuralgram.training.machine import choose_device
from neuralgram.training.run import TrainResult

CURVE = "learning-curve.png"
_SETTINGS = ("given", "texts", "valid", "test", "text", "reasons", "model", "training")  # what resuming needs
_ANY_TEXT = TextFacts(1_000_000, 100, True, "document")  # what is wrong for it is wrong for every text


@dataclass(frozen=True)
class Trained:
    """A finished run: the model, how training went, and what its held-out parts say."""

    model: TextModel
    result: TrainResult
    valid: dict[str, Any] | None
    test: dict[str, Any] | None
    out: Path
    counted: dict[str, Any] | None = None  # the n-gram model beside it, as `counted_record` tells of it

    @property
    def advice(self) -> str | None:
        """Where counting was better: by how much, and what to do; one line."""
        return (
            None
            if self.counted is None
            else advice({"valid": self.valid, "test": self.test}, self.counted, self.improving)
        )

    @property
    def improving(self) -> bool:
        """Whether the network's best weights are those of its last validation."""
        return bool(self.result.history) and self.result.best_step == self.result.history[-1]["step"]

    def to_json(self) -> dict[str, Any]:
        """What `train nplm --json` prints."""
        return {
            "path": str(self.out),
            "learning_curve": str(self.out / CURVE),
            "parameters": self.model.model.size().numbers,
            "vocab_size": self.model.model.vocab_size,
            "log_v": math.log(self.model.model.vocab_size),
            **self.result._asdict(),
            "valid": self.valid,
            "test": self.test,
            "counted": self.counted,
            "advice": self.advice,
        }


def train_texts(given: Mapping[str, Any], *, on_event: events.OnEvent = events.ignore, say: Say = print) -> Trained:
    """Train on the texts that `given` names, into `given["out"]`; its other keys are options of `train nplm`.

    Unless `given["count"]` is False, an n-gram model is counted beside, where there is text to choose its order by.
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
    counted = None if given.get("count") is False else _count(corpora, settings["model"]["context"], say)
    with _unless_refused(out, resume):
        model, result = train_network(
            corpora,
            settings["model"],
            TrainConfig.from_json(training),
            out,
            resume=resume,
            device=device,
            story=story,
            references=_reference(counted),
            on_event=on_event,
        )
    held_out = {name: getattr(corpora, name) for name in ("valid", "test")}
    if any(part is not None for part in held_out.values()):
        scored = sum(len(part) for part in held_out.values() if part is not None)
        say(f"scoring {spaced(scored)} held-out tokens")
    valid, test = (None if part is None else evaluate(model, part).to_json() for part in held_out.values())
    return Trained(model, result, valid, test, out, counted)


def _count(corpora: Corpora, context: int, say: Say) -> dict[str, Any] | None:
    """What counting makes of the same text, said at once: what the network has to beat."""
    counted = count_beside(corpora)
    if counted is None:
        return None
    record = counted_record(counted, corpora, context)
    say(f"{'counted':<14} {counted_words(record)}")
    return record


def _reference(counted: Mapping[str, Any] | None) -> dict[str, float] | None:
    """The line that the learning curve has to come below."""
    if counted is None or counted["valid"] is None:
        return None
    return {f"Kneser–Ney (n = {counted['order']})": counted["valid"]["nats_per_token"]}


def train_network(
    corpora: Corpora,
    sizes: Mapping[str, Any],
    config: TrainConfig,
    out: Path,
    *,
    resume: bool = False,
    device: str = "cpu",
    story: dict[str, Any] | None = None,
    references: dict[str, float] | None = None,
    on_event: events.OnEvent = events.ignore,
) -> tuple[TextModel, TrainResult]:
    """Train a network on `corpora`, save it in `out` with its learning curve, and give it back.

    story       what else neuralgram.json is to tell: where the text came from, the command, reasons of settings
    references  label -> nats, drawn as lines in the learning curve
    """
    run = out / "run"
    identity = {"tokenizer": corpora.tokenizer.hash, "boundary": corpora.boundary}
    model, result = train_model(
        corpora, sizes, config, run, resume=resume, device=device, identity=identity, on_event=on_event
    )
    story = story or {}
    info = {
        **story,
        "data": {**corpora.info, **story.get("data", {}), "tokens": part_sizes(corpora)},
        "training": {"config": config.to_json(), **result._asdict()},
    }
    trained = TextModel(model, corpora.tokenizer, corpora.boundary, info, out, token_frequencies(corpora.train))
    trained.save(out)
    points = events.curve_records(run / events.LOG)
    learning_curve(points, out / CURVE, vocab_size=corpora.vocab_size, references=references)
    tidy(run)
    shutil.rmtree(run / "data", ignore_errors=True)
    return trained, result


def train_model(
    corpora: Corpora,
    sizes: Mapping[str, Any],
    config: TrainConfig,
    run: Path,
    *,
    start: NPLM | None = None,
    resume: bool = False,
    device: str = "cpu",
    identity: Mapping[str, str] | None = None,
    on_event: events.OnEvent = events.ignore,
) -> tuple[NPLM, TrainResult]:
    """A network trained on `corpora`, with its log and checkpoints in the folder `run`; on the processor when done.

    sizes   keywords of `NPLM`; its weights are drawn from the `init` stream of the seed
    start   a network whose weights it begins with instead; `InputError` where its parameters are others
    device  `cpu`, `cuda`, or `auto`: the GPU where there is one
    """
    counts = token_frequencies(corpora.train)
    choices = {"vocab": corpora.vocab_size, **sizes}
    model = NPLM.of(choices, rng=generator(config.seed, "init"), head_counts=counts)
    if start is not None:
        _begin_with(model, start)
    result = fit(
        model.to(choose_device(device)),
        corpora.train,
        corpora.valid,
        config,
        folder=run,
        resume=resume,
        identity=identity,
        on_event=on_event,
    )
    return model.to("cpu"), result


def _begin_with(model: NPLM, start: NPLM) -> None:
    old, new = dict(start.named_parameters()), dict(model.named_parameters())
    if {name: p.shape for name, p in old.items()} != {name: p.shape for name, p in new.items()}:
        raise InputError(f"a phase with other parameters ({', '.join(new)}) than the one before: expected the same")
    for name, p in new.items():
        p.detach().copy_(old[name].detach())


def step_by_step(model: NPLM, train: Corpus, config: TrainConfig) -> Trainer:
    """The loop for whoever makes the updates one by one, at most `config.steps` of them, and watches between."""
    return Trainer(model, train.windows(model.context), config, config.steps or 0)


def tidy(run: Path) -> None:
    """Leave of a finished run its log, without checkpoints."""
    checkpoint.remove(run)


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
    how = TextSettings(**settings["text"])
    return build(how, settings["texts"], valid=settings["valid"], test=settings["test"], folder=folder)


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
    tell(corpora, given, say)
    sizes = {"vocabulary": facts.vocab_size, "training": facts.tokens}
    say(f"{'text':<14} {', '.join(f'{spaced(count)} {name}' for name, count in sizes.items())} tokens")
    for name, reason in made.reasons.items():
        value = settings["model"].get(name, settings["training"].get(name))
        say(f"{name:<14} {shown(value):<10} {reason}")


def _planned(facts: TextFacts, given: Mapping[str, Any]) -> Plan:
    """The plan for such a text; refuses sizes and rates that cannot be."""
    made = plan(facts, {name: given.get(name) for name in PLANNED})
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


def write_settings(run: Path, settings: dict[str, Any]) -> None:
    """Keep what a run was told, so that `--resume` needs no repeating of it."""
    write_atomic(run / "settings.json", (json.dumps(settings, indent=2, ensure_ascii=False) + "\n").encode())


def read_settings(run: Path) -> dict[str, Any]:
    """What `write_settings` kept; `ModelDirError` where it is damaged."""
    path = run / "settings.json"
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelDirError(f"{path}: not JSON ({error}); start again with --overwrite") from None
    missing = [name for name in _SETTINGS if not isinstance(settings, dict) or name not in settings]
    if missing:
        raise ModelDirError(f"{path}: lacks {', '.join(missing)}; start again with --overwrite")
    return dict(settings)
