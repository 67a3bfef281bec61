"""`neuralgram predict MODEL CONTEXT`: the likeliest next tokens, or the words that a half-typed one may become."""

from __future__ import annotations

from pathlib import Path

import click

from neuralgram.cli.common import emit, json_option, model_argument, table
from neuralgram.numbers import figure


@click.command("predict")
@model_argument
@click.argument("context", default="")
@click.option("-k", "k", type=int, default=5, show_default=True, help="How many candidates.")
@click.option(
    "--complete/--no-complete",
    default=None,
    help="Complete the word CONTEXT ends inside of. [where a model over words does not know the last one]",
)
@json_option
def command(model: Path, context: str, k: int, complete: bool | None, as_json: bool) -> None:
    """The K likeliest next tokens after CONTEXT under MODEL, with their probabilities.

    Where CONTEXT ends inside a word, the words that it may become: with the probability of each after the words
    before it, and its share among all that begin so.
    """
    from neuralgram.scoring.completing import complete as completions
    from neuralgram.scoring.completing import half_typed
    from neuralgram.text.tokenizers.base import visible
    from neuralgram.textmodel import load

    loaded = load(model)
    typed = context.rsplit(maxsplit=1)[-1] if complete and context.split() else half_typed(loaded, context)
    if complete or (complete is None and typed):
        words = completions(loaded, context, k)
        if as_json:
            found = [{"symbol": w.word, "probability": w.probability, "given_prefix": w.given_prefix} for w in words]
            emit({"context": context, "completes": typed, "candidates": found})
            return
        rows = [[visible(w.word), figure(w.probability), figure(w.given_prefix)] for w in words]
        table(["word", "probability", f"among {typed}…"], rows)
        return
    candidates = loaded.predict(context, k)
    if as_json:
        emit({"context": context, "candidates": [candidate._asdict() for candidate in candidates]})
        return
    rows = [[visible(c.symbol), figure(c.probability), str(c.id)] for c in candidates]
    table(["token", "probability", "id"], rows)
