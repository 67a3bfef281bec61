"""What a lesson is: a few paragraphs, numbers that can be changed, and sections worked out from them.

A lesson run with its own numbers prints the figures it is known for and checks each of them; with numbers
changed it says beside each figure what it has become. Terminal, notebook and web page show the same `Page`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from neuralgram.errors import InputError
from neuralgram.numbers import number
from neuralgram.tracing import render
from neuralgram.tracing.names import locate
from neuralgram.tracing.steps import Check, Floats, Formula, Section, Step

Change: TypeAlias = tuple[str, float | str]
Values: TypeAlias = Mapping[str, Floats]


_WANTED: ContextVar[Callable[[], bool]] = ContextVar("wanted", default=lambda: True)


class AbandonedError(Exception):
    """A lesson that trains was left before it had ended."""


@contextmanager
def while_wanted(wanted: Callable[[], bool]) -> Iterator[None]:
    """In here a lesson that trains ends with an `AbandonedError` as soon as `wanted` says no."""
    before = _WANTED.set(wanted)
    try:
        yield
    finally:
        _WANTED.reset(before)


def check_wanted() -> None:
    """To be called between two updates."""
    if not _WANTED.get()():
        raise AbandonedError("the lesson was left before it had ended: ask for it again")


@dataclass(frozen=True, eq=False)
class Parameter:
    """Numbers a reader may change: an array of any shape.

    rows     what its rows are called; `C[cat][0]` then names the same number as `C[1][0]`
    words    where its numbers are words, the words: `window[1]=dog`
    whole    where only whole numbers make sense
    least    and `most`: how far they may go; so far that nothing overflows on the way, unless a lesson says otherwise
    """

    value: Floats
    what: str
    rows: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    whole: bool = False
    least: float = -1e6
    most: float = 1e6

    def checked(self, name: str, value: float | str) -> float:
        """`value` as a number this parameter can take, or an `InputError`."""
        if isinstance(value, str):
            if value not in self.words:
                raise InputError(f"{name} = {value}: expected {_kinds(self)}")
            return float(self.words.index(value))
        low, high = (0.0, len(self.words) - 1.0) if self.words else (self.least, self.most)
        if not np.isfinite(value) or not low <= value <= high or ((self.whole or self.words) and value % 1):
            raise InputError(f"{name} = {value:g}: expected {_kinds(self)}")
        return float(value)

    def to_json(self) -> dict[str, Any]:
        """JSON values: what a page needs to offer the numbers for change."""
        return {
            "value": self.value.tolist(),
            "what": self.what,
            "rows": list(self.rows),
            "words": list(self.words),
            "whole": self.whole,
            "least": self.least,
            "most": self.most,
        }


def _kinds(parameter: Parameter) -> str:
    if parameter.words:
        return f"one of {', '.join(parameter.words)}"
    kind = "a whole number" if parameter.whole else "a number"
    return f"{kind} from {number(parameter.least)} to {number(parameter.most)}"


def numbers(value: Any, what: str, **options: Any) -> Parameter:
    """A `Parameter` from nested lists."""
    return Parameter(np.asarray(value, np.float64), what, **options)


@dataclass(frozen=True, eq=False)
class Lesson:
    """One worked example.

    name        how it is asked for
    text        paragraphs, in plain words
    parameters  the numbers that can be changed, by name
    build       makes the sections from the numbers; raises `InputError` for numbers that make no sense
    seconds     about how long it takes, where it trains something
    """

    name: str
    title: str
    summary: str
    text: str
    parameters: Mapping[str, Parameter]
    build: Callable[[Values], Sequence[Section]]
    seconds: float = 0.0

    def run(self, changes: Sequence[Change] = ()) -> Page:
        """The lesson worked out, with `changes` made: pairs of a place (`H[0][1]`) and a number or word."""
        values, changed = self.changed(changes)
        return Page(self, values, changed, tuple(self.build(values)))

    def changed(self, changes: Sequence[Change]) -> tuple[dict[str, Floats], tuple[str, ...]]:
        """The numbers with `changes` made, and each change as text. `InputError` for a place or number amiss."""
        values = {name: p.value.copy() for name, p in self.parameters.items()}
        made = []
        for place, value in changes:
            if not values:
                raise InputError(f"{place}: lesson {self.name!r} has no numbers to change")
            name, index = locate(place, values, self._row_of, letters=False, words=self._words)
            values[name][index] = self.parameters[name].checked(place, value)
            made.append(f"{place} = {value}" if isinstance(value, str) else f"{place} = {value:.10g}")
        return values, tuple(made)

    def differences(self, values: Values) -> dict[str, float | str]:
        """What was changed to get `values`: a number or word for every place that is not as published."""
        found: dict[str, float | str] = {}
        for name, parameter in self.parameters.items():
            for index in np.argwhere(values[name] != parameter.value).tolist():
                value = float(values[name][tuple(index)])
                place = name + "".join(f"[{i}]" for i in index)
                found[place] = parameter.words[int(value)] if parameter.words else value
        return found

    def _words(self, name: str) -> tuple[str, ...]:
        return self.parameters[name].rows

    def _row_of(self, name: str, text: str) -> int | None:
        rows = self.parameters[name].rows
        return rows.index(text) if text in rows else None

    def _repr_html_(self) -> str:
        return self.run()._repr_html_()


@dataclass(frozen=True, eq=False)
class Page:
    """A lesson worked out with some numbers."""

    lesson: Lesson
    values: Values
    changed: tuple[str, ...]
    sections: tuple[Section, ...] = field(default=())

    @property
    def checks(self) -> list[Check]:
        """Every figure of the original beside what came out here."""
        return [check for section in self.sections for check in section.checks]

    @property
    def subtitle(self) -> str:
        """The lesson's text, and what was changed."""
        return paragraphs(self.lesson.text) + (f"\n\nChanged: {', '.join(self.changed)}" if self.changed else "")

    def step(self, name: str) -> Step:
        """The first step of that name."""
        for section in self.sections:
            for step in section.steps:
                if step.name == name:
                    return step
        names = dict.fromkeys(step.name for section in self.sections for step in section.steps)
        raise InputError(f"no step {name!r} in lesson {self.lesson.name!r}: expected one of {', '.join(names)}")

    def formula(self, name: str, *index: int) -> Formula:
        """One number opened: `page.formula("a", 0)`."""
        return self.step(name).explain(index)

    def render(self, width: int = 100) -> str:
        """The page as text for a terminal."""
        return render.to_text(self.lesson.title, self.sections, subtitle=self.subtitle, width=width)

    def to_json(self) -> dict[str, Any]:
        """JSON values."""
        parameters = {
            name: {**p.to_json(), "value": self.values[name].tolist()} for name, p in self.lesson.parameters.items()
        }
        return {
            "name": self.lesson.name,
            "title": self.lesson.title,
            "summary": self.lesson.summary,
            "text": paragraphs(self.lesson.text),
            "changed": list(self.changed),
            "parameters": parameters,
            "sections": [section.to_json() for section in self.sections],
        }

    def _repr_html_(self) -> str:
        return render.to_html(self.lesson.title, self.sections, subtitle=self.subtitle)


def relation(what: str, holds: bool, numbers: str) -> Check:
    """A check of how numbers stand to each other; `numbers` says it with them filled in."""
    return Check(what, float(holds), 1.0, 0.0, numbers)


def paragraphs(text: str) -> str:
    """Text whose lines were broken in the source, one line a paragraph."""
    return "\n\n".join(" ".join(part.split()) for part in text.strip().split("\n\n"))


def figures(what: str, values: Any, expected: Any, tolerance: float = 5e-5, names: Sequence[str] = ()) -> list[Check]:
    """Checks of one number or a row of them; `names` tell the entries apart."""
    got, known = np.atleast_1d(np.asarray(values, np.float64)), np.atleast_1d(np.asarray(expected, np.float64))
    single = known.size == 1
    return [
        Check(what if single else f"{what}[{names[i] if names else i}]", float(g), float(k), tolerance)
        for i, (g, k) in enumerate(zip(got.ravel(), known.ravel(), strict=True))
    ]
