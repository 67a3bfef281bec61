"""Inside: one prediction with every number, and one update, step by step."""

from __future__ import annotations

from nicegui import ui

from neuralgram.errors import NeuralgramError
from neuralgram.serving.explorer.address import Look
from neuralgram.serving.explorer.drawing import Drawing, inputs_of
from neuralgram.serving.explorer.inside import Stage, stages, summary, traced
from neuralgram.serving.explorer.markup import (
    Numbers,
    formula_html,
    formulas_html,
    opened,
    section_html,
    sections_html,
    wire_legend,
)
from neuralgram.serving.explorer.run import Run
from neuralgram.serving.explorer.session import TRAINING
from neuralgram.serving.explorer.shell import Shell, View
from neuralgram.serving.explorer.snapshot import Snapshot
from neuralgram.serving.explorer.views.inside_choices import Choices
from neuralgram.serving.explorer.widgets import Live, Opened, heading, say
from neuralgram.serving.explorer.wires import SIGNS, bundles, gap_names, in_words, opened_wire
from neuralgram.textmodel import TextModel
from neuralgram.tracing import Trace
from neuralgram.tracing.learning import difference_section


class Inside(View):
    """The view. While a number is open the view holds still at its step, however far the training goes meanwhile."""

    title = "Inside"
    tour = (
        "Here is one prediction as numbers, from the words on the left to the probabilities on the right; every "
        "wire is a weight. Change a word. Open any number or wire: it shows its formula with its own inputs "
        "filled in."
    )
    looks = (Look("network"), Look("window"), Look("target"), Look("step_size"), Look("wires"))

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self._open: str | None = None
        self._of = ""  # the network in which it is open
        self._run: Run | None = None  # the run and the moment of it that is shown
        self._shot: Snapshot | None = None
        self._stage = 0
        heading("Inside one prediction")
        say(
            "Change any word. Open any number or wire, with a click or Enter, to see its formula with its own inputs "
            "filled in. Arrow keys go from wire to wire, Escape closes what is open."
        )
        self.choices = Choices(shell, self.refresh)
        self._said = say("").props('role="status"')
        self._drawing = Live(self._opened)
        with ui.row().classes("legend-note") as self._legend:
            self._key = Live()
            say("The drawing scrolls sideways.", hint=True).classes("sideways")
            say("“No wires” stacks it.", hint=True).classes("only-phone")
            self._wired = ui.label().classes("hint").style("max-width: 110ch")
        self._formula = self._panel()  # of the drawing: it never covers the steps, which come after it
        self._path()
        with ui.expansion("All the numbers of this prediction and update", on_value_change=self.refresh) as every:
            self._tables = Live(self._opened)
        self._every = every.style("width: 100%")
        self._formula_below = self._panel()  # of the steps and the tables

    def _panel(self) -> Opened:
        return Opened(lambda: self._opened(self._open or ""), self._renew)

    def _path(self) -> None:
        with ui.element("section").classes("card").props('aria-label="step by step"'):
            ui.html("One update, step by step", tag="h3", sanitize=True)
            with ui.row().classes("mid"):
                ui.button("Back", on_click=lambda: self._go(-1)).props("dense no-caps outline")
                ui.button("Next", on_click=lambda: self._go(1)).props("dense no-caps unelevated")
                self._slow = ui.switch("slow motion", on_change=lambda e: self._timer_on(e.value))
                self._seconds = ui.slider(min=0.5, max=6, step=0.5, value=2).props("label").style("width: 120px")
                self._seconds.props('aria-label="seconds a stop"')
                ui.label().bind_text_from(self._seconds, "value", lambda s: f"{s:g} seconds a stop").classes("hint")
                self._where = ui.label().style("font-weight: 600").props('role="status"')
            self._what = ui.label()
            self._stop = Live(self._opened)
            self._timer = ui.timer(2.0, lambda: self._go(1), active=False)

    # ---- the path ----

    def _go(self, by: int) -> None:
        self._stage += by
        self.refresh()

    def _timer_on(self, on: bool) -> None:
        self._timer.interval = float(self._seconds.value or 2)
        self._timer.active = on

    def _opened(self, key: str) -> None:
        self._open = None if key == self._open else key
        self.refresh()

    def _renew(self) -> None:
        """What is open, as it is now."""
        self._shot = None
        self.refresh()

    # ---- showing ----

    def _model(self) -> TextModel | None:
        """The network chosen, as it is now; while a number of it is open, as it was when that was opened."""
        if self._of != self.choices.name:
            self._of, self._open = self.choices.name, None
        if self._of != TRAINING:
            return self.choices.model()
        session = self.shell.session
        run, shot = session.run, self._shot
        if self._open is None or shot is None or run is None or run is not self._run or shot.step > run.step:
            self._run, self._shot = run, session.snapshot()
        return session.reading(self._shot)

    def refresh(self) -> None:
        """Everything, from one moment of one network."""
        self.choices.find_network()
        model = self._model()
        if model is None:
            self._said.set_text("The network in training is being made; the five words are there already.")
            return
        self.choices.fit(model)
        try:
            made = traced(model, self.choices.window)
        except NeuralgramError as error:
            self._said.set_text(str(error))
            return
        self._said.set_text(summary(made))
        path = stages(made)
        self._stage %= len(path)
        self._timer.interval = float(self._seconds.value or 2)
        drawing = self._draw(made, path[self._stage])
        self._show_stop(made)
        if self._every.value:
            tables = Numbers()
            self._tables.show(sections_html(made.all_sections, tables, "all"), tables, open_key=self._open)
        self._show_formula(made, drawing)

    def _draw(self, made: Trace, stop: Stage) -> Drawing:
        numbers = Numbers()
        drawing, measure = Drawing(made, numbers), self.choices.measure
        wires = bundles(drawing, measure, stop.name)
        html = drawing.html(stop.marked, gap_names(drawing, wires))
        marked = inputs_of(drawing, self._open)
        self._drawing.show(html, numbers, open_key=self._open, inputs=marked, wires=wires)
        self._legend.set_visibility(bool(wires))
        self._key.show(wire_legend(*SIGNS[measure]) if wires else "")
        self._wired.set_text(in_words(wires, measure))
        return drawing

    def _show_stop(self, made: Trace) -> None:
        path = stages(made)
        stop = path[self._stage]
        self._where.set_text(f"{self._stage + 1} of {len(path)}: {stop.name}")
        self._what.set_text(stop.text)
        numbers = Numbers()
        html = "".join(section_html(made.all_sections[i], numbers, f"stop|{i}", level=4) for i in stop.sections)
        if stop.name in ("every gradient", "before → after"):
            checks = difference_section(made.check(*self._checked(made)))
            html += section_html(checks, numbers, "check|0", level=4)
        self._stop.show(f'<div class="flow">{html}</div>', numbers, open_key=self._open)

    def _checked(self, made: Trace) -> list[str]:
        """Parameters whose gradients are checked: one of each kind."""
        w = made.network.weights if made.network else {}
        window = self.choices.window
        chosen = [f"C[{window.ids[-1]}][0]", "H[0][0]", "d[0]", f"U[{window.target}][0]"]
        chosen += [f"b[{window.target}]", f"W[{window.target}][0]"]
        keys = {"C": "emb.weight", "H": "hidden.weight", "d": "hidden.bias", "U": "out.weight", "b": "out.bias"}
        return [place for place in chosen if keys.get(place[0], "direct.weight") in w]

    def _show_formula(self, made: Trace, drawing: Drawing) -> None:
        moment, passed = self._moment()
        html = self._opened_html(made, drawing)
        drawn = (self._open or "").startswith(("draw|", "wire|"))
        self._formula.show(html if drawn else None, moment, passed=passed)
        self._formula_below.show(None if drawn else html, moment, passed=passed)

    def _moment(self) -> tuple[str, bool]:
        """Of which step of the run what is open is, and whether the run is past it."""
        if self._of != TRAINING or self._shot is None or self._run is None:
            return "", False
        return f"as of step {self._shot.step:,}, held while it is open", self._run.step > self._shot.step

    def _opened_html(self, made: Trace, drawing: Drawing) -> str | None:
        wire = opened_wire(drawing, self._open) if self._open else None
        if wire:
            return formulas_html(*wire)
        found = opened(made.all_sections, _place(self._open)) if self._open else None
        if self._open and self._open.startswith("check|"):
            checks = difference_section(made.check(*self._checked(made)))
            found = opened([checks], self._open.removeprefix("check|"))
        return formula_html(*found) if found else None


def _place(key: str) -> str:
    """The section, step and index in a cell's key: without the table's own name, and the drawing's x."""
    return key.split("|", 1)[1].removesuffix("|x")
