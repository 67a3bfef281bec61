"""`neuralgram neighbors MODEL WORD`: the words whose vectors are nearest."""

from __future__ import annotations

from pathlib import Path

import click

from neuralgram.cli.common import emit, json_option, model_argument, table
from neuralgram.numbers import figure


@click.command("neighbors")
@model_argument
@click.argument("word")
@click.option("-k", "k", type=int, default=10, show_default=True, help="How many neighbours.")
@click.option(
    "--metric",
    type=click.Choice(["cosine", "euclidean"]),
    default="cosine",
    show_default=True,
    help="Cosine similarity, or Euclidean distance.",
)
@json_option
def command(model: Path, word: str, k: int, metric: str, as_json: bool) -> None:
    """The K words of MODEL whose rows of C are nearest to that of WORD, in the full space."""
    from neuralgram.text.tokenizers.base import visible
    from neuralgram.textmodel import load
    from neuralgram.tracing import neighbors

    found = neighbors(load(model), word, k, metric)
    if as_json:
        emit({"word": word, "metric": metric, "neighbors": [neighbor._asdict() for neighbor in found]})
        return
    heading = "similarity" if metric == "cosine" else "distance"
    rows = [[visible(neighbor.symbol), figure(neighbor.value), str(neighbor.id)] for neighbor in found]
    table(["token", heading, "id"], rows)
