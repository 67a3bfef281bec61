"""What a run tells whoever watches: a progress bar, a web page, a test, and the log, `log.jsonl`, a line an event."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from neuralgram.files import write_atomic

if TYPE_CHECKING:
    from neuralgram.training.loop import Steps

LOG = "log.jsonl"
_SECONDS = 0.5  # between reports of progress
_REPORTS = 200  # a log has at least so many of them, so that a short run's curve is a curve too


@dataclass(frozen=True)
class Event:
    """Base of all events; `step` is the number of updates made so far."""

    kind: ClassVar[str] = "event"
    step: int

    def to_json(self) -> dict[str, Any]:
        """The event as JSON values, `event` its kind; what is not a finite number is null."""
        values = {
            key: None if isinstance(value, float) and not math.isfinite(value) else value
            for key, value in asdict(self).items()
        }
        return {"event": self.kind, **values}


@dataclass(frozen=True)
class Started(Event):
    """The run begins, or goes on from `step`."""

    kind: ClassVar[str] = "started"
    total_steps: int
    steps_per_epoch: int
    eval_every: int
    batch_size: int
    parameters: int
    log_v: float  # the loss of a model that knows nothing, nats
    threads: int
    precision: str


@dataclass(frozen=True)
class Progress(Event):
    """Where the run is. `running_loss` is the mean over the updates since the last `Progress`, each before it."""

    kind: ClassVar[str] = "progress"
    epoch: float
    running_loss: float  # nats a token
    lr: float
    tokens_per_second: float
    seconds: float
    seconds_left: float


@dataclass(frozen=True)
class Evaluated(Event):
    """The validation text has been scored, all of it or a fixed sample.

    `running_train_loss` is the mean over the updates since the last validation, with dropout and from weights
    as they were: an average over time, not comparable with the validation loss at its end.
    """

    kind: ClassVar[str] = "evaluated"
    epoch: float
    valid_loss: float  # nats a token
    valid_perplexity: float
    valid_tokens: int
    running_train_loss: float  # nats a token
    best: bool
    seconds: float


@dataclass(frozen=True)
class Saved(Event):
    """A checkpoint is safely on disk."""

    kind: ClassVar[str] = "saved"
    path: str


@dataclass(frozen=True)
class Note(Event):
    """Something was decided that the user did not set."""

    kind: ClassVar[str] = "note"
    message: str


@dataclass(frozen=True)
class Warned(Event):
    """Something is not as it should be, and the run goes on."""

    kind: ClassVar[str] = "warning"
    message: str


@dataclass(frozen=True)
class Interrupted(Event):
    """The run was asked to stop; `message` says how to go on."""

    kind: ClassVar[str] = "interrupted"
    message: str


@dataclass(frozen=True)
class Finished(Event):
    """The run is over and the model holds the weights it keeps."""

    kind: ClassVar[str] = "finished"
    stopped: str  # why: "all steps made", "no better validation for … evaluations"
    best_step: int
    best_perplexity: float | None
    seconds: float
    tokens_per_second: float


OnEvent = Callable[[Event], None]


def ignore(event: Event) -> None:
    """The listener of a run that nobody watches."""


class Log:
    """Passes each event to `on_event` and, with a `folder`, writes it there; losses are in nats.

    A run that goes on from `step` keeps the lines up to it: what a killed process did later is done again.
    """

    def __init__(self, folder: Path | None, on_event: OnEvent, step: int | None = None) -> None:
        self._on_event = on_event
        self._path = folder / LOG if folder else None
        if folder and self._path:
            folder.mkdir(parents=True, exist_ok=True)
            kept = [line for line in read_lines(self._path) if line["step"] <= step] if step is not None else []
            write_atomic(self._path, "".join(json.dumps(line) + "\n" for line in kept).encode())

    def __call__(self, event: Event) -> None:
        """Tell the listener, then the file."""
        self._on_event(event)
        if self._path is None or isinstance(event, Saved):
            return
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(event.to_json()) + "\n")
        except OSError as error:
            path, self._path = self._path, None
            self._on_event(Warned(event.step, f"{path}: {error.strerror}; the run goes on without a log"))


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The lines of a log; a last line cut short by a crash is left out."""
    if not path.exists():
        return []
    lines = []
    for text in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if isinstance(line, dict) and isinstance(line.get("step"), int):
            lines.append(line)
    return lines


def curve_records(log: Path) -> list[dict[str, Any]]:
    """The points of a learning curve from a run's log.jsonl."""
    records = []
    for event in read_lines(log):
        if event.get("event") == "progress":
            records.append({"step": event["step"], "loss": event["running_loss"]})
        elif event.get("event") == "evaluated":
            records.append({"step": event["step"], "valid_nats": event["valid_loss"]})
    return records


class Pace:
    """Counts updates of `batch_size` windows; `before` is how many seconds the run took before this process."""

    def __init__(self, step: int, total_steps: int, batch_size: int, before: float) -> None:
        self.total_steps = total_steps
        self.batch_size = batch_size
        self._begun = self._since = time.perf_counter()
        self._before = before
        self._first = step
        self._loss_sum, self._count = 0.0, 0

    def seconds(self) -> float:
        """Seconds the run has taken, all its processes together."""
        return self._before + time.perf_counter() - self._begun

    def pause(self, seconds: float) -> None:
        """Leave `seconds` just spent on something else out of the tokens per second."""
        self._since += seconds

    def report(self, done: Steps, steps_per_epoch: int) -> Progress | None:
        """Takes in updates just made; a report where one is due."""
        self._loss_sum += sum(done.losses)
        self._count += len(done.losses)
        now = time.perf_counter()
        if now - self._since < _SECONDS and self._count < self.total_steps / _REPORTS:
            return None
        made = max(done.step - self._first, 1)
        report = Progress(
            step=done.step,
            epoch=done.step / steps_per_epoch,
            running_loss=self._loss_sum / self._count,
            lr=done.lr,
            tokens_per_second=self._count * self.batch_size / max(now - self._since, 1e-9),
            seconds=self.seconds(),
            seconds_left=(now - self._begun) / made * (self.total_steps - done.step),
        )
        self._since, self._loss_sum, self._count = now, 0.0, 0
        return report
