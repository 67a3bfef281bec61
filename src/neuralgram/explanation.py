"""What a model tells of one prediction: panels of numbers, each with how it is made, for whoever shows them.

A model knows ids. Where a word stands in a name or a formula, the model gets `spelled` at the time of showing: the way
a token is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from neuralgram.numbers import bracketed, number

Floats: TypeAlias = NDArray[np.float64]
Index: TypeAlias = tuple[int, ...]
Spelled: TypeAlias = Callable[[int], str]
Opened: TypeAlias = Callable[[Index, Spelled], tuple[str, str]]

_WHOLE = 6  # tokens of a context that are written out
_TERMS = 12  # products a formula writes out; the rest is given as their sum


@dataclass(frozen=True, eq=False)
class Quantity:
    """Numbers of one kind: one [], a row each [R], or a table [R, K].

    formula   how each is made of the `inputs` at its place, their names in braces: `{P(cluster)}·{P in it}`; an input
              with fewer dimensions is read at the leading ones. "" where the numbers are simply there.
    product   in a formula's place, the names of two inputs, a table [R, K] and [K], whose product it is; of three
              inputs, the first, [R], is added to it
    opened    in a formula's place, where formulas follow no pattern: `opened(index, spelled)` gives that of the number
              at `index`, and the same with its numbers filled in
    columns   names of K columns; `columns(spelled)` where words are among them
    note      a sentence beside it
    """

    name: str
    value: Floats
    equation: str = ""
    formula: str = ""
    inputs: Mapping[str, Floats] = field(default_factory=dict)
    product: tuple[str, ...] | None = None
    opened: Opened | None = None
    columns: Sequence[str] | Callable[[Spelled], Sequence[str]] = ()
    note: str = ""


@dataclass(frozen=True, eq=False)
class Panel:
    """Quantities over the same rows.

    rows    their names; `rows(i, spelled)` where words are among them; None where they are the tokens, [V]
    about   the token that the title ends with, if any
    marks   a few words beside a row
    row_of  the row each token belongs to, [V], where only those of the tokens looked at are worth showing
    weight  how much each row matters, [R], where only some may be shown; `most` says which: "units that are largest"
    """

    title: str
    quantities: tuple[Quantity, ...]
    rows: Sequence[str] | Callable[[int, Spelled], str] | None = None
    row_name: str = "word"
    text: str = ""
    about: int | None = None
    marks: Mapping[int, str] = field(default_factory=dict)
    row_of: NDArray[np.int64] | None = None
    weight: Floats | None = None
    most: str = ""

    def over(self, groups: NDArray[np.int64], named: Callable[[int, Spelled], str]) -> Panel:
        """A panel made over groups of tokens, for a model over the tokens: `groups` [V] is the group of each token,
        `named(group, spelled)` writes one."""

        def written(spelled: Spelled) -> Spelled:
            return lambda group: named(group, spelled)

        quantities = tuple(_written(quantity, written) for quantity in self.quantities)
        rows = self.rows
        if rows is None:
            return replace(self, quantities=quantities, rows=named, row_of=groups)
        if callable(rows):
            return replace(self, quantities=quantities, rows=lambda i, spelled: rows(i, written(spelled)))
        return replace(self, quantities=quantities)


def _written(quantity: Quantity, written: Callable[[Spelled], Spelled]) -> Quantity:
    """The same quantity, its tokens spelled another way."""
    opened, columns = quantity.opened, quantity.columns
    if opened is not None:
        quantity = replace(quantity, opened=lambda index, spelled: opened(index, written(spelled)))
    if callable(columns):
        quantity = replace(quantity, columns=lambda spelled: columns(written(spelled)))
    return quantity


def ending(ids: NDArray[np.int64]) -> Callable[[int, Spelled], str]:
    """Names of rows that are contexts: row j is the last j tokens of the window `ids`."""
    return lambda j, spelled: history(ids, j, spelled)


def history(ids: NDArray[np.int64], length: int, spelled: Spelled) -> str:
    """The last `length` tokens of the window `ids`, as one reads them; of many the first and the last three."""
    if not length:
        return "(no context)"
    found = [spelled(int(w)) for w in ids[len(ids) - length :]]
    if length <= _WHOLE:
        return " ".join(found)
    return f"{found[0]} … {' '.join(found[-3:])} ({length} tokens)"


def products(left: Floats, right: Floats) -> list[str]:
    """The products `left[k]·right[k]` as text; of many only the largest, and what the others add up to."""
    values = left * right
    keep = set(np.argsort(-np.abs(values), kind="stable")[:_TERMS].tolist())
    texts = [f"{bracketed(float(left[k]))}·{bracketed(float(right[k]))}" for k in sorted(keep)]
    rest = [k for k in range(len(values)) if k not in keep]
    if rest:
        texts.append(f"({len(rest)} smaller terms: {number(float(values[rest].sum()))})")
    return texts
