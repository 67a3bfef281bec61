"""`trace(model, context, target=…, lr=…)`: every number of one prediction and one update, for any model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import InputError
from neuralgram.lm import LanguageModel
from neuralgram.text.windows import as_ids
from neuralgram.tracing import prediction, render
from neuralgram.tracing import update as updating
from neuralgram.tracing.differences import Difference, finite_differences
from neuralgram.tracing.network import LINEAR_HEADS, Forward, Network
from neuralgram.tracing.prediction import Words
from neuralgram.tracing.steps import Floats, Formula, Section, Step

_BY_WORD = ("emb.weight", "out.weight", "out.bias", "direct.weight")  # parameters with a row a word


class SpeaksText(Protocol):
    """What a `TextModel` offers a trace: the model under it, and strings for its ids."""

    @property
    def model(self) -> LanguageModel:
        """The model over ids."""

    @property
    def tokenizer(self) -> Any:
        """The tokenizer."""

    @property
    def boundary_id(self) -> int | None:
        """The boundary symbol."""

    def symbol(self, token: int) -> str:
        """What a person is shown for one token."""

    def window(self, prompt: str) -> NDArray[np.int64]:
        """The ids the model reads after a prompt."""


Traced: TypeAlias = LanguageModel | SpeaksText


class Place(NamedTuple):
    """One token of the window: its place as the paper writes it, its id and what is shown for it."""

    place: str
    id: int
    symbol: str


class Outcome(NamedTuple):
    """One possible next token; `rank` 1 is the likeliest, ties share the better rank; surprisal = −log p."""

    symbol: str
    id: int
    probability: float
    rank: int
    nats: float
    bits: float


class Part(NamedTuple):
    """One part of a mixture: its weight in this context, and its own trace."""

    weight: float
    trace: Trace


@dataclass(frozen=True, eq=False)
class Trace:
    """One prediction, and with a target what it teaches.

    kind         `network`, `counting`, `mixture`, or `model` where only the distribution can be shown
    summary      the model in a line
    window       the tokens read, oldest first
    sections     the prediction, step by step; every number of a step opens by `formula`
    log_p        log-probabilities of every token, float64 [V]
    top          the likeliest tokens, and the target if it is not among them
    target       the token that came, or None
    update       gradients and one SGD step (networks with a target), or None
    parts        of a mixture
    network, forward   a network's weights in float64 and every quantity of this prediction
    """

    kind: str
    summary: str
    window: tuple[Place, ...]
    sections: tuple[Section, ...]
    log_p: Floats
    top: tuple[Outcome, ...]
    target: Outcome | None = None
    update: updating.Update | None = None
    parts: tuple[Part, ...] = ()
    network: Network | None = None
    forward: Forward | None = None
    row_of: Callable[[str], int | None] = field(default=lambda text: None)

    @property
    def title(self) -> str:
        """The window and what came after it."""
        words = " ".join(render.shown_text(place.symbol) for place in self.window) or "(nothing read)"
        return f"{words} → {render.shown_text(self.target.symbol) if self.target else '?'}"

    @property
    def all_sections(self) -> tuple[Section, ...]:
        """Prediction, then update, then the parts of a mixture."""
        update = self.update.sections if self.update else ()
        return self.sections + update + tuple(s for part in self.parts for s in part.trace.all_sections)

    def step(self, name: str) -> Step:
        """The step of that name (`a`, `y`, `p`, `δ`, …); of several, the first."""
        found = [step for section in self.all_sections for step in section.steps if step.name == name]
        if not found:
            names = dict.fromkeys(step.name for section in self.all_sections for step in section.steps)
            raise InputError(f"no step {name!r} in this trace: expected one of {', '.join(names)}")
        return found[0]

    def formula(self, place: str) -> Formula:
        """The formula of one number with its inputs filled in: `trace.formula("a[0]")`, `"p[sat]"`."""
        from neuralgram.tracing.names import locate, split

        step = self.step(split(place)[0])
        rows = step.rows

        def row_of(_: str, text: str) -> int | None:
            count = len(step.value) if step.value.ndim else 0
            return None if rows is None else next((i for i in range(count) if rows(i) == text), None)

        return step.explain(locate(place, {step.name: step.value}, row_of)[1])

    def gradient(self, name: str) -> Floats:
        """The gradient of −log p[target] at one parameter: a state-dict key or the paper's letter."""
        from neuralgram.tracing.names import key_of, letter_of

        if self.update is None:
            raise InputError("this trace has no gradients: they need a network and a target")
        key = name if name in self.update.gradients else key_of(name)
        if key not in self.update.gradients:
            raise InputError(f"parameter {name!r}: expected one of {', '.join(map(letter_of, self.update.gradients))}")
        return self.update.gradients[key]

    def check(self, *places: str) -> list[Difference]:
        """Gradients at `places` (`"H[0][1]"`, `"C[cat][0]"`) beside their finite differences."""
        if self.network is None or self.forward is None or self.update is None:
            raise InputError("this trace has no gradients to check: they need a network and a target")
        return finite_differences(self.network, self.forward, self.update.target, places, self.row)

    def row(self, name: str, text: str) -> int | None:
        """The row of parameter `name` that belongs to the word `text`, if its rows are words."""
        return self.row_of(text) if name in _BY_WORD else None

    def render(self, width: int = 100) -> str:
        """The trace as text for a terminal."""
        return render.to_text(self.title, self.all_sections, subtitle=self.subtitle, width=width)

    @property
    def subtitle(self) -> str:
        """The model, and how the target fared."""
        if self.target is None:
            return self.summary
        t = self.target
        return (
            f"{self.summary}\nP({t.symbol}) = {t.probability:.4f}, rank {t.rank} of {len(self.log_p)}, "
            f"surprisal {t.nats:.4f} nats = {t.bits:.4f} bits"
        )

    def to_json(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "kind": self.kind,
            "summary": self.summary,
            "window": [place._asdict() for place in self.window],
            "sections": [section.to_json() for section in self.sections],
            "top": [outcome._asdict() for outcome in self.top],
            "target": self.target._asdict() if self.target else None,
            "update": self.update.to_json() if self.update else None,
            "parts": [{"weight": part.weight, **part.trace.to_json()} for part in self.parts],
        }

    def _repr_html_(self) -> str:
        return render.to_html(self.title, self.all_sections, subtitle=self.subtitle)


