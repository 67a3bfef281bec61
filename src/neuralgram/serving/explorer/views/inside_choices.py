"""What Inside looks at: a network, a window, the token that came next, the step size, and what the wires show."""

from __future__ import annotations

import math
from collections.abc import Callable

from nicegui import ui

from neuralgram.errors import NeuralgramError
from neuralgram.serving.explorer.inside import Window, looked, places
from neuralgram.serving.explorer.reading import own_words
from neuralgram.serving.explorer.session import FIVE, TRAINING
from neuralgram.serving.explorer.shell import Shell
from neuralgram.serving.explorer.widgets import offer
from neuralgram.serving.explorer.wires import MEASURES
from neuralgram.text.tokenizers.base import visible
from neuralgram.textmodel import TextModel

_OPTIONS = 400  # tokens a menu offers; the text field reaches all of them
_LARGEST = 100.0  # step size


class Choices:
    """The menus, and what was asked for in the address; `changed` is called after every choice."""

    def __init__(self, shell: Shell, changed: Callable[[], None]) -> None:
        self.shell, self._changed = shell, changed
        self.window = Window()
        looks = shell.looks
        self._pending = looks.get("network", "")  # a model of that name may still be loading
        self._wanted = (looks.get("window", ""), looks.get("target", ""))
        self.name = FIVE
        self.measure = "flow"
        self._shape: tuple[object, ...] = ()
        self._filling = True
        self._build()
        self._restore(looks.get("step_size", ""), looks.get("wires", "flow"))
        self._filling = False

    def _build(self) -> None:
        with ui.element("div").classes("card"), ui.row().classes("mid"):
            self._network = ui.select(self.shell.session.networks(), value=FIVE, label="network")
            self._network.props("outlined dense options-dense").style("min-width: 150px")
            self._network.on_value_change(self._other_network)
            self._words = ui.row()
            self._target = ui.select({}, label="what came next").props("outlined dense options-dense")
            self._target.style("min-width: 130px").on_value_change(self._other_target)
            self._lr = ui.number("step size", value=self.window.lr, step=0.1, min=0, max=_LARGEST)
            self._lr.props("outlined dense").style("width: 100px").on_value_change(self._other_size)
            self._typed = ui.input("or type a text").props("outlined dense").style("width: 160px")
            self._typed.on("keydown.enter", self._type)
            self._measure = ui.select(MEASURES, value=self.measure, label="wires show")
            self._measure.props("outlined dense options-dense").style("min-width: 150px")
            self._measure.on_value_change(self._other_measure)

    # ---- what the address asks for ----

    def _restore(self, size: str, measure: str) -> None:
        """Step size and wires; the network comes when it is there, the window when its network is."""
        try:
            self.window.lr = _size(float(size)) if size else self.window.lr
        except ValueError:
            self._refuse("step_size", f"step size {size!r} in the address: expected a number from 0 to {_LARGEST:g}")
        if measure in MEASURES:
            self.measure = measure
        else:
            self._refuse("wires", f"wires {measure!r} in the address: expected one of {', '.join(MEASURES)}")
        self._lr.value, self._measure.value = self.window.lr, self.measure

    def find_network(self) -> None:
        """Offer the networks there are now, and take the one of the address as soon as it is among them."""
        names = self.shell.session.networks()
        offer(self._network, names)
        wanted = self._pending
        if wanted in names:
            self._pending = ""
            self._network.value = wanted
        elif wanted and self.shell.loaded():
            self._pending = ""
            self._refuse("network", f"network {wanted!r} in the address: expected one of {', '.join(names)}")

    def _refuse(self, look: str, why: str) -> None:
        """Say what the address asks for in vain, and ask for it no more."""
        self.shell.looks[look] = ""
        self.shell.say(why)

    def model(self) -> TextModel | None:
        """The network chosen; None where it is still being made."""
        try:
            return self.shell.session.network(self.name)
        except NeuralgramError:
            self.name = FIVE
            return self.shell.session.network(FIVE)

    # ---- choosing ----

    def _other_network(self) -> None:
        self.name = self._network.value
        self.shell.look("network", self.name)
        self._changed()

    def _other_word(self, place: int, token: int | None) -> None:
        if not self._filling and token is not None:
            self.window.ids[place] = int(token)
            self._remember()

    def _other_target(self) -> None:
        if not self._filling and self._target.value is not None:
            self.window.target = int(self._target.value)
            self._remember()

    def _other_size(self) -> None:
        if self._filling:
            return
        try:
            self.window.lr = _size(self._lr.value)
        except ValueError:
            self.shell.say(f"step size {self._lr.value}: expected a number from 0 to {_LARGEST:g}")
            return
        self.shell.look("step_size", f"{self.window.lr:g}")
        self._changed()

    def _other_measure(self) -> None:
        if not self._filling:
            self.measure = self._measure.value
            self.shell.look("wires", "" if self.measure == "flow" else self.measure)
            self._changed()

    def _type(self) -> None:
        model = self.model()
        if model is None:
            return
        try:
            ids = model.window((self._typed.value or "")[-500:])
        except NeuralgramError as error:
            self.shell.say(str(error))
            return
        self.window.ids = [int(i) for i in ids]
        self._wanted = (".".join(map(str, self.window.ids)), str(self.window.target))
        self._shape = ()
        self._remember()

    def _remember(self) -> None:
        self.shell.look("window", ".".join(str(i) for i in self.window.ids))
        self.shell.look("target", str(self.window.target))
        self._changed()

    # ---- the menus of a network ----

    def fit(self, model: TextModel) -> None:
        """Menus of this network's words for its window's width, and the window it starts with."""
        V, c = model.model.vocab_size, model.model.context
        shape = (self.name, c, model.tokenizer.hash, model.boundary)
        if shape == self._shape:
            return
        self._shape = shape
        self._first_window(model)
        self.window.fit(model)
        kept = {*range(min(V, _OPTIONS)), *self.window.ids, self.window.target or 0}
        options = {i: visible(model.symbol(i)) for i in sorted(kept)}
        self._filling = True
        self._words.clear()
        with self._words:
            for place, name in enumerate(places(c)):
                menu = ui.select(dict(options), value=self.window.ids[place], label=name, with_input=V > 12)
                menu.props("outlined dense options-dense").style("min-width: 104px; width: 110px")
                menu.on_value_change(lambda e, place=place: self._other_word(place, e.value))
        self._target.set_options(dict(options), value=self.window.target)
        self._filling = False

    def _first_window(self, model: TextModel) -> None:
        """The window of the address once its network is there; else the first that is held out."""
        session = self.shell.session
        if self.name == TRAINING and session.ready is not None:
            contexts, targets = session.ready.valid.windows(model.model.context).slice(0, 1)
            self.window.ids, self.window.target = contexts[0].tolist(), int(targets[0])
        elif self.name == FIVE:
            self.window.ids, self.window.target = [0, 1], 3  # the cat → sat
        else:
            *self.window.ids, self.window.target = own_words(model, model.model.context + 1)
        if self._pending or not any(self._wanted):
            return
        try:
            ids, target = looked(model, *self._wanted)
            self.window.ids = ids or self.window.ids
            self.window.target = self.window.target if target is None else target
        except (NeuralgramError, ValueError) as error:
            self.shell.say(f"This window cannot be shown: {error}")
        self._wanted = ("", "")


def _size(value: float | None) -> float:
    """A step size as it may be; else a `ValueError`."""
    if value is None or not math.isfinite(value) or not 0 <= value <= _LARGEST:
        raise ValueError(value)
    return float(value)
