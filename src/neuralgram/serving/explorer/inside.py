"""One prediction and one update of a network, as the page draws them: no browser here."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import InputError
from neuralgram.serving.explorer.markup import Numbers, word
from neuralgram.text.visible import visible
from neuralgram.textmodel import TextModel
from neuralgram.tracing import Section, Trace, trace
from neuralgram.tracing.prediction import place_name
from neuralgram.tracing.words import word_id

_ALL = 32  # vocabularies up to this size are drawn whole, in the order of their ids, which never changes
_UNITS = 12
_MOST = 12  # rows of a drawing


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
    """Every number of this prediction and update. All words of a small vocabulary are shown, in id order."""
    V = model.model.vocab_size
    top = V if V <= _ALL else _MOST
    ids: NDArray[np.int64] = np.array(window.ids, np.int64)
    return trace(model, ids, target=window.target, lr=window.lr, top=top, units=_UNITS)


_STOPS = (  # name, what happens, how the titles of its sections begin, the columns of the drawing it is about
    (
        "words → rows of C",
        "Each word of the window selects its row of C; the rows side by side are x.",
        "Look up",
        "Cx",
    ),
    ("x → hidden units", "Every hidden unit weighs all of x, adds its bias, and bends the sum.", "Hidden", "h"),
    ("hidden → scores", "Every word gets a score from the hidden units, b, and W if there.", "Scores", "y"),
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


def drawing(made: Trace, numbers: Numbers, stage: int) -> str:
    """The network for this window, from left to right; the stage looked at is marked."""
    f = made.forward
    if f is None or made.network is None:
        raise InputError("this model is no network: nothing to draw")
    sections = list(made.all_sections)
    columns = [
        ("C", *_rows_of_C(made, sections, numbers)),
        ("x", *_x(made, sections, numbers)),
        *(("h", *_hidden(sections, numbers, i)) for i in range(len(made.network.layers))),
        ("p", *_probabilities(made, sections, numbers)),
    ]
    if made.network.whole is None:  # another head has no one y
        columns.insert(-1, ("y", *_scores(sections, numbers)))
    marked = "".join(stop.marked for stop in stages(made)[max(0, stage) : stage + 1])
    drawn = []
    for name, title, equation, body in columns:
        classes = f"stage {name}" + (" on" if name in marked else "")
        drawn.append(f'<div class="{classes}"><h4>{title}</h4><p class="eq">{escape(equation)}</p>{body}</div>')
    return '<div class="net">' + '<div class="arrow" aria-hidden="true">→</div>'.join(drawn) + "</div>"


def _find(sections: list[Section], title: str, step: str) -> tuple[int, int]:
    for i, section in enumerate(sections):
        for j, found in enumerate(section.steps):
            if section.title.startswith(title) and found.name == step:
                return i, j
    raise InputError(f"no {step!r} under {title!r}: expected a network's trace")


def _cells(
    sections: list[Section], at: tuple[int, int], index: tuple[int, ...], numbers: Numbers, **how: object
) -> str:
    step = sections[at[0]].steps[at[1]]
    key = "draw|" + "|".join(str(part) for part in (*at, *index))
    scale = float(np.abs(step.value).max(initial=0.0))
    bar = float(step.value[index]) if how.get("bar") else None
    return numbers.cell(key, float(step.value[index]), scale=None if bar is not None else scale, bar=bar)


def _rows_of_C(made: Trace, sections: list[Section], numbers: Numbers) -> tuple[str, str, str]:
    at = _find(sections, "Look up", "C")
    width = sections[at[0]].steps[at[1]].value.shape[1]
    rows = []
    for i, place in enumerate(made.window):
        cells = "".join(_cells(sections, at, (i, k), numbers) for k in range(min(width, _MOST)))
        more = f'<span class="hint">+{width - _MOST}</span>' if width > _MOST else ""
        rows.append(
            f'<div class="row"><span class="lab">{word(place.symbol)}</span></div><div class="row">{cells}{more}</div>'
        )
    return "words → rows of C", "C[w], oldest first", "".join(rows)


def _x(made: Trace, sections: list[Section], numbers: Numbers) -> tuple[str, str, str]:
    at = _find(sections, "Look up", "C")
    width = sections[at[0]].steps[at[1]].value.shape[1]
    total = width * len(made.window)
    rows = []
    for k in range(min(total, 2 * _MOST)):
        cell = numbers.cell(
            f"draw|{at[0]}|{at[1]}|{k // width}|{k % width}|x",
            float(sections[at[0]].steps[at[1]].value[k // width, k % width]),
            scale=float(np.abs(sections[at[0]].steps[at[1]].value).max(initial=0.0)),
        )
        rows.append(f'<div class="row"><span class="lab">x[{k}]</span>{cell}</div>')
    if total > 2 * _MOST:
        rows.append(f'<div class="hint">and {total - 2 * _MOST} more</div>')
    return "x", "side by side", "".join(rows)


def _hidden(sections: list[Section], numbers: Numbers, layer: int) -> tuple[str, str, str]:
    suffix = "" if layer == 0 else str(layer + 1)
    z, a = _find(sections, "Hidden", f"z{suffix}"), _find(sections, "Hidden", f"a{suffix}")
    section = sections[z[0]]
    shown = section.row_numbers[:_UNITS]
    rows = []
    for u in shown:
        mark = ' <span class="hint">saturated</span>' if section.marks.get(u) == "saturated" else ""
        rows.append(
            f'<div class="row"><span class="lab">{u}</span>{_cells(sections, z, (u,), numbers)}'
            f'<span aria-hidden="true">→</span>{_cells(sections, a, (u,), numbers)}{mark}</div>'
        )
    if len(shown) < len(section.steps[z[1]].value):
        rows.append(f'<div class="hint">{len(shown)} of {len(section.steps[z[1]].value)} units</div>')
    equations = f"{section.steps[z[1]].equation}, {section.steps[a[1]].equation}"
    return f"hidden{' ' + suffix if suffix else ''}: z → a", equations, "".join(rows)


def _shown(sections: list[Section], at: tuple[int, int]) -> list[int]:
    rows = sections[at[0]].row_numbers
    return sorted(rows) if len(rows) == len(sections[at[0]].steps[at[1]].value) else rows


def _scores(sections: list[Section], numbers: Numbers) -> tuple[str, str, str]:
    at = _find(sections, "Scores", "y")
    section = sections[at[0]]
    rows = [
        f'<div class="row"><span class="lab">{word(section.row(v))}</span>{_cells(sections, at, (v,), numbers)}</div>'
        for v in _shown(sections, at)
    ]
    return "scores y", section.steps[at[1]].equation, "".join(rows)


def _probabilities_at(sections: list[Section]) -> tuple[int, int]:
    """Where P stands: in the softmax, or in the last section of another head."""
    title = next((section.title for section in sections if section.bars == "p"), "Softmax")
    return _find(sections, title, "p")


def _probabilities(made: Trace, sections: list[Section], numbers: Numbers) -> tuple[str, str, str]:
    at = _probabilities_at(sections)
    section = sections[at[0]]
    rows = []
    for v in _shown(sections, at):
        mark = ' <span class="hint">came next</span>' if made.target is not None and v == made.target.id else ""
        cell = _cells(sections, at, (v,), numbers, bar=True)
        rows.append(f'<div class="row"><span class="lab">{word(section.row(v))}</span>{cell}{mark}</div>')
    equation = "p = exp(y − max) / Σ" if section.title == "Softmax" else section.steps[at[1]].equation
    return "probabilities p", equation, "".join(rows)


def inputs_of(made: Trace, key: str | None) -> list[str]:
    """Keys of the drawn numbers that go into the drawn number `key`: what its formula reads, marked on the drawing."""
    parts = (key or "").split("|")
    if parts[0] != "draw" or made.network is None:
        return []
    sections = list(made.all_sections)
    lookup = _find(sections, "Look up", "C")
    m = sections[lookup[0]].steps[lookup[1]].value.shape[1]
    x = [f"draw|{lookup[0]}|{lookup[1]}|{k // m}|{k % m}|x" for k in range(m * len(made.window))]
    name = "x" if parts[-1] == "x" else sections[int(parts[1])].steps[int(parts[2])].name
    layer = bool(made.network.layers)
    z, a = (_find(sections, "Hidden", step) if layer else (0, 0) for step in ("z", "a"))
    units = [f"draw|{a[0]}|{a[1]}|{u}" for u in sections[a[0]].row_numbers] if layer else []
    direct = x if "direct.weight" in made.network.weights else []
    reads = {
        "x": [(key or "").removesuffix("|x")],
        "z": x,
        "a": [f"draw|{z[0]}|{z[1]}|{parts[3]}"],
        "y": units + direct,
        "p": units + direct,  # of a head without one y; else from the scores
    }
    if made.network.whole is None:
        scores = _find(sections, "Scores", "y")
        reads["p"] = [f"draw|{scores[0]}|{scores[1]}|{v}" for v in sections[scores[0]].row_numbers]
    return reads.get(name, [])


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
