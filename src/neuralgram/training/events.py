"""What a run tells whoever watches: a progress bar, a log file, a web page, a test."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar


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
