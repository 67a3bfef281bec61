"""Pieces that several views are made of: live numbers, charts with a text beside them, messages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from nicegui import ui
from nicegui.events import GenericEventArguments

from neuralgram.serving.explorer.charts import Options
from neuralgram.serving.explorer.markup import Numbers, Shown
from neuralgram.serving.explorer.wires import Bundle, Wire

_GOES_ON: ContextVar[bool] = ContextVar("goes_on", default=False)


@contextmanager
def training_goes_on() -> Iterator[None]:
    """What is shown within is shown because the run went on, and not because somebody asked for it."""
    token = _GOES_ON.set(True)
    try:
        yield
    finally:
        _GOES_ON.reset(token)


class Live:
    """A piece of HTML whose numbers are filled in while training; a click on one calls `on_open(key)`.

    The skeleton is sent again only when it changes, so that focus and scrolling stay where they are. While training
    goes on it does not change under the mouse or the focus: what stands there keeps its meaning until they leave.
    """

    def __init__(self, on_open: Callable[[str], None] | None = None) -> None:
        self.element = ui.element("div").classes("live")
        self._skeleton = ""
        self._values: Mapping[str, Shown] = {}
        self._marked: tuple[str | None, ...] = (None,)
        self._wires: list[dict[str, Any]] = []
        if on_open is not None:

            def clicked(event: GenericEventArguments) -> None:
                if isinstance(event.args, str):
                    on_open(event.args)

            js = "(e) => { const n = explorer.picked(e); if (n !== null) emit(n); }"
            self.element.on("click", clicked, js_handler=js)

    def show(
        self,
        skeleton: str,
        numbers: Numbers | None = None,
        *,
        open_key: str | None = None,
        inputs: Sequence[str] = (),
        wires: Sequence[Bundle] = (),
    ) -> None:
        """Show `skeleton` with the values of `numbers`; only what changed goes to the browser.

        The cell or wire `open_key` is marked as opened, the cells `inputs` as what goes into it; `wires` are drawn
        between the cells of a `.net`.
        """
        values = numbers.values if numbers else {}
        fresh = skeleton != self._skeleton
        changed = values if fresh else {key: v for key, v in values.items() if self._values.get(key) != v}
        drawn = [{"label": b.label, "lit": b.lit, "wires": [_drawn(wire) for wire in b.wires]} for b in wires]
        if not fresh and not changed and (open_key, *inputs) == self._marked and drawn == self._wires:
            return
        self._skeleton, self._values, self._marked = skeleton, dict(values), (open_key, *inputs)
        self._wires = drawn
        arguments = [self.element.html_id, skeleton if fresh else None, changed, open_key, list(inputs), drawn]
        script = ", ".join(json.dumps(argument) for argument in [*arguments, _GOES_ON.get()])
        self.element.client.run_javascript(f"explorer.show({script})")


def _drawn(wire: Wire) -> list[str | float]:
    """A wire as the page draws it."""
    return [wire.key, wire.source, wire.target, wire.share, -1 if wire.value < 0 else 1, wire.label]


class Chart:
    """A chart with a sentence below it that says the same in words."""

    def __init__(
        self,
        options: Options,
        y_name: str = "",
        *,
        shape: str = "chart",
        on_point: Callable[[str], None] | None = None,
    ) -> None:
        if y_name:
            ui.label(y_name).classes("hint")
        self.element = ui.echart(options, renderer="svg").classes(shape).props('role="img"')
        self.caption = ui.label().classes("hint")
        if on_point is not None:
            self.element.on_point_click(lambda event: on_point(str(event.name)))

    def show(self, series: list[Options], caption: str, **axes: Mapping[str, Any]) -> None:
        """New curves or points, and what they say."""
        options = self.element.options
        options["series"] = series
        for name, values in axes.items():
            options[name].update(values)
        self.element.props["aria-label"] = caption
        self.element.update()
        self.caption.set_text(caption)


class Opened:
    """The number opened, below what it was opened in; at the foot of the window while that reaches further down."""

    def __init__(self, on_close: Callable[[], None], on_renew: Callable[[], None] | None = None) -> None:
        with ui.element("section").classes("opened").props('aria-label="the number opened" role="status"') as self._box:
            with ui.row().classes("mid bar"):
                self._moment = ui.label().classes("hint")
                ui.space()
                self._now = ui.button("Show it now", on_click=on_renew).props("dense no-caps flat")
                ui.button("Close", on_click=on_close).props("dense no-caps flat")
            self._live = Live()
        self._box.set_visibility(False)

    def show(self, html: str | None, moment: str = "", *, passed: bool = False) -> None:
        """Show a formula, or nothing; of which `moment` it is, and a way to the present where that has `passed`."""
        self._box.set_visibility(html is not None)
        self._moment.set_text(moment)
        self._now.set_visibility(passed)
        self._live.show(html or "")  # what was open before must not stand there when it opens again


def notice(place: ui.column, text: str, *actions: tuple[str, Callable[[], Any]]) -> None:
    """What must be read, alone in its `place`, with a button for each thing to do about it."""
    place.clear()
    with place, ui.element("div").classes("warn").props('role="alert"'):
        ui.label(text)
        with ui.row():
            for number, (name, act) in enumerate(actions):
                looks = "flat" if number == len(actions) - 1 and name == "Close" else "unelevated"
                ui.button(name, on_click=act).props(f"dense no-caps {looks}")


def offer(menu: ui.select, names: list[str]) -> None:
    """Let a menu offer these names; what is chosen stays."""
    if list(menu.options) != names:
        menu.set_options(names)


def heading(text: str) -> None:
    """The heading of a view."""
    ui.html(tag="h2", content=text, sanitize=True)


def say(text: str, *, hint: bool = False) -> ui.label:
    """A paragraph."""
    return ui.label(text).classes("hint" if hint else "").style("max-width: 75ch")


def swatch(colour: str, text: str) -> None:
    """A legend entry."""
    with ui.row().classes("mid").style("gap: 0"):
        ui.element("span").classes("swatch").style(f"background: {colour}")
        ui.label(text).classes("hint")
