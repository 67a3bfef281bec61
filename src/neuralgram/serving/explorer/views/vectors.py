"""Vectors: the rows of C as a moving map, a search, neighbours in the full space, and a table to take away."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from nicegui import ui

from neuralgram.errors import NeuralgramError
from neuralgram.serving.explorer import charts
from neuralgram.serving.explorer.charts import Dot, Dots, Kind
from neuralgram.serving.explorer.markup import Numbers, word
from neuralgram.serving.explorer.reading import LOST
from neuralgram.serving.explorer.session import TRAINING
from neuralgram.serving.explorer.shell import Shell, View
from neuralgram.serving.explorer.vectors import (
    Floats,
    Frame,
    Map,
    by_character,
    kind_of,
    search,
    to_tsv,
)
from neuralgram.serving.explorer.widgets import Chart, Live, heading, offer, say
from neuralgram.text.samples import GRAZERS, HUNTERS
from neuralgram.text.tokenizers.base import visible
from neuralgram.textmodel import TextModel
from neuralgram.tracing.vectors import METRICS, closeness, neighbors, vectors

_NEAR = 10  # neighbours in the list
_FOUND = 20  # tokens found that are listed
_NUMBERS = 32  # of a row of C that are shown
_DRAWN = 120  # tokens on the map, the most frequent and those searched for
_KINDS = {
    "vowel": Kind(charts.RED, "triangle"),
    "consonant": Kind(charts.BLUE, "circle"),
    "other": Kind(charts.GREY, "rect"),
    "hunters": Kind(charts.RED, "triangle"),
    "grazers": Kind(charts.GREEN, "diamond"),
    "food": Kind(charts.PURPLE, "rect"),
    "word": Kind(charts.BLUE, "circle"),
    "chosen": Kind(charts.ORANGE, "circle", 20),
}


class Vectors(View):
    """The view."""

    title = "Vectors"
    tour = "Every token is a row of C, a point. Play, and watch tokens that are used alike move together."

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self._map, self._dots = Map(), Dots(_KINDS)
        self._name = TRAINING
        self._chosen: int | None = None
        self._found: list[int] = []
        self._of = ("", "")
        heading("The vectors the network learns")
        say(
            "Every token has one row of C, used wherever it stands. On the map lies the plane in which they differ "
            "most; each frame is turned to lie on the one before, so that what moves is the vectors and not the view."
        )
        with ui.row().classes("mid"):
            names = shell.session.networks()
            self._menu = ui.select(names, value=TRAINING, label="network", on_change=lambda e: self._other(e.value))
            self._menu.props("outlined dense options-dense").style("min-width: 150px")
            self._search = ui.input("find a token", on_change=self._look).props("outlined dense clearable")
            self._metric = ui.select(list(METRICS), value=METRICS[0], label="nearness", on_change=self.refresh)
            self._metric.props("outlined dense options-dense").style("min-width: 120px")
            ui.button("Download as TSV", on_click=self._download).props("no-caps dense outline")
        self._answer = ui.label().classes("hint").props('role="status"')
        with ui.element("div").classes("two broad"):
            with ui.element("section").classes("card"):
                self._chart = Chart(charts.scatter(), shape="map", on_point=self._pick)
            with ui.element("section").classes("card"):
                self._near = Live(self._open)
                self._hits = Live(self._open)

    # ---- choosing ----

    def _other(self, name: str) -> None:
        self._name, self._chosen, self._found = name, None, []
        self._map.reset()
        self.refresh()

    def _model(self) -> TextModel | None:
        return self.shell.session.network(self._name)

    def _look(self) -> None:
        model = self._model()
        text = (self._search.value or "").strip() or (self._search.value or "")
        if model is None or not text:
            self._found = []
            self._answer.set_text("")
        else:
            found = search(_symbols(model), text)
            self._found = found[:_FOUND]
            many = f"{len(found):,} tokens contain" if len(found) > 1 else "1 token contains"
            first = f", the first {_FOUND} are listed" if len(found) > _FOUND else ""
            said = f"{many} “{text}”{first}" if found else f"nothing contains “{text}”"
            self._answer.set_text(f"{said} (all {model.model.vocab_size:,} tokens were searched)")
            if found:
                self._chosen = found[0]
        self.refresh()

    def _pick(self, name: str) -> None:
        model = self._model()
        if model is None:
            return
        shown = [visible(symbol) for symbol in _symbols(model)]
        if name in shown:
            self._open(str(shown.index(name)))

    def _open(self, key: str) -> None:
        self._chosen = int(key.rsplit("|", maxsplit=1)[-1])
        self.refresh()

    def _download(self) -> None:
        model = self._model()
        weights = _embeddings(model)
        if model is not None and weights is not None:
            ui.download.content(to_tsv(weights, model.symbol), "vectors.tsv", "text/tab-separated-values")

    # ---- showing ----

    def refresh(self) -> None:
        """The map and the neighbours, from one moment of the network."""
        try:
            model = self._model()
        except NeuralgramError:
            self._name = TRAINING
            model = self._model()
        offer(self._menu, self.shell.session.networks())
        C = _embeddings(model)
        if model is None or C is None:
            return
        if not np.isfinite(C).all():
            self._chart.show([], f"No map: {LOST}.")
            self._near.show("")
            return
        key = (self._name, model.tokenizer.hash)
        if key != self._of:
            self._of, self._chosen, self._found = key, None, []
            self._map.reset()
        ids = sorted({*range(min(_DRAWN, len(C))), *self._found, *([self._chosen] if self._chosen is not None else [])})
        frame = self._map.frame(C, ids)
        chosen = self._chosen if self._chosen is not None else _first(model)
        self._draw(model, frame, chosen, C.shape[1])
        self._list(model, C, chosen)

    def _draw(self, model: TextModel, frame: Frame, chosen: int, width: int) -> None:
        kinds = _kinds(model)
        points = []
        for token, (x, y) in zip(frame.ids, frame.xy, strict=True):
            symbol = model.symbol(token)
            points.append(Dot(visible(symbol), "chosen" if token == chosen else kinds(symbol), float(x), float(y)))
        reach = 1.12 * max(0.1, float(abs(frame.xy).max(initial=0.0)))
        series = self._dots.draw(points, (-reach, reach))
        axes = {"min": -reach, "max": reach}
        m = model.model
        caption = (
            f"{len(frame.ids)} of {m.vocab_size:,} tokens; the plane shows {frame.share:.0%} of how their {width} "
            f"numbers differ. Chosen: “{visible(model.symbol(chosen))}”."
        )
        self._chart.show(series, caption, xAxis=axes, yAxis=axes)

    def _list(self, model: TextModel, C: Floats, chosen: int) -> None:
        """The chosen token's row, and its neighbours with both measures; the one chosen orders them."""
        numbers = Numbers()
        largest = float(np.abs(C).max(initial=0.0))
        shown = C[chosen][:_NUMBERS]
        row = "".join(numbers.still(f"row|{k}", float(value), largest) for k, value in enumerate(shown))
        more = f'<span class="hint"> +{len(C[chosen]) - len(shown)}</span>' if len(C[chosen]) > len(shown) else ""
        values = {metric: closeness(C, C[chosen], metric) for metric in METRICS}
        nearest = [near.id for near in neighbors(model, chosen, _NEAR, self._metric.value)]
        rows = "".join(
            f"<tr><th scope=row><button type=button class=t data-n='near|{i}'>{word(model.symbol(i))}</button></th>"
            + "".join(f"<td>{numbers.text(f'{m}|{place}', f'{values[m][i]:.3f}')}</td>" for m in METRICS)
            + "</tr>"
            for place, i in enumerate(nearest)
        )
        self._near.show(
            f"<h3>{word(model.symbol(chosen))}</h3><p class=hint>its row of C</p><div class=rowof>{row}{more}</div>"
            f"<h3>Nearest to {word(model.symbol(chosen))}</h3><p class=hint>in all {C.shape[1]} dimensions, not on the "
            "map: cosine is 1 for the same direction, distance 0 for the same place</p>"
            f"<table><tr><th scope=col>token</th><th scope=col>cosine</th><th scope=col>distance</th></tr>{rows}"
            "</table>",
            numbers,
        )
        hits = "".join(
            f"<button type=button class=t data-n='hit|{i}'>{word(model.symbol(i))}</button> " for i in self._found
        )
        self._hits.show(f"<h3>Found</h3>{hits}" if hits else "")


def _symbols(model: TextModel) -> list[str]:
    return [model.symbol(i) for i in range(model.model.vocab_size)]


def _embeddings(model: TextModel | None) -> Floats | None:
    return None if model is None else vectors(model.model)


def _first(model: TextModel) -> int:
    """What is chosen before anything is: the sheep, an e, or the most frequent token."""
    for symbol in ("sheep", "e", "cat"):
        found = model.tokenizer.id_of(symbol)
        if found is not None:
            return int(found)
    return 0


def _kinds(model: TextModel) -> Callable[[str], str]:
    if by_character(_symbols(model)):
        return kind_of
    foods = {food for eaten in (*HUNTERS.values(), *GRAZERS.values()) for food in eaten}
    table = dict.fromkeys(HUNTERS, "hunters") | dict.fromkeys(GRAZERS, "grazers") | dict.fromkeys(foods, "food")
    known = all(model.tokenizer.id_of(name) is not None for name in table)
    return lambda symbol: table.get(symbol, "word") if known else "word"
