"""Train: a text, a network, and the two curves; what divergence is; what weight decay is for."""

from __future__ import annotations

import math

from nicegui import ui

from neuralgram.lm import perplexity
from neuralgram.serving.explorer import charts
from neuralgram.serving.explorer.decay import curve
from neuralgram.serving.explorer.drawing import Drawing
from neuralgram.serving.explorer.inside import Window, summary, traced
from neuralgram.serving.explorer.markup import Numbers
from neuralgram.serving.explorer.parts import Chart, Live, heading, say
from neuralgram.serving.explorer.session import FIVE
from neuralgram.serving.explorer.shell import Shell
from neuralgram.serving.explorer.views.controls import Controls
from neuralgram.serving.explorer.views.experiment import Experiment
from neuralgram.serving.explorer.wires import bundles, gap_names


class Train:
    """The view."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        heading("Train a network and watch it learn")
        say(
            "The network reads a window of tokens and gives every token of the vocabulary a probability of coming "
            "next. Training changes its numbers so that what really came next becomes likelier. Press Play."
        )
        with ui.element("div").classes("side"):
            self.controls = Controls(shell)
            with ui.column().style("min-width: 0; width: 100%"):
                with ui.element("section").classes("card"):
                    self.chart = Chart(charts.lines("updates"), "nats per token")
                self._meanwhile = ui.element("section").classes("card")
                with self._meanwhile:
                    self._five()
                self._facts = ui.label().classes("hint")
                self.experiment = Experiment(shell)

    def _five(self) -> None:
        """A network that is there at once, while PyTorch is loading."""
        model = self.shell.session.network(FIVE)
        if model is None:
            return
        numbers = Numbers()
        made = traced(model, Window([0, 1], 3))
        drawing = Drawing(made, numbers)
        wires = bundles(drawing, "flow")
        say("PyTorch is loading; it is needed to train. Meanwhile, a network of five words. " + summary(made))
        Live().show(drawing.html("", gap_names(drawing, wires)), numbers, wires=wires)

    def refresh(self) -> None:
        """The curves, and what they say."""
        run, ready = self.shell.session.run, self.shell.session.ready
        self.controls.refresh()
        self._meanwhile.set_visibility(run is None)
        if ready is None:
            return
        points = list(run.points) if run else []
        until = max(points[-1].step if points else 0, 100)
        log_v = math.log(ready.vocab_size)
        series = [
            charts.line("training", curve(points, "train"), charts.BLUE),
            charts.line("held out", curve(points, "valid"), charts.RED, "solid"),
            charts.level("log V", log_v, until, charts.GREY, "dotted"),
            charts.level("add-k n-gram", ready.add_k_loss, until, charts.GREEN, "dashed"),
        ]
        self.chart.show(series, self._caption(log_v))
        size = f"{run.parameters:,} parameters, " if run else ""
        self._facts.set_text(
            f"{size}V = {ready.vocab_size} tokens, {len(ready.train):,} to train on, {len(ready.valid):,} held out; "
            f"the n-gram was tuned on the held-out part: order {ready.add_k.order}, k = {ready.add_k.k:g}."
        )

    def _caption(self, log_v: float) -> str:
        run, ready = self.shell.session.run, self.shell.session.ready
        if run is None or ready is None or not run.points:
            said = f"Nothing trained yet. A model that knows nothing has a loss of log V = {log_v:.3f} nats"
            return said if ready is None else f"{said}; the best add-k n-gram has {ready.add_k_loss:.3f}."
        last = run.points[-1]
        better = "below" if last.valid < ready.add_k_loss else "above"
        return (
            f"After {last.step:,} updates: training {last.train:.3f} nats, held out {last.valid:.3f} nats (perplexity "
            f"{perplexity(last.valid, 1):.4g}), {better} the best add-k n-gram ({ready.add_k_loss:.3f}); it began at "
            f"{run.points[0].train:.3f}, and log V is {log_v:.3f}."
        )


def build(shell: Shell) -> Train:
    """The view, in the current place of the page."""
    return Train(shell)
