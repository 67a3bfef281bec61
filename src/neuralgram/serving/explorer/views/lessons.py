"""Lessons as pages: each with its figures, its numbers open to change, and every number opening its formula."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from html import escape

import numpy as np
from nicegui import ui

from neuralgram.errors import NeuralgramError
from neuralgram.lessons import LESSONS, Page, Parameter, lesson
from neuralgram.lessons.base import AbandonedError, paragraphs, while_wanted
from neuralgram.numbers import number
from neuralgram.serving.explorer import charts
from neuralgram.serving.explorer.address import Look, read_set, write_set
from neuralgram.serving.explorer.markup import Numbers, formula_html, opened, section_html
from neuralgram.serving.explorer.shell import Shell, View
from neuralgram.serving.explorer.widgets import Chart, Live, Opened, heading, say
from neuralgram.tracing.steps import Floats

_OPEN = 64  # numbers of a parameter that get a field each
_MESSAGE = 300  # characters of what is wrong with an address


class Lessons(View):
    """The view. The address has the lesson and every number of it that the reader changed."""

    title = "Lessons"
    looks = (Look("lesson", of_text=False), Look("set", 4_000, of_text=False))  # nothing of a text

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self._open: str | None = None
        self._page: Page | None = None
        self._asked = 0  # how often a lesson was asked for: only the last is waited for
        self._name, self._changes = self._restored()
        heading("Lessons")
        with ui.element("div").classes("side"):
            with ui.row().classes("only-phone"):
                titles = {name: lesson.title for name, lesson in LESSONS.items()}
                menu = ui.select(titles, value=self._name, label="lesson", on_change=lambda e: self._choose(e.value))
                menu.props("outlined dense options-dense").style("width: 88vw")
            with ui.column().classes("card only-wide").style("gap: 2px"):
                for name, title in titles.items():
                    button = ui.button(title, on_click=lambda name=name: self._choose(name))
                    button.props("flat dense no-caps align=left").style("width: 100%; text-align: left")
            self._place = ui.column().style("min-width: 0; width: 100%")
        self._rebuild()

    # ---- which lesson, and what is changed in it ----

    def _restored(self) -> tuple[str, dict[str, float | str]]:
        """Lesson and changes of the address; a message, and the lesson as published, where they make no sense."""
        named, wanted = (self.shell.looks.get(look, "") for look in ("lesson", "set"))
        try:
            found = lesson(named) if named else next(iter(LESSONS.values()))
            values, _ = found.changed(list(read_set(wanted).items()))
            return found.name, found.differences(values)
        except NeuralgramError as error:
            self._refuse(str(error))
            return named if named in LESSONS else next(iter(LESSONS)), {}

    def _refuse(self, why: str) -> None:
        self.shell.looks["set"] = ""
        self.shell.say(f"The lesson is shown as published, for its address asks for what cannot be: {why[:_MESSAGE]}")

    async def _choose(self, name: str) -> None:
        self._name, self._changes, self._open = name, {}, None
        self.shell.look("lesson", name)
        self.shell.look("set", "")
        self._rebuild()

    async def _change(self, place: str, value: float | str | None) -> None:
        if value is None:
            return
        self._changes[place] = value
        if LESSONS[self._name].seconds > 0:
            await self._work()
        else:
            self._run()

    # ---- the page of one lesson ----

    def _rebuild(self) -> None:
        chosen = LESSONS[self._name]
        self._page = None
        self._asked += 1
        self._place.clear()
        with self._place:
            ui.html(escape(chosen.title), tag="h3", sanitize=True)
            for paragraph in paragraphs(chosen.text).split("\n\n"):
                say(re.sub(r"`(\w+)`", lambda named: f"“{LESSONS[named[1]].title}”", paragraph))
            self._note = ui.label().classes("hint").props('role="status"')
            if chosen.parameters:
                with ui.expansion("Change the numbers").style("width: 100%") as fields:
                    ui.button("As published", on_click=lambda: self._choose(self._name)).props("dense no-caps outline")
                    values, _ = chosen.changed(list(self._changes.items()))
                    with ui.element("div").classes("flow"):
                        for key, parameter in chosen.parameters.items():
                            self._fields(key, parameter, values[key])
                fields.value = parameter_count(chosen.parameters) <= 12 or bool(self._changes)
            self._tables = Live(self._opened)
            self._charts = ui.column().style("width: 100%")
            self._formula = Opened(lambda: self._opened(self._open or ""))
        if chosen.seconds > 0:
            self._note.set_text(f"This lesson trains something: about {chosen.seconds:.0f} seconds …")
            ui.timer(0.05, self._work, once=True)
        else:
            self._run()

    def _fields(self, key: str, parameter: Parameter, values: Floats) -> None:
        with ui.element("div"):
            ui.label(f"{key}: {parameter.what}").classes("hint")
            row = ui.row().style("gap: 8px; margin-bottom: 8px")
        with row:
            for index in list(np.ndindex(values.shape))[:_OPEN]:
                place = key + "".join(f"[{i}]" for i in index)
                value = float(values[index])
                field: ui.select | ui.number
                if parameter.words:
                    field = ui.select(list(parameter.words), value=parameter.words[int(value)], label=place)
                else:
                    field = ui.number(place, value=value)
                field.props("dense outlined options-dense").style("width: 108px")
                field.on_value_change(lambda e, place=place: self._change(place, e.value))

    # ---- working it out ----

    async def _work(self) -> None:
        """A lesson that trains runs beside the page, until it is left or asked for with other numbers."""
        self._asked += 1
        mine = self._asked

        def wanted() -> bool:
            return mine == self._asked and not self.shell.session.closed

        found: list[Page | str] = []
        await self.shell.working("working the lesson out …", lambda: found.append(self._worked_out(wanted)))
        if wanted() and found:
            self._take(found[0])

    def _run(self) -> None:
        self._take(self._worked_out(lambda: True))

    def _worked_out(self, wanted: Callable[[], bool]) -> Page | str:
        """The page with the changes, or what is wrong with them."""
        chosen, session = LESSONS[self._name], self.shell.session
        if chosen.seconds > 0 and session.meter.over:
            return session.limits.spent
        try:
            with while_wanted(wanted), session.meter.running() if chosen.seconds > 0 else nullcontext():
                values, _ = chosen.changed(list(self._changes.items()))
                return chosen.run(list(chosen.differences(values).items()))
        except AbandonedError:
            return ""
        except NeuralgramError as error:
            return str(error)

    def _take(self, found: Page | str) -> None:
        """Show a page; where the changes make no sense say so, and leave the page as it was: at first as published."""
        if isinstance(found, Page):
            self._page = found
            self._changes = found.lesson.differences(found.values)
            self.shell.look("set", write_set(self._changes))
            self._show()
        elif self._page is None and self._changes:
            self._changes = {}
            self._refuse(found)
            self._rebuild()
        else:
            self._note.set_text(found)

    # ---- showing ----

    def _opened(self, key: str) -> None:
        self._open = None if key == self._open else key
        self._show()

    def _show(self) -> None:
        page = self._page
        if page is None:
            return
        self._note.set_text(f"Changed: {', '.join(page.changed)}" if page.changed else "")
        numbers = Numbers()
        html = "".join(section_html(s, numbers, f"lesson|{i}", level=4) for i, s in enumerate(page.sections))
        self._tables.show(html, numbers, open_key=self._open)
        found = opened(page.sections, self._open.split("|", 1)[1]) if self._open else None
        self._formula.show(formula_html(*found) if found else None)
        self._show_charts(page)

    def _show_charts(self, page: Page) -> None:
        self._charts.clear()
        colours = (charts.BLUE, charts.RED, charts.GREEN, charts.PURPLE, charts.ORANGE)
        dashes = ("solid", "dashed", "dotted")
        for section in page.sections:
            drawn = section.chart
            if drawn is None:
                continue
            series = [
                charts.line(name, list(zip(drawn.x.tolist(), y.tolist(), strict=True)), colours[i % 5], dashes[i % 3])
                for i, (name, y) in enumerate(drawn.series.items())
            ]
            until = float(drawn.x.max(initial=1.0))
            series += [charts.level(f"{n} = {v:.3g}", v, until, charts.GREY, "dashed") for n, v in drawn.levels.items()]
            ends = ", ".join(f"{name} ends at {number(float(y[-1]))}" for name, y in drawn.series.items() if len(y))
            with self._charts:
                Chart(charts.lines(drawn.x_name), drawn.y_name).show(series, f"{section.title}: {ends}.")

    def refresh(self) -> None:
        """Lessons do not change while training."""


def parameter_count(parameters: Mapping[str, Parameter]) -> int:
    """How many numbers a lesson has."""
    return sum(int(parameter.value.size) for parameter in parameters.values())
