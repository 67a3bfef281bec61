"""What a head tells of one prediction: panels of numbers, each with how it is made, for whoever shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Quantity:
    """Numbers of one kind: one [], a row each [R], or a table [R, K].

    formula   how each is made of the `inputs` at its place, their names in braces: `{P(cluster)}·{P in it}`; an input
              with fewer dimensions is read at the leading ones. "" where the numbers are simply there.
    product   in a formula's place, the names of two inputs, a table [R, K] and [K], whose product it is
    columns   names of K columns
    """

    name: str
    value: Floats
    equation: str = ""
    formula: str = ""
    inputs: Mapping[str, Floats] = field(default_factory=dict)
    product: tuple[str, str] | None = None
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Panel:
    """Quantities over the same rows.

    rows    their names; None where they are the tokens, [V]
    about   the token that the title ends with, if any
    """

    title: str
    quantities: tuple[Quantity, ...]
    rows: tuple[str, ...] | None = None
    row_name: str = "word"
    text: str = ""
    about: int | None = None


def scored(parts: Mapping[str, Tensor], f_F: Tensor, bias_R: Tensor, name: str = "y") -> tuple[Quantity, ...]:
    """b, the contribution of each part of f, and their sum: b + Ua + Wx, as quantities [R].

    `parts` name the vectors [R, F_i] that meet the columns of f in turn: "Ua", "Wx".
    """
    found = {"b": numbers(bias_R)}
    start = 0
    for letter, vectors in parts.items():
        stop = start + vectors.shape[1]
        found[letter] = numbers(vectors @ f_F[start:stop])
        start = stop
    given = [Quantity(letter, values) for letter, values in found.items()]
    formula = " + ".join("{" + letter + "}" for letter in found)
    total = np.sum(list(found.values()), axis=0)
    return (*given, Quantity(name, total, formula=formula, inputs=found))


def letters(own: int, tied: bool, shared: Sequence[Any]) -> tuple[str, ...]:
    """What the parts of an output vector make with f: Ua or, tied, Ca; then Wx of the direct path."""
    first = ("Ua",) if own else ("Ca",) if tied else ()
    return (*first, *["Wx"] * (len(shared) - tied))


def numbers(values: Tensor) -> Floats:
    """As NumPy, float64."""
    out: Floats = values.detach().cpu().double().numpy()
    return out
