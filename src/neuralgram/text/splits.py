"""Splits: which part of a text is for training, which for validation, which for the test.

`0.9,0.05,0.05` are fractions, `800000,200000,rest` counts: of tokens in a stream, which is cut contiguously, and of
units (lines or documents) elsewhere, which are assigned whole, by a permutation that the seed fixes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuralgram.errors import InputError, SplitError
from neuralgram.rng import generator
from neuralgram.text.shuffle import Permutation

PARTS = ("train", "valid", "test")
NO_PART = 255  # units that a split leaves out
REST = "rest"


@dataclass(frozen=True)
class Split:
    """Sizes of the parts in their order: all counts or all fractions, one of them perhaps `rest` (None).

    A part of 0, or one not named, does not exist; what the sizes leave over belongs to no part.
    """

    sizes: tuple[int | float | None, ...]

    def __post_init__(self) -> None:
        given = [size for size in self.sizes if size is not None]
        if not 1 <= len(self.sizes) <= len(PARTS) or len(self.sizes) - len(given) > 1:
            raise InputError(f"split {self}: expected one to three sizes, at most one of them {REST!r}")
        if len({type(size) for size in given if size != 0}) > 1:
            raise InputError(f"split {self}: expected all counts (800000,200000,rest) or all fractions (0.9,0.05,0.05)")
        if any(not 0 <= size < float("inf") for size in given):
            raise InputError(f"split {self}: expected sizes of 0 or more")
        if self.fractions and sum(given) > 1 + 1e-9:
            raise InputError(f"split {self}: the fractions add up to {sum(given):g}: expected at most 1")
        if self.sizes[0] == 1 and not self.fractions and None not in self.sizes and not any(self.sizes[1:]):
            raise InputError(f"split {self}: these are counts, one unit to train on; for all of it write {REST} or 1.0")
        if self.sizes[0] == 0:
            raise InputError(f"split {self}: expected a training part, the first, above 0")

    def __str__(self) -> str:
        return ",".join(REST if size is None else str(size) for size in self.sizes)

    @property
    def fractions(self) -> bool:
        """Whether the sizes are fractions of the whole."""
        return any(isinstance(size, float) and size != 0 for size in self.sizes)

    def bounds(self, total: int, unit: str) -> dict[str, tuple[int, int]]:
        """Part → (start, stop) of `total` tokens, units or bytes; `unit` is their plural, for errors.

        Raises `SplitError`, with the numbers, where there is too little text for a part.
        """
        sizes = [0 if size is None else size for size in self.sizes]
        given = sum(sizes)
        if not self.fractions and given > total:
            raise SplitError(
                f"split {self} of {total} {unit}: expected at least {given} (give more text or less sizes)"
            )
        whole = 1.0 if self.fractions else total
        ends = np.cumsum([whole - given if size is None else size for size in self.sizes])
        stops = [min(total, round(float(end) * total)) if self.fractions else int(end) for end in ends]
        found = {
            part: (start, stop)
            for part, size, start, stop in zip(PARTS, self.sizes, [0, *stops], stops, strict=False)
            if size != 0
        }
        empty = [part for part, (start, stop) in found.items() if start == stop]
        if empty:
            raise SplitError(
                f"split {self} of {total} {unit} leaves the {empty[0]} part empty: expected at least one of the {unit} "
                f"in each (give more text, other sizes, or separate files)"
            )
        return found


def parse_split(text: str) -> Split:
    """A split as written on the command line; a number with a point (or an exponent) is a fraction."""
    return Split(tuple(_size(word.strip(), text) for word in text.split(",")))


def _size(word: str, text: str) -> int | float | None:
    if word == REST:
        return None
    try:
        return int(word) if word.isdecimal() else float(word)
    except ValueError:
        raise InputError(f"split {text!r}: {word!r} is no size: expected such as 0.9,0.05,0.05 or 1000,rest") from None


def assign_units(units: int, split: Split, seed: int, unit: str) -> NDArray[np.uint8]:
    """The number of each unit's part (an index of `PARTS`, or 255 for none), uint8 [units]: whole units, at random.

    The same `units`, `split` and `seed` give the same parts for ever.
    """
    parts = np.full(units, NO_PART, np.uint8)
    bounds = split.bounds(units, unit)
    shuffled = Permutation(units, generator(seed, "split").next_uint32()).take(0, units)
    for part, (start, stop) in bounds.items():
        parts[shuffled[start:stop]] = PARTS.index(part)
    return parts
