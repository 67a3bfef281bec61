"""How charts look: colours that the colour-blind can tell apart, also by dash and shape, on light and on dark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from neuralgram.serving.explorer.labels import Labels, Point

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