def trace(
    model: Traced,
    context: str | Sequence[int] | NDArray[np.int64],
    *,
    target: str | int | None = None,
    lr: float | None = None,
    top: int = 10,
    units: int = 12,
) -> Trace:
    """Every number of the prediction after `context`; with `target` of the gradients, with `lr` of one SGD step.

    model    a `TextModel` (strings or ids) or any `LanguageModel` (ids; the last c are read)
    top      how many of the likeliest tokens the tables show
    units    how many hidden units they show; the steps hold all of them

    A network is worked out in float64 from its weights. Raises `InputError` for what cannot be read.
    """
    if top < 1 or units < 1:
        raise InputError(f"top {top}, units {units}: expected at least 1 of each")
    ids, lm, name, row_of = _read(model, context)
    wanted = _target(model, lm, target)
    if lr is not None and wanted is None:
        raise InputError(f"learning rate {lr} without a target: a step needs the token that came next (--target)")
    return _trace(lm, ids, _Naming(name, row_of), wanted, _Choices(lr, top, units))


class _Naming(NamedTuple):
    name: Callable[[int], str]
    row_of: Callable[[str], int | None]


class _Choices(NamedTuple):
    lr: float | None
    top: int
    units: int


def _trace(lm: LanguageModel, ids: NDArray[np.int64], naming: _Naming, target: int | None, choices: _Choices) -> Trace:
    kind = getattr(lm, "kind", "model")
    if kind == "nplm" and lm.config()["head"] in LINEAR_HEADS:  # type: ignore[attr-defined]  # an NPLM has it
        return _trace_network(lm, ids, naming, target, choices)
    log_p = np.asarray(lm.log_probs(ids[None, :])[0], np.float64)
    words = Words(naming.name, _shown(log_p, target, choices.top), target, choices.units)
    parts: tuple[Part, ...] = ()
    if kind == "mixture":
        from neuralgram.tracing.mixtures import mixture_sections, weights_of

        weights = weights_of(lm, ids)
        traces = [_trace(part, part_window(part, ids), naming, target, choices) for part in lm.parts]  # type: ignore[attr-defined]
        parts = tuple(Part(float(w), t) for w, t in zip(weights, traces, strict=True))
        sections = mixture_sections(parts, log_p, words)
    else:
        from neuralgram.tracing.counting import counting_sections

        sections = counting_sections(lm, ids, log_p, words)
    names = {"mixture": "mixture", "ngram": "counting"}
    window, top, outcome = _base(lm, ids, naming, log_p, words)
    return Trace(names.get(kind, "model"), _summary(lm), window, tuple(sections), log_p, top, outcome, parts=parts)


