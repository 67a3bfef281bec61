"""One training run that can be played, rewound, changed and made again: the same settings give the same numbers."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from neuralgram.errors import DivergedError, InputError
from neuralgram.serving.explorer.settings import Change, Limits, Settings
from neuralgram.serving.explorer.snapshot import Snapshot, snapshot_of
from neuralgram.serving.explorer.texts import Ready

if TYPE_CHECKING:
    from neuralgram.neural.nplm import NPLM
    from neuralgram.training.loop import Trainer

_SAMPLED = 2048  # training and held-out windows scored at every point of the curves, evenly spaced
KEPT = 2_000  # parameters of a network whose weights are kept at every point of the curves
_LOST = 3.0  # a loss of so many times log V is no learning any more


class Point(NamedTuple):
    """The losses after `step` updates, in nats per token: exact, without dropout, always of the same windows."""

    step: int
    train: float
    valid: float


class Divergence(NamedTuple):
    """A run that lost itself: where, with what rate, how large the loss was, and the last good step."""

    step: int
    lr: float
    loss: float
    good_step: int

    @property
    def explanation(self) -> str:
        """What happened and why, in a few sentences."""
        loss = "not a number any more" if not np.isfinite(self.loss) else f"{self.loss:.3g} nats"
        return (
            f"Training diverged: at step {self.step} the loss was {loss}, with the learning rate {self.lr:g}. "
            "Every update moves the weights against the gradient, and the gradient only tells the slope where they "
            "stand: a step this long lands far up the other side, where the slope is steeper still, and the next step "
            "is longer. Numbers grow until they overflow and become NaN, which nothing can repair."
        )


class Meter:
    """The seconds one visitor has trained, over all of their runs: `over` once they are all that `limits` allow."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.seconds = 0.0
        self._lock = threading.Lock()

    @property
    def over(self) -> bool:
        """Whether no more may be trained."""
        return self.seconds >= self.limits.seconds

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the time of what is done within."""
        started = time.perf_counter()
        try:
            yield
        finally:
            with self._lock:
                self.seconds += time.perf_counter() - started


class _Good(NamedTuple):
    step: int
    tensors: dict[str, Any]


def due(step: int) -> bool:
    """Whether the losses after `step` updates are points of the curves: a function of the step alone."""
    every = 1 if step <= 20 else 5 if step <= 200 else 20 if step <= 2000 else 100
    return step % every == 0


class Run:
    """A run over `ready` text as `settings` say. All methods may be called from any thread.

    meter       of the seconds its visitor has trained: where they are over, no update is made
    points      the curves so far
    kept        the weights at every point, of a network small enough
    changes     the rates changed on the way
    pending     those still to come, of a run that is made again
    diverged    set where the run lost itself; `back` returns to the last good step
    cancelled   set where nobody waits for it any more
    """

    def __init__(self, ready: Ready, settings: Settings, limits: Limits, meter: Meter | None = None) -> None:
        from neuralgram.neural.reference import nplm_params

        s = settings
        limits.check_size(ready.vocab_size, nplm_params(ready.vocab_size, s.d_emb, s.context + 1, s.d_hidden, s.direct))
        self.ready, self.settings, self.limits = ready, settings, limits
        self.meter = meter or Meter(limits)
        self.lock = threading.RLock()
        self.cancelled = False
        windows = ready.train.windows(s.context)
        if len(windows) < s.batch_size:
            raise InputError(
                f"{len(windows)} windows in this text: expected at least one batch, {s.batch_size}; "
                "make the batch smaller or give more text"
            )
        self._scored = (_spread(windows), _spread(ready.held_out(s.context)))
        self._start()

    def _start(self) -> None:
        from neuralgram.neural.nplm import NPLM
        from neuralgram.rng import generator

        s = self.settings
        self.model: NPLM = NPLM(
            self.ready.vocab_size,
            s.context,
            s.d_emb,
            s.d_hidden or [],
            s.direct,
            generator(s.seed, "init"),
            activation=s.activation,
            dropout=s.dropout,
        )
        self.trainer: Trainer = self._trainer(s.lr, s.weight_decay)
        self.points: list[Point] = []
        self.kept: list[Snapshot] = []
        self.changes: list[Change] = []
        self.pending: tuple[Change, ...] = ()
        self.diverged: Divergence | None = None
        self._good = _Good(0, {})
        self._record()

    def _trainer(self, lr: float, weight_decay: float) -> Trainer:
        from neuralgram.training.config import TrainConfig
        from neuralgram.training.jobs.network import step_by_step

        s = self.settings
        config = TrainConfig(
            steps=self.limits.steps,
            batch_size=s.batch_size,
            seed=s.seed,
            optimizer=s.optimizer,
            schedule="constant",
            lr=lr,
            weight_decay=weight_decay,
        )
        return step_by_step(self.model, self.ready.train, config)

    # ---- what it is ----

    @property
    def step(self) -> int:
        """Updates made."""
        return self.trainer.step

    @property
    def lr(self) -> float:
        """The learning rate of the next update."""
        return self.trainer.config.lr

    @property
    def weight_decay(self) -> float:
        """The weight decay of the next update."""
        return self.trainer.config.weight_decay

    @property
    def log_v(self) -> float:
        """The loss of a model that knows nothing: every token has the probability 1/V."""
        return float(np.log(self.ready.vocab_size))

    @property
    def parameters(self) -> int:
        """How many numbers are trained."""
        return sum(p.numel() for p in self.model.parameters())

    def snapshot(self) -> Snapshot:
        """The weights as they are now, and their step."""
        with self.lock:
            return snapshot_of(self.model, self.step)

    # ---- what it does ----

    def can_reach(self, step: int) -> bool:
        """Whether another update leads towards `step`: nothing is lost, over, or given up."""
        stopped = self.diverged is not None or self.cancelled or self.meter.over
        return not stopped and self.step < min(step, self.limits.steps)

    def advance(self, until: int) -> None:
        """Make updates until `until` of them are made, the next point of the curves or a pending change is reached."""
        with self.lock:
            self._change()
            if not self.can_reach(until):
                return
            stop = min(until, self.limits.steps, *(change.step for change in self.pending))
            with self.meter.running():
                self._update(stop)
            self._change()

    def _update(self, stop: int) -> None:
        try:
            for done in self.trainer.run(stop):
                if due(done.step):
                    break
        except DivergedError:
            self._lose(float("nan"))
        if self.diverged is None and due(self.step):
            self._record()

    def _change(self) -> None:
        """The pending changes of this very step."""
        while self.pending and self.pending[0].step <= self.step and self.diverged is None:
            change, *rest = self.pending
            self._retune(change.lr, change.weight_decay)
            self.pending = tuple(rest)

    def plan(self, changes: tuple[Change, ...]) -> None:
        """Change the rates where `changes` say, as the run comes there."""
        with self.lock:
            self.pending = changes
            self._change()

    def run_to(self, step: int, changes: tuple[Change, ...] = ()) -> None:
        """Go on to `step`, changing rates where `changes` say; ends early where it cannot get there."""
        self.plan(changes)
        while self.can_reach(step):
            self.advance(step)

    def rewind(self) -> None:
        """Back to the same start: the first weights, the first batch, the first rates."""
        with self.lock:
            self._start()

    def retune(self, lr: float, weight_decay: float) -> None:
        """Go on with other rates, instead of any that are pending; nothing else changes."""
        with self.lock:
            self.pending = ()
            self._retune(lr, weight_decay)

    def _retune(self, lr: float, weight_decay: float) -> None:
        if (lr, weight_decay) != (self.lr, self.weight_decay):
            self._resume(self.trainer.state(), self.step, lr, weight_decay)

    def back(self) -> None:
        """From a divergence to the last good step, with a tenth of the rate."""
        with self.lock:
            lost, good = self.diverged, self._good
            if lost is None:
                return
            self.points = [point for point in self.points if point.step <= good.step]
            self.kept = [shot for shot in self.kept if shot.step <= good.step]
            self.changes = [change for change in self.changes if change.step < good.step]
            self.diverged, self.pending = None, ()
            self._resume(good.tensors, good.step, lost.lr / 10, self.weight_decay)

    def _resume(self, tensors: dict[str, Any], step: int, lr: float, weight_decay: float) -> None:
        trainer = self._trainer(lr, weight_decay)
        trainer.load_state(tensors, step)
        self.trainer = trainer
        self.changes = [change for change in self.changes if change.step < step]
        self.changes.append(Change(step, lr, weight_decay))

    def _record(self) -> None:
        losses = [float(self.model.context_nll(*windows).mean()) for windows in self._scored]
        if not np.isfinite(losses).all() or losses[0] > _LOST * self.log_v:
            self._lose(losses[0])
            return
        best = min((point.train for point in self.points), default=np.inf)
        self.points.append(Point(self.step, *losses))
        if self.parameters <= KEPT:
            self.kept.append(self.snapshot())
        if losses[0] <= 1.02 * best + 0.02:
            self._good = _Good(self.step, {name: t.clone() for name, t in self.trainer.state().items()})

    def _lose(self, loss: float) -> None:
        self.diverged = Divergence(self.step, self.lr, loss, self._good.step)


def _spread(windows: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """At most `_SAMPLED` windows, evenly spaced: contexts and targets."""
    count = min(_SAMPLED, len(windows))
    contexts, targets = windows.gather(np.arange(count, dtype=np.int64) * len(windows) // count)
    return contexts, targets


def curve(points: list[Point], part: str) -> list[tuple[float, float]]:
    """(step, nats) of the `train` or `valid` curve."""
    return [(point.step, getattr(point, part)) for point in list(points)]
