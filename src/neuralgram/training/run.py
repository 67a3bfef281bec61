"""A whole run in one call: what the command, the demo and the recipes use."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuralgram.text.windows import Corpus
from neuralgram.training import checkpoint as checkpoints
from neuralgram.training import events, machine
from neuralgram.training.checkpoint import Checkpoint
from neuralgram.training.config import TrainConfig
from neuralgram.training.driver import Record, Run, TrainResult
from neuralgram.training.length import Length, run_length
from neuralgram.training.log import Log
from neuralgram.training.loop import Trainer
from neuralgram.training.validation import Validation

if TYPE_CHECKING:
    from neuralgram.neural.nplm import NPLM

__all__ = ["TrainResult", "fit"]


def fit(
    model: NPLM,
    train: Corpus,
    valid: Corpus | None,
    config: TrainConfig,
    *,
    folder: Path | None = None,
    resume: bool = False,
    identity: Mapping[str, str] | None = None,
    on_event: events.OnEvent = events.ignore,
) -> TrainResult:
    """Train `model` on `train` as `config` says; it ends with the weights that were best on `valid`.

    With a `folder`, `log.jsonl` and checkpoints are written there; `resume` goes on from the newest one, or from the
    start where none was made yet, and ends in the same weights bit for bit as a run never stopped. `identity` holds
    what else must be the same on resuming, such as the tokenizer's hash.
    Raises `InputError` for a text without a batch of windows and for resuming something else, `DivergedError` when
    the loss is no number or explodes, `TrainingInterrupted` (a `KeyboardInterrupt`) after saving on Ctrl-C.
    """
    validation = Validation(valid.windows(model.context), config.valid_tokens) if valid is not None else None
    known = {
        "training text": checkpoints.corpus_hash(train),
        "validation text": checkpoints.corpus_hash(valid) if valid is not None else None,
        "model": model.config(),
        **(identity or {}),
    }
    saved = checkpoints.read(folder) if resume and folder else None
    if saved is not None:
        checkpoints.check_identity(saved.identity, known, "something")
        checkpoints.check_identity(_lasting(saved.config), _lasting(config.to_json()), "a training setting")
    elif folder is not None:
        checkpoints.remove(folder)
    log = Log(folder, on_event, saved.step if saved else None)
    model.set_precision(config.precision if saved is None else saved.machine["precision"])
    windows = train.windows(model.context)
    if saved is not None:
        threads = _same_threads(saved, config, log)
        length = Length(saved.progress["total_steps"], saved.progress["eval_every"], "")
    else:
        threads = machine.choose_threads(model, windows, config)
    with machine.threads(threads.number):
        if saved is None:
            length = run_length(model, windows, validation, config)
            for message in (f"threads {threads.number}: {threads.reason}", length.reason):
                log(events.Note(0, message))
        trainer = Trainer(model, windows, config, length.steps)
        record = Record(length.steps, length.eval_every)
        run = Run(trainer, validation=validation, record=record, log=log, folder=folder, identity=known)
        if saved is not None:
            run.restore(saved)
        return run.go()


def _lasting(config: dict[str, Any]) -> dict[str, Any]:
    """The settings that must be the same on resuming: all but the threads, which are warned about."""
    return {name: value for name, value in config.items() if name != "threads"}


def _same_threads(saved: Checkpoint, config: TrainConfig, log: Log) -> machine.Threads:
    """The thread count of the checkpoint, or the nearest this machine gives; says where bits may differ."""
    was = saved.machine["threads"]
    count = config.threads or min(was, machine.cores())
    now = checkpoints.machine(count, saved.machine["precision"])
    different = [
        f"{name} {saved.machine[name]} then, {now[name]} now" for name in now if saved.machine[name] != now[name]
    ]
    if different:
        message = f"the weights will not be bit for bit those of a run never stopped: {', '.join(different)}"
        log(events.Warned(saved.step, message))
    return machine.Threads(count, "as before")
