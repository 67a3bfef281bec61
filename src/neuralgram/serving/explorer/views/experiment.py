"""The weight-decay experiment: one story, one network, trained with and without decay, beside the best n-gram.

A card of the training view.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import NamedTuple

from nicegui import run as threads
from nicegui import ui

from neuralgram.lm import perplexity
from neuralgram.serving.explorer import charts
from neuralgram.serving.explorer.run import Meter, Run, curve
from neuralgram.serving.explorer.settings import DEFAULTS, Limits
from neuralgram.serving.explorer.shell import Shell
from neuralgram.serving.explorer.texts import Ready, prepare
from neuralgram.serving.explorer.widgets import Chart, say

STEPS = 1_500  # updates of either run
_TURN = 20  # of them at once
_WAIT = 0.5  # seconds between two looks at whether a lost connection is back


class Outcome(NamedTuple):
    """One of the three things to see: what is claimed, whether it is so here, and the figures."""

    claim: str
    holds: bool
    figures: str


class Decay:
    """Two runs on the story that differ in the weight decay alone. `advance` makes some updates of both."""

    def __init__(self, limits: Limits, meter: Meter | None = None) -> None:
        settings = DEFAULTS["story"]
        self.ready: Ready = prepare(settings, "", limits)
        self.weight_decay = settings.weight_decay
        self.meter = meter or Meter(limits)
        self.with_decay = Run(self.ready, settings, limits, self.meter)
        self.without = Run(self.ready, replace(settings, weight_decay=0.0), limits, self.meter)

    @property
    def step(self) -> int:
        """Updates both have made."""
        return min(self.with_decay.step, self.without.step)

    @property
    def done(self) -> bool:
        """Whether both have made all of their updates, or as many as they may."""
        return self.step >= STEPS or self.meter.over

    def advance(self) -> None:
        """A few updates of each."""
        until = min(self.step + _TURN, STEPS)
        for run in (self.with_decay, self.without):
            while run.can_reach(until):
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


class Experiment:
    """One button, two runs, three outcomes."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self._running = False
        with ui.element("section").classes("card"):
            ui.html("What weight decay is for", tag="h3", sanitize=True)
            say(
                f"The same network on the same story, {STEPS:,} updates with weight decay and {STEPS:,} without, "
                "beside the best n-gram that counting gives."
            )
            self._button = ui.button("Run the experiment", on_click=self.toggle).props("no-caps dense unelevated")
            self._place = ui.column().style("width: 100%")

    async def toggle(self) -> None:
        """Start, or stop."""
        if self._running:
            self._running = False
            return
        self._running = True
        self._button.set_text("Stop")
        self._place.clear()
        with self._place:
            chart = Chart(charts.lines("updates"), "nats per token, held out")
            said = ui.column().style("width: 100%").props('role="status"')
        session = self.shell.session
        made = await threads.io_bound(Decay, session.limits, session.meter)
        while made is not None and self._running and not made.done and not session.closed:
            if session.away:
                await asyncio.sleep(_WAIT)
                continue
            await threads.io_bound(made.advance)
            self._draw(made, chart, said)
        if session.meter.over:
            self.shell.say(session.limits.spent)
        self._running = False
        self._button.set_text("Run it again")

    def _draw(self, made: Decay, chart: Chart, said: ui.column) -> None:
        until = max(made.step, 100)
        chart.show(
            [
                charts.line(f"decay {made.weight_decay:g}", curve(made.with_decay.points, "valid"), charts.BLUE),
                charts.line("no decay", curve(made.without.points, "valid"), charts.RED, "dashed"),
                charts.level("best add-k n-gram", made.ready.add_k_loss, until, charts.GREEN, "dotted"),
            ],
            f"After {made.step:,} of {STEPS:,} updates: held out {made.with_decay.points[-1].valid:.3f} nats with "
            f"decay, {made.without.points[-1].valid:.3f} without; the n-gram has {made.ready.add_k_loss:.3f}.",
        )
        said.clear()
        with said:
            for number, outcome in enumerate(made.outcomes(), 1):
                mark = "✓" if outcome.holds else "not yet" if not made.done else "✗ not here"
                ui.label(f"{number}. {mark}  {outcome.claim} ({outcome.figures})")


def _p(nats: float) -> str:
    return f"{perplexity(nats, 1):.2f}"
