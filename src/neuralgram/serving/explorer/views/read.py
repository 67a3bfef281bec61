"""Read and write: what surprises each model, and what it would say next."""

from __future__ import annotations

import math
from html import escape

from nicegui import ui

from neuralgram.errors import NeuralgramError
from neuralgram.sampling import Sampling
from neuralgram.serving.explorer import charts
from neuralgram.serving.explorer.markup import Numbers, Shown, two_bars, word
from neuralgram.serving.explorer.reading import LONGEST, Candidate, Reading, candidates, own_words, read
from neuralgram.serving.explorer.session import TRAINING
from neuralgram.serving.explorer.shell import Shell, View
from neuralgram.serving.explorer.vectors import by_character
from neuralgram.serving.explorer.widgets import Chart, Live, heading, offer, say, swatch
from neuralgram.text.tokenizers.base import visible
from neuralgram.textmodel import TextModel

_TABLE = 60  # tokens in the table of surprisals
_CURVES = ((charts.BLUE, "solid"), (charts.RED, "dashed"), (charts.GREEN, "dotted"))
NOTHING = "nothing"
_WRITTEN = 4_000  # characters of a text that goes on being written


class ReadWrite(View):
    """The view."""

    title = "Read and write"
    tour = "Paste a sentence and see which tokens surprised each model. Then let it write, and turn the temperature."

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self._name = TRAINING
        self._of: tuple[str, ...] = ()  # the model, and of the run its text, whose first words were put there
        self._reading: Reading | None = None
        self._cut: int | None = None
        self._drawn = 0
        heading("Read and write")
        say("The darker a token, the more it surprised the model: surprisal is −log P. Choose one to go on from there.")
        with ui.element("div").classes("two"):
            self._reader()
            self._writing()

    def _reader(self) -> None:
        with ui.element("section").classes("card"):
            with ui.row():
                self._menu = ui.select(
                    [TRAINING], value=TRAINING, label="model", on_change=lambda e: self._other(e.value)
                )
                self._menu.props("outlined dense options-dense").style("min-width: 150px")
                self._beside = ui.select([NOTHING], value=NOTHING, label="beside", on_change=self.refresh)
                self._beside.props("outlined dense options-dense").style("min-width: 150px")
                self._by = ui.select(["network"], value="network", label="colour by", on_change=self.refresh)
                self._by.props("outlined dense options-dense").style("min-width: 130px")
            self._text = ui.textarea("text to read", on_change=self.refresh)
            self._text.props(f"outlined dense autogrow counter maxlength={LONGEST} debounce=300")
            self._text.style("width: 100%; margin: 8px 0")
            self._error = ui.label().props('role="alert"')
            self._tokens = Live(self._from_token)
            self._said = say("").props('role="status"')
            self._chart = Chart(charts.tokens(), "surprisal in nats, token by token", shape="chart low")
            with ui.expansion("The surprisals as a table").style("width: 100%"):
                self._table = Live()

    def _writing(self) -> None:
        with ui.element("section").classes("card"):
            ui.html("What comes next", tag="h3", sanitize=True)
            with ui.element("div").classes("fields"):
                self._temperature = self._slider("temperature", 0, 3, 0.1, 1)
                self._top_k = self._slider("top-k (0: all)", 0, 50, 1, 0)
            with ui.row():
                swatch(charts.GREY, "probability")
                swatch(charts.BLUE, "after temperature and top-k: what is drawn from")
            self._bars = Live(self._append)
            with ui.row():
                ui.button("Draw one", on_click=lambda: self._draw(1)).props("dense no-caps unelevated")
                ui.button("Draw 40", on_click=lambda: self._draw(40)).props("dense no-caps outline")
                self._seed = ui.number("seed", value=0, min=0, max=2**32 - 1, format="%d").props("dense outlined")
                self._seed.style("width: 100px")

    def _slider(self, label: str, low: float, high: float, step: float, value: float) -> ui.slider:
        with ui.column().style("gap: 0; padding: 0 10px"):
            shown = ui.label()
            slider = ui.slider(min=low, max=high, step=step, value=value, on_change=self.refresh)
            slider.props(f'aria-label="{label}"')
            shown.bind_text_from(slider, "value", lambda v: f"{label}: {v:g}")
        return slider

    # ---- choosing ----

    def _other(self, name: str) -> None:
        self._name = name
        self.refresh()

    def _models(self) -> tuple[TextModel | None, TextModel | None]:
        """The model chosen, and the one beside it."""
        session = self.shell.session
        others = session.beside(self._name)
        offered = [*others, NOTHING]
        if list(self._beside.options) != offered:
            self._beside.set_options(offered, value=offered[0] if self._name == TRAINING else NOTHING)
        chosen = session.models.get(self._name) or session.network(TRAINING)
        return chosen, others.get(self._beside.value)

    def _from_token(self, key: str) -> None:
        """Go on from a token: the text up to it and no further."""
        reading = self._reading
        at = int(key.split("|")[1])
        if reading is None or at >= len(reading.tokens):
            return
        self._text.value = (self._text.value or "")[: reading.tokens[at].end]

    def _append(self, key: str) -> None:
        """A token of the bars, put at the end of the text."""
        self._write([int(key.split("|")[1])])

    def _write(self, ids: list[int]) -> None:
        model, _ = self._models()
        if model is None:
            return
        prompt = self._text.value or ""
        added = "".join(model.decode_after(prompt, [i for i in ids if i != model.boundary_id]))
        if any(i == model.boundary_id for i in ids):
            added += "\n"
        self._text.value = (prompt + added)[-_WRITTEN:][-LONGEST:]

    def _draw(self, count: int) -> None:
        model, _ = self._models()
        if model is None or self._reading is None:
            return
        prompt = self._text.value or ""
        try:
            seed = int(self._seed.value or 0) + self._drawn
            made = list(model.ids(prompt, count, sampling=self._sampling(), seed=seed, unknown=False))
        except NeuralgramError as error:
            self.shell.say(str(error))
            return
        self._drawn += 1
        ended = [model.boundary_id] if len(made) < count and model.boundary_id is not None else []
        self._write([*made, *ended])

    def _sampling(self) -> Sampling:
        top_k = int(self._top_k.value or 0)
        return Sampling(float(self._temperature.value), top_k or None)

    # ---- showing ----

    def refresh(self) -> None:
        """Surprisals and bars, from one moment of the network."""
        offer(self._menu, [TRAINING, *self.shell.session.models])
        model, counting = self._models()
        if model is None:
            self._error.set_text("The network is being made.")
            return
        self._first_text(model)
        text = self._text.value or ""
        try:
            bars = candidates(text, model, self._sampling())
            self._reading = read(text, model, counting)
            self._error.set_text("")
        except NeuralgramError as error:
            self._error.set_text(str(error))
            self._reading = None
            self._said.set_text("")
            for shown in (self._tokens, self._table, self._bars):  # what stands there is of another text or model
                shown.show("")
            self._chart.show([], "Nothing can be read.", xAxis={"data": []})
            return
        self._show_reading(self._reading, model, text)
        self._show_bars(bars)

    def _first_text(self, model: TextModel) -> None:
        """The first words of a text's own held-out part, where nothing was typed."""
        session = self.shell.session
        if session.ready is None:
            return
        of = (self._name, *((session.ready.text, model.tokenizer.hash) if self._name == TRAINING else ()))
        if of == self._of:
            return
        self._of = of
        if self._name == TRAINING:
            ids = session.ready.valid.ids[: 24 if session.settings.tokens != "chars" else 90]
            kept = [int(i) for i in ids if int(i) != model.boundary_id]
            self._text.value = "".join(model.decode_after("", kept))[:LONGEST]
        elif not _reads(model, self._text.value or ""):
            self._text.value = "".join(model.decode_after("", own_words(model, 20)))[:LONGEST]

    def _show_reading(self, reading: Reading, model: TextModel, text: str) -> None:
        if list(self._by.options) != list(reading.names):
            value = self._by.value if self._by.value in reading.names else reading.names[0]
            self._by.set_options(list(reading.names), value=value)
        column = reading.names.index(self._by.value) if self._by.value in reading.names else 0
        largest = 1.5 * math.log(max(2, model.model.vocab_size))
        start = reading.tokens[0].start if reading.tokens else len(text)
        numbers = Numbers()
        parts = [f'<span class="hint">{escape(text[:start])}</span>']
        shown_until = start
        for i, token in enumerate(reading.tokens):
            between = text[shown_until : token.start] if token.start > shown_until else ""
            loss = token.losses[column]
            own = text[token.start : token.end] or "⏎"
            about = f"{token.symbol}: {'not scored' if loss is None else f'{loss:.2f} nats'}"
            numbers.values[f"t|{i}"] = Shown(own, None, 0.0 if loss is None else min(1.0, loss / largest), about)
            parts.append(f'{escape(between)}<button type="button" class="t" data-n="t|{i}"></button>')
            shown_until = max(shown_until, token.end)
        chars = " chars" if by_character([model.symbol(i) for i in range(min(50, model.model.vocab_size))]) else ""
        self._tokens.show(f'<div class="tokens{chars}">{"".join(parts)}</div>', numbers)
        figures = ", ".join(f"{n} {p:.4g}" for n, p in zip(reading.names, reading.perplexities, strict=True))
        over = f"the {reading.scored} tokens that all score" if len(reading.names) > 1 else f"{reading.scored} tokens"
        self._said.set_text(
            f"Perplexity over {over}: {figures}."
            if reading.scored
            else "Nothing to score yet: type a few more tokens than the window holds."
        )
        self._show_chart(reading, model.boundary_id)
        self._show_table(reading)

    def _show_chart(self, reading: Reading, end: int | None) -> None:
        """A curve a model, over the last tokens that have a surprisal; not the ends, one of which would flatten it."""
        scored = [token for token in reading.tokens if None not in token.losses]
        ends = [token for token in scored if token.id == end]
        tokens = [token for token in scored if token.id != end][-_TABLE:]
        series = []
        for i, name in enumerate(reading.names):
            points = [(at, token.losses[i] or 0.0) for at, token in enumerate(tokens)]
            series.append(charts.line(name, points, *_CURVES[i]) | {"symbol": charts.SHAPES[i], "symbolSize": 6})
        worst = (
            [max(tokens, key=lambda token: token.losses[i] or 0.0) for i in range(len(reading.names))] if tokens else []
        )
        said = [
            f"{name} at “{visible(token.symbol)}” ({token.losses[i]:.2f})"
            for i, (name, token) in enumerate(zip(reading.names, worst, strict=False))
        ]
        caption = (
            f"The greatest surprise of each, in nats: {', '.join(said)}." if said else "No token has a surprisal yet."
        )
        if ends:
            costs = ", ".join(f"{loss:.2f}" for loss in ends[-1].losses)
            caption += f" Not drawn: the end of a text, a line or a document, last {costs}."
        self._chart.show(series, caption, xAxis={"data": [visible(token.symbol) for token in tokens]})

    def _show_table(self, reading: Reading) -> None:
        numbers = Numbers()
        heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in reading.names)
        rows = []
        for i, token in enumerate(reading.tokens[:_TABLE]):
            cells = "".join(
                f"<td>{numbers.text(f'{i}|{k}', '–' if loss is None else f'{loss:.3f}')}</td>"
                for k, loss in enumerate(token.losses)
            )
            rows.append(f'<tr><th scope="row">{word(token.symbol)}</th>{cells}</tr>')
        more = len(reading.tokens) - _TABLE
        note = f'<p class="hint">and {more} more tokens</p>' if more > 0 else ""
        self._table.show(
            f'<p class="hint">nats</p><div class="scroll"><table><tr><th scope="col">token</th>{heads}</tr>'
            f"{''.join(rows)}</table></div>{note}",
            numbers,
        )

    def _show_bars(self, bars: list[Candidate]) -> None:
        looks = (charts.GREY, charts.BLUE)
        rows = [
            f'<button type="button" class="t" data-n="bar|{bar.id}" aria-label="add {escape(bar.symbol)}">'
            f"{word(bar.symbol)}</button>{two_bars((bar.probability, bar.weight), looks)}"
            for bar in bars
        ]
        self._bars.show(f'<div class="bars">{"".join(rows)}</div>')


def _reads(model: TextModel, text: str) -> bool:
    """Whether a model's vocabulary has what a text is made of, and it is not empty."""
    try:
        return bool(model.score(text))
    except NeuralgramError:
        return False
