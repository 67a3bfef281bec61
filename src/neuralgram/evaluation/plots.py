"""Pictures, drawn by matplotlib without a screen; colours are safe for the colour-blind (Okabe & Ito)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from neuralgram.evaluation.where import Breakdown

_LABELLED = 30  # groups: more labels than that cannot be read
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#666666"


def learning_curve(
    records: Sequence[Mapping[str, Any]], path: Path, *, vocab_size: int, references: Mapping[str, float] | None = None
) -> Path:
    """Draw training and held-out loss against steps into `path` (PNG).

    records     the run's log: {"step", "loss"} (nats, a running mean over the steps since the last one)
                and, where it was measured, "valid_nats"
    vocab_size  V; log V, what a model that knows nothing pays, is drawn as a line
    references  further horizontal lines: label -> nats
    """
    figure, axes = _figure()
    train = [(r["step"], r["loss"]) for r in records if r.get("loss") is not None]
    valid = [(r["step"], r["valid_nats"]) for r in records if r.get("valid_nats") is not None]
    if train:
        axes.plot(*zip(*train, strict=True), color=BLUE, lw=1.2, label="training (running mean)")
    if valid:
        axes.plot(*zip(*valid, strict=True), color=ORANGE, lw=1.8, marker="o", ms=3, label="held out")
        step, best = min(valid, key=lambda point: point[1])
        axes.annotate(
            f"{best:.3f} nats\nperplexity {math.exp(min(best, 700)):.4g}",
            (step, best),
            textcoords="offset points",
            xytext=(0, 14),
            ha="right" if train and step > 0.5 * train[-1][0] else "left",
            color=ORANGE,
        )
    axes.axhline(math.log(vocab_size), color=GREY, ls=":", lw=1, label=f"log V = {math.log(vocab_size):.2f}")
    for (label, nats), style in zip((references or {}).items(), ("--", "-.", (0, (1, 1))) * 4, strict=False):
        axes.axhline(nats, color=GREEN, ls=style, lw=1.2, label=f"{label}: {nats:.3f}")
    axes.set(xlabel="step", ylabel="loss, nats per token")
    axes.legend(loc="upper right", framealpha=1, edgecolor="none", bbox_to_anchor=(1, 0.93))
    return _save(figure, path)


def histogram(bins: Sequence[Mapping[str, float]], rule: Mapping[str, Any], path: Path) -> Path:
    """Draw how many units have which perplexity, `{"from", "units"}` a bin, and the bounds of what is kept."""
    figure, axes = _figure()
    edges = [row["from"] for row in bins]
    widths = [b - a for a, b in zip(edges, [*edges[1:], (edges[-1] if edges else 1.0) * 10 ** (1 / 6)], strict=True)]
    axes.bar(edges, [row["units"] for row in bins], width=widths, align="edge", color=BLUE, edgecolor="white")
    axes.set(xscale="log", xlabel="perplexity", ylabel="units")
    for name in ("low", "high", "head", "middle"):
        if (at := rule.get(name)) is not None and math.isfinite(at) and rule.get("of") != "difference":
            axes.axvline(at, color=ORANGE, ls="--", lw=1.5, label=f"{name}: {at:.4g}")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(framealpha=1, edgecolor="none")
    return _save(figure, path)


def comparison(bars: Sequence[Bar], breakdowns: Sequence[Breakdown], path: Path, *, title: str = "perplexity") -> Path:
    """Draw models as bars of perplexity, and below them where they differ, into `path` (PNG).

    breakdowns  lines of nats per token; what has more than 30 groups is drawn in order, without their labels
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = 1 + len(breakdowns)
    figure = Figure(figsize=(9, 1.4 + 0.34 * len(bars) + 3.2 * len(breakdowns)), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    heights = [1.0 + 0.34 * len(bars)] + [3.2] * len(breakdowns)
    axes = figure.subplots(rows, 1, squeeze=False, height_ratios=heights)[:, 0]
    _bars(axes[0], bars, title)
    for panel, found in zip(axes[1:], breakdowns, strict=True):
        _lines(panel, found, [bar.name for bar in bars])
    return _save(figure, path)


class Bar(NamedTuple):
    """A model's figure, how far chance moves it (None: not known), and another figure to show beside it."""

    name: str
    value: float
    spread: float | None = None
    beside: float | None = None


def _bars(axes: Any, bars: Sequence[Bar], title: str) -> None:
    places = range(len(bars))
    values = [bar.value if math.isfinite(bar.value) else 0.0 for bar in bars]
    spreads = [bar.spread if bar.spread is not None and math.isfinite(bar.spread) else 0.0 for bar in bars]
    axes.barh(places, values, color=BLUE, height=0.6, xerr=spreads, ecolor=GREY)
    beside = [(bar.beside, place) for place, bar in zip(places, bars, strict=True) if bar.beside is not None]
    if beside:
        axes.plot(*zip(*beside, strict=True), "D", color=ORANGE, ms=5, label="the paper's")
        axes.legend(loc="lower right", frameon=False)
    for place, bar in zip(places, bars, strict=True):
        axes.annotate(f" {bar.value:.4g}", (0, place), va="center", color="white", fontsize=8)
    axes.set_yticks(list(places), [bar.name for bar in bars], fontsize=8)
    axes.invert_yaxis()
    axes.set(xlabel=title)
    axes.spines[["top", "right"]].set_visible(False)


def _lines(axes: Any, found: Breakdown, names: Sequence[str]) -> None:
    places = list(range(len(found.labels)))
    colours = (BLUE, ORANGE, GREEN, "#CC79A7", "#56B4E9", "#E69F00", GREY)
    for i, (name, means) in enumerate(zip(names, found.nats, strict=True)):
        axes.plot(places, means, color=colours[i % len(colours)], ls=("-", "--", ":")[i // 7 % 3], marker="o", ms=3,
                  lw=1.2, label=name)  # fmt: skip
    few = len(places) <= _LABELLED
    axes.set_xticks(places if few else [], found.labels if few else [], fontsize=8)
    axes.set(xlabel=found.title, ylabel="nats per token")
    axes.legend(fontsize=7, frameon=False)
    axes.grid(axis="y", color="#dddddd", lw=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def _figure() -> tuple[Any, Any]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 4.5), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#dddddd", lw=0.6)
    return figure, axes


def _save(figure: Any, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    return path
