"""The frame of the page: what stands above every view, and the clock that keeps all numbers of one step."""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar

from nicegui import run as threads
from nicegui import ui

from neuralgram.errors import NeuralgramError
from neuralgram.families import VIEWS, members
from neuralgram.lm import perplexity
from neuralgram.serving.explorer import address as addresses
from neuralgram.serving.explorer.address import Address, Look
from neuralgram.serving.explorer.run import Divergence
from neuralgram.serving.explorer.session import Session
from neuralgram.serving.explorer.settings import SAMPLES
from neuralgram.serving.explorer.widgets import notice, training_goes_on

PACES = {"1 a second": 1.0, "10 a second": 10.0, "100 a second": 100.0, "full speed": None}
_TICK = 0.2  # seconds between two looks at a run: five a second
_WRITE = 1.0  # seconds between two addresses of a run that goes on: a reload goes on from the last


class View(ABC):
    """One view, a member of `families.VIEWS`: made in its place of the page when it is first opened.

    title   of its tab
    tour    what the tour says there; "" where it does not stop
    looks   what an address carries of it
    """

    title: ClassVar[str]
    tour: ClassVar[str] = ""
    looks: ClassVar[tuple[Look, ...]] = ()

    @abstractmethod
    def __init__(self, shell: Shell) -> None:
        """Make its fields, in the current place of the page."""

    @abstractmethod
    def refresh(self) -> None:
        """Show the state of the session as it is now."""


