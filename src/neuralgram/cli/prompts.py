"""`neuralgram predict`, `generate`, `neighbors`: what a model says to a context, a prompt, a word."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from neuralgram.cli.common import emit, json_option, model_argument, refuse_beside, table
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
def predict(model: Path, context: str, k: int, complete: bool | None, as_json: bool) -> None:
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


@click.command("generate")
@model_argument
@click.argument("prompt", default="")
@click.option("-n", "n", type=int, default=200, show_default=True, help="At most so many tokens.")
@click.option("--temperature", type=float, default=1.0, show_default=True, help="0 takes the likeliest token.")
@click.option("--top-k", type=int, help="Draw among the K likeliest only.")
@click.option("--top-p", type=float, default=1.0, show_default=True, help="Draw among the likeliest that reach P.")
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed gives the same text.")
@click.option("--unknown/--no-unknown", default=True, help="Whether the unknown symbol may be drawn.")
@json_option
def generate(
    model: Path,
    prompt: str,
    n: int,
    temperature: float,
    top_k: int | None,
    top_p: float,
    seed: int,
    unknown: bool,
    as_json: bool,
) -> None:
    """Continue PROMPT (it may be empty where the model has a boundary symbol); the text ends by itself or after N
    tokens. The boundary symbol is never printed: drawing it ends the text."""
    from neuralgram.sampling import Sampling
    from neuralgram.textmodel import load

    if temperature == 0:
        refuse_beside("at --temperature 0, which takes the likeliest token", "top_k", "top_p")
    sampling = Sampling(temperature, top_k, top_p)
    loaded = load(model)
    if as_json:
        ids = list(loaded.ids(prompt, n, sampling=sampling, seed=seed, unknown=unknown))
        text = "".join(loaded.decode_after(prompt, ids))
        emit({"prompt": prompt, "text": text, "ids": ids, "ended": len(ids) < n, "seed": seed})
        return
    pieces = loaded.generate(prompt, n, sampling=sampling, seed=seed, unknown=unknown)
    sys.stdout.write(prompt)
    for piece in pieces:
        sys.stdout.write(piece)
        sys.stdout.flush()
    sys.stdout.write("\n")


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
def neighbors(model: Path, word: str, k: int, metric: str, as_json: bool) -> None:
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
