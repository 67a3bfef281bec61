"""The rows of C as a map that does not flip, a search among the tokens, and a table to take away."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_CHARACTERS = 1  # a model whose tokens are mostly single characters is shown as vowels and consonants
VOWELS = frozenset("aeiouAEIOU")


class Frame(NamedTuple):
    """One frame of the map: `xy` [N, 2] of the tokens `ids`, and the share of the variance that it shows."""

    ids: tuple[int, ...]
    xy: Floats
    share: float


class Map:
    """Frames of a moving map: each the plane of largest variance, turned to lie on the frame before it."""

    def __init__(self) -> None:
        self._last: Frame | None = None

    def reset(self) -> None:
        """The next frame has nothing to lie on."""
        self._last = None

    def frame(self, C: Floats, ids: Sequence[int]) -> Frame:
        """The tokens `ids` of C [V, m] in the plane."""
        rows = C[list(ids)]
        centred = rows - rows.mean(axis=0)
        xy, share = principal_plane(centred)
        if self._last is not None:
            xy = xy @ self._turn(tuple(ids), xy)
        self._last = Frame(tuple(ids), xy, share)
        return self._last

    def _turn(self, ids: tuple[int, ...], xy: Floats) -> Floats:
        """The rotation or reflection that brings the tokens both frames show closest to where they were."""
        before = dict(zip(self._last.ids, self._last.xy, strict=True)) if self._last else {}
        both = [i for i, token in enumerate(ids) if token in before]
        if len(both) < 2:
            return np.eye(2)
        return procrustes(xy[both], np.array([before[ids[i]] for i in both]))


def principal_plane(centred: Floats) -> tuple[Floats, float]:
    """Coordinates [N, 2] in the plane of largest variance, and the share of the variance in it."""
    xy = centred @ principal_axes(centred)
    total = float((centred**2).sum())
    return xy, float((xy**2).sum()) / total if total > 0 else 1.0


def principal_axes(centred: Floats) -> Floats:
    """The two directions of largest variance, [m, 2]; with two columns or fewer those themselves."""
    width = centred.shape[1]
    if width <= 2:
        return np.eye(width, 2)
    axes = np.linalg.svd(centred, full_matrices=True)[2]
    return np.asarray(axes[:2].T, np.float64)


def procrustes(source: Floats, target: Floats) -> Floats:
    """The orthogonal R [2, 2] for which source R lies closest to target (Schönemann 1966)."""
    left, _, right = np.linalg.svd(source.T @ target)
    return np.asarray(left @ right, np.float64)


def search(symbols: Sequence[str], text: str) -> list[int]:
    """Tokens whose symbol is, starts with, or contains `text`, in that order; the whole vocabulary is searched.

    Of those that differ in capitals alone, the one written as `text` comes first.
    """
    wanted = text.casefold()
    if not wanted:
        return []
    ranked = [
        (0 if s == wanted else 1 if s.startswith(wanted) else 2, text not in symbol, i)
        for i, symbol in enumerate(symbols)
        if wanted in (s := symbol.casefold())
    ]
    return [i for _, _, i in sorted(ranked)]


def by_character(symbols: Sequence[str]) -> bool:
    """Whether the tokens are single characters, so that vowels and consonants can be told apart."""
    return sum(len(symbol) <= _CHARACTERS for symbol in symbols) > 0.8 * len(symbols)


def kind_of(symbol: str) -> str:
    """vowel, consonant, or other."""
    if symbol in VOWELS:
        return "vowel"
    return "consonant" if len(symbol) == 1 and symbol.isalpha() else "other"


def to_tsv(C: Floats, name: Callable[[int], str]) -> str:
    """A line a token: its symbol and its m numbers, separated by tabs; tabs and line ends in a symbol are escaped."""
    lines = []
    for i, row in enumerate(C):
        symbol = name(i).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
        lines.append("\t".join([symbol, *(repr(float(np.float32(value))) for value in row)]))
    return "\n".join(lines) + "\n"
