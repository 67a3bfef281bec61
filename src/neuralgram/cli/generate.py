"""`neuralgram generate MODEL [PROMPT]`: continue a prompt, token by token."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from neuralgram.cli.common import emit, json_option, model_argument, refuse_beside


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
def command(
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
