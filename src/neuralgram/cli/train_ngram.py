"""`neuralgram train ngram TEXT… --out DIR`: a counting model."""

from __future__ import annotations

import shlex
import sys
from typing import Any

import click

from neuralgram.cli.common import emit, held_out_lines, json_option, say
from neuralgram.cli.corpus_options import corpus_options
from neuralgram.numbers import figure, spaced


def _prune(_ctx: click.Context, _parameter: click.Parameter, value: str | None) -> list[int] | None:
    if value is None:
        return None
    try:
        return [int(word) for word in value.split(",")]
    except ValueError:
        raise click.BadParameter(f"{value!r}: expected counts, one an order, such as 0,0,1") from None


@click.command("ngram")
@corpus_options
@click.option("--order", type=int, default=5, show_default=True, help="n; with add-k and no --k, the largest n tried.")
@click.option(
    "--smoothing",
    default="modified-kneser-ney",
    show_default=True,
    help="mle, add-k, longest-match, deleted-interpolation, kneser-ney, modified-kneser-ney, class.",
)
@click.option("--k", type=float, help="Of add-k; without it n and k are tuned on the validation part.")
@click.option("--form", type=click.Choice(["interpolated", "backoff"]), help="Of Kneser–Ney. [interpolated]")
@click.option("--discounts", type=click.Choice(["counts", "tuned"]), help="From counts of counts, or tuned. [counts]")
@click.option("--unigrams", help="Of Kneser–Ney: what the lowest order is interpolated with. [uniform]")
@click.option("--classes", type=int, help="Word classes of a class model. [500]")
@click.option("--sweeps", type=int, help="At most so many passes of the exchange algorithm. [20]")
@click.option("--iterations", type=int, help="Of EM in deleted interpolation. [5]")
@click.option("--floor", type=float, help="Of mle and longest-match: this much of a uniform distribution. [0]")
@click.option("--prune", callback=_prune, help="Drop n-grams seen at most so often: 0,0,1 keeps pairs whole.")
@click.option("--memory", "memory_mb", type=int, help="Count within so many megabytes, on disk beyond them.")
@json_option
def command(as_json: bool, memory_mb: int | None, **given: Any) -> None:
    """Count TEXT… into a smoothed n-gram model. Its distribution sums to 1 in every context."""
    from neuralgram.training.jobs.ngram import count_texts

    given["command"] = shlex.join(["neuralgram", *sys.argv[1:]])
    given["memory_limit"] = None if memory_mb is None else memory_mb << 20
    record = count_texts(given, say=say)
    if as_json:
        emit(record)
        return
    chosen = ", ".join(
        f"{name} {value}" for name, value in record["model"].items() if not isinstance(value, (list, dict))
    )
    print(f"{chosen}\ncounted {spaced(record['tokens'])} tokens in {figure(record['seconds'], 3)} s")
    for line in held_out_lines(record):
        print(line)
    print(f"model               {record['path']}")