def part_window(part: LanguageModel, ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """The end of the window that a part of a mixture reads."""
    return ids[len(ids) - part.context :]


def _trace_network(
    lm: LanguageModel, ids: NDArray[np.int64], naming: _Naming, target: int | None, choices: _Choices
) -> Trace:
    network = Network.of(lm)
    forward = network.forward(ids)
    words = Words(naming.name, _shown(forward.log_p, target, choices.top), target, choices.units)
    update = None if target is None else updating.update(network, forward, words, choices.lr)
    window, top, outcome = _base(lm, ids, naming, forward.log_p, words)
    sections = tuple(prediction.sections(network, forward, words))
    return Trace(
        "network",
        _summary(lm),
        window,
        sections,
        forward.log_p,
        top,
        outcome,
        update,
        network=network,
        forward=forward,
        row_of=naming.row_of,
    )


def _base(
    lm: LanguageModel, ids: NDArray[np.int64], naming: _Naming, log_p: Floats, words: Words
) -> tuple[tuple[Place, ...], tuple[Outcome, ...], Outcome | None]:
    window = tuple(Place(prediction.place_name(i, len(ids)), int(w), naming.name(int(w))) for i, w in enumerate(ids))
    top = tuple(_outcome(log_p, w, naming.name) for w in words.shown)
    return window, top, None if words.target is None else _outcome(log_p, words.target, naming.name)


def _outcome(log_p: Floats, token: int, name: Callable[[int], str]) -> Outcome:
    nats = -float(log_p[token])
    rank = 1 + int((log_p > log_p[token]).sum())
    return Outcome(name(token), token, float(np.exp(-nats)), rank, nats, nats / float(np.log(2)))


def _shown(log_p: Floats, target: int | None, top: int) -> tuple[int, ...]:
    best = [int(i) for i in np.argsort(-log_p, kind="stable")[:top]]
    return tuple(best if target is None or target in best else [*best, target])


def _summary(lm: LanguageModel) -> str:
    config: dict[str, Any] = lm.config() if hasattr(lm, "config") else {}
    if getattr(lm, "kind", "") == "nplm":
        hidden = config["d_hidden"]
        sizes = f"V {lm.vocab_size}, c {lm.context}, m {config['d_emb']}, h {hidden}"
        options = [config["activation"] if hidden else "no hidden layer", "direct path" if config["direct"] else ""]
        options += ["tied" if config["tie"] else ""]
        return f"a network: {sizes}, {', '.join(option for option in options if option)}"
    if getattr(lm, "kind", "") == "ngram":
        return f"a counting model: {config.get('smoothing', 'n-gram')}, order {lm.context + 1}, V {lm.vocab_size}"
    return f"{'a mixture' if hasattr(lm, 'parts') else type(lm).__name__}: V {lm.vocab_size}, c {lm.context}"


def _read(
    model: Traced, context: str | Sequence[int] | NDArray[np.int64]
) -> tuple[NDArray[np.int64], LanguageModel, Callable[[int], str], Callable[[str], int | None]]:
    """The window's ids, the model over ids, and how its words are named and found."""
    if isinstance(model, LanguageModel):
        if isinstance(context, str):
            raise InputError(f"context {context!r} is text: this model reads ids; give ids, or a TextModel")
        return _last(model, context), model, str, lambda text: None
    text_model = model
    ids = text_model.window(context) if isinstance(context, str) else _last(text_model.model, context)

    def row_of(text: str) -> int | None:
        from neuralgram.tracing.words import word_id

        return word_id(text_model, text)

    return ids, text_model.model, text_model.symbol, row_of


def _last(lm: LanguageModel, context: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    ids = as_ids(context, lm.vocab_size)
    if ids.ndim != 1 or len(ids) < lm.context:
        raise InputError(f"context of shape {list(ids.shape)}: expected at least {lm.context} ids, oldest first")
    return ids[len(ids) - lm.context :]


def _target(model: Traced, lm: LanguageModel, target: str | int | None) -> int | None:
    if target is None:
        return None
    if not isinstance(target, str):
        return int(as_ids([target], lm.vocab_size)[0])
    if isinstance(model, LanguageModel):
        raise InputError(f"target {target!r} is text: this model knows ids; give an id, or a TextModel")
    from neuralgram.tracing.words import one_token

    return one_token(model, target)
