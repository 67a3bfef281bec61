"""Where the names of a map's points stand, so that they cover neither each other nor the points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_SIDES = {"right": (1, 0), "left": (-1, 0), "top": (0, -1), "bottom": (0, 1)}
_WIDE, _HIGH, _GAP = 7.0, 14.0, 4.0  # pixels of a character, of a line, between point and name
_SIZE = 400.0  # pixels of a map's side, between a phone's and a desk's

Boxes = NDArray[np.float64]  # [N, 4]: left, top, right, bottom, in pixels


class Point(NamedTuple):
    """A point from 0 to 1 in both directions, y upwards; `size` is its symbol's, in pixels."""

    name: str
    x: float
    y: float
    size: float


class Labels:
    """Chooses a side for every name; a name that stands well stays where it was in the frame before."""

    def __init__(self) -> None:
        self._sides: dict[str, str] = {}

    def place(self, points: Sequence[Point]) -> list[str]:
        """`right`, `left`, `top` or `bottom` for each point; the largest choose first."""
        centres = np.array([(p.x * _SIZE, (1 - p.y) * _SIZE) for p in points]).reshape(-1, 2)
        half = np.array([p.size / 2 for p in points])[:, None]
        symbols = np.hstack([centres - half, centres + half])
        taken: list[NDArray[np.float64]] = []
        sides = [""] * len(points)
        for i in sorted(range(len(points)), key=lambda i: -points[i].size):
            before = self._sides.get(points[i].name, "right")
            tried = [before, *(side for side in _SIDES if side != before)]
            boxes = [_box(centres[i], half[i, 0], len(points[i].name), side) for side in tried]
            others = np.vstack([np.delete(symbols, i, axis=0), *taken]) if taken else np.delete(symbols, i, axis=0)
            costs = [_overlap(box, others) + _outside(box) for box in boxes]
            best = int(np.argmin(costs))
            sides[i] = tried[best]
            taken.append(boxes[best][None, :])
        self._sides = {point.name: side for point, side in zip(points, sides, strict=True)}
        return sides


def _box(centre: NDArray[np.float64], half: float, characters: int, side: str) -> NDArray[np.float64]:
    right, down = _SIDES[side]
    wide, high = characters * _WIDE, _HIGH
    x = centre[0] + right * (half + _GAP + wide / 2)
    y = centre[1] + down * (half + _GAP + high / 2)
    return np.array([x - wide / 2, y - high / 2, x + wide / 2, y + high / 2])


def _overlap(box: NDArray[np.float64], others: Boxes) -> float:
    """How much of the other boxes `box` covers, in square pixels."""
    wide = np.minimum(box[2], others[:, 2]) - np.maximum(box[0], others[:, 0])
    high = np.minimum(box[3], others[:, 3]) - np.maximum(box[1], others[:, 1])
    return float((np.clip(wide, 0, None) * np.clip(high, 0, None)).sum())


def _outside(box: NDArray[np.float64]) -> float:
    inside = np.clip(box, 0, _SIZE)
    return float((box[2] - box[0]) * (box[3] - box[1]) - (inside[2] - inside[0]) * (inside[3] - inside[1]))
