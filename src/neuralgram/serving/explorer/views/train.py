"""Train: a text, a network and what is chosen about both, the two curves; what divergence is; what decay is for."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

from nicegui import ui
from nicegui.events import GenericEventArguments

from neuralgram.errors import InputError
from neuralgram.lm import perplexity
from neuralgram.serving.explorer import charts
from neuralgram.serving.explorer.drawing import Drawing
from neuralgram.serving.explorer.inside import Window, summary, traced
from neuralgram.serving.explorer.markup import Numbers
from neuralgram.serving.explorer.run import curve
from neuralgram.serving.explorer.session import FIVE
from neuralgram.serving.explorer.settings import (
    ACTIVATIONS,
    DEFAULTS,
    NUMBERS,
    OPTIMISERS,
    OWN,
    SAMPLES,
    TOKENS,
    Settings,
    changed,
)
from neuralgram.serving.explorer.shell import Shell, View
from neuralgram.serving.explorer.views.experiment import Experiment
from neuralgram.serving.explorer.widgets import Chart, Live, heading, say
from neuralgram.serving.explorer.wires import bundles, gap_names

_SIZES = ("context", "d_emb", "d_hidden", "batch_size", "dropout", "seed")
_RATES = ("lr", "weight_decay")


class Controls:
    """What is chosen stands in the fields; "Make this network" makes it so. The rates act at once."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self._fields: dict[str, Any] = {}
        self._shown: Settings | None = None
        self._filling = False
        self._rates_shown = (-1.0, -1.0)
        with ui.column().classes("card").style("gap: 8px"):
            self._text()
            self._network()
            self._rates()

    # ---- the fields ----

    def _text(self) -> None:
        options = {**SAMPLES, OWN: "your own text"}
        self._sample = ui.select(options, value=self.shell.session.settings.sample, label="text")
        self._sample.props("outlined dense options-dense").on_value_change(self._chosen)
        self._own = ui.column().style("width: 100%; gap: 6px")
        limit = self.shell.session.limits.characters
        with self._own:
            area, file, note = (f"own-{part}-{self._own.id}" for part in ("area", "file", "note"))
            ui.html(
                f'<label for="{area}" class="hint">Paste a text of up to {limit:,} characters; it stays on this '
                f'machine and is in no link.</label><textarea id="{area}" class="own" spellcheck="false"></textarea>'
                f'<label class="hint">or a file: <input type="file" id="{file}" accept="text/*,.txt,.md"></label>'
                f'<div id="{note}" class="hint" role="status"></div>',
                sanitize=False,
            ).style("width: 100%")
            use = ui.button("Use this text").props("dense no-caps unelevated")
            where = ", ".join([json.dumps(area), str(limit), json.dumps(note)])
            use.on("click", self._use, js_handler=f"() => explorer.use({where}, emit)")
            self._own.on("paste", js_handler=f"(e) => explorer.paste(e, {limit}, {json.dumps(note)})")
            self._own.on("change", js_handler=f"(e) => explorer.load(e.target, {where})")

    def _network(self) -> None:
        with ui.element("div").classes("fields"):
            self._select("tokens", "tokens", list(TOKENS))
            self._select("activation", "activation", list(ACTIVATIONS))
            for name in _SIZES:
                self._number(name)
        with ui.row():
            self._fields["direct"] = ui.switch("direct path W")
            self._fields["by_line"] = ui.switch("each line alone")
        self._select("optimizer", "optimiser", list(OPTIMISERS))
        self._make = ui.button("Make this network", on_click=self._again).props("no-caps unelevated dense")
        say("A new network starts from its first weights; everything above takes effect with this button.", hint=True)

    def _rates(self) -> None:
        with ui.element("div").classes("fields"):
            for name in _RATES:
                self._number(name)
                self._fields[name].on("blur", self._retune)
                self._fields[name].on("keydown.enter", self._retune)
        say("These two act at once, from the next update on.", hint=True)

    def _select(self, name: str, label: str, options: list[str]) -> None:
        field = ui.select(options, label=label, value=getattr(self.shell.session.settings, name))
        self._fields[name] = field.props("outlined dense options-dense")

    def _number(self, name: str) -> None:
        spec = NUMBERS[name]
        field = ui.number(spec.label, value=getattr(self.shell.session.settings, name), step=1 if spec.whole else None)
        self._fields[name] = field.props("outlined dense").tooltip(spec.help)

    # ---- showing ----

    def refresh(self) -> None:
        """Show the settings of the session, and the rates of the next update, where they are new."""
        settings, run = self.shell.session.settings, self.shell.session.run
        if settings is not self._shown:
            self._filling = True
            self._shown, self._rates_shown = settings, (settings.lr, settings.weight_decay)
            self._sample.value = settings.sample
            self._fill(settings)
            self._own.set_visibility(settings.own)
            self._filling = False
        if run is not None and (run.lr, run.weight_decay) != self._rates_shown:
            self._rates_shown = (run.lr, run.weight_decay)
            self._fields["lr"].value, self._fields["weight_decay"].value = self._rates_shown

    def _fill(self, settings: Settings) -> None:
        for name, field in self._fields.items():
            field.value = getattr(settings, name)

    # ---- acting ----

    async def _chosen(self) -> None:
        """Another text: a sample starts at once, one's own waits for its text."""
        sample = self._sample.value
        if self._filling or sample == self.shell.session.settings.sample:
            return
        self._own.set_visibility(sample == OWN)
        if sample != OWN:
            await self._take(changed(self.shell.session.settings, sample=sample))
        else:
            self._fill(DEFAULTS[OWN])  # what "Use this text" takes, changed or not

    async def _use(self, event: GenericEventArguments) -> None:
        """The text as it was pasted."""
        text = event.args if isinstance(event.args, str) else ""
        await self._apply(OWN, text)

    async def _again(self) -> None:
        """Another network on the text there is."""
        await self._apply(self.shell.session.settings.sample)

    async def _apply(self, sample: str, text: str | None = None) -> None:
        """The network that the fields describe."""
        try:
            values = {name: field.value for name, field in self._fields.items()}
            settings = replace(self.shell.session.settings, **values, sample=sample)
        except InputError as error:
            self.shell.say(str(error))
            return
        await self._take(settings, text)

    async def _take(self, settings: Settings, text: str | None = None) -> None:
        session = self.shell.session
        self.shell.clear()

        await self.shell.working("making the network …", lambda: session.take(settings, text))
        self._shown = None if session.settings is settings else self._shown
        self.shell.refresh()

    async def _retune(self) -> None:
        """Other rates, from the next update on; before the first update they are simply the settings'."""
        session = self.shell.session
        try:
            rates = {name: self._fields[name].value for name in _RATES}
            settings = replace(session.settings, **rates)
        except InputError as error:
            self.shell.say(str(error))
            return
        run = session.run
        if run is None or (settings.lr, settings.weight_decay) == (run.lr, run.weight_decay):
            return
        self.shell.clear()
        if run.step == 0:
            await self._take(settings)
        else:
            await self.shell.working("changing the rates …", lambda: session.retune(settings.lr, settings.weight_decay))
            self.shell.refresh()


class Train(View):
    """The view."""

    title = "Train"
    tour = (
        "Press Play. The blue curve is the loss on the text the network trains on, the red one on text it never "
        "sees. Both start at log V, what a model has that knows nothing, and fall. Rewind brings back the very "
        "same start."
    )

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
