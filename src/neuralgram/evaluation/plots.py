"""Pictures, drawn by matplotlib without a screen; colours are safe for the colour-blind (Okabe & Ito)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

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
