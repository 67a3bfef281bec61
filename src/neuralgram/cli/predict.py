"""`neuralgram predict MODEL CONTEXT`: the likeliest next tokens."""

from __future__ import annotations

from pathlib import Path

import click

from neuralgram.cli.common import emit, json_option, model_argument, table
from neuralgram.numbers import figure


@click.command("predict")
@model_argument
@click.argument("context", default="")
@click.option("-k", "k", type=int, default=5, show_default=True, help="How many candidates.")
@json_option
def command(model: Path, context: str, k: int, as_json: bool) -> None:
    """The K likeliest next tokens after CONTEXT under MODEL, with their probabilities."""
    from neuralgram.text.tokenizers.base import visible
    from neuralgram.textmodel import load

    candidates = load(model).predict(context, k)
    if as_json:
        emit({"context": context, "candidates": [candidate._asdict() for candidate in candidates]})
        return
    rows = [[visible(c.symbol), figure(c.probability), str(c.id)] for c in candidates]
    table(["token", "probability", "id"], rows)
