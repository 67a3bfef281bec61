"""One training run that can be played, rewound, changed and made again: the same settings give the same numbers.

And the weight-decay experiment: one story, one network, trained with and without decay, beside the best n-gram.
"""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from neuralgram.errors import DivergedError, InputError
from neuralgram.lm import perplexity
from neuralgram.serving.explorer.settings import DEFAULTS, Change, Limits, Settings
from neuralgram.serving.explorer.snapshot import Snapshot, snapshot_of
from neuralgram.serving.explorer.texts import Ready, prepare

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


class _Good(NamedTuple):
    step: int
    tensors: dict[str, Any]


def due(step: int) -> bool:
    """Whether the losses after `step` updates are points of the curves: a function of the step alone."""
    every = 1 if step <= 20 else 5 if step <= 200 else 20 if step <= 2000 else 100
    return step % every == 0


class Run:
    """A run over `ready` text as `settings` say. All methods may be called from any thread.

    points      the curves so far
    kept        the weights at every point, of a network small enough
    changes     the rates changed on the way
    diverged    set where the run lost itself; `back` returns to the last good step
    seconds     spent training
    cancelled   set where nobody waits for it any more
    """

    def __init__(self, ready: Ready, settings: Settings, limits: Limits) -> None:
        from neuralgram.neural.reference import nplm_params

        s = settings
        limits.check_size(ready.vocab_size, nplm_params(ready.vocab_size, s.d_emb, s.context + 1, s.d_hidden, s.direct))
        self.ready, self.settings, self.limits = ready, settings, limits
        self.lock = threading.RLock()
        self.seconds = 0.0
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
            s.d_hidden,
            s.direct,
            generator(s.seed, "init"),
            activation=s.activation,
            dropout=s.dropout,
        )
        self.trainer: Trainer = self._trainer(s.lr, s.weight_decay)
        self.points: list[Point] = []
        self.kept: list[Snapshot] = []
        self.changes: list[Change] = []
        self.diverged: Divergence | None = None
        self._good = _Good(0, {})
        self._record()

    def _trainer(self, lr: float, weight_decay: float) -> Trainer:
        from neuralgram.training.config import TrainConfig
        from neuralgram.training.loop import Trainer

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
        return Trainer(self.model, self.ready.train.windows(s.context), config, self.limits.steps)

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

    def advance(self, until: int) -> None:
        """Make updates until `until` of them are made or the next point of the curves is reached."""
        with self.lock:
            stop = min(until, self.limits.steps)
            if self.diverged is not None or self.step >= stop:
                return
            started = time.perf_counter()
            try:
                for done in self.trainer.run(stop):
                    if due(done.step):
                        break
            except DivergedError:
                self._lose(float("nan"))
            if self.diverged is None and due(self.step):
                self._record()
            self.seconds += time.perf_counter() - started

    def run_to(self, step: int, changes: tuple[Change, ...] = ()) -> None:
        """Replay from where it is to `step`, changing rates where `changes` say; ends early where it is `cancelled`."""
        for change in changes:
            self._reach(change.step)
            self.retune(change.lr, change.weight_decay)
        self._reach(step)

    def _reach(self, step: int) -> None:
        while self.step < min(step, self.limits.steps) and self.diverged is None and not self.cancelled:
            self.advance(step)

    def rewind(self) -> None:
        """Back to the same start: the first weights, the first batch, the first rates."""
        with self.lock:
            self._start()

    def retune(self, lr: float, weight_decay: float) -> None:
        """Go on with other rates; nothing else changes."""
        with self.lock:
            if (lr, weight_decay) == (self.lr, self.weight_decay):
                return
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
            self.diverged = None
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


STEPS = 1_500  # updates of the weight-decay experiment
_TURN = 20  # of them at once


class Outcome(NamedTuple):
    """One of the three things to see: what is claimed, whether it is so here, and the figures."""

    claim: str
    holds: bool
    figures: str


class Decay:
    """Two runs on the story that differ in the weight decay alone. `advance` makes some updates of both."""

    def __init__(self, limits: Limits) -> None:
        settings = DEFAULTS["story"]
        self.ready: Ready = prepare(settings, "", limits)
        self.weight_decay = settings.weight_decay
        self.with_decay = Run(self.ready, settings, limits)
        self.without = Run(self.ready, replace(settings, weight_decay=0.0), limits)

    @property
    def step(self) -> int:
        """Updates both have made."""
        return min(self.with_decay.step, self.without.step)

    @property
    def done(self) -> bool:
        """Whether both have made all of their updates."""
        return self.step >= STEPS

    def advance(self) -> None:
        """A few updates of each."""
        until = min(self.step + _TURN, STEPS)
        for run in (self.with_decay, self.without):
            while run.step < until and run.diverged is None:
                run.advance(until)

    def outcomes(self) -> list[Outcome]:
        """The three outcomes, from the numbers so far."""
        with_decay, without, count = self.with_decay.points, self.without.points, self.ready.add_k_loss
        lowest = min(without, key=lambda point: point.valid)
        return [
            Outcome(
                f"With weight decay {self.weight_decay:g} the network ends below the best add-k n-gram.",
                with_decay[-1].valid < count,
                f"held-out perplexity {_p(with_decay[-1].valid)}; add-k, tuned over n and k: {_p(count)}",
            ),
            Outcome(
                "Without it the held-out curve turns upward: the network learns the story by heart.",
                without[-1].valid > lowest.valid + 0.1 and lowest.step < without[-1].step,
                f"lowest, {_p(lowest.valid)}, after {lowest.step} steps; {_p(without[-1].valid)} now",
            ),
            Outcome(
                "Training loss says the opposite: without decay it is the lower one all along.",
                without[-1].train < with_decay[-1].train,
                f"training perplexity {_p(without[-1].train)} without decay, {_p(with_decay[-1].train)} with it",
            ),
        ]


def curve(points: list[Point], part: str) -> list[tuple[float, float]]:
    """(step, nats) of the `train` or `valid` curve."""
    return [(point.step, getattr(point, part)) for point in list(points)]


def _p(nats: float) -> str:
    return f"{perplexity(nats, 1):.2f}"