class Shell:
    """One visitor's page around their session."""

    def __init__(self, session: Session, start: Address, ready: Callable[[], bool], loaded: Callable[[], bool]) -> None:
        self.session = session
        self.looks: dict[str, str] = dict(start.looks)
        self.current = start.view
        self._engine_ready, self.loaded = ready, loaded  # PyTorch; every model the page was opened with
        self.on_shown: Callable[[], object] = lambda: None
        self._start = start
        self._family: dict[str, type[View]] = members(VIEWS, "view")
        self._views: dict[str, View] = {}
        self._places: dict[str, ui.column] = {}
        self._seen: tuple[Any, ...] | None = None
        self._lost: Divergence | None = None
        self._written, self._written_at = "", 0.0
        self._restored = False  # until then the address is what was asked for
        self._busy = ""
        self._build()

    # ---- the frame ----

    def _build(self) -> None:
        ui.html('<a class="skip" href="#main">Skip to the content</a>', sanitize=False)
        dark = ui.dark_mode(None)
        ui.colors(primary="#0072B2", dark="#1e2126", dark_page="#121417")
        with ui.element("header").classes("head"), ui.row().classes("inner"):
            ui.html("neuralgram explorer", tag="h1", sanitize=True).classes("title")
            ui.space()
            ui.button("Tour", on_click=lambda: self.tour(0)).props("flat dense no-caps")
            ui.button("Copy link", on_click=self._share).props("flat dense no-caps")
            shade = ui.button(icon="contrast", on_click=lambda: self._shade(dark))
            shade.props('flat dense round aria-label="Light / dark"').tooltip("Light / dark")
        with ui.row().classes("head"):
            tabs = ui.tabs()
            with tabs.props("dense align=left outside-arrows mobile-arrows no-caps").classes("inner"):
                for name, view in self._family.items():
                    ui.tab(name, label=view.title)
            self._tabs = tabs
            tabs.value = self.current
            tabs.on_value_change(lambda e: self.open(e.value))
        self._state_bar()
        with ui.element("div").props("id=main tabindex=-1").style("width: 100%"):  # the page itself is a main
            self._tour_place = ui.column().classes("wide").style("padding-bottom: 0")
            self._alarm = ui.column().classes("wide").style("padding-bottom: 0; padding-top: 0")
            self._message = ui.column().classes("wide").style("padding-bottom: 0; padding-top: 0")
            for name in self._family:
                self._places[name] = ui.column().classes("wide")
        ui.timer(_TICK, self._tick)

    def _state_bar(self) -> None:
        with ui.element("section").classes("state").props('aria-label="the run"'), ui.row().classes("inner"):
            self._play = ui.button("Play", icon="play_arrow", on_click=self.play_or_pause).props(
                "dense no-caps unelevated"
            )
            ui.button("Step", on_click=lambda: self.steps(1)).props("dense no-caps outline")
            self._count = ui.number(value=100, min=1, format="%d").props('dense outlined aria-label="how many steps"')
            self._count.style("width: 76px")
            ui.button("N steps", on_click=lambda: self.steps(self._count.value)).props("dense no-caps outline")
            ui.button("Rewind", on_click=self.rewind).props("dense no-caps outline")
            pace = ui.select(list(PACES), value="full speed", on_change=lambda e: self._set_pace(e.value))
            pace.props('dense outlined options-dense aria-label="pace"').style("width: 130px")
            self._figures = ui.html("", sanitize=False).classes("figure").props('role="status"')

    def _set_pace(self, name: str) -> None:
        self.session.pace = PACES[name]

    async def _shade(self, dark: ui.dark_mode) -> None:
        """The other of light and dark than is seen, which may be the system's choice."""
        seen = await self._tabs.client.run_javascript("return document.body.classList.contains('body--dark')")
        dark.value = not seen

    # ---- views ----

    def open(self, name: str) -> None:
        """Show a view."""
        self.current = name
        for other, place in self._places.items():
            place.set_visibility(other == name)
        if name not in self._views:
            with self._places[name]:
                self._views[name] = self._family[name](self)
        if self._tabs.value != name:
            self._tabs.value = name
        self.refresh()

    def look(self, name: str, value: str) -> None:
        """Remember what a view looks at, for the address."""
        self.looks[name] = value
        self._write_address()

    def refresh(self) -> None:
        """Bring what is seen up to date."""
        self._show_figures()
        self._show_divergence()
        view = self._views.get(self.current)
        if view is not None:
            view.refresh()
        self._write_address()

    def _tick(self) -> None:
        run, worker = self.session.run, self.session.worker
        now = (
            id(run),
            run.step if run else -1,
            self.session.playing,
            bool(run and run.diverged),
            self._busy,
            len(self.session.models),
            self.loaded(),
        )
        if now == self._seen:
            return
        self._seen = now
        if worker is not None and worker.stopped_because:
            self.say(worker.stopped_because)
            worker.stopped_because = ""
        with training_goes_on():
            self.refresh()

    def _show_figures(self) -> None:
        run, session = self.session.run, self.session
        self._play.set_text("Pause" if session.playing else "Play")
        self._play.set_icon("pause" if session.playing else "play_arrow")
        if run is None:
            wait = "loading PyTorch …" if not self._engine_ready() else "ready"
            self._figures.set_content(self._busy or wait)
            return
        text = "your own text" if session.settings.own else SAMPLES[session.settings.sample]
        parts = [text, f"step <b id=step>{run.step:,}</b>"]
        if session.replaying is not None:
            parts.append(f"on the way to {session.replaying:,} again")
        if run.diverged is not None:
            parts.append("<b>diverged</b>")
        elif run.points:
            last = run.points[-1]
            parts.append(f"training <b id=train-loss>{last.train:.4f}</b> nats")
            parts.append(
                f"held out <b id=valid-loss>{last.valid:.4f}</b> nats (perplexity {perplexity(last.valid, 1):.4g})"
            )
        self._figures.set_content(self._busy or " · ".join(parts))

    def _show_divergence(self) -> None:
        """In every view: why the run ended, and the way back."""
        lost = self.session.run.diverged if self.session.run else None
        if lost is self._lost:
            return
        self._lost = lost
        self._alarm.clear()
        if lost is not None:
            back = f"Back to step {lost.good_step:,}, with a tenth of the rate ({lost.lr / 10:g})"
            notice(self._alarm, lost.explanation, (back, self._back))

    async def _back(self) -> None:
        await self.working("going back …", self.session.back)
        self.refresh()

    # ---- what the buttons do ----

    async def play_or_pause(self) -> None:
        """Play, or pause."""
        if self.session.playing:
            await threads.io_bound(self.session.pause)
        else:
            await self._go_on(None)
        self.refresh()

    async def steps(self, count: float | None) -> None:
        """So many updates more."""
        if count is None or not 1 <= count <= self.session.limits.steps or count != int(count):
            self.say(f"{count} steps: expected a whole number from 1 to {self.session.limits.steps:,}")
            return
        await self._go_on(int(count))

    async def _go_on(self, count: int | None) -> None:
        if self.session.run is None:
            await self.working("making the network …", lambda: self.session.play(count))
        else:
            await threads.io_bound(self.session.play, count)

    async def rewind(self) -> None:
        """Back to the same start."""
        await self.working("rewinding …", self.session.rewind)
        self.clear()
        self._seen = None

    async def working(self, what: str, job: Callable[[], Any]) -> bool:
        """Run `job` beside the page's own work, and show its error where it has one; whether it went well."""
        self._busy = what
        self._show_figures()
        try:
            await threads.io_bound(job)
        except NeuralgramError as error:
            self.say(str(error))
            return False
        finally:
            self._busy = ""
        return not self.session.closed

    async def begin(self) -> None:
        """What the address asks for; then the first view."""
        start = self._start
        await self.working("reading the text …", lambda: self.session.read(start.settings))
        self.open(self.current)
        with suppress(TimeoutError):  # the page first: an answer from it says that it is drawn
            await self._tabs.client.run_javascript("return true", timeout=2.0)
        self.on_shown()
        await self.working("making the network …", lambda: self.session.restore(start))
        self._restored, self._seen = True, None

    # ---- messages, the address, the tour ----

    def say(self, text: str) -> None:
        """A message that stays until it is closed."""
        notice(self._message, text, ("Close", self.clear))

    def clear(self) -> None:
        """Take the message away."""
        self._message.clear()

    def _query(self) -> str:
        return addresses.write(self.session.address(self.current, self.looks))

    def _write_address(self) -> None:
        playing, now = self.session.playing, time.monotonic()
        if not self._restored or self.session.replaying is not None or (playing and now < self._written_at + _WRITE):
            return
        query = self._query()
        if query != self._written:
            self._written, self._written_at = query, now
            self._tabs.client.run_javascript(f"explorer.address({json.dumps(query)})")

    async def _share(self) -> None:
        query = json.dumps(self._query())
        link = await self._tabs.client.run_javascript(f"return await explorer.copy({query})", timeout=10)
        if link:  # a page that is not from this machine may not write to the clipboard
            self.say(f"Copy this link: {link}")
            return
        own = self.session.settings.own
        ui.notify("Copied: your own text stays here, the rest is in it" if own else "Copied: it makes this state again")

    def tour(self, stop: int) -> None:
        """Show a stop of the tour, and its view; past the last one, the tour ends."""
        self._tour_place.clear()
        stops = [name for name, view in self._family.items() if view.tour]
        if not 0 <= stop < len(stops):
            return
        self.open(stops[stop])
        view, last = self._family[stops[stop]], stop == len(stops) - 1
        with self._tour_place, ui.element("section").classes("card").props('aria-label="tour"'):
            ui.label(f"Tour {stop + 1} of {len(stops)} · {view.title}").style("font-weight: 600")
            ui.label(view.tour).style("max-width: 75ch").props('role="status"')
            with ui.row():
                if stop:
                    ui.button("Back", on_click=lambda: self.tour(stop - 1)).props("dense no-caps flat")
                forward = ui.button("Finish" if last else "Next", on_click=lambda: self.tour(stop + 1))
                forward.props("dense no-caps unelevated")
                if not last:
                    ui.button("Leave the tour", on_click=self._tour_place.clear).props("dense no-caps flat")
