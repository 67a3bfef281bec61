"""A whole run in one call, fixed before its first update: from where, how long, how often validated, on how many
threads. What jobs use."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from neuralgram.errors import InputError
from neuralgram.text.windows import Corpus, Windows
from neuralgram.training import checkpoint as checkpoints
from neuralgram.training import events, machine
from neuralgram.training.batches import Validation
from neuralgram.training.checkpoint import Checkpoint
from neuralgram.training.config import TrainConfig
from neuralgram.training.loop import Trainer
from neuralgram.training.machine import time_step, time_validation
from neuralgram.training.run import Record, Run, TrainResult

if TYPE_CHECKING:
    from neuralgram.neural.nplm import NPLM

_FEWEST, _MOST = 20, 100  # validations of a run, unless the user says otherwise
_VALIDATING = 0.1  # of `max_time` at most


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
    log = events.Log(folder, on_event, saved.step if saved else None)
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


def _same_threads(saved: Checkpoint, config: TrainConfig, log: events.Log) -> machine.Threads:
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


class Length(NamedTuple):
    """Updates in all, updates between validations, and where the numbers come from."""

    steps: int
    eval_every: int
    reason: str


def run_length(model: NPLM, windows: Windows, validation: Validation | None, config: TrainConfig) -> Length:
    """The length of a run as `config` gives it, by `steps`, `epochs` or `max_time`.

    `max_time` becomes a number of steps by timing some: the run that follows knows no clock.
    """
    per_epoch = len(windows) // config.batch_size
    if per_epoch == 0:
        raise InputError(
            f"{len(windows)} windows of {windows.context} + 1 tokens: expected at least one batch, "
            f"{config.batch_size}; give more text or a smaller batch"
        )
    if config.max_time is not None:
        return _timed_length(model, windows, validation, config, per_epoch)
    if config.steps is not None:
        steps, reason = config.steps, f"{config.steps} steps as asked"
    else:
        steps = max(1, round((config.epochs or 0) * per_epoch))
        reason = f"{steps} steps: {config.epochs:g} epochs of {per_epoch}"
    return Length(steps, config.eval_every or _spacing(steps, per_epoch, _FEWEST, _MOST), reason)


def _spacing(steps: int, per_epoch: int, fewest: int, most: int) -> int:
    """Once per epoch, but no more rarely than `fewest` times a run and no more often than `most` times."""
    return max(1, min(max(per_epoch, -(-steps // most)), -(-steps // fewest)))


def _timed_length(
    model: NPLM, windows: Windows, validation: Validation | None, config: TrainConfig, per_epoch: int
) -> Length:
    budget = config.max_time or 0.0
    step = time_step(model, windows, config, min(1.0, budget * 0.02))
    one = time_validation(model, validation) if validation else 0.0
    most = max(1, min(_MOST, int(_VALIDATING * budget / one))) if one else _MOST
    if config.eval_every is not None:
        steps = int(budget / (step + one / config.eval_every))
    else:
        steps = int((budget - most * one) / step)
    steps = max(1, steps)
    spacing = config.eval_every or _spacing(steps, per_epoch, min(_FEWEST, most), most)
    reason = f"{steps} steps: {budget:g} s at {step * 1e3:.3g} ms a step and {one:.2g} s a validation"
    return Length(steps, spacing, reason)
