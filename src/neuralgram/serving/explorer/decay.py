"""The weight-decay experiment: one story, one network, trained with and without decay, beside the best n-gram."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from neuralgram.lm import perplexity
from neuralgram.serving.explorer.limits import Limits
from neuralgram.serving.explorer.run import Point, Run
from neuralgram.serving.explorer.settings import DEFAULTS
from neuralgram.serving.explorer.texts import Ready, prepare

STEPS = 1_500
_TURN = 20


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
