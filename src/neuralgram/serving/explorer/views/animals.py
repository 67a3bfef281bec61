"""Why it generalises: a sheep that is never seen eating."""

from __future__ import annotations

from html import escape

import numpy as np
from nicegui import ui

from neuralgram.serving.explorer import charts
from neuralgram.serving.explorer.animals import Animals, Bars, Pull
from neuralgram.serving.explorer.charts import Dot, Dots, Kind
from neuralgram.serving.explorer.markup import Numbers, two_bars
from neuralgram.serving.explorer.reading import LOST
from neuralgram.serving.explorer.run import KEPT
from neuralgram.serving.explorer.settings import DEFAULTS
from neuralgram.serving.explorer.shell import Shell, View
from neuralgram.serving.explorer.snapshot import Snapshot
from neuralgram.serving.explorer.texts import Ready
from neuralgram.serving.explorer.widgets import Chart, Live, heading, say, swatch
from neuralgram.text.samples import GRAZERS, HUNTERS

_ROWS = 8
_KINDS = {
    "hunters": Kind(charts.RED, "triangle", 12),
    "grazers": Kind(charts.GREEN, "diamond", 12),
    "the sheep": Kind(charts.BLUE, "circle", 20),
}


class Why(View):
    """The view. It needs the animals as the text of the run, in words."""

    title = "Why it generalises"
    tour = (
        "No sheep ever eats in this text. An n-gram must guess what it would eat from all eaters; the network has"
        " put the sheep beside the cow and the goat."
    )

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self._page: Animals | None = None
        self._of: tuple[Ready, int, int] | None = None
        self._animal = "sheep"
        self._dots = Dots(_KINDS)
        heading("Why it generalises")
        say(
            "In this text the cat, the dog and the fox hunt and eat fish and meat; the cow and the goat graze and eat "
            "hay and grass. The sheep grazes too, but not one sentence says what it eats."
        )
        self._else = ui.element("div").classes("warn")
        with self._else:
            self._why_not = ui.label()
            ui.button("Take the animals", on_click=self._take).props("no-caps dense unelevated")
        self._body = ui.column().style("width: 100%; gap: 14px")
        with self._body:
            self._parts()

    def _parts(self) -> None:
        with ui.element("div").classes("two"):
            with ui.column().classes("stack"):
                self._distributions()
                with ui.element("section").classes("card"):
                    self._chart = Chart(charts.lines("updates"), "distance from the sheep, in all dimensions")
            with ui.column().classes("stack"):
                with ui.element("section").classes("card"):
                    ui.html("The sheep's vector on its way", tag="h3", sanitize=True)
                    self._map = Chart(charts.scatter(), "the plane in which the animals differ most", shape="map small")
                with ui.element("section").classes("card"):
                    ui.html("Which windows pulled it there", tag="h3", sanitize=True)
                    say(
                        "Every training window that holds the sheep moves its vector against the gradient of its loss. "
                        "A window in which a cow would do as well asks the same of both vectors: that is why words "
                        "that are used alike become alike."
                    )
                    self._pulls = Live()

    def _distributions(self) -> None:
        with ui.element("section").classes("card"):
            with ui.row().classes("mid"):
                ui.label("the")
                menu = ui.select([*HUNTERS, *GRAZERS], value="sheep", on_change=lambda e: self._other(e.value))
                menu.props('outlined dense options-dense aria-label="animal"')
                ui.label("ate the …")
            with ui.row():
                swatch(charts.RED, "4-gram, backing off")
                swatch(charts.BLUE, "network")
            self._bars = Live()
            self._said = say("").props('role="status"')

    async def _take(self) -> None:
        await self.shell.working("making the network …", lambda: self.shell.session.take(DEFAULTS["animals"]))
        self.shell.refresh()

    def _other(self, animal: str) -> None:
        self._animal = animal
        self.refresh()

    # ---- showing ----

    def refresh(self) -> None:
        """Both distributions, the way so far, and what pulls."""
        session = self.shell.session
        unfit, shot = self._unfit(), session.snapshot()
        self._why_not.set_text(unfit)
        self._else.set_visibility(bool(unfit))
        self._body.set_visibility(not unfit)
        if unfit or shot is None or session.ready is None:
            return
        needs = (session.ready, session.settings.context, session.settings.d_emb)
        if self._of != needs:
            self._of = needs
            self._page = Animals(*needs)
        page = self._page
        if page is None:
            return
        shots = list(session.run.kept) if session.run else []
        page.follow(shots)
        if np.isfinite(shot.embeddings).all():
            self._show_bars(page, page.bars(shot, self._animal), shot.step)
        else:
            self._bars.show("")
            self._said.set_text(f"No probabilities: {LOST}.")
        self._show_way(page, shots)
        if shots:
            self._show_pulls(page.pulls(shots))

    def _unfit(self) -> str:
        """Why the run is none that this page can show, or nothing."""
        settings, run = self.shell.session.settings, self.shell.session.run
        if settings.sample != "animals" or settings.tokens != "words":
            return "This page needs the animals as the text in training, word by word."
        if run is not None and run.parameters > KEPT:
            return (
                f"This page keeps every moment of a network of up to {KEPT:,} numbers; the one in training has "
                f"{run.parameters:,}."
            )
        return ""

    def _show_bars(self, page: Animals, bars: list[Bars], step: int) -> None:
        looks = (charts.RED, charts.BLUE)
        rows = [f'<span class="w">{escape(b.word)}</span>{two_bars((b.counting, b.network), looks)}' for b in bars]
        self._bars.show(f'<div class="bars">{"".join(rows)}</div>')
        meat, plants = ({f for eaten in kind.values() for f in eaten} for kind in (HUNTERS, GRAZERS))
        counts = [sum(b.counting for b in bars if b.word in foods) for foods in (meat, plants)]
        network = [sum(b.network for b in bars if b.word in foods) for foods in (meat, plants)]
        self._said.set_text(
            f"The 4-gram has seen “{page.used(self._animal)}” and counts what followed: {counts[0]:.0%} fish or meat, "
            f"{counts[1]:.0%} grass or hay. The network, after {step:,} updates: {network[0]:.0%} and {network[1]:.0%}."
        )

    def _show_way(self, page: Animals, shots: list[Snapshot]) -> None:
        if not shots:
            return
        seen = page.way(shots)
        kinds = dict.fromkeys(HUNTERS, "hunters") | dict.fromkeys(GRAZERS, "grazers") | {"sheep": "the sheep"}
        reach = 1.15 * max(0.1, float(np.abs(seen.path).max()), *(abs(v) for xy in seen.places.values() for v in xy))
        drawn = self._dots.draw([Dot(name, kinds[name], x, y) for name, (x, y) in seen.places.items()], (-reach, reach))
        drawn.append(charts.line("its way", seen.path.tolist(), charts.BLUE, "dotted") | {"symbol": "none"})
        axes = {"min": -reach, "max": reach}
        words = f"The sheep began {page.distances[0].grazers:.2f} from cow and goat, in all dimensions."
        self._map.show(drawn, words, xAxis=axes, yAxis=axes)
        way = page.distances
        series = [
            charts.line("cow and goat", [(d.step, d.grazers) for d in way], charts.GREEN),
            charts.line("cat, dog and fox", [(d.step, d.hunters) for d in way], charts.RED, "dashed"),
        ]
        last = way[-1]
        caption = (
            f"After {last.step:,} updates the sheep is {last.grazers:.2f} from cow and goat (at the first look "
            f"{way[0].grazers:.2f}) and {last.hunters:.2f} from the hunters."
        )
        self._chart.show(series, caption)

    def _show_pulls(self, found: list[Pull]) -> None:
        numbers = Numbers()
        most = max((abs(p.so_far) for p in found), default=0.0) or 1.0
        strongest = max((abs(p.now) for p in found), default=0.0) or 1.0
        rows = "".join(
            f'<tr><th scope="row">{escape(p.window)}</th><td>{p.times}</td>'
            f"<td>{numbers.text(f'sum|{i}', _arrow(p.so_far / most))}</td>"
            f"<td>{numbers.text(f'now|{i}', _arrow(p.now / strongest))}</td>"
            f"<td>{numbers.text(f'cow|{i}', f'{p.cow:+.2f}')}</td></tr>"
            for i, p in enumerate(found[:_ROWS])
        )
        self._pulls.show(
            '<div class="scroll"><table><tr><th scope="col">window → next</th><th scope="col">times</th>'
            '<th scope="col">pull so far</th><th scope="col">pull now</th><th scope="col">with a cow</th></tr>'
            f"{rows}</table></div>"
            '<p class="hint">So far: the part along the way the sheep has come (→), as a share of the strongest. Now: '
            "towards the middle of cow and goat (→) or away (←). With a cow: how alike is what the same window would "
            "ask of a cow in the sheep's place, from −1 to +1.</p>",
            numbers,
        )


def _arrow(share: float) -> str:
    return f"{'→' if share >= 0 else '←'} {abs(share):.0%}"
