"""A run: trains, validates, saves, watches for trouble, and leaves the best weights in the model."""

from __future__ import annotations

import math
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from neuralgram.errors import DivergedError
from neuralgram.lm import perplexity
from neuralgram.neural import kernels
from neuralgram.training import checkpoint as checkpoints
from neuralgram.training import events
from neuralgram.training.batches import Validation
from neuralgram.training.checkpoint import Checkpoint
from neuralgram.training.loop import Steps, Trainer, diverged
from neuralgram.training.machine import TrainingInterrupted, stop_on_signal

SAVE_SECONDS = 30.0  # between checkpoints; when one is made changes no weight
_EXPLODED = 4.0  # times the loss of knowing nothing: no run comes back from there
_SURPRISING = 1.2  # times log V: a first loss that a near-uniform start does not give


class TrainResult(NamedTuple):
    """How a run went; the model holds the weights of `best_step`.

    history holds, per validation: step, valid_loss (nats a token), and running_train_loss, a mean over the updates
    since the validation before.
    """

    steps: int
    total_steps: int
    first_loss: float  # nats, before the first update
    best_step: int
    best_perplexity: float | None  # None without a validation text
    history: list[dict[str, float]]
    seconds: float
    tokens_per_second: float
    stopped: str
    threads: int


@dataclass
class Record:
    """What a run remembers besides its tensors; JSON values, part of every checkpoint."""

    total_steps: int
    eval_every: int
    first_loss: float | None = None
    smooth_loss: float = 0.0
    loss_sum: float = 0.0  # over the updates since the last validation
    loss_count: int = 0
    evaluated: int = 0  # the last step with a validation
    since_best: int = 0
    best_step: int = 0
    best_loss: float | None = None
    seconds: float = 0.0
    validation_seconds: float = 0.0
    stopped: str = ""
    history: list[dict[str, float]] = field(default_factory=list)


