"""What a model tells of one prediction: panels of numbers, each with how it is made, for whoever shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

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
