"""How charts look: colours that the colour-blind can tell apart, also by dash and shape, on light and on dark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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

Options = dict[str, Any]


def lines(x_name: str) -> Options:
    """An empty line chart; what its y axis is stands above it, beside the legend it would cover it."""
    return {
        "animation": False,
        "grid": {"left": 46, "right": 16, "top": 36, "bottom": 44},
        "legend": {"type": "scroll", "top": 2, "left": 0, "right": 0, "itemWidth": 22, "itemGap": 9},
        "tooltip": {"trigger": "axis", "confine": True},
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
        "showSymbol": len(points) < 3,
        "symbolSize": 6,
        "lineStyle": {"color": colour, "width": 2, "type": dash},
        "itemStyle": {"color": colour},
    }


def level(name: str, value: float, until: float, colour: str, dash: str) -> Options:
    """A horizontal line, as a curve so that it has its place in the legend."""
    return line(name, [(0, value), (max(until, 1), value)], colour, dash) | {"showSymbol": False}


def scatter() -> Options:
    """An empty map of vectors; both axes have one scale, and no numbers, since only distances mean something."""
    axis = {"type": "value", "axisLabel": {"show": False}, "splitLine": {"lineStyle": {"color": _FAINT}}}
    quiet = {"axisLine": {"lineStyle": {"color": _FAINT}}, "axisTick": {"show": False}}
    return {
        "animation": False,
        "grid": {"left": 8, "right": 8, "top": 36, "bottom": 8},
        "legend": {"type": "scroll", "top": 4, "itemWidth": 14, "itemHeight": 12},
        "tooltip": {"trigger": "item", "confine": True, "formatter": "{b}"},
        "xAxis": axis | quiet | {"min": -1, "max": 1},
        "yAxis": axis | quiet | {"min": -1, "max": 1},
        "series": [],
    }


def dots(name: str, points: Sequence[tuple[str, float, float]], colour: str, shape: str) -> Options:
    """Labelled points of one kind."""
    return {
        "name": name,
        "type": "scatter",
        "symbol": shape,
        "symbolSize": 10,
        "itemStyle": {"color": colour},
        "label": {"show": True, "position": "right", "formatter": "{b}", "fontSize": 12},
        "labelLayout": {"moveOverlap": "shiftY"},
        "data": [{"name": label, "value": [x, y]} for label, x, y in points],
    }


def _axis(name: str, more: Options) -> Options:
    return {
        "name": name,
        "axisLine": {"show": True, "lineStyle": {"color": "#888888"}},
        "splitLine": {"lineStyle": {"color": _FAINT}},
    } | more
