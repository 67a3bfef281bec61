"""One prediction and one update of a network, as the page draws them: no browser here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import InputError
from neuralgram.neural.panels import place_name
from neuralgram.serving.explorer.drawing import WHOLE
from neuralgram.text.tokenizers.base import visible
from neuralgram.textmodel import TextModel
from neuralgram.tracing import Trace, trace
from neuralgram.tracing.names import word_id

_PART = 12  # units and words that are shown where there are more than are drawn whole


class Stage(NamedTuple):
    """One stop on the path: its name, what happens there, the sections that show it.

    marked   the columns of the drawing (C, x, h, y, p) it is about
    """

    name: str
    text: str
    sections: tuple[int, ...]
    marked: str


@dataclass
class Window:
    """What is looked at: the ids read, the token that came next, and the step size of the update."""

    ids: list[int] = field(default_factory=list)
    target: int | None = None
    lr: float = 0.2

    def fit(self, model: TextModel) -> None:
        """Make the window one that `model` can read: its width, its vocabulary."""
        V, c = model.model.vocab_size, model.model.context
        if len(self.ids) != c or any(i >= V for i in self.ids):
            self.ids = [i % V for i in range(c)]
        if self.target is None or self.target >= V:
            self.target = min(V - 1, 3)


def read_window(model: TextModel, text: str) -> list[int]:
    """The ids of the window that ends a text, or of words separated by spaces."""
    return [int(i) for i in model.window(text)]


def looked(model: TextModel, prompt: str, target: str) -> tuple[list[int], int | None]:
    """Window and target as an address names them: their ids, or their text."""
    ids = [int(part) for part in prompt.split(".")] if prompt and all(p.isdigit() for p in prompt.split(".")) else []
    if prompt and not ids:
        ids = read_window(model, prompt)
    if ids and (len(ids) != model.model.context or max(ids) >= model.model.vocab_size):
        raise InputError(f"window {prompt!r}: expected {model.model.context} tokens of this network")
    wanted = int(target) if target.isdigit() and int(target) < model.model.vocab_size else word_id(model, target)
    return ids, wanted if target else None


def traced(model: TextModel, window: Window) -> Trace:
    """Every number of this prediction and update. Small layers and vocabularies are shown whole, in order."""
    lm = model.model
    hidden = lm.config()["d_hidden"]
    widest = max([hidden] if isinstance(hidden, int) else hidden, default=0)
    top = lm.vocab_size if lm.vocab_size <= WHOLE else _PART
    units = max(1, widest) if widest <= WHOLE else _PART
    ids: NDArray[np.int64] = np.array(window.ids, np.int64)
    return trace(model, ids, target=window.target, lr=window.lr, top=top, units=units)


_STOPS = (  # name, what happens, how the titles of its sections begin, the columns of the drawing it is about
    (
        "words → rows of C",
        "Each word of the window selects its row of C; the rows side by side are x.",
        "Look up",
        "Cx",
    ),
    ("x → hidden units", "Every hidden unit weighs all of x, adds its bias, and bends the sum.", "Hidden", "h"),
    (
        "hidden → scores",
        "Every word gets a score from the units, b, and W if there.",
        ("Projected", "Scores"),
        "y",
    ),
    ("scores → probabilities", "The softmax makes scores positive and divides by their sum.", "Softmax", "p"),
    ("hidden → probabilities", "This output layer has its own way from the hidden units to P.", "(head)", "p"),
    (
        "loss and its gradient",
        "The loss is the surprise at what came. At the scores its gradient is p − e_w.",
        "The error",
        "py",
    ),
    ("back to the hidden units", "Each unit answers for the scores it took part in.", "Back to the hidden", "h"),
    ("back to the window", "And each number of x for the units it fed.", "Back to the window", "x"),
    ("every gradient", "Every parameter has a gradient; of C only the rows of the window.", "Every gradient", "Chy"),
    ("which rows of C learn", "A word that stands twice in the window adds up both.", "Which rows", "C"),
    (
        "before → after",
        "One step against the gradient, everything at once, and the prediction again.",
        "One step",
        "Cp",
    ),
)


def stages(made: Trace) -> list[Stage]:
    """The path of one example, forward and back, as stops that can be taken one by one."""
    titles = [section.title for section in made.all_sections]
    if made.network is not None and made.network.whole is not None:
        shared = ("Look up", "Hidden", "Projected")
        own = len(made.sections)
        titles = [f"(head) {t}" if i < own and not t.startswith(shared) else t for i, t in enumerate(titles)]
    out = []
    for name, text, start, marked in _STOPS:
        found = tuple(i for i, title in enumerate(titles) if title.startswith(start))
        if found:
            out.append(Stage(name, text, found, marked))
    return out


def summary(made: Trace) -> str:
    """The prediction in a sentence."""
    said = " ".join(visible(place.symbol) for place in made.window)
    best = max(made.top, key=lambda outcome: outcome.probability)
    text = (
        f"After “{said}” the likeliest next token is “{visible(best.symbol)}”, with probability {best.probability:.4f}."
    )
    if made.target is not None:
        text += (
            f" P({visible(made.target.symbol)}) = {made.target.probability:.4f}, rank {made.target.rank}, surprisal "
            f"{made.target.nats:.4f} nats."
        )
    return text


def places(context: int) -> list[str]:
    """The places of the window, as the paper writes them."""
    return [place_name(i, context) for i in range(context)]
