"""What a trace is: one prediction, step by step, and with a target what it teaches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import InputError
from neuralgram.lm import LanguageModel
from neuralgram.neural.reference import Forward, Network
from neuralgram.text.tokenizers.base import visible
from neuralgram.tracing import render
from neuralgram.tracing import update as updating
from neuralgram.tracing.learning import Difference, finite_differences
from neuralgram.tracing.steps import Floats, Formula, Section, Step


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


def network_of(model: LanguageModel) -> Network | None:
    """A network's weights in float64; None of a model that is none."""
    return cast("_HasNetwork", model).network() if model.kind == "nplm" else None


class _HasNetwork(Protocol):
    def network(self) -> Network: ...


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
    name         the model in a few words
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
    name: str
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
        words = " ".join(visible(place.symbol) for place in self.window) or "(nothing read)"
        return f"{words} → {visible(self.target.symbol) if self.target else '?'}"

    @property
    def all_sections(self) -> tuple[Section, ...]:
        """Prediction, then update, then the parts of a mixture, each under its name."""
        update = self.update.sections if self.update else ()
        parts = tuple(
            replace(section, title=f"p{i}, {part.trace.name}: {section.title}")
            for i, part in enumerate(self.parts, 1)
            for section in part.trace.all_sections
        )
        return self.sections + update + parts

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
            return None if rows is None else next((i for i in range(count) if rows(i) in (text, visible(text))), None)

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
        by_word = self.network is not None and name in ("emb.weight", *self.network.by_token)
        return self.row_of(text) if by_word else None

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
            f"{self.summary}\nP({visible(t.symbol)}) = {t.probability:.4f}, rank {t.rank} of {len(self.log_p)}, "
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
