"""How charts look: colours that the colour-blind can tell apart, also by dash and shape, on light and on dark.

On a map, names stand so that they cover neither each other nor the points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

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


# Okabe & Ito (2008).
BLUE, ORANGE, GREEN, RED, PURPLE, SKY, GREY = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#7F7F7F",
)
SHAPES = ("circle", "rect", "triangle", "diamond", "pin", "arrow", "roundRect")
_FAINT = "#88888855"
_LEGEND = {"type": "scroll", "top": 2, "left": 0, "right": 0, "itemWidth": 24, "itemGap": 8}
_NAME = {"show": True, "formatter": "{b}", "fontSize": 12, "color": "#888888", "textBorderWidth": 0}
_SMALL = 12  # a larger point is one that is looked at

Options = dict[str, Any]


def lines(x_name: str) -> Options:
    """An empty line chart; what its y axis is stands above it, beside the legend it would cover it."""
    return {
        "animation": False,
        "grid": {"left": 46, "right": 16, "top": 36, "bottom": 44},
        "legend": _LEGEND | {"itemStyle": {"opacity": 0}},  # the dashes alone
        "tooltip": {
            "trigger": "axis",
            "confine": True,
            ":valueFormatter": "v => typeof v == 'number' ? v.toFixed(4) : v",
        },
        "xAxis": _axis(x_name, {"type": "value", "nameLocation": "middle", "nameGap": 28, "min": 0}),
        "yAxis": _axis("", {"type": "value", "scale": True}),
        "series": [],
    }


def line(name: str, points: Sequence[tuple[float, float]], colour: str, dash: str = "solid") -> Options:
    """One curve."""
    return {
        "name": name,
        "type": "line",
        "data": [list(point) for point in points],
        "symbol": "circle" if len(points) < 3 else "none",
        "symbolSize": 6,
        "lineStyle": {"color": colour, "width": 2, "type": dash},
        "itemStyle": {"color": colour},
    }


def level(name: str, value: float, until: float, colour: str, dash: str) -> Options:
    """A horizontal line, as a curve so that it has its place in the legend."""
    return line(name, [(0, value), (max(until, 1), value)], colour, dash) | {"symbol": "none"}


def tokens() -> Options:
    """An empty chart over the tokens of a text, one curve a model."""
    named = {"type": "category", "data": [], "axisLabel": {"rotate": 50, "hideOverlap": True}}
    grid = {"left": 40, "right": 12, "top": 34, "bottom": 62}
    axes = {"xAxis": _axis("", named), "yAxis": _axis("", {"type": "value", "min": 0})}
    return lines("") | axes | {"grid": grid, "legend": _LEGEND}


def scatter() -> Options:
    """An empty map of vectors: both axes have one scale, and no numbers, since only distances mean something."""
    quiet = {"axisLabel": {"show": False}, "splitLine": {"show": False}, "axisTick": {"show": False}}
    axis = {"type": "value", "axisLine": {"lineStyle": {"color": _FAINT}}, "min": -1, "max": 1} | quiet
    return {
        "animation": False,
        "grid": {"left": 20, "right": 20, "top": 32, "bottom": 8, "show": True, "borderColor": _FAINT},
        "legend": {"type": "scroll", "top": 2, "itemWidth": 14, "itemHeight": 12},
        "tooltip": {"trigger": "item", "confine": True, "formatter": "{b}"},
        "xAxis": dict(axis),
        "yAxis": dict(axis),
        "series": [],
    }


class Kind(NamedTuple):
    """How the points of one kind look; what is looked at is larger than the rest, and ringed."""

    colour: str
    shape: str
    size: int = 10


class Dots:
    """The points of a map, named where there is room. `kinds` are in the order of the legend."""

    def __init__(self, kinds: Mapping[str, Kind]) -> None:
        self.kinds = kinds
        self._labels = Labels()

    def draw(self, points: Sequence[Dot], reach: tuple[float, float]) -> list[Options]:
        """A series a kind that has points; `reach` is where both axes begin and end."""
        low, high = reach
        share = [((p.x - low) / (high - low), (p.y - low) / (high - low)) for p in points]
        placed = [Point(p.name, *at, self.kinds[p.kind].size) for p, at in zip(points, share, strict=True)]
        sides = self._labels.place(placed)
        series = []
        for name, kind in self.kinds.items():
            data = [_dot(p, side) for p, side in zip(points, sides, strict=True) if p.kind == name]
            if data:
                series.append(_dots(name, kind, data))
        return series


class Dot(NamedTuple):
    """A point of a map: its name, its kind, its place."""

    name: str
    kind: str
    x: float
    y: float


def _dot(p: Dot, side: str) -> Options:
    return {"name": p.name, "value": [round(p.x, 4), round(p.y, 4)], "label": {"position": side}}


def _dots(name: str, kind: Kind, data: list[Options]) -> Options:
    ringed = {"borderColor": "#888888", "borderWidth": 2} if kind.size > _SMALL else {}
    return {
        "name": name,
        "type": "scatter",
        "symbol": kind.shape,
        "symbolSize": kind.size,
        "itemStyle": {"color": kind.colour, "opacity": 1} | ringed,
        "label": _NAME | {"fontWeight": "bold" if ringed else "normal"},
        "labelLayout": {"hideOverlap": True},
        "z": 3 if ringed else 2,
        "data": data,
    }


def _axis(name: str, more: Options) -> Options:
    return {
        "name": name,
        "axisLine": {"show": True, "lineStyle": {"color": "#888888"}},
        "splitLine": {"lineStyle": {"color": _FAINT}},
    } | more
