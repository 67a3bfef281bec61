"""The benchmarks' pictures: ratios with their targets, and curves. Colours are safe for the colour-blind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure, missing, shown
from neuralgram.evaluation.plots import BLUE, GREEN, ORANGE

_COLOURS = (BLUE, ORANGE, GREEN, "#CC79A7", "#56B4E9", "#E69F00")  # Okabe & Ito
_STYLES = ("o", "s", "^", "D", "v", "P")


def ratios(lines: Sequence[Sequence[Figure]], path: Path) -> None:
    """Draw measured figures that have a target on a logarithmic axis of ratios, each with its target as a mark.

    A line's figures differ in threads. What is no ratio (tokens/s, µs, %) is drawn as a multiple of its target.
    """
    drawn = [line for line in ([one for one in line if _placed(one)] for line in lines) if line]
    figure, axes = _figure(9, 1.1 + 0.24 * max(len(drawn), 1))
    for place, line in enumerate(drawn):
        for one in line:
            colour = ORANGE if missing(one) else BLUE
            face = colour if one.threads == 1 else "white"
            axes.plot(_ratio(one)[0], place, "X" if missing(one) else "o", color=colour, mfc=face, ms=6, zorder=3)
        axes.plot(_ratio(line[0])[1], place, "|", color="black", ms=12, mew=2)
    axes.set_yticks(range(len(drawn)), [_label(line[0]) for line in drawn], fontsize=7)
    axes.set_ylim(len(drawn) - 0.5, -0.5)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    keys = {"target": ("|", "black", "black"), "met": ("o", BLUE, BLUE), "missed": ("X", ORANGE, ORANGE),
            "hollow: 2 threads": ("o", BLUE, "white")}  # fmt: skip
    for label, (marker, colour, face) in keys.items():
        axes.plot([], [], marker, color=colour, mfc=face, label=label, mew=2 if marker == "|" else 1)
    figure.legend(ncols=4, fontsize=8, frameon=False, loc="outside upper right")
    axes.set_xlabel("ratio")
    axes.grid(color="#e5e5e5", lw=0.6)
    _save(figure, path)


def _placed(figure: Figure) -> bool:
    """Whether it has a place on the axis."""
    return missing(figure) is not None and (figure.value or 0.0) > 0


def _ratio(figure: Figure) -> tuple[float, float]:
    """Value and target as drawn."""
    value, target = figure.value or 0.0, figure.target or 1.0
    return (value, target) if figure.unit == "×" else (value / target, 1.0)


def _label(figure: Figure) -> str:
    told = f" ({figure.precision})" if figure.precision == "bf16" else ""
    over = "" if figure.unit == "×" else f", over {shown(figure.target, figure.unit)}"
    return f"{figure.row}. {figure.what.replace('`', '')}{told}{over}"


def curves(lines: Mapping[str, Sequence[tuple[float, float]]], path: Path) -> None:
    """Draw perplexity against training seconds, both logarithmic, a curve a head."""
    figure, axes = _figure(7.5, 4.5)
    for (name, points), colour, style in zip(lines.items(), _COLOURS, _STYLES, strict=False):
        axes.plot(*zip(*points, strict=True), color=colour, marker=style, ms=4, lw=1.5, label=name)
    axes.set(xlabel="training seconds, one thread", ylabel="validation perplexity", xscale="log", yscale="log")
    from matplotlib.ticker import LogFormatter

    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter(LogFormatter(labelOnlyBase=False, minor_thresholds=(2, 1)))
    axes.grid(which="both", color="#e5e5e5", lw=0.6)
    axes.legend(frameon=False)
    _save(figure, path)


def _figure(width: float, height: float) -> tuple[Any, Any]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(width, height), dpi=100, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _save(figure: Any, path: Path) -> None:
    """As a PNG of few colours: a third of the size, and nothing is lost."""
    from PIL import Image

    drawn = BytesIO()
    figure.savefig(drawn, format="png")
    Image.open(drawn).convert("RGB").quantize(64).save(path, optimize=True)
