"""Inside: one prediction with every number, and one update, step by step."""

from __future__ import annotations

from nicegui import ui

from neuralgram.errors import NeuralgramError
from neuralgram.serving.explorer.drawing import Drawing, inputs_of
from neuralgram.serving.explorer.inside import Stage, Window, looked, places, stages, summary, traced
from neuralgram.serving.explorer.markup import (
    Numbers,
    formula_html,
    formulas_html,
    opened,
    section_html,
    sections_html,
    wire_legend,
)
from neuralgram.serving.explorer.parts import Live, Opened, heading, offer, say
from neuralgram.serving.explorer.session import FIVE, TRAINING
from neuralgram.serving.explorer.shell import Shell
from neuralgram.serving.explorer.wires import MEASURES, SIGNS, bundles, gap_names, in_words, opened_wire
from neuralgram.text.visible import visible
from neuralgram.textmodel import TextModel
from neuralgram.tracing import Trace
from neuralgram.tracing.differences import difference_section

_OPTIONS = 400  # tokens a menu offers; the text field reaches all of them


class Inside:
    """The view. What is opened stays open, and its formula follows the numbers while training."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self.window = Window()
        self._name = shell.looks.get("network", FIVE)
        self._width = (-1, -1)
        self._open: str | None = None
        self._stage = 0
        self._filling = False
        named = shell.looks.get("wires", "flow")
        self._wires = named if named in MEASURES else "flow"
        heading("Inside one prediction")
        say(
            "Change any word. Open any number or wire, with a click or Enter, to see its formula with its own inputs "
            "filled in. Arrow keys go from wire to wire, Escape closes what is open."
        )
        self._choices()
        self._said = say("").props('role="status"')
        self._drawing = Live(self._opened)
        with ui.row().classes("legend-note") as self._legend:
            self._key = Live()
            say("The drawing scrolls sideways; “no wires” stacks it.", hint=True).classes("only-phone")
            self._wired = ui.label().classes("hint").style("max-width: 110ch")
        self._path()
        with ui.expansion("All the numbers of this prediction and update", on_value_change=self.refresh) as every:
            self._tables = Live(self._opened)
        self._every = every.style("width: 100%")
        self._formula = Opened(lambda: self._opened(self._open or ""))
        self._look_up()

    def _choices(self) -> None:
        with ui.element("div").classes("card"), ui.row().classes("mid"):
            names = self.shell.session.networks()
            self._network = ui.select(names, value=self._name if self._name in names else FIVE, label="network")
            self._network.props("outlined dense options-dense").style("min-width: 150px")
            self._network.on_value_change(self._other_network)
            self._words = ui.row()
            self._target = ui.select({}, label="what came next").props("outlined dense options-dense")
            self._target.style("min-width: 130px").on_value_change(self._other_target)
            self._lr = ui.number("step size", value=0.2, step=0.1, min=0, max=100).props("outlined dense")
            self._lr.style("width: 100px").on_value_change(self._other_size)
            self._typed = ui.input("or type a text").props("outlined dense").style("width: 160px")
            self._typed.on("keydown.enter", self._type)
            self._measure = ui.select(MEASURES, value=self._wires, label="wires show", on_change=self._other_measure)
            self._measure.props("outlined dense options-dense").style("min-width: 150px")

    def _path(self) -> None:
        with ui.element("section").classes("card").props('aria-label="step by step"'):
            ui.html("One update, step by step", tag="h3", sanitize=True)
            with ui.row().classes("mid"):
                ui.button("Back", on_click=lambda: self._go(-1)).props("dense no-caps outline")
                ui.button("Next", on_click=lambda: self._go(1)).props("dense no-caps unelevated")
                self._slow = ui.switch("slow motion", on_change=lambda e: self._timer_on(e.value))
                self._seconds = ui.slider(min=0.5, max=6, step=0.5, value=2).props("label").style("width: 120px")
                self._seconds.props('aria-label="seconds a stop"')
                self._where = ui.label().style("font-weight: 600").props('role="status"')
            self._what = ui.label()
            self._stop = Live(self._opened)
            self._timer = ui.timer(2.0, lambda: self._go(1), active=False)

    # ---- choosing ----

    def _look_up(self) -> None:
        """The window an address names, once its network is there."""
        self._wanted = (self.shell.looks.get("window", ""), self.shell.looks.get("target", ""))
        size = self.shell.looks.get("step_size", "")
        try:
            self._lr.value = self.window.lr = min(100.0, max(0.0, float(size))) if size else 0.2
        except ValueError:
            self.shell.say(f"step size {size!r} in the address: expected a number")

    def _model(self) -> TextModel | None:
        try:
            return self.shell.session.network(self._name)
        except NeuralgramError:
            self._name = FIVE
            return self.shell.session.network(FIVE)

    def _other_network(self) -> None:
        self._name, self._open = self._network.value, None
        self.shell.look("network", self._name)
        self.refresh()

    def _other_word(self, place: int, token: int) -> None:
        if self._filling or token is None:
            return
        self.window.ids[place] = int(token)
        self._remember()

    def _other_target(self) -> None:
        if self._filling or self._target.value is None:
            return
        self.window.target = int(self._target.value)
        self._remember()

    def _other_size(self) -> None:
        value = self._lr.value
        if value is None or not 0 <= value <= 100:
            self.shell.say(f"step size {value}: expected a number from 0 to 100")
            return
        self.window.lr = float(value)
        self.shell.look("step_size", f"{value:g}")
        self.refresh()

    def _type(self) -> None:
        model = self._model()
        if model is None:
            return
        try:
            ids = model.window((self._typed.value or "")[-500:])
        except NeuralgramError as error:
            self.shell.say(str(error))
            return
        self.window.ids = [int(i) for i in ids]
        self._wanted = (".".join(map(str, self.window.ids)), str(self.window.target))
        self._width = (-1, -1)
        self._remember()

    def _other_measure(self) -> None:
        self._wires = self._measure.value
        self.shell.look("wires", "" if self._wires == "flow" else self._wires)
        self.refresh()

    def _remember(self) -> None:
        self.shell.look("window", ".".join(str(i) for i in self.window.ids))
        self.shell.look("target", str(self.window.target))
        self.refresh()

    def _offer(self, model: TextModel) -> None:
        """Menus of this network's words, for its window's width."""
        shape = (model.model.vocab_size, model.model.context)
        if shape == self._width:
            return
        self._width = shape
        if any(self._wanted):
            try:
                ids, target = looked(model, *self._wanted)
                self.window.ids, self.window.target = ids or self.window.ids, target
            except (NeuralgramError, ValueError) as error:
                self.shell.say(f"This window cannot be shown: {error}")
            self._wanted = ("", "")
        elif self._name == TRAINING and self.shell.session.ready is not None:
            contexts, targets = self.shell.session.ready.valid.windows(shape[1]).slice(0, 1)
            self.window.ids, self.window.target = contexts[0].tolist(), int(targets[0])
        elif self._name == FIVE:
            self.window.ids, self.window.target = [0, 1], 3  # the cat → sat
        self.window.fit(model)
        kept = {*range(min(shape[0], _OPTIONS)), *self.window.ids, self.window.target or 0}
        options = {i: visible(model.symbol(i)) for i in sorted(kept)}
        self._filling = True
        self._words.clear()
        with self._words:
            for place, name in enumerate(places(shape[1])):
                menu = ui.select(dict(options), value=self.window.ids[place], label=name, with_input=shape[0] > 12)
                menu.props("outlined dense options-dense").style("min-width: 104px; width: 110px")
                menu.on_value_change(lambda e, place=place: self._other_word(place, e.value))
        self._target.set_options(dict(options), value=self.window.target)
        self._filling = False

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

    # ---- showing ----

    def refresh(self) -> None:
        """Everything, from one moment of one network."""
        model = self._model()
        if model is None:
            self._said.set_text("The network in training is being made; the five words are there already.")
            return
        offer(self._network, self.shell.session.networks())
        self._offer(model)
        try:
            made = traced(model, self.window)
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
        drawing = Drawing(made, numbers)
        wires = bundles(drawing, self._wires, stop.name)
        html = drawing.html(stop.marked, gap_names(drawing, wires))
        marked = inputs_of(drawing, self._open)
        self._drawing.show(html, numbers, open_key=self._open, inputs=marked, wires=wires)
        self._legend.set_visibility(bool(wires))
        self._key.show(wire_legend(*SIGNS[self._wires]) if wires else "")
        self._wired.set_text(in_words(wires, self._wires))
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
        chosen = [f"C[{self.window.ids[-1]}][0]", "H[0][0]", "d[0]", f"U[{self.window.target}][0]"]
        chosen += [f"b[{self.window.target}]", f"W[{self.window.target}][0]"]
        keys = {"C": "emb.weight", "H": "hidden.weight", "d": "hidden.bias", "U": "out.weight", "b": "out.bias"}
        return [place for place in chosen if keys.get(place[0], "direct.weight") in w]

    def _show_formula(self, made: Trace, drawing: Drawing) -> None:
        wire = opened_wire(drawing, self._open) if self._open else None
        if wire:
            self._formula.show(formulas_html(*wire))
            return
        found = opened(made.all_sections, _place(self._open)) if self._open else None
        if self._open and self._open.startswith("check|"):
            checks = difference_section(made.check(*self._checked(made)))
            found = opened([checks], self._open.removeprefix("check|"))
        self._formula.show(formula_html(*found) if found else None)


def _place(key: str) -> str:
    """The section, step and index in a cell's key: without the table's own name, and the drawing's x."""
    return key.split("|", 1)[1].removesuffix("|x")


def build(shell: Shell) -> Inside:
    """The view, in the current place of the page."""
    return Inside(shell)