class Run:
    """The run of one `Trainer` with its validation, log and checkpoints."""

    def __init__(
        self,
        trainer: Trainer,
        *,
        validation: Validation | None,
        record: Record,
        log: events.Log,
        folder: Path | None,
        identity: dict[str, Any],
    ) -> None:
        self.trainer = trainer
        self.validation = validation
        self.record = record
        self.log = log
        self.folder = folder
        self.identity = identity
        self.best: dict[str, Tensor] = {}
        self.saved_step: int | None = None
        self.log_v = math.log(trainer.model.vocab_size)
        self.next_save = time.perf_counter() + SAVE_SECONDS
        self.pace = self._new_pace()

    def restore(self, saved: Checkpoint) -> None:
        """Go on from `saved`."""
        self.trainer.load_state(saved.tensors, saved.step)
        self.best = {n.removeprefix("best."): t.clone() for n, t in saved.tensors.items() if n.startswith("best.")}
        self.record = Record(**saved.progress)
        self.saved_step = saved.step
        self.pace = self._new_pace()

    def _new_pace(self) -> events.Pace:
        record, trainer = self.record, self.trainer
        return events.Pace(trainer.step, record.total_steps, trainer.config.batch_size, record.seconds)

    def go(self) -> TrainResult:
        """Everything from the first update (or the next one) to the kept weights."""
        trainer, record = self.trainer, self.record
        self._announce()
        try:
            with stop_on_signal() as wish:
                if self.saved_step is None:
                    self._save()
                while not record.stopped:
                    for done in trainer.run(self._next_evaluation()):
                        self._after(done)
                        if wish.asked:
                            raise KeyboardInterrupt
                    self._evaluate()
        except DivergedError as error:
            kept = f"; the checkpoint of step {self.saved_step} stays in {self.folder}" if self.folder else ""
            raise DivergedError(f"{error}{kept}") from None
        except KeyboardInterrupt:
            raise self._interrupted() from None
        return self._finish()

    def _announce(self) -> None:
        trainer, record = self.trainer, self.record
        self.log(
            events.Started(
                step=trainer.step,
                total_steps=record.total_steps,
                steps_per_epoch=trainer.batches.per_epoch,
                eval_every=record.eval_every,
                batch_size=trainer.config.batch_size,
                parameters=trainer.model.size().numbers,
                log_v=self.log_v,
                threads=torch.get_num_threads(),
                precision=trainer.model.out.precision,
            )
        )

    def _next_evaluation(self) -> int:
        every = self.record.eval_every
        return min((self.record.evaluated // every + 1) * every, self.record.total_steps)

    def _after(self, done: Steps) -> None:
        """What follows every update: the loss is checked and counted, now and then reported and saved."""
        record = self.record
        if record.first_loss is None:
            record.first_loss = record.smooth_loss = done.losses[0]
            self._check_first(done.losses[0])
        for loss in done.losses:
            record.smooth_loss += 0.1 * (loss - record.smooth_loss)
        if record.smooth_loss > _EXPLODED * max(self.log_v, record.first_loss):
            raise diverged(done.losses[-1], done.step, done.lr)
        record.loss_sum += sum(done.losses)
        record.loss_count += len(done.losses)
        report = self.pace.report(done, self.trainer.batches.per_epoch)
        if report is not None:
            self.log(report)
        if time.perf_counter() >= self.next_save:
            self._save()

    def _check_first(self, loss: float) -> None:
        if loss > _SURPRISING * self.log_v:
            message = (
                f"the first loss is {loss:.2f} nats, well above log V = {self.log_v:.2f} of a model that knows "
                "nothing: the output weights start too large"
            )
            self.log(events.Warned(self.trainer.step, message))

    def _evaluate(self) -> None:
        """Score the validation text, remember the best weights, and decide whether to go on."""
        record, step = self.record, self.trainer.step
        record.evaluated = step
        start = time.perf_counter()
        if self.validation is not None:
            self._score(self.validation)
        patience = self.trainer.config.patience
        if patience is not None and record.since_best >= patience:
            record.stopped = f"no better validation in {patience} of them"
        elif step >= record.total_steps:
            record.stopped = "all steps made"
        record.loss_sum, record.loss_count = 0.0, 0
        spent = time.perf_counter() - start
        record.validation_seconds += spent
        self.pace.pause(spent)

    def _score(self, validation: Validation) -> None:
        record, step = self.record, self.trainer.step
        with self._evaluated_weights():
            loss = validation.loss(self.trainer.model)
            if not math.isfinite(loss):
                raise diverged(loss, step, self.trainer.lr())
            better = record.best_loss is None or loss < record.best_loss
            if better:
                self.best = {name: p.detach().clone() for name, p in self.trainer.parameters.items()}
                record.best_loss, record.best_step = loss, step
        record.since_best = 0 if better else record.since_best + 1
        running = record.loss_sum / max(record.loss_count, 1)
        record.history.append({"step": step, "valid_loss": loss, "running_train_loss": running})
        self.log(
            events.Evaluated(
                step=step,
                epoch=step / self.trainer.batches.per_epoch,
                valid_loss=loss,
                valid_perplexity=perplexity(loss, 1),
                valid_tokens=validation.tokens,
                running_train_loss=running,
                best=better,
                seconds=self.pace.seconds(),
            )
        )

    def _evaluated_weights(self) -> AbstractContextManager[None]:
        """Inside, the model holds the averaged weights, where there are any."""
        average = self.trainer.average
        return nullcontext() if average is None else average.used(self.trainer.step)

    def _save(self) -> None:
        """Write a checkpoint; where the disk is full the old one stays and the run goes on."""
        if self.folder is None or self.saved_step == self.trainer.step:
            return
        self._check_weights()
        trainer = self.trainer
        self.record.seconds = self.pace.seconds()
        rows = kernels.block_rows(trainer.model.vocab_size, 4)
        written = Checkpoint(
            step=trainer.step,
            tensors=trainer.state() | {f"best.{name}": tensor for name, tensor in self.best.items()},
            config=trainer.config.to_json(),
            identity=self.identity,
            machine=checkpoints.machine(torch.get_num_threads(), trainer.model.out.precision, kernel_rows=rows),
            progress=asdict(self.record),
        )
        try:
            path = written.write(self.folder)
        except OSError as error:
            kept = "none was made before" if self.saved_step is None else f"the one of step {self.saved_step} stays"
            message = f"no checkpoint of step {trainer.step}: {error.strerror or error}; {kept}"
            self.log(events.Warned(trainer.step, message))
        else:
            self.saved_step = trainer.step
            self.log(events.Saved(trainer.step, str(path)))
        self.next_save = time.perf_counter() + SAVE_SECONDS

    def _check_weights(self) -> None:
        """A checkpoint or a model must not hold what the last update broke."""
        for parameter in self.trainer.parameters.values():
            if not bool(torch.isfinite(parameter.detach().sum())):
                raise diverged(math.nan, self.trainer.step, self.trainer.lr())

    def _interrupted(self) -> TrainingInterrupted:
        step = self.trainer.step
        self._save()
        if self.folder is None:
            message = f"stopped at step {step} of {self.record.total_steps}; nothing was saved, as no folder was given"
        else:
            message = f"stopped at step {step} of {self.record.total_steps}; "
            message += f"step {self.saved_step} is saved in {self.folder}: go on with --resume"
        self.log(events.Interrupted(step, message))
        return TrainingInterrupted(message)

    def _finish(self) -> TrainResult:
        """Save the end of the run, leave the kept weights in the model, and sum up."""
        trainer, record = self.trainer, self.record
        if self.validation is None:
            record.best_step = trainer.step
            with self._evaluated_weights():
                self.best = {name: p.detach().clone() for name, p in trainer.parameters.items()}
        self._check_weights()
        self.saved_step = None
        self._save()
        for name, parameter in trainer.parameters.items():
            parameter.detach().copy_(self.best[name])
        seconds = self.pace.seconds()
        rate = trainer.step * trainer.config.batch_size / max(seconds - record.validation_seconds, 1e-9)
        best = None if record.best_loss is None else perplexity(record.best_loss, 1)
        self.log(events.Finished(trainer.step, record.stopped, record.best_step, best, seconds, rate))
        return TrainResult(
            steps=trainer.step,
            total_steps=record.total_steps,
            first_loss=record.first_loss or 0.0,
            best_step=record.best_step,
            best_perplexity=best,
            history=record.history,
            seconds=seconds,
            tokens_per_second=rate,
            stopped=record.stopped,
            threads=torch.get_num_threads(),
        )
