"""The weight-decay experiment as a card of the training view."""

from __future__ import annotations

import asyncio

from nicegui import run as threads
from nicegui import ui

from neuralgram.serving.explorer import charts
from neuralgram.serving.explorer.run import STEPS, Decay, curve
from neuralgram.serving.explorer.shell import Shell
from neuralgram.serving.explorer.widgets import Chart, say

_WAIT = 0.5  # seconds between two looks at whether a lost connection is back


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
        made = await threads.io_bound(Decay, session.limits)
        while made is not None and self._running and not made.done and not session.closed:
            if session.away:
                await asyncio.sleep(_WAIT)
                continue
            await threads.io_bound(made.advance)
            self._draw(made, chart, said)
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
